/* manual.c: the words of musterd and what they do, its exit codes, and the manual page made of these and of the configuration's keys. */
#include "manual.h"

#include "config.h"

#include <muster/roff.h>

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *words, *does;
} verbs[] = {
    {"--config FILE", "runs the node until SIGTERM or SIGINT"},
    {"form --config FILE", "forms the cluster: every node of muster.peers has to run and be empty"},
    {"--check-config FILE", "says what is wrong with a configuration, or that nothing is"},
    {"--help-config", "prints every configuration key"},
    {"--manual", "prints the manual page, for man -l -"},
    {"--version", NULL},
    {"--help", NULL},
};

static const struct {
    int code;
    const char *means;
} exits[] = {
    {0, "ended as it was told to"},
    {1, "--check-config: the configuration is wrong"},
    {2, "wrong usage"},
    {3, "the configuration is wrong, or does not fit the data folder"},
    {4, "the data folder is in use, cannot be written or is damaged"},
    {5, "an address cannot be listened on"},
    {6, "the cluster could not be formed"},
    {7, "the data is of a feature level that this program does not know: a newer one is needed"},
    {8, "the node was removed from its cluster"},
    {70, "stopped while running, to keep the data safe"},
};

static const char summary[] = "a node of a Kafka group coordinator on Raft";
static const char starts[] = "A node of an empty folder waits until the cluster is formed and serves nobody before.";
static const char logs[] = "Log lines go to standard error.";

void manual_usage(FILE *out)
{
    fprintf(out, "musterd: %s\n\n", summary);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (verbs[i].does != NULL) {
            fprintf(out, "  musterd %-22s %s\n", verbs[i].words, verbs[i].does);
        } else {
            fprintf(out, "  musterd %s\n", verbs[i].words);
        }
    }
    fprintf(out, "\n%s\n%s\n\nExit status\n", starts, logs);
    for (size_t i = 0; i < COUNT_OF(exits); i++) {
        fprintf(out, "  %2d  %s\n", exits[i].code, exits[i].means);
    }
}

/* ---- roff ---- */

static void put(FILE *to, const char *text)
{
    struct buf out;
    buf_init(&out, 0);
    MUSTER_CHECK(roff_put(&out, str_of(text)) == 0);
    fprintf(to, "%.*s", (int)out.len, out.len > 0 ? (const char *)out.ptr : "");
    buf_fini(&out);
}

/* As musterd --help-config prints them. */
static void put_keys(FILE *out)
{
    char *text = NULL;
    size_t len = 0;
    FILE *keys = open_memstream(&text, &len);
    MUSTER_CHECK(keys != NULL);
    config_help(keys);
    MUSTER_CHECK(fclose(keys) == 0);
    fputs(".SH CONFIGURATION\n.nf\n", out);
    put(out, text);
    fputs(".fi\n", out);
    free(text);
}

void manual_page(FILE *out)
{
    fprintf(out, ".TH MUSTERD 8 \"\" \"muster %s\" \"muster\"\n.SH NAME\nmusterd \\- %s\n.SH SYNOPSIS\n", MUSTER_VERSION, summary);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        fprintf(out, "%s\\fBmusterd\\fR ", i > 0 ? ".br\n" : "");
        put(out, verbs[i].words);
        fputc('\n', out);
    }
    fprintf(out, ".SH DESCRIPTION\n%s %s\n", starts, logs);
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (verbs[i].does != NULL) {
            fputs(".TP\n\\fB", out);
            put(out, verbs[i].words);
            fputs("\\fR\n", out);
            put(out, verbs[i].does);
            fputc('\n', out);
        }
    }
    put_keys(out);
    fputs(".SH \"EXIT STATUS\"\n", out);
    for (size_t i = 0; i < COUNT_OF(exits); i++) {
        fprintf(out, ".TP\n%d\n", exits[i].code);
        put(out, exits[i].means);
        fputc('\n', out);
    }
    fputs(".SH \"SEE ALSO\"\n.BR muster (1)\n", out);
}
