/* consumer_records_test.c: what is read off the records of a consumer group: its type, its state, its members; and groups whose type changes, record by record. */
#include "tests.h"

#include <string.h>

#include "consumer/consumer.h"

struct fixture {
    struct pool pool;
    struct group_set *set;
    struct arena arena, scratch;
};

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    f->set = group_set_new(&f->pool, 1);
    arena_init(&f->arena, 0);
    arena_init(&f->scratch, 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
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

/* ---- records of group g ---------------------------------------------------------------------------------------------------------- */

static const struct uuid first_topic = {{1}}, second_topic = {{2}};

static struct record group_record(struct fixture *f, int32_t epoch)
{
    struct consumer_group_metadata_key key = {.group_id = STR("g")};
    struct consumer_group_metadata_value value;
    wire_init(&wire_consumer_group_metadata_value, &value);
    value.epoch = epoch;
    value.metadata_hash = 77;
    return wire_record_encode(RECORD_CONSUMER_GROUP_METADATA, &key, 0, &value, &f->arena);
}

static struct record assignment_record(struct fixture *f, int32_t epoch)
{
    struct consumer_group_target_assignment_metadata_key key = {.group_id = STR("g")};
    struct consumer_group_target_assignment_metadata_value value = {.assignment_epoch = epoch,
                                                                    .assignment_timestamp = 1000,
                                                                    .assignment_clock_ms = 10};
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &value, &f->arena);
}

static struct record regex_record(struct fixture *f, int32_t count)
{
    struct str topics[] = {STR("ta"), STR("tb")};
    struct consumer_group_regular_expression_key key = {.group_id = STR("g"), .regular_expression = STR("t.*")};
    struct consumer_group_regular_expression_value value = {.topics = {topics, count}, .version = 3, .timestamp = 1000};
    return wire_record_encode(RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION, &key, 0, &value, &f->arena);
}

static struct record member_of_topics(struct fixture *f, const char *member, const char *instance, struct str_array topics)
{
    struct consumer_group_member_metadata_key key = {.group_id = STR("g"), .member_id = str_of(member)};
    struct consumer_group_member_metadata_value value;
    wire_init(&wire_consumer_group_member_metadata_value, &value);
    value.instance_id = str_of(instance);
    value.rack_id = STR("rack");
    value.client_id = STR("client");
    value.client_host = STR("/127.0.0.1");
    value.subscribed_topic_names = topics;
    value.subscribed_topic_regex = STR_NULL;
    value.server_assignor = STR("range");
    return wire_record_encode(RECORD_CONSUMER_GROUP_MEMBER_METADATA, &key, 0, &value, &f->arena);
}

static struct record member_record(struct fixture *f, const char *member, const char *instance)
{
    static struct str topics[] = {{"ta", 2}, {"tb", 2}};
    return member_of_topics(f, member, instance, (struct str_array){topics, 2});
}

static struct record classic_member_record(struct fixture *f, const char *member)
{
    struct consumer_group_member_metadata_key key = {.group_id = STR("g"), .member_id = str_of(member)};
    struct consumer_group_member_metadata_value_classic_protocol protocols[] = {{STR("range"), bytes_of_str(STR("subscription"))},
                                                                                {STR("sticky"), bytes_of_str(STR(""))}};
    struct consumer_group_member_metadata_value_classic_member_metadata classic = {.session_timeout_ms = 9000,
                                                                                   .supported_protocols = {protocols, 2}};
    struct consumer_group_member_metadata_value value;
    wire_init(&wire_consumer_group_member_metadata_value, &value);
    value.instance_id = STR_NULL;
    value.rack_id = STR_NULL;
    value.subscribed_topic_regex = STR_NULL;
    value.server_assignor = STR_NULL;
    value.classic_member_metadata = &classic;
    return wire_record_encode(RECORD_CONSUMER_GROUP_MEMBER_METADATA, &key, 0, &value, &f->arena);
}

static struct record target_record(struct fixture *f, const char *member)
{
    int32_t partitions[] = {0, 1, 4};
    struct consumer_group_target_assignment_member_key key = {.group_id = STR("g"), .member_id = str_of(member)};
    struct consumer_group_target_assignment_member_value_topic_partition topics[] = {{first_topic, {partitions, 3}},
                                                                                     {second_topic, {partitions + 1, 1}}};
    struct consumer_group_target_assignment_member_value value = {.topic_partitions = {topics, 2}};
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &value, &f->arena);
}

