/* fuzz_backup.c: whatever is in a backup file, reading it ends, and hands over only what was written.
 *
 * The first byte picks how the rest becomes a file: its bytes as they are; blocks under right checksums in any order, with any numbers in them; a good
 * file of the data with bytes changed, which must be refused, or be what was written. What is handed over is restored as a node would do it. */
#include <stdlib.h>
#include <string.h>

#include <muster/group.h>

#include "backup.h"
#include "mem_port.h"

enum { SHARDS = 3, MOST_FLIPS = 4 };
static const struct store_backup_info info = {
    .cluster_id = {{1}}, .taken_ms = 5, .shard_count = SHARDS, .hash_version = 1, .draw = 7, .version = "0"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- reading ----------------------------------------------------------------------------------------------------------------- */

/* Reads to the end or to the first refusal. seen: what was handed over, folded. */
static int read_all(struct mem_disk *disk, uint64_t *seen)
{
    struct store_port port;
    struct store_backup_info got;
    struct store_backup_reader *r = NULL;
    struct store_backup_section section;
    struct pool pool = {0};
    struct arena scratch;
    char text[256];
    uint32_t sections = 0;
    mem_disk_port(disk, &port);
    int rc = store_backup_open(&port, "b", &got, &r, text);
    *seen = 0;
    MUSTER_CHECK(rc != MUSTER_E_CORRUPT || text[0] != '\0');
    if (rc < 0) {
        return rc;
    }
    arena_init(&scratch, 0);
    while ((rc = store_backup_section(r, &section)) == 0) {
        struct group_set *set = group_set_new(&pool, section.shard);
        struct bytes run = {NULL, 1};
        bool restores = true;
        MUSTER_CHECK(section.shard < got.shard_count && ++sections <= got.shard_count);
        *seen = hash_bytes(&section.shard, sizeof(section.shard), *seen + section.index);
        while (run.len > 0 && (rc = store_backup_next(r, &run)) == 0) {
            *seen = hash_bytes(run.ptr, (size_t)run.len, *seen);
            arena_clear(&scratch);
            restores = restores && group_restore(set, run, &scratch) == 0;
        }
        group_set_free(set);
        if (rc < 0) {
            break;
        }
    }
    MUSTER_CHECK(rc != MUSTER_E_NOT_FOUND || sections == got.shard_count);
    MUSTER_CHECK(rc != MUSTER_E_CORRUPT || store_backup_problem(r)[0] != '\0');
    arena_fini(&scratch);
    store_backup_close(r);
    return rc;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

/* The data in three shards, 1, 2, 0, in runs of what its bytes say. */
static void good_file(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    struct store_port port;
    struct store_backup_writer *w = NULL;
    mem_disk_port(disk, &port);
    MUSTER_CHECK(store_backup_create(&port, "b", 1, &info, &w) == 0);
    for (uint32_t i = 0; i < SHARDS; i++) {
        struct store_backup_section section = {.shard = (i + 1) % SHARDS, .index = 1 + i, .term = 1};
        MUSTER_CHECK(store_backup_begin(w, &section) == 0);
        for (size_t at = 0; at < size;) {
            size_t len = 1 + data[at] % 60;
            len = len < size - at ? len : size - at;
            MUSTER_CHECK(store_backup_add(w, (struct bytes){data + at, (int32_t)len}) == 0);
            at += len;
        }
        MUSTER_CHECK(store_backup_end(w) == 0);
    }
    MUSTER_CHECK(store_backup_commit(w) == 0);
}

static void damaged_file(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    size_t flips = size < MOST_FLIPS * 3 ? size / 3 : MOST_FLIPS;
    uint64_t whole = 0, seen = 0;
    good_file(disk, data + flips * 3, size - flips * 3);
    MUSTER_CHECK(read_all(disk, &whole) == MUSTER_E_NOT_FOUND);
    for (size_t i = 0; i < flips; i++) {
        uint64_t offset = (uint64_t)(data[3 * i] | data[3 * i + 1] << 8) % (uint64_t)mem_disk_file(disk, "b").len;
        mem_disk_flip(disk, "b", offset, data[3 * i + 2]);
    }
    MUSTER_CHECK(read_all(disk, &seen) != MUSTER_E_NOT_FOUND || seen == whole);
}

struct blocks {
    struct buf file, block;
    uint64_t chain, seed;
    struct chunk_totals totals;
};

static void put_block(struct blocks *b, const uint8_t *magic, const uint8_t *data, size_t size, size_t len, uint64_t seed)
{
    uint8_t block[64] = {0};
    memcpy(block + 8, magic, 4);
    memcpy(block + 12, data, size < len - 12 ? size : len - 12);
    put_le64(block, hash_bytes(block + 8, len - 8, seed));
    MUSTER_CHECK(buf_put(&b->file, block, len) == 0);
}

/* One block; true numbers in it where the data has none. */
static size_t add_block(struct blocks *b, const uint8_t *data, size_t size)
{
    uint8_t numbers[28] = {0};
    size_t len = size > 1 ? data[1] % 64u : 0;
    size_t head = size < 2 ? size : 2;
    len = len < size - head ? len : size - head;
    const uint8_t *body = data + head;
    memcpy(numbers, body, len < sizeof(numbers) ? len : sizeof(numbers));
    switch (data[0] % 4) {
    case 0:
        put_block(b, backup_section_magic, body, len, BACKUP_SECTION_BYTES, b->chain);
        b->seed = get_le64(b->file.ptr + b->file.len - BACKUP_SECTION_BYTES);
        b->totals = (struct chunk_totals){.chain = b->seed};
        break;
    case 1:
        if (len > 0) {
            MUSTER_CHECK(chunk_encode(&b->block, (struct bytes){body, (int32_t)len}, b->seed, &b->totals) == 0);
            MUSTER_CHECK(buf_put(&b->file, b->block.ptr, b->block.len) == 0);
        }
        break;
    case 2:
        put_le64(numbers + 4, b->totals.count + (len > 0 ? body[0] % 2u : 0));
        put_le64(numbers + 12, b->totals.raw_bytes);
        put_le64(numbers + 20, b->totals.chain);
        put_block(b, backup_end_magic, numbers, sizeof(numbers), BACKUP_END_BYTES, b->seed);
        b->chain = chunk_chain(b->chain, get_le64(b->file.ptr + b->file.len - BACKUP_END_BYTES));
        break;
    default:
        MUSTER_CHECK(buf_put(&b->file, body, len) == 0);
        break;
    }
    return head + len;
}

static void blocks_file(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    struct blocks b = {.chain = 0};
    uint64_t seen;
    buf_init(&b.file, 0);
    buf_init(&b.block, 0);
    good_file(disk, NULL, 0);
    struct bytes good = mem_disk_file(disk, "b");
    size_t header = get_le32(good.ptr + 12);
    uint64_t seed = get_le64(good.ptr + header - 8);
    uint8_t numbers[28] = {0};
    b.chain = seed;
    MUSTER_CHECK(buf_put(&b.file, good.ptr, header) == 0);
    put_le32(numbers, SHARDS);
    while (size > 0) {
        size_t used = add_block(&b, data, size);
        data += used;
        size -= used;
    }
    put_le64(numbers + 4, b.file.len + BACKUP_TRAILER_BYTES);
    put_le64(numbers + 12, b.chain);
    put_le64(numbers + 20, seed);
    put_block(&b, backup_trailer_magic, numbers, sizeof(numbers), BACKUP_TRAILER_BYTES, b.chain);
    mem_disk_put(disk, "b", b.file.ptr, b.file.len);
    (void)read_all(disk, &seen);
    buf_fini(&b.file);
    buf_fini(&b.block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct mem_disk *disk = mem_disk_new();
    uint64_t seen;
    switch (data[0] % 3) {
    case 0:
        mem_disk_put(disk, "b", data + 1, size - 1);
        (void)read_all(disk, &seen);
        break;
    case 1:
        blocks_file(disk, data + 1, size - 1);
        break;
    default:
        damaged_file(disk, data + 1, size - 1);
        break;
    }
    mem_disk_free(disk);
    return 0;
}
