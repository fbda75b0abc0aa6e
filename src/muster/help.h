/* help.h: what the command tables say of themselves: help texts, manual pages, completions of shells. One source: the rows of commands.c. */
#ifndef MUSTER_CLI_HELP_H
#define MUSTER_CLI_HELP_H

#include "cli.h"

extern const struct cli_option cli_global_options[];
extern const size_t cli_global_option_count;
/* Those of them that say something to the command: `live`, the first ones, to a live node alone, and `count` from `first` on. --watch and --times stand last. */
struct help_globals {
    size_t live, first, count;
};
struct help_globals help_globals(const struct cli_command *command);
struct cli_noun {
    const char *noun, *summary;
};
extern const struct cli_noun cli_nouns[]; /* in the order of the help */
extern const size_t cli_noun_count;
extern const char cli_exit_codes[];

/* Options of Kafka's tools that the commands of the noun (NULL: of every) do not have, and what is there instead. */
struct cli_left_out {
    const char *noun, *name, *instead;
};
extern const struct cli_left_out cli_left_out[];
extern const size_t cli_left_out_count;
const char *kafka_option_instead(const char *noun, struct str name); /* NULL: it is none of them */
const char *kafka_verb_instead(const char *noun, const char *verb);  /* "NOUN VERB" of the command that is meant; NULL: none is known */

void help_command(FILE *to, const struct cli_command *command);
void help_overview(FILE *to, const struct cli_command *const *commands, size_t count, const char *noun); /* noun NULL: all */

/* ---- manual.c: roff, for man ---- */
void manual_command(FILE *to, const struct cli_command *command, const struct cli_command *const *commands, size_t count);
void manual_overview(FILE *to, const struct cli_command *const *commands, size_t count);

/* ---- completion.c ---- */
void completion_bash(FILE *to, const struct cli_command *const *commands, size_t count);
void completion_zsh(FILE *to, const struct cli_command *const *commands, size_t count);

#endif
