/* args.c: the command line. Options may stand anywhere; `--name value` and `--name=value` are the same; `--` ends the options. */
#include "cli.h"
#include "context.h"
#include "help.h"
#include "out.h"

#include <muster/closest.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef MUSTER_VERSION
#error "MUSTER_VERSION is given by the build"
#endif

enum { DEFAULT_TIMEOUT_MS = 10000, MOST_TIMEOUT_MS = 3600 * 1000, MOST_WATCH_S = 86400 };

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
    if (least == INT64_MIN && most == INT64_MAX) {
        cli_say(cli, "--%s takes a whole number, not '%s'", name, text);
    } else if (most == INT64_MAX) {
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

/* Behind a word that there is not: "; did you mean ...?", or nothing. */
static const char *meant(struct cli *cli, const struct closest *c, const char *dashes)
{
    return str_is_null(c->found) ? "" : arena_printf(&cli->arena, "; did you mean '%s%.*s'?", dashes, STR_ARG(c->found)).ptr;
}

static const char *meant_option(struct cli *cli, struct str word)
{
    struct closest c;
    closest_init(&c, word, 1 + word.len / 4);
    for (size_t i = 0; i < cli->command->option_count; i++) {
        closest_offer(&c, str_of(cli->command->options[i].name));
    }
    for (size_t i = 0; i < cli_global_option_count; i++) {
        closest_offer(&c, str_of(cli_global_options[i].name));
    }
    return meant(cli, &c, "--");
}

/* Takes the option at argv[*at], and its value. false with a message. */
static bool take_option(struct cli *cli, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option = find_option(cli->command->options, cli->command->option_count, name, len);
    if (option == NULL) {
        option = find_option(cli_global_options, cli_global_option_count, name, len);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option == NULL) {
        cli_say(cli, "'%s %s' has no option '%s'%s (--help lists them)", cli->command->noun, cli->command->verb, argv[*at],
                meant_option(cli, (struct str){name, (int32_t)len}));
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
        const char *extra = cli->operands[c->max_operands];
        bool group = c->max_operands == 0 && find_option(c->options, c->option_count, "group", strlen("group")) != NULL;
        cli_say(cli, "'%s' is too much: muster %s %s %s%s%s", extra, c->noun, c->verb, c->operands, group ? "--group " : "",
                group ? extra : "");
        return false;
    }
    return true;
}

/* Where to ask: what is given, the context that is named, the environment, the context that the file names, this machine. */
static int take_bootstrap(struct cli *cli, int64_t *ret_timeout_ms)
{
    const char *given = cli_text(cli, "bootstrap-server");
    const char *environment = getenv("MUSTER_BOOTSTRAP");
    const char *cluster = cli_text(cli, "cluster");
    given = given != NULL ? given : cli_text(cli, "bootstrap");
    *ret_timeout_ms = DEFAULT_TIMEOUT_MS;
    if (given != NULL && cluster != NULL) {
        return cli_fail(cli, CLI_USAGE, "--bootstrap and --cluster do not go together");
    }
    if (given == NULL && cluster == NULL && environment != NULL && environment[0] != '\0') {
        given = environment;
    }
    struct cli_context context = {.bootstrap = given, .timeout_ms = -1};
    int code = given != NULL ? CLI_OK : context_choose(cli, cluster, &context);
    cli->bootstrap = context.bootstrap != NULL ? context.bootstrap : "127.0.0.1:9092";
    *ret_timeout_ms = context.timeout_ms > 0 ? context.timeout_ms : DEFAULT_TIMEOUT_MS;
    return code;
}

static int take_globals(struct cli *cli)
{
    int64_t timeout_ms;
    cli->json = cli_flag(cli, "json");
    if ((cli_flag(cli, "watch") || cli_flag(cli, "times")) && !cli->command->watchable) {
        return cli_fail(cli, CLI_USAGE, "'%s %s' is done once; --watch is for what only shows something", cli->command->noun,
                        cli->command->verb);
    }
    int code = take_bootstrap(cli, &timeout_ms);
    if (code != CLI_OK) {
        return code;
    }
    return cli_number(cli, "timeout", 1, MOST_TIMEOUT_MS, timeout_ms, &cli->timeout_ms) ? CLI_OK : CLI_USAGE;
}

/* The command again and again; what does not work once may work the next time. */
static int watch(struct cli *cli)
{
    int64_t seconds;
    int64_t times;
    int code = CLI_OK;
    if (!cli_number(cli, "watch", 1, MOST_WATCH_S, 2, &seconds) || !cli_number(cli, "times", 1, INT64_MAX, INT64_MAX, &times)) {
        return CLI_USAGE;
    }
    for (int64_t round = 1;; round++) {
        struct arena_mark before = arena_here(&cli->arena);
        if (out_is_terminal(cli->out)) {
            fputs("\033[H\033[2J", cli->out);
        }
        code = cli->command->run(cli);
        arena_rewind(&cli->arena, before);
        if (fflush(cli->out) != 0 || ferror(cli->out) || round == times || code == CLI_USAGE) {
            return code;
        }
        nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
    }
}

static int run_command(struct cli *cli, int argc, char **argv)
{
    if (!take_arguments(cli, argc, argv)) {
        return CLI_USAGE;
    }
    if (cli_flag(cli, "help")) {
        help_command(cli->out, cli->command);
        return CLI_OK;
    }
    if (!check_operands(cli)) {
        return CLI_USAGE;
    }
    int code = take_globals(cli);
    if (code != CLI_OK) {
        return code;
    }
    code = cli_flag(cli, "watch") ? watch(cli) : cli->command->run(cli);
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
        help_overview(err, commands, count, NULL);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        fprintf(out, "muster %s\n", MUSTER_VERSION);
        return CLI_OK;
    }
    if (is_word(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0) {
        help_overview(out, commands, count, NULL);
        return CLI_OK;
    }
    return -1;
}

/* A word that is no noun, or behind a noun no verb; NULL: there is none behind it. */
static int say_unknown(struct cli *cli, const char *noun, const char *word)
{
    struct closest c;
    if (word == NULL) {
        cli_say(cli, "'%s' is not all of a command; there are:", noun);
        fputc('\n', cli->err);
        help_overview(cli->err, cli->commands, cli->command_count, noun);
        return CLI_USAGE;
    }
    closest_init(&c, str_of(word), 1 + (int)strlen(word) / 4);
    for (size_t i = 0; i < cli->command_count; i++) {
        const struct cli_command *one = cli->commands[i];
        if (noun == NULL || strcmp(one->noun, noun) == 0) {
            closest_offer(&c, str_of(noun == NULL ? one->noun : one->verb));
        }
    }
    return cli_fail(cli, CLI_USAGE, "unknown command '%s%s%s'%s (muster%s%s --help)", noun != NULL ? noun : "", noun != NULL ? " " : "",
                    word, meant(cli, &c, ""), noun != NULL ? " " : "", noun != NULL ? noun : "");
}

int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv, FILE *out, FILE *err)
{
    int code = early(commands, count, argc, argv, out, err);
    if (code >= 0) {
        return code;
    }
    bool noun_known = false;
    struct cli cli = {.out = out, .err = err, .commands = commands, .command_count = count};
    for (size_t i = 0; i < count; i++) {
        bool noun = strcmp(commands[i]->noun, argv[1]) == 0;
        noun_known = noun_known || noun;
        if (noun && argc > 2 && strcmp(commands[i]->verb, argv[2]) == 0) {
            cli.command = commands[i];
        }
    }
    if (cli.command == NULL && noun_known && argc > 2 && is_word(argv[2], "--help", "-h")) {
        help_overview(out, commands, count, argv[1]);
        return CLI_OK;
    }
    if (cli.command == NULL && argv[1][0] == '-') {
        cli_say(&cli, "'%s' stands before the command; options come behind it: muster COMMAND [options]", argv[1]);
        return CLI_USAGE;
    }
    arena_init(&cli.arena, 0);
    code = cli.command != NULL ? run_command(&cli, argc, argv) : say_unknown(&cli, noun_known ? argv[1] : NULL, argv[noun_known ? 2 : 1]);
    arena_fini(&cli.arena);
    return code;
}
