#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_US = 30 * 1000 * 1000 };

/* ---- the heap of events: by time, then by order of making ----
 *
 * What is compared lies together, four children to a node, and what is to be done lies still elsewhere: much of a run's time was this heap's. */

static bool before(const struct sim_due *a, const struct sim_due *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

void sim_at(struct sim *sim, int64_t at_us, sim_fn *fn, void *arg, uint64_t tag)
{
    sim_at_owned(sim, at_us, fn, arg, tag, NULL);
}

static void more_events(struct sim *sim)
{
    uint32_t old = sim->event_cap;
    sim->event_cap = old == 0 ? 1024 : 2 * old;
    sim->due = realloc(sim->due, sim->event_cap * sizeof(*sim->due));
    sim->events = realloc(sim->events, sim->event_cap * sizeof(*sim->events));
    MUSTER_CHECK(sim->due != NULL && sim->events != NULL);
    for (uint32_t i = old; i < sim->event_cap; i++) /* behind the last one that is due are the places that are free */
        sim->due[i].place = i;
}

void sim_at_owned(struct sim *sim, int64_t at_us, sim_fn *fn, void *arg, uint64_t tag, void (*drop)(void *arg))
{
    if (sim->event_count == sim->event_cap)
        more_events(sim);
    uint32_t at = sim->event_count++;
    struct sim_due e = {at_us < sim->now_us ? sim->now_us : at_us, ++sim->next_order, sim->due[at].place};
    sim->events[e.place] = (struct sim_event){fn, arg, tag, drop};
    while (at > 0 && before(&e, &sim->due[(at - 1) / 4])) {
        sim->due[at] = sim->due[(at - 1) / 4];
        at = (at - 1) / 4;
    }
    sim->due[at] = e;
}

/* The earliest of the children; the first of them is there. */
static uint32_t earliest(const struct sim_due *due, uint32_t first, uint32_t count)
{
    uint32_t best = first, end = first + 4 < count ? first + 4 : count;
    for (uint32_t i = first + 1; i < end; i++) {
        if (before(&due[i], &due[best]))
            best = i;
    }
    return best;
}

static struct sim_event take_event(struct sim *sim)
{
    struct sim_due *due = sim->due, first = due[0];
    uint32_t count = --sim->event_count, at = 0;
    struct sim_due last = due[count];
    while (4 * at + 1 < count) {
        uint32_t child = earliest(due, 4 * at + 1, count);
        if (!before(&due[child], &last))
            break;
        due[at] = due[child];
        at = child;
    }
    due[at] = last;
    due[count].place = first.place;
    return sim->events[first.place];
}

int64_t sim_between(struct sim *sim, int64_t least, int64_t most)
{
    return least + (int64_t)prng_below(&sim->random, (uint64_t)(most - least + 1));
}

bool sim_chance(struct sim *sim, uint32_t per_million)
{
    return prng_chance(&sim->random, per_million);
}

static void say(struct sim *sim, const char *format, va_list args)
{
    char line[600];
    int n = snprintf(line, sizeof(line), "%3lld.%06lld ", (long long)(sim->now_us / 1000000), (long long)(sim->now_us % 1000000));
    vsnprintf(line + n, sizeof(line) - (size_t)n, format, args);
    sim->hash = hash_bytes(line, strlen(line), sim->hash);
    if (sim->options.verbose)
        puts(line);
}

void sim_say(struct sim *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(sim, format, args);
    va_end(args);
}

void sim_fail(struct sim *sim, const char *format, ...)
{
    if (sim->failed)
        return;
    va_list args;
    va_start(args, format);
    int n = snprintf(sim->failure, sizeof(sim->failure), "at %.6f s: ", (double)sim->now_us / 1e6);
    vsnprintf(sim->failure + n, sizeof(sim->failure) - (size_t)n, format, args);
    va_end(args);
    sim->failed = true;
    sim_say(sim, "FAILED %s", sim->failure);
}

static void run_until(struct sim *sim, int64_t until_us)
{
    while (!sim->failed && sim->event_count > 0 && sim->due[0].at_us <= until_us) {
        sim->now_us = sim->due[0].at_us;
        struct sim_event e = take_event(sim);
        sim->totals.events++;
        e.fn(sim, e.arg, e.tag);
    }
    if (!sim->failed)
        sim->now_us = until_us;
}

static bool settled(struct sim *sim, char *why, size_t why_len)
{
    if (!streams_idle(sim) || !consumers_idle(sim)) {
        snprintf(why, why_len, "an administrator has still something to do");
        return false;
    }
    if (!operator_idle(sim)) {
        snprintf(why, why_len, "a node is still being replaced, or serves with a wrong state");
        return false;
    }
    if (!levels_idle(sim)) {
        snprintf(why, why_len, "a node runs an old program, or the level is not raised");
        return false;
    }
    if (sim->healed_at_us == 0)
        sim->healed_at_us = sim->now_us;
    return clients_settled(sim, why, why_len) && streams_settled(sim, why, why_len) && consumers_settled(sim, why, why_len);
}

static bool calm(struct sim *sim, char *why, size_t why_len)
{
    return settled(sim, why, why_len) && consumers_calm(sim, why, why_len) && offices_calm(sim, why, why_len) &&
           disks_calm(sim, why, why_len) && backups_calm(sim, why, why_len);
}

static void wait_for(struct sim *sim, bool (*condition)(struct sim *sim, char *why, size_t why_len), const char *what)
{
    char why[512] = "";
    int64_t deadline = sim->now_us + SETTLE_US;
    while (!sim->failed && sim->now_us < deadline && !condition(sim, why, sizeof(why)))
        run_until(sim, sim->now_us + 100000);
    if (sim->failed || condition(sim, why, sizeof(why)))
        return;
    for (uint32_t id = 1; id <= sim->options.nodes; id++)
        node_tell(&sim->nodes[id]);
    sim_fail(sim, "not %s %d s after the faults: %s", what, SETTLE_US / 1000000, why);
}

/* Whether at least three nodes lead something: the shards are in many hands, and so are the groups. */
static bool leaders_spread(const struct sim *sim)
{
    uint32_t leading = 0;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        bool leads = false;
        for (uint32_t shard = 0; sim->nodes[id].alive && shard < SIM_SHARDS; shard++) {
            struct replica_shard_status s;
            replica_status(sim->nodes[id].core, shard, &s);
            leads = leads || s.role == REPLICA_SERVING;
        }
        leading += leads;
    }
    return leading >= 3;
}

