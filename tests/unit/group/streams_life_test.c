/* streams_life_test.c: what is read off the records of a streams group: its type, its state, its members; and groups that change their type (B13) or are deleted
 * and made again (B36), record by record. */
#include "tests.h"

#include <string.h>

#include "state.h"
#include "streams/streams.h"

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

/* ---- records ------------------------------------------------------------------------------------------------------------------ */

static struct record group_record(struct fixture *f, const char *group, int32_t epoch, int8_t problem)
{
    struct streams_group_metadata_key key = {.group_id = str_of(group)};
    struct streams_group_metadata_value value = streams_group_value(NULL, &f->arena);
    value.epoch = epoch;
    value.topology_problem = problem;
    return wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &value, &f->arena);
}

static struct record assignment_record(struct fixture *f, const char *group, int32_t epoch)
{
    struct streams_group_target_assignment_metadata_key key = {.group_id = str_of(group)};
    struct streams_group_target_assignment_metadata_value value = {.assignment_epoch = epoch};
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &value, &f->arena);
}

static struct record topology_record(struct fixture *f, const char *group)
{
    struct streams_group_topology_key key = {.group_id = str_of(group)};
    struct streams_group_topology_value_subtopology sub;
    struct streams_group_topology_value value;
    struct str source = STR("ta");
    wire_init_type(wire_streams_group_topology_value.type->fields[1].type, &sub);
    wire_init(&wire_streams_group_topology_value, &value);
    sub.subtopology_id = STR("0");
    sub.source_topics = (struct str_array){&source, 1};
    value.epoch = 3;
    value.subtopologies.v = &sub;
    value.subtopologies.len = 1;
    return wire_record_encode(RECORD_STREAMS_GROUP_TOPOLOGY, &key, 0, &value, &f->arena);
}

static struct record member_record(struct fixture *f, const char *group, const char *member, const char *instance)
{
    struct streams_group_member_metadata_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct streams_group_member_metadata_value value;
    struct streams_group_member_metadata_value_key_value tag = {STR("zone"), STR("z1")};
    struct streams_group_member_metadata_value_endpoint endpoint = {STR("host"), 9};
    wire_init(&wire_streams_group_member_metadata_value, &value);
    value.instance_id = str_of(instance);
    value.rack_id = STR_NULL;
    value.process_id = STR("process");
    value.client_tags.v = &tag;
    value.client_tags.len = 1;
    value.user_endpoint = &endpoint;
    return wire_record_encode(RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, 0, &value, &f->arena);
}

static struct unit tasks_of_two[] = {{STR("0"), 0, 5}, {STR("0"), 1, 5}};

static struct record target_record(struct fixture *f, const char *group, const char *member)
{
    struct streams_group_target_assignment_member_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct holding target = {{{tasks_of_two, 2}}};
    const void *value = streams_kind.target_value(&target, &f->arena);
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, value, &f->arena);
}

static struct record current_record(struct fixture *f, const char *group, const char *member, int32_t epoch, enum member_state state)
{
    struct streams_group_current_member_assignment_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct member_position position = {.epoch = epoch,
                                       .previous_epoch = epoch - 1,
                                       .state = state,
                                       .assigned = {{{tasks_of_two, 1}, {tasks_of_two + 1, 1}}}};
    const void *value = streams_kind.current_value(&position, &f->arena);
    return wire_record_encode(RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, value, &f->arena);
}

static struct record offsets_record_of(struct fixture *f, const char *group, const char *member)
{
    struct streams_task_offsets_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct streams_task_offsets_value_task_offset offset = {STR("0"), 1, 77};
    struct streams_task_offsets_value value = {.task_offsets = {&offset, 1}};
    return wire_record_encode(RECORD_STREAMS_TASK_OFFSETS, &key, 0, &value, &f->arena);
}

static struct record classic_record(struct fixture *f, const char *group, int8_t state)
{
    struct classic_group_key key = {.group_id = str_of(group)};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.state = state;
    return wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, &f->arena);
}

