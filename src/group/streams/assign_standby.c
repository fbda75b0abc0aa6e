/* assign_standby.c: which processes hold copies of a task's state.
 *
 * Copies stay where state is; missing ones go where least is. Then single copies are moved as long as that takes a repeated rack away, or balances
 * processes without adding one: every move makes (repeated racks, imbalance) smaller, so it ends, and an assignment that has ended is left alone. */
#include "assign_draft.h"

struct standby_plan {
    struct assign_draft *d;
    struct assign_pan *pans; /* of each process; the load is 2 * tasks + 1: what the next task makes of it counts */
    struct assign_scale scale;
    int32_t *values; /* of each tag key: how many values there are */
    int64_t tasks;   /* all there are, copies and warm-ups too */
};

static int32_t *copies_of(const struct assign_draft *d, int32_t task)
{
    return &d->copy[(size_t)task * (size_t)d->copies];
}

static void weigh(struct standby_plan *s, int32_t process, int32_t more)
{
    s->d->load[process] += more;
    scale_put(&s->scale, &s->pans[process], 2 * (int64_t)s->d->load[process] + 1);
}

static bool holds(const struct assign_draft *d, int32_t task, int32_t process)
{
    if (process_of(d, d->owner[task]) == process || d->warming[task] == process) {
        return true;
    }
    for (int32_t i = 0; i < d->copies; i++) {
        if (copies_of(d, task)[i] == process) {
            return true;
        }
    }
    return false;
}

/* ---- racks ------------------------------------------------------------------------------------------------------------------------ */

/* The i-th process that holds the task's state besides the copy that is looked at: the active one's first. NOBODY: none there. */
static int32_t other(const struct assign_draft *d, int32_t task, int32_t but, int32_t i)
{
    return i == 0 ? process_of(d, d->owner[task]) : i - 1 == but ? NOBODY : copies_of(d, task)[i - 1];
}

/* For how many tag keys a copy in that process, as number `but` of the task's copies, repeats a value, or has none. */
static int32_t clash(const struct assign_draft *d, int32_t task, int32_t but, int32_t process)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < d->in->tag_count; k++) {
        int32_t value = d->in->processes[process].tags[k];
        bool repeats = value < 0;
        for (int32_t i = 0; i <= d->copies && !repeats; i++) {
            int32_t p = other(d, task, but, i);
            repeats = p != NOBODY && d->in->processes[p].tags[k] == value;
        }
        sum += repeats;
    }
    return sum;
}

/* No process can have a smaller clash: the keys all of whose values the others have. */
static int32_t least_clash(const struct standby_plan *s, int32_t task, int32_t but)
{
    const struct assign_draft *d = s->d;
    int32_t sum = 0;
    for (int32_t k = 0; k < d->in->tag_count; k++) {
        int32_t distinct = 0;
        for (int32_t i = 0; i <= d->copies; i++) {
            int32_t p = other(d, task, but, i), value = p == NOBODY ? -1 : d->in->processes[p].tags[k];
            bool seen = value < 0 || crew_size(d, p) == 0;
            for (int32_t j = 0; j < i && !seen; j++) {
                int32_t q = other(d, task, but, j);
                seen = q != NOBODY && d->in->processes[q].tags[k] == value;
            }
            distinct += !seen;
        }
        sum += distinct >= s->values[k];
    }
    return sum;
}

/* Values of processes that can hold something. */
static void count_values(struct standby_plan *s)
{
    struct assign_draft *d = s->d;
    s->values = ARENA_NEW(d->arena, int32_t, d->in->tag_count);
    struct assign_pan *pans = ARENA_NEW(d->arena, struct assign_pan, d->in->process_count);
    for (int32_t k = 0; k < d->in->tag_count; k++) {
        struct assign_scale by_value = RB_INITIALIZER(&by_value);
        for (int32_t p = 0; p < d->in->process_count; p++) {
            pans[p] = (struct assign_pan){.width = 1, .id = p};
            if (d->in->processes[p].tags[k] >= 0 && crew_size(d, p) > 0) {
                scale_put(&by_value, &pans[p], d->in->processes[p].tags[k]);
            }
        }
        int64_t last = -1;
        for (struct assign_pan *pan = scale_lightest(&by_value); pan != NULL; pan = scale_next(pan)) {
            s->values[k] += pan->load != last;
            last = pan->load;
        }
    }
}

/* ---- placing ------------------------------------------------------------------------------------------------------------------------ */

/* The process that has state which a copy can go on from: of those with the smallest clash the best state. NOBODY: there is no more. */
static int32_t next_state(const struct assign_draft *d, int32_t task, int32_t but)
{
    int32_t best = NOBODY, best_kind = HAD_REPORTED, best_clash = INT32_MAX;
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        const struct assign_had *had = &d->had[i];
        if (had->kind == HAD_REPORTED || crew_size(d, had->process) == 0 || holds(d, task, had->process)) {
            continue;
        }
        int32_t c = clash(d, task, but, had->process);
        if (c < best_clash || (c == best_clash && (int32_t)had->kind < best_kind)) {
            best = had->process;
            best_kind = (int32_t)had->kind;
            best_clash = c;
        }
    }
    return best;
}

