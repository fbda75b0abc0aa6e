#include "help.h"

#include <string.h>

const struct cli_option cli_global_options[] = {
    {"bootstrap", "HOST:PORT,...",
     "nodes to ask first; one that answers is enough (default: $MUSTER_BOOTSTRAP, else a cluster of the config file, else 127.0.0.1:9092)"},
    {"bootstrap-server", "HOST:PORT,...", "the same, by Kafka's name for it"},
    {"cluster", "NAME", "the cluster of that name in ~/.config/muster/config (default: $MUSTER_CLUSTER)"},
    {"timeout", "MS", "how long to try, in milliseconds (10000)"},
    {"json", NULL, "JSON instead of tables"},
    {"help", NULL, "this text"},
    {"watch", "SECONDS", "again and again, of commands that only show something"},
    {"times", "N", "with --watch: so often (default: until it is interrupted)"},
};
enum { PLACE_OPTIONS = 3, CONNECTION_OPTIONS = 4, WATCH_OPTIONS = 2 }; /* the first ones, these and --timeout; the last ones */
const size_t cli_global_option_count = COUNT_OF(cli_global_options);

const struct cli_noun cli_nouns[] = {
    {"cluster", "the nodes, and who leads what"},
    {"topics", "topics and their end offsets"},
    {"groups", "groups of every type"},
    {"streams", "streams groups: topologies and tasks"},
    {"offsets", "what groups have committed"},
    {"configs", "configs of topics, nodes and groups"},
    {"log", "the Raft log, of a live node or of a folder"},
    {"snapshot", "backups"},
    {"config", "the clusters of this program's config file"},
    {"completion", "completion for shells"},
    {"manual", "manual pages"},
};
const size_t cli_noun_count = COUNT_OF(cli_nouns);

const char cli_exit_codes[] = "  0  done\n"
                              "  1  the request was refused, or what was asked for does not exist\n"
                              "  2  the command line is wrong\n"
                              "  3  no node answered in time\n"
                              "  4  the log ends in a torn batch; everything before it was shown\n"
                              "  5  the log or a backup is damaged; of a log everything before the damage was shown\n";

enum { COMMAND_WIDTH = 44, OPTION_WIDTH = 26 };

/* What is wider than its column has a line for itself. */
static void print_row(FILE *to, int width, const char *left, const char *text)
{
    bool fits = (int)strlen(left) <= width;
    fprintf(to, fits ? "  %s" : "  %s\n  ", left);
    fprintf(to, "%*s %s\n", fits ? width - (int)strlen(left) : width, "", text);
}

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
        print_row(to, OPTION_WIDTH, left, options[i].help);
    }
}

static void print_columns(FILE *to, const struct cli_command *c)
{
    fputs(c->column_count > 0 ? "\nColumns\n" : "", to);
    for (size_t i = 0; i < c->column_count; i++) {
        print_row(to, OPTION_WIDTH, c->columns[i].name, c->columns[i].help);
    }
}

struct help_globals help_globals(const struct cli_command *c)
{
    static const size_t left_out[] = {
        [REACHES_CLUSTER] = 0, [REACHES_LOG] = CONNECTION_OPTIONS, [REACHES_PEERS] = PLACE_OPTIONS, [REACHES_NOBODY] = CONNECTION_OPTIONS};
    struct help_globals g = {.live = c->reach == REACHES_LOG ? CONNECTION_OPTIONS : 0, .first = left_out[c->reach]};
    g.count = cli_global_option_count - (c->watchable ? 0 : WATCH_OPTIONS) - g.first;
    return g;
}

void help_command(FILE *to, const struct cli_command *c)
{
    fprintf(to, "muster %s %s%s%s [options]\n\n%s\n", c->noun, c->verb, c->operands[0] != '\0' ? " " : "", c->operands, c->summary);
    if (c->details != NULL) {
        fprintf(to, "\n%s\n", c->details);
    }
    print_columns(to, c);
    const struct help_globals globals = help_globals(c);
    print_options(to, "Options", c->options, c->option_count);
    print_options(to, "Only with a live node", cli_global_options, globals.live);
    print_options(to, "Options of every command", cli_global_options + globals.first, globals.count);
    fprintf(to, "\nExit codes\n%s", cli_exit_codes);
}

static void print_commands(FILE *to, const struct cli_command *const *commands, size_t count, const char *noun)
{
    for (size_t i = 0; i < count; i++) {
        const struct cli_command *c = commands[i];
        if (noun == NULL || strcmp(noun, c->noun) == 0) {
            char left[80];
            snprintf(left, sizeof(left), "muster %s %s %s", c->noun, c->verb, c->operands);
            print_row(to, COMMAND_WIDTH, left, c->summary);
        }
    }
}

static const char *noun_summary(const char *noun)
{
    for (size_t i = 0; i < cli_noun_count; i++) {
        if (strcmp(cli_nouns[i].noun, noun) == 0) {
            return cli_nouns[i].summary;
        }
    }
    return "commands";
}

void help_overview(FILE *to, const struct cli_command *const *commands, size_t count, const char *noun)
{
    if (noun != NULL) {
        fprintf(to, "muster %s: %s\n\n", noun, noun_summary(noun));
        print_commands(to, commands, count, noun);
        fprintf(
            to,
            "\n`muster %s VERB --help` explains a command; `muster --help` lists the options that every command has, and the exit codes.\n",
            noun);
        return;
    }
    fprintf(to,
            "muster: administers a muster cluster and reads its log. Group, topic and offset commands work with any Kafka cluster.\n\n");
    print_commands(to, commands, count, NULL);
    fprintf(
        to,
        "\n`muster COMMAND --help` explains a command, `muster help NOUN` lists those of a noun; `muster --version` prints the version.\n"
        "Options of every command stand before its words or behind them: muster --cluster prod groups list\n");
    print_options(to, "Options of every command", cli_global_options, COUNT_OF(cli_global_options));
    fprintf(to, "\nExit codes\n%s", cli_exit_codes);
}
