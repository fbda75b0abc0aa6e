/* args.c: the command line. Options stand anywhere behind the command, those of every command also before it; `--name value` and
 * `--name=value` are the same; `--` ends the options. */
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
    fprintf(cli->err, "%smuster: %.*s\n", cli->progress.on ? "\r\033[K" : "", STR_ARG(out_text((struct str){text, len}, &arena)));
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

struct str *cli_names(struct cli *cli, int *ret_count)
{
    struct str *names = ARENA_NEW(&cli->arena, struct str, cli->operand_count);
    for (int i = 0; i < cli->operand_count; i++) {
        names[i] = str_of(cli->operands[i]);
    }
    *ret_count = cli->operand_count;
    return names;
}

/* Behind a word that there is not: "; did you mean ...?", or nothing. */
static const char *meant(struct cli *cli, const struct closest *c, const char *dashes)
{
    return str_is_null(c->found) ? "" : arena_printf(&cli->arena, "; did you mean '%s%.*s'?", dashes, STR_ARG(c->found)).ptr;
}

/* command NULL: none is known yet. */
static const char *meant_option(struct cli *cli, struct str word)
{
    struct closest c;
    closest_init(&c, word, 1 + word.len / 4);
    for (size_t i = 0; cli->command != NULL && i < cli->command->option_count; i++) {
        closest_offer(&c, str_of(cli->command->options[i].name));
    }
    for (size_t i = 0; i < cli_global_option_count; i++) {
        closest_offer(&c, str_of(cli_global_options[i].name));
    }
    return meant(cli, &c, "--");
}

static bool say_no_option(struct cli *cli, const char *word, struct str name)
{
    const struct cli_command *c = cli->command;
    const char *instead = c != NULL ? kafka_option_instead(c->noun, name) : NULL;
    if (c == NULL) {
        cli_say(cli, "'%s' stands before the command, where only options of every command may (muster COMMAND [options])%s", word,
                meant_option(cli, name));
    } else if (instead != NULL) {
        cli_say(cli, "'%s %s' has no option '--%.*s' of Kafka's: %s", c->noun, c->verb, STR_ARG(name), instead);
    } else {
        cli_say(cli, "'%s %s' has no option '%s'%s (--help lists them)", c->noun, c->verb, word, meant_option(cli, name));
    }
    return false;
}

/* Takes the option at argv[*at], and its value, without keeping it; the command NULL: only those of every command are known. false with a message. */
static bool read_option(struct cli *cli, int argc, char **argv, int *at, struct cli_given *ret)
{
    const char *word = argv[*at];
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const struct cli_option *option =
        cli->command != NULL ? find_option(cli->command->options, cli->command->option_count, name, len) : NULL;
    if (option == NULL) {
        option = find_option(cli_global_options, cli_global_option_count, name, len);
    }
    const char *value = equals != NULL ? equals + 1 : NULL;
    if (option == NULL) {
        return say_no_option(cli, word, (struct str){name, (int32_t)len});
    }
    if (option->value == NULL && value != NULL) {
        cli_say(cli, "--%s takes no value", option->name);
        return false;
    }
    bool left_out = *at + 1 >= argc || (option->value != NULL && option->value[0] == '[' && strncmp(argv[*at + 1], "--", 2) == 0);
    if (option->value != NULL && value == NULL && !(left_out && option->value[0] == '[')) {
        if (left_out) {
            cli_say(cli, "--%s takes a value: %s", option->name, option->value);
            return false;
        }
        value = argv[++*at];
    }
    *ret = (struct cli_given){option->name, value != NULL ? value : ""};
    return true;
}

static bool take_option(struct cli *cli, int argc, char **argv, int *at)
{
    struct cli_given given;
    if (!read_option(cli, argc, argv, at, &given)) {
        return false;
    }
    if (cli->given_count == CLI_GIVEN_MAX) {
        cli_say(cli, "more than %d options", CLI_GIVEN_MAX);
        return false;
    }
    cli->given[cli->given_count++] = given;
    return true;
}

/* Kafka's tools name by options what stands as operands here: these come first. */
static void take_named(struct cli *cli)
{
    const char **all = ARENA_NEW(&cli->arena, const char *, cli->operand_count + cli->given_count);
    int count = 0;
    for (size_t k = 0; k < COUNT_OF(cli->command->named_by) && cli->command->named_by[k] != NULL; k++) {
        for (int i = 0; i < cli->given_count; i++) {
            if (strcmp(cli->given[i].name, cli->command->named_by[k]) == 0) {
                all[count++] = cli->given[i].value;
            }
        }
    }
    for (int i = 0; i < cli->operand_count; i++) {
        all[count++] = cli->operands[i];
    }
    cli->operands = all;
    cli->operand_count = count;
}

/* Where the command's words stand in argv, 0: nowhere; and whether help is asked for before the second. */
struct words {
    int noun, verb;
    bool help;
};

