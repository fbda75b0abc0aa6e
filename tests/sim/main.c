/* muster_sim --seed S | --seeds N [--from S] [...]: runs seeds, prints totals, ends with `N passed, N failed`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minima.h"
#include "results.h"

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

static uint32_t below_minima(const struct sim_totals *totals, uint64_t seeds, bool damage)
{
    uint32_t missing = 0;
    for (size_t i = 0; i < COUNT_OF(minima); i++) {
        uint64_t have = total_of(totals, minima[i].name);
        uint64_t need = minima[i].of_damage && !damage ? 0 : minima[i].per_hundred * seeds / 100;
        if (have < need) {
            printf("minimum not reached: %s is %llu, at least %llu expected of %llu seeds\n", minima[i].name, (unsigned long long)have,
                   (unsigned long long)need, (unsigned long long)seeds);
            missing++;
        }
    }
    return missing;
}

/* What the command line asked for, and what came of it. */
struct session {
    struct sim_options options;
    uint64_t from, count, passed, failed;
    bool want_minima, stop_at_first;
    const char *history, *resume, *build, *commit;
    struct sim_totals totals;
    struct results results;
};

static void add_totals(struct sim_totals *to, const struct sim_totals *from)
{
#define X(field) to->field += from->field;
    SIM_TOTALS(X)
#undef X
}

static void run_one(struct session *s, uint64_t seed)
{
    struct sim_totals totals = {0};
    char failure[512];
    uint64_t hash = 0;
    uint8_t known = results_of(&s->results, seed);
    if (known != 0) { /* its totals are counted already */
        s->passed += known == 1;
        s->failed += known != 1;
        return;
    }
    s->options.seed = seed;
    s->options.story = seed % 8 == 5 ? STORY_MEMBERS : seed % 10 == 4 ? STORY_LEVELS : STORY_NONE;
    s->options.nodes = seed % 4 == 3 || s->options.story == STORY_MEMBERS ? 5 : 3;
    bool ok = sim_run(&s->options, &totals, &hash, failure);
    s->passed += ok;
    s->failed += !ok;
    add_totals(&s->totals, &totals);
    results_add(&s->results, seed, ok, hash, &totals);
    if (!ok)
        printf("seed %llu FAILED %s\n  again: scripts/sim --seed %llu --verbose\n", (unsigned long long)seed, failure,
               (unsigned long long)seed);
    else
        printf("seed %llu hash %016llx\n", (unsigned long long)seed, (unsigned long long)hash);
    fflush(stdout);
}

/* What nodes say to their operators is part of the story only when it is told; and what tells of a full disk over and over, too. */
static void log_line(void *ctx, enum log_level level, const char *line)
{
    const struct sim_options *options = ctx;
    bool of_full_disk = strstr(line, "evt=disk_full") != NULL || strstr(line, muster_strerror(MUSTER_E_FULL)) != NULL;
    if (options->verbose || (level == LOG_ERROR && !of_full_disk))
        printf("           %s\n", line);
}

static int usage(void)
{
    fputs(
        "usage: muster_sim (--seed S | --seeds N [--from S]) [--seconds T] [--verbose] [--no-faults] [--no-damage] [--no-minima] "
        "[--stop-at-first]\n"
        "                  [--history FILE] [--resume FILE --build NAME [--commit NAME]]\n"
        "  --seed S         one seed; its hash is the last line but the totals\n"
        "  --seeds N        N seeds from --from (default 1)\n"
        "  --seconds T      virtual seconds with faults, default 20\n"
        "  --only KIND      faults of that kind and of no other, again for a second one: crashes, cuts, one-way-cuts, estranged, pauses,\n"
        "                   slow-disks, full-disks, hung-disks, clock-jumps, drift, transfers, misdirected, lies, memory, slow-turns, "
        "network,\n"
        "                   duplicates, torn-writes (they need crashes)\n"
        "  --without KIND   faults of all kinds but that one\n"
        "  --history FILE   writes all commits and fetches there, for tests/lin/linearize.py\n"
        "  --resume FILE    leaves out the seeds that FILE has of that build, counts them all the same, and adds the others to it\n",
        stderr);
    return 2;
}

