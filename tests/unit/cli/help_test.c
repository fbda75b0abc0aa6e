/* help_test.c: what the command tables say of themselves, clusters of the config file, --watch, and tables that fit. */
#include "run.h"

#include "help.h"
#include "out.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tables ---- */

static char *table_text_within(int width)
{
    static const char *const headers[] = {"GROUP", "OFFSET", "CLIENT-ID"};
    struct arena arena;
    struct table t;
    char *text;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    arena_init(&arena, 0);
    table_init(&t, &arena, headers, 3);
    table_text(&t, STR("a-group-of-a-long-name"));
    table_number(&t, 1234567);
    table_text(&t, STR("größe-größe-größe"));
    table_text(&t, STR("g"));
    table_number(&t, 1);
    table_text(&t, STR("c"));
    table_print_within(&t, width, to);
    fclose(to);
    arena_fini(&arena);
    return text;
}

static void assert_table(int width, const char *expected)
{
    char *text = table_text_within(width);
    assert_string_equal(text, expected);
    free(text);
}

static void tables_fit(void **state)
{
    (void)state;
    const char *whole = "GROUP                    OFFSET  CLIENT-ID\n"
                        "a-group-of-a-long-name  1234567  größe-größe-größe\n"
                        "g                             1  c\n";
    assert_table(0, whole);
    assert_table(50, whole);
    assert_table(40, "GROUP            OFFSET  CLIENT-ID\n"
                     "a-gro…ong-name  1234567  größe…öße-größe\n"
                     "g                     1  c\n");
    assert_table(10, "GROUP      OFFSET  CLIENT-…\n"
                     "a-g…name  1234567  grö…röße\n"
                     "g               1  c\n");
}

