/* fuzz_codec.c: every message in every version, from any bytes.
 *
 * The first three bytes choose the message and the version, the rest is the body. What decodes is encoded, and from there on nothing may
 * change any more: decode(encode(x)) dumps like x and encodes to the same bytes. */
#include <string.h>

#include <muster/messages.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_LIMIT = 4 << 20 };

static const struct wire_msg *choose(size_t number)
{
    size_t apis = 2 * wire_api_count, records = 2 * wire_record_count;
    number %= apis + records + 2;
    if (number < apis) {
        return number % 2 == 0 ? wire_apis[number / 2].request : wire_apis[number / 2].response;
    }
    number -= apis;
    if (number < records) {
        return number % 2 == 0 ? wire_records[number / 2].key : wire_records[number / 2].value;
    }
    return number % 2 == 0 ? &wire_log_entry : &wire_snapshot_header;
}

static void check_same_dump(const struct wire_msg *msg, int16_t version, const void *a, const void *b)
{
    struct buf first, second;
    buf_init(&first, 0);
    buf_init(&second, 0);
    MUSTER_CHECK(wire_dump(msg, version, a, &first) == 0);
    MUSTER_CHECK(wire_dump(msg, version, b, &second) == 0);
    MUSTER_CHECK(first.len == second.len && memcmp(first.ptr, second.ptr, first.len) == 0);
    buf_fini(&first);
    buf_fini(&second);
}

static void check_stable(const struct wire_msg *msg, int16_t version, const void *value, struct arena *arena)
{
    struct bytes body = wire_encode(msg, version, value, arena);
    void *copy = arena_get(arena, msg->type->size);
    size_t used = 0;
    MUSTER_CHECK(wire_decode(msg, version, body, arena, copy, &used) == 0);
    MUSTER_CHECK(used == (size_t)body.len);
    MUSTER_CHECK(bytes_eq(body, wire_encode(msg, version, copy, arena)));
    check_same_dump(msg, version, value, copy);
}

/* The same bytes as a record: key and value split where the fourth byte says. */
static void try_record(struct bytes in, struct arena *arena)
{
    if (in.len < 1) {
        return;
    }
    int32_t split = in.ptr[0] % in.len;
    struct record record = {{in.ptr + 1, split}, {in.ptr + 1 + split, in.len - 1 - split}};
    struct buf out;
    buf_init(&out, 0);
    if (wire_record_dump(record, arena, &out) == 0) {
        MUSTER_CHECK(out.len > 2 && out.ptr[0] == '{' && out.ptr[out.len - 1] == '}');
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3 || size > INT32_MAX) {
        return 0;
    }
    const struct wire_msg *msg = choose(get_be16(data));
    int16_t version = (int16_t)(msg->min_version + data[2] % (msg->max_version - msg->min_version + 1));
    struct bytes in = {data + 3, (int32_t)(size - 3)};
    struct arena limited, arena;
    arena_init(&limited, ARENA_LIMIT);
    arena_init(&arena, 0);
    void *value = arena_get(&arena, msg->type->size);
    size_t used = 0;
    int rc = wire_decode(msg, version, in, &limited, value, &used);
    MUSTER_CHECK(rc == 0 || rc == MUSTER_E_TRUNCATED || rc == MUSTER_E_MALFORMED || rc == MUSTER_E_LIMIT);
    if (rc == 0) {
        MUSTER_CHECK(used <= size - 3);
        check_stable(msg, version, value, &arena);
    }
    try_record(in, &arena);
    arena_fini(&limited);
    arena_fini(&arena);
    return 0;
}
