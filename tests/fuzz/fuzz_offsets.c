/* fuzz_offsets.c: what `muster offsets import` reads. The first byte says as what: 0 a file, CSV or JSON; 1 a segment of Kafka's log as it is; 2 the records of one batch, to
 * which a head with a right checksum is made (the second byte has the codec and whether it is a transaction's, the third how many records it says it has).
 *
 * Whatever is read can be written and is then read back as it was. */
#include "kafka_batch.h"
#include "kafka_offsets.h"
#include "offset_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 61 };

static void check_same(const struct saved_offsets *a, const struct saved_offsets *b)
{
    MUSTER_CHECK(a->count == b->count);
    for (int i = 0; i < a->count; i++) {
        MUSTER_CHECK(str_eq(a->v[i].group, b->v[i].group) && str_eq(a->v[i].topic, b->v[i].topic));
        MUSTER_CHECK(a->v[i].partition == b->v[i].partition && a->v[i].offset == b->v[i].offset);
    }
}

/* A file without groups has none when it is written with them: what is empty then is not null. */
static bool has_groups(const struct saved_offsets *s)
{
    bool all = true;
    for (int i = 0; i < s->count; i++) {
        all = all && !str_is_null(s->v[i].group);
    }
    return all;
}

static void write_and_read(struct cli *cli, const struct saved_offsets *saved)
{
    struct saved_offsets again;
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    MUSTER_CHECK(to != NULL);
    saved_write_csv(saved, true, to);
    MUSTER_CHECK(fclose(to) == 0);
    if (has_groups(saved) && saved->count > 0) {
        MUSTER_CHECK(saved_parse(cli, "again", (struct bytes){(const uint8_t *)text, (int32_t)len}, &again) == CLI_OK);
        check_same(saved, &again);
    }
    free(text);
    json_decref(saved_json(saved));
}

static void read_file(struct cli *cli, struct bytes in)
{
    struct saved_offsets saved;
    if (saved_parse(cli, "file", in, &saved) == CLI_OK && (in.len == 0 || memchr(in.ptr, '{', (size_t)in.len) == NULL)) {
        write_and_read(cli, &saved);
    }
}

static void read_segment(struct cli *cli, struct bytes in)
{
    struct saved_offsets live, again;
    struct kafka_offsets *k = kafka_offsets_new();
    int code = kafka_offsets_parse_segment(cli, k, "segment", in);
    MUSTER_CHECK(code == CLI_OK || code == CLI_FAILED || code == CLI_CORRUPT);
    kafka_offsets_take(k, &cli->arena, &live);
    kafka_offsets_free(k);
    struct buf written;
    buf_init(&written, 0);
    kafka_offsets_write(&live, 1, &written);
    k = kafka_offsets_new();
    MUSTER_CHECK(kafka_offsets_parse_segment(cli, k, "again", (struct bytes){written.ptr, (int32_t)written.len}) == CLI_OK);
    kafka_offsets_take(k, &cli->arena, &again);
    check_same(&live, &again);
    kafka_offsets_free(k);
    buf_fini(&written);
}

static void read_records(struct cli *cli, const uint8_t *data, size_t size)
{
    if (size < 2) {
        return;
    }
    size_t len = size - 2 + HEAD;
    uint8_t *batch = calloc(1, len);
    MUSTER_CHECK(batch != NULL);
    memcpy(batch + HEAD, data + 2, size - 2);
    put_be32(batch + 8, (uint32_t)(len - 12));
    batch[16] = 2;
    put_be16(batch + 21, data[0] & 0x37);
    put_be32(batch + 57, data[1]);
    put_be32(batch + 17, crc32c(batch + 21, len - 21));
    read_segment(cli, (struct bytes){batch, (int32_t)len});
    free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *said;
    size_t said_len;
    struct cli cli = {.err = open_memstream(&said, &said_len), .out = stdout};
    MUSTER_CHECK(cli.err != NULL);
    arena_init(&cli.arena, 0);
    if (size > 0 && size < 1 << 16) {
        struct bytes in = {data + 1, (int32_t)size - 1};
        if (data[0] % 3 == 0) {
            read_file(&cli, in);
        } else if (data[0] % 3 == 1) {
            read_segment(&cli, in);
        } else {
            read_records(&cli, data + 1, size - 1);
        }
    }
    arena_fini(&cli.arena);
    fclose(cli.err);
    free(said);
    return 0;
}
