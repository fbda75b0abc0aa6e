/* fuzz_apply.c: whatever the log may say, applying it, deciding on it and taking a snapshot of it must not fail.
 *
 * The first byte chooses: the rest as one entry; as records, key and value by length; or as a program that makes records of a few groups, members and topics,
 * in any order and with any numbers, and asks for decisions between them, some of them on an overlay beside its base, and with a snapshot under way now and then.
 * What a snapshot holds must restore to the hash of the state at its beginning. */
#include "consumer_records.h"
#include "history_records.h"
#include "machine.h"
#include "streams_records.h"

#include <string.h>

/* ---- what the input says, with names and numbers of classic groups ------------------------------------------------------------------ */

/* Mostly small numbers, so that generations meet. */
static int32_t classic_number(struct machine *m)
{
    uint8_t b = next_byte(m);
    return b < 250 ? b % 5 : b == 250 ? -1 : b == 251 ? INT32_MAX : b == 252 ? INT32_MIN : b * 1000;
}

static struct str classic_group(struct machine *m)
{
    static const char *const names[] = {"g-0", "g-1", ""};
    return pick(m, names, COUNT_OF(names));
}

static struct str classic_member(struct machine *m)
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
    machine_apply(m, wire_record_encode(type, key, version, next_byte(m) % 4 == 0 ? NULL : value, &m->arena));
}

static void make_group(struct machine *m)
{
    struct classic_group_key key = {.group_id = classic_group(m)};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = not_null(next_name(m));
    value.protocol_name = next_name(m);
    value.leader = classic_member(m);
    value.generation = classic_number(m);
    value.state = (int8_t)(next_byte(m) % 4);
    value.assignments_since = classic_number(m);
    value.topics_hash = classic_number(m);
    apply(m, RECORD_CLASSIC_GROUP, &key, 0, &value);
}

