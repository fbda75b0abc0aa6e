/* assign_active.c: who gets which active task.
 *
 * With T tasks and N members each has T / N of them, and T mod N members one more (an extra). First it is settled how many of its tasks each member keeps: as many
 * as it may have; the extras go to members that would have to give one up. That alone fixes how many tasks move, and it is the least possible. Then what
 * has to move is chosen: tasks without state first, then those whose state is where there is room. */
#include "assign_draft.h"

struct active_plan {
    struct assign_draft *d;
    int32_t *had, *had_stateful; /* of each member: tasks it had active */
    int32_t *arriving;           /* of each member: tasks it had that warm up elsewhere */
    int32_t *over;               /* of each member: how many it must still give up */
    int32_t *list, *list_first;  /* the tasks member m had: list[list_first[m]] up to list[list_first[m + 1]], by partition */
};

static bool has_room(const struct assign_draft *d, int32_t member)
{
    return d->held[member] < d->floor || (d->held[member] == d->floor && d->extras > 0);
}

static void give(struct assign_draft *d, int32_t task, int32_t member)
{
    if (d->held[member] == d->floor) {
        MUSTER_CHECK(d->extras > 0);
        d->extras--;
    }
    d->held[member]++;
    d->load[process_of(d, member)]++;
    d->owner[task] = member;
}

/* ---- how many each keeps -------------------------------------------------------------------------------------------------------- */

static bool warms_up_elsewhere(const struct assign_draft *d, int32_t task, int32_t process)
{
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        if (d->had[i].kind == HAD_WARMUP && d->had[i].process != process) {
            return true;
        }
    }
    return false;
}

static void count_tasks(struct active_plan *a)
{
    struct assign_draft *d = a->d;
    a->list_first = ARENA_NEW(d->arena, int32_t, (size_t)d->in->member_count + 2);
    for (int32_t t = 0; t < d->task_count; t++) {
        int32_t m = d->was_active[t];
        if (m == NOBODY) {
            continue;
        }
        a->had[m]++;
        a->list_first[m + 2]++;
        if (task_stateful(d, t)) {
            a->had_stateful[m]++;
            a->arriving[m] += d->in->warm_up && warms_up_elsewhere(d, t, process_of(d, m));
        }
    }
    for (int32_t m = 0; m < d->in->member_count; m++) {
        a->list_first[m + 2] += a->list_first[m + 1];
    }
    a->list = ARENA_NEW(d->arena, int32_t, a->list_first[d->in->member_count + 1]);
    for (int32_t i = 0; i < d->task_count; i++) {
        int32_t t = d->by_partition[i];
        if (d->was_active[t] != NOBODY) {
            a->list[a->list_first[d->was_active[t] + 1]++] = t;
        }
    }
}

/* Who would have to give one up more without an extra; the lower, the rather it gets one. */
enum { URGENCIES = 8 };
static int32_t urgency(const struct active_plan *a, const int32_t *room_within, int32_t member)
{
    const struct assign_draft *d = a->d;
    int32_t leaves = a->had[member] - a->arriving[member] <= d->floor ? 4 : 0; /* a task of it is on its way elsewhere */
    int32_t cheap = a->had_stateful[member] <= d->floor ? 2 : 0;               /* what it gives up has no state */
    int32_t near = room_within[process_of(d, member)] > 0 ? 1 : 0;             /* or stays with its state */
    return leaves + cheap + near;
}

/* Gives extras to candidates of that urgency, each time to one in the process that carries least. */
static void grant(struct active_plan *a, const int32_t *urgencies, int32_t wanted, struct assign_pan *pans)
{
    struct assign_draft *d = a->d;
    struct assign_scale scale = RB_INITIALIZER(&scale);
    int32_t *next = ARENA_NEW(d->arena, int32_t, d->in->process_count); /* places in crew */
    for (int32_t p = 0; p < d->in->process_count; p++) {
        next[p] = d->crew_first[p];
        if (crew_size(d, p) > 0) {
            scale_put(&scale, &pans[p], d->load[p]);
        }
    }
    while (d->extras > 0 && scale_lightest(&scale) != NULL) {
        struct assign_pan *pan = scale_lightest(&scale);
        int32_t p = pan->id;
        while (next[p] < d->crew_first[p + 1] && urgencies[d->crew[next[p]]] != wanted) {
            next[p]++;
        }
        if (next[p] == d->crew_first[p + 1]) {
            scale_take(&scale, pan);
            continue;
        }
        d->held[d->crew[next[p]++]]++;
        d->extras--;
        scale_put(&scale, pan, ++d->load[p]);
    }
    while (scale_lightest(&scale) != NULL) {
        scale_take(&scale, scale_lightest(&scale));
    }
}

