/* mem_port.c: the imagined disk as a port, with its faults, and what tests do to it behind the port's back. */
#include "mem_disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the port: faults first, then the call ---------------------------------------------------------------------------------- */

static bool counts_down(uint64_t *counter)
{
    if (*counter == 0) {
        return false;
    }
    (*counter)--;
    return *counter == 0;
}

static int io_error(void)
{
    errno = EIO;
    return MUSTER_E_IO;
}

static int full_error(void)
{
    errno = ENOSPC;
    return MUSTER_E_FULL;
}

static bool port_is_dead(const struct process *p)
{
    return p->ended || p->disk->power_is_off;
}

/* Begins a change: true when the power goes with it. */
static bool change_begins(struct mem_disk *d)
{
    d->counts.changes++;
    return counts_down(&d->faults.cut_power);
}

static int change_ends(struct mem_disk *d, bool power_cut)
{
    if (power_cut) {
        d->power_is_off = true;
        return io_error();
    }
    return MUSTER_E_OK;
}

static struct handle *handle_of(struct process *p, int file)
{
    MUSTER_CHECK(file >= 0 && (size_t)file < p->handle_count && p->handles[file].inode != NULL);
    return &p->handles[file];
}

static int handle_new(struct process *p, struct inode *inode, bool write)
{
    size_t i = 0;
    while (i < p->handle_count && p->handles[i].inode != NULL) {
        i++;
    }
    if (i == p->handle_count) {
        size_t count = p->handle_count == 0 ? 4 : p->handle_count * 2;
        struct handle *handles = realloc(p->handles, count * sizeof(*handles));
        MUSTER_CHECK(handles != NULL);
        memset(handles + p->handle_count, 0, (count - p->handle_count) * sizeof(*handles));
        p->handles = handles;
        p->handle_count = count;
    }
    p->handles[i] = (struct handle){inode, write};
    return (int)i;
}

static int mem_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    const struct name *n = mem_dir_find(&d->now, name);
    if (n == NULL && !create) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    if (n == NULL) {
        struct dir_op op = {.kind = DIR_ADD, .inode = mem_inode_new(d)};
        bool cut = change_begins(d);
        mem_name_set(op.name, name);
        mem_dir_change(d, &op);
        if (change_ends(d, cut) < 0) {
            return MUSTER_E_IO;
        }
        n = mem_dir_find(&d->now, name);
    }
    *ret_file = handle_new(p, n->inode, write || create);
    return MUSTER_E_OK;
}

static void mem_close(void *ctx, int file)
{
    struct process *p = ctx;
    if (!p->ended) {
        handle_of(p, file)->inode = NULL;
        mem_collect(p->disk);
    }
}

static int mem_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    struct process *p = ctx;
    if (port_is_dead(p)) {
        return io_error();
    }
    const struct inode *n = handle_of(p, file)->inode;
    p->disk->counts.reads++;
    if (counts_down(&p->disk->faults.fail_read)) {
        return io_error();
    }
    size_t there = offset < n->now.len ? n->now.len - (size_t)offset : 0;
    size_t got = len < there ? len : there;
    if (got > 0) {
        memcpy(dst, n->now.ptr + offset, got);
    }
    *ret_len = got;
    return MUSTER_E_OK;
}

uint64_t mem_disk_used(const struct mem_disk *d)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->inode_count; i++) {
        sum += d->inodes[i]->now.len;
    }
    return sum;
}

static bool has_room(const struct mem_disk *d, const struct inode *n, uint64_t end)
{
    if (d->faults.capacity_bytes == 0 || end <= n->now.len) {
        return true;
    }
    return mem_disk_used(d) + (end - n->now.len) <= d->faults.capacity_bytes;
}

static int mem_write(void *ctx, int file, uint64_t offset, const struct bytes *parts, size_t count)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    struct handle *h = handle_of(p, file);
    MUSTER_CHECK(h->write);
    struct buf all;
    buf_init(&all, 0);
    for (size_t i = 0; i < count; i++) {
        MUSTER_CHECK(buf_put(&all, parts[i].ptr, parts[i].len > 0 ? (size_t)parts[i].len : 0) == 0);
    }
    d->counts.writes++;
    int rc = MUSTER_E_OK;
    if (counts_down(&d->faults.fail_write)) {
        rc = io_error();
    } else if (counts_down(&d->faults.full_write) || !has_room(d, h->inode, offset + all.len)) {
        rc = full_error();
    }
    if (d->faults.misdirect_by != 0) {
        int64_t by = d->faults.misdirect_by;
        offset = by < 0 && offset < (uint64_t)-by ? offset + (uint64_t)-by : offset + (uint64_t)by;
        d->faults.misdirect_by = 0;
    }
    size_t len = rc < 0 ? all.len / 2 : all.len;
    if (rc == MUSTER_E_FULL && !has_room(d, h->inode, offset + len)) {
        len = 0;
    }
    bool cut = change_begins(d);
    if (len > 0) {
        mem_inode_write(h->inode, offset, all.ptr, len);
    }
    buf_fini(&all);
    int power = change_ends(d, cut);
    return power < 0 ? power : rc;
}

