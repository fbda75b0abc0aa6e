/* assign.c: the assignor as a whole: who had what, the three steps, and the shares that come of them. */
#include "assign_draft.h"

static bool task_exists(const struct assign_draft *d, int32_t task)
{
    return task >= 0 && task < d->task_count;
}

int64_t assign_lag_of(const struct assign_in *in, int32_t task, int32_t process)
{
    int32_t low = 0, high = in->lag_count;
    while (low < high) {
        int32_t at = low + (high - low) / 2;
        if (in->lags[at].task < task || (in->lags[at].task == task && in->lags[at].process < process)) {
            low = at + 1;
        } else {
            high = at;
        }
    }
    if (low == in->lag_count || in->lags[low].task != task || in->lags[low].process != process) {
        return -1;
    }
    return in->lags[low].lag > 0 ? in->lags[low].lag : 0;
}

bool task_caught_up(const struct assign_draft *d, int32_t task, int32_t process)
{
    int64_t lag = assign_lag_of(d->in, task, process);
    return lag >= 0 && lag <= d->in->acceptable_lag;
}

static void tasks_init(struct assign_draft *d)
{
    const struct assign_in *in = d->in;
    int64_t count = 0;
    int32_t most = 0;
    for (int32_t s = 0; s < in->subtopology_count; s++) {
        count += in->subtopologies[s].tasks;
        most = in->subtopologies[s].tasks > most ? in->subtopologies[s].tasks : most;
    }
    MUSTER_CHECK(count <= INT32_MAX);
    d->task_count = (int32_t)count;
    d->subtopology = ARENA_NEW(d->arena, int32_t, count);
    d->partition = ARENA_NEW(d->arena, int32_t, count);
    d->by_partition = ARENA_NEW(d->arena, int32_t, count);
    int32_t *place = ARENA_NEW(d->arena, int32_t, (size_t)most + 1);
    int32_t t = 0;
    for (int32_t s = 0; s < in->subtopology_count; s++) {
        for (int32_t p = 0; p < in->subtopologies[s].tasks; p++, t++) {
            d->subtopology[t] = s;
            d->partition[t] = p;
            place[p + 1]++;
        }
    }
    for (int32_t p = 0; p < most; p++) {
        place[p + 1] += place[p];
    }
    for (t = 0; t < d->task_count; t++) {
        d->by_partition[place[d->partition[t]]++] = t;
    }
}

static void crew_init(struct assign_draft *d)
{
    const struct assign_in *in = d->in;
    d->crew_first = ARENA_NEW(d->arena, int32_t, (size_t)in->process_count + 2);
    int32_t *place = d->crew_first + 1; /* ends up as the table itself */
    for (int32_t m = 0; m < in->member_count; m++) {
        MUSTER_CHECK(in->members[m].process >= 0 && in->members[m].process < in->process_count);
        if (!in->members[m].idle) {
            place[in->members[m].process + 1]++;
            d->capacity++;
        }
    }
    for (int32_t p = 0; p < in->process_count; p++) {
        place[p + 1] += place[p];
    }
    d->crew = ARENA_NEW(d->arena, int32_t, d->capacity);
    for (int32_t m = 0; m < in->member_count; m++) {
        if (!in->members[m].idle) {
            d->crew[place[in->members[m].process]++] = m;
        }
    }
}

/* Calls for each thing that somebody has or has reported; the first member that has a task active comes first. */
struct had_walk {
    struct assign_draft *d;
    void (*each)(struct assign_draft *d, int32_t task, struct assign_had had);
};

static void walk_list(const struct had_walk *w, struct assign_ints list, struct assign_had had)
{
    for (int32_t i = 0; i < list.len; i++) {
        if (task_exists(w->d, list.v[i])) {
            w->each(w->d, list.v[i], had);
        }
    }
}

