/* new_folder.c: a data folder made from the states of shards. */
#include "new_folder.h"

#include <muster/messages.h>
#include <muster/raft_host.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEGMENT_BYTES = 1 << 20, ENTRY_MAX_BYTES = 1 << 20, RUN_BYTES = 256 << 10 };
#define STAGING  "making.tmp"
#define IDENTITY "identity"

static int failed(struct new_folder *f, int rc, const char *what)
{
    const char *why = rc == MUSTER_E_IO && errno != 0 ? strerror(errno) : muster_strerror(rc);
    return cli_fail(f->cli, CLI_FAILED, "the data folder %s cannot be made: %s: %s", f->dir, what, why);
}

static const char *path(struct new_folder *f, const char *name)
{
    return arena_printf(&f->arena, "%s/%s", f->dir, name).ptr;
}

/* ---- what is there already ---- */

static void note_name(void *arg, const char *name)
{
    const char **found = arg;
    if (strcmp(name, STAGING) != 0 && strcmp(name, "lost+found") != 0) { /* of an interrupted attempt; of a file system of its own */
        *found = "something";
    }
}

static void remove_name(void *arg, const char *name)
{
    const struct store_port *port = arg;
    (void)port->remove(port->ctx, name);
}

static int check_empty(struct new_folder *f)
{
    struct store_port port;
    const char *found = NULL;
    int rc = store_port_posix_init(&port, f->dir, false);
    if (rc >= 0) {
        rc = port.list(port.ctx, note_name, &found);
        store_port_posix_fini(&port);
    }
    if (rc < 0) {
        return failed(f, rc, "the folder");
    }
    return found != NULL ? cli_fail(f->cli, CLI_FAILED, "%s is not empty: nothing is written over what is there", f->dir) : CLI_OK;
}

/* ---- begin ---- */

static void no_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx, (void)shard, (void)state;
}

static void no_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx, (void)shard, (void)index, (void)term, (void)entry_type, (void)payload;
}

static int open_store(struct new_folder *f, const struct store_identity *identity)
{
    struct store_options options = {.shard_count = identity->shard_count,
                                    .segment_bytes = SEGMENT_BYTES,
                                    .entry_max_bytes = ENTRY_MAX_BYTES};
    struct store_recovery nothing = {NULL, no_shard, no_entry};
    struct store_report report;
    int rc = store_port_posix_init(&f->port, f->staging.ptr, false);
    if (rc < 0) {
        f->port.ctx = NULL;
        return failed(f, rc, f->staging.ptr);
    }
    rc = f->port.list(f->port.ctx, remove_name, &f->port);
    rc = rc < 0 ? rc : f->port.lock(f->port.ctx);
    rc = rc < 0 ? rc : store_identity_write(&f->port, identity);
    if (rc < 0) {
        return failed(f, rc, "its identity");
    }
    rc = store_open(&f->store, &f->port, &options, &nothing, &report);
    return rc < 0 ? cli_fail(f->cli, CLI_FAILED, "the data folder %s cannot be made: %s", f->dir, report.text) : CLI_OK;
}

int new_folder_begin(struct cli *cli, const char *dir, const struct store_identity *identity, struct new_folder *ret)
{
    *ret = (struct new_folder){.cli = cli, .dir = dir};
    arena_init(&ret->arena, 0);
    buf_init(&ret->config, 0);
    int code = check_empty(ret);
    if (code != CLI_OK) {
        buf_fini(&ret->config);
        arena_fini(&ret->arena);
        return code;
    }
    ret->staging = str_of(path(ret, STAGING));
    MUSTER_CHECK(core_founding_config(identity, &ret->config) == 0);
    code = open_store(ret, identity);
    if (code != CLI_OK) {
        new_folder_abort(ret);
    }
    return code;
}

/* ---- shards ---- */

static int write_runs(struct store_snapshot_writer *w, struct group_set *set)
{
    struct buf run;
    bool more = true;
    int rc = MUSTER_E_OK;
    buf_init(&run, 0);
    group_snapshot_begin(set);
    while (more && rc >= 0) {
        buf_clear(&run);
        more = group_snapshot_next(set, RUN_BYTES, &run);
        rc = store_snapshot_add(w, (struct bytes){run.ptr, (int32_t)run.len});
    }
    group_snapshot_end(set);
    buf_fini(&run);
    return rc;
}

int new_folder_shard(struct new_folder *f, uint32_t shard, uint64_t index, uint64_t term, struct group_set *set)
{
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta = {
        .shard = shard,
        .index = index,
        .term = term,
        .config_index = index,
        .config = {f->config.ptr, (int32_t)f->config.len},
        .state_hash = group_set_hash(set),
    };
    int rc = store_snapshot_create(&f->port, &meta, &w);
    if (rc >= 0) {
        rc = write_runs(w, set);
        int committed = store_snapshot_commit(w);
        rc = rc < 0 ? rc : committed;
    }
    if (rc >= 0) {
        const struct store_record records[] = {
            {.kind = STORE_TERM, .shard = shard, .term = term},
            {.kind = STORE_SNAPSHOT, .shard = shard, .term = term, .index = index, .trim = index},
        };
        rc = store_write(f->store, records, COUNT_OF(records));
    }
    return rc < 0 ? failed(f, rc, "a shard's snapshot") : CLI_OK;
}

