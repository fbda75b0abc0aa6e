/* range_test.c: the range assignor beside a slow twin, and what it is for: topics that line up. */
#include "crowd.h"

#include <stdio.h>
#include <string.h>

/* Static members by instance id, then the others by id. */
static bool comes_first(const struct crowd_member *a, const struct crowd_member *b)
{
    if (a->is_static != b->is_static) {
        return a->is_static;
    }
    return a->is_static ? strcmp(a->instance, b->instance) < 0 : strcmp(a->id, b->id) < 0;
}

/* Who has the partition. */
static int32_t twin_owner(const struct crowd *c, int32_t topic, int32_t partition)
{
    int32_t subscribers = 0;
    for (int32_t m = 0; m < c->member_count; m++) {
        subscribers += c->members[m].wants[topic];
    }
    for (int32_t m = 0; m < c->member_count; m++) {
        int32_t place = 0;
        for (int32_t other = 0; other < c->member_count; other++) {
            place += c->members[other].wants[topic] && comes_first(&c->members[other], &c->members[m]);
        }
        int32_t share = c->partitions[topic] / subscribers, odd = c->partitions[topic] % subscribers;
        int32_t first = place * share + (place < odd ? place : odd);
        if (c->members[m].wants[topic] && partition >= first && partition < first + share + (place < odd)) {
            return m;
        }
    }
    return CROWD_NOBODY;
}

static void lives(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    prng_seed(&p, 5);
    for (int life = 0; life < 120; life++) {
        struct crowd_bounds b = {.topics = 1 + life % CROWD_TOPICS, .partitions = 1 + life % 40, .members = 2 + life % 40};
        b.mixed = life % 2 == 1;
        crowd_draw(&c, &p, ASSIGNOR_RANGE, b);
        for (int step = 0; step < 6; step++) {
            crowd_assign(&c);
            for (int32_t t = 0; t < c.topic_count; t++) {
                for (int32_t k = 0; k < c.partitions[t] && crowd_wanted(&c, t); k++) {
                    assert_int_equal(c.owner[t][k], twin_owner(&c, t, k));
                }
            }
            crowd_take(&c);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
}

static void join(struct crowd *c, const char *id, const char *instance)
{
    struct crowd_member *m = crowd_join(c, id);
    assert_non_null(m);
    m->wants[0] = m->wants[1] = true;
    m->is_static = instance != NULL;
    if (instance != NULL) {
        (void)snprintf(m->instance, sizeof(m->instance), "%s", instance);
    }
}

static void topics_line_up(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_RANGE, 2);
    c.partitions[0] = c.partitions[1] = 7;
    join(&c, "b", NULL);
    join(&c, "a", NULL);
    join(&c, "z", "0");
    crowd_assign(&c);
    for (int t = 0; t < 2; t++) {
        for (int p = 0; p < 7; p++) { /* z is static: 3; then a: 2, b: 2 */
            assert_string_equal(c.members[c.owner[t][p]].id, p < 3 ? "z" : p < 5 ? "a" : "b");
        }
    }
    crowd_fini(&c);
}

int run_range_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lives), cmocka_unit_test(topics_line_up)};
    return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
