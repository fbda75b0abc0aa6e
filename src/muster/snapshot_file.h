/* snapshot_file.h: a backup file as it is read: shard by shard, each rebuilt by the group library and compared with what the file says of it. */
#ifndef MUSTER_CLI_SNAPSHOT_FILE_H
#define MUSTER_CLI_SNAPSHOT_FILE_H

#include "cli.h"

#include <muster/group.h>
#include <muster/store.h>

struct snapshot_file {
    struct cli *cli;
    const char *path;
    struct store_port port;
    struct store_backup_reader *reader;
    struct store_backup_info info;
    struct pool pool;
    struct group_set *set; /* of the section under way: one shard's at a time is in memory */
    struct arena scratch;
    int64_t shards_read;
    uint64_t acted_on, catalog; /* the highest index of shard 0 that a state has acted on; shard 0's own */
};
/* CLI_OK or an exit code, said. */
int snapshot_file_open(struct cli *cli, const char *path, struct snapshot_file *ret);
/* The next shard: its head and its state, borrowed until the next call; NULL at the end, when all was found in order and the shards fit together. */
int snapshot_file_next(struct snapshot_file *f, struct store_backup_section *ret, struct group_set **ret_set);
void snapshot_file_close(struct snapshot_file *f);

/* A path's folder and the name in it. The folder lies in the arena. */
const char *snapshot_path_split(const char *path, struct arena *arena, const char **ret_name);

/* What a shard's state holds, as a row of a table and an object of JSON. */
struct table;
void snapshot_row_headers(const char *const **ret, int *ret_count);
void snapshot_row(struct cli *cli, struct table *t, void *json_array, const struct store_backup_section *section,
                  const struct group_set *set);

#endif
