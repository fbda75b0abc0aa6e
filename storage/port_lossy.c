/* port_lossy.c: a data folder that forgets at a kill what was not synced. Only in builds with MUSTER_TEST_PORT, where it stands in front of
 * the posix port, so that tests with real processes and kill -9 prove every fsync: without it the page cache would forgive them.
 *
 * Writes stay in this process's memory until sync() carries them to the file. A new file lives under a hidden name, and renames and removals
 * are only remembered, until sync_dir() carries them out in order. What a killed process has left under hidden names goes at the next start. */
#include "port_posix.h"
#include "names.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN_NAME_BYTES = 96 };
static const char hidden_prefix[] = ".unsynced-";

struct change {
    uint64_t offset;
    uint8_t *data;
    size_t len;
    bool is_size;
}; /* a write, or a new size in offset */

struct lossy_inode {
    int file;      /* of the port below, open as long as this lives */
    uint64_t size; /* with the changes */
    struct change *changes;
    size_t change_count, change_cap;
    size_t users; /* names, handles and folder changes that mean it */
};

struct lossy_name {
    char text[HIDDEN_NAME_BYTES];
    struct lossy_inode *inode;
}; /* inode NULL: removed, not yet below */
struct lossy_move {
    char from[HIDDEN_NAME_BYTES], to[HIDDEN_NAME_BYTES];
    bool removes;
};

struct lossy {
    struct store_port below;
    pthread_mutex_t mutex;
    struct lossy_name *names; /* of files opened or changed since the start */
    size_t name_count, name_cap;
    struct lossy_move *moves; /* changes of the folder since the last sync_dir */
    size_t move_count, move_cap;
    struct lossy_inode **handles; /* NULL: free */
    size_t handle_count;
    uint64_t hidden_count;
};

/* ---- small things --------------------------------------------------------------------------------------------------------- */

static void *grown(void *array, size_t count, size_t *cap, size_t size)
{
    if (count < *cap) {
        return array;
    }
    *cap = *cap == 0 ? 16 : *cap * 2;
    void *more = realloc(array, *cap * size);
    MUSTER_CHECK(more != NULL); /* a test build: no memory ends the test */
    return more;
}

static void copy_name(char dst[HIDDEN_NAME_BYTES], const char *text)
{
    size_t len = strlen(text);
    MUSTER_CHECK(len < HIDDEN_NAME_BYTES);
    memcpy(dst, text, len + 1);
}

static bool is_hidden(const char *name)
{
    return strncmp(name, hidden_prefix, sizeof(hidden_prefix) - 1) == 0;
}

static struct lossy *enter(void *ctx)
{
    struct lossy *l = ctx;
    MUSTER_CHECK(pthread_mutex_lock(&l->mutex) == 0);
    return l;
}

