/* args_test.c: the command line. */
#include "run.h"

static struct cli seen;
static const char *seen_operands[8];

static int note(struct cli *cli)
{
    seen = *cli;
    for (int i = 0; i < cli->operand_count && i < 8; i++) {
        seen_operands[i] = cli->operands[i];
    }
    int64_t number;
    if (!cli_number(cli, "number", 1, 10, 7, &number)) {
        return CLI_USAGE;
    }
    fprintf(cli->out, "%d", (int)number);
    return CLI_OK;
}

static const struct cli_option options[] = {{"number", "N", "a number"},
                                            {"switch", NULL, "a switch"},
                                            {"many", "X", "again and again"},
                                            {"first", "X", "the first"}};
static const struct cli_command command = {.noun = "test",
                                           .verb = "this",
                                           .operands = "A [B]",
                                           .min_operands = 1,
                                           .max_operands = 2,
                                           .named_by = {"first", "many"},
                                           .summary = "Tests.",
                                           .options = options,
                                           .option_count = COUNT_OF(options),
                                           .run = note};
static const struct cli_command *const table[] = {&command};

static struct run run_words(int argc, char **argv)
{
    struct run r = {0};
    size_t out_bytes;
    size_t err_bytes;
    FILE *out = open_memstream(&r.out, &out_bytes);
    FILE *err = open_memstream(&r.err, &err_bytes);
    seen = (struct cli){0};
    r.code = cli_main(table, 1, argc, argv, out, err);
    fclose(out);
    fclose(err);
    return r;
}

#define RUN(...)                                                                                                                           \
    run_words((int)COUNT_OF(((char *[]){"muster", "test", "this", __VA_ARGS__})), (char *[]){"muster", "test", "this", __VA_ARGS__, NULL})

static void options_stand_anywhere(void **state)
{
    (void)state;
    struct run r = RUN("--switch", "a", "--number=3", "b", "--json", "--timeout", "500", "--bootstrap", "x:1");
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.out, "3");
    assert_int_equal(seen.operand_count, 2);
    assert_string_equal(seen_operands[0], "a");
    assert_string_equal(seen_operands[1], "b");
    assert_true(seen.json);
    assert_int_equal(seen.timeout_ms, 500);
    assert_string_equal(seen.bootstrap, "x:1");
    run_fini(&r);
}

static void dashes_end_the_options(void **state)
{
    (void)state;
    struct run r = RUN("--", "--switch", "-");
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(seen.given_count, 0);
    assert_string_equal(seen_operands[0], "--switch");
    assert_string_equal(seen_operands[1], "-");
    run_fini(&r);
}

static void assert_operands(struct run r, const char *a, const char *b)
{
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(seen.operand_count, b != NULL ? 2 : 1);
    assert_string_equal(seen_operands[0], a);
    if (b != NULL) {
        assert_string_equal(seen_operands[1], b);
    }
    run_fini(&r);
}

/* Kafka's options stand for operands: those of the first one come first, wherever they are given. */
static void options_name_operands(void **state)
{
    (void)state;
    assert_operands(RUN("--many", "a"), "a", NULL);
    assert_operands(RUN("--many", "a", "--many=b"), "a", "b");
    assert_operands(RUN("b", "--first", "a"), "a", "b");
    assert_operands(RUN("--many", "b", "--first", "a"), "a", "b");
}

static struct run run_text(const char *text)
{
    char words[256];
    char *argv[16] = {0};
    int argc = 0;
    snprintf(words, sizeof(words), "%s", text);
    for (char *rest = words, *word; (word = strtok_r(argc == 0 ? words : NULL, " ", &rest)) != NULL;) {
        argv[argc++] = word;
    }
    return run_words(argc, argv);
}