/* What costs least goes first. */
static void what_a_terminal_has_no_room_for(void **state)
{
    (void)state;
    static const char *const headers[] = {"NUMBER|#", "AT", "SAYS-NOTHING", "TYPE|", "ID", "WHY"};
    struct arena arena;
    struct table t;
    char *text = NULL;
    size_t bytes;
    arena_init(&arena, 0);
    table_init(&t, &arena, headers, 6);
    table_keep(&t, 5);
    for (int i = 0; i < 2; i++) {
        table_number(&t, i);
        table_text(&t, i == 0 ? STR("2023-11-14T22:13:20.000Z") : STR_NULL);
        table_text(&t, STR_NULL);
        table_text(&t, STR("classic"));
        table_text(&t, STR("rdkafka-0b1c2d3e-4f5061"));
        table_text(&t, i == 0 ? STR("one two three") : STR("a reason of some words"));
    }
    static const struct {
        int width;
        const char *expected;
    } cases[] = {
        {0, "NUMBER  AT                        SAYS-NOTHING  TYPE     ID                       WHY\n"
            "     0  2023-11-14T22:13:20.000Z             -  classic  rdkafka-0b1c2d3e-4f5061  one two three\n"
            "     1  -                                    -  classic  rdkafka-0b1c2d3e-4f5061  a reason of some words\n"},
        {95, "NUMBER  AT                        TYPE     ID                       WHY\n"
             "     0  2023-11-14T22:13:20.000Z  classic  rdkafka-0b1c2d3e-4f5061  one two three\n"
             "     1  -                         classic  rdkafka-0b1c2d3e-4f5061  a reason of some words\n"},
        {85, "NUMBER  AT 2023-11-14  TYPE     ID                       WHY\n"
             "     0  22:13:20.000Z  classic  rdkafka-0b1c2d3e-4f5061  one two three\n"
             "     1  -              classic  rdkafka-0b1c2d3e-4f5061  a reason of some words\n"},
        {66, "#  AT 2023-11-14  ID                       WHY\n"
             "0  22:13:20.000Z  rdkafka-0b1c2d3e-4f5061  one two three\n"
             "1  -              rdkafka-0b1c2d3e-4f5061  a reason of some words\n"},
        {42, "#  AT 2023-11-14  ID           WHY\n"
             "0  22:13:20.000Z  rdka…4f5061  one two\n"
             "                               three\n"
             "1  -              rdka…4f5061  a reason of\n"
             "                               some words\n"},
        {20, "#  AT 2023-11-14  ID        WHY\n"
             "0  22:13:20.000Z  rdk…5061  one\n"
             "                            two\n"
             "                            three\n"
             "1  -              rdk…5061  a\n"
             "                            reason\n"
             "                            of\n"
             "                            some\n"
             "                            words\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        FILE *to = open_memstream(&text, &bytes);
        table_print_within(&t, cases[i].width, to);
        fclose(to);
        assert_string_equal(text, cases[i].expected);
        free(text);
    }
    arena_fini(&arena);
}

/* ---- the tables of commands ---- */

/* Completion, manual and the order of the help go by the list of nouns: none may lack. */
static void every_command_is_found_everywhere(void **state)
{
    (void)state;
    struct run bash = run_cli("completion", "bash", NULL);
    struct run zsh = run_cli("completion", "zsh", NULL);
    struct run help = run_cli("--help", NULL);
    for (size_t i = 0; i < cli_command_count; i++) {
        const struct cli_command *c = cli_commands[i];
        char words[96];
        bool known = false;
        for (size_t n = 0; n < cli_noun_count; n++) {
            known = known || strcmp(cli_nouns[n].noun, c->noun) == 0;
        }
        assert_true(known);
        snprintf(words, sizeof(words), "\"%s %s\")", c->noun, c->verb);
        assert_int_equal(count_of(bash.out, words), 2);
        snprintf(words, sizeof(words), "'%s %s')", c->noun, c->verb);
        assert_int_equal(count_of(zsh.out, words), 1);
        snprintf(words, sizeof(words), "  muster %s %s ", c->noun, c->verb);
        assert_int_equal(count_of(help.out, words), 1);
        for (size_t k = 0; k < c->option_count; k++) {
            for (size_t g = 0; g < cli_global_option_count; g++) {
                assert_string_not_equal(c->options[k].name, cli_global_options[g].name);
            }
        }
    }
    run_fini(&bash);
    run_fini(&zsh);
    run_fini(&help);
}

/* A page has no options that say nothing to its command; those that are about a live node stand by themselves where a folder would do. */
static void assert_connects(const char *noun, const char *verb, const char *heading, bool bootstrap, bool timeout)
{
    struct run r = run_cli(noun, verb, "--help", NULL);
    const char *own = strstr(r.out, heading), *every = strstr(r.out, "\nOptions of every command\n");
    assert_non_null(own);
    assert_non_null(every);
    assert_true(own <= every);
    assert_int_equal(count_of(r.out, "\n  --bootstrap "), bootstrap);
    assert_int_equal(count_of(r.out, "\n  --timeout "), timeout);
    assert_int_equal(count_of(own, "\n  --bootstrap "), bootstrap);
    assert_int_equal(count_of(every, "\n  --json"), 1);
    assert_int_equal(own != every && strstr(every, "--bootstrap") != NULL, 0);
    run_fini(&r);
}

static void pages_list_where_to_ask_only_where_somebody_is_asked(void **state)
{
    static const char live[] = "\nOnly with a live node\n", every[] = "\nOptions of every command\n";
    (void)state;
    assert_connects("groups", "list", every, true, true);
    assert_connects("log", "dump", live, true, true);
    assert_connects("log", "grep", live, true, true);
    assert_connects("log", "follow", live, true, true);
    assert_connects("log", "stat", live, true, true);
    assert_connects("log", "diff", live, true, true);
    assert_connects("log", "state", live, true, true);
    assert_connects("log", "verify", live, true, true);
    assert_connects("cluster", "form", every, false, true);
    assert_connects("cluster", "recover", every, false, false);
    assert_connects("snapshot", "restore", every, false, false);
    assert_connects("snapshot", "verify", every, false, false);
    assert_connects("snapshot", "save", every, true, true);
    assert_connects("manual", "write", every, false, false);
}

static bool takes_option(const struct cli_command *c, const char *word)
{
    for (size_t i = 0; i < c->option_count; i++) {
        if (strcmp(c->options[i].name, word) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < cli_global_option_count; i++) {
        if (strcmp(cli_global_options[i].name, word) == 0) {
            return true;
        }
    }
    return false;
}

static const struct cli_command *find_command(const char *noun, const char *verb)
{
    for (size_t i = 0; noun != NULL && verb != NULL && i < cli_command_count; i++) {
        if (strcmp(cli_commands[i]->noun, noun) == 0 && strcmp(cli_commands[i]->verb, verb) == 0) {
            return cli_commands[i];
        }
    }
    return NULL;
}

/* "muster NOUN VERB ...", up to what a shell would take for something else. */
static void assert_example(char *line)
{
    char *rest = NULL;
    (void)strtok_r(line, " ", &rest);
    const char *noun = strtok_r(NULL, " ", &rest), *verb = strtok_r(NULL, " ", &rest);
    const struct cli_command *c = find_command(noun, verb);
    if (c == NULL) {
        fail_msg("an example has a command that there is not: %s %s", noun, verb);
        return;
    }
    for (const char *word = strtok_r(NULL, " ", &rest); word != NULL && strchr("#&>|", word[0]) == NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, "--", 2) == 0 && !takes_option(c, word + 2)) {
            fail_msg("an example of '%s %s' has an option that it has not: %s", noun, verb, word);
        }
    }
}

