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
    struct run run = run_cli("manual", "write", path, NULL);
    assert_int_equal(run.code, CLI_OK);
    run_fini(&run);
    for (size_t i = 0; i < cli_command_count; i++) {
        char page[512];
        struct stat info;
        snprintf(page, sizeof(page), "%s/muster-%s-%s.1", path, cli_commands[i]->noun, cli_commands[i]->verb);
        assert_int_equal(stat(page, &info), 0);
        assert_true(info.st_size > 1000);
        assert_page(page, cli_commands[i]);
    }
    remove_folder(path);
    run = run_cli("manual", "write", "/nonexistent", NULL);
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

/* ---- again and again ---- */

static void what_only_shows_can_be_watched(void **state)
{
    (void)state;
    struct run run =
        run_cli("topics", "list", "--bootstrap-server", "127.0.0.1:1", "--watch", "1", "--times", "2", "--timeout", "50", NULL);
    assert_int_equal(run.code, CLI_UNREACHABLE);
    assert_int_equal(lines_of(run.err), 2);
    run_fini(&run);
    run = run_cli("topics", "delete", "t", "--bootstrap", "127.0.0.1:1", "--watch", "1", NULL);
    assert_int_equal(run.code, CLI_USAGE);
    assert_non_null(strstr(run.err, "is done once"));
    run_fini(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(what_a_terminal_has_no_room_for),
        cmocka_unit_test(every_command_is_found_everywhere),
        cmocka_unit_test(every_command_has_a_page),
        cmocka_unit_test(completion_completes),
        cmocka_unit_test(clusters_have_names),
        cmocka_unit_test(what_only_shows_can_be_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
