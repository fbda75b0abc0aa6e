/* assign_warmup.c: a stateful task moves only to where its state has nearly arrived (KIP-441's idea, which Kafka 4.4.0 leaves out of streams groups).
 *
 * assign_active() has said where each task is to end up. A task whose new process is far behind stays where its state is, and its new process warms it up,
 * so many at once. Since the tasks that warm up are the first to move on the next run, one run after the other ends at the balanced assignment. */
#include "assign_draft.h"

/* How far a process is behind, for comparison. */
enum {
    LAG_SOME = 1,
    LAG_LITTLE,
    LAG_NONE
}; /* of a standby that has not reported; of a warm-up; of no state at all; all of them worse than any number */
static int64_t behind(const struct assign_draft *d, int32_t task, int32_t process)
{
    int64_t lag = assign_lag_of(d->in, task, process), best = INT64_MAX - 3 + LAG_NONE;
    if (lag >= 0) {
        best = lag < INT64_MAX - 3 ? lag : INT64_MAX - 3;
    }
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        const struct assign_had *had = &d->had[i];
        if (had->process != process) {
            continue;
        }
        int64_t by_role = had->kind == HAD_ACTIVE                                   ? 0
                          : had->kind == HAD_STANDBY || had->kind == HAD_LETTING_GO ? INT64_MAX - 3 + LAG_SOME
                          : had->kind == HAD_WARMUP                                 ? INT64_MAX - 3 + LAG_LITTLE
                                                                                    : best;
        best = by_role < best ? by_role : best;
    }
    return best;
}

static int32_t least_held(const struct assign_draft *d, int32_t process)
{
    int32_t best = d->crew[d->crew_first[process]];
    for (int32_t i = d->crew_first[process] + 1; i < d->crew_first[process + 1]; i++) {
        best = d->held[d->crew[i]] < d->held[best] ? d->crew[i] : best;
    }
    return best;
}

/* Who keeps the task until its new process has caught up; NOBODY: it moves now. */
static int32_t keeper(const struct assign_draft *d, int32_t task)
{
    int32_t to = process_of(d, d->owner[task]), had = d->was_active[task];
    if (task_caught_up(d, task, to)) {
        return NOBODY;
    }
    if (had != NOBODY) {
        return process_of(d, had) == to ? NOBODY : had;
    }
    int64_t least = behind(d, task, to);
    int32_t best = NOBODY;
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        const struct assign_had *h = &d->had[i];
        if (crew_size(d, h->process) == 0 || behind(d, task, h->process) >= least) {
            continue;
        }
        least = behind(d, task, h->process);
        best = h->member != NOBODY && !d->in->members[h->member].idle ? h->member : least_held(d, h->process);
    }
    return best;
}

static bool warmed_up_at(const struct assign_draft *d, int32_t task, int32_t process)
{
    for (int32_t i = d->had_first[task]; i < d->had_first[task + 1]; i++) {
        if (d->had[i].kind == HAD_WARMUP && d->had[i].process == process) {
            return true;
        }
    }
    return false;
}

void assign_warmup(struct assign_draft *d)
{
    int32_t *wish = ARENA_NEW(d->arena, int32_t, d->task_count);
    d->warming = ARENA_NEW(d->arena, int32_t, d->task_count);
    for (int32_t t = 0; t < d->task_count; t++) {
        d->warming[t] = wish[t] = NOBODY;
        int32_t m = d->in->warm_up && task_stateful(d, t) ? keeper(d, t) : NOBODY;
        if (m != NOBODY) {
            int32_t to = process_of(d, d->owner[t]);
            wish[t] = to;
            d->load[to]--;
            d->held[d->owner[t]]--;
            d->load[process_of(d, m)]++;
            d->held[m]++;
            d->owner[t] = m;
        }
    }
    int32_t left = d->in->warmup_replicas;
    for (int round = 0; round < 2; round++) { /* those that have begun come first */
        for (int32_t t = 0; t < d->task_count && left > 0; t++) {
            if (wish[t] != NOBODY && d->warming[t] == NOBODY && (round == 1 || warmed_up_at(d, t, wish[t]))) {
                d->warming[t] = wish[t];
                d->load[wish[t]]++;
                left--;
            }
        }
    }
}
