/* random_test.c: random lives. Each step is also decided on an overlay and written as a snapshot and restored (group_world.c). */
#include "random.h"
#include "tests.h"

enum { SEEDS = 40, STEPS = 400 };

static void random_lives_keep_the_invariants(void **unused)
{
    (void)unused;
    int64_t answers = 0, entries = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random_world r;
        random_init(&r, seed);
        for (int i = 0; i < STEPS; i++) {
            random_step(&r);
            check_invariants(r.world.set);
        }
        answers += r.answers;
        entries += r.world.entries;
        random_fini(&r);
    }
    assert_true(answers > SEEDS * STEPS / 4);
    assert_true(entries > SEEDS * STEPS / 8);
}

/* When everyone falls silent, time ends it: no request waits, no member stays, no timer runs. */
static void silence_ends_everything(void **unused)
{
    (void)unused;
    for (uint64_t seed = 100; seed < 100 + SEEDS; seed++) {
        struct random_world r;
        random_init(&r, seed);
        for (int i = 0; i < STEPS / 2; i++) {
            random_step(&r);
        }
        r.world.check = false;
        world_tick(&r.world, 3600000);
        struct group_set_counts counts;
        struct group_timer timer;
        int64_t due;
        group_set_counts(r.world.set, &counts);
        assert_int_equal(counts.members, 0);
        assert_null(r.world.requests);
        assert_false(world_timer_at(&r.world, 0, &timer, &due));
        check_invariants(r.world.set);
        random_fini(&r);
    }
}

/* Every member has a session timer unless a request of it waits: then one is armed when that is answered. */
static void members_have_sessions(void **unused)
{
    (void)unused;
    for (uint64_t seed = 200; seed < 200 + SEEDS; seed++) {
        struct random_world r;
        random_init(&r, seed);
        for (int i = 0; i < STEPS / 2; i++) {
            random_step(&r);
            int sessions = 0, waiting = 0;
            struct group_timer timer;
            int64_t due;
            for (int n = 0; world_timer_at(&r.world, n, &timer, &due); n++) {
                sessions += timer.kind == GROUP_TIMER_SESSION ? 1 : 0;
            }
            for (const struct world_request *q = r.world.requests; q != NULL; q = q->next) {
                waiting += q->op.kind == GROUP_SYNC ? 1 : 0;
            }
            struct group_set_counts counts;
            group_set_counts(r.world.set, &counts);
            assert_true(sessions <= counts.members && sessions + waiting >= counts.members);
        }
        random_fini(&r);
    }
}

/* ---- several decisions on one overlay -------------------------------------------------------------------------------------------- */

enum { BATCH = 5 };

struct batch {
    struct world_request *request[BATCH];
    struct group_out out[BATCH];
    int count;
};

/* A batch of membership requests of one group, as they may come in one turn. */
static void draw_batch(struct random_world *r, struct batch *b)
{
    b->count = 0;
    for (int tries = 0; b->count < BATCH && tries < 40; tries++) {
        struct world_request *q = random_request(r);
        bool member = group_op_class(q->op.kind) == GROUP_CLASS_MEMBERSHIP;
        bool same = b->count == 0 || str_eq(q->op.group_id, b->request[0]->op.group_id);
        if (member && same) {
            b->request[b->count++] = q;
        } else {
            world_request_free(q);
        }
    }
}

static void decide_on_overlay(struct random_world *r, struct batch *b)
{
    struct group_set *overlay = group_overlay_new(r->world.set, b->request[0]->op.group_id);
    struct arena scratch;
    arena_init(&scratch, 0);
    for (int i = 0; i < b->count; i++) {
        struct group_op *op = &b->request[i]->op;
        op->clock_ms = r->world.now_ms;
        op->wall_ms = 1700000000000 + r->world.now_ms;
        op->topics = &r->world.topics;
        op->settings = &r->world.settings;
        op->catalog = r->world.shard0;
        put_be32(op->fresh_id.b, (uint32_t)(r->world.index * 100 + (uint64_t)i));
        group_decide(overlay, op, &b->request[i]->arena, &b->out[i]);
        for (size_t k = 0; k < b->out[i].records.len; k++) {
            assert_true(group_apply(overlay, 0, b->out[i].records.v[k], &scratch));
        }
    }
    arena_fini(&scratch);
    group_overlay_free(overlay);
}

static void assert_same_records(const struct record_list *a, const struct record_list *b)
{
    assert_int_equal(a->len, b->len);
    for (size_t i = 0; i < a->len; i++) {
        assert_true(bytes_eq(a->v[i].key, b->v[i].key) && bytes_eq(a->v[i].value, b->v[i].value));
    }
}

/* The same one after the other, each applied before the next is decided. */
static void decide_on_base(struct random_world *r, struct batch *b)
{
    for (int i = 0; i < b->count; i++) {
        struct group_out out;
        group_decide(r->world.set, &b->request[i]->op, &b->request[i]->arena, &out);
        assert_same_records(&out.records, &b->out[i].records);
        assert_int_equal(out.verdict, b->out[i].verdict);
        assert_int_equal(out.error, b->out[i].error);
        assert_string_equal(out.rule, b->out[i].rule);
        world_apply(&r->world, out.records.v, out.records.len);
    }
}

static void overlays_decide_like_their_base(void **unused)
{
    (void)unused;
    int64_t records = 0;
    for (uint64_t seed = 300; seed < 300 + SEEDS; seed++) {
        struct random_world r;
        random_init(&r, seed);
        for (int i = 0; i < STEPS / 8; i++) {
            random_step(&r);
            struct batch b;
            draw_batch(&r, &b);
            if (b.count == 0) {
                continue;
            }
            uint64_t hash = group_set_hash(r.world.set);
            decide_on_overlay(&r, &b);
            assert_true(group_set_hash(r.world.set) == hash);
            check_invariants(r.world.set);
            decide_on_base(&r, &b);
            check_invariants(r.world.set);
            for (int k = 0; k < b.count; k++) {
                records += (int64_t)b.out[k].records.len;
                world_request_free(b.request[k]);
            }
            world_failover(&r.world); /* nobody armed timers for the batch */
        }
        random_fini(&r);
    }
    assert_true(records > SEEDS * 10);
}

int run_random_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives_keep_the_invariants),
        cmocka_unit_test(silence_ends_everything),
        cmocka_unit_test(members_have_sessions),
        cmocka_unit_test(overlays_decide_like_their_base),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
