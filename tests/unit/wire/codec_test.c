/* What the decoder must refuse, what the encoder must not write, and the defaults. */
#include "wire_test.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void heartbeat_v4(void **state)
{
    (void)state;
    struct bytes body = LITERAL("\x07orders"
                                "\x00\x00\x00\x05"
                                "\x02m"
                                "\x00"
                                "\x00");
    struct heartbeat_request request;
    size_t used = 0;
    assert_int_equal(wire_decode(&wire_heartbeat_request, 4, body, &arena, &request, &used), 0);
    assert_int_equal(used, body.len);
    assert_true(str_eq(request.group_id, STR("orders")));
    assert_int_equal(request.generation_id, 5);
    assert_true(str_eq(request.member_id, STR("m")));
    assert_true(str_is_null(request.group_instance_id));
    assert_ptr_equal(request.group_id.ptr, body.ptr + 1);
    assert_true(bytes_eq(wire_encode(&wire_heartbeat_request, 4, &request, &arena), body));
}

static void bytes_after_the_body_are_left(void **state)
{
    (void)state;
    struct heartbeat_response response;
    size_t used = 0;
    assert_int_equal(wire_decode(&wire_heartbeat_response, 0, LITERAL("\x00\x19rest"), &arena, &response, &used), 0);
    assert_int_equal(used, 2);
    assert_int_equal(response.error_code, 25);
    assert_int_equal(response.throttle_time_ms, 0);
}

static void defaults_of_fields_not_carried(void **state)
{
    (void)state;
    struct join_group_request request;
    struct bytes v0 = LITERAL("\x00\x01g"
                              "\x00\x00\x27\x10"
                              "\x00\x00"
                              "\x00\x08"
                              "consumer"
                              "\x00\x00\x00\x00");
    memset(&request, 0x55, sizeof(request));
    assert_int_equal(wire_decode(&wire_join_group_request, 0, v0, &arena, &request, NULL), 0);
    assert_int_equal(request.session_timeout_ms, 10000);
    assert_int_equal(request.rebalance_timeout_ms, -1);
    assert_true(str_is_null(request.group_instance_id));
    assert_true(str_is_null(request.reason));
    assert_int_equal(request.member_id.len, 0);
    assert_int_equal(request.protocols.len, 0);

    struct metadata_request metadata;
    wire_init(&wire_metadata_request, &metadata);
    assert_true(metadata.allow_auto_topic_creation);
    struct fetch_request fetch;
    wire_init(&wire_fetch_request, &fetch);
    assert_int_equal(fetch.max_bytes, INT32_MAX);
    assert_int_equal(fetch.replica_state.replica_epoch, -1);
    struct fetch_request_partition partition;
    assert_int_equal(wire_decode(&wire_fetch_request, 18,
                                 LITERAL("\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00"
                                         "\x00"
                                         "\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00"
                                         "\x02"
                                         "0123456789abcdef"
                                         "\x02"
                                         "\x00\x00\x00\x07"
                                         "\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00\x00\x00\x00\x00"
                                         "\x00\x00\x00\x00"
                                         "\x00"
                                         "\x00"
                                         "\x01"
                                         "\x01"
                                         "\x00"),
                                 &arena, &fetch, NULL),
                     0);
    partition = fetch.topics.v[0].partitions.v[0];
    assert_int_equal(partition.partition, 7);
    assert_int_equal(partition.high_watermark, INT64_MAX);
}

static void versions_outside_are_refused(void **state)
{
    (void)state;
    struct heartbeat_request request;
    assert_int_equal(wire_decode(&wire_heartbeat_request, 5, LITERAL(""), &arena, &request, NULL), MUSTER_E_VERSION);
    assert_int_equal(wire_decode(&wire_heartbeat_request, -1, LITERAL(""), &arena, &request, NULL), MUSTER_E_VERSION);
    struct fetch_request fetch;
    assert_int_equal(wire_decode(&wire_fetch_request, 3, LITERAL(""), &arena, &fetch, NULL), MUSTER_E_VERSION);
}