/* More than its members' share of all tasks, rounded up. A copy is not moved for less: it costs more than a process that has one or two below its share. */
static bool carries_too_much(const struct standby_plan *s, const struct assign_pan *pan)
{
    return ((int64_t)s->d->load[pan->id] - 1) * s->d->capacity >= s->tasks * pan->width;
}

/* The process with the smallest clash, of these the lightest, that does not hold the task. With `from`, where the copy is now with clash_now: only one with a
 * smaller clash, or one to which a move makes the two more even. NOBODY: none. */
static int32_t find_place(struct standby_plan *s, int32_t task, int32_t but, int32_t clash_now, const struct assign_pan *from)
{
    const struct assign_draft *d = s->d;
    int32_t least = least_clash(s, task, but), best = NOBODY, best_clash = clash_now;
    bool lighter = true;
    for (struct assign_pan *pan = scale_lightest(&s->scale); pan != NULL && best_clash >= least; pan = scale_next(pan)) {
        if (from != NULL && lighter) {
            lighter = carries_too_much(s, from) && (from->load - 2) * pan->width > pan->load * from->width;
        }
        if (!lighter && best_clash == least) {
            break;
        }
        if (holds(d, task, pan->id)) {
            continue;
        }
        int32_t c = clash(d, task, but, pan->id);
        if (c < best_clash || (c == best_clash && best == NOBODY && lighter)) {
            best = pan->id;
            best_clash = c;
            if (c == least) {
                break;
            }
        }
    }
    return best;
}

static void keep_copies(struct standby_plan *s)
{
    struct assign_draft *d = s->d;
    for (int32_t t = 0; t < d->task_count; t++) {
        for (int32_t i = 0; i < d->copies && task_stateful(d, t); i++) {
            int32_t p = next_state(d, t, i);
            if (p == NOBODY) {
                break;
            }
            copies_of(d, t)[i] = p;
            weigh(s, p, 1);
        }
    }
}

static void fill_copies(struct standby_plan *s)
{
    struct assign_draft *d = s->d;
    for (int32_t t = 0; t < d->task_count; t++) {
        for (int32_t i = 0; i < d->copies && task_stateful(d, t); i++) {
            if (copies_of(d, t)[i] != NOBODY) {
                continue;
            }
            int32_t p = find_place(s, t, i, INT32_MAX, NULL);
            if (p == NOBODY) {
                break;
            }
            copies_of(d, t)[i] = p;
            weigh(s, p, 1);
        }
    }
}

static bool improve_copies(struct standby_plan *s)
{
    struct assign_draft *d = s->d;
    bool moved = false;
    for (int32_t t = 0; t < d->task_count; t++) {
        for (int32_t i = 0; i < d->copies; i++) {
            int32_t from = copies_of(d, t)[i];
            int32_t to = from == NOBODY ? NOBODY : find_place(s, t, i, clash(d, t, i, from), &s->pans[from]);
            if (to != NOBODY) {
                copies_of(d, t)[i] = to;
                weigh(s, from, -1);
                weigh(s, to, 1);
                moved = true;
            }
        }
    }
    return moved;
}

void assign_standby(struct assign_draft *d)
{
    int32_t able = 0;
    for (int32_t p = 0; p < d->in->process_count; p++) {
        able += crew_size(d, p) > 0;
    }
    d->copies = d->in->standby_replicas < able - 1 ? d->in->standby_replicas : able - 1;
    d->copies = d->copies > 0 ? d->copies : 0;
    size_t count = (size_t)d->task_count * (size_t)d->copies;
    d->copy = ARENA_NEW(d->arena, int32_t, count);
    for (size_t i = 0; i < count; i++) {
        d->copy[i] = NOBODY;
    }
    if (d->copies == 0) {
        return;
    }
    struct standby_plan s = {.d = d, .scale = RB_INITIALIZER(&s.scale)};
    s.pans = ARENA_NEW(d->arena, struct assign_pan, d->in->process_count);
    for (int32_t p = 0; p < d->in->process_count; p++) {
        s.pans[p] = (struct assign_pan){.width = crew_size(d, p), .id = p};
        if (crew_size(d, p) > 0) {
            weigh(&s, p, 0);
        }
    }
    count_values(&s);
    keep_copies(&s);
    fill_copies(&s);
    for (int32_t p = 0; p < d->in->process_count; p++) {
        s.tasks += d->load[p];
    }
    enum { ROUNDS = 16 }; /* two or three are usual */
    for (int round = 0; round < ROUNDS && improve_copies(&s); round++) {
    }
}
