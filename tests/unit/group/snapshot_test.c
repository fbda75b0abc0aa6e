/* snapshot_test.c: snapshots are a consistent cut, however long they take and whatever happens meanwhile. */
#include "random.h"
#include "state.h"
#include "tests.h"

#include <string.h>

enum { SEEDS = 60 };

struct summary {
    uint64_t hash;
    int64_t clock, cursor, groups, members, offsets, revisions;
};

static void summarize(const struct group_set *set, struct summary *ret)
{
    struct group_set_counts counts;
    group_set_counts(set, &counts);
    memset(ret, 0, sizeof *ret);
    *ret = (struct summary){.hash = group_set_hash(set), .clock = group_set_clock(set), .cursor = group_set_cursor(set)};
    ret->groups = counts.groups;
    ret->members = counts.members;
    ret->offsets = counts.offsets;
    for (struct str id = group_set_next(set, STR_NULL); !str_is_null(id); id = group_set_next(set, id)) {
        ret->revisions = ret->revisions * 31 + group_revision(set, id);
    }
}

static void assert_same(const struct summary *a, const struct summary *b)
{
    assert_true(a->hash == b->hash);
    assert_int_equal(a->clock, b->clock);
    assert_int_equal(a->cursor, b->cursor);
    assert_int_equal(a->groups, b->groups);
    assert_int_equal(a->members, b->members);
    assert_int_equal(a->offsets, b->offsets);
    assert_int_equal(a->revisions, b->revisions);
}

static void move_cursor(struct random_world *r, int64_t index)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct catalog_cursor_key key = {.shard = 1};
    struct catalog_cursor_value value = {.catalog_index = index};
    struct record record = wire_record_encode(RECORD_CATALOG_CURSOR, &key, 0, &value, &arena);
    world_apply(&r->world, &record, 1);
    arena_fini(&arena);
}

/* Takes a snapshot in slices while the world goes on; gives what it restores to. */
static void take_while_living(struct random_world *r, struct summary *ret, int *ret_slices)
{
    struct pool pool = {0};
    struct group_set *copy = group_set_new(&pool, 1);
    struct arena arena;
    struct buf run;
    arena_init(&arena, 0);
    buf_init(&run, 0);
    size_t budget = 60 + prng_below(&r->prng, 400);
    int per_slice = (int)prng_below(&r->prng, 5);
    group_snapshot_begin(r->world.set);
    bool more = true;
    for (*ret_slices = 0; more; ++*ret_slices) {
        more = group_snapshot_next(r->world.set, budget, &run);
        for (int i = 0; i < per_slice; i++) {
            random_step(r);
        }
    }
    assert_true(group_snapshot_whole(r->world.set));
    group_snapshot_end(r->world.set);
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &arena), 0);
    summarize(copy, ret);
    buf_fini(&run);
    arena_fini(&arena);
    group_set_free(copy);
    assert_int_equal(pool.bytes, 0);
}

static void snapshots_are_a_cut(void **unused)
{
    (void)unused;
    int slices = 0, changed = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random_world r;
        random_init(&r, seed);
        r.world.check = false;
        move_cursor(&r, (int64_t)seed);
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 60; i++) {
                random_step(&r);
            }
            struct summary begin, restored, end;
            int taken;
            summarize(r.world.set, &begin);
            take_while_living(&r, &restored, &taken);
            summarize(r.world.set, &end);
            assert_same(&begin, &restored);
            slices += taken;
            changed += begin.hash != end.hash ? 1 : 0;
        }
        random_fini(&r);
    }
    assert_true(slices > SEEDS * 8 * 2);
    assert_true(changed > SEEDS * 2);
}

static void a_snapshot_can_be_given_up(void **unused)
{
    (void)unused;
    struct random_world r;
    random_init(&r, 7);
    r.world.check = false;
    struct buf run;
    buf_init(&run, 0);
    for (int i = 0; i < 200; i++) {
        if (i % 20 == 0) {
            group_snapshot_begin(r.world.set);
            assert_true(group_snapshot_next(r.world.set, 1, &run));
        }
        random_step(&r);
        if (i % 20 == 15) {
            group_snapshot_end(r.world.set);
        }
    }
    group_snapshot_begin(r.world.set);
    buf_fini(&run);
    random_fini(&r); /* freeing a set gives its snapshot up */
}

static void a_cleared_set_is_as_new(void **unused)
{
    (void)unused;
    struct random_world r;
    random_init(&r, 9);
    for (int i = 0; i < 100; i++) {
        random_step(&r);
    }
    group_set_clear(r.world.set);
    struct summary cleared, none = {0};
    summarize(r.world.set, &cleared);
    assert_same(&cleared, &none);
    random_fini(&r);
}

/* A bit of a member flips where it lies: what is written of it is not what was logged. */
static void a_state_that_changed_by_itself_is_found_out(void **unused)
{
    (void)unused;
    struct random_world r;
    random_init(&r, 13);
    r.world.check = false;
    struct classic_member *victim = NULL;
    for (int i = 0; victim == NULL; i++) {
        random_step(&r);
        for (struct str id = group_set_next(r.world.set, STR_NULL); !str_is_null(id); id = group_set_next(r.world.set, id)) {
            const struct group *g = group_find(r.world.set, id);
            if (g->classic.member_count > 0) {
                victim = (struct classic_member *)(uintptr_t)g->classic.members[0];
            }
        }
        assert_true(i < 10000);
    }
    struct buf run;
    buf_init(&run, 0);
    for (int round = 0; round < 2; round++) {
        victim->session_timeout_ms ^= round << 3;
        group_snapshot_begin(r.world.set);
        while (group_snapshot_next(r.world.set, 4096, &run)) {
        }
        assert_int_equal(group_snapshot_whole(r.world.set), round == 0);
        group_snapshot_end(r.world.set);
    }
    buf_fini(&run);
    random_fini(&r);
}

static void damage_is_refused(void **unused)
{
    (void)unused;
    struct random_world r;
    random_init(&r, 11);
    r.world.check = false;
    for (int i = 0; i < 100; i++) {
        random_step(&r);
    }
    struct buf run;
    struct arena arena;
    buf_init(&run, 0);
    arena_init(&arena, 0);
    group_snapshot_begin(r.world.set);
    while (group_snapshot_next(r.world.set, 4096, &run)) {
    }
    group_snapshot_end(r.world.set);
    struct pool pool = {0};
    struct group_set *copy = group_set_new(&pool, 1);
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len - 1}, &arena), MUSTER_E_MALFORMED);
    group_set_clear(copy);
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, 3}, &arena), MUSTER_E_MALFORMED);
    run.ptr[4] = 0x7f; /* the type of the first record */
    assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &arena), MUSTER_E_MALFORMED);
    group_set_free(copy);
    buf_fini(&run);
    arena_fini(&arena);
    random_fini(&r);
}

int run_snapshot_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_a_cut),     cmocka_unit_test(a_snapshot_can_be_given_up),
        cmocka_unit_test(a_cleared_set_is_as_new), cmocka_unit_test(a_state_that_changed_by_itself_is_found_out),
        cmocka_unit_test(damage_is_refused),
    };
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