static struct record current_record(struct fixture *f, const char *member, int32_t epoch, int8_t state)
{
    int32_t partitions[] = {0, 1}, epochs[] = {epoch, epoch - 1};
    struct consumer_group_current_member_assignment_key key = {.group_id = STR("g"), .member_id = str_of(member)};
    struct consumer_group_current_member_assignment_value_topic_partitions assigned = {first_topic, {partitions, 2}, {epochs, 2}};
    struct consumer_group_current_member_assignment_value_topic_partitions revoking = {second_topic, {partitions, 1}, {epochs, 1}};
    struct consumer_group_current_member_assignment_value value = {.member_epoch = epoch,
                                                                   .previous_member_epoch = epoch - 1,
                                                                   .state = state,
                                                                   .assigned_partitions = {&assigned, 1},
                                                                   .partitions_pending_revocation = {&revoking, state == 1 ? 1 : 0}};
    return wire_record_encode(RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, &value, &f->arena);
}

static struct record streams_record(struct fixture *f)
{
    struct streams_group_metadata_key key = {.group_id = STR("g")};
    struct streams_group_metadata_value value;
    wire_init(&wire_streams_group_metadata_value, &value);
    return wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &value, &f->arena);
}

static struct record classic_record(struct fixture *f, int8_t group_state)
{
    struct classic_group_key key = {.group_id = STR("g")};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.state = group_state;
    return wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, &f->arena);
}

static struct record committed(struct fixture *f, int64_t offset)
{
    struct offset_commit_key key = {.group = STR("g"), .topic = STR("ta"), .partition = 0};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = offset;
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &f->arena);
}

static void apply(struct fixture *f, struct record r)
{
    assert_true(group_apply(f->set, 1, r, &f->scratch));
    arena_clear(&f->scratch);
}

static void bury(struct fixture *f, struct record r)
{
    apply(f, (struct record){r.key, BYTES_NULL});
}

static const struct group *group_of(struct fixture *f)
{
    return group_find(f->set, STR("g"));
}

static void assert_listed(const struct group_set *set, const char *type, const char *state)
{
    struct group_listing listing;
    assert_true(group_listing(set, STR("g"), &listing));
    assert_true(str_eq(listing.type, str_of(type)));
    assert_true(str_eq(listing.state, str_of(state)));
    assert_true(str_eq(listing.protocol_type, str_of(strcmp(type, "streams") == 0 ? "streams" : "consumer")));
}

/* ---- state ---------------------------------------------------------------------------------------------------------------------- */

static void states_follow_from_the_records(void **state)
{
    struct fixture *f = *state;
    apply(f, group_record(f, 2));
    assert_listed(f->set, "consumer", "Empty");
    apply(f, member_record(f, "m", NULL));
    assert_listed(f->set, "consumer", "Assigning");
    apply(f, assignment_record(f, 2));
    assert_listed(f->set, "consumer", "Reconciling"); /* the member has no position yet */
    apply(f, current_record(f, "m", 2, 1));
    assert_listed(f->set, "consumer", "Reconciling");
    apply(f, current_record(f, "m", 2, 2));
    assert_listed(f->set, "consumer", "Reconciling");
    apply(f, current_record(f, "m", 1, 0));
    assert_listed(f->set, "consumer", "Reconciling");
    apply(f, current_record(f, "m", 2, 0));
    assert_listed(f->set, "consumer", "Stable");
    apply(f, current_record(f, "unknown", 1, 1)); /* no member: nobody to wait for */
    assert_listed(f->set, "consumer", "Stable");
    apply(f, group_record(f, 3));
    assert_listed(f->set, "consumer", "Assigning");
    bury(f, member_record(f, "m", NULL));
    assert_listed(f->set, "consumer", "Empty");
    assert_false(group_needs_takeover(f->set, STR("g")));
}

