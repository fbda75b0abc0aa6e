/* assign_view.c: from members and their tasks by name to the assignor's numbers, and back. */
#include "assign_view.h"

#include "../names.h"
#include "../sorted.h"

/* ---- members as the state has them ------------------------------------------------------------------------------------------------- */

struct assign_view_member streams_view_member(const struct modern_slot *slot, const struct streams_configs *configs, int32_t topology_epoch)
{
    struct member_position position = modern_position(slot);
    struct assign_view_member view = {.member_id = slot->member_id,
                                      .process_id = slot->member->process_id,
                                      .tags = slot->member->tags,
                                      .tag_count = slot->member->tag_count,
                                      .current = position.assigned,
                                      .revoking = position.revoking,
                                      .idle = streams_is_behind(configs, slot->member->topology_epoch, topology_epoch)};
    if (slot->offsets != NULL) {
        view.offsets = slot->offsets->offsets;
        view.offset_count = slot->offsets->offset_count;
        view.end_offsets = slot->offsets->end_offsets;
        view.end_offset_count = slot->offsets->end_offset_count;
    }
    return view;
}

struct assign_view_member *streams_view_members(const struct modern *s, const struct streams_configs *configs, struct arena *arena,
                                                int32_t *ret_count)
{
    int32_t topology_epoch = s->topology == NULL ? -1 : s->topology->value->epoch;
    struct assign_view_member *v = ARENA_NEW(arena, struct assign_view_member, s->member_count);
    *ret_count = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL) {
            v[(*ret_count)++] = streams_view_member(&s->slots[i], configs, topology_epoch);
        }
    }
    return v;
}