static int leave(struct lossy *l, int rc)
{
    int error = errno;
    MUSTER_CHECK(pthread_mutex_unlock(&l->mutex) == 0);
    errno = error;
    return rc;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

static void changes_drop(struct lossy_inode *n)
{
    for (size_t i = 0; i < n->change_count; i++) {
        free(n->changes[i].data);
    }
    n->change_count = 0;
}

static void inode_release(struct lossy *l, struct lossy_inode *n)
{
    if (n == NULL || --n->users > 0) {
        return;
    }
    changes_drop(n);
    free(n->changes);
    l->below.close(l->below.ctx, n->file);
    free(n);
}

static int inode_make(struct lossy *l, const char *name, bool create, struct lossy_inode **ret)
{
    int file = -1;
    uint64_t size = 0;
    int rc = l->below.open(l->below.ctx, name, create, true, &file);
    if (rc >= 0) {
        rc = l->below.size(l->below.ctx, file, &size);
    }
    if (rc < 0) {
        return rc;
    }
    struct lossy_inode *n = calloc(1, sizeof(*n));
    MUSTER_CHECK(n != NULL);
    n->file = file;
    n->size = size;
    *ret = n;
    return MUSTER_E_OK;
}

static void change_add(struct lossy_inode *n, struct change c)
{
    n->changes = grown(n->changes, n->change_count, &n->change_cap, sizeof(*n->changes));
    n->changes[n->change_count++] = c;
}

/* The bytes at offset as this process sees them: the file below with the changes laid over it in order. */
static int inode_read(struct lossy *l, struct lossy_inode *n, uint64_t offset, uint8_t *dst, size_t len)
{
    size_t got = 0;
    int rc = l->below.read(l->below.ctx, n->file, offset, dst, len, &got);
    if (rc < 0) {
        return rc;
    }
    memset(dst + got, 0, len - got);
    for (size_t i = 0; i < n->change_count; i++) {
        const struct change *c = &n->changes[i];
        uint64_t from = c->offset > offset ? c->offset : offset;
        uint64_t end = c->is_size ? offset + len : c->offset + c->len;
        uint64_t to = end < offset + len ? end : offset + len;
        if (from >= to) {
            continue;
        }
        if (c->is_size) {
            memset(dst + (from - offset), 0, (size_t)(to - from));
        } else {
            memcpy(dst + (from - offset), c->data + (from - c->offset), (size_t)(to - from));
        }
    }
    return MUSTER_E_OK;
}

static int change_carry_out(struct lossy *l, struct lossy_inode *n, const struct change *c)
{
    if (!c->is_size) {
        struct bytes part = {c->data, (int32_t)c->len};
        return l->below.write(l->below.ctx, n->file, c->offset, &part, 1);
    }
    uint64_t size = 0;
    int rc = l->below.size(l->below.ctx, n->file, &size);
    if (rc < 0) {
        return rc;
    }
    return c->offset > size ? l->below.allocate(l->below.ctx, n->file, c->offset) : l->below.truncate(l->below.ctx, n->file, c->offset);
}

/* ---- names ---------------------------------------------------------------------------------------------------------------------- */

static struct lossy_name *name_find(struct lossy *l, const char *text)
{
    for (size_t i = 0; i < l->name_count; i++) {
        if (strcmp(l->names[i].text, text) == 0) {
            return &l->names[i];
        }
    }
    return NULL;
}

static void name_set(struct lossy *l, const char *text, struct lossy_inode *inode)
{
    struct lossy_name *n = name_find(l, text);
    if (n == NULL) {
        l->names = grown(l->names, l->name_count, &l->name_cap, sizeof(*l->names));
        n = &l->names[l->name_count++];
        copy_name(n->text, text);
        n->inode = NULL;
    }
    if (inode != NULL) {
        inode->users++;
    }
    inode_release(l, n->inode);
    n->inode = inode;
}

/* The file of that name as this process sees the folder; read in from below on first use. */
static int name_look_up(struct lossy *l, const char *text, struct lossy_inode **ret)
{
    const struct lossy_name *n = name_find(l, text);
    if (n != NULL) {
        if (n->inode == NULL) {
            errno = ENOENT;
            return MUSTER_E_NOT_FOUND;
        }
        *ret = n->inode;
        return MUSTER_E_OK;
    }
    struct lossy_inode *inode = NULL;
    int rc = inode_make(l, text, false, &inode);
    if (rc < 0) {
        return rc;
    }
    name_set(l, text, inode);
    *ret = inode;
    return MUSTER_E_OK;
}

static void move_add(struct lossy *l, const char *from, const char *to, bool removes)
{
    l->moves = grown(l->moves, l->move_count, &l->move_cap, sizeof(*l->moves));
    struct lossy_move *m = &l->moves[l->move_count++];
    copy_name(m->from, from);
    copy_name(m->to, to);
    m->removes = removes;
}

/* ---- the port --------------------------------------------------------------------------------------------------------------------- */

static int create_hidden(struct lossy *l, const char *name, struct lossy_inode **ret)
{
    char hidden[HIDDEN_NAME_BYTES];
    (void)snprintf(hidden, sizeof(hidden), "%s%llu", hidden_prefix, (unsigned long long)++l->hidden_count);
    int rc = inode_make(l, hidden, true, ret);
    if (rc >= 0) {
        name_set(l, name, *ret);
        move_add(l, hidden, name, false);
    }
    return rc;
}

static int lossy_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    (void)write;
    struct lossy *l = enter(ctx);
    struct lossy_inode *inode = NULL;
    int rc = name_look_up(l, name, &inode);
    if (rc == MUSTER_E_NOT_FOUND && create) {
        rc = create_hidden(l, name, &inode);
    }
    if (rc < 0) {
        return leave(l, rc);
    }
    size_t i = 0;
    while (i < l->handle_count && l->handles[i] != NULL) {
        i++;
    }
    if (i == l->handle_count) {
        struct lossy_inode **handles = realloc(l->handles, (l->handle_count + 1) * sizeof(struct lossy_inode *));
        MUSTER_CHECK(handles != NULL);
        l->handles = handles;
        l->handle_count++;
    }
    inode->users++;
    l->handles[i] = inode;
    *ret_file = (int)i;
    return leave(l, MUSTER_E_OK);
}

