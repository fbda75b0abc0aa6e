/* fuzz_apply.c: whatever the log may say, applying it, deciding on it and taking a snapshot of it must not fail.
 *
 * The first byte chooses: the rest as one entry; as records, key and value by length; or as a program that makes records of a few groups, members and topics,
 * in any order and with any numbers, and asks for decisions between them, some of them on an overlay beside its base, and with a snapshot under way now and then.
 * What a snapshot holds must restore to the hash of the state at its beginning. */
#include "streams_records.h"

#include <muster/group.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct machine {
    const uint8_t *at;
    size_t left;
    struct pool pool;
    struct group_set *set;
    struct arena arena;
    struct group_settings settings;
    struct topics topics;
    bool cutting; /* a snapshot is under way */
    uint64_t cut_hash;
    struct buf cut;
};

static uint8_t next_byte(struct machine *m)
{
    if (m->left == 0) {
        return 0;
    }
    m->left--;
    return *m->at++;
}

/* Mostly small numbers, so that generations meet. */
static int32_t next_number(struct machine *m)
{
    uint8_t b = next_byte(m);
    return b < 250 ? b % 5 : b == 250 ? -1 : b == 251 ? INT32_MAX : b == 252 ? INT32_MIN : b * 1000;
}

static struct str pick(struct machine *m, const char *const *names, size_t count)
{
    return str_of(names[next_byte(m) % count]);
}