static struct record classic_member(struct fixture *f, const char *group, const char *member)
{
    struct classic_member_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct classic_member_value value;
    wire_init(&wire_classic_member_value, &value);
    return wire_record_encode(RECORD_CLASSIC_MEMBER, &key, 0, &value, &f->arena);
}

static struct record committed(struct fixture *f, const char *group, int64_t offset)
{
    struct offset_commit_key key = {.group = str_of(group), .topic = STR("ta"), .partition = 0};
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

static const struct modern *streams_of(struct fixture *f, const char *group)
{
    return group_find(f->set, str_of(group))->streams;
}

static void assert_listed(struct fixture *f, const struct group_set *set, const char *group, const char *type, const char *state)
{
    (void)f;
    struct group_listing listing;
    assert_true(group_listing(set, str_of(group), &listing));
    assert_true(str_eq(listing.type, str_of(type)));
    assert_true(str_eq(listing.state, str_of(state)));
    assert_true(str_eq(listing.protocol_type, str_of(strcmp(type, "streams") == 0 ? "streams" : "consumer")));
}

/* ---- state ---------------------------------------------------------------------------------------------------------------------- */

static void states_follow_from_the_records(void **state)
{
    struct fixture *f = *state;
    apply(f, group_record(f, "g", 2, -1));
    assert_int_equal(streams_state(streams_of(f, "g")), STREAMS_INITIALIZING);
    assert_listed(f, f->set, "g", "streams", "Empty");
    apply(f, member_record(f, "g", "m", NULL));
    assert_int_equal(streams_state(streams_of(f, "g")), STREAMS_INITIALIZING);
    assert_listed(f, f->set, "g", "streams", "NotReady");
    assert_string_equal(streams_state_name(group_find(f->set, STR("g")), false), "Initializing");
    apply(f, topology_record(f, "g"));
    assert_listed(f, f->set, "g", "streams", "Assigning");
    apply(f, group_record(f, "g", 2, TOPOLOGY_MISSING_SOURCES));
    assert_listed(f, f->set, "g", "streams", "NotReady");
    apply(f, group_record(f, "g", 2, -1));
    apply(f, assignment_record(f, "g", 2));
    assert_listed(f, f->set, "g", "streams", "Reconciling"); /* the member has no position yet */
    apply(f, current_record(f, "g", "m", 2, MEMBER_UNREVOKED));
    assert_listed(f, f->set, "g", "streams", "Reconciling");
    apply(f, current_record(f, "g", "m", 1, MEMBER_STABLE));
    assert_listed(f, f->set, "g", "streams", "Reconciling");
    apply(f, current_record(f, "g", "m", 2, MEMBER_STABLE));
    assert_listed(f, f->set, "g", "streams", "Stable");
    apply(f, current_record(f, "g", "unknown", 1, MEMBER_UNREVOKED)); /* no member: nobody to wait for */
    assert_listed(f, f->set, "g", "streams", "Stable");
    apply(f, group_record(f, "g", 3, -1));
    assert_listed(f, f->set, "g", "streams", "Assigning");
    bury(f, member_record(f, "g", "m", NULL));
    assert_listed(f, f->set, "g", "streams", "Empty");
    assert_false(group_needs_takeover(f->set, STR("g")));
}

static void members_are_found(void **state)
{
    struct fixture *f = *state;
    assert_null(modern_find(NULL, STR("m")));
    assert_null(modern_by_instance(NULL, STR("i")));
    apply(f, current_record(f, "g", "m1", 5, MEMBER_UNRELEASED));
    const struct modern *s = streams_of(f, "g");
    assert_null(modern_find(s, STR("m1"))); /* a position makes no member */
    apply(f, member_record(f, "g", "m1", "i1"));
    apply(f, member_record(f, "g", "m2", NULL));
    apply(f, target_record(f, "g", "m1"));
    const struct modern_slot *m1 = modern_find(s, STR("m1")), *m2 = modern_find(s, STR("m2"));
    assert_true(m1 != NULL && m2 != NULL && m1 != m2);
    assert_ptr_equal(modern_by_instance(s, STR("i1")), m1);
    assert_null(modern_by_instance(s, STR("i2")));
    assert_null(modern_by_instance(s, STR_NULL));
    struct member_position p = modern_position(m1), none = modern_position(m2);
    assert_true(p.epoch == 5 && p.previous_epoch == 4 && p.state == MEMBER_UNRELEASED && p.assigned.kind[UNITS_ACTIVE].len == 1);
    assert_int_equal(p.assigned.kind[UNITS_ACTIVE].v[0].epoch, 5);
    assert_true(none.epoch == 0 && none.state == MEMBER_STABLE && holding_count(&none.assigned) == 0);
    struct holding target = modern_target(m1), no_target = modern_target(m2);
    assert_int_equal(target.kind[UNITS_ACTIVE].len, 2);
    assert_int_equal(holding_count(&no_target), 0);
    /* A static member is replaced: whichever record comes first, the instance is found. */
    apply(f, member_record(f, "g", "m3", "i1"));
    bury(f, member_record(f, "g", "m1", NULL));
    assert_true(str_eq(modern_by_instance(s, STR("i1"))->member_id, STR("m3")));
    apply(f, member_record(f, "g", "m3", "i2"));
    assert_null(modern_by_instance(s, STR("i1")));
    assert_true(str_eq(modern_by_instance(s, STR("i2"))->member_id, STR("m3")));
}

/* What this version writes is kept decoded only; active tasks carry their epochs even when these are 0, standby tasks none. */
static void records_of_ours_are_not_kept_twice(void **state)
{
    struct fixture *f = *state;
    struct record records[] = {group_record(f, "g", 2, 3),      assignment_record(f, "g", 2), topology_record(f, "g"),
                               member_record(f, "g", "m", "i"), target_record(f, "g", "m"),   current_record(f, "g", "m", 2, MEMBER_STABLE),
                               offsets_record_of(f, "g", "m")};
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        apply(f, records[i]);
    }
    const struct modern *s = streams_of(f, "g");
    const struct modern_slot *slot = &s->slots[0];
    assert_true(s->raw.len < 0 && s->assignment_raw.len < 0 && s->topology->raw.len < 0);
    assert_true(slot->member->raw.len < 0 && slot->target.raw.len < 0 && slot->current->raw.len < 0 && slot->offsets->raw.len < 0);
    struct unit away[] = {{STR("0"), 0, 0}, {STR("0"), 2, 0}, {STR("1"), 0, 0}};
    struct member_position position = {.assigned = {{{away, 3}, {away, 2}}}};
    const struct streams_group_current_member_assignment_value *v = streams_kind.current_value(&position, &f->arena);
    assert_int_equal(v->active_tasks.len, 2);
    assert_int_equal(v->active_tasks.v[0].partitions.len, 2);
    assert_int_equal(v->active_tasks.v[0].assignment_epochs.len, 2);
    assert_int_equal(v->active_tasks.v[1].assignment_epochs.len, 1);
    assert_int_equal(v->standby_tasks.len, 1);
    assert_int_equal(v->standby_tasks.v[0].assignment_epochs.len, -1);
}

