/* fuzz_consumer.c: consumer groups in whatever state a log may bring about, and whatever is asked of them then, by members of both protocols (machine.h has what
 * has to hold).
 *
 * The input is a program: records of two groups and three members in any order and with any numbers, of streams groups and classic groups of the same names, too;
 * topics that come, go and come again under another id; configs, requests, timers, jobs. */
#include "consumer_records.h"
#include "machine.h"
#include "streams_records.h"

#include <string.h>

/* As the records name them: topic t-N has the id (7, N), or (7, N, 1) when it was made again. */
static struct uuid next_id(struct machine *m)
{
    uint8_t b = next_byte(m);
    return (struct uuid){{7, b % 4, b / 4 % 8 == 7}};
}

static struct str next_topic(struct machine *m)
{
    static const char *const names[] = {"t-0", "t-1", "t-2", "t-3", "a b", ""};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_regex(struct machine *m)
{
    static const char *const names[] = {NULL, NULL, "", "r.0", "t-.*", "t-[01]", "("};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_assignor(struct machine *m)
{
    static const char *const names[] = {NULL, NULL, "uniform", "range", "sticky"};
    return pick(m, names, COUNT_OF(names));
}

static struct str_array next_topics(struct machine *m)
{
    struct str_array topics = {ARENA_NEW(&m->arena, struct str, 4), next_byte(m) % 6 - 1};
    topics.len = topics.len > 3 ? -1 : topics.len;
    for (int32_t i = 0; i < topics.len; i++) {
        topics.v[i] = next_topic(m);
    }
    return topics;
}

static struct int32_array next_partitions(struct machine *m)
{
    struct int32_array partitions = {ARENA_NEW(&m->arena, int32_t, 4), next_byte(m) % 5};
    for (int32_t i = 0; i < partitions.len; i++) {
        partitions.v[i] = next_number(m);
    }
    return partitions;
}

/* ---- the state ------------------------------------------------------------------------------------------------------------------ */

static void make_record(struct machine *m)
{
    machine_apply(m, draw_consumer_record(&m->draw));
}

/* What the group was before, or will be said to be, too. */
static void make_other(struct machine *m)
{
    struct classic_group_key key = {.group_id = next_group(m)};
    struct classic_group_value value;
    if (next_byte(m) % 2 == 0) {
        machine_apply(m, draw_streams_record(&m->draw));
        return;
    }
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = next_byte(m) % 4 == 0 ? STR("connect") : STR("consumer");
    value.protocol_name = maybe(m, STR("range"));
    value.leader = maybe(m, next_member(m));
    value.generation = next_number(m);
    value.state = (int8_t)(next_byte(m) % 4);
    machine_apply(m, wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, next_byte(m) % 4 == 0 ? NULL : &value, &m->arena));
}

static void make_topic(struct machine *m)
{
    static const char *const names[] = {"t-0", "t-1", "t-2", "t-3"};
    struct topic_key key;
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id = next_id(m);
    value.partitions = 1 + next_byte(m) % 6;
    key.name = str_of(names[value.topic_id.b[1]]);
    bool gone = next_byte(m) % 4 == 0;
    machine_apply_catalog(m, wire_record_encode(RECORD_TOPIC, &key, 0, gone ? NULL : &value, &m->arena));
}

static void make_config(struct machine *m)
{
    static const char *const configs[][3] = {{"consumer.assignment.interval.ms", "0", "1000"},
                                             {"consumer.heartbeat.interval.ms", "5000", "9999999"},
                                             {"consumer.session.timeout.ms", "45000", "x"},
                                             {"consumer.assignor.offload.enable", "true", "false"}};
    size_t which = next_byte(m) % COUNT_OF(configs);
    struct str group = next_group(m);
    const char *value = configs[which][1 + next_byte(m) % 2];
    machine_config(m, group, str_of(configs[which][0]), next_byte(m) % 4 == 0 ? STR_NULL : str_of(value));
}

/* ---- members of the consumer protocol --------------------------------------------------------------------------------------------------- */

static struct consumer_group_heartbeat_request_topic_partitions_array next_owned(struct machine *m)
{
    struct consumer_group_heartbeat_request_topic_partitions_array owned = {NULL, next_byte(m) % 4 - 1};
    owned.v = owned.len <= 0 ? NULL : ARENA_NEW(&m->arena, struct consumer_group_heartbeat_request_topic_partitions, owned.len);
    for (int32_t i = 0; i < owned.len; i++) {
        owned.v[i].topic_id = next_id(m);
        owned.v[i].partitions = next_partitions(m);
    }
    return owned;
}

static void ask_heartbeat(struct machine *m)
{
    struct consumer_group_heartbeat_request q;
    wire_init(&wire_consumer_group_heartbeat_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.instance_id = maybe(m, STR("i-0"));
    q.rack_id = maybe(m, STR("rack0"));
    uint8_t what = next_byte(m);
    q.member_epoch = what % 4 == 0 ? 0 : next_number(m);
    if (what % 8 != 7) { /* else a short one */
        q.rebalance_timeout_ms = what % 4 == 0 ? 1000 : next_number(m);
        q.subscribed_topic_names = next_topics(m);
        q.subscribed_topic_regex = next_regex(m);
        q.server_assignor = next_assignor(m);
    }
    q.topic_partitions = what % 16 == 0 ? (struct consumer_group_heartbeat_request_topic_partitions_array){NULL, 0} : next_owned(m);
    decide(m, &(struct group_op){.kind = GROUP_CONSUMER_HEARTBEAT, .api_version = next_byte(m) % 2, .group_id = q.group_id, .request = &q},
           &wire_consumer_group_heartbeat_response);
}

/* ---- members of the classic protocol ------------------------------------------------------------------------------------------------------ */

static void put_number(uint8_t **at, int32_t n)
{
    put_be32(*at, (uint32_t)n);
    *at += 4;
}

static void put_topics(uint8_t **at, struct machine *m, bool partitions)
{
    struct str_array topics = next_topics(m);
    put_number(at, topics.len > 0 ? topics.len : 0);
    for (int32_t i = 0; i < topics.len; i++) {
        put_be16(*at, (uint16_t)topics.v[i].len);
        memcpy(*at + 2, topics.v[i].ptr, (size_t)topics.v[i].len);
        *at += 2 + topics.v[i].len;
        struct int32_array numbers = partitions ? next_partitions(m) : (struct int32_array){NULL, 0};
        for (int32_t k = -1; partitions && k < numbers.len; k++) {
            put_number(at, k < 0 ? numbers.len : numbers.v[k]);
        }
    }
}

/* A subscription of the consumer protocol, whole or cut off. */
static struct bytes next_subscription(struct machine *m)
{
    uint8_t *bytes = arena_get(&m->arena, 256), *at = bytes;
    uint16_t version = next_byte(m) % 4;
    put_be16(at, version);
    at += 2;
    put_topics(&at, m, false);
    put_number(&at, -1); /* user data */
    if (version >= 1) {
        put_topics(&at, m, true);
    }
    if (version >= 2) {
        put_number(&at, next_number(m));
    }
    if (version >= 3) {
        put_be16(at, UINT16_MAX); /* rack */
        at += 2;
    }
    uint8_t cut = next_byte(m);
    return (struct bytes){bytes, cut % 8 == 7 ? cut / 8 : (int32_t)(at - bytes)};
}

static void ask_join(struct machine *m)
{
    struct join_group_request q;
    struct join_group_request_protocol protocols[2] = {{STR("range"), next_subscription(m)}, {STR("roundrobin"), next_subscription(m)}};
    wire_init(&wire_join_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.group_instance_id = maybe(m, STR("i-0"));
    q.session_timeout_ms = 10000;
    q.rebalance_timeout_ms = next_number(m);
    q.protocol_type = next_byte(m) % 8 == 0 ? STR("connect") : STR("consumer");
    q.protocols.v = protocols;
    q.protocols.len = next_byte(m) % 3;
    struct group_op op = {.kind = GROUP_JOIN, .api_version = next_byte(m) % 10, .group_id = q.group_id, .request = &q};
    op.waiting = next_byte(m) % 4 == 0;
    op.fresh_id.b[15] = next_byte(m);
    decide(m, &op, &wire_join_group_response);
}

static void ask_sync(struct machine *m)
{
    struct sync_group_request q;
    wire_init(&wire_sync_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.group_instance_id = maybe(m, STR("i-0"));
    q.generation_id = next_number(m);
    q.protocol_type = maybe(m, STR("consumer"));
    q.protocol_name = maybe(m, STR("range"));
    struct group_op op = {.kind = GROUP_SYNC, .api_version = next_byte(m) % 6, .group_id = q.group_id, .request = &q};
    op.waiting = next_byte(m) % 4 == 0;
    decide(m, &op, &wire_sync_group_response);
}

static void ask_classic_heartbeat(struct machine *m)
{
    struct heartbeat_request q;
    wire_init(&wire_heartbeat_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.group_instance_id = maybe(m, STR("i-0"));
    q.generation_id = next_number(m);
    decide(m, &(struct group_op){.kind = GROUP_HEARTBEAT, .api_version = 4, .group_id = q.group_id, .request = &q},
           &wire_heartbeat_response);
}

static void ask_leave(struct machine *m)
{
    struct leave_group_request q;
    struct leave_group_request_member_identity members[2] = {{next_member(m), maybe(m, STR("i-0")), STR_NULL},
                                                             {next_member(m), maybe(m, STR("i-0")), STR_NULL}};
    wire_init(&wire_leave_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.members.v = members;
    q.members.len = next_byte(m) % 3;
    decide(m, &(struct group_op){.kind = GROUP_LEAVE, .api_version = next_byte(m) % 6, .group_id = q.group_id, .request = &q},
           &wire_leave_group_response);
}

/* ---- from outside, and what nobody asks for -------------------------------------------------------------------------------------------------- */

static void ask_commit(struct machine *m)
{
    struct offset_commit_request q;
    struct offset_commit_request_partition partition = {.partition_index = next_number(m), .committed_metadata = STR("")};
    struct offset_commit_request_topic topic = {.name = next_topic(m), .topic_id = next_id(m), .partitions = {&partition, 1}};
    wire_init(&wire_offset_commit_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.generation_id_or_member_epoch = next_number(m);
    q.topics.v = &topic;
    q.topics.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_OFFSET_COMMIT, .api_version = 8 + next_byte(m) % 3, .group_id = q.group_id, .request = &q},
           &wire_offset_commit_response);
}

static void ask_fetch(struct machine *m)
{
    struct offset_fetch_request_group q;
    wire_init_type(wire_offset_fetch_request.type->fields[2].type, &q);
    q.group_id = next_group(m);
    q.member_id = maybe(m, next_member(m));
    q.member_epoch = next_number(m);
    q.topics.len = -1;
    decide(m, &(struct group_op){.kind = GROUP_OFFSET_FETCH, .api_version = 9, .group_id = q.group_id, .request = &q}, NULL);
}

static void ask_plain(struct machine *m)
{
    static const enum group_op_kind kinds[] = {GROUP_TAKEOVER, GROUP_RETENTION,         GROUP_TOPICS_CHANGED, GROUP_TOPICS_CHANGED,
                                               GROUP_DESCRIBE, GROUP_CONSUMER_DESCRIBE, GROUP_DELETE,         GROUP_CONSUMER_DESCRIBE};
    enum group_op_kind kind = kinds[next_byte(m) % COUNT_OF(kinds)];
    decide(m, &(struct group_op){.kind = kind, .api_version = next_byte(m) % 2, .group_id = next_group(m)}, NULL);
}

static void ask_offset_delete(struct machine *m)
{
    struct offset_delete_request q;
    struct offset_delete_request_partition partition = {next_number(m)};
    struct offset_delete_request_topic topic = {.name = next_topic(m), .partitions = {&partition, 1}};
    wire_init(&wire_offset_delete_request, &q);
    q.group_id = next_group(m);
    q.topics.v = &topic;
    q.topics.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_OFFSET_DELETE, .group_id = q.group_id, .request = &q}, &wire_offset_delete_response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static machine_step *const steps[] = {make_record,
                                          make_record,
                                          make_other,
                                          make_topic,
                                          make_topic,
                                          make_config,
                                          ask_heartbeat,
                                          ask_heartbeat,
                                          ask_heartbeat,
                                          ask_heartbeat,
                                          ask_join,
                                          ask_sync,
                                          ask_classic_heartbeat,
                                          ask_leave,
                                          ask_commit,
                                          ask_fetch,
                                          ask_offset_delete,
                                          ask_plain,
                                          ask_plain,
                                          step_timer,
                                          step_job,
                                          step_job,
                                          step_failover,
                                          step_cut};
    if (size < 1 || size > 1 << 14) {
        return 0;
    }
    struct machine m;
    machine_begin(&m, data + 1, size - 1, 1);
    m.settings.offsets_retention_ms = 5000;
    m.settings.group_max_size = 5;
    m.settings.initial_rebalance_delay_ms = data[0] / 64 % 2 * 3000;
    struct consumer_settings *s = &m.settings.consumer;
    s->assignment_interval_ms = data[0] % 2 * 1000;
    s->max_size = data[0] / 2 % 2 == 0 ? 2 : INT32_MAX;
    s->assignor_offload = data[0] / 4 % 2 == 0;
    s->upgrade = data[0] / 8 % 2 == 0;
    s->downgrade = data[0] / 16 % 2 == 0;
    s->assignors = data[0] / 32 % 2 == 0 ? STR("uniform,range") : STR("range");
    s->max_regexes = 2;
    s->max_subscribed_topics = 2;
    machine_run(&m, steps, COUNT_OF(steps));
    machine_end(&m);
    return 0;
}
