/* Heads of requests and answers in every form they have. */
#include "wire_test.h"

static void old_and_new_request_heads(void **state)
{
    (void)state;
    struct wire_request_header head;
    size_t used = 0;
    struct bytes v0 = LITERAL("\x00\x0c"
                              "\x00\x00"
                              "\x00\x00\x00\x07"
                              "\x00\x03"
                              "cli"
                              "body");
    assert_int_equal(wire_read_request_header(v0, &head, &used), 0);
    assert_int_equal(head.api_key, API_KEY_HEARTBEAT);
    assert_int_equal(head.api_version, 0);
    assert_int_equal(head.correlation_id, 7);
    assert_true(str_eq(head.client_id, STR("cli")));
    assert_int_equal(used, 13);

    struct bytes v4 = LITERAL("\x00\x0c"
                              "\x00\x04"
                              "\x00\x00\x00\x08"
                              "\xff\xff"
                              "\x01\x05\x02zz"
                              "body");
    assert_int_equal(wire_read_request_header(v4, &head, &used), 0);
    assert_true(str_is_null(head.client_id));
    assert_int_equal(used, 15);
    for (int32_t len = 0; len < (int32_t)used; len++) {
        assert_int_equal(wire_read_request_header((struct bytes){v4.ptr, len}, &head, &used), MUSTER_E_TRUNCATED);
    }
    struct bytes bad = LITERAL("\x00\x0c"
                               "\x00\x04"
                               "\x00\x00\x00\x08"
                               "\xff\xfe"
                               "\x00");
    assert_int_equal(wire_read_request_header(bad, &head, &used), MUSTER_E_MALFORMED);
}

static void unknown_requests_keep_their_number(void **state)
{
    (void)state;
    struct wire_request_header head;
    size_t used = 0;
    struct bytes version = LITERAL("\x00\x12"
                                   "\x00\x63"
                                   "\x00\x00\x00\x09"
                                   "\x00\x03"
                                   "cli"
                                   "\x00");
    assert_int_equal(wire_read_request_header(version, &head, &used), MUSTER_E_VERSION);
    assert_int_equal(head.api_key, API_KEY_API_VERSIONS);
    assert_int_equal(head.api_version, 99);
    assert_int_equal(head.correlation_id, 9);
    assert_true(str_eq(head.client_id, STR("cli")));
    struct bytes key = LITERAL("\x7f\xff"
                               "\x00\x00"
                               "\x00\x00\x00\x0a"
                               "\x00\x30"
                               "x");
    assert_int_equal(wire_read_request_header(key, &head, &used), MUSTER_E_VERSION);
    assert_int_equal(head.correlation_id, 10);
    assert_true(str_is_null(head.client_id));
}

static void check_frame(struct buf *out, struct bytes expected)
{
    assert_int_equal(out->len, expected.len);
    assert_memory_equal(out->ptr, expected.ptr, (size_t)expected.len);
    buf_clear(out);
}

static void answers(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 0);
    struct heartbeat_response heartbeat;
    wire_init(&wire_heartbeat_response, &heartbeat);
    heartbeat.error_code = 27;
    const struct wire_api *api = wire_api_find(API_KEY_HEARTBEAT);
    assert_int_equal(wire_frame_response(api, 0, 7, &heartbeat, &out), 0);
    check_frame(&out, LITERAL("\x00\x00\x00\x06"
                              "\x00\x00\x00\x07"
                              "\x00\x1b"));
    assert_int_equal(wire_frame_response(api, 4, 7, &heartbeat, &out), 0);
    check_frame(&out, LITERAL("\x00\x00\x00\x0c"
                              "\x00\x00\x00\x07"
                              "\x00"
                              "\x00\x00\x00\x00"
                              "\x00\x1b"
                              "\x00"));

    struct api_versions_response versions;
    wire_init(&wire_api_versions_response, &versions);
    assert_int_equal(wire_frame_response(wire_api_find(API_KEY_API_VERSIONS), 3, 1, &versions, &out), 0);
    check_frame(&out, LITERAL("\x00\x00\x00\x0c"
                              "\x00\x00\x00\x01"
                              "\x00\x00"
                              "\x01"
                              "\x00\x00\x00\x00"
                              "\x00"));
    buf_fini(&out);
}

