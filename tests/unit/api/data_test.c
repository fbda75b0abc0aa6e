/* data_test.c: partitions without data. */
#include "world.h"

#include <string.h>

static struct uuid topic_id(struct world *w, const char *name)
{
    struct catalog_topic topic;
    assert_true(catalog_find_topic(w->sets[0], str_of(name), &topic));
    return topic.id;
}

static void set_end(struct world *w, const char *topic, int32_t partition, int64_t offset)
{
    struct set_end_offset_request_partition p = {partition, offset};
    struct set_end_offset_request_topic t = {str_of(topic), {&p, 1}};
    struct set_end_offset_request request;
    wire_init(&wire_set_end_offset_request, &request);
    request.topics.v = &t;
    request.topics.len = 1;
    const struct set_end_offset_response *response = ask(w, API_KEY_SET_END_OFFSET, 0, &request);
    assert_int_equal(response->topics.v[0].partitions.v[0].error_code, 0);
}

static void test_list_offsets(void **state)
{
    struct world *w = *state;
    static const struct {
        int64_t timestamp;
        int16_t since;
        int64_t offset;
    } cases[] = {{-1, 1, 42}, {-2, 1, 0}, {-3, 7, -1}, {-4, 8, 0}, {-5, 9, -1}, {-6, 11, -1}, {0, 1, -1}, {1700000000000, 1, -1}};
    create_topic(w, "ta", 2);
    set_end(w, "ta", 1, 42);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct list_offsets_request_partition p = {1, -1, cases[i].timestamp};
        struct list_offsets_request_topic t = {STR("ta"), {&p, 1}};
        struct list_offsets_request request;
        wire_init(&wire_list_offsets_request, &request);
        request.topics.v = &t;
        request.topics.len = 1;
        for (int16_t version = 1; version <= 11; version++) {
            const struct list_offsets_response *response = ask(w, API_KEY_LIST_OFFSETS, version, &request);
            const struct list_offsets_response_partition_response *got = &response->topics.v[0].partitions.v[0];
            assert_int_equal(got->error_code, version < cases[i].since ? 35 : 0);
            assert_int_equal(got->offset, version < cases[i].since ? -1 : cases[i].offset);
            assert_int_equal(got->timestamp, -1);
        }
    }
}

static void test_list_offsets_errors(void **state)
{
    struct world *w = *state;
    struct list_offsets_request_partition p[] = {{0, -1, -1}, {1, -1, -1}, {5, -1, -1}, {-1, -1, -1}, {0, -1, -2}, {2, 3, -1}};
    struct list_offsets_request_partition q = {0, -1, -1};
    struct list_offsets_request_topic t[] = {{STR("ta"), {p, COUNT_OF(p)}}, {STR("nope"), {&q, 1}}};
    struct list_offsets_request request;
    create_topic(w, "ta", 3);
    wire_init(&wire_list_offsets_request, &request);
    request.topics.v = t;
    request.topics.len = 2;
    const struct list_offsets_response *response = ask(w, API_KEY_LIST_OFFSETS, 6, &request);
    static const int16_t errors[] = {42, 0, 3, 3, 75};
    assert_int_equal(response->topics.v[0].partitions.len, COUNT_OF(errors)); /* what is named twice is answered once */
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        assert_int_equal(response->topics.v[0].partitions.v[i].error_code, errors[i]);
    }
    assert_int_equal(response->topics.v[1].partitions.v[0].error_code, 3);
}

static void test_leader_epochs(void **state)
{
    struct world *w = *state;
    struct offset_for_leader_epoch_request_offset_for_leader_partition p[] = {{0, -1, 0}, {0, 0, 1}, {0, 2, 0}, {9, -1, 0}};
    struct offset_for_leader_epoch_request_offset_for_leader_topic t = {STR("ta"), {p, COUNT_OF(p)}};
    struct offset_for_leader_epoch_request request;
    create_topic(w, "ta", 1);
    set_end(w, "ta", 0, 7);
    wire_init(&wire_offset_for_leader_epoch_request, &request);
    request.topics.v = &t;
    request.topics.len = 1;
    for (int16_t version = 2; version <= 4; version++) {
        const struct offset_for_leader_epoch_response *response = ask(w, API_KEY_OFFSET_FOR_LEADER_EPOCH, version, &request);
        const struct offset_for_leader_epoch_response_epoch_end_offset *got = response->topics.v[0].partitions.v;
        assert_int_equal(got[0].end_offset, 7);
        assert_int_equal(got[0].leader_epoch, 0);
        assert_int_equal(got[1].end_offset, -1);
        assert_int_equal(got[1].error_code, 0);
        assert_int_equal(got[2].error_code, 75);
        assert_int_equal(got[3].error_code, 3);
    }
}

