/* context.h: clusters by name, of a file of the user's: $MUSTER_CONFIG, else $XDG_CONFIG_HOME/muster/config, else ~/.config/muster/config.
 *
 *     cluster = lab                 # the one that is meant when none is named
 *
 *     [lab]
 *     bootstrap = 10.0.0.1:9092,10.0.0.2:9092
 *     timeout = 20000               # of commands; --timeout counts before it
 */
#ifndef MUSTER_CLI_CONTEXT_H
#define MUSTER_CLI_CONTEXT_H

#include "cli.h"

enum { CONTEXTS_MAX = 64 };
struct cli_context {
    const char *name, *bootstrap; /* NULL: not said */
    int64_t timeout_ms;           /* -1: not said */
};
struct cli_contexts {
    struct cli_context v[CONTEXTS_MAX];
    int count;
    const char *path;
    const char *chosen; /* the file's own choice; NULL: none */
};

/* All of the file, in the arena; none when there is no file. CLI_OK, or CLI_USAGE with the line that is wrong said. */
int contexts_read(struct cli *cli, struct cli_contexts *ret);
/* The cluster of that name; NULL: $MUSTER_CLUSTER, else the file's choice, else nothing is set in *ret. An exit code. */
int context_choose(struct cli *cli, const char *name, struct cli_context *ret);

#endif
