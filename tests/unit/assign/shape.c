#include "shape.h"

#include <string.h>

void shape_init(struct shape *s, const struct assign_subtopology *subtopologies, int32_t count, int32_t processes)
{
    memset(s, 0, sizeof(*s));
    arena_init(&s->arena, 0);
    s->subtopology_count = count;
    for (int32_t i = 0; i < count; i++) {
        s->subtopologies[i] = subtopologies[i];
        s->tasks += subtopologies[i].tasks;
    }
    assert_true(s->tasks <= SHAPE_TASKS);
    s->process_count = processes;
    for (int32_t t = 0; t < SHAPE_TASKS; t++) {
        for (int32_t p = 0; p < SHAPE_MEMBERS; p++) {
            s->lag[t][p] = -1;
        }
    }
}

void shape_fini(struct shape *s)
{
    arena_fini(&s->arena);
}

struct shape_member *shape_join(struct shape *s, int32_t process)
{
    assert_true(s->member_count < SHAPE_MEMBERS);
    struct shape_member *m = &s->members[s->member_count++];
    *m = (struct shape_member){.id = s->next_id++, .process = process};
    return m;
}

void shape_leave(struct shape *s, int32_t member)
{
    for (int32_t m = member; m + 1 < s->member_count; m++) {
        s->members[m] = s->members[m + 1];
    }
    s->member_count--;
}

void shape_list_add(struct shape_list *list, int32_t task)
{
    assert_true(list->len < SHAPE_TASKS);
    list->v[list->len++] = task;
}

static bool has(const int32_t *v, int32_t len, int32_t task)
{
    for (int32_t i = 0; i < len; i++) {
        if (v[i] == task) {
            return true;
        }
    }
    return false;
}

bool shape_list_has(const struct shape_list *list, int32_t task)
{
    return has(list->v, list->len, task);
}

/* ---- the assignment ------------------------------------------------------------------------------------------------------------------ */

int32_t shape_owner(const struct shape *s, int32_t task)
{
    int32_t owner = -1;
    for (int32_t m = 0; m < s->member_count; m++) {
        if (has(s->shares[m].active, s->shares[m].active_len, task)) {
            assert_int_equal(owner, -1);
            owner = m;
        }
    }
    return owner;
}

bool shape_gets(const struct shape *s, int32_t member, int32_t task)
{
    return has(s->shares[member].standby, s->shares[member].standby_len, task);
}

int32_t shape_warms(const struct shape *s, int32_t task)
{
    int32_t process = -1;
    for (int32_t m = 0; m < s->member_count; m++) {
        if (has(s->shares[m].warmup, s->shares[m].warmup_len, task)) {
            assert_int_equal(process, -1);
            process = s->members[m].process;
        }
    }
    return process;
}

bool shape_stateful(const struct shape *s, int32_t task)
{
    int32_t i = 0;
    for (; task >= s->subtopologies[i].tasks; i++) {
        task -= s->subtopologies[i].tasks;
    }
    return s->subtopologies[i].stateful;
}

int32_t shape_was_active(const struct shape *s, int32_t task)
{
    for (int32_t m = 0; m < s->member_count; m++) {
        if (!s->members[m].idle && shape_list_has(&s->members[m].active, task)) {
            return m;
        }
    }
    return -1;
}

bool shape_process_has(const struct shape *s, int32_t task, int32_t process)
{
    for (int32_t m = 0; m < s->member_count; m++) {
        const struct shape_member *member = &s->members[m];
        if (member->process == process && (shape_list_has(&member->active, task) || shape_list_has(&member->standby, task) ||
                                           shape_list_has(&member->warmup, task) || shape_list_has(&member->letting_go, task))) {
            return true;
        }
    }
    return false;
}

int32_t shape_crew(const struct shape *s, int32_t process)
{
    int32_t count = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        count += !s->members[m].idle && s->members[m].process == process;
    }
    return count;
}

int32_t shape_able(const struct shape *s)
{
    int32_t count = 0;
    for (int32_t p = 0; p < s->process_count; p++) {
        count += shape_crew(s, p) > 0;
    }
    return count;
}

int32_t shape_workers(const struct shape *s)
{
    int32_t count = 0;
    for (int32_t p = 0; p < s->process_count; p++) {
        count += shape_crew(s, p);
    }
    return count;
}

static void ascending(const int32_t *v, int32_t len, int32_t tasks)
{
    for (int32_t i = 0; i < len; i++) {
        assert_true(v[i] >= 0 && v[i] < tasks);
        assert_true(i == 0 || v[i] > v[i - 1]);
    }
}

/* Standbys: as many as asked for and possible, of stateful tasks, each on a process of its own without the active or the warming one. */
static void check_copies(const struct shape *s, int32_t task)
{
    int32_t copies = 0, active = s->members[shape_owner(s, task)].process, warming = shape_warms(s, task);
    for (int32_t m = 0; m < s->member_count; m++) {
        if (!shape_gets(s, m, task)) {
            continue;
        }
        copies++;
        int32_t process = s->members[m].process;
        assert_int_not_equal(process, active);
        assert_int_not_equal(process, warming);
        for (int32_t other = 0; other < m; other++) {
            assert_true(s->members[other].process != process || !shape_gets(s, other, task));
        }
    }
    int32_t room = shape_able(s) - 1 - (warming >= 0 ? 1 : 0);
    int32_t wanted = !shape_stateful(s, task) || s->standby_replicas < 0 ? 0 : s->standby_replicas;
    wanted = wanted < room ? wanted : room;
    assert_int_equal(copies, wanted);
    assert_true(warming < 0 || (s->warm_up && shape_stateful(s, task) && warming != active && shape_crew(s, warming) > 0));
}