static struct str next_group(struct machine *m)
{
    static const char *const names[] = {"g-0", "g-1", ""};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_member(struct machine *m)
{
    static const char *const names[] = {"m-0", "m-1", "m-2", "c-00000000-0000-0000-0000-000000000000", ""};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_name(struct machine *m)
{
    static const char *const names[] = {"range", "roundrobin", "consumer", "t1", "t2", "", NULL};
    return pick(m, names, COUNT_OF(names));
}

static struct str not_null(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

static struct bytes next_bytes(struct machine *m)
{
    static const uint8_t subscription[] = {0, 0, 0, 0, 0, 1, 0, 2, 't', '1', 0xff, 0xff, 0xff, 0xff};
    uint8_t b = next_byte(m);
    if (b % 2 == 0) {
        return (struct bytes){subscription, b / 2 % (int32_t)sizeof subscription + 1};
    }
    int32_t len = b % 32;
    len = (size_t)len > m->left ? (int32_t)m->left : len;
    struct bytes bytes = {m->at, len};
    m->at += len;
    m->left -= (size_t)len;
    return bytes;
}

/* ---- records ------------------------------------------------------------------------------------------------------------ */

static void apply(struct machine *m, int16_t type, const void *key, int16_t version, const void *value)
{
    struct record record = wire_record_encode(type, key, version, next_byte(m) % 4 == 0 ? NULL : value, &m->arena);
    MUSTER_CHECK(group_apply(m->set, 1, record, &m->arena));
}

static void make_group(struct machine *m)
{
    struct classic_group_key key = {.group_id = next_group(m)};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = not_null(next_name(m));
    value.protocol_name = next_name(m);
    value.leader = next_member(m);
    value.generation = next_number(m);
    value.state = (int8_t)(next_byte(m) % 4);
    value.assignments_since = next_number(m);
    value.topics_hash = next_number(m);
    apply(m, RECORD_CLASSIC_GROUP, &key, 0, &value);
}

static void make_member(struct machine *m)
{
    struct classic_member_key key = {.group_id = next_group(m), .member_id = next_member(m)};
    struct classic_member_value value;
    struct classic_member_value_classic_protocol protocols[3];
    wire_init(&wire_classic_member_value, &value);
    value.instance_id = next_name(m);
    value.session_timeout_ms = next_number(m);
    value.rebalance_timeout_ms = next_number(m);
    value.join_generation = next_number(m);
    value.id_delivered = next_byte(m) % 2 == 0;
    value.protocols.len = next_byte(m) % 4;
    value.protocols.v = protocols;
    for (int32_t i = 0; i < value.protocols.len; i++) {
        protocols[i].name = not_null(next_name(m));
        protocols[i].metadata = next_bytes(m);
    }
    apply(m, RECORD_CLASSIC_MEMBER, &key, 0, &value);
}

static void make_assignment(struct machine *m)
{
    struct classic_assignment_key key = {.group_id = next_group(m), .member_id = next_member(m)};
    struct classic_assignment_value value = {.generation = next_number(m), .assignment = next_bytes(m)};
    apply(m, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
}

static void make_pending(struct machine *m)
{
    struct classic_pending_id_key key = {.group_id = next_group(m), .member_id = next_member(m)};
    struct classic_pending_id_value value = {.session_timeout_ms = next_number(m)};
    apply(m, RECORD_CLASSIC_PENDING_ID, &key, 0, &value);
}

static void make_offset(struct machine *m)
{
    struct offset_commit_key key = {.group = next_group(m), .topic = not_null(next_name(m)), .partition = next_number(m)};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = next_number(m);
    value.metadata = not_null(next_name(m));
    value.leader_epoch = next_number(m);
    value.commit_timestamp = next_number(m);
    apply(m, RECORD_OFFSET_COMMIT, &key, 4, &value);
}

static void make_topic(struct machine *m)
{
    struct topic_key key = {.name = not_null(next_name(m))};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id.b[0] = next_byte(m);
    value.partitions = next_number(m);
    apply(m, RECORD_TOPIC, &key, 0, &value);
}

static uint64_t draw_below(void *ctx, uint64_t bound)
{
    return next_byte(ctx) % bound;
}

static void make_streams(struct machine *m)
{
    struct record_draw draw = {.ctx = m, .below = draw_below, .arena = &m->arena, .groups = 2, .members = 3};
    MUSTER_CHECK(group_apply(m->set, 1, draw_streams_record(&draw), &m->arena));
}

/* Records on an overlay do nothing to its base. */
static void overlay(struct machine *m)
{
    struct record_draw draw = {.ctx = m, .below = draw_below, .arena = &m->arena, .groups = 2, .members = 3};
    uint64_t hash = group_set_hash(m->set);
    struct group_set *overlay = group_overlay_new(m->set, next_byte(m) % 2 == 0 ? STR("g-0") : STR("g-1"));
    for (int i = next_byte(m) % 4; i > 0; i--) {
        MUSTER_CHECK(group_apply(overlay, 1, draw_streams_record(&draw), &m->arena));
    }
    MUSTER_CHECK(group_set_hash(m->set) == hash);
    make_streams(m); /* nor does the base do anything to it */
    MUSTER_CHECK(group_apply(overlay, 1, draw_streams_record(&draw), &m->arena));
    group_overlay_free(overlay);
}

/* ---- decisions -------------------------------------------------------------------------------------------------------------- */

static void decide(struct machine *m, struct group_op *op)
{
    struct group_out out;
    op->settings = &m->settings;
    op->topics = &m->topics;
    op->catalog = m->set;
    op->waiting = (op->kind == GROUP_JOIN || op->kind == GROUP_SYNC) && next_byte(m) % 2 == 0;
    op->api_version = (int16_t)(next_byte(m) % 10);
    op->caller = (struct group_caller){STR("c"), STR("/127.0.0.1")};
    group_decide(m->set, op, &m->arena, &out);
    for (size_t i = 0; i < out.records.len; i++) {
        MUSTER_CHECK(group_apply(m->set, 1, out.records.v[i], &m->arena));
    }
}

static void ask_join(struct machine *m)
{
    struct join_group_request q;
    struct join_group_request_protocol protocol = {not_null(next_name(m)), next_bytes(m)};
    wire_init(&wire_join_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.group_instance_id = next_name(m);
    q.protocol_type = STR("consumer");
    q.protocols.v = &protocol;
    q.protocols.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_JOIN, .group_id = q.group_id, .request = &q});
}

static void ask_sync(struct machine *m)
{
    struct sync_group_request q;
    struct sync_group_request_assignment assignment = {next_member(m), next_bytes(m)};
    wire_init(&wire_sync_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.generation_id = next_number(m);
    q.assignments.v = &assignment;
    q.assignments.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_SYNC, .group_id = q.group_id, .request = &q});
}

static void ask_leave(struct machine *m)
{
    struct leave_group_request q;
    struct leave_group_request_member_identity members[2] = {{next_member(m), next_name(m), STR_NULL},
                                                             {next_member(m), next_name(m), STR_NULL}};
    wire_init(&wire_leave_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.members.v = members;
    q.members.len = 2;
    decide(m, &(struct group_op){.kind = GROUP_LEAVE, .group_id = q.group_id, .request = &q});
}

static void ask_commit(struct machine *m)
{
    struct offset_commit_request q;
    wire_init(&wire_offset_commit_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.generation_id_or_member_epoch = next_number(m);
    decide(m, &(struct group_op){.kind = GROUP_OFFSET_COMMIT, .group_id = q.group_id, .request = &q});
}

static void ask_timer(struct machine *m)
{
    struct group_op op = {.kind = GROUP_TIMER, .group_id = next_group(m)};
    op.timer.kind = (enum group_timer_kind)(next_byte(m) % (GROUP_TIMER_PENDING_ID + 1));
    op.timer.member_id = next_member(m);
    op.timer.epoch = next_number(m);
    op.timer.remaining_ms = next_number(m);
    op.timer.seen_members = next_number(m);
    decide(m, &op);
}

static void ask_sweep(struct machine *m)
{
    static const enum group_op_kind kinds[] = {GROUP_TAKEOVER, GROUP_RETENTION, GROUP_TOPICS_CHANGED, GROUP_DESCRIBE, GROUP_DELETE};
    decide(m, &(struct group_op){.kind = kinds[next_byte(m) % COUNT_OF(kinds)], .group_id = next_group(m)});
}

/* ---- snapshots ---------------------------------------------------------------------------------------------------------------- */

static void cut_begin(struct machine *m)
{
    m->cutting = true;
    m->cut_hash = group_set_hash(m->set);
    buf_init(&m->cut, 0);
    group_snapshot_begin(m->set);
}

static void cut_end(struct machine *m)
{
    struct pool pool = {0};
    struct group_set *copy = group_set_new(&pool, 0);
    while (group_snapshot_next(m->set, 64, &m->cut)) {
    }
    group_snapshot_end(m->set);
    MUSTER_CHECK(group_restore(copy, (struct bytes){m->cut.ptr, (int32_t)m->cut.len}, &m->arena) == 0);
    MUSTER_CHECK(group_set_hash(copy) == m->cut_hash);
    group_set_free(copy);
    MUSTER_CHECK(pool.bytes == 0);
    buf_fini(&m->cut);
    m->cutting = false;
}

static void cut(struct machine *m)
{
    if (!m->cutting) {
        cut_begin(m);
    } else if (!group_snapshot_next(m->set, 1 + next_byte(m), &m->cut)) {
        cut_end(m);
    }
}

static void step(struct machine *m)
{
    static void (*const steps[])(struct machine * m) = {make_group,   make_member,  make_assignment, make_pending, make_offset, make_topic,
                                                        ask_join,     ask_sync,     ask_leave,       ask_commit,   ask_timer,   ask_sweep,
                                                        make_streams, make_streams, make_streams,    overlay,      cut};
    steps[next_byte(m) % COUNT_OF(steps)](m);
}

/* ---- the three ways ------------------------------------------------------------------------------------------------------------ */

static void run_program(struct machine *m)
{
    while (m->left > 0) {
        step(m);
        arena_clear(&m->arena);
    }
    if (m->cutting) {
        cut_end(m);
    }
    cut_begin(m);
    cut_end(m);
}

static void run_records(struct machine *m)
{
    while (m->left >= 2) {
        size_t key = next_byte(m), value = next_byte(m);
        key = key > m->left ? m->left : key;
        value = value > m->left - key ? m->left - key : value;
        struct record record = {{m->at, (int32_t)key}, {m->at + key, value == 0 ? -1 : (int32_t)value}};
        (void)group_apply(m->set, 1, record, &m->arena);
        m->at += key + value;
        m->left -= key + value;
        arena_clear(&m->arena);
    }
}

static void run_entry(struct machine *m)
{
    const char *why = NULL;
    bool good = group_apply_entry(m->set, 1, (struct bytes){m->at, (int32_t)m->left}, &m->arena, NULL, NULL, &why);
    MUSTER_CHECK(good == (why == NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16) {
        return 0;
    }
    struct machine m = {.at = data + 1, .left = size - 1};
    m.set = group_set_new(&m.pool, 0);
    m.settings = (struct group_settings){.max_session_timeout_ms = INT32_MAX,
                                         .min_session_timeout_ms = INT32_MIN,
                                         .initial_rebalance_delay_ms = data[0] / 4 % 2 * 3000,
                                         .rebalance_on_partition_change = data[0] / 8 % 2 == 0,
                                         .group_max_size = data[0] / 16 % 2 == 0 ? 2 : 0};
    arena_init(&m.arena, 0);
    catalog_topics(m.set, &m.topics);
    switch (data[0] % 4) {
    case 0:
        run_entry(&m);
        break;
    case 1:
        run_records(&m);
        break;
    default:
        run_program(&m);
    }
    group_set_free(m.set);
    MUSTER_CHECK(m.pool.bytes == 0 && m.pool.objects == 0);
    arena_fini(&m.arena);
    return 0;
}