static void lossy_close(void *ctx, int file)
{
    struct lossy *l = enter(ctx);
    inode_release(l, l->handles[file]);
    l->handles[file] = NULL;
    (void)leave(l, MUSTER_E_OK);
}

static int lossy_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *n = l->handles[file];
    uint64_t there = offset < n->size ? n->size - offset : 0;
    size_t want = there < len ? (size_t)there : len;
    int rc = want == 0 ? MUSTER_E_OK : inode_read(l, n, offset, dst, want);
    if (rc >= 0) {
        *ret_len = want;
    }
    return leave(l, rc);
}

static int lossy_write(void *ctx, int file, uint64_t offset, const struct bytes *parts, size_t count)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *n = l->handles[file];
    for (size_t i = 0; i < count; i++) {
        size_t len = parts[i].len > 0 ? (size_t)parts[i].len : 0;
        if (len == 0) {
            continue;
        }
        uint8_t *data = malloc(len);
        MUSTER_CHECK(data != NULL);
        memcpy(data, parts[i].ptr, len);
        change_add(n, (struct change){.offset = offset, .data = data, .len = len});
        offset += len;
        n->size = offset > n->size ? offset : n->size;
    }
    return leave(l, MUSTER_E_OK);
}

static int lossy_sync(void *ctx, int file)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *n = l->handles[file];
    int rc = MUSTER_E_OK;
    for (size_t i = 0; rc >= 0 && i < n->change_count; i++) {
        rc = change_carry_out(l, n, &n->changes[i]);
    }
    if (rc >= 0) {
        changes_drop(n);
        rc = l->below.sync(l->below.ctx, n->file);
    }
    return leave(l, rc);
}

static int lossy_size(void *ctx, int file, uint64_t *ret_bytes)
{
    struct lossy *l = enter(ctx);
    *ret_bytes = l->handles[file]->size;
    return leave(l, MUSTER_E_OK);
}

/* Goes down at once, so that a full disk is noticed where it would be; zeros that survive a kill help nobody. */
static int lossy_allocate(void *ctx, int file, uint64_t bytes)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *n = l->handles[file];
    int rc = MUSTER_E_OK;
    if (bytes > n->size && n->change_count == 0) {
        rc = l->below.allocate(l->below.ctx, n->file, bytes);
    } else if (bytes > n->size) {
        change_add(n, (struct change){.offset = bytes, .is_size = true});
    }
    if (rc >= 0 && bytes > n->size) {
        n->size = bytes;
    }
    return leave(l, rc);
}

static int lossy_truncate(void *ctx, int file, uint64_t bytes)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *n = l->handles[file];
    if (bytes != n->size) {
        change_add(n, (struct change){.offset = bytes, .is_size = true});
        n->size = bytes;
    }
    return leave(l, MUSTER_E_OK);
}

static int lossy_rename(void *ctx, const char *from, const char *to)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *inode = NULL;
    int rc = name_look_up(l, from, &inode);
    if (rc >= 0) {
        name_set(l, to, inode);
        name_set(l, from, NULL);
        move_add(l, from, to, false);
    }
    return leave(l, rc);
}