static bool take_kind(struct sim_options *options, const char *value, bool without)
{
    static const char *const names[] = {
#define X(name, text) text,
        SIM_KINDS(X)
#undef X
    };
    for (uint32_t kind = 0; kind < COUNT_OF(names); kind++) {
        if (strcmp(value, names[kind]) == 0) {
            if (without)
                options->only = (options->only != 0 ? options->only : (UINT32_C(1) << COUNT_OF(names)) - 1) & ~(UINT32_C(1) << kind);
            else
                options->only |= UINT32_C(1) << kind;
            return true;
        }
    }
    fprintf(stderr, "there is no kind of fault '%s'\n", value);
    return false;
}

/* False: not an argument of this program, or its value is missing. */
static bool take_value(struct session *s, const char *name, const char *value)
{
    if (value == NULL)
        return false;
    if (strcmp(name, "--seed") == 0) {
        s->from = strtoull(value, NULL, 10);
        s->count = 1;
        s->want_minima = false;
    } else if (strcmp(name, "--seeds") == 0) {
        s->count = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--from") == 0) {
        s->from = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--seconds") == 0) {
        s->options.duration_us = strtoll(value, NULL, 10) * 1000000;
    } else if (strcmp(name, "--history") == 0) {
        s->history = value;
    } else if (strcmp(name, "--resume") == 0) {
        s->resume = value;
    } else if (strcmp(name, "--build") == 0) {
        s->build = value;
    } else if (strcmp(name, "--commit") == 0) {
        s->commit = value;
    } else if (strcmp(name, "--only") == 0 || strcmp(name, "--without") == 0) {
        s->want_minima = false;
        return take_kind(&s->options, value, strcmp(name, "--without") == 0);
    } else {
        return false;
    }
    return true;
}

static bool take_switch(struct session *s, const char *name)
{
    if (strcmp(name, "--verbose") == 0)
        s->options.verbose = true;
    else if (strcmp(name, "--no-faults") == 0)
        s->options.faults = s->want_minima = false;
    else if (strcmp(name, "--no-minima") == 0)
        s->want_minima = false;
    else if (strcmp(name, "--no-damage") == 0)
        s->options.damage = false;
    else if (strcmp(name, "--stop-at-first") == 0)
        s->stop_at_first = true;
    else
        return false;
    return true;
}

static bool open_files(struct session *s)
{
    if (s->history != NULL && (s->options.history = fopen(s->history, "w")) == NULL) {
        perror(s->history);
        return false;
    }
    bool opened = s->resume == NULL || results_open(&s->results, s->resume, s->build, s->from, s->count, &s->totals);
    s->results.commit = s->commit;
    return opened;
}

int main(int argc, char **argv)
{
    struct session s = {.options = {.groups = 5, .clients = 30, .duration_us = 20000000, .faults = true, .damage = true},
                        .from = 1,
                        .want_minima = true};
    for (int i = 1; i < argc; i++) {
        if (take_switch(&s, argv[i]))
            continue;
        if (!take_value(&s, argv[i], i + 1 < argc ? argv[i + 1] : NULL))
            return usage();
        i++;
    }
    if (s.count == 0 || (s.resume != NULL && s.build == NULL))
        return usage();
    log_set(log_line, &s.options, LOG_DEBUG);
    if (!open_files(&s))
        return 2;
    for (uint64_t seed = s.from; seed < s.from + s.count && !(s.stop_at_first && s.failed > 0); seed++)
        run_one(&s, seed);
    results_close(&s.results);
    if (s.options.history != NULL && fclose(s.options.history) != 0)
        perror(s.history);
    print_totals(&s.totals);
    uint32_t missing = s.want_minima && s.failed == 0 ? below_minima(&s.totals, s.count, s.options.damage) : 0;
    printf("%llu passed, %llu failed\n", (unsigned long long)s.passed, (unsigned long long)(s.failed + missing));
    return s.failed + missing > 0 ? 1 : 0;
}
