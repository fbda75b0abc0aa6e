#include "disk.h"

#include <stdatomic.h>
#include <string.h>

static int64_t now_us(void)
{
    return (int64_t)(uv_hrtime() / 1000);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static enum disk_kind kind_of(const char *name)
{
    return begins(name, "log-") ? DISK_LOG : begins(name, "next.") ? DISK_NEXT_LOG : begins(name, "snap-") ? DISK_SNAPSHOT : DISK_OTHER;
}

static void remember(struct disk *d, int file, enum disk_kind kind)
{
    uv_mutex_lock(&d->mutex);
    if (kind != DISK_OTHER && d->open_count < DISK_FILES) {
        d->open[d->open_count].file = file;
        d->open[d->open_count++].kind = kind;
    }
    uv_mutex_unlock(&d->mutex);
}

static void forget(struct disk *d, int file)
{
    uv_mutex_lock(&d->mutex);
    for (size_t i = 0; i < d->open_count; i++) {
        if (d->open[i].file == file) {
            d->open[i] = d->open[--d->open_count];
            break;
        }
    }
    uv_mutex_unlock(&d->mutex);
}

static enum disk_kind recall(struct disk *d, int file)
{
    enum disk_kind kind = DISK_OTHER;
    uv_mutex_lock(&d->mutex);
    for (size_t i = 0; i < d->open_count; i++) {
        kind = d->open[i].file == file ? d->open[i].kind : kind;
    }
    uv_mutex_unlock(&d->mutex);
    return kind;
}

/* ---- what is measured ---- */

static int timed_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    struct disk *d = ctx;
    int rc = d->inner.open(d->inner.ctx, name, create, write, ret_file);
    if (rc == 0) {
        remember(d, *ret_file, kind_of(name));
    }
    return rc;
}

static void timed_close(void *ctx, int file)
{
    struct disk *d = ctx;
    forget(d, file); /* before its number can be another file's */
    d->inner.close(d->inner.ctx, file);
}

static int timed_write(void *ctx, int file, uint64_t offset, const struct bytes *parts, size_t count)
{
    struct disk *d = ctx;
    int64_t begun = now_us();
    int rc = d->inner.write(d->inner.ctx, file, offset, parts, count);
    if (recall(d, file) == DISK_LOG) {
        uint64_t bytes = 0;
        for (size_t i = 0; i < count; i++) {
            bytes += parts[i].len > 0 ? (uint64_t)parts[i].len : 0;
        }
        ops_observe(&d->log_write, now_us() - begun);
        atomic_fetch_add_explicit(&d->log_bytes, bytes, memory_order_relaxed);
    }
    return rc;
}

static int timed_sync(void *ctx, int file)
{
    struct disk *d = ctx;
    int64_t begun = now_us();
    int rc = d->inner.sync(d->inner.ctx, file);
    enum disk_kind kind = recall(d, file);
    if (kind == DISK_LOG) {
        ops_observe(&d->log_sync, now_us() - begun);
    } else if (kind == DISK_SNAPSHOT) {
        ops_observe(&d->snapshot_sync, now_us() - begun);
    }
    return rc;
}

/* The segment that was prepared ahead has become the one that is written. */
static int timed_rename(void *ctx, const char *from, const char *to)
{
    struct disk *d = ctx;
    int rc = d->inner.rename(d->inner.ctx, from, to);
    uv_mutex_lock(&d->mutex);
    for (size_t i = 0; rc == 0 && kind_of(from) == DISK_NEXT_LOG && i < d->open_count; i++) {
        d->open[i].kind = d->open[i].kind == DISK_NEXT_LOG ? kind_of(to) : d->open[i].kind;
    }
    uv_mutex_unlock(&d->mutex);
    return rc;
}

/* ---- what is only handed on ---- */

static int hand_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    struct disk *d = ctx;
    return d->inner.read(d->inner.ctx, file, offset, dst, len, ret_len);
}

static int hand_size(void *ctx, int file, uint64_t *ret_bytes)
{
    struct disk *d = ctx;
    return d->inner.size(d->inner.ctx, file, ret_bytes);
}

static int hand_allocate(void *ctx, int file, uint64_t bytes)
{
    struct disk *d = ctx;
    return d->inner.allocate(d->inner.ctx, file, bytes);
}

static int hand_truncate(void *ctx, int file, uint64_t bytes)
{
    struct disk *d = ctx;
    return d->inner.truncate(d->inner.ctx, file, bytes);
}

static int hand_remove(void *ctx, const char *name)
{
    struct disk *d = ctx;
    return d->inner.remove(d->inner.ctx, name);
}

static int hand_sync_dir(void *ctx)
{
    struct disk *d = ctx;
    return d->inner.sync_dir(d->inner.ctx);
}

static int hand_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    struct disk *d = ctx;
    return d->inner.list(d->inner.ctx, each, arg);
}

static int hand_lock(void *ctx)
{
    struct disk *d = ctx;
    return d->inner.lock(d->inner.ctx);
}

void disk_init(struct disk *disk, const struct store_port *inner, struct store_port *ret)
{
    memset(disk, 0, sizeof(*disk));
    disk->inner = *inner;
    MUSTER_CHECK(uv_mutex_init(&disk->mutex) == 0);
    *ret = (struct store_port){
        .ctx = disk,
        .open = timed_open,
        .close = timed_close,
        .read = hand_read,
        .write = timed_write,
        .sync = timed_sync,
        .size = hand_size,
        .allocate = hand_allocate,
        .truncate = hand_truncate,
        .rename = timed_rename,
        .remove = hand_remove,
        .sync_dir = hand_sync_dir,
        .list = hand_list,
        .lock = hand_lock,
    };
}

void disk_fini(struct disk *disk)
{
    uv_mutex_destroy(&disk->mutex);
}