static void walk_had(const struct had_walk *w)
{
    const struct assign_in *in = w->d->in;
    for (int32_t m = 0; m < in->member_count; m++) {
        const struct assign_member *member = &in->members[m];
        walk_list(w, member->active, (struct assign_had){member->process, m, HAD_ACTIVE});
        walk_list(w, member->standby, (struct assign_had){member->process, m, HAD_STANDBY});
        walk_list(w, member->letting_go, (struct assign_had){member->process, m, HAD_LETTING_GO});
        walk_list(w, member->warmup, (struct assign_had){member->process, m, HAD_WARMUP});
    }
    for (int32_t i = 0; in->warm_up && i < in->lag_count; i++) {
        const struct assign_lag *lag = &in->lags[i];
        if (task_exists(w->d, lag->task) && lag->process >= 0 && lag->process < in->process_count) {
            w->each(w->d, lag->task, (struct assign_had){lag->process, NOBODY, HAD_REPORTED});
        }
    }
}

static void count_had(struct assign_draft *d, int32_t task, struct assign_had had)
{
    (void)had;
    d->had_first[task + 2]++;
}

static void add_had(struct assign_draft *d, int32_t task, struct assign_had had)
{
    if (had.kind == HAD_ACTIVE && !d->in->members[had.member].idle) {
        if (d->was_active[task] == NOBODY) {
            d->was_active[task] = had.member;
        } else {
            had.kind = HAD_LETTING_GO; /* two cannot have it */
        }
    }
    d->had[d->had_first[task + 1]++] = had;
}

static void had_init(struct assign_draft *d)
{
    d->was_active = ARENA_NEW(d->arena, int32_t, d->task_count);
    for (int32_t t = 0; t < d->task_count; t++) {
        d->was_active[t] = NOBODY;
    }
    d->had_first = ARENA_NEW(d->arena, int32_t, (size_t)d->task_count + 2);
    walk_had(&(struct had_walk){d, count_had});
    for (int32_t t = 0; t < d->task_count; t++) {
        d->had_first[t + 2] += d->had_first[t + 1];
    }
    d->had = ARENA_NEW(d->arena, struct assign_had, d->had_first[d->task_count + 1]);
    walk_had(&(struct had_walk){d, add_had});
}

/* The member's list of that kind. */
static int32_t *share_list(struct assign_share *s, enum had_kind kind, int32_t **ret_len)
{
    *ret_len = kind == HAD_ACTIVE ? &s->active_len : kind == HAD_STANDBY ? &s->standby_len : &s->warmup_len;
    return kind == HAD_ACTIVE ? s->active : kind == HAD_STANDBY ? s->standby : s->warmup;
}

/* Appends to the lists; while they have no memory it counts. */
static void shares_fill(const struct assign_draft *d, struct assign_share *shares)
{
    int32_t *len;
    for (int32_t t = 0; t < d->task_count; t++) {
        for (int32_t i = -2; i < d->copies; i++) {
            int32_t member = i == -2   ? d->owner[t]
                             : i == -1 ? d->warming_member[t]
                                       : d->copy_member[(size_t)t * (size_t)d->copies + (size_t)i];
            if (member == NOBODY) {
                continue;
            }
            int32_t *list = share_list(&shares[member], i == -2 ? HAD_ACTIVE : i == -1 ? HAD_WARMUP : HAD_STANDBY, &len);
            if (list != NULL) {
                list[*len] = t;
            }
            (*len)++;
        }
    }
}

static struct assign_share *shares_of(const struct assign_draft *d)
{
    struct assign_share *shares = ARENA_NEW(d->arena, struct assign_share, d->in->member_count);
    shares_fill(d, shares);
    for (int32_t m = 0; m < d->in->member_count; m++) {
        struct assign_share *s = &shares[m];
        *s = (struct assign_share){.active = ARENA_NEW(d->arena, int32_t, s->active_len),
                                   .standby = ARENA_NEW(d->arena, int32_t, s->standby_len),
                                   .warmup = ARENA_NEW(d->arena, int32_t, s->warmup_len)};
    }
    shares_fill(d, shares);
    return shares;
}

struct assign_share *assign_tasks(const struct assign_in *in, struct arena *arena)
{
    struct assign_draft d = {.in = in, .arena = arena};
    tasks_init(&d);
    crew_init(&d);
    if (d.capacity == 0) {
        return ARENA_NEW(arena, struct assign_share, in->member_count);
    }
    had_init(&d);
    assign_active(&d);
    assign_warmup(&d);
    assign_standby(&d);
    assign_within(&d);
    return shares_of(&d);
}