static int decode_heartbeat(int16_t version, struct bytes body)
{
    struct heartbeat_request request;
    return wire_decode(&wire_heartbeat_request, version, body, &arena, &request, NULL);
}

static void lengths_that_cannot_be(void **state)
{
    (void)state;
    assert_int_equal(decode_heartbeat(0, LITERAL("\xff\xff"
                                                 "\x00\x00\x00\x05"
                                                 "\x00\x01m")),
                     MUSTER_E_MALFORMED); /* null */
    assert_int_equal(decode_heartbeat(0, LITERAL("\x80\x00"
                                                 "\x00\x00\x00\x05"
                                                 "\x00\x01m")),
                     MUSTER_E_MALFORMED); /* -32768 */
    assert_int_equal(decode_heartbeat(0, LITERAL("\x00\x09gr")), MUSTER_E_TRUNCATED);
    assert_int_equal(decode_heartbeat(4, LITERAL("\x00"
                                                 "\x00\x00\x00\x05"
                                                 "\x02m"
                                                 "\x00\x00")),
                     MUSTER_E_MALFORMED); /* null */
    assert_int_equal(decode_heartbeat(4, LITERAL("\xff\xff\xff\xff\x0f"
                                                 "g")),
                     MUSTER_E_MALFORMED); /* over 2^31 */
    assert_int_equal(decode_heartbeat(4, LITERAL("\x80\x80\x80\x80\x08"
                                                 "g")),
                     MUSTER_E_MALFORMED); /* over 32767 */
    assert_int_equal(decode_heartbeat(4, LITERAL("\x80\x80\x80\x80\x10"
                                                 "g")),
                     MUSTER_E_MALFORMED); /* 33 bits */
    assert_int_equal(decode_heartbeat(4, LITERAL("\x80\x80\x80\x80\x80\x00"
                                                 "g")),
                     MUSTER_E_MALFORMED); /* six bytes */
    assert_int_equal(decode_heartbeat(4, LITERAL("\x80\x80")), MUSTER_E_TRUNCATED);
    assert_int_equal(decode_heartbeat(4, (struct bytes){NULL, 0}), MUSTER_E_TRUNCATED);
}

static void counts_are_checked_before_memory(void **state)
{
    (void)state;
    struct offset_fetch_request request;
    struct bytes huge = LITERAL("\x00\x01g"
                                "\x7f\xff\xff\xff"
                                "\x00\x01t");
    size_t before = arena.used_bytes;
    assert_int_equal(wire_decode(&wire_offset_fetch_request, 1, huge, &arena, &request, NULL), MUSTER_E_TRUNCATED);
    struct bytes negative = LITERAL("\x00\x01g"
                                    "\xff\xff\xff\xfe"
                                    "\x00\x01t");
    assert_int_equal(wire_decode(&wire_offset_fetch_request, 2, negative, &arena, &request, NULL), MUSTER_E_MALFORMED);
    /* Three topics of at least six bytes each cannot stand in ten. */
    struct bytes three = LITERAL("\x00\x01g"
                                 "\x00\x00\x00\x03"
                                 "\x00\x00\x00\x00\x00\x00"
                                 "\x00\x00\x00\x00");
    assert_int_equal(wire_decode(&wire_offset_fetch_request, 1, three, &arena, &request, NULL), MUSTER_E_TRUNCATED);
    assert_int_equal(arena.used_bytes, before);
}

static void arena_limit_is_kept(void **state)
{
    (void)state;
    struct arena small;
    arena_init(&small, 64);
    struct describe_groups_request request;
    struct bytes body = LITERAL("\x00\x00\x00\x08"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00"
                                "\x00\x00");
    assert_int_equal(wire_decode(&wire_describe_groups_request, 0, body, &small, &request, NULL), MUSTER_E_LIMIT);
    assert_int_equal(wire_decode(&wire_describe_groups_request, 0, body, &arena, &request, NULL), 0);
    assert_int_equal(request.groups.len, 8);
    arena_fini(&small);
}