/* "muster --cluster prod groups list": options of every command stand before the noun, between noun and verb, and behind them. */
static void common_options_stand_before_the_command(void **state)
{
    (void)state;
    static const char *const lines[] = {"muster --json --timeout 500 --bootstrap x:1 test this a",
                                        "muster --timeout=500 test --bootstrap x:1 this --json a",
                                        "muster --bootstrap-server=x:1 --json test --timeout 500 this a"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct run r = run_text(lines[i]);
        assert_int_equal(r.code, CLI_OK);
        assert_true(seen.json);
        assert_int_equal(seen.timeout_ms, 500);
        assert_string_equal(seen.bootstrap, "x:1");
        assert_string_equal(seen_operands[0], "a");
        run_fini(&r);
    }
}

static void bootstrap_comes_from_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("MUSTER_BOOTSTRAP", "there:9", 1), 0);
    struct run r = RUN("a");
    assert_string_equal(seen.bootstrap, "there:9");
    assert_string_equal(seen.bootstrap_from, "from $MUSTER_BOOTSTRAP");
    run_fini(&r);
    assert_int_equal(unsetenv("MUSTER_BOOTSTRAP"), 0);
    r = RUN("a");
    assert_string_equal(seen.bootstrap, "127.0.0.1:9092");
    assert_non_null(strstr(seen.bootstrap_from, "the default; --bootstrap"));
    run_fini(&r);
}

static void assert_usage(struct run r, const char *message)
{
    assert_int_equal(r.code, CLI_USAGE);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, message));
    run_fini(&r);
}

static void wrong_lines_are_told(void **state)
{
    (void)state;
    assert_usage(RUN("a", "--nothing"), "has no option '--nothing'");
    assert_usage(RUN("a", "-x"), "unknown option '-x'");
    assert_usage(RUN("a", "--number"), "--number takes a value: N");
    assert_usage(RUN("a", "--switch=1"), "--switch takes no value");
    assert_usage(RUN("a", "--number", "11"), "--number takes a whole number from 1 to 10, not '11'");
    assert_usage(RUN("a", "--number", "3x"), "not '3x'");
    assert_usage(RUN("a", "--timeout", "0"), "--timeout takes a whole number");
    assert_usage(RUN("--switch"), "something is missing: muster test this A [B]");
    assert_usage(RUN("a", "b", "c"), "'c' is too much");
    assert_usage(run_words(2, (char *[]){"muster", "nothing", NULL}), "unknown command 'nothing'");
    assert_usage(run_text("muster --switch test this a"),
                 "'--switch' stands before the command, where only options of every command may (");
    assert_usage(
        run_text("muster --jsn test this a"),
        "'--jsn' stands before the command, where only options of every command may (muster COMMAND [options]); did you mean '--json'?\n");
    assert_usage(run_text("muster -x test this a"), "unknown option '-x' (muster --help");
    assert_usage(run_text("muster test --timeout"), "--timeout takes a value");
    assert_usage(run_words(3, (char *[]){"muster", "test", "that", NULL}),
                 "unknown command 'test that'; did you mean 'this'? (muster test --help)\n");
    assert_usage(run_words(2, (char *[]){"muster", "test", NULL}), "'test' is not all of a command; there are:");
    assert_usage(RUN("a", "--numbr", "1"), "has no option '--numbr'; did you mean '--number'? (--help");
    assert_usage(RUN("a", "--jsn"), "'--jsn'; did you mean '--json'?");
    assert_usage(run_words(1, (char *[]){"muster", NULL}), "Exit codes");
}

/* Every command of the program explains itself, with the exit codes, and none has an option of the global ones' names. */
static void every_command_has_help(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count; i++) {
        const struct cli_command *c = cli_commands[i];
        struct run r = run_cli(c->noun, c->verb, "--help", NULL);
        assert_int_equal(r.code, CLI_OK);
        assert_non_null(strstr(r.out, c->summary));
        assert_non_null(strstr(r.out, "Exit codes"));
        for (size_t k = 0; k < c->option_count; k++) {
            assert_non_null(strstr(r.out, c->options[k].help));
            assert_true(strcmp(c->options[k].name, "json") != 0 && strcmp(c->options[k].name, "timeout") != 0);
        }
        run_fini(&r);
    }
    struct run r = run_cli("--help", NULL);
    for (size_t i = 0; i < cli_command_count; i++) {
        assert_non_null(strstr(r.out, cli_commands[i]->summary));
    }
    run_fini(&r);
    r = run_cli("--version", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(strncmp(r.out, "muster ", 7), 0);
    run_fini(&r);
}

