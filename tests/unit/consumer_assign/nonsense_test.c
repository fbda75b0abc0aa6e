/* nonsense_test.c: members that had what is not there, or the same; nothing to assign, nobody to assign to; names; cost. */
#include "crowd.h"

#include <string.h>

static void two_had_the_same(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 1);
    c.partitions[0] = 4;
    for (int i = 0; i < 2; i++) {
        struct crowd_member *m = crowd_join(&c, i == 0 ? "a" : "b");
        m->wants[0] = true;
        m->had[0][0] = m->had[0][1] = true;
    }
    crowd_assign(&c);
    assert_int_equal(crowd_moves(&c), 0);
    assert_int_equal(crowd_holds(&c, 0), 2);
    assert_int_equal(crowd_holds(&c, 1), 2);
    crowd_fini(&c);
}

static void what_is_not_there(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 3);
    c.partitions[1] = 3;
    c.partitions[2] = 2;
    for (int i = 0; i < 2; i++) {
        struct crowd_member *m = crowd_join(&c, i == 0 ? "a" : "b");
        m->wants[1] = true;
        m->had[0][i] = true;         /* deleted */
        m->had[1][1 + 9 * i] = true; /* for b: beyond its end */
        m->had[2][i] = true;         /* not subscribed to any more */
    }
    crowd_assign(&c);
    assert_int_equal(c.owner[1][1], 0);
    assert_int_equal(crowd_holds(&c, 0) + crowd_holds(&c, 1), 3);
    c.members[1].wants[1] = false;
    c.members[1].wants[2] = true;
    crowd_assign(&c); /* mixed */
    assert_int_equal(crowd_holds(&c, 0), 3);
    assert_int_equal(c.owner[2][1], 1);
    crowd_fini(&c);
}

static void nothing_at_all(void **state)
{
    (void)state;
    static struct crowd c;
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        crowd_init(&c, (enum consumer_assignor)a, 2);
        crowd_assign(&c); /* nobody */
        struct crowd_member *m = crowd_join(&c, "a");
        m->rack = 0;
        crowd_assign(&c); /* no topics */
        assert_int_equal(crowd_holds(&c, 0), 0);
        c.partitions[0] = 1;
        c.racks_known = true;
        crowd_assign(&c); /* nobody wants it */
        assert_int_equal(crowd_holds(&c, 0), 0);
        m->wants[0] = true;
        crowd_assign(&c);
        assert_int_equal(crowd_holds(&c, 0), 1);
        (void)crowd_join(&c, "b"); /* wants nothing */
        crowd_assign(&c);
        assert_int_equal(crowd_holds(&c, 0), 1);
        assert_int_equal(crowd_holds(&c, 1), 0);
        crowd_fini(&c);
    }
}

/* As the catalog may have it for a moment. */
static void topic_without_partitions(void **state)
{
    (void)state;
    struct arena arena;
    const int32_t places[] = {0, 1};
    struct str_array racks[] = {{NULL, -1}, {NULL, 0}};
    const struct consumer_topic topics[] = {{.id = STR("aaaaaaaaaaaaaaaa"), .partitions = 0, .racks = racks},
                                            {.id = STR("bbbbbbbbbbbbbbbb"), .partitions = 2, .racks = racks}};
    const struct consumer_subscriber members[] = {
        {.member_id = STR("m"), .instance_id = STR_NULL, .rack_id = STR(""), .topics = places, .topic_count = 2},
        {.member_id = STR("n"), .instance_id = STR_NULL, .rack_id = STR("r"), .topics = places, .topic_count = 1}};
    struct units shares[2];
    arena_init(&arena, 0);
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        struct consumer_assign_input in = {.topics = topics, .topic_count = 2, .members = members, .member_count = 2};
        consumer_assign((enum consumer_assignor)a, &in, &arena, shares);
        assert_int_equal(shares[0].len, 2);
        assert_int_equal(shares[1].len, 0);
    }
    arena_fini(&arena);
}

static void names(void **state)
{
    (void)state;
    enum consumer_assignor found = ASSIGNOR_COUNT;
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        assert_true(consumer_assignor_find(str_of(consumer_assignor_name((enum consumer_assignor)a)), &found));
        assert_int_equal(found, a);
    }
    assert_string_equal(consumer_assignor_name(ASSIGNOR_UNIFORM), "uniform");
    assert_string_equal(consumer_assignor_name(ASSIGNOR_RANGE), "range");
    assert_false(consumer_assignor_find(STR("Range"), &found));
    assert_false(consumer_assignor_find(STR(""), &found));
    assert_false(consumer_assignor_find(STR_NULL, &found));
}

static int64_t cost_of(enum consumer_assignor a, int32_t members, int32_t topics, int32_t partitions, const struct str_array *racks)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct consumer_topic *t = ARENA_NEW(&arena, struct consumer_topic, topics);
    struct consumer_subscriber *m = ARENA_NEW(&arena, struct consumer_subscriber, members);
    int32_t *places = ARENA_NEW(&arena, int32_t, topics);
    for (int32_t i = 0; i < topics; i++) {
        t[i] = (struct consumer_topic){.id = STR("x"), .partitions = partitions, .racks = racks};
        places[i] = i;
    }
    for (int32_t i = 0; i < members; i++) {
        m[i] = (struct consumer_subscriber){.topics = places, .topic_count = topics};
    }
    struct consumer_assign_input in = {.topics = t, .topic_count = topics, .members = m, .member_count = members};
    int64_t cost = consumer_assign_cost(a, &in);
    arena_fini(&arena);
    return cost;
}

static void cost(void **state)
{
    (void)state;
    static const struct str_array racks[10];
    for (int a = 0; a < ASSIGNOR_COUNT; a++) {
        enum consumer_assignor assignor = (enum consumer_assignor)a;
        assert_true(cost_of(assignor, 100, 10, 10, NULL) < CONSUMER_ASSIGN_INLINE);
        assert_true(cost_of(assignor, 200, 10, 10, NULL) > cost_of(assignor, 100, 10, 10, NULL));
        assert_true(cost_of(assignor, 100, 100, 10, NULL) > cost_of(assignor, 100, 10, 10, NULL));
        assert_true(cost_of(assignor, 100, 10, 1000, NULL) > cost_of(assignor, 100, 10, 10, NULL));
        assert_true(cost_of(assignor, 100, 100, 10, racks) > cost_of(assignor, 100, 100, 10, NULL));
    }
    assert_true(cost_of(ASSIGNOR_UNIFORM, 10000, 100, 100, NULL) > CONSUMER_ASSIGN_INLINE);
}

int run_nonsense_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_had_the_same),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(topic_without_partitions),
        cmocka_unit_test(names),
        cmocka_unit_test(cost),
    };
    return cmocka_run_group_tests_name("nonsense", tests, NULL, NULL);
}
