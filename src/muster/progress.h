/* progress.h: how far long work is, on standard error, where that is a terminal. */
#ifndef MUSTER_CLI_PROGRESS_H
#define MUSTER_CLI_PROGRESS_H

#include "cli.h"

/* "what 12/50", on one line that is written over, at most ten times a second. Nothing unless cli->err is a terminal. */
void progress(struct cli *cli, const char *what, int64_t done, int64_t all);
void progress_end(struct cli *cli); /* wipes the line; whatever is said after it stands alone */

#endif
