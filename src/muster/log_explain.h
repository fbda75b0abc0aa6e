/* log_explain.h: why a snapshot's hash is not that of the state that the log makes, record by record. */
#ifndef MUSTER_CLI_LOG_EXPLAIN_H
#define MUSTER_CLI_LOG_EXPLAIN_H

#include "log.h"

enum { LOG_DIFFERENCES_MAX = 8 }; /* that are told */
struct log_explain {
    struct log_difference {
        uint32_t shard;
        uint64_t index;  /* of the snapshot */
        uint64_t key;    /* of the record, hashed */
        uint64_t writer; /* the last entry up to the index that wrote it; 0: none that is there */
    } v[LOG_DIFFERENCES_MAX];
    size_t count;
};

/* Says how the snapshot of that index and the state differ. May be called while the folder is scanned. */
struct group_set;
void log_explain_compare(struct log_explain *e, struct cli *cli, struct log_folder *f, uint32_t shard, uint64_t index,
                         struct group_set *set);
/* Says which entries wrote what differs: another pass over the folder. */
void log_explain_blame(struct log_explain *e, struct cli *cli, struct log_folder *f);

#endif