static void examples_are_commands(void **state)
{
    (void)state;
    int examples = 0;
    for (size_t i = 0; i < cli_command_count; i++) {
        char *text = strdup(cli_commands[i]->details != NULL ? cli_commands[i]->details : "");
        assert_non_null(text);
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
            if (strncmp(line, "    muster ", 11) == 0) {
                assert_example(line + 4);
                examples++;
            }
        }
        free(text);
    }
    assert_true(examples >= 10);
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    char name[512];
    for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.') {
            unlink(name);
        }
    }
    closedir(dir);
    rmdir(path);
}

/* It names the other pages of its noun, and only options that the command takes. */
static void assert_page(const char *path, const struct cli_command *c)
{
    char text[32768];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_int_equal(strstr(text, "\\-\\-watch\\fR") != NULL, c->watchable);
    for (size_t i = 0; i < cli_command_count; i++) {
        char page[96];
        snprintf(page, sizeof(page), "\n.BR muster\\-%s\\-%.4s", cli_commands[i]->noun, cli_commands[i]->verb);
        if (cli_commands[i] != c && strcmp(cli_commands[i]->noun, c->noun) == 0 && strchr(cli_commands[i]->verb, '-') == NULL) {
            assert_non_null(strstr(text, page));
        }
    }
}

static void every_command_has_a_page(void **state)
{
    (void)state;
    char path[] = "/tmp/muster-manual-XXXXXX";
    assert_non_null(mkdtemp(path));
    assert_int_equal(rmdir(path), 0); /* it is made */
    struct run run = run_cli("manual", "write", path, NULL);
    assert_int_equal(run.code, CLI_OK);
    run_fini(&run);
    for (size_t i = 0; i < cli_command_count; i++) {
        char page[512];
        struct stat info;
        snprintf(page, sizeof(page), "%s/muster-%s-%s.1", path, cli_commands[i]->noun, cli_commands[i]->verb);
        assert_int_equal(stat(page, &info), 0);
        assert_true(info.st_size > 700);
        assert_page(page, cli_commands[i]);
    }
    remove_folder(path);
    run = run_cli("manual", "write", "/nonexistent/man1", NULL);
    assert_int_equal(run.code, CLI_FAILED);
    run_fini(&run);
}