static void what_a_member_says_is_read(void **state)
{
    struct fixture *f = *state;
    struct str names[] = {STR("tb"), STR("ta"), STR("tb")};
    struct record unsorted = member_of_topics(f, "m", "i", (struct str_array){names, 3}), back;
    apply(f, unsorted);
    const struct modern *s = group_of(f)->consumer;
    const struct modern_member *m = modern_find(s, STR("m"))->member;
    assert_true(m->topics.len == 2 && str_eq(m->topics.v[0], STR("ta")) && str_eq(m->topics.v[1], STR("tb"))); /* in order, each once */
    assert_true(str_is_null(m->regex) && str_eq(m->assignor, STR("range")) && str_eq(m->rack_id, STR("rack")));
    assert_true(str_eq(m->client_id, STR("client")) && m->rebalance_timeout_ms == -1 && !m->is_classic);
    assert_ptr_equal(modern_by_instance(s, STR("i"))->member, m);
    assert_true(m->raw.len >= 0); /* it would be written in another order */
    assert_true(modern_record(&consumer_kind, group_of(f), unsorted.key, &f->arena, &back) && bytes_eq(back.value, unsorted.value));
    assert_int_equal(s->classic_count, 0);
    apply(f, classic_member_record(f, "c"));
    m = modern_find(s, STR("c"))->member;
    assert_true(m->is_classic && m->classic_session_timeout_ms == 9000 && m->protocol_count == 2);
    assert_true(str_eq(m->protocols[0].name, STR("range")) && bytes_eq(m->protocols[0].metadata, bytes_of_str(STR("subscription"))));
    assert_true(str_eq(m->protocols[1].name, STR("sticky")) && m->protocols[1].metadata.len == 0);
    assert_int_equal(s->classic_count, 1);
    assert_int_equal(s->member_count, 2);
    apply(f, member_record(f, "c", NULL)); /* it speaks the new protocol now */
    assert_int_equal(s->classic_count, 0);
    apply(f, classic_member_record(f, "m"));
    bury(f, classic_member_record(f, "m"));
    assert_int_equal(s->classic_count, 0);
    assert_int_equal(s->member_count, 1);
}

/* The state of a member counts from 0 in these records, and units are named by the bytes of the topic id. */
static void positions_and_targets_are_read(void **state)
{
    struct fixture *f = *state;
    static const enum member_state states[] = {MEMBER_STABLE, MEMBER_UNREVOKED, MEMBER_UNRELEASED};
    apply(f, member_record(f, "m", NULL));
    apply(f, target_record(f, "m"));
    const struct modern_slot *slot = modern_find(group_of(f)->consumer, STR("m"));
    struct units target = modern_target(slot).kind[UNITS_ACTIVE];
    assert_int_equal(target.len, 4);
    assert_true(uuid_eq(topic_of_unit(target.v[0].name), first_topic) && target.v[2].partition == 4);
    assert_true(uuid_eq(topic_of_unit(target.v[3].name), second_topic) && target.v[3].partition == 1);
    for (int8_t i = 0; i < 3; i++) {
        apply(f, current_record(f, "m", 5, i));
        struct member_position p = modern_position(slot);
        assert_int_equal(p.state, states[i]);
        assert_true(p.epoch == 5 && p.previous_epoch == 4);
        struct units assigned = p.assigned.kind[UNITS_ACTIVE];
        assert_true(assigned.len == 2 && assigned.v[0].epoch == 5 && assigned.v[1].epoch == 4);
        assert_true(str_eq(assigned.v[0].name, unit_of_topic(&first_topic)));
        assert_int_equal(p.revoking.kind[UNITS_ACTIVE].len, i == 1 ? 1 : 0);
    }
}

static void regular_expressions_are_found(void **state)
{
    struct fixture *f = *state;
    apply(f, regex_record(f, 2));
    struct regex_table table = modern_regexes(group_of(f)->consumer, &f->arena);
    const struct regex_topics *matched = regex_table_find(&table, STR("t.*"));
    assert_true(matched != NULL && matched->topics.len == 2 && str_eq(matched->topics.v[1], STR("tb")));
    assert_null(regex_table_find(&table, STR("t")));
    assert_null(regex_table_find(&table, STR("u")));
    apply(f, regex_record(f, 0));
    assert_int_equal(group_of(f)->consumer->regex_count, 1);
    bury(f, regex_record(f, 0));
    assert_null(group_of(f)); /* nothing else is live */
    table = modern_regexes(NULL, &f->arena);
    assert_null(regex_table_find(&table, STR("t.*")));
}

static void records_of_ours_are_not_kept_twice(void **state)
{
    struct fixture *f = *state;
    struct record records[] = {group_record(f, 2),    assignment_record(f, 2),      member_record(f, "m", "i"),
                               target_record(f, "m"), current_record(f, "m", 2, 1), classic_member_record(f, "n"),
                               regex_record(f, 2),    current_record(f, "n", 2, 0)};
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        apply(f, records[i]);
    }
    const struct modern *s = group_of(f)->consumer;
    assert_true(s->raw.len < 0 && s->assignment_raw.len < 0 && s->regexes[0]->raw.len < 0);
    assert_true(s->slots[0].member->raw.len < 0 && s->slots[0].target.raw.len < 0 && s->slots[0].current->raw.len < 0);
    assert_true(s->slots[1].member->raw.len < 0 && s->slots[1].current->raw.len < 0);
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        struct record back;
        assert_true(modern_record(&consumer_kind, group_of(f), records[i].key, &f->arena, &back));
        assert_true(bytes_eq(back.key, records[i].key) && bytes_eq(back.value, records[i].value));
    }
}

