/* when.h: durations as people write them on a command line. */
#ifndef MUSTER_CLI_WHEN_H
#define MUSTER_CLI_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* ISO 8601: PnDTnHnMn.nS, of which any part may be missing but not all; milliseconds. */
bool when_parse_duration(const char *text, int64_t *ret_ms);

#endif
