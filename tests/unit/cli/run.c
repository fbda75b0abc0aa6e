#include "run.h"

enum { WORDS_MAX = 32 };

static size_t out_bytes, err_bytes;

struct run run_cli(const char *word, ...)
{
    char *argv[WORDS_MAX] = {(char *)"muster"};
    int argc = 1;
    va_list args;
    va_start(args, word);
    for (const char *w = word; w != NULL; w = va_arg(args, const char *)) {
        assert_true(argc < WORDS_MAX - 1);
        argv[argc++] = (char *)w;
    }
    va_end(args);
    struct run r = {0};
    FILE *out = open_memstream(&r.out, &out_bytes);
    FILE *err = open_memstream(&r.err, &err_bytes);
    assert_true(out != NULL && err != NULL);
    r.code = cli_main(cli_commands, cli_command_count, argc, argv, out, err);
    fclose(out);
    fclose(err);
    return r;
}

void run_fini(struct run *r)
{
    free(r->out);
    free(r->err);
    *r = (struct run){0};
}

void assert_run(struct run r, int code, const char *out, const char *err)
{
    if (r.code != code || (out != NULL && strstr(r.out, out) == NULL) || (err != NULL && strstr(r.err, err) == NULL)) {
        fail_msg("exit code %d\nout: %s\nerr: %s\nnot: %d\nout: %s\nerr: %s", r.code, r.out, r.err, code, out != NULL ? out : "anything",
                 err != NULL ? err : "anything");
    }
    run_fini(&r);
}

/* Those that every table has whose rows are of these. */
static bool is_plain(const char *column)
{
    static const char *const plain[] = {"GROUP", "NODE",    "TOPIC",    "PARTITION", "PARTITIONS",
                                        "SHARD", "RECORDS", "GROUP-ID", "CLIENT",    "#MEMBERS"};
    for (size_t i = 0; i < COUNT_OF(plain); i++) {
        if (strcmp(column, plain[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A header has no letter but capitals, and no digits. */
static bool is_header(const char *line, size_t len)
{
    bool any = false;
    for (size_t i = 0; i < len; i++) {
        any = any || (line[i] >= 'A' && line[i] <= 'Z');
        if ((line[i] >= 'a' && line[i] <= 'z') || (line[i] >= '0' && line[i] <= '9')) {
            return false;
        }
    }
    return any;
}

void assert_columns_told(struct run r, const char *noun, const char *verb)
{
    struct run help = run_cli(noun, verb, "--help", NULL);
    const char *columns = strstr(help.out, "\nColumns\n");
    int headers = 0;
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(columns);
    for (char *line = r.out, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        size_t len = next != NULL ? (size_t)(next - line) : strlen(line);
        next = next != NULL ? next + 1 : NULL;
        if (!is_header(line, len)) {
            continue;
        }
        headers++;
        line[len] = '\0';
        char *rest;
        for (const char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            if (!is_plain(word) && strstr(columns, word) == NULL) {
                fail_msg("%s %s --help does not tell of %s", noun, verb, word);
            }
        }
    }
    assert_true(headers > 0);
    run_fini(&help);
    run_fini(&r);
}

void cli_begin(struct cli *cli, struct run *r, bool json)
{
    *r = (struct run){0};
    *cli = (struct cli){.json = json, .timeout_ms = 1000, .bootstrap = "127.0.0.1:1"};
    cli->out = open_memstream(&r->out, &out_bytes);
    cli->err = open_memstream(&r->err, &err_bytes);
    assert_true(cli->out != NULL && cli->err != NULL);
    arena_init(&cli->arena, 0);
}

void cli_end(struct cli *cli, struct run *r, int code)
{
    fclose(cli->out);
    fclose(cli->err);
    arena_fini(&cli->arena);
    r->code = code;
}

int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

int lines_of(const char *text)
{
    int count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}
