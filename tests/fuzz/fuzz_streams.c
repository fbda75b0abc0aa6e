/* fuzz_streams.c: streams groups in whatever state a log may bring about, and whatever is asked of them then: nothing fails, an answer can be written, an overlay
 * decides like its base, and a snapshot restores to the hash of the state at its beginning.
 *
 * The input is a program: records of two groups and three members in any order and with any numbers, topics that come and go, configs, requests, timers, jobs. */
#include "streams_records.h"

#include <muster/group.h>

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct machine {
    const uint8_t *at;
    size_t left;
    struct pool pool;
    struct group_set *set, *shard0;
    struct arena arena;
    struct group_settings settings;
    struct topics topics;
    struct record_draw draw;
    uint64_t index;
    int64_t clock_ms;
    struct group_job *job; /* one that ran and whose result is not back yet */
    bool cutting;          /* a snapshot is under way */
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

static uint64_t draw_below(void *ctx, uint64_t bound)
{
    return next_byte(ctx) % bound;
}

/* Mostly small numbers, so that epochs meet. */
static int32_t next_number(struct machine *m)
{
    uint8_t b = next_byte(m);
    return b < 240 ? b % 6 : b < 245 ? -1 : b < 250 ? -2 : b == 250 ? INT32_MAX : b == 251 ? INT32_MIN : b * 1000;
}

static struct str pick(struct machine *m, const char *const *names, size_t count)
{
    return str_of(names[next_byte(m) % count]);
}

static struct str next_group(struct machine *m)
{
    static const char *const names[] = {"g-0", "g-0", "g-1", ""};
    return pick(m, names, COUNT_OF(names));
}

static struct str next_member(struct machine *m)
{
    static const char *const names[] = {"m-0", "m-1", "m-2", "m-3", ""};
    return pick(m, names, COUNT_OF(names));
}

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

static struct str maybe(struct machine *m, struct str s)
{
    return next_byte(m) % 2 == 0 ? STR_NULL : s;
}

/* ---- the state ----------------------------------------------------------------------------------------------------------- */

static void make_record(struct machine *m)
{
    MUSTER_CHECK(group_apply(m->set, ++m->index, draw_streams_record(&m->draw), &m->arena));
}

static void make_topic(struct machine *m)
{
    struct topic_key key = {.name = next_topic(m)};
    struct topic_value value;
    wire_init(&wire_topic_value, &value);
    value.topic_id.b[0] = (uint8_t)(key.name.ptr[key.name.len - 1] * 2 + key.name.len);
    value.partitions = 1 + next_byte(m) % 6;
    bool gone = next_byte(m) % 4 == 0;
    struct record record = wire_record_encode(RECORD_TOPIC, &key, 0, gone ? NULL : &value, &m->arena);
    MUSTER_CHECK(group_apply(m->shard0, ++m->index, record, &m->arena));
}

static void make_config(struct machine *m)
{
    static const char *const configs[][3] = {
        {"streams.topology.update", "epoch", "reject"},  {"streams.topology.initialization", "explicit", "strict"},
        {"streams.num.standby.replicas", "1", "3"},      {"streams.num.warmup.replicas", "0", "x"},
        {"streams.warmup.mode", "lag", "none"},          {"streams.rack.aware.assignment.tags", "zone", "zone,rack"},
        {"streams.assignment.interval.ms", "0", "1000"}, {"streams.initial.rebalance.delay.ms", "0", "3000"}};
    size_t which = next_byte(m) % COUNT_OF(configs);
    struct config_key key = {.resource_type = 32, .resource_name = next_group(m), .name = str_of(configs[which][0])};
    struct config_value value = {.value = str_of(configs[which][1 + next_byte(m) % 2])};
    struct record record = wire_record_encode(RECORD_CONFIG, &key, 0, next_byte(m) % 4 == 0 ? NULL : &value, &m->arena);
    MUSTER_CHECK(group_apply(m->shard0, ++m->index, record, &m->arena));
}

/* ---- decisions -------------------------------------------------------------------------------------------------------------- */

static void fill(struct machine *m, struct group_op *op)
{
    op->settings = &m->settings;
    op->topics = &m->topics;
    op->catalog = m->shard0;
    op->api_key = -1;
    op->clock_ms = m->clock_ms;
    op->wall_ms = 1700000000000 + m->clock_ms;
    op->next_index = m->index + 1;
    op->caller = (struct group_caller){STR("c"), STR("/127.0.0.1")};
}

static void check_same(const struct group_out *a, const struct group_out *b)
{
    MUSTER_CHECK(a->records.len == b->records.len && a->verdict == b->verdict && a->error == b->error && strcmp(a->rule, b->rule) == 0);
    for (size_t i = 0; i < a->records.len; i++) {
        MUSTER_CHECK(bytes_eq(a->records.v[i].key, b->records.v[i].key) && bytes_eq(a->records.v[i].value, b->records.v[i].value));
    }
}

static void check_overlay(struct machine *m, const struct group_op *op, const struct group_out *out)
{
    if (group_op_class(op->kind) != GROUP_CLASS_MEMBERSHIP) {
        return;
    }
    struct group_set *overlay = group_overlay_new(m->set, op->group_id);
    struct group_out again;
    group_decide(overlay, op, &m->arena, &again);
    check_same(out, &again);
    for (size_t i = 0; i < out->records.len; i++) {
        MUSTER_CHECK(group_apply(overlay, 0, out->records.v[i], &m->arena));
    }
    group_decide(overlay, op, &m->arena, &again); /* on what the first would leave */
    group_overlay_free(overlay);
}

/* The state that an answer was made of is gone when it is written. response NULL: it is a part of one. */
static void decide(struct machine *m, struct group_op *op, const struct wire_msg *response)
{
    struct group_out out;
    fill(m, op);
    group_decide(m->set, op, &m->arena, &out);
    check_overlay(m, op, &out);
    for (size_t i = 0; i < out.records.len; i++) {
        MUSTER_CHECK(group_apply(m->set, ++m->index, out.records.v[i], &m->arena));
    }
    if (out.answer != NULL && response != NULL) {
        int16_t version = op->api_version > response->max_version ? response->max_version : op->api_version;
        (void)wire_encode(response, version, out.answer, &m->arena);
    }
    if (out.assign && m->job == NULL) {
        m->job = group_job_new(m->set, op, GROUP_JOB_ASSIGN);
        if (m->job != NULL) {
            group_job_run(m->job);
        }
    }
}

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

static void ask_timer(struct machine *m)
{
    struct group_op op = {.kind = GROUP_TIMER, .group_id = next_group(m)};
    op.timer.kind = (enum group_timer_kind)(next_byte(m) % (GROUP_TIMER_ASSIGN + 1));
    op.timer.member_id = next_member(m);
    op.timer.epoch = next_number(m);
    decide(m, &op, NULL);
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

/* A job is made of the state as it is now; its result comes back when there are other things to do in between, or not. */
static void job(struct machine *m)
{
    if (m->job == NULL) {
        struct group_op op = {.kind = GROUP_JOB_DONE, .group_id = next_group(m)};
        fill(m, &op);
        m->job = group_job_new(m->set, &op, next_byte(m) % 2 == 0 ? GROUP_JOB_ASSIGN : GROUP_JOB_RESOLVE);
        if (m->job != NULL) {
            group_job_run(m->job);
        }
        return;
    }
    struct group_job *back = m->job;
    decide(m, &(struct group_op){.kind = GROUP_JOB_DONE, .group_id = group_job_group(back), .job = back}, NULL);
    group_job_free(back);
    m->job = NULL;
}

static void count_timer(void *ctx, const struct group_timer_wish *wish)
{
    MUSTER_CHECK(wish->delay_ms >= 0 && !str_is_null(wish->timer.member_id));
    ++*(int *)ctx;
}

static void failover(struct machine *m)
{
    int timers = 0;
    struct group_listing listing;
    group_set_timers(m->set, m->shard0, &m->settings, m->clock_ms, count_timer, &timers);
    for (struct str id = group_set_next(m->set, STR_NULL); !str_is_null(id); id = group_set_next(m->set, id)) {
        MUSTER_CHECK(group_listing(m->set, id, &listing));
        (void)group_needs_takeover(m->set, id);
    }
    m->clock_ms += next_byte(m) * 50;
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
    struct group_set *copy = group_set_new(&pool, 1);
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

/* ---- the program ---------------------------------------------------------------------------------------------------------------- */

static void step(struct machine *m)
{
    static void (*const steps[])(struct machine * m) = {make_record,   make_record,    make_record,
                                                        make_topic,    make_topic,     make_config,
                                                        ask_heartbeat, ask_heartbeat,  ask_heartbeat,
                                                        ask_heartbeat, ask_initialize, ask_description,
                                                        ask_commit,    ask_join,       ask_timer,
                                                        ask_plain,     ask_created,    job,
                                                        job,           failover,       cut};
    steps[next_byte(m) % COUNT_OF(steps)](m);
}

static void begin(struct machine *m, const uint8_t *data, size_t size)
{
    *m = (struct machine){.at = data + 1, .left = size - 1};
    m->set = group_set_new(&m->pool, 1);
    m->shard0 = group_set_new(&m->pool, 0);
    m->settings = (struct group_settings){.max_session_timeout_ms = INT32_MAX,
                                          .offsets_retention_ms = 5000,
                                          .group_max_size = 5,
                                          .max_partitions_per_topic = 1000,
                                          .default_partitions = 1,
                                          .default_replication_factor = 1,
                                          .node_count = 3,
                                          .streams = {.session_timeout_ms = 45000,
                                                      .heartbeat_interval_ms = 5000,
                                                      .assignment_interval_ms = data[0] % 2 * 1000,
                                                      .initial_rebalance_delay_ms = data[0] / 2 % 2 * 3000,
                                                      .max_size = data[0] / 4 % 2 == 0 ? 2 : INT32_MAX,
                                                      .num_warmup_replicas = 2,
                                                      .acceptable_recovery_lag = 2,
                                                      .rack_aware_assignment_tags = STR(""),
                                                      .assignor_offload = data[0] / 8 % 2 == 0,
                                                      .initialize_timeout_ms = -1,
                                                      .max_subtopologies = 10,
                                                      .max_topology_topics = 100}};
    arena_init(&m->arena, 0);
    catalog_topics(m->shard0, &m->topics);
    m->draw = (struct record_draw){.ctx = m, .below = draw_below, .arena = &m->arena, .groups = 2, .members = 3};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 14) {
        return 0;
    }
    struct machine m;
    begin(&m, data, size);
    while (m.left > 0) {
        step(&m);
        arena_clear(&m.arena);
    }
    if (m.cutting) {
        cut_end(&m);
    }
    cut_begin(&m);
    cut_end(&m);
    group_job_free(m.job);
    group_set_free(m.set);
    group_set_free(m.shard0);
    MUSTER_CHECK(m.pool.bytes == 0 && m.pool.objects == 0);
    arena_fini(&m.arena);
    return 0;
}
