#include "results.h"

#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 16384 };

static void add_total(struct sim_totals *totals, const char *name, uint64_t value)
{
#define X(field)                                                                                                                           \
    if (strcmp(name, #field) == 0)                                                                                                         \
        totals->field += value;
    SIM_TOTALS(X)
#undef X
}

/* A line that was cut off, as the last one of a run that was killed, counts nothing: it has no newline. */
static void take_line(struct results *r, char *line, struct sim_totals *totals)
{
    char *rest = line;
    const char *build = strsep(&rest, " "), *seed_text = strsep(&rest, " "), *verdict = strsep(&rest, " "), *hash = strsep(&rest, " ");
    if (hash == NULL || rest == NULL || strcmp(build, r->build) != 0)
        return;
    uint64_t seed = strtoull(seed_text, NULL, 10);
    if (seed < r->from || seed - r->from >= r->count || r->done[seed - r->from] != 0)
        return;
    r->done[seed - r->from] = strcmp(verdict, "ok") == 0 ? 1 : 2;
    for (char *word = strsep(&rest, " \n"); word != NULL; word = strsep(&rest, " \n")) {
        char *value = strchr(word, '=');
        if (value != NULL) {
            *value = '\0';
            add_total(totals, word, strtoull(value + 1, NULL, 10));
        }
    }
}

bool results_open(struct results *r, const char *path, const char *build, uint64_t from, uint64_t count, struct sim_totals *totals)
{
    static char line[LINE_BYTES];
    *r = (struct results){.from = from, .count = count, .done = calloc(count, 1)};
    MUSTER_CHECK(r->done != NULL);
    snprintf(r->build, sizeof(r->build), "%s", build);
    FILE *old = fopen(path, "r");
    bool whole = true;
    while (old != NULL && fgets(line, sizeof(line), old) != NULL) {
        whole = line[strlen(line) - 1] == '\n';
        if (whole)
            take_line(r, line, totals);
    }
    if (old != NULL)
        fclose(old);
    r->file = fopen(path, "a");
    if (r->file == NULL) {
        perror(path);
        return false;
    }
    if (!whole)
        fputc('\n', r->file);
    return true;
}

uint8_t results_of(const struct results *r, uint64_t seed)
{
    return r->file == NULL ? 0 : r->done[seed - r->from];
}

void results_add(struct results *r, uint64_t seed, bool ok, uint64_t hash, const struct sim_totals *totals)
{
    if (r->file == NULL)
        return;
    fprintf(r->file, "%s %llu %s %016llx", r->build, (unsigned long long)seed, ok ? "ok" : "FAILED", (unsigned long long)hash);
#define X(field)                                                                                                                           \
    if (totals->field != 0)                                                                                                                \
        fprintf(r->file, " %s=%llu", #field, (unsigned long long)totals->field);
    SIM_TOTALS(X)
#undef X
    if (r->commit != NULL)
        fprintf(r->file, " commit=%s", r->commit);
    fputc('\n', r->file);
    fflush(r->file);
}

void results_close(struct results *r)
{
    if (r->file != NULL)
        fclose(r->file);
    free(r->done);
}
