/* fuzz_recovery.c: whatever is in a data folder, recovery and the offline reader end, agree, and never hand over what was not written.
 *
 * The first byte picks how the rest becomes a folder: bytes as a segment; record bodies with right checksums, so that the records themselves
 * are reached; a good log with damage; a snapshot file; an identity file. */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "mem_port.h"

enum { SHARDS = 2, SEGMENT_BYTES = 4096, GOOD_BATCHES = 12 };
static const char segment_name[] = "log-0000000000000001.seg";
static const uint64_t salt = 77;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- what recovery hands over ------------------------------------------------------------------------------------------------ */

struct found {
    bool shard_seen[SHARDS];
    struct store_shard_state shards[SHARDS];
    uint64_t next[SHARDS]; /* the entry expected next */
    uint64_t sum;          /* over all that was handed over */
};

static void on_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct found *f = ctx;
    MUSTER_CHECK(shard < SHARDS && !f->shard_seen[shard]);
    MUSTER_CHECK(state->first_index >= 1 && state->last_index + 1 >= state->first_index);
    f->shard_seen[shard] = true;
    f->shards[shard] = *state;
    f->next[shard] = state->first_index;
    f->sum = hash_bytes(state, sizeof(*state), f->sum);
}

static void on_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    struct found *f = ctx;
    MUSTER_CHECK(shard < SHARDS && f->shard_seen[shard] && index == f->next[shard] && index <= f->shards[shard].last_index);
    MUSTER_CHECK(term > 0 && payload.len >= 0);
    f->next[shard]++;
    f->sum = hash_bytes(payload.ptr, (size_t)payload.len, f->sum + term + entry_type);
}

static int open_folder(struct mem_disk *disk, struct found *found, struct store_report *report, struct store **ret, struct store_port *port)
{
    static const struct store_options options = {.shard_count = SHARDS,
                                                 .segment_bytes = SEGMENT_BYTES,
                                                 .reserve_bytes = 4096,
                                                 .entry_max_bytes = 1000};
    struct store_recovery recovery = {found, on_shard, on_entry};
    memset(found, 0, sizeof(*found));
    mem_disk_port(disk, port);
    int rc = store_open(ret, port, &options, &recovery, report);
    for (uint32_t shard = 0; rc == 0 && shard < SHARDS; shard++) {
        MUSTER_CHECK(found->next[shard] == found->shards[shard].last_index + 1);
    }
    return rc;
}

static void count_damage(void *ctx, bool torn_tail, const char *file, uint64_t offset, const char *text)
{
    unsigned *counts = ctx;
    (void)offset;
    MUSTER_CHECK(file[0] != '\0' && text[0] != '\0');
    counts[torn_tail ? 0 : 1]++;
}

/* Opens, writes, kills and opens again; the reader must not find a folder clean that recovery refuses for what is in the log. */
static int judge(struct mem_disk *disk, uint64_t *ret_sum)
{
    struct store_port port;
    struct store_report report;
    struct store *store = NULL;
    struct found found;
    unsigned damage[2] = {0, 0};
    struct store_visit visit = {.ctx = damage, .damage = count_damage};
    mem_disk_port(disk, &port);
    int scanned = store_scan(&port, &visit, &report);
    MUSTER_CHECK((scanned == MUSTER_E_CORRUPT) == (damage[1] > 0) && (scanned != MUSTER_E_TRUNCATED || damage[0] > 0));
    mem_disk_end_process(disk, &port);
    int rc = open_folder(disk, &found, &report, &store, &port);
    MUSTER_CHECK(rc == 0 || report.text[0] != '\0');
    *ret_sum = found.sum;
    if (rc < 0) {
        mem_disk_end_process(disk, &port);
        return rc;
    }
    MUSTER_CHECK(damage[1] == 0 || report.segments <= 1 || scanned == MUSTER_E_CORRUPT);
    struct store_record r = {.kind = STORE_ENTRY, .shard = 1, .term = 1, .index = found.shards[1].last_index + 1};
    if (found.shards[1].last_index < UINT64_MAX - 1 && store_write(store, &r, 1) == 0) {
        mem_disk_end_process(disk, &port);
        store_close(store);
        uint64_t last = found.shards[1].last_index;
        MUSTER_CHECK(open_folder(disk, &found, &report, &store, &port) == 0);
        MUSTER_CHECK(!report.torn_tail && found.shards[1].last_index == last + 1);
    }
    store_close(store);
    mem_disk_end_process(disk, &port);
    return 0;
}

/* ---- folders ------------------------------------------------------------------------------------------------------------------ */

static void put_segment(struct mem_disk *disk, struct buf *body)
{
    uint8_t header[SEGMENT_HEADER_BYTES];
    struct segment_header h = {.number = 1, .first_sequence = 1, .salt = salt, .bytes = SEGMENT_BYTES};
    struct buf file;
    buf_init(&file, 0);
    store_segment_encode(&h, header);
    MUSTER_CHECK(buf_put(&file, header, sizeof(header)) == 0 && buf_put(&file, body->ptr, body->len) == 0);
    mem_disk_put(disk, segment_name, file.ptr, file.len);
    buf_fini(&file);
}

static void add_sealed(struct buf *out, uint64_t sequence, const uint8_t *body, size_t len, uint32_t count)
{
    size_t start = out->len;
    MUSTER_CHECK(store_batch_begin(out) == 0 && buf_put(out, body, len) == 0 && store_batch_pad(out, start) == 0);
    store_batch_end(out->ptr + start, out->len - start, salt, sequence, count);
}

