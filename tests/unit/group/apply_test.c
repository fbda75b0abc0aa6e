/* apply_test.c: entries, their checks, and replay of whatever order. */
#include "tests.h"

#include <muster/group.h>
#include <string.h>

struct fixture {
    struct pool pool;
    struct group_set *set;
    struct arena arena, scratch;
    int groups_told;
};

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    f->set = group_set_new(&f->pool, 3);
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

static struct record group_record(struct fixture *f, const char *group, int32_t generation, int8_t state)
{
    struct classic_group_key key = {.group_id = str_of(group)};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.generation = generation;
    value.state = state;
    value.leader = STR("m1");
    return wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, &f->arena);
}

static struct record member_record(struct fixture *f, const char *group, const char *member, int32_t join_generation)
{
    struct classic_member_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct classic_member_value value;
    struct classic_member_value_classic_protocol protocols[] = {{STR("range"), bytes_of_str(STR("x"))},
                                                                {STR("range"), bytes_of_str(STR("y"))}};
    wire_init(&wire_classic_member_value, &value);
    value.session_timeout_ms = 10000;
    value.join_generation = join_generation;
    value.protocols.v = protocols;
    value.protocols.len = 2;
    return wire_record_encode(RECORD_CLASSIC_MEMBER, &key, 0, &value, &f->arena);
}

static struct record assignment_record(struct fixture *f, const char *group, const char *member, const char *bytes)
{
    struct classic_assignment_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct classic_assignment_value value = {.generation = 1, .assignment = bytes_of_str(str_of(bytes))};
    return wire_record_encode(RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value, &f->arena);
}

static struct record pending_record(struct fixture *f, const char *group, const char *member)
{
    struct classic_pending_id_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct classic_pending_id_value value = {.session_timeout_ms = 6000};
    return wire_record_encode(RECORD_CLASSIC_PENDING_ID, &key, 0, &value, &f->arena);
}

static struct record tombstone(struct record of)
{
    return (struct record){of.key, BYTES_NULL};
}

static void told(void *ctx, struct str group_id)
{
    struct fixture *f = ctx;
    assert_false(str_is_null(group_id));
    f->groups_told++;
}

struct named {
    const char *group;
    int64_t revision;
};

static const char *apply_entry(struct fixture *f, int64_t clock, const struct named *named, int32_t named_count,
                               const struct record *records, int32_t count)
{
    struct log_entry entry;
    wire_init(&wire_log_entry, &entry);
    entry.shard_clock_ms = clock;
    entry.groups.len = named_count;
    entry.groups.v = ARENA_NEW(&f->arena, struct log_entry_group_revision, named_count);
    for (int32_t i = 0; i < named_count; i++) {
        entry.groups.v[i] = (struct log_entry_group_revision){.group_id = str_of(named[i].group), .revision = named[i].revision};
    }
    entry.records.len = count;
    entry.records.v = ARENA_NEW(&f->arena, struct log_entry_entry_record, count);
    for (int32_t i = 0; i < count; i++) {
        entry.records.v[i] = (struct log_entry_entry_record){.key = records[i].key, .value = records[i].value};
    }
    const char *why = NULL;
    struct bytes bytes = wire_encode(&wire_log_entry, 0, &entry, &f->arena);
    bool good = group_apply_entry(f->set, 1, bytes, &f->scratch, told, f, &why);
    assert_int_equal(good, why == NULL);
    return why;
}

/* ---- entries ----------------------------------------------------------------------------------------------------------- */

static void revisions_are_checked(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 0);
    assert_null(apply_entry(f, 5, &(struct named){"g", 0}, 1, &r, 1));
    assert_int_equal(group_revision(f->set, STR("g")), 1);
    assert_null(apply_entry(f, 9, &(struct named){"g", 1}, 1, &r, 1));
    assert_int_equal(group_revision(f->set, STR("g")), 2);
    assert_int_equal(f->groups_told, 2);
    assert_string_equal(apply_entry(f, 9, &(struct named){"g", 1}, 1, &r, 1), "the entry was decided on another revision of a group");
    assert_int_equal(group_revision(f->set, STR("g")), 2);
    assert_int_equal(group_set_clock(f->set), 9);
}