static void check_always(const struct shape *s)
{
    int32_t warming = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        const struct assign_share *share = &s->shares[m];
        ascending(share->active, share->active_len, s->tasks);
        ascending(share->standby, share->standby_len, s->tasks);
        ascending(share->warmup, share->warmup_len, s->tasks);
        warming += share->warmup_len;
        if (s->members[m].idle) {
            assert_int_equal(share->active_len + share->standby_len + share->warmup_len, 0);
        }
    }
    assert_true(warming <= (s->warmup_replicas > 0 ? s->warmup_replicas : 0));
    for (int32_t t = 0; t < s->tasks && shape_workers(s) > 0; t++) {
        assert_true(shape_owner(s, t) >= 0);
        check_copies(s, t);
    }
}

static struct assign_ints view(const struct shape_list *list)
{
    return (struct assign_ints){list->v, list->len};
}

void shape_assign(struct shape *s)
{
    int32_t lags = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        const struct shape_member *from = &s->members[m];
        s->in_members[m] = (struct assign_member){.process = from->process,
                                                  .idle = from->idle,
                                                  .active = view(&from->active),
                                                  .standby = view(&from->standby),
                                                  .warmup = view(&from->warmup),
                                                  .letting_go = view(&from->letting_go)};
    }
    for (int32_t p = 0; p < s->process_count; p++) {
        s->in_processes[p].tags = s->tags[p];
    }
    for (int32_t t = 0; t < s->tasks; t++) {
        for (int32_t p = 0; p < s->process_count; p++) {
            if (s->lag[t][p] >= 0) {
                s->in_lags[lags++] = (struct assign_lag){t, p, s->lag[t][p]};
            }
        }
    }
    s->in = (struct assign_in){.subtopologies = s->subtopologies,
                               .subtopology_count = s->subtopology_count,
                               .members = s->in_members,
                               .member_count = s->member_count,
                               .processes = s->in_processes,
                               .process_count = s->process_count,
                               .tag_count = s->tag_count,
                               .standby_replicas = s->standby_replicas,
                               .warm_up = s->warm_up,
                               .warmup_replicas = s->warmup_replicas,
                               .acceptable_lag = s->acceptable_lag,
                               .lags = s->in_lags,
                               .lag_count = lags};
    arena_clear(&s->arena);
    s->shares = assign_tasks(&s->in, &s->arena);
    check_always(s);
}

static void take(struct shape_list *to, const int32_t *v, int32_t len)
{
    to->len = len;
    memcpy(to->v, v, (size_t)len * sizeof(*v));
}

void shape_take(struct shape *s)
{
    for (int32_t m = 0; m < s->member_count; m++) {
        take(&s->members[m].active, s->shares[m].active, s->shares[m].active_len);
        take(&s->members[m].standby, s->shares[m].standby, s->shares[m].standby_len);
        take(&s->members[m].warmup, s->shares[m].warmup, s->shares[m].warmup_len);
        s->members[m].letting_go.len = 0;
    }
}

static bool same(const struct shape_list *list, const int32_t *v, int32_t len)
{
    return list->len == len && memcmp(list->v, v, (size_t)len * sizeof(*v)) == 0;
}

bool shape_settled(const struct shape *s)
{
    for (int32_t m = 0; m < s->member_count; m++) {
        const struct assign_share *share = &s->shares[m];
        if (!same(&s->members[m].active, share->active, share->active_len) ||
            !same(&s->members[m].standby, share->standby, share->standby_len) ||
            !same(&s->members[m].warmup, share->warmup, share->warmup_len)) {
            return false;
        }
    }
    return true;
}

/* ---- random ones ------------------------------------------------------------------------------------------------------------------------ */

static int32_t up_to(struct prng *p, int32_t most)
{
    return (int32_t)prng_below(p, (uint64_t)most + 1);
}

void shape_draw(struct shape *s, struct prng *p, struct shape_bounds b)
{
    struct assign_subtopology subtopologies[SHAPE_SUBTOPOLOGIES];
    int32_t count = 1 + up_to(p, SHAPE_SUBTOPOLOGIES - 1), left = b.tasks;
    for (int32_t i = 0; i < count; i++) {
        subtopologies[i] = (struct assign_subtopology){.tasks = up_to(p, left), .stateful = up_to(p, 2) > 0};
        left -= subtopologies[i].tasks;
    }
    shape_init(s, subtopologies, count, 1 + up_to(p, b.processes - 1));
    s->standby_replicas = up_to(p, b.replicas);
    s->tag_count = up_to(p, b.tags);
    for (int32_t i = 0; i < s->process_count; i++) {
        for (int32_t k = 0; k < SHAPE_TAGS; k++) {
            s->tags[i][k] = up_to(p, 3) - (up_to(p, 9) == 0 ? 4 : 0);
            s->tags[i][k] = s->tags[i][k] < 0 ? -1 : s->tags[i][k];
        }
    }
    for (int32_t m = up_to(p, b.members); m > 0; m--) {
        shape_join(s, up_to(p, s->process_count - 1));
    }
}
