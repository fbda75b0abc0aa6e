/* disk.h: how long the disk takes. A port in front of the data folder's own that measures writes and syncs and changes nothing. */
#ifndef MUSTERD_DISK_H
#define MUSTERD_DISK_H

#include <muster/ops.h>
#include <muster/store.h>
#include <uv.h>

enum { DISK_FILES = 64 };

/* What a file is, by its name (storage/FORMAT.md). */
enum disk_kind { DISK_OTHER, DISK_LOG, DISK_NEXT_LOG, DISK_SNAPSHOT };

struct disk {
    struct store_port inner;
    uv_mutex_t mutex; /* of the list: the log thread and the jobs of the pool use the folder at the same time */
    struct {
        int file;
        enum disk_kind kind;
    } open[DISK_FILES]; /* what is beyond is not measured */
    size_t open_count;
    struct ops_histogram log_write, log_sync, snapshot_sync;
    _Atomic uint64_t log_bytes;
};

/* *ret is valid as long as disk and the inner port are. */
void disk_init(struct disk *disk, const struct store_port *inner, struct store_port *ret);
void disk_fini(struct disk *disk); /* when no file is open */

#endif