static void a_deleted_group_begins_again(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 0), gone = tombstone(r);
    assert_null(apply_entry(f, 1, &(struct named){"g", 0}, 1, &r, 1));
    assert_null(apply_entry(f, 1, &(struct named){"g", 1}, 1, &gone, 1));
    assert_int_equal(group_revision(f->set, STR("g")), 0);
    assert_true(str_is_null(group_set_next(f->set, STR_NULL)));
    assert_true(group_set_hash(f->set) == 0);
    assert_null(apply_entry(f, 1, &(struct named){"g", 0}, 1, &r, 1));
    assert_int_equal(group_revision(f->set, STR("g")), 1);
    struct record both[] = {gone, r}; /* within one entry it is the same group */
    assert_null(apply_entry(f, 1, &(struct named){"g", 1}, 1, both, 2));
    assert_int_equal(group_revision(f->set, STR("g")), 2);
}

static void entries_name_their_groups(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 0);
    assert_string_equal(apply_entry(f, 1, &(struct named){"h", 0}, 1, &r, 1), "the entry changes a group that its header does not name");
    assert_string_equal(apply_entry(f, 1, NULL, 0, &r, 1), "the entry changes a group that its header does not name");
}

static void a_group_may_be_named_without_records(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 0);
    struct named both[] = {{"g", 0}, {"h", 0}};
    assert_null(apply_entry(f, 1, both, 2, &r, 1));
    assert_int_equal(group_revision(f->set, STR("h")), 0);
    assert_int_equal(f->groups_told, 2);
}

static void damage_is_told(void **state)
{
    struct fixture *f = *state;
    struct record unreadable = {bytes_of_str(STR("\x40")), BYTES_NULL};
    assert_string_equal(apply_entry(f, 1, NULL, 0, &unreadable, 1), "a record of the entry cannot be read");
    struct record unknown = {bytes_of_str(STR("\x70\x01zz")), BYTES_NULL};
    assert_string_equal(apply_entry(f, 1, NULL, 0, &unknown, 1), "the entry holds a record of a newer version");
    struct group_metadata_key key = {.group = STR("g")};
    struct record foreign = wire_record_encode(RECORD_GROUP_METADATA, &key, 0, NULL, &f->arena);
    assert_string_equal(apply_entry(f, 1, NULL, 0, &foreign, 1), "the entry holds a record that this version cannot apply");
    const char *why = NULL;
    assert_false(group_apply_entry(f->set, 1, bytes_of_str(STR("no")), &f->scratch, NULL, NULL, &why));
    assert_string_equal(why, "the entry cannot be read");
}

static struct record offset_record(struct fixture *f, const char *group, const char *topic, int32_t partition, int64_t offset)
{
    struct offset_commit_key key = {.group = str_of(group), .topic = str_of(topic), .partition = partition};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = offset;
    value.metadata = STR("m");
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &f->arena);
}

/* Keys that differ in their last bytes alone are not decoded one by one: the state is the same as from records that come one by one. */
static void neighbours_are_applied_as_alone(void **state)
{
    struct fixture *f = *state;
    struct record one = offset_record(f, "g", "tt", 1, 7);
    struct record all[] = {one,
                           offset_record(f, "g", "tt", 2, 8),
                           offset_record(f, "g", "tt", 0x01020304, 9),
                           tombstone(one),
                           offset_record(f, "g", "uu", 1, 10), /* a topic as long */
                           offset_record(f, "h", "uu", 1, 11), /* a group as long */
                           offset_record(f, "ht", "u", 1, 12), /* the key as long */
                           group_record(f, "h", 1, 0),
                           offset_record(f, "h", "uu", 2, 13),
                           tombstone(offset_record(f, "h", "uu", 2, 0)),
                           offset_record(f, "h", "uu", 1, 14)};
    const struct named groups[] = {{"g", 0}, {"h", 0}, {"ht", 0}};
    struct pool pool = {0};
    struct group_set *alone = group_set_new(&pool, 3), *restored = group_set_new(&pool, 3);
    struct buf run;
    buf_init(&run, 0);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        uint8_t len[4];
        struct bytes parts[] = {all[i].key, all[i].value};
        assert_true(group_apply(alone, 1, all[i], &f->scratch));
        for (size_t k = 0; k < 2 && all[i].value.len >= 0; k++) {
            put_be32(len, (uint32_t)parts[k].len);
            assert_int_equal(buf_put(&run, len, sizeof len), 0);
            assert_int_equal(buf_put(&run, parts[k].ptr, (size_t)parts[k].len), 0);
        }
    }
    assert_null(apply_entry(f, 1, groups, 3, all, COUNT_OF(all)));
    assert_true(group_set_hash(f->set) != 0);
    assert_true(group_set_hash(f->set) == group_set_hash(alone));
    assert_int_equal(group_restore(restored, (struct bytes){run.ptr, (int32_t)run.len}, &f->scratch), 0);
    const struct record gone[] = {all[3], all[9]};
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        assert_true(group_apply(restored, 1, gone[i], &f->scratch));
    }
    assert_true(group_set_hash(restored) == group_set_hash(alone));
    group_set_free(alone);
    group_set_free(restored);
    buf_fini(&run);
}