static void records_of_others_are_kept_as_they_came(void **state)
{
    struct fixture *f = *state;
    int32_t partitions[] = {1, 0, 1};
    struct streams_group_target_assignment_member_value_task_ids ids[] = {{STR("b"), {partitions, 3}}, {STR("a"), {partitions, 1}}};
    struct streams_group_target_assignment_member_value value = {.active_tasks = {ids, 2}};
    struct streams_group_target_assignment_member_key key = {.group_id = STR("g"), .member_id = STR("m")};
    struct record r = wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &value, &f->arena), back;
    apply(f, r);
    struct units active = modern_target(&streams_of(f, "g")->slots[0]).kind[UNITS_ACTIVE];
    assert_int_equal(active.len, 3); /* in order, each once */
    assert_true(str_eq(active.v[0].name, STR("a")) && active.v[1].partition == 0 && active.v[2].partition == 1);
    assert_true(modern_record(&streams_kind, group_find(f->set, STR("g")), r.key, &f->arena, &back));
    assert_true(bytes_eq(back.value, r.value));
}

/* ---- the type of a group ------------------------------------------------------------------------------------------------------------ */

static void the_type_is_streams_while_its_metadata_is_live(void **state)
{
    struct fixture *f = *state;
    apply(f, classic_record(f, "g", 1));
    assert_true(group_needs_takeover(f->set, STR("g")));
    apply(f, topology_record(f, "g"));
    apply(f, member_record(f, "g", "m", NULL));
    assert_listed(f, f->set, "g", "classic", "PreparingRebalance");
    uint64_t phase = group_phase(f->set, STR("g"));
    apply(f, group_record(f, "g", 1, -1));
    assert_listed(f, f->set, "g", "streams", "Assigning");
    assert_true(group_phase(f->set, STR("g")) > phase); /* who waits for the classic group is asked again */
    assert_false(group_needs_takeover(f->set, STR("g")));
    phase = group_phase(f->set, STR("g"));
    apply(f, group_record(f, "g", 2, -1));
    assert_true(group_phase(f->set, STR("g")) == phase);
    bury(f, group_record(f, "g", 2, -1));
    assert_listed(f, f->set, "g", "classic", "PreparingRebalance");
    assert_true(group_phase(f->set, STR("g")) > phase);
    assert_true(group_needs_takeover(f->set, STR("g")));
}