static int mem_sync(void *ctx, int file)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    struct inode *n = handle_of(p, file)->inode;
    d->counts.syncs++;
    if (d->faults.sync_lies) {
        return MUSTER_E_OK;
    }
    if (counts_down(&d->faults.fail_sync)) {
        return io_error();
    }
    if (change_begins(d)) {
        return change_ends(d, true); /* what was pending may or may not survive: the crash decides */
    }
    mem_inode_sync(n);
    return MUSTER_E_OK;
}

static int mem_size(void *ctx, int file, uint64_t *ret_bytes)
{
    struct process *p = ctx;
    if (port_is_dead(p)) {
        return io_error();
    }
    *ret_bytes = handle_of(p, file)->inode->now.len;
    return MUSTER_E_OK;
}

static int mem_allocate(void *ctx, int file, uint64_t bytes)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    struct inode *n = handle_of(p, file)->inode;
    if (!has_room(d, n, bytes)) {
        return full_error();
    }
    bool cut = change_begins(d);
    if (bytes > n->now.len) {
        mem_inode_size(n, bytes);
    }
    return change_ends(d, cut);
}

static int mem_truncate(void *ctx, int file, uint64_t bytes)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    struct inode *n = handle_of(p, file)->inode;
    bool cut = change_begins(d);
    if (bytes != n->now.len) {
        mem_inode_size(n, bytes);
    }
    return change_ends(d, cut);
}

static int mem_rename(void *ctx, const char *from, const char *to)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    const struct name *n = mem_dir_find(&d->now, from);
    if (n == NULL) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    struct dir_op op = {.kind = DIR_RENAME, .inode = n->inode};
    mem_name_set(op.name, from);
    mem_name_set(op.to, to);
    bool cut = change_begins(d);
    mem_dir_change(d, &op);
    return change_ends(d, cut);
}

static int mem_remove(void *ctx, const char *name)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    if (mem_dir_find(&d->now, name) == NULL) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    struct dir_op op = {.kind = DIR_REMOVE};
    mem_name_set(op.name, name);
    bool cut = change_begins(d);
    mem_dir_change(d, &op);
    mem_collect(d);
    return change_ends(d, cut);
}

static int mem_sync_dir(void *ctx)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    d->counts.dir_syncs++;
    if (counts_down(&d->faults.fail_sync_dir)) {
        return io_error();
    }
    if (change_begins(d)) {
        return change_ends(d, true);
    }
    for (size_t i = 0; i < d->op_count; i++) {
        mem_dir_apply(&d->synced, &d->ops[i]);
    }
    d->op_count = 0;
    mem_collect(d);
    return MUSTER_E_OK;
}

static int mem_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    struct process *p = ctx;
    if (port_is_dead(p)) {
        return io_error();
    }
    for (size_t i = 0; i < p->disk->now.count; i++) {
        each(arg, p->disk->now.names[i].text);
    }
    return MUSTER_E_OK;
}

static int mem_lock(void *ctx)
{
    struct process *p = ctx;
    if (port_is_dead(p)) {
        return io_error();
    }
    if (p->disk->lock_owner != NULL && p->disk->lock_owner != p) {
        return MUSTER_E_BUSY;
    }
    p->disk->lock_owner = p;
    return MUSTER_E_OK;
}

/* ---- the disk ------------------------------------------------------------------------------------------------------------------ */

struct mem_disk *mem_disk_new(void)
{
    struct mem_disk *d = calloc(1, sizeof(*d));
    MUSTER_CHECK(d != NULL);
    return d;
}

struct mem_disk *mem_disk_clone(const struct mem_disk *d)
{
    struct mem_disk *copy = mem_disk_new();
    for (size_t i = 0; i < d->now.count; i++) {
        mem_disk_put(copy, d->now.names[i].text, d->now.names[i].inode->now.ptr, d->now.names[i].inode->now.len);
    }
    return copy;
}