/* As bash itself reads it. */
static void completion_completes(void **state)
{
    (void)state;
    static const struct {
        const char *words, *expected;
    } cases[] = {
        {"muster off", "offsets\n"},
        {"muster groups de", "describe\ndelete\n"},
        {"muster offsets reset --to-e", "--to-earliest\n"},
        {"muster groups list --js", "--json\n"},
        {"muster snapshot save /et", "/etc\n"},
        {"muster nonsense x", ""},
        {"muster --cluster prod off", "offsets\n"},
        {"muster --cluster = prod groups --json de", "describe\ndelete\n"},
        {"muster --ti", "--timeout\n--times\n"},
        {"muster groups protect --gr", "--group\n"},
    };
    struct run bash = run_cli("completion", "bash", NULL);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[] = "/tmp/muster-completion-XXXXXX";
        char command[128];
        char got[256] = "";
        int fd = mkstemp(path);
        FILE *file = fdopen(fd, "w");
        fprintf(file,
                "%s\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_muster\n((${#COMPREPLY[@]} == 0)) || printf '%%s\\n' "
                "\"${COMPREPLY[@]}\"\n",
                bash.out, cases[i].words);
        fclose(file);
        snprintf(command, sizeof(command), "bash %s", path);
        FILE *from = popen(command, "r");
        assert_non_null(from);
        got[fread(got, 1, sizeof(got) - 1, from)] = '\0';
        assert_int_equal(pclose(from), 0);
        unlink(path);
        assert_string_equal(got, cases[i].expected);
    }
    run_fini(&bash);
}

/* ---- Kafka's names ---- */

/* What `--help` of Apache Kafka 4.4.0's tools lists. */
static const struct {
    const char *nouns[3], *options;
} kafka_tools[] = {
    {{"groups", "offsets"},
     "all-groups all-topics bootstrap-server by-duration command-config delete delete-offsets describe dry-run execute export from-file "
     "group "
     "help list members offsets reset-offsets shift-by state timeout to-current to-datetime to-earliest to-latest to-offset topic type "
     "validate-regex verbose version"},
    {{"streams", "groups", "offsets"},
     "all-groups all-input-topics bootstrap-server by-duration command-config delete delete-all-internal-topics delete-internal-topic "
     "delete-offsets describe dry-run execute export from-file group help input-topic list members offsets reset-offsets shift-by state "
     "timeout to-current to-datetime to-earliest to-latest to-offset topology verbose version"},
    {{"topics"},
     "alter at-min-isr-partitions bootstrap-server command-config config create delete delete-config describe exclude-internal help "
     "if-exists if-not-exists list partition-size-limit-per-response partitions replica-assignment replication-factor topic topic-id "
     "topics-with-overrides unavailable-partitions under-min-isr-partitions under-replicated-partitions version"},
    {{"configs"},
     "add-config add-config-file all alter bootstrap-controller bootstrap-server broker broker-defaults broker-logger client "
     "client-defaults client-metrics command-config delete-config describe entity-default entity-name entity-type group help ip "
     "ip-defaults topic user user-defaults version"},
};

static bool has_option(const struct cli_option *options, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq(str_of(options[i].name), name)) {
            return true;
        }
    }
    return false;
}

static bool is_taken(const char *const *nouns, struct str name)
{
    bool found = has_option(cli_global_options, cli_global_option_count, name);
    for (size_t i = 0; i < cli_command_count; i++) {
        for (size_t n = 0; n < 3 && nouns[n] != NULL; n++) {
            found = found || (strcmp(cli_commands[i]->noun, nouns[n]) == 0 &&
                              has_option(cli_commands[i]->options, cli_commands[i]->option_count, name));
        }
    }
    return found;
}

/* Every option of Kafka's tools is taken or named with what is there instead, and no other is. */
static void kafka_names_are_known(void **state)
{
    (void)state;
    bool used[64] = {false};
    assert_true(cli_left_out_count <= COUNT_OF(used));
    for (size_t t = 0; t < COUNT_OF(kafka_tools); t++) {
        for (const char *at = kafka_tools[t].options; *at != '\0'; at += strspn(at, " ")) {
            struct str name = {at, (int32_t)strcspn(at, " ")};
            at += name.len;
            bool taken = is_taken(kafka_tools[t].nouns, name);
            if (!taken && kafka_option_instead(kafka_tools[t].nouns[0], name) == NULL) {
                fail_msg("--%.*s of Kafka's is not known to '%s'", STR_ARG(name), kafka_tools[t].nouns[0]);
            }
            for (size_t i = 0; i < cli_left_out_count; i++) {
                bool here = cli_left_out[i].noun == NULL || strcmp(cli_left_out[i].noun, kafka_tools[t].nouns[0]) == 0;
                used[i] = used[i] || (here && !taken && str_eq(str_of(cli_left_out[i].name), name));
            }
        }
    }
    for (size_t i = 0; i < cli_left_out_count; i++) {
        if (!used[i]) {
            fail_msg("--%s is left out, and is no option of Kafka's or one that is taken", cli_left_out[i].name);
        }
    }
}

