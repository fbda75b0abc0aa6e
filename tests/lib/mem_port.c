/* mem_port.c: the imagined disk. */
#include "mem_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 128, SECTOR_BYTES = 512 };

struct pending {                         /* a change of a file since its last sync */
    enum { PENDING_WRITE, PENDING_SIZE } kind;
    uint64_t offset;                     /* of a write; the new size */
    uint8_t *data;
    size_t len;
};

struct inode {
    struct buf now;                      /* what processes read */
    struct buf synced;                   /* what a crash cannot take */
    struct pending *pending;
    size_t pending_count, pending_cap;
};

struct name { char text[NAME_BYTES]; struct inode *inode; };
struct dir { struct name *names; size_t count, cap; };

struct dir_op {                          /* a change of the folder since its last sync */
    enum { DIR_ADD, DIR_RENAME, DIR_REMOVE } kind;
    char name[NAME_BYTES], to[NAME_BYTES];
    struct inode *inode;
};

struct handle { struct inode *inode; bool write; };

struct process {
    struct mem_disk *disk;
    bool ended;
    struct handle *handles;              /* inode NULL: free */
    size_t handle_count;
};

struct mem_disk {
    struct inode **inodes;
    size_t inode_count, inode_cap;
    struct dir now, synced;
    struct dir_op *ops;
    size_t op_count, op_cap;
    struct process **processes;
    size_t process_count;
    struct process *lock_owner;
    struct mem_faults faults;
    struct mem_counts counts;
    bool power_is_off;
};

/* ---- memory ------------------------------------------------------------------------------------------------------------- */

static void *grow(void *array, size_t *cap, size_t count, size_t size)
{
    if (count < *cap) {
        return array;
    }
    *cap = *cap == 0 ? 8 : *cap * 2;
    void *more = realloc(array, *cap * size);
    MUSTER_CHECK(more != NULL);
    return more;
}

static void buf_resize(struct buf *b, size_t len)
{
    if (len > b->len) {
        size_t more = len - b->len;
        uint8_t *at = buf_add(b, more);
        MUSTER_CHECK(at != NULL);
        memset(at, 0, more);
    }
    b->len = len;
}

static void buf_copy(struct buf *to, const struct buf *from)
{
    buf_clear(to);
    MUSTER_CHECK(buf_put(to, from->ptr, from->len) == 0);
}

/* ---- inodes ------------------------------------------------------------------------------------------------------------- */

static struct inode *inode_new(struct mem_disk *d)
{
    struct inode *n = calloc(1, sizeof(*n));
    MUSTER_CHECK(n != NULL);
    buf_init(&n->now, 0);
    buf_init(&n->synced, 0);
    d->inodes = grow(d->inodes, &d->inode_cap, d->inode_count, sizeof(struct inode *));
    d->inodes[d->inode_count++] = n;
    return n;
}

static void pending_clear(struct inode *n)
{
    for (size_t i = 0; i < n->pending_count; i++) {
        free(n->pending[i].data);
    }
    n->pending_count = 0;
}

static void inode_free(struct inode *n)
{
    pending_clear(n);
    free(n->pending);
    buf_fini(&n->now);
    buf_fini(&n->synced);
    free(n);
}

static void image_write(struct buf *image, uint64_t offset, const uint8_t *data, size_t len)
{
    if (image->len < offset + len) {
        buf_resize(image, (size_t)offset + len);
    }
    if (len > 0) {
        memcpy(image->ptr + offset, data, len);
    }
}

static void inode_write(struct inode *n, uint64_t offset, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len + 1);
    MUSTER_CHECK(copy != NULL);
    memcpy(copy, data, len);
    n->pending = grow(n->pending, &n->pending_cap, n->pending_count, sizeof(*n->pending));
    n->pending[n->pending_count++] = (struct pending){PENDING_WRITE, offset, copy, len};
    image_write(&n->now, offset, data, len);
}

static void inode_size(struct inode *n, uint64_t bytes)
{
    n->pending = grow(n->pending, &n->pending_cap, n->pending_count, sizeof(*n->pending));
    n->pending[n->pending_count++] = (struct pending){PENDING_SIZE, bytes, NULL, 0};
    buf_resize(&n->now, (size_t)bytes);
}

static void pending_apply(struct buf *image, const struct pending *p, size_t from, size_t to)
{
    if (p->kind == PENDING_SIZE) {
        buf_resize(image, (size_t)p->offset);
    } else if (from < to) {
        image_write(image, p->offset + from, p->data + from, to - from);
    }
}

