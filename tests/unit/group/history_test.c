/* history_test.c: the state behind a group's history: records in any order, overlays, bounds, what it costs. What is recorded is in tests/golden/history_*.txt;
 * that it is what happened, every world of these tests checks (tests/lib/group_world.c). */
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "group_world.h"
#include "history/history.h"
#include "history_records.h"

struct fixture {
    struct pool pool;
    struct arena arena, scratch;
    struct prng prng;
    struct record_draw draw;
};

static uint64_t below(void *ctx, uint64_t bound)
{
    return prng_below(ctx, bound);
}

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    arena_init(&f->arena, 0);
    arena_init(&f->scratch, 0);
    prng_seed(&f->prng, 20);
    f->draw = (struct record_draw){.ctx = &f->prng, .below = below, .arena = &f->arena, .groups = 2, .members = 3};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->pool.bytes, 0);
    assert_int_equal(f->pool.objects, 0);
    arena_fini(&f->arena);
    arena_fini(&f->scratch);
    test_free(f);
    return 0;
}

static void apply(struct fixture *f, struct group_set *set, struct record r)
{
    assert_true(group_apply(set, 1, r, &f->scratch));
    arena_clear(&f->scratch);
}

/* ---- records ---------------------------------------------------------------------------------------------------------------------------- */

static bool same_key(struct record a, struct record b)
{
    return bytes_eq(a.key, b.key);
}

/* The last record of each key counts, and nothing but those. */
static void any_order_comes_to_the_same(void **state)
{
    enum { RECORDS = 60 };
    struct fixture *f = *state;
    for (int round = 0; round < 200; round++) {
        struct record v[RECORDS];
        struct group_set *set = group_set_new(&f->pool, 1), *other = group_set_new(&f->pool, 1);
        for (int i = 0; i < RECORDS; i++) {
            v[i] = draw_history_record(&f->draw);
            apply(f, set, v[i]);
        }
        for (int i = RECORDS - 1; i >= 0; i--) {
            bool replaced = false;
            for (int k = i + 1; k < RECORDS; k++) {
                replaced = replaced || same_key(v[i], v[k]);
            }
            if (!replaced) {
                apply(f, other, v[i]);
            }
        }
        struct group_set_counts a, b;
        group_set_counts(set, &a);
        group_set_counts(other, &b);
        assert_true(group_set_hash(set) == group_set_hash(other));
        assert_true(a.history_records == b.history_records && a.history_bytes == b.history_bytes && a.groups == b.groups);
        group_set_free(set);
        group_set_free(other);
        arena_clear(&f->arena);
    }
}

/* An overlay changes its own; what it shares goes with whoever is last. */
static void overlays_leave_their_base_alone(void **state)
{
    struct fixture *f = *state;
    struct group_set *set = group_set_new(&f->pool, 1);
    for (int i = 0; i < 2000; i++) {
        apply(f, set, draw_history_record(&f->draw));
        if (i % 7 == 0) {
            uint64_t hash = group_set_hash(set);
            struct group_set *overlay = group_overlay_new(set, STR("g-0"));
            for (int k = 0; k < 4; k++) {
                apply(f, overlay, draw_history_record(&f->draw));
            }
            assert_true(group_set_hash(set) == hash);
            apply(f, set, draw_history_record(&f->draw));
            apply(f, overlay, draw_history_record(&f->draw));
            group_overlay_free(overlay);
        }
    }
    group_set_free(set);
}

/* A group whose last record of history goes, and that is nothing else, is gone. */
static void nothing_is_left_of_a_history(void **state)
{
    struct fixture *f = *state;
    struct group_set *set = group_set_new(&f->pool, 1);
    struct record v[200];
    for (int i = 0; i < 200; i++) {
        v[i] = draw_history_record(&f->draw);
        apply(f, set, v[i]);
    }
    for (int i = 0; i < 200; i++) {
        v[i].value = BYTES_NULL;
        apply(f, set, v[i]);
    }
    struct group_set_counts counts;
    group_set_counts(set, &counts);
    assert_true(group_set_hash(set) == 0 && counts.groups == 0 && counts.history_records == 0 && counts.history_bytes == 0);
    group_set_free(set);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------------------------------ */

static void no_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    (void)ctx, (void)request, (void)out;
}

static const struct world_events nobody = {.answer = no_answer, .waits = no_answer, .asked = no_answer};

static void beat(struct world *w, const char *group, int32_t epoch, const char *client_id)
{
    struct world_request *r = world_request_new("m");
    struct consumer_group_heartbeat_request *q = ARENA_NEW(&r->arena, struct consumer_group_heartbeat_request, 1);
    static struct str topics[] = {{"t", 1}};
    wire_init(&wire_consumer_group_heartbeat_request, q);
    q->group_id = arena_str(&r->arena, str_of(group));
    q->member_id = STR("m");
    q->member_epoch = epoch;
    q->rebalance_timeout_ms = 60000;
    q->subscribed_topic_names = (struct str_array){topics, 1};
    q->topic_partitions.len = 0;
    r->op.kind = GROUP_CONSUMER_HEARTBEAT;
    r->op.api_version = 1;
    r->op.group_id = q->group_id;
    r->op.request = q;
    r->op.caller = (struct group_caller){arena_str(&r->arena, str_of(client_id)), STR("/h")};
    world_submit(w, r);
}

