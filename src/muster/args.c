/* args.c: the command line. Options may stand anywhere; `--name value` and `--name=value` are the same; `--` ends the options. */
#include "cli.h"
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifndef MUSTER_VERSION
#error "MUSTER_VERSION is given by the build"
#endif

enum { DEFAULT_TIMEOUT_MS = 10000, MOST_TIMEOUT_MS = 3600 * 1000 };

static const struct cli_option global_options[] = {
    {"bootstrap", "HOST:PORT,...", "nodes to ask first; one that answers is enough (default: $MUSTER_BOOTSTRAP, else 127.0.0.1:9092)"},
    {"timeout", "MS", "how long to try, in milliseconds (10000)"},
    {"json", NULL, "JSON instead of tables"},
    {"help", NULL, "this text"},
};

static const char exit_codes[] = "Exit codes\n"
                                 "  0  done\n"
                                 "  1  the request was refused, or what was asked for does not exist\n"
                                 "  2  the command line is wrong\n"
                                 "  3  no node answered in time\n"
                                 "  4  the log ends in a torn batch; everything before it was shown\n"
                                 "  5  the log is damaged, and everything before the damage was shown; or a backup is\n";

/* ---- messages ---- */

/* Parts of a message came from a client or a server: none of it may be obeyed by a terminal. */
__attribute__((format(printf, 2, 0))) static void say(const struct cli *cli, const char *format, va_list args)
{
    struct arena arena;
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    MUSTER_CHECK(len >= 0);
    arena_init(&arena, 0);
    fprintf(cli->err, "muster: %.*s\n", STR_ARG(out_text((struct str){text, len}, &arena)));
    arena_fini(&arena);
    free(text);
}

void cli_say(const struct cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(cli, format, args);
    va_end(args);
}

int cli_fail(const struct cli *cli, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(cli, format, args);
    va_end(args);
    return code;
}

/* ---- help ---- */

static void print_options(FILE *to, const char *title, const struct cli_option *options, size_t count)
{
    if (count == 0) {
        return;
    }
    fprintf(to, "\n%s\n", title);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value != NULL ? " " : "",
                 options[i].value != NULL ? options[i].value : "");
        fprintf(to, "  %-26s %s\n", left, options[i].help);
    }
}

static void print_command_help(FILE *to, const struct cli_command *c)
{
    fprintf(to, "muster %s %s%s%s [options]\n\n%s\n", c->noun, c->verb, c->operands[0] != '\0' ? " " : "", c->operands, c->summary);
    if (c->details != NULL) {
        fprintf(to, "\n%s\n", c->details);
    }
    print_options(to, "Options", c->options, c->option_count);
    print_options(to, "Options of every command", global_options, COUNT_OF(global_options));
    fprintf(to, "\n%s", exit_codes);
}

static void print_help(FILE *to, const struct cli_command *const *commands, size_t count, const char *noun)
{
    fprintf(to,
            "muster: administers a muster cluster and reads its log. Group, topic and offset commands work with any Kafka cluster.\n\n");
    for (size_t i = 0; i < count; i++) {
        const struct cli_command *c = commands[i];
        if (noun == NULL || strcmp(noun, c->noun) == 0) {
            char left[80];
            snprintf(left, sizeof(left), "muster %s %s %s", c->noun, c->verb, c->operands);
            fprintf(to, "  %-44s %s\n", left, c->summary);
        }
    }
    fprintf(to, "\n`muster COMMAND --help` explains a command; `muster --version` prints the version.\n");
    print_options(to, "Options of every command", global_options, COUNT_OF(global_options));
    fprintf(to, "\n%s", exit_codes);
}

/* ---- options ---- */

static const struct cli_option *find_option(const struct cli_option *options, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, name, len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

bool cli_flag(const struct cli *cli, const char *name)
{
    return cli_text(cli, name) != NULL;
}

const char *cli_text(const struct cli *cli, const char *name)
{
    for (int i = cli->given_count; i > 0; i--) {
        if (strcmp(cli->given[i - 1].name, name) == 0) {
            return cli->given[i - 1].value;
        }
    }
    return NULL;
}

bool cli_parse_number(const char *text, int64_t least, int64_t most, int64_t *ret)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        return false;
    }
    *ret = value;
    return true;
}

bool cli_number(struct cli *cli, const char *name, int64_t least, int64_t most, int64_t otherwise, int64_t *ret)
{
    const char *text = cli_text(cli, name);
    *ret = otherwise;
    if (text == NULL || cli_parse_number(text, least, most, ret)) {
        return true;
    }
    if (most == INT64_MAX) {
        cli_say(cli, "--%s takes a whole number from %" PRId64 " on, not '%s'", name, least, text);
    } else {
        cli_say(cli, "--%s takes a whole number from %" PRId64 " to %" PRId64 ", not '%s'", name, least, most, text);
    }
    return false;
}

struct str *cli_names(struct cli *cli, const char *name, int *ret_count)
{
    struct str *names = ARENA_NEW(&cli->arena, struct str, cli->operand_count + cli->given_count);
    int count = 0;
    for (int i = 0; i < cli->operand_count; i++) {
        names[count++] = str_of(cli->operands[i]);
    }
    for (int i = 0; name != NULL && i < cli->given_count; i++) {
        if (strcmp(cli->given[i].name, name) == 0) {
            names[count++] = str_of(cli->given[i].value);
        }
    }
    *ret_count = count;
    return names;
}