static void inode_sync(struct inode *n)
{
    for (size_t i = 0; i < n->pending_count; i++) {
        pending_apply(&n->synced, &n->pending[i], 0, n->pending[i].len);
    }
    pending_clear(n);
}

/* Lost, whole, torn to a front, a middle or an end, or torn by sectors. */
static void pending_tear(struct buf *image, const struct pending *p, struct prng *random)
{
    uint64_t how = prng_below(random, 6);
    if (how == 0) {
        return;
    }
    if (how == 1 || p->kind == PENDING_SIZE || p->len == 0) {
        pending_apply(image, p, 0, p->len);
        return;
    }
    size_t a = (size_t)prng_below(random, p->len + 1);
    size_t b = (size_t)prng_below(random, p->len + 1);
    if (how == 2) {
        pending_apply(image, p, 0, a);
    } else if (how == 3) {
        pending_apply(image, p, a, p->len);
    } else if (how == 4) {
        pending_apply(image, p, a < b ? a : b, a < b ? b : a);
    } else {
        size_t from = 0;
        while (from < p->len) {
            size_t step = SECTOR_BYTES - (size_t)((p->offset + from) % SECTOR_BYTES);
            size_t to = p->len - from < step ? p->len : from + step;
            if (prng_below(random, 2) == 0) {
                pending_apply(image, p, from, to);
            }
            from = to;
        }
    }
}

static void inode_crash(struct inode *n, struct prng *random)
{
    for (size_t i = 0; i < n->pending_count; i++) {
        pending_tear(&n->synced, &n->pending[i], random);
    }
    pending_clear(n);
    buf_copy(&n->now, &n->synced);
}

/* ---- the folder ----------------------------------------------------------------------------------------------------------- */

static struct name *dir_find(const struct dir *dir, const char *text)
{
    for (size_t i = 0; i < dir->count; i++) {
        if (strcmp(dir->names[i].text, text) == 0) {
            return &dir->names[i];
        }
    }
    return NULL;
}

static void name_set(char dst[NAME_BYTES], const char *text)
{
    size_t len = strlen(text);
    MUSTER_CHECK(len < NAME_BYTES);
    memcpy(dst, text, len + 1);
}

static void dir_put(struct dir *dir, const char *text, struct inode *inode)
{
    struct name *n = dir_find(dir, text);
    if (n == NULL) {
        dir->names = grow(dir->names, &dir->cap, dir->count, sizeof(*dir->names));
        n = &dir->names[dir->count++];
        name_set(n->text, text);
    }
    n->inode = inode;
}

static void dir_remove(struct dir *dir, const char *text)
{
    struct name *n = dir_find(dir, text);
    if (n != NULL) {
        size_t after = (size_t)(dir->names + dir->count - n) - 1;
        memmove(n, n + 1, after * sizeof(*n));
        dir->count--;
    }
}

static void dir_copy(struct dir *to, const struct dir *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        dir_put(to, from->names[i].text, from->names[i].inode);
    }
}

static void dir_apply(struct dir *dir, const struct dir_op *op)
{
    if (op->kind != DIR_ADD) {
        dir_remove(dir, op->name);
    }
    if (op->kind == DIR_ADD) {
        dir_put(dir, op->name, op->inode);
    } else if (op->kind == DIR_RENAME) {
        dir_put(dir, op->to, op->inode);
    }
}

static void dir_change(struct mem_disk *d, const struct dir_op *op)
{
    d->ops = grow(d->ops, &d->op_cap, d->op_count, sizeof(*d->ops));
    d->ops[d->op_count++] = *op;
    dir_apply(&d->now, op);
}

/* ---- what nobody can reach any more ----------------------------------------------------------------------------------------- */

static bool dir_has(const struct dir *dir, const struct inode *n)
{
    for (size_t i = 0; i < dir->count; i++) {
        if (dir->names[i].inode == n) {
            return true;
        }
    }
    return false;
}

static bool inode_in_use(const struct mem_disk *d, const struct inode *n)
{
    if (dir_has(&d->now, n) || dir_has(&d->synced, n)) {
        return true;
    }
    for (size_t i = 0; i < d->op_count; i++) {
        if (d->ops[i].inode == n) {
            return true;
        }
    }
    for (size_t i = 0; i < d->process_count; i++) {
        for (size_t j = 0; j < d->processes[i]->handle_count; j++) {
            if (d->processes[i]->handles[j].inode == n) {
                return true;
            }
        }
    }
    return false;
}