static void make_member(struct machine *m)
{
    struct classic_member_key key = {.group_id = classic_group(m), .member_id = classic_member(m)};
    struct classic_member_value value;
    struct classic_member_value_classic_protocol protocols[3];
    wire_init(&wire_classic_member_value, &value);
    value.instance_id = next_name(m);
    value.session_timeout_ms = classic_number(m);
    value.rebalance_timeout_ms = classic_number(m);
    value.join_generation = classic_number(m);
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
    struct classic_assignment_key key = {.group_id = classic_group(m), .member_id = classic_member(m)};
    struct classic_assignment_value value = {.generation = classic_number(m), .assignment = next_bytes(m)};
    apply(m, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
}

static void make_pending(struct machine *m)
{
    struct classic_pending_id_key key = {.group_id = classic_group(m), .member_id = classic_member(m)};
    struct classic_pending_id_value value = {.session_timeout_ms = classic_number(m)};
    apply(m, RECORD_CLASSIC_PENDING_ID, &key, 0, &value);
}

static void make_offset(struct machine *m)
{
    struct offset_commit_key key = {.group = classic_group(m), .topic = not_null(next_name(m)), .partition = classic_number(m)};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = classic_number(m);
    value.metadata = not_null(next_name(m));
    value.leader_epoch = classic_number(m);
    value.commit_timestamp = classic_number(m);
    apply(m, RECORD_OFFSET_COMMIT, &key, 4, &value);
}

static void make_topic(struct machine *m)
{
    struct topic_key key = {.name = not_null(next_name(m))};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id.b[0] = next_byte(m);
    value.partitions = classic_number(m);
    apply(m, RECORD_TOPIC, &key, 0, &value);
}

static void make_consumer(struct machine *m)
{
    machine_apply(m, draw_consumer_record(&m->draw));
}

static void make_streams(struct machine *m)
{
    machine_apply(m, draw_streams_record(&m->draw));
}

static void make_history(struct machine *m)
{
    machine_apply(m, draw_history_record(&m->draw));
}

static struct record draw_modern(struct machine *m)
{
    static struct record (*const draws[])(struct record_draw * d) = {draw_streams_record, draw_consumer_record, draw_history_record};
    return draws[next_byte(m) % COUNT_OF(draws)](&m->draw);
}

/* Records on an overlay do nothing to its base. */
static void overlay(struct machine *m)
{
    uint64_t hash = group_set_hash(m->set);
    struct group_set *overlay = group_overlay_new(m->set, next_byte(m) % 2 == 0 ? STR("g-0") : STR("g-1"));
    for (int i = next_byte(m) % 4; i > 0; i--) {
        MUSTER_CHECK(group_apply(overlay, 1, draw_modern(m), &m->arena));
    }
    MUSTER_CHECK(group_set_hash(m->set) == hash);
    machine_apply(m, draw_modern(m)); /* nor does the base do anything to it */
    MUSTER_CHECK(group_apply(overlay, 1, draw_modern(m), &m->arena));
    group_overlay_free(overlay);
}

/* ---- decisions -------------------------------------------------------------------------------------------------------------- */

static void ask(struct machine *m, struct group_op *op)
{
    op->waiting = (op->kind == GROUP_JOIN || op->kind == GROUP_SYNC) && next_byte(m) % 2 == 0;
    op->api_version = (int16_t)(next_byte(m) % 10);
    decide(m, op, NULL);
}

static void ask_join(struct machine *m)
{
    struct join_group_request q;
    struct join_group_request_protocol protocol = {not_null(next_name(m)), next_bytes(m)};
    wire_init(&wire_join_group_request, &q);
    q.group_id = classic_group(m);
    q.member_id = classic_member(m);
    q.group_instance_id = next_name(m);
    q.protocol_type = STR("consumer");
    q.protocols.v = &protocol;
    q.protocols.len = 1;
    ask(m, &(struct group_op){.kind = GROUP_JOIN, .group_id = q.group_id, .request = &q});
}

static void ask_sync(struct machine *m)
{
    struct sync_group_request q;
    struct sync_group_request_assignment assignment = {classic_member(m), next_bytes(m)};
    wire_init(&wire_sync_group_request, &q);
    q.group_id = classic_group(m);
    q.member_id = classic_member(m);
    q.generation_id = classic_number(m);
    q.assignments.v = &assignment;
    q.assignments.len = 1;
    ask(m, &(struct group_op){.kind = GROUP_SYNC, .group_id = q.group_id, .request = &q});
}

static void ask_leave(struct machine *m)
{
    struct leave_group_request q;
    struct leave_group_request_member_identity members[2] = {{classic_member(m), next_name(m), STR_NULL},
                                                             {classic_member(m), next_name(m), STR_NULL}};
    wire_init(&wire_leave_group_request, &q);
    q.group_id = classic_group(m);
    q.member_id = classic_member(m);
    q.members.v = members;
    q.members.len = 2;
    ask(m, &(struct group_op){.kind = GROUP_LEAVE, .group_id = q.group_id, .request = &q});
}

static void ask_commit(struct machine *m)
{
    struct offset_commit_request q;
    wire_init(&wire_offset_commit_request, &q);
    q.group_id = classic_group(m);
    q.member_id = classic_member(m);
    q.generation_id_or_member_epoch = classic_number(m);
    ask(m, &(struct group_op){.kind = GROUP_OFFSET_COMMIT, .group_id = q.group_id, .request = &q});
}

static void ask_timer(struct machine *m)
{
    struct group_op op = {.kind = GROUP_TIMER, .group_id = classic_group(m)};
    op.timer.kind = (enum group_timer_kind)(next_byte(m) % (GROUP_TIMER_PENDING_ID + 1));
    op.timer.member_id = classic_member(m);
    op.timer.epoch = classic_number(m);
    op.timer.remaining_ms = classic_number(m);
    op.timer.seen_members = classic_number(m);
    ask(m, &op);
}

static void ask_sweep(struct machine *m)
{
    static const enum group_op_kind kinds[] = {GROUP_TAKEOVER, GROUP_RETENTION, GROUP_TOPICS_CHANGED,
                                               GROUP_DESCRIBE, GROUP_DELETE,    GROUP_HISTORY};
    ask(m, &(struct group_op){.kind = kinds[next_byte(m) % COUNT_OF(kinds)], .group_id = classic_group(m)});
}

/* ---- the three ways ------------------------------------------------------------------------------------------------------------ */

static void run_program(struct machine *m)
{
    static machine_step *const steps[] = {make_group,   make_member,  make_assignment, make_pending, make_offset, make_topic,
                                          ask_join,     ask_sync,     ask_leave,       ask_commit,   ask_timer,   ask_sweep,
                                          make_streams, make_streams, make_consumer,   overlay,      step_cut,    make_history};
    machine_run(m, steps, COUNT_OF(steps));
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
    struct machine m;
    machine_begin(&m, data + 1, size - 1, 0);
    m.settings.max_session_timeout_ms = INT32_MAX;
    m.settings.min_session_timeout_ms = INT32_MIN;
    m.settings.initial_rebalance_delay_ms = data[0] / 4 % 2 * 3000;
    m.settings.rebalance_on_partition_change = data[0] / 8 % 2 == 0;
    m.settings.group_max_size = data[0] / 16 % 2 == 0 ? 2 : 0;
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
    machine_end(&m);
    return 0;
}
