/* racks_test.c: partitions near to who reads them: as many as there can be without anybody having more or fewer, and none is moved for nothing. */
#include "crowd.h"

#include <string.h>

/* ---- the twin: seats of members, and things that look for a better one, one after the other ------------------------------------------------ */

enum { MOST = CROWD_TOPICS * CROWD_PARTITIONS };

struct twin {
    int32_t count; /* things, and as many seats: each thing has one */
    int32_t member[MOST];
    bool near[MOST][CROWD_MEMBERS];
    int32_t sits[MOST]; /* on each seat: the thing that is near there; -1 */
    bool tried[MOST];
};

static bool find_seat(struct twin *t, int32_t thing)
{
    for (int32_t s = 0; s < t->count; s++) {
        if (t->near[thing][t->member[s]] && !t->tried[s]) {
            t->tried[s] = true;
            if (t->sits[s] < 0 || find_seat(t, t->sits[s])) {
                t->sits[s] = thing;
                return true;
            }
        }
    }
    return false;
}

static int32_t most_near(struct twin *t)
{
    int32_t found = 0;
    memset(t->sits, -1, sizeof(t->sits));
    for (int32_t i = 0; i < t->count; i++) {
        memset(t->tried, 0, sizeof(t->tried));
        found += find_seat(t, i);
    }
    return found;
}

static struct twin twin;

/* Uniform: what topics of the same subscribers have may go to any of these. */
static int32_t most_near_uniform(const struct crowd *c)
{
    int32_t found = 0;
    bool done[CROWD_TOPICS] = {false};
    for (int32_t first = 0; first < c->topic_count; first++) {
        twin.count = 0;
        for (int32_t t = first; t < c->topic_count && !done[first]; t++) {
            if (!crowd_wanted(c, t) || !crowd_kindred(c, first, t)) {
                continue;
            }
            done[t] = t > first;
            for (int32_t p = 0; p < c->partitions[t]; p++) {
                twin.member[twin.count] = c->owner[t][p];
                for (int32_t m = 0; m < c->member_count; m++) {
                    twin.near[twin.count][m] = crowd_near(c, t, p, m);
                }
                twin.count++;
            }
        }
        found += most_near(&twin);
    }
    return found;
}

/* ---- what holds ------------------------------------------------------------------------------------------------------------------------------ */

static void count_per_topic(const struct crowd *c, int32_t (*ret)[CROWD_TOPICS])
{
    memset(ret, 0, CROWD_MEMBERS * sizeof(*ret));
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t] && crowd_wanted(c, t); p++) {
            ret[c->owner[t][p]][t]++;
        }
    }
}

static void as_balanced_as_without(struct crowd *c, int32_t near)
{
    static int32_t with[CROWD_MEMBERS][CROWD_TOPICS], without[CROWD_MEMBERS][CROWD_TOPICS];
    int32_t held[CROWD_MEMBERS];
    count_per_topic(c, with);
    for (int32_t m = 0; m < c->member_count; m++) {
        held[m] = crowd_holds(c, m);
    }
    c->racks_known = false;
    crowd_assign(c);
    c->racks_known = true;
    count_per_topic(c, without);
    for (int32_t m = 0; m < c->member_count; m++) {
        assert_int_equal(held[m], crowd_holds(c, m));
        assert_true(c->assignor != ASSIGNOR_RANGE || memcmp(with[m], without[m], sizeof(with[m])) == 0);
    }
    assert_true(near >= crowd_nearness(c));
}

static void uniform_lives(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    int32_t gained = 0;
    prng_seed(&p, 6);
    for (int life = 0; life < 120; life++) {
        struct crowd_bounds b = {.topics = 1 + life % 5, .partitions = 1 + life % 12, .members = 2 + life % 12, .mixed = life % 2 == 1};
        b.racks = 1 + life % CROWD_RACKS;
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, b);
        for (int step = 0; step < 8; step++) {
            crowd_assign(&c);
            int32_t near = crowd_nearness(&c);
            assert_int_equal(near, most_near_uniform(&c));
            as_balanced_as_without(&c, near);
            gained += near - crowd_nearness(&c);
            crowd_assign(&c);
            crowd_take(&c);
            crowd_assign(&c);
            assert_int_equal(crowd_moves(&c), 0);
            assert_int_equal(crowd_nearness(&c), near);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
    assert_true(gained > 200);
}

/* In how many topics of the lane the partition is near to the member. */
static int32_t lane_near(const struct crowd *c, const bool *lane, int32_t partition, int32_t member)
{
    int32_t near = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        near += lane[t] && crowd_near(c, t, partition, member);
    }
    return near;
}

/* The most topics of the lane that have the partition in one rack where members are. */
static int32_t lane_best(const struct crowd *c, const bool *lane, int32_t partition)
{
    int32_t best = 0;
    for (int32_t m = 0; m < c->member_count; m++) {
        int32_t near = lane_near(c, lane, partition, m);
        best = near > best ? near : best;
    }
    return best;
}

