/* mem_disk.c: files and folder of the imagined disk, and what a crash does to them. */
#include "mem_disk.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------------------------- */

void *mem_grow(void *array, size_t *cap, size_t count, size_t size)
{
    if (count < *cap) {
        return array;
    }
    *cap = *cap == 0 ? 8 : *cap * 2;
    void *more = realloc(array, *cap * size);
    MUSTER_CHECK(more != NULL);
    return more;
}

void mem_buf_resize(struct buf *b, size_t len)
{
    if (len > b->len) {
        size_t more = len - b->len;
        uint8_t *at = buf_add(b, more);
        MUSTER_CHECK(at != NULL);
        memset(at, 0, more);
    }
    b->len = len;
}

void mem_buf_copy(struct buf *to, const struct buf *from)
{
    buf_clear(to);
    MUSTER_CHECK(buf_put(to, from->ptr, from->len) == 0);
}

/* ---- inodes ------------------------------------------------------------------------------------------------------------- */

struct inode *mem_inode_new(struct mem_disk *d)
{
    struct inode *n = calloc(1, sizeof(*n));
    MUSTER_CHECK(n != NULL);
    buf_init(&n->now, 0);
    buf_init(&n->synced, 0);
    d->inodes = mem_grow(d->inodes, &d->inode_cap, d->inode_count, sizeof(struct inode *));
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

void mem_inode_free(struct inode *n)
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
        mem_buf_resize(image, (size_t)offset + len);
    }
    if (len > 0) {
        memcpy(image->ptr + offset, data, len);
    }
}

void mem_inode_write(struct inode *n, uint64_t offset, const uint8_t *data, size_t len)
{
    uint8_t *copy = malloc(len + 1);
    MUSTER_CHECK(copy != NULL);
    memcpy(copy, data, len);
    n->pending = mem_grow(n->pending, &n->pending_cap, n->pending_count, sizeof(*n->pending));
    n->pending[n->pending_count++] = (struct pending){PENDING_WRITE, offset, copy, len};
    image_write(&n->now, offset, data, len);
}

void mem_inode_size(struct inode *n, uint64_t bytes)
{
    n->pending = mem_grow(n->pending, &n->pending_cap, n->pending_count, sizeof(*n->pending));
    n->pending[n->pending_count++] = (struct pending){PENDING_SIZE, bytes, NULL, 0};
    mem_buf_resize(&n->now, (size_t)bytes);
}

static void pending_apply(struct buf *image, const struct pending *p, size_t from, size_t to)
{
    if (p->kind == PENDING_SIZE) {
        mem_buf_resize(image, (size_t)p->offset);
    } else if (from < to) {
        image_write(image, p->offset + from, p->data + from, to - from);
    }
}

void mem_inode_sync(struct inode *n)
{
    for (size_t i = 0; i < n->pending_count; i++) {
        pending_apply(&n->synced, &n->pending[i], 0, n->pending[i].len);
    }
    pending_clear(n);
}

/* Lost, whole, torn to a front, a middle or an end, or torn by sectors. */
static void pending_tear(struct buf *image, const struct pending *p, struct prng *random, bool never_tears)
{
    uint64_t how = prng_below(random, never_tears ? 2 : 6);
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

void mem_inode_crash(struct inode *n, struct prng *random, bool never_tears)
{
    for (size_t i = 0; i < n->pending_count; i++) {
        pending_tear(&n->synced, &n->pending[i], random, never_tears);
    }
    pending_clear(n);
    mem_buf_copy(&n->now, &n->synced);
}

/* ---- the folder ----------------------------------------------------------------------------------------------------------- */

struct name *mem_dir_find(const struct dir *dir, const char *text)
{
    for (size_t i = 0; i < dir->count; i++) {
        if (strcmp(dir->names[i].text, text) == 0) {
            return &dir->names[i];
        }
    }
    return NULL;
}

void mem_name_set(char dst[NAME_BYTES], const char *text)
{
    size_t len = strlen(text);
    MUSTER_CHECK(len < NAME_BYTES);
    memcpy(dst, text, len + 1);
}

void mem_dir_put(struct dir *dir, const char *text, struct inode *inode)
{
    struct name *n = mem_dir_find(dir, text);
    if (n == NULL) {
        dir->names = mem_grow(dir->names, &dir->cap, dir->count, sizeof(*dir->names));
        n = &dir->names[dir->count++];
        mem_name_set(n->text, text);
    }
    n->inode = inode;
}

void mem_dir_remove(struct dir *dir, const char *text)
{
    struct name *n = mem_dir_find(dir, text);
    if (n != NULL) {
        size_t after = (size_t)(dir->names + dir->count - n) - 1;
        memmove(n, n + 1, after * sizeof(*n));
        dir->count--;
    }
}

void mem_dir_copy(struct dir *to, const struct dir *from)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        mem_dir_put(to, from->names[i].text, from->names[i].inode);
    }
}

void mem_dir_apply(struct dir *dir, const struct dir_op *op)
{
    if (op->kind != DIR_ADD) {
        mem_dir_remove(dir, op->name);
    }
    if (op->kind == DIR_ADD) {
        mem_dir_put(dir, op->name, op->inode);
    } else if (op->kind == DIR_RENAME) {
        mem_dir_put(dir, op->to, op->inode);
    }
}

void mem_dir_change(struct mem_disk *d, const struct dir_op *op)
{
    d->ops = mem_grow(d->ops, &d->op_cap, d->op_count, sizeof(*d->ops));
    d->ops[d->op_count++] = *op;
    mem_dir_apply(&d->now, op);
}

static bool op_means(const struct dir_op *op, const char *name)
{
    return strcmp(op->name, name) == 0 || (op->kind == DIR_RENAME && strcmp(op->to, name) == 0);
}

/* A change that follows lost ones may reach the disk all the same, unless a lost one was about the same file. */
static bool op_stands_alone(const struct mem_disk *d, size_t from, size_t i)
{
    for (size_t k = from; k < i; k++) {
        if (op_means(&d->ops[k], d->ops[i].name) || op_means(&d->ops[i], d->ops[k].name)) {
            return false;
        }
    }
    return true;
}

/* Changes of the folder come to disk in order up to some point; behind it, only removals that depend on nothing lost may have. */
void mem_ops_crash(struct mem_disk *d, struct prng *random)
{
    size_t kept = (size_t)prng_below(random, d->op_count + 1);
    for (size_t i = 0; i < d->op_count; i++) {
        bool early = i >= kept && d->ops[i].kind == DIR_REMOVE && op_stands_alone(d, kept, i) && prng_below(random, 2) == 0;
        if (i < kept || early) {
            mem_dir_apply(&d->synced, &d->ops[i]);
        }
    }
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

void mem_collect(struct mem_disk *d)
{
    for (size_t i = d->inode_count; i > 0; i--) {
        struct inode *n = d->inodes[i - 1];
        if (!inode_in_use(d, n)) {
            memmove(&d->inodes[i - 1], &d->inodes[i], (d->inode_count - i) * sizeof(struct inode *));
            d->inode_count--;
            mem_inode_free(n);
        }
    }
}