/* What names an operand is an option of the command. */
static void operands_are_named_by_options(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count; i++) {
        const struct cli_command *c = cli_commands[i];
        for (size_t k = 0; k < COUNT_OF(c->named_by) && c->named_by[k] != NULL; k++) {
            assert_true(has_option(c->options, c->option_count, str_of(c->named_by[k])));
        }
    }
}

/* ---- clusters of the config file ---- */

static struct run run_with_config(const char *text, const char *cluster)
{
    char path[] = "/tmp/muster-config-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    setenv("MUSTER_CONFIG", path, 1);
    unsetenv("MUSTER_BOOTSTRAP");
    unsetenv("MUSTER_CLUSTER");
    struct run run = cluster == NULL ? run_cli("topics", "list", NULL) : run_cli("topics", "list", "--cluster", cluster, NULL);
    unlink(path);
    unsetenv("MUSTER_CONFIG");
    return run;
}

static void assert_config(const char *text, const char *cluster, int code, const char *message)
{
    struct run run = run_with_config(text, cluster);
    assert_int_equal(run.code, code);
    if (strstr(run.err, message) == NULL) {
        fail_msg("'%s' is not in: %s", message, run.err);
    }
    run_fini(&run);
}

#define TWO "# two\ncluster = a\n[a]\nbootstrap = 127.0.0.1:1 # first\ntimeout = 100\n\n[b]\nbootstrap=127.0.0.1:2\ntimeout=100\n"

static void clusters_have_names(void **state)
{
    (void)state;
    assert_config(TWO, NULL, CLI_UNREACHABLE, "127.0.0.1:1:");
    assert_config(TWO, "b", CLI_UNREACHABLE, "127.0.0.1:2:");
    assert_config(TWO, NULL, CLI_UNREACHABLE, " (cluster 'a' of /tmp/muster-config-");
    assert_config(TWO, "b", CLI_UNREACHABLE, " (cluster 'b' of /tmp/muster-config-");
    assert_config(TWO, "c", CLI_USAGE, "has no cluster 'c'");
    assert_config("cluster = x\n", NULL, CLI_USAGE, "has no cluster 'x'");
    setenv("MUSTER_CONFIG", "/nonexistent/config", 1);
    struct run absent = run_cli("config", "list", NULL);
    unsetenv("MUSTER_CONFIG");
    assert_int_equal(absent.code, CLI_USAGE);
    assert_non_null(strstr(absent.err, "/nonexistent/config: No such file"));
    run_fini(&absent);
    assert_config("[a]\n", "a", CLI_USAGE, "[a] has no 'bootstrap'");
    assert_config("[a]\nbootstrap 1\n", "a", CLI_USAGE, "line 2: a line is NAME = VALUE");
    assert_config("[a\n", "a", CLI_USAGE, "line 1: a section is [NAME]");
    assert_config("[a]\n[a]\n", "a", CLI_USAGE, "line 2: the section stands twice");
    assert_config("[a]\nbootstap = x\n", "a", CLI_USAGE, "line 2: 'bootstap' is unknown: a section has 'bootstrap' and 'timeout'");
    assert_config("bootstrap = x\n", "a", CLI_USAGE, "line 1: 'bootstrap' stands before the first [NAME], where there is only 'cluster'");
    assert_config("[a]\ntimeout = soon\n", "a", CLI_USAGE, "line 2: timeout is a number");
    struct run run = run_cli("topics", "list", "--bootstrap", "127.0.0.1:1", "--cluster", "a", NULL);
    assert_int_equal(run.code, CLI_USAGE);
    run_fini(&run);
}