struct fetching {
    struct fetch_request request;
    struct fetch_request_topic topic;
    struct fetch_request_partition partition;
};

static struct fetch_request *fetch_of(struct world *w, struct fetching *f, const char *topic, int32_t partition, int64_t offset)
{
    memset(f, 0, sizeof(*f));
    wire_init(&wire_fetch_request, &f->request);
    f->partition = (struct fetch_request_partition){.partition = partition,
                                                    .current_leader_epoch = -1,
                                                    .fetch_offset = offset,
                                                    .last_fetched_epoch = -1,
                                                    .log_start_offset = -1,
                                                    .partition_max_bytes = 1000,
                                                    .high_watermark = INT64_MAX};
    struct catalog_topic known;
    f->topic = (struct fetch_request_topic){.topic = str_of(topic), .partitions = {&f->partition, 1}};
    f->topic.topic_id.b[0] = 0xee;
    if (catalog_find_topic(w->sets[0], str_of(topic), &known)) {
        f->topic.topic_id = topic_id(w, topic);
    }
    f->request.max_wait_ms = 500;
    f->request.min_bytes = 1;
    f->request.topics.v = &f->topic;
    f->request.topics.len = 1;
    return &f->request;
}

static void test_fetch_waits_and_is_empty(void **state)
{
    struct world *w = *state;
    struct fetching f;
    create_topic(w, "ta", 2);
    set_end(w, "ta", 1, 10);
    for (int16_t version = 4; version <= 18; version++) {
        struct net_slot *slot = slot_ask(w, API_KEY_FETCH, version, fetch_of(w, &f, "ta", 1, 12345));
        assert_int_equal(slot->verdict, NET_HOLD);
        world_pass(w, 499);
        assert_false(slot->answered);
        assert_int_equal(api_next_deadline_us(w->api), w->now_us + 1000);
        world_pass(w, 1);
        const struct fetch_response *response = slot_answer(w, slot, API_KEY_FETCH, version);
        assert_int_equal(response->error_code, 0);
        assert_int_equal(response->session_id, 0);
        const struct fetch_response_partition_data *got = &response->responses.v[0].partitions.v[0];
        assert_int_equal(got->partition_index, 1);
        assert_int_equal(got->error_code, 0);
        assert_int_equal(got->high_watermark, 10);
        assert_int_equal(got->last_stable_offset, 10);
        assert_int_equal(got->records.len, 0);
        assert_int_equal(got->preferred_read_replica, -1);
        slot_free(slot);
    }
    assert_int_equal(api_next_deadline_us(w->api), INT64_MAX);
}

static void test_fetch_answers_at_once(void **state)
{
    struct world *w = *state;
    struct fetching f;
    create_topic(w, "ta", 1);
    struct fetch_request *request = fetch_of(w, &f, "ta", 0, 0);
    request->max_wait_ms = 0;
    ask(w, API_KEY_FETCH, 11, request);
    request->max_wait_ms = 500;
    request->min_bytes = 0;
    ask(w, API_KEY_FETCH, 11, request);
    request->min_bytes = 1;
    request->topics.len = 0;
    ask(w, API_KEY_FETCH, 11, request);
    const struct fetch_response *response = ask(w, API_KEY_FETCH, 12, fetch_of(w, &f, "nope", 0, 0));
    assert_int_equal(response->responses.v[0].partitions.v[0].error_code, 3);
    assert_int_equal(response->responses.v[0].partitions.v[0].high_watermark, -1);
    response = ask(w, API_KEY_FETCH, 13, fetch_of(w, &f, "nope", 0, 0));
    assert_int_equal(response->responses.v[0].partitions.v[0].error_code, 100);
    response = ask(w, API_KEY_FETCH, 13, fetch_of(w, &f, "ta", 1, 0));
    assert_int_equal(response->responses.v[0].partitions.v[0].error_code, 3);
    request = fetch_of(w, &f, "ta", 0, 0);
    f.partition.current_leader_epoch = 4;
    response = ask(w, API_KEY_FETCH, 13, request);
    assert_int_equal(response->responses.v[0].partitions.v[0].error_code, 75);
}