/* Takes the option at argv[*at], and its value. false with a message. */
static bool take_option(struct cli *cli, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option = find_option(cli->command->options, cli->command->option_count, name, len);
    if (option == NULL) {
        option = find_option(global_options, COUNT_OF(global_options), name, len);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option == NULL) {
        cli_say(cli, "'%s %s' has no option '%s' (--help lists them)", cli->command->noun, cli->command->verb, argv[*at]);
        return false;
    }
    if (option->value == NULL && value != NULL) {
        cli_say(cli, "--%s takes no value", option->name);
        return false;
    }
    if (option->value != NULL && value == NULL) {
        if (*at + 1 >= argc) {
            cli_say(cli, "--%s takes a value: %s", option->name, option->value);
            return false;
        }
        value = argv[++*at];
    }
    if (cli->given_count == CLI_GIVEN_MAX) {
        cli_say(cli, "more than %d options", CLI_GIVEN_MAX);
        return false;
    }
    cli->given[cli->given_count++] = (struct cli_given){option->name, value != NULL ? value : ""};
    return true;
}

static bool take_arguments(struct cli *cli, int argc, char **argv)
{
    bool options = true;
    cli->operands = ARENA_NEW(&cli->arena, const char *, argc);
    for (int i = 3; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)) {
            cli->given[0] = (struct cli_given){"help", ""};
            cli->given_count = 1;
            return true;
        } else if (options && strncmp(argv[i], "--", 2) == 0) {
            if (!take_option(cli, argc, argv, &i)) {
                return false;
            }
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
            cli_say(cli, "unknown option '%s' (--help lists them)", argv[i]);
            return false;
        } else {
            cli->operands[cli->operand_count++] = argv[i];
        }
    }
    return true;
}

static bool check_operands(const struct cli *cli)
{
    const struct cli_command *c = cli->command;
    if (cli->operand_count < c->min_operands) {
        cli_say(cli, "something is missing: muster %s %s %s", c->noun, c->verb, c->operands);
        return false;
    }
    if (c->max_operands >= 0 && cli->operand_count > c->max_operands) {
        cli_say(cli, "'%s' is too much: muster %s %s %s", cli->operands[c->max_operands], c->noun, c->verb, c->operands);
        return false;
    }
    return true;
}

static bool take_globals(struct cli *cli)
{
    const char *bootstrap = cli_text(cli, "bootstrap");
    const char *environment = getenv("MUSTER_BOOTSTRAP");
    if (bootstrap == NULL) {
        bootstrap = environment != NULL && environment[0] != '\0' ? environment : "127.0.0.1:9092";
    }
    cli->bootstrap = bootstrap;
    cli->json = cli_flag(cli, "json");
    return cli_number(cli, "timeout", 1, MOST_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, &cli->timeout_ms);
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    if (!take_arguments(cli, argc, argv)) {
        return CLI_USAGE;
    }
    if (cli_flag(cli, "help")) {
        print_command_help(cli->out, cli->command);
        return CLI_OK;
    }
    if (!take_globals(cli) || !check_operands(cli)) {
        return CLI_USAGE;
    }
    int code = cli->command->run(cli);
    if (fflush(cli->out) != 0 || ferror(cli->out)) {
        return cli_fail(cli, code != CLI_OK ? code : CLI_FAILED, "the output could not be written: %s", strerror(errno));
    }
    return code;
}

static bool is_word(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* What is asked for before any command. -1: go on. */
static int early(const struct cli_command *const *commands, size_t count, int argc, char **argv, FILE *out, FILE *err)
{
    if (argc < 2) {
        print_help(err, commands, count, NULL);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        fprintf(out, "muster %s\n", MUSTER_VERSION);
        return CLI_OK;
    }
    if (is_word(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0) {
        print_help(out, commands, count, NULL);
        return CLI_OK;
    }
    return -1;
}

int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv, FILE *out, FILE *err)
{
    int code = early(commands, count, argc, argv, out, err);
    if (code >= 0) {
        return code;
    }
    bool noun_known = false;
    struct cli cli = {.out = out, .err = err};
    for (size_t i = 0; i < count; i++) {
        bool noun = strcmp(commands[i]->noun, argv[1]) == 0;
        noun_known = noun_known || noun;
        if (noun && argc > 2 && strcmp(commands[i]->verb, argv[2]) == 0) {
            cli.command = commands[i];
        }
    }
    if (cli.command == NULL && noun_known && argc > 2 && is_word(argv[2], "--help", "-h")) {
        print_help(out, commands, count, argv[1]);
        return CLI_OK;
    }
    if (cli.command == NULL && argv[1][0] == '-') {
        cli_say(&cli, "'%s' stands before the command; options come behind it: muster COMMAND [options]", argv[1]);
        return CLI_USAGE;
    }
    if (cli.command == NULL) {
        cli_say(&cli, "unknown command '%s%s%s'; there are:", argv[1], noun_known && argc > 2 ? " " : "",
                noun_known && argc > 2 ? argv[2] : "");
        fputc('\n', err);
        print_help(err, commands, count, noun_known ? argv[1] : NULL);
        return CLI_USAGE;
    }
    arena_init(&cli.arena, 0);
    code = run_command(&cli, argc, argv);
    arena_fini(&cli.arena);
    return code;
}
