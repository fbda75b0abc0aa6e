/* fuzz_streams.c: streams groups in whatever state a log may bring about, and whatever is asked of them then: nothing fails, an answer can be written, an overlay
 * decides like its base, and a snapshot restores to the hash of the state at its beginning.
 *
 * The input is a program: records of two groups and three members in any order and with any numbers, topics that come and go, configs, requests, timers, jobs. */
#include "machine.h"
#include "streams_records.h"

/* Of topics, and null. */
static struct str next_topic(struct machine *m)
{
    static const char *const names[] = {"t-0", "t-1", "t-2", "t-3", "changelog-0", "changelog-1", "s-0", "s-1", "a b"};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_subtopology(struct machine *m)
{
    static const char *const names[] = {"0", "1", "2", ""};
    return pick(m, names, COUNT_OF(names));
}

/* ---- the state ----------------------------------------------------------------------------------------------------------- */

static void make_record(struct machine *m)
{
    machine_apply(m, draw_streams_record(&m->draw));
}

static void make_topic(struct machine *m)
{
    struct topic_key key = {.name = next_topic(m)};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id.b[0] = (uint8_t)(key.name.ptr[key.name.len - 1] * 2 + key.name.len);
    value.partitions = 1 + next_byte(m) % 6;
    bool gone = next_byte(m) % 4 == 0;
    machine_apply_catalog(m, wire_record_encode(RECORD_TOPIC, &key, 0, gone ? NULL : &value, &m->arena));
}

static void make_config(struct machine *m)
{
    static const char *const configs[][3] = {
        {"streams.topology.update", "epoch", "reject"},  {"streams.topology.initialization", "explicit", "strict"},
        {"streams.num.standby.replicas", "1", "3"},      {"streams.num.warmup.replicas", "0", "x"},
        {"streams.warmup.mode", "lag", "none"},          {"streams.rack.aware.assignment.tags", "zone", "zone,rack"},
        {"streams.assignment.interval.ms", "0", "1000"}, {"streams.initial.rebalance.delay.ms", "0", "3000"}};
    size_t which = next_byte(m) % COUNT_OF(configs);
    struct str group = next_group(m);
    const char *value = configs[which][1 + next_byte(m) % 2];
    machine_config(m, group, str_of(configs[which][0]), next_byte(m) % 4 == 0 ? STR_NULL : str_of(value));
}

/* ---- decisions -------------------------------------------------------------------------------------------------------------- */

static struct streams_group_heartbeat_request_task_ids_array next_tasks(struct machine *m)
{
    struct streams_group_heartbeat_request_task_ids_array tasks = {NULL, next_byte(m) % 4 - 1};
    tasks.v = tasks.len <= 0 ? NULL : ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_task_ids, tasks.len);
    for (int32_t i = 0; i < tasks.len; i++) {
        tasks.v[i].subtopology_id = next_subtopology(m);
        tasks.v[i].partitions.len = next_byte(m) % 4;
        tasks.v[i].partitions.v = ARENA_NEW(&m->arena, int32_t, 4);
        for (int32_t k = 0; k < tasks.v[i].partitions.len; k++) {
            tasks.v[i].partitions.v[k] = next_number(m);
        }
    }
    return tasks;
}

static struct streams_group_heartbeat_request_task_offset_array next_offsets(struct machine *m)
{
    struct streams_group_heartbeat_request_task_offset_array offsets = {NULL, next_byte(m) % 4 - 1};
    offsets.v = offsets.len <= 0 ? NULL : ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_task_offset, offsets.len);
    for (int32_t i = 0; i < offsets.len; i++) {
        offsets.v[i].subtopology_id = next_subtopology(m);
        offsets.v[i].partition = next_number(m);
        offsets.v[i].offset = next_number(m);
    }
    return offsets;
}

static struct str_array next_topics(struct machine *m)
{
    struct str_array topics = {ARENA_NEW(&m->arena, struct str, 3), next_byte(m) % 4};
    for (int32_t i = 0; i < topics.len; i++) {
        topics.v[i] = next_topic(m);
    }
    return topics;
}

static struct int16_array next_indexes(struct machine *m)
{
    struct int16_array indexes = {ARENA_NEW(&m->arena, int16_t, 3), next_byte(m) % 3};
    for (int32_t i = 0; i < indexes.len; i++) {
        indexes.v[i] = (int16_t)next_number(m);
    }
    return indexes;
}

static struct streams_group_heartbeat_request_topic_info_array next_infos(struct machine *m)
{
    struct streams_group_heartbeat_request_topic_info_array infos = {ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_topic_info,
                                                                               2),
                                                                     next_byte(m) % 3};
    for (int32_t i = 0; i < infos.len; i++) {
        infos.v[i].name = next_topic(m);
        infos.v[i].partitions = next_byte(m) % 4 == 0 ? next_number(m) : 0;
        infos.v[i].replication_factor = (int16_t)next_number(m);
    }
    return infos;
}