static void requests_read_as_they_were_framed(void **state)
{
    (void)state;
    struct buf out;
    struct arena arena;
    buf_init(&out, 0);
    arena_init(&arena, 0);
    const struct str ids[] = {STR("client"), STR(""), STR_NULL};
    for (size_t i = 0; i < wire_api_count; i++) {
        const struct wire_api *api = &wire_apis[i];
        void *request = arena_get(&arena, api->request->type->size);
        wire_init(api->request, request);
        for (int16_t version = api->request->min_version; version <= api->request->max_version; version++) {
            struct str id = ids[(size_t)version % COUNT_OF(ids)];
            assert_int_equal(wire_frame_request(api, version, 5, id, request, &out), 0);
            assert_int_equal(get_be32(out.ptr), out.len - 4);
            struct wire_request_header head;
            size_t used = 0, body_used = 0;
            struct bytes frame = {out.ptr + 4, (int32_t)out.len - 4};
            assert_int_equal(wire_read_request_header(frame, &head, &used), 0);
            assert_int_equal(head.api_key, api->key);
            assert_int_equal(head.api_version, version);
            assert_true(str_eq(head.client_id, id));
            struct bytes body = {frame.ptr + used, frame.len - (int32_t)used};
            assert_int_equal(wire_decode(api->request, version, body, &arena, request, &body_used), 0);
            assert_int_equal(used + body_used, frame.len);
            buf_clear(&out);
        }
        arena_clear(&arena);
    }
    arena_fini(&arena);
    buf_fini(&out);
}

static void answer_heads(void **state)
{
    (void)state;
    int32_t id = 0;
    size_t used = 0;
    const struct wire_api *heartbeat = wire_api_find(API_KEY_HEARTBEAT);
    assert_int_equal(wire_read_response_header(heartbeat, 3,
                                               LITERAL("\x00\x00\x00\x07"
                                                       "\x00\x1b"),
                                               &id, &used),
                     0);
    assert_int_equal(id, 7);
    assert_int_equal(used, 4);
    assert_int_equal(wire_read_response_header(heartbeat, 4,
                                               LITERAL("\x00\x00\x00\x08"
                                                       "\x01\x02\x01z"
                                                       "\x00\x1b"),
                                               &id, &used),
                     0);
    assert_int_equal(id, 8);
    assert_int_equal(used, 8);
    assert_int_equal(wire_read_response_header(heartbeat, 4,
                                               LITERAL("\x00\x00\x00\x08"
                                                       "\x01\x02\x09z"),
                                               &id, &used),
                     MUSTER_E_TRUNCATED);
    assert_int_equal(wire_read_response_header(heartbeat, 4, LITERAL("\x00\x00\x08"), &id, &used), MUSTER_E_TRUNCATED);
    const struct wire_api *versions = wire_api_find(API_KEY_API_VERSIONS);
    assert_int_equal(wire_read_response_header(versions, 3,
                                               LITERAL("\x00\x00\x00\x09"
                                                       "\x00\x00"),
                                               &id, &used),
                     0);
    assert_int_equal(used, 4);
}

static void a_full_buffer_is_told(void **state)
{
    (void)state;
    struct buf out;
    struct heartbeat_response response;
    struct heartbeat_request request;
    wire_init(&wire_heartbeat_response, &response);
    wire_init(&wire_heartbeat_request, &request);
    buf_init(&out, 9);
    const struct wire_api *api = wire_api_find(API_KEY_HEARTBEAT);
    assert_int_equal(wire_frame_response(api, 0, 7, &response, &out), MUSTER_E_LIMIT);
    assert_int_equal(wire_frame_request(api, 0, 7, STR("c"), &request, &out), MUSTER_E_LIMIT);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

int run_frame_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_and_new_request_heads),
        cmocka_unit_test(unknown_requests_keep_their_number),
        cmocka_unit_test(answers),
        cmocka_unit_test(requests_read_as_they_were_framed),
        cmocka_unit_test(answer_heads),
        cmocka_unit_test(a_full_buffer_is_told),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