static void damage_among_neighbours_is_told(void **state)
{
    struct fixture *f = *state;
    struct record both[] = {offset_record(f, "g", "t", 1, 7), offset_record(f, "g", "t", 2, 8)};
    const struct bytes whole = both[1].value;
    uint8_t longer[128];
    assert_true((size_t)whole.len < sizeof(longer));
    memcpy(longer, whole.ptr, (size_t)whole.len);
    longer[whole.len] = 0;
    for (int32_t len = 0; len <= whole.len + 1; len++) {
        both[1].value = (struct bytes){longer, len};
        const char *why = apply_entry(f, 1, &(struct named){"g", group_revision(f->set, STR("g"))}, 1, both, 2);
        if (len == whole.len) {
            assert_null(why);
        } else {
            assert_string_equal(why, "a record of the entry cannot be read");
        }
    }
    assert_string_equal(apply_entry(f, 1, &(struct named){"h", 0}, 1, both, 1), "the entry changes a group that its header does not name");
}

static void hashes_of_others_are_no_state(void **state)
{
    struct fixture *f = *state;
    struct state_hash_key key = {.shard = 3};
    struct state_hash_value value = {.index = 7, .hash = 8};
    struct record r = wire_record_encode(RECORD_STATE_HASH, &key, 0, &value, &f->arena);
    assert_null(apply_entry(f, 1, NULL, 0, &r, 1));
    assert_true(group_set_hash(f->set) == 0);
}

static void the_cursor_is_kept(void **state)
{
    struct fixture *f = *state;
    struct catalog_cursor_key key = {.shard = 3};
    struct catalog_cursor_value value = {.catalog_index = 42};
    struct record r = wire_record_encode(RECORD_CATALOG_CURSOR, &key, 0, &value, &f->arena);
    assert_null(apply_entry(f, 1, NULL, 0, &r, 1));
    assert_int_equal(group_set_cursor(f->set), 42);
    assert_true(group_set_hash(f->set) != 0);
    value.catalog_index = 43;
    r = wire_record_encode(RECORD_CATALOG_CURSOR, &key, 0, &value, &f->arena);
    assert_null(apply_entry(f, 1, NULL, 0, &r, 1));
    r = tombstone(r);
    assert_null(apply_entry(f, 1, NULL, 0, &r, 1));
    assert_int_equal(group_set_cursor(f->set), 0);
    assert_true(group_set_hash(f->set) == 0);
}

/* ---- replay ---------------------------------------------------------------------------------------------------------------- */

static void apply_all(struct fixture *f, struct group_set *set, const struct record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(group_apply(set, 1, records[i], &f->scratch));
    }
}

static void order_does_not_show_in_the_hash(void **state)
{
    struct fixture *f = *state;
    struct record records[] = {group_record(f, "g", 1, 3),          group_record(f, "h", 4, 0),  member_record(f, "g", "m1", 1),
                               member_record(f, "g", "m2", 1),      pending_record(f, "h", "p"), assignment_record(f, "g", "m1", "a"),
                               assignment_record(f, "g", "m2", "b")};
    apply_all(f, f->set, records, COUNT_OF(records));
    struct prng prng;
    prng_seed(&prng, 1);
    for (int round = 0; round < 20; round++) {
        struct record other[COUNT_OF(records)];
        memcpy(other, records, sizeof other);
        for (size_t i = 4; i > 0; i--) { /* an assignment follows its member */
            size_t k = (size_t)prng_below(&prng, i + 1);
            struct record swap = other[i];
            other[i] = other[k];
            other[k] = swap;
        }
        struct group_set *set = group_set_new(&f->pool, 3);
        apply_all(f, set, other, COUNT_OF(other));
        assert_true(group_set_hash(set) == group_set_hash(f->set));
        group_set_free(set);
    }
}

