/* The forms of what nodes say: every message survives the way there and back, and no damaged one is taken for another. */
#include "form.h"
#include "address.h"
#include "core.h"
#include "message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct message_scratch scratch;
static struct prng prng;

static struct store_identity founders(uint32_t count)
{
    struct store_identity id = {.node_id = 1, .shard_count = 8, .hash_version = 1, .peer_count = count};
    memset(id.cluster_id.b, 9, 16);
    for (uint32_t i = 0; i < count; i++) {
        id.peers[i].node_id = i + 1;
        memset(id.peers[i].incarnation.b, (int)i + 1, 16);
        snprintf(id.peers[i].address, sizeof id.peers[i].address, "10.0.0.%u:9093", i + 1);
    }
    id.incarnation = id.peers[0].incarnation;
    return id;
}

static uint8_t payload[64];
static struct buf config;

static void random_append(struct raft_append_entries *a)
{
    static struct raft_entry entries[20];
    a->term = 5 + prng_below(&prng, 100);
    a->prev_log_index = prng_below(&prng, 1000);
    a->prev_log_term = a->prev_log_index > 0 ? 1 + prng_below(&prng, 3) : 0;
    a->leader_commit = prng_below(&prng, 1000);
    a->n_entries = (unsigned)prng_below(&prng, COUNT_OF(entries));
    a->entries = entries;
    for (unsigned i = 0; i < a->n_entries; i++) {
        bool change = prng_chance(&prng, 200000);
        entries[i] = (struct raft_entry){.term = 3 + i / 10, .type = change ? RAFT_CHANGE : RAFT_COMMAND};
        entries[i].buf.base = change ? config.ptr : payload;
        entries[i].buf.len = change ? config.len : prng_below(&prng, sizeof payload);
    }
}

static void random_raft(struct raft_message *m)
{
    memset(m, 0, sizeof *m);
    m->type = (enum raft_message_type)(1 + prng_below(&prng, 6));
    if (m->type == RAFT_INSTALL_SNAPSHOT) {
        m->type = RAFT_TIMEOUT_NOW;
    }
    switch (m->type) {
    case RAFT_APPEND_ENTRIES:
        random_append(&m->append_entries);
        break;
    case RAFT_APPEND_ENTRIES_RESULT:
        m->append_entries_result.term = prng_below(&prng, 100);
        m->append_entries_result.rejected = prng_below(&prng, 100);
        m->append_entries_result.last_log_index = prng_below(&prng, 100);
        break;
    case RAFT_REQUEST_VOTE:
        m->request_vote.term = 50 + prng_below(&prng, 100);
        m->request_vote.candidate_id = 1 + prng_below(&prng, 9);
        m->request_vote.last_log_index = prng_below(&prng, 100);
        m->request_vote.last_log_term = prng_below(&prng, 50);
        m->request_vote.disrupt_leader = prng_chance(&prng, 500000);
        m->request_vote.pre_vote = prng_chance(&prng, 500000);
        break;
    case RAFT_REQUEST_VOTE_RESULT:
        m->request_vote_result.term = prng_below(&prng, 100);
        m->request_vote_result.vote_granted = prng_chance(&prng, 500000);
        m->request_vote_result.pre_vote = prng_chance(&prng, 500000);
        break;
    default:
        m->timeout_now.term = prng_below(&prng, 100);
        m->timeout_now.last_log_index = prng_below(&prng, 100);
        m->timeout_now.last_log_term = prng_below(&prng, 100);
        break;
    }
}

