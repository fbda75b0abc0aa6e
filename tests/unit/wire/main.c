#include "wire_test.h"

#include <stdlib.h>

size_t all_message_count(void)
{
    return 2 * (wire_api_count + wire_record_count) + 2;
}

const struct wire_msg *all_message(size_t i)
{
    if (i < 2 * wire_api_count) {
        return i % 2 == 0 ? wire_apis[i / 2].request : wire_apis[i / 2].response;
    }
    i -= 2 * wire_api_count;
    if (i < 2 * wire_record_count) {
        return i % 2 == 0 ? wire_records[i / 2].key : wire_records[i / 2].value;
    }
    return i % 2 == 0 ? &wire_log_entry : &wire_snapshot_header;
}

void check_truncations(const struct wire_msg *msg, int16_t version, struct bytes body)
{
    struct arena arena;
    arena_init(&arena, 0);
    void *value = malloc(msg->type->size);
    for (int32_t len = 0; len < body.len; len++) {
        uint8_t *copy = malloc(len > 0 ? (size_t)len : 1);
        memcpy(copy, body.ptr, (size_t)len);
        int rc = wire_decode(msg, version, (struct bytes){copy, len}, &arena, value, NULL);
        if (rc != MUSTER_E_TRUNCATED && rc != MUSTER_E_MALFORMED) {
            fail_msg("%s version %d: %d of %d bytes gave %d", msg->name, version, len, body.len, rc);
        }
        free(copy);
        arena_clear(&arena);
    }
    free(value);
    arena_fini(&arena);
}

int main(void)
{
    int failed = 0;
    failed += run_codec_tests();
    failed += run_dump_tests();
    failed += run_frame_tests();
    failed += run_golden_tests();
    failed += run_record_tests();
    failed += run_roundtrip_tests();
    return failed;
}