static void assert_listed(const char *yes, const char *no)
{
    struct run run = run_cli("config", "list", NULL);
    assert_non_null(strstr(run.out, yes));
    assert_non_null(strstr(run.out, no));
    run_fini(&run);
}

/* --cluster, then $MUSTER_BOOTSTRAP, then $MUSTER_CLUSTER, then the file. */
static void the_nearest_word_names_the_cluster(void **state)
{
    char path[] = "/tmp/muster-config-XXXXXX";
    int fd = mkstemp(path);
    (void)state;
    assert_int_equal(write(fd, TWO, strlen(TWO)), strlen(TWO));
    close(fd);
    setenv("MUSTER_CONFIG", path, 1);
    assert_listed("127.0.0.1:1      100  yes\n", "127.0.0.1:2      100  no\n");
    setenv("MUSTER_CLUSTER", "b", 1);
    assert_listed("127.0.0.1:2      100  yes\n", "127.0.0.1:1      100  no\n");
    struct run run = run_cli("topics", "list", NULL);
    assert_non_null(strstr(run.err, "127.0.0.1:2: "));
    run_fini(&run);
    setenv("MUSTER_BOOTSTRAP", "127.0.0.1:3", 1);
    run = run_cli("topics", "list", "--timeout", "100", NULL);
    assert_non_null(strstr(run.err, "127.0.0.1:3: "));
    assert_non_null(strstr(run.err, " (from $MUSTER_BOOTSTRAP)\n"));
    run_fini(&run);
    run = run_cli("topics", "list", "--cluster", "a", NULL);
    assert_non_null(strstr(run.err, "127.0.0.1:1: "));
    run_fini(&run);
    run = run_cli("topics", "list", "--bootstrap", "127.0.0.1:4", "--timeout", "100", NULL);
    assert_non_null(strstr(run.err, "127.0.0.1:4: "));
    assert_null(strchr(run.err, '('));
    run_fini(&run);
    unsetenv("MUSTER_BOOTSTRAP");
    unsetenv("MUSTER_CLUSTER");
    unsetenv("MUSTER_CONFIG");
    unlink(path);
}

/* ---- again and again ---- */

static void what_only_shows_can_be_watched(void **state)
{
    (void)state;
    struct run run =
        run_cli("topics", "list", "--bootstrap-server", "127.0.0.1:1", "--watch", "1", "--times", "2", "--timeout", "50", NULL);
    assert_int_equal(run.code, CLI_UNREACHABLE);
    assert_int_equal(lines_of(run.err), 2);
    const char *next = strstr(run.out, "\n\n"); /* nothing but the times, since no terminal clears them away */
    assert_int_equal(strlen(run.out), 2 * strlen("2026-11-29T20:01:02.345Z\n") + 1);
    assert_true(next != NULL && next[-1] == 'Z' && strchr(run.out, 'T') == run.out + strlen("2026-11-29"));
    run_fini(&run);
    run = run_cli("topics", "list", "--bootstrap", "127.0.0.1:1", "--json", "--watch", "1", "--times", "1", "--timeout", "50", NULL);
    assert_string_equal(run.out, ""); /* documents one after the other, and nothing else */
    run_fini(&run);
    run = run_cli("topics", "delete", "t", "--bootstrap", "127.0.0.1:1", "--watch", "1", NULL);
    assert_int_equal(run.code, CLI_USAGE);
    assert_non_null(strstr(run.err, "is done once"));
    run_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_are_commands),
        cmocka_unit_test(pages_list_where_to_ask_only_where_somebody_is_asked),
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(what_a_terminal_has_no_room_for),
        cmocka_unit_test(every_command_is_found_everywhere),
        cmocka_unit_test(every_command_has_a_page),
        cmocka_unit_test(completion_completes),
        cmocka_unit_test(kafka_names_are_known),
        cmocka_unit_test(operands_are_named_by_options),
        cmocka_unit_test(clusters_have_names),
        cmocka_unit_test(the_nearest_word_names_the_cluster),
        cmocka_unit_test(what_only_shows_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