static int64_t history_bytes(const struct world *w, int64_t *ret_records)
{
    struct group_set_counts counts;
    group_set_counts(w->set, &counts);
    *ret_records = counts.history_records;
    return counts.history_bytes;
}

/* Beyond the shard's budget a group has its newest rebalance and no other. */
static void a_full_shard_keeps_the_newest(void **state)
{
    struct world w;
    char group[16];
    int64_t records, bytes;
    (void)state;
    world_init(&w, &nobody);
    world_level(&w, 2);
    world_topic_set(&w, "t", 4);
    w.check = false;
    w.settings.consumer.assignment_interval_ms = 0;
    w.settings.history_max_entries = 100;
    w.settings.history_max_bytes = 20000;
    for (int round = 0; round < 20; round++) {
        for (int g = 0; g < 20; g++) {
            snprintf(group, sizeof group, "g%d", g);
            beat(&w, group, 0, "client");
            beat(&w, group, -1, "client");
        }
    }
    bytes = history_bytes(&w, &records);
    assert_true(bytes > 10000 && bytes < 20000 + 20 * 1000);
    w.settings.history_max_bytes = 0;
    beat(&w, "g0", 0, "client");
    beat(&w, "g0", -1, "client");
    assert_true(history_bytes(&w, &records) > bytes);
    w.settings.history_max_entries = 0; /* off: nothing is written, what is there stays until its group goes */
    bytes = history_bytes(&w, &records);
    beat(&w, "g0", 0, "client");
    assert_int_equal(history_bytes(&w, &records), bytes);
    world_fini(&w);
}

/* Of a hundred members that are gone at once a few are told. */
static void many_events_are_told_in_part(void **state)
{
    struct fixture *f = *state;
    struct decision d = {.arena = &f->arena};
    for (int i = 0; i < 100; i++) {
        struct history_event e = {.cause = GROUP_CAUSE_EXPIRED, .member_id = arena_printf(&f->arena, "m%d", i), .reason = STR_NULL};
        history_event(&d, &e);
    }
    assert_int_equal(d.notes->event_count, 100);
    assert_int_equal(d.notes->cause_counts[GROUP_CAUSE_EXPIRED], 100);
    assert_true(str_eq(d.notes->events[0].member_id, STR("m0")) && str_eq(d.notes->events[6].member_id, STR("m6")));
    assert_true(str_eq(d.notes->events[7].member_id, STR("m99")));
}

/* A reason ends between two characters. */
static void long_reasons_are_cut(void **state)
{
    struct world w;
    char client_id[] = "c", reason[400];
    (void)state;
    memset(reason, 'x', sizeof reason);
    for (size_t i = 200; i + 1 < sizeof reason; i += 2) {
        memcpy(reason + i, "\xc3\xa4", 2);
    }
    world_init(&w, &nobody);
    world_level(&w, 2);
    struct world_request *r = world_request_new("m");
    struct join_group_request *q = ARENA_NEW(&r->arena, struct join_group_request, 1);
    struct join_group_request_protocol *protocol = ARENA_NEW(&r->arena, struct join_group_request_protocol, 1);
    wire_init(&wire_join_group_request, q);
    *protocol = (struct join_group_request_protocol){STR("range"), {(const uint8_t *)"", 0}};
    q->group_id = STR("g");
    q->session_timeout_ms = q->rebalance_timeout_ms = 10000;
    q->protocol_type = STR("consumer");
    q->protocols.v = protocol;
    q->protocols.len = 1;
    q->member_id = STR("");
    q->reason = arena_str(&r->arena, (struct str){reason, sizeof reason});
    r->op = (struct group_op){.kind = GROUP_JOIN, .api_version = 3, .group_id = q->group_id, .request = q};
    r->op.caller = (struct group_caller){str_of(client_id), STR("/h")};
    world_submit(&w, r);
    struct group *g = group_find(w.set, STR("g"));
    struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(g->history->count, 2);
    struct bytes value = history_value(g->history->v[1]);
    struct group_rebalance_cause_value cause;
    assert_int_equal(wire_decode(&wire_group_rebalance_cause_value, 0, (struct bytes){value.ptr + 2, value.len - 2}, &arena, &cause, NULL),
                     0);
    assert_int_equal(cause.reason.len, 254);
    arena_fini(&arena);
    world_fini(&w);
}

int run_history_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_order_comes_to_the_same, setup, teardown),
        cmocka_unit_test_setup_teardown(overlays_leave_their_base_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_left_of_a_history, setup, teardown),
        cmocka_unit_test(a_full_shard_keeps_the_newest),
        cmocka_unit_test_setup_teardown(many_events_are_told_in_part, setup, teardown),
        cmocka_unit_test(long_reasons_are_cut),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