static struct group_set *restored(struct fixture *f, size_t *ret_bytes)
{
    struct group_set *copy = group_set_new(&f->pool, 1);
    struct buf run;
    buf_init(&run, 0);
    group_snapshot_begin(f->set);
    while (group_snapshot_next(f->set, 50, &run)) {
    }
    group_snapshot_end(f->set);
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &f->scratch), 0);
    assert_true(group_set_hash(copy) == group_set_hash(f->set));
    *ret_bytes = run.len;
    buf_fini(&run);
    return copy;
}

static struct record streams_life(struct fixture *f, int i)
{
    switch (i) {
    case 0:
        return member_record(f, "g", "m", "i");
    case 1:
        return topology_record(f, "g");
    case 2:
        return group_record(f, "g", 2, -1);
    case 3:
        return target_record(f, "g", "m");
    case 4:
        return assignment_record(f, "g", 2);
    case 5:
        return current_record(f, "g", "m", 2, MEMBER_STABLE);
    default:
        return offsets_record_of(f, "g", "m");
    }
}
enum { STREAMS_LIFE = 7 };

static void assert_converted(struct fixture *f, const struct group_set *set)
{
    assert_listed(f, set, "g", "streams", "Stable");
    struct offset o;
    assert_true(offsets_find(group_find(set, STR("g")), STR("ta"), 0, &o) && o.offset == 42);
    assert_true(modern_position(modern_find(group_find(set, STR("g"))->streams, STR("m"))).epoch == 2);
}

/* B13: a classic group is emptied and becomes a streams group; what is left of the log after compaction begins with its offset, and with the tombstones of what
 * nobody has seen. */
static void a_converted_group_is_loaded_in_any_order(void **state)
{
    struct fixture *f = *state;
    struct record all[STREAMS_LIFE + 3];
    for (int i = 0; i < STREAMS_LIFE; i++) {
        all[i] = streams_life(f, i);
    }
    all[STREAMS_LIFE] = committed(f, "g", 42);
    all[STREAMS_LIFE + 1] = (struct record){classic_record(f, "g", 0).key, BYTES_NULL};
    all[STREAMS_LIFE + 2] = (struct record){classic_member(f, "g", "c").key, BYTES_NULL};
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
        assert_converted(f, f->set);
        size_t bytes;
        struct group_set *copy = restored(f, &bytes);
        assert_converted(f, copy);
        group_set_free(copy);
        group_set_clear(f->set);
    }
}