static void random_message(struct message *m)
{
    static struct shard_term list[40];
    memset(m, 0, sizeof *m);
    m->type = (enum message_type)(1 + prng_below(&prng, MESSAGE_APP));
    m->shard = (uint32_t)prng_below(&prng, 8);
    switch (m->type) {
    case MESSAGE_RAFT:
        random_raft(&m->raft);
        m->everywhere = m->raft.type == RAFT_APPEND_ENTRIES ? prng_below(&prng, 1000) : 0;
        break;
    case MESSAGE_PROBE:
    case MESSAGE_PROBE_ACK:
        m->shard = 0;
        m->probe.round = prng_below(&prng, 1000);
        m->probe.stamp_us = (int64_t)prng_below(&prng, 1 << 30);
        m->probe.flags = (uint8_t)prng_below(&prng, 2);
        m->probe.count = (uint32_t)prng_below(&prng, COUNT_OF(list));
        m->probe.list = list;
        for (uint32_t i = 0; i < m->probe.count; i++) {
            list[i] = (struct shard_term){i, prng_below(&prng, 100)};
        }
        break;
    case MESSAGE_HANDOVER:
        m->handover.term = prng_below(&prng, 100);
        m->handover.target = (uint32_t)prng_below(&prng, 9);
        break;
    case MESSAGE_HASH:
        m->hash.index = prng_below(&prng, 100);
        m->hash.hash = prng_next(&prng);
        break;
    case MESSAGE_APP:
        m->shard = 0;
        m->app.channel = (uint16_t)prng_below(&prng, 1000);
        m->app.data = (struct bytes){payload, (int32_t)prng_below(&prng, sizeof payload)};
        break;
    default:
        m->snapshot.term = 50;
        m->snapshot.index = 40;
        if (m->type == MESSAGE_SNAPSHOT_OFFER) {
            m->snapshot.last_term = 1 + prng_below(&prng, 50);
            m->snapshot.config_index = prng_below(&prng, 41);
            m->snapshot.config = (struct bytes){config.ptr, (int32_t)config.len};
            m->snapshot.file_bytes = prng_below(&prng, 1 << 30);
        } else if (m->type == MESSAGE_SNAPSHOT_CHUNK) {
            m->snapshot.file_bytes = prng_below(&prng, 1 << 30);
            m->snapshot.offset = prng_below(&prng, 1 << 30);
            m->snapshot.data = (struct bytes){payload, (int32_t)prng_below(&prng, sizeof payload)};
        } else if (m->type == MESSAGE_SNAPSHOT_WANT) {
            m->snapshot.offset = prng_below(&prng, 1 << 30);
        }
        break;
    }
}

static int setup(void **state)
{
    (void)state;
    struct store_identity id = founders(5);
    prng_seed(&prng, 1);
    for (size_t i = 0; i < sizeof payload; i++) {
        payload[i] = (uint8_t)prng_next(&prng);
    }
    buf_init(&config, 0);
    return core_founding_config(&id, &config);
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&config);
    return 0;
}

/* Encoding what was decoded gives the same bytes, for every kind of message; so every field has made the way. */
static void test_there_and_back(void **state)
{
    bool seen[MESSAGE_APP + 1] = {false};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        struct message m, back;
        struct buf first, second;
        buf_init(&first, 0);
        buf_init(&second, 0);
        random_message(&m);
        assert_int_equal(message_encode(&first, &m), 0);
        assert_int_equal(message_decode((struct bytes){first.ptr, (int32_t)first.len}, &scratch, &back), 0);
        assert_int_equal(back.type, m.type);
        assert_int_equal(message_encode(&second, &back), 0);
        assert_int_equal(first.len, second.len);
        assert_memory_equal(first.ptr, second.ptr, first.len);
        seen[m.type] = true;
        buf_fini(&first);
        buf_fini(&second);
    }
    for (int type = 1; type <= MESSAGE_APP; type++) {
        assert_true(seen[type]);
    }
}

static void test_cut_short(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        struct message m, back;
        struct buf out;
        buf_init(&out, 0);
        random_message(&m);
        assert_int_equal(message_encode(&out, &m), 0);
        for (size_t len = 0; len < out.len; len++) {
            uint8_t *exact = malloc(len > 0 ? len : 1); /* so that a read past the end is seen */
            assert_non_null(exact);
            memcpy(exact, out.ptr, len);
            assert_int_equal(message_decode((struct bytes){exact, (int32_t)len}, &scratch, &back), MUSTER_E_MALFORMED);
            free(exact);
        }
        buf_add(&out, 1);
        assert_int_equal(message_decode((struct bytes){out.ptr, (int32_t)out.len}, &scratch, &back), MUSTER_E_MALFORMED);
        buf_fini(&out);
    }
}

