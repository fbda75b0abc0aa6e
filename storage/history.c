/* history.c: what nothing needs any more and people may ask for: segments behind the last trim and snapshots that newer ones replaced, within bounds of bytes and age.
 *
 * A segment becomes history by getting another name, so that recovery does not see it: a start takes no longer, and history that is damaged keeps no node from starting.
 * A snapshot keeps its name, and stays as long as an entry is there that could follow it. When the disk is full history goes first. */
#include "log.h"
#include "file.h"
#include "names.h"
#include "walk.h"

#include <stdlib.h>
#include <string.h>

/* A snapshot that a newer one replaced. */
struct old_snapshot {
    uint32_t shard;
    uint64_t index, bytes;
};
struct old_snapshots {
    struct old_snapshot *v;
    size_t count, cap;
    uint64_t bytes;
};

bool store_history_on(const struct store *s)
{
    return s->options.history_bytes > 0 && s->options.history_ms != 0 && s->options.wall_ms != NULL;
}

/* ---- segments ---- */

static int past_push(struct store *s, struct past past)
{
    if (s->history.count == s->history.cap) {
        size_t cap = s->history.cap == 0 ? 16 : s->history.cap * 2;
        struct past *v = realloc(s->history.v, cap * sizeof(*v));
        if (v == NULL) {
            return MUSTER_E_LIMIT;
        }
        s->history.v = v;
        s->history.cap = cap;
    }
    s->history.v[s->history.count++] = past;
    s->history.bytes += past.bytes;
    return MUSTER_E_OK;
}

int store_history_keep(struct store *s, const struct segment *segment)
{
    char from[STORE_NAME_BYTES];
    char to[STORE_NAME_BYTES];
    int64_t now_ms = s->options.wall_ms(s->options.wall_ctx);
    struct past past = {segment->number, segment->bytes, now_ms > 0 ? now_ms : 0};
    int rc = past_push(s, past);
    if (rc < 0) {
        return rc;
    }
    store_segment_name(past.number, from);
    store_past_name(past.number, past.since_ms, to);
    rc = s->port.rename(s->port.ctx, from, to);
    if (rc < 0) {
        s->history.count--;
        s->history.bytes -= past.bytes;
    }
    return rc;
}

static int remove_oldest(struct store *s)
{
    char name[STORE_NAME_BYTES];
    struct past past = s->history.v[0];
    store_past_name(past.number, past.since_ms, name);
    int rc = store_file_remove(&s->port, name);
    if (rc >= 0) {
        rc = s->port.sync_dir(s->port.ctx);
    }
    if (rc < 0) {
        return rc;
    }
    s->history.count--;
    s->history.bytes -= past.bytes;
    memmove(s->history.v, s->history.v + 1, s->history.count * sizeof(*s->history.v));
    s->history.floor_known = false;
    return rc;
}

/* Where the oldest segment that is kept begins, shard by shard. One that cannot be read leaves every older snapshot useless. */
static int find_floor(struct store *s)
{
    char name[STORE_NAME_BYTES];
    struct walk w;
    struct segment_header header;
    struct batch_header first;
    struct buf body;
    if (s->history.floor_known) {
        return MUSTER_E_OK;
    }
    store_segment_name(s->segments[0].number, name);
    if (s->history.count > 0) {
        store_past_name(s->history.v[0].number, s->history.v[0].since_ms, name);
    }
    for (uint32_t shard = 0; shard < s->options.shard_count; shard++) {
        s->history.floor[shard] = UINT64_MAX;
    }
    buf_init(&body, 0);
    int rc = store_walk_open_as(&w, &s->port, 0, name);
    if (rc >= 0) {
        rc = store_walk_peek(&w, &s->port, &header, &first, &body);
        store_walk_close(&w, &s->port);
    }
    struct store_record rec;
    struct store_checkpoint c;
    int used = 0;
    for (size_t at = 0; rc >= 0 && at < body.len; at += (size_t)used) {
        used = store_record_decode(body.ptr + at, body.len - at, &rec, &c);
        if (used <= 0 || rec.kind != STORE_CHECKPOINT || rec.shard >= s->options.shard_count) {
            break;
        }
        s->history.floor[rec.shard] = c.last_index;
    }
    buf_fini(&body);
    s->history.floor_known = rc >= 0 || rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION;
    return s->history.floor_known ? MUSTER_E_OK : rc;
}

/* ---- snapshots ---- */

static uint64_t file_bytes(const struct store *s, const char *name)
{
    int file = -1;
    uint64_t bytes = 0;
    if (s->port.open(s->port.ctx, name, false, false, &file) >= 0) {
        (void)s->port.size(s->port.ctx, file, &bytes);
        s->port.close(s->port.ctx, file);
    }
    return bytes;
}

static int by_index(const void *a, const void *b)
{
    uint64_t x = ((const struct old_snapshot *)a)->index;
    uint64_t y = ((const struct old_snapshot *)b)->index;
    return x < y ? -1 : x > y;
}

