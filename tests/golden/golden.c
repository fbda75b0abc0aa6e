/* golden.c: transcripts of the group library.
 *
 *     golden DIR [--rewrite] [FILE.txt ...]
 *
 * A transcript is blocks with an empty line between them: commands, a line of dashes, and what happened. Lines that begin with # are for the reader. With
 * --rewrite the second halves are written anew; the difference is reviewed. Without file names all transcripts of DIR are run, and then every rule of
 * classic, consumer and streams groups must have fired. commands.c has the commands. */
#include "commands.h"
#include "print.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of them call theirs RULE. */
#include "classic/rules.h"
#undef RULE
#include "consumer/rules.h"
#undef RULE
#include "streams/rules.h"

static bool classic_seen[CLASSIC_RULE_COUNT], consumer_seen[CONSUMER_RULE_COUNT], streams_seen[STREAMS_RULE_COUNT];

static void see(const char *rule, const char *const *rules, int count, bool *seen)
{
    for (int i = 0; i < count; i++) {
        seen[i] = seen[i] || strcmp(rule, rules[i]) == 0;
    }
}

void golden_rule_seen(const char *rule)
{
    see(rule, classic_rules, CLASSIC_RULE_COUNT, classic_seen);
    see(rule, consumer_rules, CONSUMER_RULE_COUNT, consumer_seen);
    see(rule, streams_rules, STREAMS_RULE_COUNT, streams_seen);
}

static int report_unseen(const char *const *rules, int count, const bool *seen)
{
    int unseen = 0;
    for (int i = 0; i < count; i++) {
        if (!seen[i]) {
            fprintf(stderr, "no transcript hits the rule \"%s\"\n", rules[i]);
            unseen++;
        }
    }
    return unseen;
}

static int report_unseen_rules(void)
{
    return report_unseen(classic_rules, CLASSIC_RULE_COUNT, classic_seen) +
           report_unseen(consumer_rules, CONSUMER_RULE_COUNT, consumer_seen) +
           report_unseen(streams_rules, STREAMS_RULE_COUNT, streams_seen);
}

/* ---- one transcript ---------------------------------------------------------------------------------------------------- */

static bool read_file(const char *path, struct buf *ret)
{
    FILE *f = fopen(path, "rb");
    char chunk[4096];
    size_t n;
    while (f != NULL && (n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        MUSTER_CHECK(buf_put(ret, chunk, n) == 0);
    }
    return f != NULL && fclose(f) == 0;
}

static bool write_file(const char *path, const struct buf *content)
{
    FILE *f = fopen(path, "wb");
    bool good = f != NULL && fwrite(content->ptr, 1, content->len, f) == content->len;
    return f != NULL && fclose(f) == 0 && good;
}

/* Runs the commands of the transcript and writes it with what happens now. */
static void play(const struct buf *text, struct buf *out)
{
    struct golden g;
    golden_init(&g, out);
    bool expected = false; /* inside of a second half, which is dropped */
    size_t at = 0;
    while (at < text->len) {
        const char *line = (const char *)text->ptr + at;
        const char *newline = memchr(line, '\n', text->len - at);
        size_t len = newline == NULL ? text->len - at : (size_t)(newline - line);
        at += len + 1;
        if (len == 0) {
            expected = false;
            print_text("\n", out);
        } else if (len >= 4 && memcmp(line, "----", 4) == 0) {
            expected = true;
            print_text("----\n", out);
            golden_flush(&g);
        } else if (!expected) {
            MUSTER_CHECK(buf_put(out, line, len) == 0);
            print_text("\n", out);
            if (line[0] != '#') {
                golden_command(&g, (struct str){line, (int32_t)len});
            }
        }
    }
    golden_fini(&g);
}

static void show_difference(const char *path, const struct buf *want, const struct buf *have)
{
    size_t at = 0, line = 1, begin = 0;
    while (at < want->len && at < have->len && want->ptr[at] == have->ptr[at]) {
        if (want->ptr[at++] == '\n') {
            line++;
            begin = at;
        }
    }
    const char *a = (const char *)want->ptr + begin, *b = (const char *)have->ptr + begin;
    fprintf(stderr, "%s:%zu differs\n- %.*s\n+ %.*s\n", path, line, (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

static bool run_file(const char *dir, const char *name, bool rewrite)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    struct buf want, have;
    buf_init(&want, 0);
    buf_init(&have, 0);
    bool good = read_file(path, &want);
    if (good) {
        play(&want, &have);
        MUSTER_CHECK(buf_put(&want, "", 1) == 0 && buf_put(&have, "", 1) == 0); /* so that they end like strings */
        good = want.len == have.len && memcmp(want.ptr, have.ptr, have.len) == 0;
        if (!good && rewrite) {
            have.len--;
            good = write_file(path, &have);
        } else if (!good) {
            show_difference(path, &want, &have);
        }
    } else {
        fprintf(stderr, "%s cannot be read\n", path);
    }
    buf_fini(&want);
    buf_fini(&have);
    return good;
}

static int is_transcript(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0 && strcmp(entry->d_name, "CMakeLists.txt") != 0;
}

static int run_folder(const char *dir, bool rewrite)
{
    struct dirent **names;
    int count = scandir(dir, &names, is_transcript, alphasort);
    int bad = count <= 0 ? 1 : 0;
    for (int i = 0; i < count; i++) {
        bad += run_file(dir, names[i]->d_name, rewrite) ? 0 : 1;
        free(names[i]);
    }
    if (count >= 0) {
        free(names);
    }
    printf("%d transcripts, %d of them differ\n", count, bad);
    return bad + report_unseen_rules();
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: golden DIR [--rewrite] [FILE.txt ...]\n");
        return 2;
    }
    bool rewrite = false;
    int files = 0, bad = 0;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--rewrite") == 0) {
            rewrite = true;
        }
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--rewrite") != 0) {
            bad += run_file(argv[1], argv[i], rewrite) ? 0 : 1;
            files++;
        }
    }
    return (files > 0 ? bad : run_folder(argv[1], rewrite)) == 0 ? 0 : 1;
}