static void tagged_fields(void **state)
{
    (void)state;
#define HEAD                                                                                                                               \
    "\x02g"                                                                                                                                \
    "\x00\x00\x00\x05"                                                                                                                     \
    "\x02m"                                                                                                                                \
    "\x00"
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\x02"
                                                      "\x05\x01x"
                                                      "\x09\x00")),
                     0); /* unknown: skipped */
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\x02"
                                                      "\x05\x01x"
                                                      "\x05\x01y")),
                     MUSTER_E_MALFORMED); /* twice */
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\x02"
                                                      "\x05\x01x"
                                                      "\x04\x01y")),
                     MUSTER_E_MALFORMED); /* descending */
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\x01"
                                                      "\x05\x02x")),
                     MUSTER_E_TRUNCATED);
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\xff\xff\xff\xff\x0f"
                                                      "\x05\x01x")),
                     MUSTER_E_TRUNCATED);
    assert_int_equal(decode_heartbeat(4, LITERAL(HEAD "\x01"
                                                      "\xff\xff\xff\xff\x0f"
                                                      "\x00")),
                     MUSTER_E_MALFORMED);
#undef HEAD
    struct offset_commit_value value;
#define BODY                                                                                                                               \
    "\x00\x00\x00\x00\x00\x00\x00\x2a"                                                                                                     \
    "\x00\x00\x00\x01"                                                                                                                     \
    "\x01"                                                                                                                                 \
    "\x00\x00\x00\x00\x00\x00\x00\x09"
    assert_int_equal(wire_decode(&wire_offset_commit_value, 4,
                                 LITERAL(BODY "\x01\x00\x10"
                                              "0123456789abcdef"),
                                 &arena, &value, NULL),
                     0);
    assert_memory_equal(value.topic_id.b, "0123456789abcdef", 16);
    assert_int_equal(value.offset, 42);
    assert_int_equal(wire_decode(&wire_offset_commit_value, 4,
                                 LITERAL(BODY "\x01\x00\x0f"
                                              "0123456789abcdef"),
                                 &arena, &value, NULL),
                     MUSTER_E_MALFORMED);
    assert_int_equal(wire_decode(&wire_offset_commit_value, 4,
                                 LITERAL(BODY "\x01\x00\x11"
                                              "0123456789abcdefg"),
                                 &arena, &value, NULL),
                     MUSTER_E_MALFORMED);
    assert_int_equal(wire_decode(&wire_offset_commit_value, 4, LITERAL(BODY "\x00"), &arena, &value, NULL), 0);
    assert_true(uuid_is_zero(value.topic_id));
#undef BODY
}

static void structures_that_may_be_null(void **state)
{
    (void)state;
    struct consumer_group_heartbeat_response response;
    wire_init(&wire_consumer_group_heartbeat_response, &response);
    assert_null(response.assignment);
    struct bytes none = wire_encode(&wire_consumer_group_heartbeat_response, 0, &response, &arena);
    struct consumer_group_heartbeat_response_assignment assignment;
    wire_init_type(&(struct wire_type){.size = sizeof(assignment)}, &assignment);
    response.assignment = &assignment;
    struct bytes empty = wire_encode(&wire_consumer_group_heartbeat_response, 0, &response, &arena);
    assert_int_equal(empty.len, none.len + 2);
    struct consumer_group_heartbeat_response copy;
    assert_int_equal(wire_decode(&wire_consumer_group_heartbeat_response, 0, none, &arena, &copy, NULL), 0);
    assert_null(copy.assignment);
    assert_int_equal(wire_decode(&wire_consumer_group_heartbeat_response, 0, empty, &arena, &copy, NULL), 0);
    assert_non_null(copy.assignment);
    assert_int_equal(copy.assignment->topic_partitions.len, 0);
}

static jmp_buf panicked;

static void jump_out(const char *file, int line, const char *text)
{
    (void)file;
    (void)line;
    (void)text;
    longjmp(panicked, 1);
}