static struct streams_group_heartbeat_request_topology *next_topology(struct machine *m)
{
    struct streams_group_heartbeat_request_topology *t = ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_topology, 1);
    struct streams_group_heartbeat_request_subtopology *s = ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_subtopology, 3);
    t->epoch = next_number(m);
    t->subtopologies.v = s;
    t->subtopologies.len = next_byte(m) % 4;
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        bool tidy = next_byte(m) % 4 != 0; /* else duplicate ids */
        s[i].subtopology_id = tidy ? arena_printf(&m->arena, "%d", (int)i) : next_subtopology(m);
        s[i].source_topics = next_topics(m);
        s[i].state_changelog_topics = next_infos(m);
        s[i].repartition_sink_topics = next_topics(m);
        s[i].repartition_source_topics = next_infos(m);
        if (next_byte(m) % 4 == 0) {
            struct str *regex = ARENA_NEW(&m->arena, struct str, 1);
            *regex = next_byte(m) % 2 == 0 ? STR("t-.*") : STR("r.0");
            s[i].source_topic_regex = (struct str_array){regex, 1};
        }
        if (next_byte(m) % 4 == 0) {
            s[i].copartition_groups.v = ARENA_NEW(&m->arena, struct streams_group_heartbeat_request_copartition_group, 1);
            s[i].copartition_groups.v->source_topics = next_indexes(m);
            s[i].copartition_groups.v->source_topic_regex = next_indexes(m);
            s[i].copartition_groups.v->repartition_source_topics = next_indexes(m);
            s[i].copartition_groups.len = 1;
        }
    }
    return t;
}

static void fill_join(struct machine *m, struct streams_group_heartbeat_request *q)
{
    q->member_epoch = 0;
    q->topology = next_byte(m) % 4 == 0 ? NULL : next_topology(m);
    q->active_tasks.len = q->standby_tasks.len = q->warmup_tasks.len = 0;
    q->process_id = next_member(m);
    q->rebalance_timeout_ms = next_number(m);
}

static void ask_heartbeat(struct machine *m)
{
    struct streams_group_heartbeat_request q;
    wire_init(&wire_streams_group_heartbeat_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.instance_id = maybe(m, STR("i-0"));
    q.endpoint_information_epoch = next_number(m);
    q.topology_id = maybe(m, STR("id-0"));
    uint8_t what = next_byte(m);
    if (what % 2 == 0) {
        fill_join(m, &q);
    } else {
        q.member_epoch = next_number(m);
        q.rebalance_timeout_ms = next_byte(m) % 2 == 0 ? -1 : next_number(m);
        q.active_tasks = next_tasks(m);
        q.standby_tasks = what % 4 == 1 ? (struct streams_group_heartbeat_request_task_ids_array){NULL, 0} : next_tasks(m);
        q.warmup_tasks = what % 4 == 1 ? (struct streams_group_heartbeat_request_task_ids_array){NULL, 0} : next_tasks(m);
        q.topology = what % 16 == 15 ? next_topology(m) : NULL;
    }
    struct streams_group_heartbeat_request_endpoint endpoint = {STR("h"), next_byte(m)};
    struct streams_group_heartbeat_request_key_value tag = {STR("zone"), next_member(m)};
    q.user_endpoint = next_byte(m) % 2 == 0 ? NULL : &endpoint;
    q.client_tags.v = &tag;
    q.client_tags.len = next_byte(m) % 3 - 1;
    q.task_offsets = next_offsets(m);
    q.task_end_offsets = next_offsets(m);
    q.shutdown_application = next_byte(m) % 8 == 0;
    decide(m, &(struct group_op){.kind = GROUP_STREAMS_HEARTBEAT, .api_version = next_byte(m) % 2, .group_id = q.group_id, .request = &q},
           &wire_streams_group_heartbeat_response);
}

static void ask_initialize(struct machine *m)
{
    struct streams_group_initialize_request q;
    struct streams_group_initialize_request_topic_info changelog;
    struct streams_group_initialize_request_subtopology sub;
    wire_init(&wire_streams_group_initialize_request, &q);
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, &sub);
    memset(&changelog, 0, sizeof changelog);
    changelog.name = next_topic(m);
    changelog.topic_configs.len = -1;
    sub.subtopology = next_subtopology(m);
    sub.source_topics = next_topics(m);
    sub.source_topic_regex = maybe(m, STR("t-.*"));
    sub.state_changelog_topics.v = &changelog;
    sub.state_changelog_topics.len = next_byte(m) % 2;
    q.group_id = next_group(m);
    q.topology.v = &sub;
    q.topology.len = next_byte(m) % 2;
    q.topology_id = maybe(m, STR("id-1"));
    q.topology_epoch = next_number(m);
    q.member_id = maybe(m, next_member(m));
    struct topics_created created = {.failure = next_byte(m) % 2 == 0 ? STR_NULL : STR("t (no room)")};
    decide(m,
           &(struct group_op){
               .kind = GROUP_STREAMS_INITIALIZE, .group_id = q.group_id, .request = &q, .created = next_byte(m) % 2 == 0 ? NULL : &created},
           &wire_streams_group_initialize_response);
}