static int find_old_snapshots(const struct store *s, struct old_snapshots *ret)
{
    struct name_list names;
    *ret = (struct old_snapshots){0};
    int rc = store_name_list_load(&names, &s->port);
    if (rc < 0) {
        return rc;
    }
    ret->v = calloc(names.count + 1, sizeof(*ret->v));
    rc = ret->v == NULL ? MUSTER_E_LIMIT : rc;
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        struct old_snapshot o;
        if (store_snapshot_name_parse(names.names[i], &o.shard, &o.index) && o.shard < s->options.shard_count &&
            o.index < s->shards[o.shard].at.snapshot_index) {
            o.bytes = file_bytes(s, names.names[i]);
            ret->bytes += o.bytes;
            ret->v[ret->count++] = o;
        }
    }
    store_name_list_free(&names);
    if (rc >= 0) {
        qsort(ret->v, ret->count, sizeof(*ret->v), by_index);
    }
    return rc;
}

static int drop_snapshot(struct store *s, struct old_snapshots *old, size_t at)
{
    char name[STORE_NAME_BYTES];
    store_snapshot_name(old->v[at].shard, old->v[at].index, name);
    int rc = store_file_remove(&s->port, name);
    old->bytes -= old->v[at].bytes;
    old->count--;
    memmove(&old->v[at], &old->v[at + 1], (old->count - at) * sizeof(*old->v));
    return rc;
}

/* Those that no entry that is left could follow. */
static int drop_useless(struct store *s, struct old_snapshots *old)
{
    bool on = store_history_on(s);
    int rc = on ? find_floor(s) : MUSTER_E_OK;
    for (size_t i = 0; rc >= 0 && i < old->count;) {
        if (on && old->v[i].index >= s->history.floor[old->v[i].shard]) {
            i++;
            continue;
        }
        rc = drop_snapshot(s, old, i);
    }
    return rc;
}

/* ---- bounds ---- */

static bool too_old(const struct store *s)
{
    return s->history.count > 0 && s->options.history_ms >= 0 &&
           s->options.wall_ms(s->options.wall_ctx) - s->history.v[0].since_ms > s->options.history_ms;
}

static void show(struct store *s, const struct old_snapshots *old)
{
    atomic_store_explicit(&s->shown.history_segments, s->history.count, memory_order_relaxed);
    atomic_store_explicit(&s->shown.history_snapshots, old->count, memory_order_relaxed);
    atomic_store_explicit(&s->shown.history_bytes, s->history.bytes + old->bytes, memory_order_relaxed);
    atomic_store_explicit(&s->shown.history_since_ms, s->history.count > 0 ? (uint64_t)s->history.v[0].since_ms : 0, memory_order_relaxed);
}

int store_history_settle(struct store *s)
{
    struct old_snapshots old;
    bool on = store_history_on(s);
    int rc = find_old_snapshots(s, &old);
    while (rc >= 0 && s->history.count > 0 && (!on || too_old(s) || s->history.bytes + old.bytes > s->options.history_bytes)) {
        rc = remove_oldest(s);
        if (rc >= 0) {
            rc = drop_useless(s, &old);
        }
    }
    if (rc >= 0) {
        rc = drop_useless(s, &old);
    }
    while (rc >= 0 && on && old.count > 0 && old.bytes > s->options.history_bytes) {
        rc = drop_snapshot(s, &old, 0);
    }
    show(s, &old);
    free(old.v);
    return rc;
}

bool store_history_give_up(struct store *s)
{
    struct old_snapshots old;
    bool gone = false;
    if (s->dead || find_old_snapshots(s, &old) < 0) {
        return false;
    }
    if (s->history.count > 0) {
        gone = remove_oldest(s) >= 0 && drop_useless(s, &old) >= 0;
    } else if (old.count > 0) {
        gone = drop_snapshot(s, &old, 0) >= 0;
    }
    atomic_fetch_add_explicit(&s->shown.history_given_up, gone ? 1 : 0, memory_order_relaxed);
    show(s, &old);
    free(old.v);
    return gone;
}

int store_tidy(struct store *s)
{
    if (s->dead) {
        return MUSTER_E_IO;
    }
    return too_old(s) ? store_history_settle(s) : MUSTER_E_OK;
}

void store_make_room(struct store *s)
{
    while (store_history_give_up(s)) {
    }
}

/* ---- at start ---- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = ((const struct past *)a)->number;
    uint64_t y = ((const struct past *)b)->number;
    return x < y ? -1 : x > y;
}

static int take_name(struct store *s, const char *name)
{
    struct past past = {0};
    if (!store_past_name_parse(name, &past.number, &past.since_ms)) {
        return MUSTER_E_OK;
    }
    past.bytes = file_bytes(s, name);
    return past_push(s, past);
}

int store_history_open(struct store *s)
{
    struct name_list names;
    int rc = store_name_list_load(&names, &s->port);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        rc = take_name(s, names.names[i]);
    }
    store_name_list_free(&names);
    if (rc < 0) {
        return rc;
    }
    if (s->history.count > 0) {
        qsort(s->history.v, s->history.count, sizeof(*s->history.v), by_number);
    }
    /* What does not reach to the log without a gap (an older program trimmed in between) is no history of it. */
    size_t whole = 0;
    while (whole < s->history.count && s->history.v[s->history.count - 1 - whole].number + 1 + whole == s->segments[0].number) {
        whole++;
    }
    for (size_t gone = s->history.count - whole; rc >= 0 && gone > 0; gone--) {
        rc = remove_oldest(s);
    }
    return rc < 0 ? rc : store_history_settle(s);
}