/* Range: topics that line up change hands together; a partition is near where most of them have it. */
static void check_lane(const struct crowd *c, int32_t first)
{
    bool lane[CROWD_TOPICS] = {false};
    int32_t near = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        lane[t] = c->partitions[t] == c->partitions[first] && crowd_kindred(c, t, first);
        for (int32_t p = 0; p < c->partitions[first] && lane[t]; p++) {
            assert_int_equal(c->owner[t][p], c->owner[first][p]);
        }
    }
    twin.count = c->partitions[first];
    for (int32_t p = 0; p < twin.count; p++) {
        int32_t best = lane_best(c, lane, p);
        twin.member[p] = c->owner[first][p];
        for (int32_t m = 0; m < c->member_count; m++) {
            twin.near[p][m] = best > 0 && lane_near(c, lane, p, m) == best;
        }
        near += twin.near[p][c->owner[first][p]];
    }
    assert_int_equal(near, most_near(&twin));
}

static void range_lives(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    prng_seed(&p, 7);
    for (int life = 0; life < 120; life++) {
        struct crowd_bounds b = {.topics = 1 + life % 6, .partitions = 1 + life % 30, .members = 2 + life % 12, .mixed = life % 2 == 1};
        b.racks = 1 + life % CROWD_RACKS;
        crowd_draw(&c, &p, ASSIGNOR_RANGE, b);
        for (int step = 0; step < 6; step++) {
            crowd_assign(&c);
            for (int32_t t = 0; t < c.topic_count; t++) {
                if (crowd_wanted(&c, t)) {
                    check_lane(&c, t);
                }
            }
            as_balanced_as_without(&c, INT32_MAX);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
}

/* ---- racks that say nothing ------------------------------------------------------------------------------------------------------------------ */

enum saying_nothing { NO_MEMBER_HAS_ONE, NO_PARTITION_HAS_ONE, ALL_ARE_IN_ONE, MEMBERS_ARE_ELSEWHERE, WAYS };

static void say_nothing(struct crowd *c, enum saying_nothing how)
{
    for (int32_t m = 0; m < c->member_count; m++) {
        c->members[m].rack = how == NO_MEMBER_HAS_ONE ? -1 : how == ALL_ARE_IN_ONE ? 0 : 5;
    }
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < CROWD_PARTITIONS; p++) {
            c->racks[t][p] = how == NO_PARTITION_HAS_ONE ? 0 : how == ALL_ARE_IN_ONE ? 3 : 7;
        }
    }
}

static void racks_that_say_nothing(void **state)
{
    (void)state;
    static struct crowd c;
    static int32_t without[CROWD_TOPICS][CROWD_PARTITIONS];
    struct prng p;
    prng_seed(&p, 8);
    for (int round = 0; round < 400; round++) {
        struct crowd_bounds b = {.topics = 5, .partitions = 12, .members = 10, .mixed = round % 2 == 1, .racks = 3};
        crowd_draw(&c, &p, round % 4 < 2 ? ASSIGNOR_UNIFORM : ASSIGNOR_RANGE, b);
        crowd_draw_had(&c, &p);
        c.racks_known = false;
        crowd_assign(&c);
        memcpy(without, c.owner, sizeof(without));
        c.racks_known = true;
        say_nothing(&c, (enum saying_nothing)(round / 4 % WAYS));
        crowd_assign(&c);
        assert_memory_equal(without, c.owner, sizeof(without));
        crowd_fini(&c);
    }
}

/* Three racks, each partition in one of them, a member in each: everything is near in the end, and a second member for each takes over what is near. */
static void all_near(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 1);
    c.partitions[0] = 12;
    c.racks_known = true;
    for (int p = 0; p < 12; p++) {
        c.racks[0][p] = 1u << (p * 7 % 3);
    }
    for (int i = 0; i < 6; i++) {
        char id[2] = {(char)('a' + i), '\0'};
        struct crowd_member *m = crowd_join(&c, id);
        m->wants[0] = true;
        m->rack = i % 3;
        if (i >= 2) {
            crowd_assign(&c);
            crowd_take(&c);
        }
        assert_true(i != 2 || crowd_nearness(&c) == 12);
    }
    assert_int_equal(crowd_nearness(&c), 12);
    for (int m = 0; m < 6; m++) {
        assert_int_equal(crowd_holds(&c, m), 2);
    }
    crowd_fini(&c);
}

/* To have partition 2 in rack 0, 0 or 1 has to go from there to rack 1, where both are near, too: 1 does, which nobody had. */
static void what_nobody_had_goes_first(void **state)
{
    (void)state;
    static const unsigned racks[] = {3, 3, 1, 2};
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 1);
    c.partitions[0] = 4;
    c.racks_known = true;
    for (int p = 0; p < 4; p++) {
        c.racks[0][p] = racks[p];
    }
    for (int i = 0; i < 2; i++) {
        struct crowd_member *m = crowd_join(&c, i == 0 ? "a" : "b");
        m->wants[0] = true;
        m->rack = i;
        m->had[0][0] = i == 0;
    }
    crowd_assign(&c);
    assert_int_equal(crowd_nearness(&c), 4);
    assert_int_equal(c.owner[0][0], 0);
    crowd_fini(&c);
}

int run_racks_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_lives),
        cmocka_unit_test(range_lives),
        cmocka_unit_test(racks_that_say_nothing),
        cmocka_unit_test(all_near),
        cmocka_unit_test(what_nobody_had_goes_first),
    };
    return cmocka_run_group_tests_name("racks", tests, NULL, NULL);
}