static bool is_word(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

static bool find_words(struct cli *cli, int argc, char **argv, struct words *ret)
{
    *ret = (struct words){0};
    for (int i = 1; i < argc && ret->verb == 0; i++) {
        bool dash = argv[i][0] == '-';
        struct cli_given given;
        if (is_word(argv[i], "--help", "-h") || strcmp(argv[i], "help") == 0) {
            ret->help = true;
        } else if (dash && (argv[i][1] != '-' || argv[i][2] == '\0')) {
            cli_say(cli, "unknown option '%s' (muster --help lists those that every command has)", argv[i]);
            return false;
        } else if (dash) {
            if (!read_option(cli, argc, argv, &i, &given)) {
                return false;
            }
        } else if (ret->noun == 0) {
            ret->noun = i;
        } else {
            ret->verb = i;
        }
    }
    return true;
}

static bool take_arguments(struct cli *cli, const struct words *words, int argc, char **argv)
{
    bool options = true;
    int64_t number; /* a negative one is an operand, and told to be wrong by whom it is for */
    cli->operands = ARENA_NEW(&cli->arena, const char *, argc);
    for (int i = 1; i < argc; i++) {
        if (i == words->noun || i == words->verb) {
            continue;
        }
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && is_word(argv[i], "--help", "-h")) {
            cli->given[0] = (struct cli_given){"help", ""};
            cli->given_count = 1;
            return true;
        } else if (options && strncmp(argv[i], "--", 2) == 0) {
            if (!take_option(cli, argc, argv, &i)) {
                return false;
            }
        } else if (options && argv[i][0] == '-' && argv[i][1] != '\0' && !cli_parse_number(argv[i], INT64_MIN, INT64_MAX, &number)) {
            cli_say(cli, "unknown option '%s' (--help lists them)", argv[i]);
            return false;
        } else {
            cli->operands[cli->operand_count++] = argv[i];
        }
    }
    take_named(cli);
    return true;
}

static bool check_operands(const struct cli *cli)
{
    const struct cli_command *c = cli->command;
    bool all = cli_flag(cli, "all-groups");
    if (all && cli->operand_count > 0) {
        cli_say(cli, "--all-groups and the name of a group ('%s') do not go together", cli->operands[0]);
        return false;
    }
    if (!all && cli->operand_count < c->min_operands) {
        cli_say(cli, "something is missing: muster %s %s %s", c->noun, c->verb, c->operands);
        return false;
    }
    if (c->max_operands >= 0 && cli->operand_count > c->max_operands) {
        const char *extra = cli->operands[c->max_operands];
        bool group = c->max_operands == 0 && find_option(c->options, c->option_count, "group", strlen("group")) != NULL;
        cli_say(cli, "'%s' is too much: muster %s %s %s%s%s%s", extra, c->noun, c->verb, c->operands, group ? "--group " : "",
                group ? extra : "",
                strcmp(c->noun, "config") == 0 ? "is about clusters by name; muster configs list topics|brokers|groups NAME" : "");
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
        cli->bootstrap_from = "from $MUSTER_BOOTSTRAP";
    }
    struct cli_context context = {.bootstrap = given, .timeout_ms = -1};
    int code = given != NULL ? CLI_OK : context_choose(cli, cluster, &context);
    cli->bootstrap = context.bootstrap;
    if (cli->bootstrap == NULL) {
        cli->bootstrap = "127.0.0.1:9092";
        cli->bootstrap_from = "the default; --bootstrap HOST:PORT or --cluster NAME says where to ask";
    }
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
    if (cli_flag(cli, "times") && !cli_flag(cli, "watch")) {
        return cli_fail(cli, CLI_USAGE, "--times goes with --watch SECONDS");
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
        } else if (!cli->json) {
            fprintf(cli->out, "%s%.*s\n", round > 1 ? "\n" : "", STR_ARG(out_time(out_now_ms(), &cli->arena)));
        }
        code = cli->command->run(cli);
        arena_rewind(&cli->arena, before);
        if (fflush(cli->out) != 0 || ferror(cli->out) || round == times || code == CLI_USAGE) {
            return code;
        }
        nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
    }
}

static int run_command(struct cli *cli, const struct words *words, int argc, char **argv)
{
    if (words->help) {
        help_command(cli->out, cli->command);
        return CLI_OK;
    }
    if (!take_arguments(cli, words, argc, argv)) {
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
    return cli_flag(cli, "watch") ? watch(cli) : cli->command->run(cli);
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
    const char *instead = kafka_verb_instead(noun, word);
    if (instead != NULL) {
        return cli_fail(cli, CLI_USAGE, "there is no '%s %s': muster %s (muster %s --help)", noun, word, instead, instead);
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

/* The command that the words name into cli->command. Whether there is such a noun. */
static bool choose(struct cli *cli, const char *noun, const char *verb)
{
    bool known = false;
    for (size_t i = 0; i < cli->command_count && noun != NULL; i++) {
        const struct cli_command *one = cli->commands[i];
        bool same = strcmp(one->noun, noun) == 0;
        known = known || same;
        if (same && verb != NULL && strcmp(one->verb, verb) == 0) {
            cli->command = one;
        }
    }
    return known;
}

static int run_words(struct cli *cli, int argc, char **argv)
{
    struct words words;
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        fprintf(cli->out, "muster %s\n", MUSTER_VERSION);
        return CLI_OK;
    }
    if (!find_words(cli, argc, argv, &words)) {
        return CLI_USAGE;
    }
    const char *noun = words.noun > 0 ? argv[words.noun] : NULL;
    const char *verb = words.verb > 0 ? argv[words.verb] : NULL;
    bool known = choose(cli, noun, verb);
    if (cli->command != NULL) {
        return run_command(cli, &words, argc, argv);
    }
    if (noun == NULL || (known && verb == NULL && words.help)) {
        help_overview(words.help ? cli->out : cli->err, cli->commands, cli->command_count, noun);
        return words.help ? CLI_OK : CLI_USAGE;
    }
    return say_unknown(cli, known ? noun : NULL, known ? verb : noun);
}

int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv, FILE *out, FILE *err)
{
    struct cli cli = {.out = out, .err = err, .commands = commands, .command_count = count};
    arena_init(&cli.arena, 0);
    int code = run_words(&cli, argc, argv);
    if (fflush(out) != 0 || ferror(out)) {
        code = cli_fail(&cli, code != CLI_OK ? code : CLI_FAILED, "the output could not be written: %s", strerror(errno));
    }
    arena_fini(&cli.arena);
    return code;
}