/* Whether encoding stops the process. */
static bool encoding_panics(const struct wire_msg *msg, int16_t version, const void *value)
{
    volatile bool stopped = true;
    muster_set_panic(jump_out);
    if (setjmp(panicked) == 0) {
        wire_size(msg, version, value);
        stopped = false;
    }
    muster_set_panic(NULL);
    return stopped;
}

static void nulls_and_versions_that_may_not_be_written(void **state)
{
    (void)state;
    struct heartbeat_request request;
    wire_init(&wire_heartbeat_request, &request);
    assert_false(encoding_panics(&wire_heartbeat_request, 4, &request));
    assert_true(encoding_panics(&wire_heartbeat_request, 5, &request));
    request.group_id = STR_NULL;
    assert_true(encoding_panics(&wire_heartbeat_request, 0, &request));
    assert_true(encoding_panics(&wire_heartbeat_request, 4, &request));

    struct join_group_response response; /* ProtocolName may be null from version 7 on only */
    wire_init(&wire_join_group_response, &response);
    response.protocol_name = STR_NULL;
    assert_true(encoding_panics(&wire_join_group_response, 6, &response));
    assert_false(encoding_panics(&wire_join_group_response, 7, &response));

    struct offset_fetch_request fetch;
    wire_init(&wire_offset_fetch_request, &fetch);
    fetch.topics.len = -1;
    assert_true(encoding_panics(&wire_offset_fetch_request, 1, &fetch));
    assert_false(encoding_panics(&wire_offset_fetch_request, 2, &fetch));
}

static void composed_texts_are_cut(void **state)
{
    (void)state;
    static char text[40000];
    memset(text, 'a', sizeof(text));
    text[32766] = (char)0xc3;
    text[32767] = (char)0xbc; /* the character that would pass the limit goes whole */
    struct form_cluster_response response;
    wire_init(&wire_form_cluster_response, &response);
    response.error_message = (struct str){text, sizeof(text)};
    struct bytes body = wire_encode(&wire_form_cluster_response, 0, &response, &arena);
    struct form_cluster_response copy;
    assert_int_equal(wire_decode(&wire_form_cluster_response, 0, body, &arena, &copy, NULL), 0);
    assert_int_equal(copy.error_message.len, 32766);
    response.error_message.len = 32767;
    text[32766] = 'a';
    body = wire_encode(&wire_form_cluster_response, 0, &response, &arena);
    assert_int_equal(wire_decode(&wire_form_cluster_response, 0, body, &arena, &copy, NULL), 0);
    assert_int_equal(copy.error_message.len, 32767);
}

static void tables_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_api_count; i++) {
        assert_ptr_equal(wire_api_find(wire_apis[i].key), &wire_apis[i]);
        assert_int_equal(wire_apis[i].request->number, wire_apis[i].key);
        assert_int_equal(wire_apis[i].response->number, wire_apis[i].key);
    }
    for (size_t i = 0; i < wire_record_count; i++) {
        assert_ptr_equal(wire_record_find(wire_records[i].type), &wire_records[i]);
    }
    assert_string_equal(wire_api_find(API_KEY_JOIN_GROUP)->name, "JoinGroup");
    assert_string_equal(wire_record_find(RECORD_CLASSIC_GROUP)->name, "ClassicGroup");
    assert_null(wire_api_find(-1));
    assert_null(wire_api_find(4));
    assert_null(wire_api_find(INT16_MAX));
    assert_null(wire_record_find(4));
    assert_null(wire_record_find(INT16_MAX));
}

int run_codec_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(heartbeat_v4, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_after_the_body_are_left, setup, teardown),
        cmocka_unit_test_setup_teardown(defaults_of_fields_not_carried, setup, teardown),
        cmocka_unit_test_setup_teardown(versions_outside_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(lengths_that_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_are_checked_before_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(arena_limit_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(tagged_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(structures_that_may_be_null, setup, teardown),
        cmocka_unit_test_setup_teardown(nulls_and_versions_that_may_not_be_written, setup, teardown),
        cmocka_unit_test_setup_teardown(composed_texts_are_cut, setup, teardown),
        cmocka_unit_test(tables_are_found),
    };
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