/* ---- what does not go along ---- */

enum { MOST_NODES = 1024 };

struct keys {
    struct arena arena;
    struct bytes v[MOST_NODES];
    size_t count;
};

/* The new cluster has members of its own: those that its folders were made for. Who led a shard was another one's. */
static bool is_of_nodes(struct bytes key)
{
    int16_t type = key.len >= 2 ? (int16_t)get_be16(key.ptr) : -1;
    return type == RECORD_NODE || type == RECORD_CLUSTER_MEMBER || type == RECORD_MEMBER_CHANGE || type == RECORD_COORDINATOR_MOVE;
}

/* false: the groups begin, and there are none behind them. */
static bool find_nodes(struct keys *keys, const struct buf *run)
{
    for (size_t at = 0; at + 8 <= run->len;) {
        struct bytes key = {run->ptr + at + 4, (int32_t)get_be32(run->ptr + at)};
        at += 4 + (size_t)key.len;
        int32_t value_len = (int32_t)get_be32(run->ptr + at);
        at += 4 + (value_len > 0 ? (size_t)value_len : 0);
        if (key.len >= 2 && get_be16(key.ptr) == RECORD_GROUP_REVISION) {
            return false;
        }
        if (is_of_nodes(key) && keys->count < MOST_NODES) {
            keys->v[keys->count++] = arena_bytes(&keys->arena, key);
        }
    }
    return true;
}

void new_folder_forget_nodes(struct group_set *set, uint64_t index)
{
    struct keys keys = {.count = 0};
    struct arena scratch;
    struct buf run;
    bool more = true;
    arena_init(&keys.arena, 0);
    arena_init(&scratch, 0);
    buf_init(&run, 0);
    group_snapshot_begin(set);
    while (more) {
        buf_clear(&run);
        more = group_snapshot_next(set, RUN_BYTES, &run);
        more = find_nodes(&keys, &run) && more;
    }
    group_snapshot_end(set);
    for (size_t i = 0; i < keys.count; i++) {
        arena_clear(&scratch);
        MUSTER_CHECK(group_apply(set, index, (struct record){keys.v[i], BYTES_NULL}, &scratch));
    }
    buf_fini(&run);
    arena_fini(&scratch);
    arena_fini(&keys.arena);
}

/* ---- the end ---- */

struct moving {
    struct new_folder *f;
    bool failed;
};

static void move_up(void *arg, const char *name)
{
    struct moving *m = arg;
    if (m->failed || strcmp(name, IDENTITY) == 0) {
        return;
    }
    const char *from = arena_printf(&m->f->arena, "%s/%s", m->f->staging.ptr, name).ptr;
    m->failed = rename(from, path(m->f, name)) < 0;
}

static int sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? MUSTER_E_IO : MUSTER_E_OK;
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* Everything but the identity, for good; then the identity. */
static int move_all(struct new_folder *f)
{
    struct moving m = {.f = f};
    int rc = f->port.list(f->port.ctx, move_up, &m);
    if (rc < 0 || m.failed || sync_folder(f->dir) < 0) {
        return MUSTER_E_IO;
    }
    const char *from = arena_printf(&f->arena, "%s/%s", f->staging.ptr, IDENTITY).ptr;
    if (rename(from, path(f, IDENTITY)) < 0 || rmdir(f->staging.ptr) < 0) {
        return MUSTER_E_IO;
    }
    return sync_folder(f->dir);
}

static void release(struct new_folder *f)
{
    if (f->store != NULL) {
        store_close(f->store);
        f->store = NULL;
    }
    if (f->port.ctx != NULL) {
        store_port_posix_fini(&f->port);
        f->port.ctx = NULL;
    }
    buf_fini(&f->config);
    arena_fini(&f->arena);
}

int new_folder_commit(struct new_folder *f)
{
    store_close(f->store); /* a seal: the end in good order */
    f->store = NULL;
    int rc = move_all(f);
    int code = rc < 0 ? failed(f, rc, "moving its files into place") : CLI_OK;
    release(f);
    return code;
}

void new_folder_abort(struct new_folder *f)
{
    if (f->store != NULL) {
        store_close(f->store);
        f->store = NULL;
    }
    if (f->port.ctx != NULL) {
        (void)f->port.list(f->port.ctx, remove_name, &f->port);
        (void)rmdir(f->staging.ptr);
    }
    release(f);
}