static int lossy_remove(void *ctx, const char *name)
{
    struct lossy *l = enter(ctx);
    struct lossy_inode *inode = NULL;
    int rc = name_look_up(l, name, &inode);
    if (rc >= 0) {
        name_set(l, name, NULL);
        move_add(l, name, "", true);
    }
    return leave(l, rc);
}

static int lossy_sync_dir(void *ctx)
{
    struct lossy *l = enter(ctx);
    int rc = MUSTER_E_OK;
    for (size_t i = 0; rc >= 0 && i < l->move_count; i++) {
        const struct lossy_move *m = &l->moves[i];
        rc = m->removes ? l->below.remove(l->below.ctx, m->from) : l->below.rename(l->below.ctx, m->from, m->to);
    }
    if (rc >= 0) {
        l->move_count = 0;
        rc = l->below.sync_dir(l->below.ctx);
    }
    for (size_t i = l->name_count; rc >= 0 && i > 0; i--) { /* what is removed below need not be remembered */
        if (l->names[i - 1].inode == NULL) {
            memmove(&l->names[i - 1], &l->names[i], (l->name_count - i) * sizeof(*l->names));
            l->name_count--;
        }
    }
    return leave(l, rc);
}

struct lossy_list {
    struct lossy *lossy;
    void (*each)(void *arg, const char *name);
    void *arg;
};

static void list_below(void *arg, const char *name)
{
    const struct lossy_list *list = arg;
    if (!is_hidden(name) && name_find(list->lossy, name) == NULL) {
        list->each(list->arg, name);
    }
}

static int lossy_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    struct lossy *l = enter(ctx);
    struct lossy_list list = {l, each, arg};
    for (size_t i = 0; i < l->name_count; i++) {
        if (l->names[i].inode != NULL) {
            each(arg, l->names[i].text);
        }
    }
    return leave(l, l->below.list(l->below.ctx, list_below, &list));
}

static int lossy_lock(void *ctx)
{
    struct lossy *l = ctx;
    return l->below.lock(l->below.ctx);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------------------------- */

static int remove_hidden(const struct store_port *below)
{
    struct name_list names;
    int rc = store_name_list_load(&names, below);
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        if (is_hidden(names.names[i])) {
            rc = below->remove(below->ctx, names.names[i]);
        }
    }
    if (rc >= 0) {
        store_name_list_free(&names);
    }
    return rc;
}

int store_port_posix_init(struct store_port *port, const char *dir, bool read_only)
{
    struct store_port below;
    int rc = store_port_plain_init(&below, dir, read_only);
    if (rc >= 0 && read_only) {
        *port = below;
        return MUSTER_E_OK;
    }
    if (rc >= 0 && below.lock(below.ctx) >= 0) { /* someone else's hidden files are in use */
        rc = remove_hidden(&below);
    }
    if (rc < 0) {
        return rc;
    }
    struct lossy *l = calloc(1, sizeof(*l));
    MUSTER_CHECK(l != NULL && pthread_mutex_init(&l->mutex, NULL) == 0);
    l->below = below;
    *port = (struct store_port){
        .ctx = l,
        .open = lossy_open,
        .close = lossy_close,
        .read = lossy_read,
        .write = lossy_write,
        .sync = lossy_sync,
        .size = lossy_size,
        .allocate = lossy_allocate,
        .truncate = lossy_truncate,
        .rename = lossy_rename,
        .remove = lossy_remove,
        .sync_dir = lossy_sync_dir,
        .list = lossy_list,
        .lock = lossy_lock,
    };
    return MUSTER_E_OK;
}

void store_port_posix_fini(struct store_port *port)
{
    if (port->ctx == NULL || port->lock != lossy_lock) {
        store_port_plain_fini(port);
        return;
    }
    struct lossy *l = port->ctx;
    for (size_t i = 0; i < l->handle_count; i++) {
        inode_release(l, l->handles[i]);
    }
    for (size_t i = 0; i < l->name_count; i++) {
        inode_release(l, l->names[i].inode);
    }
    store_port_plain_fini(&l->below);
    (void)pthread_mutex_destroy(&l->mutex);
    free(l->names);
    free(l->moves);
    free(l->handles);
    free(l);
    *port = (struct store_port){0};
}