static struct assign_pan *process_pans(const struct assign_draft *d)
{
    struct assign_pan *pans = ARENA_NEW(d->arena, struct assign_pan, d->in->process_count);
    for (int32_t p = 0; p < d->in->process_count; p++) {
        pans[p].width = crew_size(d, p);
        pans[p].id = p;
    }
    return pans;
}

static void settle_counts(struct active_plan *a)
{
    struct assign_draft *d = a->d;
    int32_t *room_within = ARENA_NEW(d->arena, int32_t, d->in->process_count);
    int32_t *urgencies = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    for (int32_t i = 0; i < d->capacity; i++) {
        int32_t m = d->crew[i], p = process_of(d, m);
        d->held[m] = a->had[m] < d->floor ? a->had[m] : d->floor;
        d->load[p] += d->held[m];
        room_within[p] +=
            a->had[m] > d->floor ? d->floor + 1 - a->had[m] : d->floor - a->had[m]; /* what has to move in any case takes some */
    }
    for (int32_t i = 0; i < d->capacity; i++) {
        int32_t m = d->crew[i];
        urgencies[m] = a->had[m] > d->floor ? urgency(a, room_within, m) : URGENCIES;
    }
    struct assign_pan *pans = process_pans(d);
    for (int32_t u = 0; u < URGENCIES && d->extras > 0; u++) {
        grant(a, urgencies, u, pans);
    }
    for (int32_t i = 0; i < d->capacity; i++) {
        a->over[d->crew[i]] = a->had[d->crew[i]] - d->held[d->crew[i]];
    }
}

/* ---- what moves to where its state is ---------------------------------------------------------------------------------------------- */

/* The member of the process with room that has least; NOBODY: there is no room. */
static int32_t lightest_within(const struct assign_draft *d, int32_t process)
{
    int32_t best = NOBODY;
    for (int32_t i = d->crew_first[process]; i < d->crew_first[process + 1]; i++) {
        int32_t m = d->crew[i];
        if (has_room(d, m) && (best == NOBODY || d->held[m] < d->held[best])) {
            best = m;
        }
    }
    return best;
}

/* How good the state is that a process has: it has the task active; it has caught up; it has begun to take the task over; it has a copy; it has begun one. */
enum { RANK_HERE, RANK_CAUGHT_UP, RANK_ARRIVING, RANK_COPY, RANK_BEGUN, RANK_NONE, RANK_ANY };
static int32_t state_rank(const struct assign_draft *d, int32_t task, const struct assign_had *had)
{
    if (had->kind == HAD_ACTIVE) {
        return RANK_HERE;
    }
    if (d->in->warm_up && task_caught_up(d, task, had->process)) {
        return RANK_CAUGHT_UP;
    }
    if (had->kind == HAD_WARMUP) {
        return d->in->warm_up && d->was_active[task] != NOBODY ? RANK_ARRIVING : RANK_BEGUN;
    }
    return had->kind == HAD_REPORTED ? RANK_NONE : RANK_COPY;
}

/* The member with room in the process that has the best state of the task, at least of that rank; NOBODY if there is none. */
static int32_t best_place(const struct assign_draft *d, int32_t task, int32_t rank_least)
{
    int32_t best = NOBODY, best_rank = rank_least;
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        const struct assign_had *had = &d->had[i];
        int32_t rank = state_rank(d, task, had), p = had->process;
        if (rank > best_rank) {
            continue;
        }
        bool itself = had->member != NOBODY && !d->in->members[had->member].idle && has_room(d, had->member);
        int32_t m = itself ? had->member : lightest_within(d, p);
        if (m == NOBODY) {
            continue;
        }
        int32_t q = best == NOBODY ? p : process_of(d, best);
        if (best == NOBODY || rank < best_rank || (int64_t)d->load[p] * crew_size(d, q) < (int64_t)d->load[q] * crew_size(d, p)) {
            best = m;
            best_rank = rank;
        }
    }
    return best;
}