/* The conversion as a leader logs it: the classic group goes and the streams group comes in one entry, and the offset stays. */
static void a_conversion_is_one_entry(void **state)
{
    struct fixture *f = *state;
    apply(f, classic_record(f, "g", 3));
    apply(f, classic_member(f, "g", "c"));
    apply(f, committed(f, "g", 42));
    bury(f, classic_member(f, "g", "c"));
    apply(f, classic_record(f, "g", 0));
    for (int i = 0; i < STREAMS_LIFE; i++) {
        apply(f, streams_life(f, i));
    }
    assert_converted(f, f->set); /* both are live: the streams group is in force */
    size_t both, one;
    struct group_set *copy = restored(f, &both);
    assert_converted(f, copy);
    assert_true(group_find(copy, STR("g"))->classic.exists);
    group_set_free(copy);
    bury(f, classic_record(f, "g", 0));
    assert_converted(f, f->set);
    group_set_free(restored(f, &one));
    assert_true(one < both);
}

/* B36: a hundred lives under one id, each of another type; nothing is left of those before, in the state or in a snapshot of it. */
static void lives_under_one_id_leave_nothing(void **state)
{
    struct fixture *f = *state;
    size_t first_bytes = 0, first_snapshot = 0;
    size_t empty = f->pool.bytes;
    for (int round = 0; round < 100; round++) {
        bool is_classic = round % 3 == 1;
        struct record lives[STREAMS_LIFE + 1];
        int count = 0;
        if (is_classic) {
            lives[count++] = classic_record(f, "g", 3);
            lives[count++] = classic_member(f, "g", "m");
        }
        while (!is_classic && count < STREAMS_LIFE) {
            lives[count] = streams_life(f, count);
            count++;
        }
        lives[count++] = committed(f, "g", 1000 + round); /* all as wide, packed */
        for (int i = 0; i < count; i++) {
            apply(f, lives[i]);
        }
        assert_listed(f, f->set, "g", is_classic ? "classic" : "streams", "Stable");
        struct offset o;
        assert_true(offsets_find(group_find(f->set, STR("g")), STR("ta"), 0, &o) && o.offset == 1000 + round);
        if (round % 3 == 0) {
            size_t snapshot, bytes = f->pool.bytes;
            group_set_free(restored(f, &snapshot));
            first_bytes = round == 0 ? bytes : first_bytes;
            first_snapshot = round == 0 ? snapshot : first_snapshot;
            assert_int_equal(bytes, first_bytes);
            assert_int_equal(snapshot, first_snapshot);
        }
        for (int i = 0; i < count; i++) {
            bury(f, lives[round % 2 == 0 ? i : count - 1 - i]);
        }
        assert_true(str_is_null(group_set_next(f->set, STR_NULL)));
        assert_true(group_set_hash(f->set) == 0);
        assert_int_equal(f->pool.bytes, empty);
        arena_clear(&f->arena);
    }
}

int run_streams_life_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_follow_from_the_records, setup, teardown),
        cmocka_unit_test_setup_teardown(members_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_ours_are_not_kept_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_others_are_kept_as_they_came, setup, teardown),
        cmocka_unit_test_setup_teardown(the_type_is_streams_while_its_metadata_is_live, setup, teardown),
        cmocka_unit_test_setup_teardown(a_converted_group_is_loaded_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_conversion_is_one_entry, setup, teardown),
        cmocka_unit_test_setup_teardown(lives_under_one_id_leave_nothing, setup, teardown),
    };
    return cmocka_run_group_tests_name("streams life", tests, NULL, NULL);
}