static void assert_help(struct run r, const char *begin, bool codes)
{
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.err, "");
    assert_int_equal(strncmp(r.out, begin, strlen(begin)), 0);
    assert_int_equal(strstr(r.out, "Exit codes") != NULL, codes);
    run_fini(&r);
}

/* A noun's page is its commands; what every command has stands in `muster --help` and with each command. */
static void help_is_where_it_is_asked_for(void **state)
{
    (void)state;
    assert_help(run_cli("help", NULL), "muster: administers", true);
    assert_help(run_cli("-h", NULL), "muster: administers", true);
    assert_help(run_cli("groups", "--help", NULL), "muster groups: groups of every type\n\n  muster groups list ", false);
    assert_help(run_cli("help", "groups", NULL), "muster groups: ", false);
    assert_help(run_cli("-h", "groups", NULL), "muster groups: ", false);
    assert_help(run_cli("groups", "--json", "help", NULL), "muster groups: ", false);
    assert_help(run_cli("help", "groups", "list", NULL), "muster groups list [options]\n", true);
    assert_help(run_cli("--help", "groups", "list", "--nothing", NULL), "muster groups list [options]\n", true);
    assert_usage(run_cli("help", "group", NULL), "unknown command 'group'; did you mean 'groups'?");
    assert_usage(run_cli("help", "groups", "lst", NULL), "unknown command 'groups lst'; did you mean 'list'?");
    struct run r = run_cli("configs", "--help", NULL);
    assert_non_null(strstr(r.out, "  muster configs set topics|brokers|groups NAME KEY=VALUE...\n"
                                  "                                               Sets configs of a topic"));
    assert_null(strstr(r.out, "muster topics"));
    run_fini(&r);
}