static void collect(struct mem_disk *d)
{
    for (size_t i = d->inode_count; i > 0; i--) {
        struct inode *n = d->inodes[i - 1];
        if (!inode_in_use(d, n)) {
            memmove(&d->inodes[i - 1], &d->inodes[i], (d->inode_count - i) * sizeof(struct inode *));
            d->inode_count--;
            inode_free(n);
        }
    }
}

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
    const struct name *n = dir_find(&d->now, name);
    if (n == NULL && !create) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    if (n == NULL) {
        struct dir_op op = {.kind = DIR_ADD, .inode = inode_new(d)};
        bool cut = change_begins(d);
        name_set(op.name, name);
        dir_change(d, &op);
        if (change_ends(d, cut) < 0) {
            return MUSTER_E_IO;
        }
        n = dir_find(&d->now, name);
    }
    *ret_file = handle_new(p, n->inode, write || create);
    return MUSTER_E_OK;
}

static void mem_close(void *ctx, int file)
{
    struct process *p = ctx;
    if (!p->ended) {
        handle_of(p, file)->inode = NULL;
        collect(p->disk);
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

static uint64_t used_bytes(const struct mem_disk *d)
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
    return used_bytes(d) + (end - n->now.len) <= d->faults.capacity_bytes;
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
    size_t len = rc < 0 ? all.len / 2 : all.len;
    if (rc == MUSTER_E_FULL && !has_room(d, h->inode, offset + len)) {
        len = 0;
    }
    bool cut = change_begins(d);
    if (len > 0) {
        inode_write(h->inode, offset, all.ptr, len);
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
    inode_sync(n);
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
        inode_size(n, bytes);
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
        inode_size(n, bytes);
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
    const struct name *n = dir_find(&d->now, from);
    if (n == NULL) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    struct dir_op op = {.kind = DIR_RENAME, .inode = n->inode};
    name_set(op.name, from);
    name_set(op.to, to);
    bool cut = change_begins(d);
    dir_change(d, &op);
    return change_ends(d, cut);
}

static int mem_remove(void *ctx, const char *name)
{
    struct process *p = ctx;
    struct mem_disk *d = p->disk;
    if (port_is_dead(p)) {
        return io_error();
    }
    if (dir_find(&d->now, name) == NULL) {
        errno = ENOENT;
        return MUSTER_E_NOT_FOUND;
    }
    struct dir_op op = {.kind = DIR_REMOVE};
    name_set(op.name, name);
    bool cut = change_begins(d);
    dir_change(d, &op);
    collect(d);
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
        dir_apply(&d->synced, &d->ops[i]);
    }
    d->op_count = 0;
    collect(d);
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
        inode_free(d->inodes[i]);
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
    collect(d);
}

void mem_disk_crash(struct mem_disk *d, struct prng *random)
{
    for (size_t i = 0; i < d->process_count; i++) {
        process_end(d->processes[i]);
    }
    size_t kept = (size_t)prng_below(random, d->op_count + 1);
    for (size_t i = 0; i < kept; i++) {
        dir_apply(&d->synced, &d->ops[i]);
    }
    d->op_count = 0;
    dir_copy(&d->now, &d->synced);
    for (size_t i = 0; i < d->inode_count; i++) {
        inode_crash(d->inodes[i], random);
    }
    collect(d);
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
    const struct name *n = dir_find(&d->now, name);
    return n == NULL ? BYTES_NULL : (struct bytes){n->inode->now.ptr, (int32_t)n->inode->now.len};
}

void mem_disk_put(struct mem_disk *d, const char *name, const void *data, size_t len)
{
    struct inode *n = inode_new(d);
    MUSTER_CHECK(buf_put(&n->now, data, len) == 0);
    buf_copy(&n->synced, &n->now);
    dir_put(&d->now, name, n);
    dir_put(&d->synced, name, n);
    collect(d);
}

static struct inode *inode_named(struct mem_disk *d, const char *name)
{
    const struct name *n = dir_find(&d->now, name);
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
    buf_resize(&n->now, (size_t)len);
    buf_resize(&n->synced, (size_t)len);
}

void mem_disk_delete(struct mem_disk *d, const char *name)
{
    dir_remove(&d->now, name);
    dir_remove(&d->synced, name);
    collect(d);
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
