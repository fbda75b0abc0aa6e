/* Groups counted bit by bit, while they come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "census.h"

enum { SHARDS = 3 };

struct fixture {
    struct pool pool;
    struct arena arena;
    struct group_set *sets[SHARDS];
    struct census census;
};

static int setup(void **state)
{
    static struct fixture f;
    memset(&f, 0, sizeof(f));
    arena_init(&f.arena, 0);
    census_init(&f.census);
    for (uint32_t i = 0; i < SHARDS; i++) {
        f.sets[i] = group_set_new(&f.pool, i);
    }
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    for (uint32_t i = 0; i < SHARDS; i++) {
        group_set_free(f->sets[i]);
    }
    census_fini(&f->census);
    arena_fini(&f->arena);
    assert_int_equal(f->pool.bytes, 0);
    return 0;
}

static void apply(struct fixture *f, int shard, struct record record)
{
    assert_true(group_apply(f->sets[shard], 1, record, &f->arena));
}

/* state: of a ClassicGroup record; -1: it goes. */
static void classic(struct fixture *f, int shard, const char *id, int8_t state)
{
    struct classic_group_key key = {.group_id = str_of(id)};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.state = state;
    value.protocol_type = STR("consumer");
    apply(f, shard, wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, state < 0 ? NULL : &value, &f->arena));
}

static void consumer(struct fixture *f, int shard, const char *id)
{
    struct consumer_group_metadata_key key = {.group_id = str_of(id)};
    struct consumer_group_metadata_value value;
    wire_init(&wire_consumer_group_metadata_value, &value);
    apply(f, shard, wire_record_encode(RECORD_CONSUMER_GROUP_METADATA, &key, 0, &value, &f->arena));
}

static void streams(struct fixture *f, int shard, const char *id)
{
    struct streams_group_metadata_key key = {.group_id = str_of(id)};
    struct streams_group_metadata_value value;
    wire_init(&wire_streams_group_metadata_value, &value);
    apply(f, shard, wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &value, &f->arena));
}

static uint64_t counted(const struct fixture *f, const char *type, const char *state)
{
    for (size_t t = 0; t < CENSUS_TYPES; t++) {
        for (size_t s = 0; strcmp(census_types[t].type, type) == 0 && s < census_types[t].state_count; s++) {
            if (strcmp(census_types[t].states[s], state) == 0) {
                return f->census.counted[t][s];
            }
        }
    }
    fail_msg("no such state: %s %s", type, state);
    return 0;
}

static int steps(struct fixture *f, int most)
{
    const struct group_set *sets[SHARDS] = {f->sets[0], NULL, f->sets[2]}; /* shard 1 is served elsewhere */
    int count = 0;
    while (f->census.running) {
        census_step(&f->census, sets, SHARDS, most);
        assert_true(++count < 1000);
    }
    return count;
}

static void every_group_is_counted_once(void **state)
{
    struct fixture *f = *state;
    for (int8_t i = 0; i < 4; i++) {
        char id[] = {'c', (char)('0' + i), 0};
        classic(f, 0, id, i);
    }
    classic(f, 1, "elsewhere", 0);
    classic(f, 2, "", 0);
    consumer(f, 2, "k1");
    consumer(f, 2, "k2");
    streams(f, 0, "s");
    assert_false(f->census.known);
    for (int most = 1; most < 20; most++) {
        census_begin(&f->census);
        int count = steps(f, most);
        assert_true(most > 1 || count >= 8); /* as many as there are groups, at least */
        assert_true(f->census.known);
        assert_int_equal(counted(f, "classic", "Empty"), 2);
        assert_int_equal(counted(f, "classic", "PreparingRebalance"), 1);
        assert_int_equal(counted(f, "classic", "CompletingRebalance"), 1);
        assert_int_equal(counted(f, "classic", "Stable"), 1);
        assert_int_equal(counted(f, "consumer", "Empty"), 2);
        assert_int_equal(counted(f, "streams", "Empty"), 1);
        assert_int_equal(counted(f, "streams", "Stable"), 0);
    }
}

/* What comes behind the one that was looked at last counts, what went does not; the count before is shown until the new one is whole. */
static void groups_may_come_and_go_meanwhile(void **state)
{
    struct fixture *f = *state;
    const struct group_set *sets[SHARDS] = {f->sets[0], f->sets[1], f->sets[2]};
    classic(f, 0, "b", 0);
    classic(f, 0, "d", 0);
    census_begin(&f->census);
    census_step(&f->census, sets, SHARDS, 1); /* b */
    assert_false(f->census.known);
    classic(f, 0, "a", 0);
    classic(f, 0, "b", -1);
    classic(f, 0, "c", 0);
    census_step(&f->census, sets, SHARDS, 100);
    assert_int_equal(counted(f, "classic", "Empty"), 3); /* b, c, d */
    census_begin(&f->census);
    census_step(&f->census, sets, SHARDS, 1);
    assert_int_equal(counted(f, "classic", "Empty"), 3);
    group_set_clear(f->sets[0]); /* a snapshot takes its place */
    census_step(&f->census, sets, SHARDS, 100);
    assert_int_equal(counted(f, "classic", "Empty"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_group_is_counted_once, setup, teardown),
        cmocka_unit_test_setup_teardown(groups_may_come_and_go_meanwhile, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