void mem_disk_free(struct mem_disk *d)
{
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < d->inode_count; i++) {
        mem_inode_free(d->inodes[i]);
    }
    for (size_t i = 0; i < d->process_count; i++) {
        free(d->processes[i]->handles);
        free(d->processes[i]);
    }
    free(d->inodes);
    free(d->now.names);
    free(d->synced.names);
    free(d->ops);
    free(d->processes);
    free(d);
}

void mem_disk_port(struct mem_disk *d, struct store_port *ret)
{
    struct process *p = calloc(1, sizeof(*p));
    struct process **processes = realloc(d->processes, (d->process_count + 1) * sizeof(struct process *));
    MUSTER_CHECK(p != NULL && processes != NULL);
    p->disk = d;
    d->processes = processes;
    d->processes[d->process_count++] = p;
    *ret = (struct store_port){
        .ctx = p,
        .open = mem_open,
        .close = mem_close,
        .read = mem_read,
        .write = mem_write,
        .sync = mem_sync,
        .size = mem_size,
        .allocate = mem_allocate,
        .truncate = mem_truncate,
        .rename = mem_rename,
        .remove = mem_remove,
        .sync_dir = mem_sync_dir,
        .list = mem_list,
        .lock = mem_lock,
    };
}

static void process_end(struct process *p)
{
    p->ended = true;
    free(p->handles);
    p->handles = NULL;
    p->handle_count = 0;
    if (p->disk->lock_owner == p) {
        p->disk->lock_owner = NULL;
    }
}

void mem_disk_end_process(struct mem_disk *d, const struct store_port *port)
{
    process_end(port->ctx);
    mem_collect(d);
}

void mem_disk_crash(struct mem_disk *d, struct prng *random)
{
    for (size_t i = 0; i < d->process_count; i++) {
        process_end(d->processes[i]);
    }
    mem_ops_crash(d, random);
    d->op_count = 0;
    mem_dir_copy(&d->now, &d->synced);
    for (size_t i = 0; i < d->inode_count; i++) {
        mem_inode_crash(d->inodes[i], random, d->faults.never_tears);
    }
    mem_collect(d);
    d->power_is_off = false;
    d->faults.cut_power = 0;
}

struct mem_faults *mem_disk_faults(struct mem_disk *d)
{
    return &d->faults;
}

void mem_disk_counts(const struct mem_disk *d, struct mem_counts *ret)
{
    *ret = d->counts;
}

/* ---- behind everyone's back ------------------------------------------------------------------------------------------------------ */

struct bytes mem_disk_file(const struct mem_disk *d, const char *name)
{
    const struct name *n = mem_dir_find(&d->now, name);
    return n == NULL ? BYTES_NULL : (struct bytes){n->inode->now.ptr, (int32_t)n->inode->now.len};
}

void mem_disk_put(struct mem_disk *d, const char *name, const void *data, size_t len)
{
    struct inode *n = mem_inode_new(d);
    MUSTER_CHECK(buf_put(&n->now, data, len) == 0);
    mem_buf_copy(&n->synced, &n->now);
    mem_dir_put(&d->now, name, n);
    mem_dir_put(&d->synced, name, n);
    mem_collect(d);
}

void mem_disk_settle(struct mem_disk *d)
{
    for (size_t i = 0; i < d->inode_count; i++) {
        mem_inode_sync(d->inodes[i]);
    }
}

static struct inode *inode_named(struct mem_disk *d, const char *name)
{
    const struct name *n = mem_dir_find(&d->now, name);
    MUSTER_CHECK(n != NULL && n->inode->pending_count == 0);
    return n->inode;
}

void mem_disk_flip(struct mem_disk *d, const char *name, uint64_t offset, uint8_t mask)
{
    struct inode *n = inode_named(d, name);
    MUSTER_CHECK(offset < n->now.len);
    n->now.ptr[offset] ^= mask;
    n->synced.ptr[offset] ^= mask;
}

void mem_disk_cut(struct mem_disk *d, const char *name, uint64_t len)
{
    struct inode *n = inode_named(d, name);
    mem_buf_resize(&n->now, (size_t)len);
    mem_buf_resize(&n->synced, (size_t)len);
}

void mem_disk_delete(struct mem_disk *d, const char *name)
{
    mem_dir_remove(&d->now, name);
    mem_dir_remove(&d->synced, name);
    mem_collect(d);
}

size_t mem_disk_file_count(const struct mem_disk *d)
{
    return d->now.count;
}

const char *mem_disk_file_name(const struct mem_disk *d, size_t i)
{
    MUSTER_CHECK(i < d->now.count);
    return d->now.names[i].text;
}