struct str_array streams_missing_tags(const struct streams_configs *configs, const struct key_value *tags, int32_t tag_count,
                                      struct arena *arena)
{
    struct str_array missing = {.v = ARENA_NEW(arena, struct str, configs->tags.len)};
    for (int32_t k = 0; k < configs->tags.len; k++) {
        bool found = false;
        for (int32_t i = 0; i < tag_count && !found; i++) {
            found = str_eq(tags[i].key, configs->tags.v[k]);
        }
        if (!found) {
            missing.v[missing.len++] = configs->tags.v[k];
        }
    }
    return missing;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------------------------- */

struct numbering {
    const struct assign_view *v;
    struct arena *arena;
    bool own;
    struct numbered *to;
    struct assign_member *members;
    int32_t *first; /* task number of each subtopology's partition 0; one more, the end */
};

static struct str keep(const struct numbering *n, struct str s)
{
    return n->own ? arena_str(n->arena, s) : s;
}

static void number_subtopologies(struct numbering *n)
{
    const struct resolved *r = n->v->resolved;
    int32_t count = r->problem == TOPOLOGY_FINE ? r->subtopology_count : 0;
    struct assign_subtopology *subtopologies = ARENA_NEW(n->arena, struct assign_subtopology, count);
    struct str *ids = ARENA_NEW(n->arena, struct str, count);
    n->first = ARENA_NEW(n->arena, int32_t, (size_t)count + 1);
    for (int32_t i = 0; i < count; i++) {
        subtopologies[i] = (struct assign_subtopology){r->subtopologies[i].tasks, r->subtopologies[i].stateful};
        ids[i] = keep(n, r->subtopologies[i].id);
        n->first[i + 1] = n->first[i] + subtopologies[i].tasks;
    }
    n->to->in.subtopologies = subtopologies;
    n->to->in.subtopology_count = count;
    n->to->subtopologies = ids;
}

/* The number of the subtopology; -1: there is none of that id. guess: the one asked for before. */
static int32_t subtopology_number(const struct numbering *n, struct str id, int32_t guess)
{
    const struct str *ids = n->to->subtopologies;
    if (guess >= 0 && str_eq(ids[guess], id)) {
        return guess;
    }
    return str_sorted_find(ids, n->to->in.subtopology_count, id);
}

/* -1: there is no such task. */
static int32_t task_number(const struct numbering *n, struct str subtopology, int32_t partition, int32_t *guess)
{
    int32_t s = subtopology_number(n, subtopology, *guess);
    *guess = s;
    return s >= 0 && partition >= 0 && partition < n->to->in.subtopologies[s].tasks ? n->first[s] + partition : -1;
}

static void add_numbers(const struct numbering *n, struct units units, int32_t *to, int32_t *len)
{
    int32_t guess = -1;
    for (int32_t i = 0; i < units.len; i++) {
        int32_t t = task_number(n, units.v[i].name, units.v[i].partition, &guess);
        if (t >= 0) {
            to[(*len)++] = t;
        }
    }
}

static struct assign_ints number_units(const struct numbering *n, struct units units)
{
    int32_t *v = ARENA_NEW(n->arena, int32_t, units.len), len = 0;
    add_numbers(n, units, v, &len);
    return (struct assign_ints){v, len};
}

static struct assign_ints number_holding(const struct numbering *n, const struct holding *h)
{
    int32_t *v = ARENA_NEW(n->arena, int32_t, holding_count(h)), len = 0;
    for (int k = 0; k < UNIT_KINDS; k++) {
        add_numbers(n, h->kind[k], v, &len);
    }
    return (struct assign_ints){v, len};
}

static void number_members(struct numbering *n)
{
    const struct assign_view *v = n->v;
    struct str *ids = ARENA_NEW(n->arena, struct str, v->member_count);
    struct names processes;
    names_init(&processes, n->arena, v->member_count);
    n->members = ARENA_NEW(n->arena, struct assign_member, v->member_count);
    for (int32_t m = 0; m < v->member_count; m++) {
        const struct assign_view_member *from = &v->members[m];
        int32_t known = names_add(&processes, bytes_of_str(from->process_id), n->to->in.process_count);
        n->members[m] = (struct assign_member){.process = known < 0 ? n->to->in.process_count++ : known,
                                               .idle = from->idle,
                                               .active = number_units(n, from->current.kind[UNITS_ACTIVE]),
                                               .standby = number_units(n, from->current.kind[UNITS_STANDBY]),
                                               .warmup = number_units(n, from->current.kind[UNITS_WARMUP]),
                                               .letting_go = number_holding(n, &from->revoking)};
        ids[m] = keep(n, from->member_id);
    }
    n->to->member_ids = ids;
    n->to->in.members = n->members;
    n->to->in.member_count = v->member_count;
}

static struct str tag_of(const struct assign_view_member *m, struct str key)
{
    for (int32_t i = 0; i < m->tag_count; i++) {
        if (str_eq(m->tags[i].key, key)) {
            return m->tags[i].value;
        }
    }
    return STR_NULL;
}

/* A process has the tags of its first member that has any say. */
static void number_tags(struct numbering *n)
{
    const struct str_array *keys = &n->v->configs->tags;
    int32_t count = n->to->in.process_count;
    struct assign_process *processes = ARENA_NEW(n->arena, struct assign_process, count);
    int32_t *tags = ARENA_NEW(n->arena, int32_t, (size_t)count * (size_t)keys->len);
    for (int32_t i = 0; i < count * keys->len; i++) {
        tags[i] = -1;
    }
    for (int32_t k = 0; k < keys->len; k++) {
        struct names values;
        int32_t distinct = 0;
        names_init(&values, n->arena, n->v->member_count);
        for (int32_t m = 0; m < n->v->member_count; m++) {
            struct str value = tag_of(&n->v->members[m], keys->v[k]);
            int32_t *tag = &tags[n->members[m].process * keys->len + k];
            if (!str_is_null(value) && !n->members[m].idle && *tag < 0) {
                int32_t known = names_add(&values, bytes_of_str(value), distinct);
                *tag = known < 0 ? distinct++ : known;
            }
        }
    }
    for (int32_t p = 0; p < count; p++) {
        processes[p].tags = &tags[p * keys->len];
    }
    n->to->in.processes = processes;
    n->to->in.tag_count = keys->len;
}

/* ---- lags ---------------------------------------------------------------------------------------------------------------------------- */

/* Per task the processes that reported how far they are, and the farthest end anybody reported. */
struct reports {
    struct numbering *n;
    int32_t *by_process; /* members in order of their processes */
    int32_t *first;      /* of task t: v[first[t]] up to v[first[t + 1]], ascending by process */
    struct assign_lag *v;
    int64_t *end; /* of each task; -1: unknown */
};

static void order_members(struct reports *r)
{
    struct numbering *n = r->n;
    int32_t *place = ARENA_NEW(n->arena, int32_t, (size_t)n->to->in.process_count + 1);
    r->by_process = ARENA_NEW(n->arena, int32_t, n->v->member_count);
    for (int32_t m = 0; m < n->v->member_count; m++) {
        place[n->members[m].process + 1]++;
    }
    for (int32_t p = 0; p < n->to->in.process_count; p++) {
        place[p + 1] += place[p];
    }
    for (int32_t m = 0; m < n->v->member_count; m++) {
        r->by_process[place[n->members[m].process]++] = m;
    }
}

/* Counts at first, then adds. */
static void walk_reports(struct reports *r)
{
    for (int32_t i = 0; i < r->n->v->member_count; i++) {
        int32_t m = r->by_process[i], guess = -1;
        const struct assign_view_member *from = &r->n->v->members[m];
        for (int32_t k = 0; k < from->offset_count; k++) {
            const struct task_offset *o = &from->offsets[k];
            int32_t t = task_number(r->n, o->subtopology, o->partition, &guess);
            if (t < 0 || o->offset < 0) {
                continue;
            }
            if (r->v == NULL) {
                r->first[t + 2]++;
            } else {
                r->v[r->first[t + 1]++] = (struct assign_lag){t, r->n->members[m].process, o->offset};
            }
        }
    }
}

static void collect_ends(struct reports *r, int32_t tasks)
{
    r->end = ARENA_NEW(r->n->arena, int64_t, tasks);
    for (int32_t t = 0; t < tasks; t++) {
        r->end[t] = -1;
    }
    for (int32_t m = 0; m < r->n->v->member_count; m++) {
        const struct assign_view_member *from = &r->n->v->members[m];
        int32_t guess = -1;
        for (int32_t k = 0; k < from->end_offset_count; k++) {
            const struct task_offset *o = &from->end_offsets[k];
            int32_t t = task_number(r->n, o->subtopology, o->partition, &guess);
            if (t >= 0 && o->offset > r->end[t]) {
                r->end[t] = o->offset;
            }
        }
    }
}

static void number_lags(struct numbering *n)
{
    struct reports r = {.n = n};
    int32_t tasks = n->first[n->to->in.subtopology_count], count = 0;
    if (!n->v->configs->warm_up) {
        return;
    }
    order_members(&r);
    r.first = ARENA_NEW(n->arena, int32_t, (size_t)tasks + 2);
    walk_reports(&r);
    for (int32_t t = 0; t < tasks; t++) {
        r.first[t + 2] += r.first[t + 1];
    }
    int32_t total = r.first[tasks + 1];
    r.v = ARENA_NEW(n->arena, struct assign_lag, (size_t)total + 1);
    walk_reports(&r);
    collect_ends(&r, tasks);
    for (int32_t i = 0; i < total; i++) {
        struct assign_lag *last = count == 0 ? NULL : &r.v[count - 1];
        int64_t end = r.end[r.v[i].task];
        int64_t lag = end > r.v[i].lag ? end - r.v[i].lag : 0;
        if (end < 0) {
            continue;
        }
        if (last != NULL && last->task == r.v[i].task && last->process == r.v[i].process) {
            last->lag = lag < last->lag ? lag : last->lag;
        } else {
            r.v[count++] = (struct assign_lag){r.v[i].task, r.v[i].process, lag};
        }
    }
    n->to->in.lags = r.v;
    n->to->in.lag_count = count;
}

void view_number(const struct assign_view *v, bool own, struct arena *arena, struct numbered *ret)
{
    *ret = (struct numbered){.in = {.standby_replicas = v->configs->num_standby_replicas,
                                    .warm_up = v->configs->warm_up,
                                    .warmup_replicas = v->configs->num_warmup_replicas,
                                    .acceptable_lag = v->configs->acceptable_recovery_lag}};
    struct numbering n = {.v = v, .arena = arena, .own = own, .to = ret};
    number_subtopologies(&n);
    number_members(&n);
    number_tags(&n);
    number_lags(&n);
}

/* ---- and back ------------------------------------------------------------------------------------------------------------------------- */

static struct units units_of(const struct numbered *n, const int32_t *tasks, int32_t count, struct arena *arena)
{
    struct unit *v = ARENA_NEW(arena, struct unit, count);
    int32_t s = 0, first = 0;
    for (int32_t i = 0; i < count; i++) {
        while (tasks[i] >= first + n->in.subtopologies[s].tasks) {
            first += n->in.subtopologies[s++].tasks;
        }
        v[i] = (struct unit){.name = n->subtopologies[s], .partition = tasks[i] - first};
    }
    return (struct units){v, count};
}

void view_solve(const struct numbered *n, struct arena *arena, struct assign_result *ret)
{
    const struct assign_share *shares = assign_tasks(&n->in, arena);
    struct assigned_member *members = ARENA_NEW(arena, struct assigned_member, n->in.member_count);
    for (int32_t m = 0; m < n->in.member_count; m++) {
        const struct assign_share *s = &shares[m];
        members[m].member_id = n->member_ids[m];
        members[m].target.kind[UNITS_ACTIVE] = units_of(n, s->active, s->active_len, arena);
        members[m].target.kind[UNITS_STANDBY] = units_of(n, s->standby, s->standby_len, arena);
        members[m].target.kind[UNITS_WARMUP] = units_of(n, s->warmup, s->warmup_len, arena);
    }
    *ret = (struct assign_result){.members = members, .count = n->in.member_count};
}

void streams_assign(const struct assign_view *v, struct arena *arena, struct assign_result *ret)
{
    struct numbered n;
    view_number(v, false, arena, &n);
    view_solve(&n, arena, ret);
}

int64_t streams_assign_cost(const struct assign_view *v)
{
    int64_t tasks = 0;
    for (int32_t i = 0; v->resolved->problem == TOPOLOGY_FINE && i < v->resolved->subtopology_count; i++) {
        tasks += v->resolved->subtopologies[i].tasks;
    }
    return 4 * (int64_t)v->member_count + tasks * (1 + (v->configs->num_standby_replicas > 0 ? v->configs->num_standby_replicas : 0));
}

/* ---- has something arrived? ------------------------------------------------------------------------------------------------------------ */

struct arrivals {
    const struct assign_in *in;
    int32_t *owner; /* of each task: the member that has it; -1: none */
    int32_t *least; /* of each process: the fewest active tasks one of its members has */
};

static bool arrived(const struct arrivals *a, int32_t task, int32_t process)
{
    int64_t lag = assign_lag_of(a->in, task, process);
    return lag >= 0 && lag <= a->in->acceptable_lag;
}

/* A task that warms up goes to its process then; a standby may take its task over when that evens something out. */
static bool member_arrived(const struct arrivals *a, const struct assign_member *m)
{
    for (int32_t i = 0; i < m->warmup.len; i++) {
        if (arrived(a, m->warmup.v[i], m->process)) {
            return true;
        }
    }
    for (int32_t i = 0; i < m->standby.len; i++) {
        int32_t owner = a->owner[m->standby.v[i]];
        if (owner >= 0 && a->in->members[owner].active.len > a->least[m->process] + 1 && arrived(a, m->standby.v[i], m->process)) {
            return true;
        }
    }
    return false;
}

bool streams_warm_up_done(const struct assign_view *v, struct arena *arena)
{
    if (!v->configs->warm_up) {
        return false;
    }
    struct numbered n;
    view_number(v, false, arena, &n);
    int32_t tasks = 0;
    for (int32_t i = 0; i < n.in.subtopology_count; i++) {
        tasks += n.in.subtopologies[i].tasks;
    }
    struct arrivals a = {&n.in, ARENA_NEW(arena, int32_t, tasks), ARENA_NEW(arena, int32_t, n.in.process_count)};
    for (int32_t t = 0; t < tasks; t++) {
        a.owner[t] = -1;
    }
    for (int32_t p = 0; p < n.in.process_count; p++) {
        a.least[p] = INT32_MAX - 1;
    }
    for (int32_t m = 0; m < n.in.member_count; m++) {
        const struct assign_member *member = &n.in.members[m];
        for (int32_t i = 0; i < member->active.len; i++) {
            a.owner[member->active.v[i]] = m;
        }
        if (!member->idle && member->active.len < a.least[member->process]) {
            a.least[member->process] = member->active.len;
        }
    }
    bool found = false;
    for (int32_t m = 0; m < n.in.member_count && !found; m++) {
        found = member_arrived(&a, &n.in.members[m]);
    }
    return found;
}