/* KIP-227: no session is ever given, so one that is named cannot be known. */
static void test_fetch_sessions(void **state)
{
    struct world *w = *state;
    struct fetching f;
    create_topic(w, "ta", 1);
    static const struct {
        int32_t id, epoch;
        int16_t error;
    } cases[] = {{0, -1, 0}, {0, 0, 0}, {5, -1, 0}, {5, 0, 0}, {5, 1, 70}, {0, 1, 70}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fetch_request *request = fetch_of(w, &f, "ta", 0, 0);
        request->max_wait_ms = 0;
        request->session_id = cases[i].id;
        request->session_epoch = cases[i].epoch;
        const struct fetch_response *response = ask(w, API_KEY_FETCH, 12, request);
        assert_int_equal(response->error_code, cases[i].error);
        assert_int_equal(response->session_id, 0);
        assert_int_equal(response->responses.len, cases[i].error == 0);
    }
}

static void test_fetch_waits_end_in_order(void **state)
{
    struct world *w = *state;
    enum { COUNT = 100 };
    struct net_slot *slots[COUNT];
    struct fetching f;
    create_topic(w, "ta", 1);
    for (int i = 0; i < COUNT; i++) {
        struct fetch_request *request = fetch_of(w, &f, "ta", 0, 0);
        request->max_wait_ms = 1 + (i * 37) % COUNT;
        slots[i] = slot_ask(w, API_KEY_FETCH, 11, request);
    }
    for (int i = 0; i < COUNT; i += 3) {
        slot_gone(w, slots[i]);
        slot_free(slots[i]);
        slots[i] = NULL;
    }
    for (int ms = 1; ms <= COUNT; ms++) {
        world_pass(w, 1);
        for (int i = 0; i < COUNT; i++) {
            if (slots[i] != NULL) {
                assert_true(slots[i]->answered == (1 + (i * 37) % COUNT <= ms));
            }
        }
    }
    for (int i = 0; i < COUNT; i++) {
        if (slots[i] != NULL) {
            slot_free(slots[i]);
        }
    }
}

static void test_produce_is_refused(void **state)
{
    struct world *w = *state;
    struct produce_request_partition_produce_data p[] = {{0, {(const uint8_t *)"abc", 3}}, {7, BYTES_NULL}};
    struct produce_request_topic_produce_data t = {.name = STR("ta"), .topic_id = {{1}}, .partition_data = {p, 2}};
    struct produce_request request;
    wire_init(&wire_produce_request, &request);
    request.topic_data.v = &t;
    request.topic_data.len = 1;
    request.acks = -1;
    for (int16_t version = 3; version <= 13; version++) {
        const struct produce_response *response = ask(w, API_KEY_PRODUCE, version, &request);
        for (int i = 0; i < 2; i++) {
            const struct produce_response_partition_produce_response *got = &response->responses.v[0].partition_responses.v[i];
            assert_int_equal(got->index, p[i].index);
            assert_int_equal(got->error_code, 44);
            assert_int_equal(got->base_offset, -1);
            assert_true(version < 8 || got->error_message.len > 0);
        }
    }
    request.acks = 0;
    struct net_slot *slot = slot_ask(w, API_KEY_PRODUCE, 9, &request);
    assert_true(slot->closed);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

static void test_producer_ids(void **state)
{
    struct world *w = *state;
    struct init_producer_id_request request;
    wire_init(&wire_init_producer_id_request, &request);
    request.transactional_id = STR_NULL;
    request.transaction_timeout_ms = 60000;
    const struct init_producer_id_response *a = ask(w, API_KEY_INIT_PRODUCER_ID, 5, &request);
    const struct init_producer_id_response *b = ask(w, API_KEY_INIT_PRODUCER_ID, 0, &request);
    assert_int_equal(a->error_code, 0);
    assert_int_equal(b->error_code, 0);
    assert_int_not_equal(a->producer_id, b->producer_id);
}

const struct CMUnitTest data_tests[] = {
    TEST(test_list_offsets),
    TEST(test_list_offsets_errors),
    TEST(test_leader_epochs),
    TEST(test_fetch_waits_and_is_empty),
    TEST(test_fetch_answers_at_once),
    TEST(test_fetch_sessions),
    TEST(test_fetch_waits_end_in_order),
    TEST(test_produce_is_refused),
    TEST(test_producer_ids),
};
const size_t data_test_count = COUNT_OF(data_tests);
