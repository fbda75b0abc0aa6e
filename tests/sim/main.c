/* muster_sim --seed S | --seeds N [--from S] [--verbose] [--seconds T] [--no-minima]: runs seeds, prints totals, ends with `N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* A set of seeds that never saw these things proves nothing about them; per hundred seeds. */
static const struct {
    const char *name;
    uint64_t per_hundred;
} minima[] = {
    {"elections", 2000},
    {"crashes", 200},
    {"torn_tails", 3},
    {"snapshots_installed", 5},
    {"snapshots_taken", 300},
    {"gates_closed", 1000},
    {"expiries", 100},
    {"partitions", 200},
    {"pauses", 200},
    {"commits_acked", 10000},
    {"fast_elections", 20},
    {"transfers", 20},
    {"clock_jumps", 50},
    {"confirmed_reads", 10000},
    {"generations", 500},
    {"unknown_outcomes", 100},
    {"entries_cut", 20},
    {"reordered", 100},
    {"stalls", 20},
    {"jobs", 1000},
    {"creations", 300},
    {"topics_made", 300},
    {"streams_moves", 1500},
    {"streams_looks", 600},
    {"streams_describes", 15000},
    {"streams_not_ready", 500},
    {"streams_fenced", 10},
    {"streams_given", 1500},
    {"streams_strays", 600},
    {"consumer_moves", 2500},
    {"consumer_fenced", 100},
    {"consumer_strays", 1000},
    {"consumer_full", 5000},
    {"consumer_changes", 600},
    {"consumer_commits", 8000},
    {"consumer_stale", 1000},
    {"consumer_fetches", 3000},
    {"consumer_looks", 1000},
    {"consumer_describes", 30000},
    {"consumer_classic_joins", 3000},
    {"consumer_assigned", 300},
    {"consumer_resolved", 300},
    {"upgrades", 100},
    {"downgrades", 80},
    {"members_compared", 70000},
    {"beats_held", 20000},
    {"beats_moved", 1500},
    {"followed", 1500},
};

static uint64_t total_of(const struct sim_totals *totals, const char *name)
{
#define X(field)                                                                                                                           \
    if (strcmp(name, #field) == 0)                                                                                                         \
        return totals->field;
    SIM_TOTALS(X)
#undef X
    MUSTER_CHECK(false);
    return 0;
}

static void print_totals(const struct sim_totals *totals)
{
#define X(field) printf("%-20s %llu\n", #field, (unsigned long long)totals->field);
    SIM_TOTALS(X)
#undef X
}

static uint32_t below_minima(const struct sim_totals *totals, uint64_t seeds)
{
    uint32_t missing = 0;
    for (size_t i = 0; i < COUNT_OF(minima); i++) {
        uint64_t have = total_of(totals, minima[i].name);
        uint64_t need = minima[i].per_hundred * seeds / 100;
        if (have < need) {
            printf("minimum not reached: %s is %llu, at least %llu expected of %llu seeds\n", minima[i].name, (unsigned long long)have,
                   (unsigned long long)need, (unsigned long long)seeds);
            missing++;
        }
    }
    return missing;
}

static void run_one(struct sim_options *options, uint64_t seed, struct sim_totals *totals, uint64_t *passed, uint64_t *failed)
{
    char failure[512];
    uint64_t hash = 0;
    options->seed = seed;
    options->nodes = seed % 4 == 3 ? 5 : 3;
    bool ok = sim_run(options, totals, &hash, failure);
    *passed += ok;
    *failed += !ok;
    if (!ok)
        printf("seed %llu FAILED %s\n  again: scripts/sim --seed %llu --verbose\n", (unsigned long long)seed, failure,
               (unsigned long long)seed);
    else
        printf("seed %llu hash %016llx\n", (unsigned long long)seed, (unsigned long long)hash);
    fflush(stdout);
}

/* What nodes say to their operators is part of the story only when it is told. */
static void log_line(void *ctx, enum log_level level, const char *line)
{
    const struct sim_options *options = ctx;
    if (options->verbose || level == LOG_ERROR)
        printf("           %s\n", line);
}

static int usage(void)
{
    fputs("usage: muster_sim (--seed S | --seeds N [--from S]) [--seconds T] [--verbose] [--no-faults] [--no-minima] [--stop-at-first]\n"
          "  --seed S         one seed; its hash is the last line but the totals\n"
          "  --seeds N        N seeds from --from (default 1)\n"
          "  --seconds T      virtual seconds with faults, default 20\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct sim_options options = {.groups = 5, .clients = 30, .duration_us = 20000000, .faults = true};
    struct sim_totals totals = {0};
    uint64_t from = 1, count = 0, passed = 0, failed = 0;
    bool want_minima = true, stop_at_first = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--seed") == 0 && value != NULL) {
            from = strtoull(argv[++i], NULL, 10);
            count = 1;
            want_minima = false;
        } else if (strcmp(argv[i], "--seeds") == 0 && value != NULL) {
            count = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--from") == 0 && value != NULL) {
            from = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seconds") == 0 && value != NULL) {
            options.duration_us = strtoll(argv[++i], NULL, 10) * 1000000;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            options.verbose = true;
        } else if (strcmp(argv[i], "--no-faults") == 0) {
            options.faults = false;
            want_minima = false;
        } else if (strcmp(argv[i], "--no-minima") == 0) {
            want_minima = false;
        } else if (strcmp(argv[i], "--stop-at-first") == 0) {
            stop_at_first = true;
        } else {
            return usage();
        }
    }
    if (count == 0)
        return usage();
    log_set(log_line, &options, LOG_DEBUG);
    for (uint64_t seed = from; seed < from + count && !(stop_at_first && failed > 0); seed++)
        run_one(&options, seed, &totals, &passed, &failed);
    print_totals(&totals);
    uint32_t missing = want_minima && failed == 0 ? below_minima(&totals, count) : 0;
    printf("%llu passed, %llu failed\n", (unsigned long long)passed, (unsigned long long)(failed + missing));
    return failed + missing > 0 ? 1 : 0;
}
