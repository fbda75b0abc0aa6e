/* topology_file.h: a topology as JSON: what `muster streams topology --json` prints is what `muster streams initialize` takes. */
#ifndef MUSTER_CLI_TOPOLOGY_FILE_H
#define MUSTER_CLI_TOPOLOGY_FILE_H

#include <muster/messages.h>

#include "cli.h"
#include "out.h"

/* What the group has; no subtopologies when it has none. */
json_t *topology_json(struct str group, const struct streams_group_topology_response *t);
/* Reads the file ("-": standard input) into the request: its topology, and its id unless that is a hash, which is worked out again. Strings lie in the arena
 * of cli. CLI_OK, or CLI_USAGE with a message that names the line, or the place within the document. */
int topology_read(struct cli *cli, const char *path, struct streams_group_initialize_request *ret);

#endif
