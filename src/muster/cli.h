/* cli.h: what the commands of `muster` share: arguments, exit codes, words for errors.
 *
 * A command is a row of a table: its words, operands and options, and a function that gets them parsed. Results go to cli->out, everything
 * else to cli->err; both are given by the caller, so that tests read them. */
#ifndef MUSTER_CLI_H
#define MUSTER_CLI_H

#include <muster/base.h>

#include <stdio.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* the request was refused, or what was asked for does not exist */
    CLI_USAGE = 2,       /* the command line is wrong */
    CLI_UNREACHABLE = 3, /* no node answered in time */
    CLI_TORN = 4,        /* the log ends in a torn batch; everything before it was shown */
    CLI_CORRUPT = 5      /* the log or a backup is damaged; of a log everything before the damage was shown */
};

struct cli_option {
    const char *name;  /* without dashes */
    const char *value; /* what it takes, for the help, in brackets where it may be left out; NULL: a switch */
    const char *help;
};

enum cli_reach { /* whom a command asks, and so which options of every command say something to it */
                 REACHES_CLUSTER,
                 REACHES_LOG,   /* a folder, or a live node */
                 REACHES_PEERS, /* nodes that are named otherwise */
                 REACHES_NOBODY
};

struct cli_column { /* of a table that the command prints, where its name does not say it all */
    const char *name, *help;
};

struct cli;
struct cli_command {
    const char *noun, *verb;
    const char *operands;           /* for the usage line */
    int min_operands, max_operands; /* max -1: any number; none is needed with --all-groups */
    const char *summary;            /* one line */
    const char *details;            /* paragraphs for --help; NULL: none */
    const struct cli_option *options;
    size_t option_count;
    const struct cli_column *columns;
    size_t column_count;
    const char *named_by[2]; /* options whose values are operands, by Kafka's names for them: those of the first come first */
    enum cli_reach reach;
    bool watchable;              /* it only shows how something is: --watch */
    bool both;                   /* it reads a folder and talks to a cluster, so that --data and --bootstrap go together */
    int (*run)(struct cli *cli); /* an enum cli_exit */
};

enum { CLI_GIVEN_MAX = 64 };
struct cli {
    FILE *out, *err;
    const struct cli_command *const *commands; /* the whole table */
    size_t command_count;
    const struct cli_command *command;
    const char **operands; /* in the arena; the texts are argv's */
    int operand_count;
    struct cli_given {
        const char *name, *value; /* value "" for a switch */
    } given[CLI_GIVEN_MAX];
    int given_count;
    bool json;
    int64_t timeout_ms;
    const char *bootstrap, *bootstrap_from; /* the latter: who said so, to be told when nobody answers there; NULL: the command line */
    struct {
        enum { PROGRESS_UNKNOWN, PROGRESS_NOWHERE, PROGRESS_ON_TERMINAL } where;
        int64_t shown_ms; /* when last; 0: never */
        _Atomic bool on;  /* the line stands there: what is said next wipes it (by another thread, too) */
    } progress;
    struct arena arena; /* everything that lives as long as the command */
};

/* Parses and runs one command line (argv[0] is the program). Returns the exit code. */
int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv, FILE *out, FILE *err);

/* ---- for commands ---- */

bool cli_flag(const struct cli *cli, const char *name);
const char *cli_text(const struct cli *cli, const char *name); /* the last one given; NULL: none */
/* The number given, or `otherwise`. false with a message when it is no number from least to most. */
bool cli_number(struct cli *cli, const char *name, int64_t least, int64_t most, int64_t otherwise, int64_t *ret);
bool cli_parse_number(const char *text, int64_t least, int64_t most, int64_t *ret);
/* "muster: " text newline on cli->err. */
__attribute__((format(printf, 2, 3))) void cli_say(const struct cli *cli, const char *format, ...);
/* The same, and returns code: `return cli_fail(cli, CLI_FAILED, "...")`. */
__attribute__((format(printf, 3, 4))) int cli_fail(const struct cli *cli, int code, const char *format, ...);
/* The operands as views; in the arena. */
struct str *cli_names(struct cli *cli, int *ret_count);

/* "GROUP_ID_NOT_FOUND" for 69, "error 12345" for what has no name here. In the arena or static. */
const char *kafka_error_name(int16_t code, struct arena *arena);
/* "NAME: message" where the answer carries a message, else "NAME: what it means" where that is known, else "NAME". */
const char *kafka_error_text(int16_t code, struct str message, struct arena *arena);

#endif