static void ask_description(struct machine *m)
{
    struct streams_group_topology_description_update_request q;
    struct streams_group_topology_description_update_request_topology_description_subtopology sub = {.subtopology_id = next_subtopology(m)};
    wire_init(&wire_streams_group_topology_description_update_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.topology_epoch = next_number(m);
    q.topology_description.subtopologies.v = &sub;
    q.topology_description.subtopologies.len = next_byte(m) % 2;
    decide(m, &(struct group_op){.kind = GROUP_STREAMS_DESCRIPTION, .group_id = q.group_id, .request = &q},
           &wire_streams_group_topology_description_update_response);
}

static void ask_commit(struct machine *m)
{
    struct offset_commit_request q;
    struct offset_commit_request_partition partition = {.partition_index = next_number(m), .committed_metadata = STR("")};
    struct offset_commit_request_topic topic = {.name = next_topic(m), .partitions = {&partition, 1}};
    wire_init(&wire_offset_commit_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.generation_id_or_member_epoch = next_number(m);
    q.topics.v = &topic;
    q.topics.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_OFFSET_COMMIT, .api_version = 9, .group_id = q.group_id, .request = &q},
           &wire_offset_commit_response);
}

static void ask_join(struct machine *m)
{
    struct join_group_request q;
    struct join_group_request_protocol protocol = {STR("range"), {(const uint8_t *)"", 0}};
    wire_init(&wire_join_group_request, &q);
    q.group_id = next_group(m);
    q.member_id = next_member(m);
    q.session_timeout_ms = 10000;
    q.protocol_type = STR("consumer");
    q.protocols.v = &protocol;
    q.protocols.len = 1;
    decide(m, &(struct group_op){.kind = GROUP_JOIN, .api_version = 3, .group_id = q.group_id, .request = &q}, &wire_join_group_response);
}

static void ask_plain(struct machine *m)
{
    static const enum group_op_kind kinds[] = {GROUP_TAKEOVER, GROUP_RETENTION,        GROUP_TOPICS_CHANGED,   GROUP_TOPICS_CHANGED,
                                               GROUP_DESCRIBE, GROUP_STREAMS_DESCRIBE, GROUP_STREAMS_TOPOLOGY, GROUP_DELETE};
    enum group_op_kind kind = kinds[next_byte(m) % COUNT_OF(kinds)];
    struct streams_group_describe_request describe = {.include_topology_description = next_byte(m) % 2 == 0};
    const void *request = kind == GROUP_STREAMS_DESCRIBE ? &describe : NULL;
    decide(m, &(struct group_op){.kind = kind, .api_version = next_byte(m) % 2, .group_id = next_group(m), .request = request},
           kind == GROUP_STREAMS_TOPOLOGY ? &wire_streams_group_topology_response : NULL);
}

static void ask_created(struct machine *m)
{
    struct topics_created created = {.failure = next_byte(m) % 2 == 0 ? STR_NULL : STR("t (no room)")};
    decide(m, &(struct group_op){.kind = GROUP_TOPICS_CREATED, .group_id = next_group(m), .created = &created}, NULL);
}

/* ---- the program ---------------------------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static machine_step *const steps[] = {make_record,   make_record,   make_record,   make_topic,    make_topic,     make_config,
                                          ask_heartbeat, ask_heartbeat, ask_heartbeat, ask_heartbeat, ask_initialize, ask_description,
                                          ask_commit,    ask_join,      step_timer,    ask_plain,     ask_created,    step_job,
                                          step_job,      step_failover, step_cut};
    if (size < 1 || size > 1 << 14) {
        return 0;
    }
    struct machine m;
    machine_begin(&m, data + 1, size - 1, 1);
    m.settings.offsets_retention_ms = 5000;
    m.settings.group_max_size = 5;
    m.settings.max_partitions_per_topic = 1000;
    struct streams_settings *s = &m.settings.streams;
    s->assignment_interval_ms = data[0] % 2 * 1000;
    s->initial_rebalance_delay_ms = data[0] / 2 % 2 * 3000;
    s->max_size = data[0] / 4 % 2 == 0 ? 2 : INT32_MAX;
    s->acceptable_recovery_lag = 2;
    s->assignor_offload = data[0] / 8 % 2 == 0;
    s->max_subtopologies = 10;
    s->max_topology_topics = 100;
    machine_run(&m, steps, COUNT_OF(steps));
    machine_end(&m);
    return 0;
}