static void add_checkpoint(struct buf *out)
{
    struct store_checkpoint zero = {0};
    size_t start = out->len;
    MUSTER_CHECK(store_batch_begin(out) == 0);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        MUSTER_CHECK(store_checkpoint_add(out, shard, &zero) == 0);
    }
    MUSTER_CHECK(store_batch_pad(out, start) == 0);
    store_batch_end(out->ptr + start, out->len - start, salt, 1, SHARDS);
}

/* Bodies: one byte for the length, one for the count, then the body. */
static void sealed_bodies(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    struct buf out;
    buf_init(&out, 0);
    uint64_t sequence = 1;
    if (size > 0 && data[0] % 4 != 0) {
        add_checkpoint(&out);
        sequence++;
    }
    while (size >= 2) {
        size_t len = data[0] < size - 2 ? data[0] : size - 2;
        add_sealed(&out, sequence++, data + 2, len, data[1] % 8);
        data += 2 + len;
        size -= 2 + len;
    }
    put_segment(disk, &out);
    buf_fini(&out);
}

static struct mem_disk *good_log(uint64_t sums[GOOD_BATCHES + 1])
{
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store *store = NULL;
    struct store_report report;
    struct found found;
    MUSTER_CHECK(open_folder(disk, &found, &report, &store, &port) == 0);
    sums[0] = found.sum;
    for (uint64_t i = 1; i <= GOOD_BATCHES; i++) {
        struct store_record r = {
            .kind = STORE_ENTRY, .shard = (uint32_t)(i % 2), .term = 1, .index = (i + 1) / 2, .payload = {(const uint8_t *)"payload", 7}};
        MUSTER_CHECK(store_write(store, &r, 1) == 0);
        struct mem_disk *copy = mem_disk_clone(disk);
        struct store_port copy_port;
        struct store *again = NULL;
        MUSTER_CHECK(open_folder(copy, &found, &report, &again, &copy_port) == 0);
        sums[i] = found.sum;
        mem_disk_end_process(copy, &copy_port);
        store_close(again);
        mem_disk_free(copy);
    }
    mem_disk_end_process(disk, &port);
    store_close(store);
    return disk;
}

/* Changes of one byte each: all of it or all but the last batch is found, or nothing. With more than one change two batches at the end can be
 * bad from their headers on, which nothing can tell from a torn one: then the batches before are found. */
static void damaged_log(const uint8_t *data, size_t size)
{
    static struct mem_disk *good;
    static uint64_t sums[GOOD_BATCHES + 1];
    if (good == NULL) {
        good = good_log(sums);
    }
    struct mem_disk *disk = mem_disk_clone(good);
    for (size_t i = 0; i + 3 <= size && i < 24; i += 3) {
        uint64_t offset = (uint64_t)(data[i] | data[i + 1] << 8) % SEGMENT_BYTES;
        mem_disk_flip(disk, segment_name, offset, data[i + 2]);
    }
    uint64_t sum = 0;
    if (judge(disk, &sum) == 0) {
        int batch = GOOD_BATCHES;
        while (batch > 0 && sums[batch] != sum) {
            batch--;
        }
        MUSTER_CHECK(sums[batch] == sum && (size > 5 || batch >= GOOD_BATCHES - 1));
    }
    mem_disk_free(disk);
}

static void snapshot_file(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    struct store_port port;
    struct store_snapshot_meta meta = {.index = 9, .term = 2};
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_reader *r = NULL;
    const char *name = "snap-0-9.snap";
    mem_disk_port(disk, &port);
    if (size > 0 && data[0] % 2 == 0) {
        mem_disk_put(disk, name, data + 1, size - 1);
    } else {
        MUSTER_CHECK(store_snapshot_create(&port, &meta, &w) == 0);
        MUSTER_CHECK(store_snapshot_add(w, (struct bytes){data, (int32_t)size}) == 0 && store_snapshot_commit(w) == 0);
        for (size_t i = 1; i + 3 <= size && i < 13; i += 3) {
            mem_disk_flip(disk, name, (uint64_t)(data[i] | data[i + 1] << 8) % (uint64_t)mem_disk_file(disk, name).len, data[i + 2]);
        }
    }
    if (store_snapshot_open(&port, 0, 0, &meta, &r) == 0) {
        struct bytes out = {NULL, 1};
        while (out.len > 0 && store_snapshot_next(r, &out) == 0) {
            MUSTER_CHECK(out.len == 0 || ((size_t)out.len == size && memcmp(out.ptr, data, size) == 0)); /* as written, or refused */
        }
        store_snapshot_close(r);
    }
    mem_disk_end_process(disk, &port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct mem_disk *disk = mem_disk_new();
    uint64_t sum = 0;
    switch (data[0] % 5) {
    case 0:
        mem_disk_put(disk, segment_name, data + 1, size - 1);
        (void)judge(disk, &sum);
        break;
    case 1:
        sealed_bodies(disk, data + 1, size - 1);
        (void)judge(disk, &sum);
        break;
    case 2:
        damaged_log(data + 1, size - 1);
        break;
    case 3:
        snapshot_file(disk, data + 1, size - 1);
        break;
    default:
        mem_disk_put(disk, "identity", data + 1, size - 1);
        (void)judge(disk, &sum);
        break;
    }
    mem_disk_free(disk);
    return 0;
}
