#include "fixture.h"

#include "group_defaults.h"

/* ---- topics ----------------------------------------------------------------------------------------------------------------- */

static bool by_name(const void *ctx, struct str name, struct topic_view *ret)
{
    const struct fixture *f = ctx;
    for (int i = 0; i < f->topic_count; i++) {
        if (str_eq(f->topic[i].name, name)) {
            *ret = f->topic[i];
            return true;
        }
    }
    return false;
}

static bool by_id(const void *ctx, struct uuid id, struct topic_view *ret)
{
    const struct fixture *f = ctx;
    for (int i = 0; i < f->topic_count; i++) {
        if (uuid_eq(f->topic[i].id, id)) {
            *ret = f->topic[i];
            return true;
        }
    }
    return false;
}

static bool was_deleted(const void *ctx, struct uuid id)
{
    (void)ctx;
    (void)id;
    return false;
}

static bool next_topic(const void *ctx, struct str after, struct topic_view *ret)
{
    const struct fixture *f = ctx;
    const struct topic_view *best = NULL;
    for (int i = 0; i < f->topic_count; i++) {
        if (str_cmp(f->topic[i].name, after) > 0 && (best == NULL || str_cmp(f->topic[i].name, best->name) < 0)) {
            best = &f->topic[i];
        }
    }
    if (best != NULL) {
        *ret = *best;
    }
    return best != NULL;
}

void fixture_topic(struct fixture *f, const char *name, int32_t partitions)
{
    struct topic_view there;
    struct topic_view topic = {.name = str_of(name), .partitions = partitions};
    if (by_name(f, topic.name, &there)) {
        for (int i = 0; i < f->topic_count; i++) {
            f->topic[i].partitions = str_eq(f->topic[i].name, topic.name) ? partitions : f->topic[i].partitions;
        }
        return;
    }
    assert_true(f->topic_count < FIXTURE_TOPICS);
    topic.id.b[15] = (uint8_t)(f->topic_count + 1);
    f->topic[f->topic_count++] = topic;
}

/* ---- life -------------------------------------------------------------------------------------------------------------------- */

int fixture_setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    f->set = group_set_new(&f->pool, 1);
    arena_init(&f->arena, 0);
    arena_init(&f->scratch, 0);
    f->topics = (struct topics){.ctx = f, .by_name = by_name, .by_id = by_id, .was_deleted = was_deleted, .next = next_topic};
    f->settings = group_defaults();
    f->settings.offsets_retention_ms = 1000;
    f->settings.streams.assignment_interval_ms = f->settings.streams.initial_rebalance_delay_ms = 0;
    f->settings.streams.max_subtopologies = f->settings.streams.max_topology_topics = 100;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    group_set_free(f->set);
    assert_int_equal(f->pool.bytes, 0);
    assert_int_equal(f->pool.objects, 0);
    arena_fini(&f->arena);
    arena_fini(&f->scratch);
    test_free(f);
    return 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------------------- */

static void apply(struct fixture *f, struct record record)
{
    assert_true(group_apply(f->set, 1, record, &f->scratch));
    arena_clear(&f->scratch);
}

void fixture_apply(struct fixture *f, int16_t type, const void *key, const void *value)
{
    apply(f, wire_record_encode(type, key, MODERN_VALUE_VERSION, value, &f->arena));
}

void fixture_group(struct fixture *f, int32_t epoch, const struct streams_group_topology_value *t)
{
    struct streams_group_metadata_key key = {.group_id = STR("g")}; /* the others' are the same */
    struct streams_group_metadata_value value = streams_group_value(NULL, &f->arena);
    value.epoch = epoch;
    fixture_apply(f, RECORD_STREAMS_GROUP_METADATA, &key, &value);
    if (t != NULL) {
        fixture_apply(f, RECORD_STREAMS_GROUP_TOPOLOGY, &key, t);
    }
    struct streams_group_target_assignment_metadata_value assignment = {.assignment_epoch = epoch};
    fixture_apply(f, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, &assignment);
}

void fixture_member(struct fixture *f, const char *member_id, const struct member_position *position)
{
    struct streams_group_member_metadata_key key = {.group_id = STR("g"), .member_id = str_of(member_id)};
    struct streams_group_member_metadata_value member;
    wire_init(&wire_streams_group_member_metadata_value, &member);
    member.client_id = str_of(member_id);
    member.client_host = STR("/127.0.0.1");
    member.process_id = STR("p");
    fixture_apply(f, RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, &member);
    fixture_apply(f, RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, streams_kind.current_value(position, &f->arena));
}

struct group_out fixture_decide(struct fixture *f, enum group_op_kind kind, int16_t version, const void *request)
{
    struct group_out out;
    f->op = (struct group_op){.kind = kind,
                              .api_key = -1,
                              .api_version = version,
                              .group_id = STR("g"),
                              .request = request,
                              .caller = {STR("client"), STR("/127.0.0.1")},
                              .clock_ms = 1000,
                              .wall_ms = 2000,
                              .topics = &f->topics,
                              .catalog = NULL,
                              .settings = &f->settings};
    group_decide(f->set, &f->op, &f->arena, &out);
    for (size_t i = 0; i < out.records.len; i++) {
        apply(f, out.records.v[i]);
    }
    return out;
}
