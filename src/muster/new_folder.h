/* new_folder.h: a data folder made from the states of shards, for a cluster that begins with them: what `snapshot restore` and `cluster recover` end in. */
#ifndef MUSTER_CLI_NEW_FOLDER_H
#define MUSTER_CLI_NEW_FOLDER_H

#include "cli.h"

#include <muster/group.h>
#include <muster/store.h>

struct new_folder {
    struct cli *cli;
    const char *dir;
    struct str staging; /* a folder inside dir; its files move up at the end, the identity last: without one a node does not start */
    struct store_port port;
    struct store *store;
    struct buf config; /* the voters, as the Raft library writes them */
    struct arena arena;
};

/* dir is made, or is there and empty. CLI_OK or an exit code, said; then nothing is left behind. identity: of the node that the folder is for. */
int new_folder_begin(struct cli *cli, const char *dir, const struct store_identity *identity, struct new_folder *ret);
/* The shard's log begins behind a snapshot of the state at that index, in that term. Each shard once; a shard that is left out begins empty. */
int new_folder_shard(struct new_folder *f, uint32_t shard, uint64_t index, uint64_t term, struct group_set *set);
/* Makes the folder complete. Frees, also on error. */
int new_folder_commit(struct new_folder *f);
void new_folder_abort(struct new_folder *f); /* removes what was made */

/* Takes out of a shard's state what belongs to the cluster it came from and not to one that begins with it: its nodes, and which of them led. index: of the state. */
void new_folder_forget_nodes(struct group_set *set, uint64_t index);

#endif
