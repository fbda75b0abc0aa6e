/* assign_within.c: standbys and warm-ups of a process, spread over its members so that all its tasks are even, where they were as far as that allows. */
#include "assign_draft.h"

struct within {
    struct assign_draft *d;
    int32_t *first, *list; /* of each process the places (below) of what it holds: list[first[p]] up to list[first[p + 1]] */
    int32_t *carried;      /* of each member: tasks so far */
    struct assign_pan *pans;
};

/* Of each task there is a place for its warm-up and one for each copy. */
static int32_t place_task(const struct assign_draft *d, int32_t place)
{
    return place / (d->copies + 1);
}
static int32_t place_process(const struct assign_draft *d, int32_t place)
{
    int32_t task = place_task(d, place), i = place % (d->copies + 1);
    return i == 0 ? d->warming[task] : d->copy[(size_t)task * (size_t)d->copies + (size_t)(i - 1)];
}
static int32_t *place_member(const struct assign_draft *d, int32_t place)
{
    int32_t task = place_task(d, place), i = place % (d->copies + 1);
    return i == 0 ? &d->warming_member[task] : &d->copy_member[(size_t)task * (size_t)d->copies + (size_t)(i - 1)];
}

static void list_places(struct within *w)
{
    struct assign_draft *d = w->d;
    int64_t places = (int64_t)d->task_count * (d->copies + 1);
    MUSTER_CHECK(places <= INT32_MAX);
    w->first = ARENA_NEW(d->arena, int32_t, (size_t)d->in->process_count + 2);
    for (int32_t i = 0; i < (int32_t)places; i++) {
        *place_member(d, i) = NOBODY;
        if (place_process(d, i) != NOBODY) {
            w->first[place_process(d, i) + 2]++;
        }
    }
    for (int32_t p = 0; p < d->in->process_count; p++) {
        w->first[p + 2] += w->first[p + 1];
    }
    w->list = ARENA_NEW(d->arena, int32_t, w->first[d->in->process_count + 1]);
    for (int32_t i = 0; i < (int32_t)places; i++) {
        if (place_process(d, i) != NOBODY) {
            w->list[w->first[place_process(d, i) + 1]++] = i;
        }
    }
}

/* To what level the members rise when so much more is spread evenly, and how many of them reach it. */
static int64_t level_of(struct assign_scale *scale, int64_t more, int64_t *ret_tops)
{
    int64_t members = 0, sum = 0;
    for (struct assign_pan *pan = scale_lightest(scale), *next; pan != NULL; pan = next) {
        next = scale_next(pan);
        members++;
        sum += pan->load;
        if (next == NULL || next->load * members >= sum + more) {
            break;
        }
    }
    MUSTER_CHECK(members > 0);
    int64_t level = (sum + more + members - 1) / members;
    *ret_tops = sum + more - (level - 1) * members;
    return level;
}

/* The member of the process that had a copy of the task, else the one that had it otherwise; NOBODY: none. */
static int32_t had_within(const struct assign_draft *d, int32_t task, int32_t process)
{
    int32_t best = NOBODY;
    bool copy = false;
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        const struct assign_had *had = &d->had[i];
        if (had->process != process || had->member == NOBODY || d->in->members[had->member].idle) {
            continue;
        }
        bool is_copy = had->kind == HAD_STANDBY || had->kind == HAD_WARMUP;
        if (best == NOBODY || (is_copy && !copy)) {
            best = had->member;
            copy = is_copy;
        }
    }
    return best;
}

static void spread(struct within *w, int32_t process)
{
    struct assign_draft *d = w->d;
    struct assign_scale scale = RB_INITIALIZER(&scale);
    for (int32_t i = d->crew_first[process]; i < d->crew_first[process + 1]; i++) {
        struct assign_pan *pan = &w->pans[d->crew[i]];
        *pan = (struct assign_pan){.width = 1, .id = d->crew[i]};
        scale_put(&scale, pan, w->carried[pan->id]);
    }
    int64_t tops = 0, level = level_of(&scale, w->first[process + 1] - w->first[process], &tops);
    for (int32_t i = w->first[process]; i < w->first[process + 1]; i++) {
        int32_t m = had_within(d, place_task(d, w->list[i]), process);
        if (m == NOBODY || w->carried[m] >= level || (w->carried[m] == level - 1 && tops == 0)) {
            continue;
        }
        tops -= w->carried[m] == level - 1;
        *place_member(d, w->list[i]) = m;
        scale_put(&scale, &w->pans[m], ++w->carried[m]);
    }
    for (int32_t i = w->first[process]; i < w->first[process + 1]; i++) {
        if (*place_member(d, w->list[i]) == NOBODY) {
            struct assign_pan *pan = scale_lightest(&scale);
            *place_member(d, w->list[i]) = pan->id;
            scale_put(&scale, pan, ++w->carried[pan->id]);
        }
    }
}

void assign_within(struct assign_draft *d)
{
    struct within w = {.d = d};
    d->warming_member = ARENA_NEW(d->arena, int32_t, d->task_count);
    d->copy_member = ARENA_NEW(d->arena, int32_t, (size_t)d->task_count * (size_t)d->copies);
    w.carried = ARENA_NEW(d->arena, int32_t, d->in->member_count);
    w.pans = ARENA_NEW(d->arena, struct assign_pan, d->in->member_count);
    for (int32_t t = 0; t < d->task_count; t++) {
        w.carried[d->owner[t]]++;
    }
    list_places(&w);
    for (int32_t p = 0; p < d->in->process_count; p++) {
        if (w.first[p + 1] > w.first[p]) {
            spread(&w, p);
        }
    }
}