static void replay_is_lenient(void **state)
{
    struct fixture *f = *state;
    struct record group = group_record(f, "g", 1, 3), m1 = member_record(f, "g", "m1", 1), a1 = assignment_record(f, "g", "m1", "a");
    struct record odd[] = {tombstone(group), tombstone(m1), tombstone(a1), tombstone(pending_record(f, "g", "p")), a1};
    apply_all(f, f->set, odd, COUNT_OF(odd));
    assert_true(group_set_hash(f->set) == 0);
    assert_true(str_is_null(group_set_next(f->set, STR_NULL)));
    struct record more[] = {m1, a1, a1, m1, group, tombstone(group), tombstone(a1), a1};
    apply_all(f, f->set, more, COUNT_OF(more));
    uint64_t hash = group_set_hash(f->set);
    struct record again[] = {tombstone(m1), m1, a1};
    apply_all(f, f->set, again, COUNT_OF(again));
    assert_true(group_set_hash(f->set) == hash);
    struct record end = tombstone(m1); /* takes the assignment along */
    apply_all(f, f->set, &end, 1);
    assert_true(group_set_hash(f->set) == 0);
    assert_true(str_is_null(group_set_next(f->set, STR_NULL)));
}

static void a_state_of_another_version_reads_as_empty(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 77);
    apply_all(f, f->set, &r, 1);
    struct group_listing listing;
    assert_true(group_listing(f->set, STR("g"), &listing));
    assert_true(str_eq(listing.state, STR("Empty")));
    assert_true(str_eq(listing.type, STR("classic")));
    assert_true(str_eq(listing.protocol_type, STR("consumer")));
    assert_false(group_listing(f->set, STR("h"), &listing));
}

static void phases_never_repeat(void **state)
{
    struct fixture *f = *state;
    struct record r = group_record(f, "g", 1, 0), gone = tombstone(r);
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        apply_all(f, f->set, &r, 1);
        assert_true(group_phase(f->set, STR("g")) > last);
        last = group_phase(f->set, STR("g"));
        apply_all(f, f->set, &gone, 1);
        assert_true(group_phase(f->set, STR("g")) == 0);
    }
}

static void many_groups_are_found_and_listed_in_order(void **state)
{
    struct fixture *f = *state;
    enum { MANY = 3000 };
    for (int i = 0; i < MANY; i++) {
        struct str id = arena_printf(&f->arena, "g-%d", i * 7919 % MANY);
        struct record r = group_record(f, id.ptr, i, 0);
        apply_all(f, f->set, &r, 1);
    }
    struct group_set_counts counts;
    group_set_counts(f->set, &counts);
    assert_int_equal(counts.groups, MANY);
    int seen = 0;
    struct str last = STR_NULL;
    for (struct str id = group_set_next(f->set, STR_NULL); !str_is_null(id); id = group_set_next(f->set, id)) {
        assert_true(str_cmp(last, id) < 0);
        last = id;
        seen++;
    }
    assert_int_equal(seen, MANY);
    assert_true(str_eq(group_set_next(f->set, STR("g-1")), STR("g-10")));
    assert_true(str_eq(group_set_next(f->set, STR("a")), STR("g-0")));
    assert_true(str_is_null(group_set_next(f->set, STR("z"))));
}

static struct record topic_record(struct fixture *f, const char *name, uint8_t id)
{
    struct topic_key key = {.name = str_of(name)};
    struct topic_value value = {.topic_id = {{id}}, .partitions = 1};
    return wire_record_encode(RECORD_TOPIC, &key, 0, &value, &f->arena);
}

static void doubled_topic_ids_tear_nothing(void **state)
{
    struct fixture *f = *state;
    struct record a = topic_record(f, "a", 1), b = topic_record(f, "b", 1), b2 = topic_record(f, "b", 2);
    struct record records[] = {a, b, b2, b, tombstone(a), a, tombstone(b), tombstone(a), b2};
    apply_all(f, f->set, records, COUNT_OF(records));
    struct catalog_topic topic;
    assert_true(catalog_find_topic_id(f->set, (struct uuid){{2}}, &topic) && str_eq(topic.name, STR("b")));
    assert_false(catalog_find_topic_id(f->set, (struct uuid){{1}}, &topic));
    assert_false(catalog_find_topic(f->set, STR("a"), &topic));
}

int run_apply_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(revisions_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_deleted_group_begins_again, setup, teardown),
        cmocka_unit_test_setup_teardown(entries_name_their_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_may_be_named_without_records, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(neighbours_are_applied_as_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_among_neighbours_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(hashes_of_others_are_no_state, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cursor_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(order_does_not_show_in_the_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(replay_is_lenient, setup, teardown),
        cmocka_unit_test_setup_teardown(a_state_of_another_version_reads_as_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(phases_never_repeat, setup, teardown),
        cmocka_unit_test_setup_teardown(doubled_topic_ids_tear_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(many_groups_are_found_and_listed_in_order, setup, teardown),
    };
    return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