/* After the faults: everybody is up, and every group must settle. Then every offset is read once more, while shards may still move home; and all must be calm. */
static void settle(struct sim *sim)
{
    sim->healing = true;
    faults_heal(sim);
    clients_settle(sim);
    wait_for(sim, settled, "settled");
    clients_final_reads(sim);
    run_until(sim, sim->now_us + 5000000);
    wait_for(sim, calm, "calm");
    sim->totals.leaders_spread += !sim->failed && leaders_spread(sim);
}

bool sim_run(const struct sim_options *options, struct sim_totals *totals, uint64_t *ret_hash, char failure[512])
{
    struct sim *sim = calloc(1, sizeof(*sim));
    MUSTER_CHECK(sim != NULL);
    sim->options = *options;
    sim->now_us = SIM_BEGIN_US;
    prng_seed(&sim->random, options->seed);
    members_found(sim);
    check_init(sim);
    backups_init(sim);
    for (uint32_t id = 1; id <= options->nodes; id++)
        node_init(sim, id);
    for (uint32_t id = 1; id <= options->nodes; id++) {
        if (!sim->nodes[id].absent)
            node_start(&sim->nodes[id]);
    }
    errands_init(sim);
    clients_start(sim);
    streams_start(sim);
    consumers_start(sim);
    if (options->faults)
        faults_start(sim);
    operator_start(sim);
    resets_start(sim);
    backups_start(sim);
    levels_start(sim);
    run_until(sim, sim->now_us + options->duration_us);
    if (!sim->failed)
        settle(sim);
    for (uint32_t id = 1; id <= options->nodes; id++)
        node_fini(&sim->nodes[id]);
    for (uint32_t i = 0; i < sim->event_count; i++) {
        const struct sim_event *e = &sim->events[sim->due[i].place];
        if (e->drop != NULL)
            e->drop(e->arg);
    }
    free(sim->clients);
    streams_fini(sim);
    consumers_fini(sim);
    errands_fini(sim);
    check_free(sim);
    offices_fini(sim);
    resets_fini(sim);
    backups_fini(sim);
#define X(name) totals->name += sim->totals.name;
    SIM_TOTALS(X)
#undef X
    *ret_hash = sim->hash;
    bool ok = !sim->failed;
    memcpy(failure, sim->failure, sizeof(sim->failure));
    free(sim->due);
    free(sim->events);
    free(sim);
    return ok;
}