static void test_limit(void **state)
{
    struct message m = {.type = MESSAGE_APP};
    struct buf out;
    (void)state;
    buf_init(&out, 20);
    m.app.data = (struct bytes){payload, 40};
    assert_int_equal(message_encode(&out, &m), MUSTER_E_LIMIT);
    assert_int_equal(out.len, 0);
    buf_fini(&out);
}

static int decode_append(const struct raft_append_entries *a)
{
    struct message m = {.type = MESSAGE_RAFT}, back;
    struct buf out;
    m.raft.type = RAFT_APPEND_ENTRIES;
    m.raft.append_entries = *a;
    buf_init(&out, 0);
    assert_int_equal(message_encode(&out, &m), 0);
    int rc = message_decode((struct bytes){out.ptr, (int32_t)out.len}, &scratch, &back);
    buf_fini(&out);
    return rc;
}

/* What the library would believe. */
static void test_impossible_appends(void **state)
{
    struct raft_entry e[2] = {{.term = 3, .type = RAFT_COMMAND}, {.term = 3, .type = RAFT_COMMAND}};
    struct raft_append_entries a = {.term = 5, .prev_log_index = 7, .prev_log_term = 2, .leader_commit = 7, .entries = e, .n_entries = 2};
    (void)state;
    assert_int_equal(decode_append(&a), 0);
    e[1].term = 2; /* terms never fall */
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    e[1].term = 6; /* nor pass the leader's */
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    e[1].term = 3;
    e[1].type = (enum raft_entry_type)9;
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    e[1].type = RAFT_CHANGE; /* without a configuration in it */
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    e[1].type = RAFT_BARRIER;
    a.prev_log_term = 0;
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    a.prev_log_term = 6;
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    a.prev_log_term = 2;
    a.term = MESSAGE_TERM_MAX + 1;
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
    a.term = 5;
    a.prev_log_index = MESSAGE_INDEX_MAX + 1;
    assert_int_equal(decode_append(&a), MUSTER_E_MALFORMED);
}

static void test_configurations(void **state)
{
    struct bytes all = {config.ptr, (int32_t)config.len};
    (void)state;
    assert_true(message_config_valid(all));
    for (int32_t len = 0; len < all.len - 8; len++) {
        assert_false(message_config_valid((struct bytes){all.ptr, len}));
    }
    for (size_t i = 0; i < 9; i++) {
        config.ptr[i] ^= 0x80; /* format and count */
        assert_false(message_config_valid(all));
        config.ptr[i] ^= 0x80;
    }
    assert_false(message_config_valid(BYTES_NULL));
}

/* ---- hello ---------------------------------------------------------------------------------------------------------------------- */

static struct hello hello_of(const struct store_identity *id, uint32_t to)
{
    return (struct hello){.class = HELLO_RAFT,
                          .cluster_id = id->cluster_id,
                          .from = id->node_id,
                          .incarnation = id->incarnation,
                          .to = to,
                          .shard_count = id->shard_count,
                          .hash_version = id->hash_version};
}

static void test_hello(void **state)
{
    struct store_identity mine = founders(3), theirs = founders(3);
    (void)state;
    theirs.node_id = 2;
    theirs.incarnation = theirs.peers[1].incarnation;
    struct hello h = hello_of(&theirs, 1), back;
    struct buf out;
    buf_init(&out, HELLO_BYTES_MAX);
    assert_int_equal(hello_encode(&out, &h), 0);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(hello_decode((struct bytes){out.ptr, (int32_t)len}, &back), MUSTER_E_MALFORMED);
    }
    assert_int_equal(hello_decode((struct bytes){out.ptr, (int32_t)out.len}, &back), 0);
    assert_int_equal(hello_judge(&mine, &back), HELLO_VERDICT_OK);
    out.ptr[4]++;
    assert_int_equal(hello_decode((struct bytes){out.ptr, (int32_t)out.len}, &back), MUSTER_E_VERSION);
    buf_fini(&out);

    h.cluster_id.b[3]++;
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_CLUSTER);
    h = hello_of(&theirs, 1);
    h.from = 7;
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_NODE);
    h.from = 1;
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_NODE);
    h = hello_of(&theirs, 1);
    h.incarnation.b[0]++;
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_INCARNATION);
    h = hello_of(&theirs, 3);
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_MISDIRECTED);
    h = hello_of(&theirs, 1);
    h.shard_count++;
    assert_int_equal(hello_judge(&mine, &h), HELLO_VERDICT_SHARDS);
}