static void commands_check_their_words(void **state)
{
    (void)state;
    assert_usage(run_cli("groups", "reset-offsets", "g", NULL),
                 "there is no 'groups reset-offsets': muster offsets reset (muster offsets reset --help)");
    assert_usage(run_cli("groups", "lag", "g", NULL), "there is no 'groups lag': muster groups describe (");
    assert_usage(run_cli("config", "set", "topics", "t", "a=b", NULL), "there is no 'config set': muster configs set (");
    assert_usage(run_cli("config", "get", NULL), "there is no 'config get': muster configs get (");
    assert_usage(run_cli("config", "unset", NULL), "there is no 'config unset': muster configs unset (");
    assert_usage(run_cli("config", "list", "topics", "t", NULL), "muster configs list topics|brokers|groups NAME");
    assert_usage(run_cli("groups", "describe", NULL), "something is missing: muster groups describe GROUP...");
    assert_usage(run_cli("groups", "describe", "g", "--all-groups", NULL), "--all-groups and the name of a group ('g') do not go together");
    assert_usage(run_cli("offsets", "delete", "--group", "g", "--group", "h", "--stale", NULL), "'h' is too much");
    assert_usage(run_cli("topics", "list", "--internal", "--exclude-internal", NULL), "do not go together");
    assert_usage(run_cli("configs", "set", "--entity-name", "t", "--entity-type", "topics", "novalue", NULL), "'novalue' is not KEY=VALUE");
    assert_usage(run_cli("groups", "list", "--command-config", "f", NULL), "has no option '--command-config' of Kafka's: ");
    assert_usage(run_cli("configs", "set", "topics", "t", "--add-config", "a=b", NULL),
                 "'configs set' has no option '--add-config' of Kafka's: muster configs set ");
    assert_usage(run_cli("log", "dump", "--data", "x", "--follow", NULL), "--follow goes with a live node");
    assert_usage(run_cli("log", "dump", "--type", "Nothing", NULL), "'Nothing' is no record type; there are: ");
    assert_usage(run_cli("log", "verify", "--data", "x", "--node", "1", NULL), "--data reads a folder");
    assert_usage(run_cli("log", "stat", "--data", "x", "--node", "1", NULL), "--data reads a folder");
    assert_usage(run_cli("log", "state", "--at", "last week", NULL), "--at takes a time");
    assert_usage(run_cli("groups", "describe", "g", "--data", "x", NULL), "--data goes with --at");
    assert_usage(run_cli("topics", "set-end", "t", "-5", NULL), "'-5' is no offset");
    assert_usage(run_cli("topics", "set-end", "t", "-5x", NULL), "unknown option '-5x'");
    assert_usage(run_cli("groups", "list", "--times", "2", NULL), "--times goes with --watch SECONDS");
    assert_usage(run_cli("groups", "lst", NULL), "unknown command 'groups lst'; did you mean 'list'? (muster groups --help)\n");
    assert_usage(run_cli("group", "list", NULL), "unknown command 'group'; did you mean 'groups'? (muster --help)\n");
    assert_usage(run_cli("nonsense", NULL), "unknown command 'nonsense' (muster --help)\n");
    assert_usage(run_cli("log", "dump", "shop", NULL), "'shop' is too much: muster log dump --group shop\n");
    assert_usage(run_cli("topics", "set-end", "t", "five", NULL), "'five' is no offset");
    assert_usage(run_cli("topics", "create", "t", "--config", "novalue", NULL), "--config takes KEY=VALUE");
    assert_usage(run_cli("cluster", "transfer", "x", NULL), "is not the number of a shard");
    assert_usage(run_cli("cluster", "form", NULL), "--peers ID@HOST:PORT,... is missing");
    assert_usage(run_cli("cluster", "form", "--peers", "1@a:1,x@b:2", NULL), "'x@b:2' is no peer");
    assert_usage(run_cli("cluster", "form", "--peers", "1@a:1,2@", NULL), "'2@' is no peer");
    assert_usage(run_cli("cluster", "form", "--peers", "1@a:1,1@b:2", NULL), "names node 1 twice");
    assert_usage(run_cli("groups", "list", "--bootstrap", "host:port", NULL), "'host:port' is not an address");
    assert_usage(run_cli("groups", "list", "--bootstrap", "[::1:9092", NULL), "is not an address");
    assert_usage(run_cli("groups", "list", "--bootstrap", ",", NULL), "names no address");
}

static void forming_names_the_node_that_is_missing(void **state)
{
    (void)state;
    struct run r = run_cli("cluster", "form", "--peers", "1@127.0.0.1:1,2@127.0.0.1:1", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "the cluster is not formed: node 1 at 127.0.0.1:1"));
    run_fini(&r);
}

/* Whatever it is that is printed. */
static void output_that_is_lost_is_a_failure(void **state)
{
    static const char *const words[][3] = {
        {"--help"}, {"--version"}, {"test", "--help"}, {"test", "this", "--help"}, {"test", "this", "a"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        char *argv[] = {(char *)"muster", (char *)words[i][0], (char *)words[i][1], (char *)words[i][2], NULL}, *said;
        size_t said_bytes;
        FILE *full = fopen("/dev/full", "w"), *err = open_memstream(&said, &said_bytes);
        int argc = 1;
        assert_true(full != NULL && err != NULL);
        while (argv[argc] != NULL) {
            argc++;
        }
        assert_int_equal(cli_main(table, 1, argc, argv, full, err), CLI_FAILED);
        fclose(full);
        fclose(err);
        assert_string_equal(said, "muster: the output could not be written: No space left on device\n");
        free(said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_that_is_lost_is_a_failure),
        cmocka_unit_test(options_stand_anywhere),
        cmocka_unit_test(dashes_end_the_options),
        cmocka_unit_test(options_name_operands),
        cmocka_unit_test(common_options_stand_before_the_command),
        cmocka_unit_test(help_is_where_it_is_asked_for),
        cmocka_unit_test(bootstrap_comes_from_the_environment),
        cmocka_unit_test(wrong_lines_are_told),
        cmocka_unit_test(every_command_has_help),
        cmocka_unit_test(commands_check_their_words),
        cmocka_unit_test(forming_names_the_node_that_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