/* ---- the type of a group ------------------------------------------------------------------------------------------------------------ */

static void the_type_is_that_of_the_live_metadata(void **state)
{
    struct fixture *f = *state;
    assert_null(group_modern(NULL));
    apply(f, classic_record(f, 1));
    assert_null(group_modern(group_of(f)));
    apply(f, member_record(f, "m", NULL)); /* a record of a consumer group alone does not make one */
    assert_listed(f->set, "classic", "PreparingRebalance");
    uint64_t phase = group_phase(f->set, STR("g"));
    apply(f, group_record(f, 2));
    assert_listed(f->set, "consumer", "Assigning");
    assert_ptr_equal(group_modern(group_of(f)), group_of(f)->consumer);
    assert_true(group_phase(f->set, STR("g")) > phase); /* who waits for the classic group is asked again */
    assert_false(group_needs_takeover(f->set, STR("g")));
    apply(f, streams_record(f)); /* both at once: records in an odd order, whose other half is yet to come (KAFKA-20254) */
    assert_listed(f->set, "streams", "Empty");
    assert_ptr_equal(group_modern(group_of(f)), group_of(f)->streams);
    bury(f, streams_record(f));
    assert_listed(f->set, "consumer", "Assigning");
    assert_null(group_of(f)->streams);
    bury(f, group_record(f, 2));
    assert_listed(f->set, "classic", "PreparingRebalance");
    assert_true(group_needs_takeover(f->set, STR("g")));
    bury(f, classic_record(f, 1));
    assert_non_null(group_of(f)); /* its member record is live */
    bury(f, member_record(f, "m", NULL));
    assert_null(group_of(f));
}

static void assert_converted(const struct group_set *set)
{
    assert_listed(set, "consumer", "Stable");
    const struct group *g = group_find(set, STR("g"));
    struct offset o;
    assert_true(offsets_find(g, STR("ta"), 0, &o) && o.offset == 42);
    assert_int_equal(g->consumer->member_count, 2);
    assert_int_equal(g->consumer->classic_count, 1);
    assert_true(g->streams == NULL && !g->classic.exists);
}

static void assert_restores(struct fixture *f)
{
    struct group_set *copy = group_set_new(&f->pool, 1);
    struct buf run;
    buf_init(&run, 0);
    group_snapshot_begin(f->set);
    while (group_snapshot_next(f->set, 50, &run)) {
    }
    group_snapshot_end(f->set);
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &f->scratch), 0);
    arena_clear(&f->scratch);
    assert_true(group_set_hash(copy) == group_set_hash(f->set));
    assert_converted(copy);
    group_set_free(copy);
    buf_fini(&run);
}

/* An upgrade of a classic group, read back in whatever order a compacted log has it, with the tombstones of what it was. */
static void a_converted_group_is_loaded_in_any_order(void **state)
{
    struct fixture *f = *state;
    struct record all[] = {group_record(f, 2),
                           assignment_record(f, 2),
                           member_record(f, "m", NULL),
                           target_record(f, "m"),
                           current_record(f, "m", 2, 0),
                           classic_member_record(f, "c"),
                           current_record(f, "c", 2, 0),
                           regex_record(f, 2),
                           committed(f, 42),
                           {classic_record(f, 0).key, BYTES_NULL},
                           {streams_record(f).key, BYTES_NULL}};
    struct prng prng;
    prng_seed(&prng, 13);
    for (int round = 0; round < 200; round++) {
        for (size_t i = COUNT_OF(all) - 1; i > 0; i--) {
            size_t k = round == 0 ? i : (size_t)prng_below(&prng, i + 1);
            struct record swap = all[i];
            all[i] = all[k];
            all[k] = swap;
        }
        for (size_t i = 0; i < COUNT_OF(all); i++) {
            apply(f, all[i]);
        }
        assert_converted(f->set);
        assert_restores(f);
        group_set_clear(f->set);
    }
}

int run_consumer_records_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_follow_from_the_records, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_member_says_is_read, setup, teardown),
        cmocka_unit_test_setup_teardown(positions_and_targets_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(regular_expressions_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_ours_are_not_kept_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(the_type_is_that_of_the_live_metadata, setup, teardown),
        cmocka_unit_test_setup_teardown(a_converted_group_is_loaded_in_any_order, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
