/* trim.c: segments that hold nothing needed go away, or become history. */
#include "log.h"
#include "file.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

static uint64_t released_to(const struct store *s, uint32_t shard)
{
    uint64_t trim = s->shards[shard].at.trim; /* only what the log itself says is in a snapshot */
    return s->released[shard] < trim ? s->released[shard] : trim;
}

static bool pins(const struct store *s, const struct segment *segment, uint32_t shard)
{
    return segment->last_entries[shard] > released_to(s, shard);
}

static bool segment_needed(const struct store *s, const struct segment *segment)
{
    for (uint32_t shard = 0; shard < s->options.shard_count; shard++) {
        if (pins(s, segment, shard)) {
            return true;
        }
    }
    return false;
}

/* Oldest first and one by one: were a younger removal to last and an older one not, a segment in the middle would be missing. */
static int remove_oldest(struct store *s)
{
    char name[STORE_NAME_BYTES];
    store_segment_name(s->segments[0].number, name);
    int rc = store_history_on(s) ? store_history_keep(s, &s->segments[0]) : store_file_remove(&s->port, name);
    if (rc >= 0) {
        rc = s->port.sync_dir(s->port.ctx);
    }
    if (rc < 0) {
        return rc;
    }
    free(s->segments[0].last_entries);
    s->segment_count--;
    memmove(s->segments, s->segments + 1, s->segment_count * sizeof(*s->segments));
    return MUSTER_E_OK;
}

int store_trim_segments(struct store *s)
{
    int rc = MUSTER_E_OK;
    bool any = false;
    while (rc >= 0 && s->segment_count > 1 && !segment_needed(s, &s->segments[0])) {
        rc = remove_oldest(s);
        any = true;
    }
    if (any) {
        s->history.floor_known = s->history.floor_known && store_history_on(s);
        rc = rc >= 0 ? store_history_settle(s) : rc;
    }
    store_show_segments(s);
    return rc;
}

int store_trim(struct store *s, uint32_t shard, uint64_t index)
{
    if (shard >= s->options.shard_count) {
        return MUSTER_E_INVALID;
    }
    if (s->dead) {
        return MUSTER_E_IO;
    }
    if (index > s->released[shard]) {
        s->released[shard] = index;
    }
    return store_trim_segments(s);
}

void store_show_segments(struct store *s)
{
    uint64_t bytes = 0;
    uint64_t pinning = 0;
    for (size_t i = 0; i < s->segment_count; i++) {
        bytes += s->segments[i].bytes;
    }
    for (size_t i = 0; i + 1 < s->segment_count && pinning == 0; i++) {
        for (uint32_t shard = 0; shard < s->options.shard_count && pinning == 0; shard++) {
            pinning = pins(s, &s->segments[i], shard) ? shard + 1 : 0;
        }
    }
    atomic_store_explicit(&s->shown.segments, s->segment_count, memory_order_relaxed);
    atomic_store_explicit(&s->shown.log_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&s->shown.pinning_shard, pinning, memory_order_relaxed);
}

bool store_oldest(const struct store *s, uint32_t *ret_shard, uint64_t *ret_log_bytes)
{
    uint64_t pinning = atomic_load_explicit(&s->shown.pinning_shard, memory_order_relaxed);
    if (pinning == 0) {
        return false;
    }
    *ret_shard = (uint32_t)(pinning - 1);
    *ret_log_bytes = atomic_load_explicit(&s->shown.log_bytes, memory_order_relaxed);
    return true;
}