static void test_hello_answers(void **state)
{
    struct store_identity mine = founders(3);
    struct hello sent = hello_of(&mine, 2);
    struct hello_answer answer = {.verdict = HELLO_VERDICT_OK, .node = 2, .incarnation = mine.peers[1].incarnation}, back;
    struct buf out;
    (void)state;
    buf_init(&out, HELLO_BYTES_MAX);
    assert_int_equal(hello_answer_encode(&out, &answer), 0);
    assert_int_equal(hello_answer_decode((struct bytes){out.ptr, (int32_t)out.len}, &back), 0);
    assert_int_equal(hello_answer_decode((struct bytes){out.ptr, (int32_t)out.len - 1}, &back), MUSTER_E_MALFORMED);
    assert_int_equal(hello_judge_answer(&mine, &sent, &back), HELLO_VERDICT_OK);
    buf_fini(&out);
    answer.node = 3;
    assert_int_equal(hello_judge_answer(&mine, &sent, &answer), HELLO_VERDICT_MISDIRECTED);
    answer.node = 2;
    answer.incarnation.b[0]++;
    assert_int_equal(hello_judge_answer(&mine, &sent, &answer), HELLO_VERDICT_STRANGER);
    answer.verdict = HELLO_VERDICT_UNFORMED;
    assert_int_equal(hello_judge_answer(&mine, &sent, &answer), HELLO_VERDICT_UNFORMED);
}

/* ---- forming ------------------------------------------------------------------------------------------------------------------------ */

static void test_form_messages(void **state)
{
    static struct form_request request, back;
    struct form_answer answer = {.error = MUSTER_E_BUSY,
                                 .state = FORM_PREPARED,
                                 .node_id = 3,
                                 .shard_count = 8,
                                 .peer_count = 5,
                                 .text = "another form is under way"};
    struct form_answer answer_back;
    struct buf out;
    (void)state;
    buf_init(&out, FORM_FRAME_MAX);
    request.op = FORM_PREPARE;
    request.identity = founders(5);
    assert_int_equal(form_request_encode(&out, &request), 0);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(form_request_decode((struct bytes){out.ptr, (int32_t)len}, &back), MUSTER_E_MALFORMED);
    }
    assert_int_equal(form_request_decode((struct bytes){out.ptr, (int32_t)out.len}, &back), 0);
    assert_memory_equal(&back.identity, &request.identity, sizeof back.identity);
    buf_clear(&out);
    assert_int_equal(form_answer_encode(&out, &answer), 0);
    for (size_t len = 0; len < out.len; len++) {
        assert_int_equal(form_answer_decode((struct bytes){out.ptr, (int32_t)len}, &answer_back), MUSTER_E_MALFORMED);
    }
    assert_int_equal(form_answer_decode((struct bytes){out.ptr, (int32_t)out.len}, &answer_back), 0);
    assert_int_equal(answer_back.error, MUSTER_E_BUSY);
    assert_int_equal(answer_back.state, FORM_PREPARED);
    assert_int_equal(answer_back.shard_count, 8);
    assert_int_equal(answer_back.peer_count, 5);
    assert_string_equal(answer_back.text, answer.text);
    buf_fini(&out);
}

static void test_addresses(void **state)
{
    char host[ADDRESS_HOST_BYTES], port[ADDRESS_PORT_BYTES];
    (void)state;
    assert_int_equal(address_split("node-1.example:9093", host, port), 0);
    assert_string_equal(host, "node-1.example");
    assert_int_equal(address_port(port), 9093);
    assert_int_equal(address_split("[::1]:1", host, port), 0);
    assert_string_equal(host, "::1");
    const char *const wrong[] = {"", "host", ":1", "host:", "host:0", "host:65536", "host:1x", "host:-1", "[]:1", "host:000001"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(address_split(wrong[i], host, port), MUSTER_E_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_there_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_short, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
        cmocka_unit_test(test_impossible_appends),
        cmocka_unit_test_setup_teardown(test_configurations, setup, teardown),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_hello_answers),
        cmocka_unit_test(test_form_messages),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
