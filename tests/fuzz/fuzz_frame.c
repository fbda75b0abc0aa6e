/* fuzz_frame.c: a frame as a client would send it: head, then the body of whatever the head names. A request that is understood is
 * framed again and must be understood in the same way. The same bytes are read as the head of an answer too. */
#include <muster/messages.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_framed_again(const struct wire_request_header *head, const struct wire_api *api, const void *request, struct arena *arena)
{
    struct buf out;
    struct wire_request_header again;
    size_t used = 0, body_used = 0;
    buf_init(&out, 0);
    MUSTER_CHECK(wire_frame_request(api, head->api_version, head->correlation_id, head->client_id, request, &out) == 0);
    MUSTER_CHECK(get_be32(out.ptr) == out.len - 4);
    struct bytes frame = {out.ptr + 4, (int32_t)(out.len - 4)};
    MUSTER_CHECK(wire_read_request_header(frame, &again, &used) == 0);
    MUSTER_CHECK(again.api_key == head->api_key && again.api_version == head->api_version);
    MUSTER_CHECK(again.correlation_id == head->correlation_id && str_eq(again.client_id, head->client_id));
    void *copy = arena_get(arena, api->request->type->size);
    struct bytes body = {frame.ptr + used, frame.len - (int32_t)used};
    MUSTER_CHECK(wire_decode(api->request, head->api_version, body, arena, copy, &body_used) == 0);
    MUSTER_CHECK(used + body_used == (size_t)frame.len);
    buf_fini(&out);
}

static void try_request(struct bytes frame, struct arena *arena)
{
    struct wire_request_header head;
    size_t used = 0;
    int rc = wire_read_request_header(frame, &head, &used);
    if (rc != 0) {
        MUSTER_CHECK(rc == MUSTER_E_TRUNCATED || rc == MUSTER_E_MALFORMED || rc == MUSTER_E_VERSION);
        return;
    }
    MUSTER_CHECK(used <= (size_t)frame.len);
    const struct wire_api *api = wire_api_find(head.api_key);
    MUSTER_CHECK(api != NULL);
    void *request = arena_get(arena, api->request->type->size);
    struct bytes body = {frame.ptr + used, frame.len - (int32_t)used};
    if (wire_decode(api->request, head.api_version, body, arena, request, NULL) == 0) {
        check_framed_again(&head, api, request, arena);
    }
}

static void try_answer(struct bytes frame)
{
    for (size_t i = 0; i < wire_api_count; i++) {
        int32_t id;
        size_t used = 0;
        if (wire_read_response_header(&wire_apis[i], wire_apis[i].request->max_version, frame, &id, &used) == 0) {
            MUSTER_CHECK(used >= 4 && used <= (size_t)frame.len);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INT32_MAX) {
        return 0;
    }
    struct bytes frame = {data, (int32_t)size};
    struct arena arena;
    arena_init(&arena, 64 << 20);
    try_request(frame, &arena);
    try_answer(frame);
    arena_fini(&arena);
    return 0;
}