static void place_orphans(struct assign_draft *d)
{
    for (int32_t t = 0; t < d->task_count; t++) {
        if (d->was_active[t] == NOBODY && task_stateful(d, t)) {
            int32_t m = best_place(d, t, RANK_BEGUN);
            if (m != NOBODY) {
                give(d, t, m);
            }
        }
    }
}

/* Takes tasks from members that have too many, last partitions first, to where there is state of that rank; RANK_ANY: later to anywhere. */
static void shed(struct active_plan *a, int32_t member, bool stateful, int32_t rank_least)
{
    struct assign_draft *d = a->d;
    for (int32_t i = a->list_first[member + 1]; i-- > a->list_first[member] && a->over[member] > 0;) {
        int32_t t = a->list[i];
        if (d->owner[t] != member || task_stateful(d, t) != stateful) {
            continue;
        }
        int32_t m = rank_least == RANK_ANY ? NOBODY : best_place(d, t, rank_least);
        if (m == NOBODY && rank_least != RANK_ANY) {
            continue;
        }
        a->over[member]--;
        d->owner[t] = NOBODY;
        if (m != NOBODY) {
            give(d, t, m);
        }
    }
}

static void shed_all(struct active_plan *a, bool stateful, int32_t rank_least)
{
    for (int32_t i = 0; i < a->d->capacity; i++) {
        shed(a, a->d->crew[i], stateful, rank_least);
    }
}

/* ---- what moves anywhere ------------------------------------------------------------------------------------------------------------ */

/* Task by task to the process that carries least for each of its members, and there to the member that has least. */
static void place_rest(struct assign_draft *d)
{
    struct assign_pan *processes = process_pans(d), *members = ARENA_NEW(d->arena, struct assign_pan, d->in->member_count);
    struct assign_scale by_process = RB_INITIALIZER(&by_process);
    struct assign_scale *within = ARENA_NEW(d->arena, struct assign_scale, d->in->process_count);
    for (int32_t i = 0; i < d->capacity; i++) {
        int32_t m = d->crew[i], p = process_of(d, m);
        members[m].width = 1;
        members[m].id = m;
        scale_put(&within[p], &members[m], d->held[m]);
        scale_put(&by_process, &processes[p], d->load[p]);
    }
    for (int32_t t = 0; t < d->task_count; t++) {
        while (d->owner[t] == NOBODY) {
            struct assign_pan *pan = scale_lightest(&by_process);
            MUSTER_CHECK(pan != NULL);
            struct assign_pan *least = scale_lightest(&within[pan->id]);
            if (!has_room(d, least->id)) {
                scale_take(&by_process, pan);
                continue;
            }
            give(d, t, least->id);
            scale_put(&within[pan->id], least, d->held[least->id]);
            scale_put(&by_process, pan, d->load[pan->id]);
        }
    }
}

void assign_active(struct assign_draft *d)
{
    d->floor = d->task_count / d->capacity;
    d->extras = d->task_count % d->capacity;
    d->owner = ARENA_NEW(d->arena, int32_t, d->task_count);
    d->held = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    d->load = ARENA_NEW(d->arena, int32_t, d->in->process_count);
    struct active_plan a = {.d = d};
    a.had = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    a.had_stateful = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    a.arriving = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    a.over = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    count_tasks(&a);
    settle_counts(&a);
    for (int32_t t = 0; t < d->task_count; t++) {
        d->owner[t] = d->was_active[t];
    }
    place_orphans(d);
    shed_all(&a, false, RANK_ANY);
    if (d->in->warm_up) { /* what can move now first, then what has begun to move */
        shed_all(&a, true, RANK_CAUGHT_UP);
        shed_all(&a, true, RANK_ARRIVING);
    }
    shed_all(&a, true, RANK_BEGUN);
    shed_all(&a, true, RANK_ANY);
    place_rest(d);
}
