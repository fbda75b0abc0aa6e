/* twin_test.c: random histories of simple groups beside a plain array that obeys the same sentences. */
#include "fixture.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

enum { GROUPS = 3, TOPICS = 3, PARTITIONS = 3, STEPS = 1500, SEEDS = 12, RETENTION_MS = 1000 };

struct twin_offset {
    bool exists;
    int64_t offset, commit_ms, expire_ms;
    int generation;
}; /* expire -1: none */
struct twin {
    struct fixture *f;
    struct prng random;
    struct twin_offset offset[GROUPS][TOPICS][PARTITIONS];
    bool group[GROUPS];
    int generation[TOPICS]; /* how often the topic was made anew */
};

static const char *const group_names[GROUPS] = {"g0", "g1", "g2"};
static const char *const topic_names[TOPICS] = {"t0", "t1", "t2"};

static int pick(struct twin *w, int below)
{
    return (int)prng_below(&w->random, (uint64_t)below);
}

static void twin_commit(struct twin *w, int g, int t, int p)
{
    char text[64];
    int64_t retention = pick(w, 4) == 0 ? 1 + pick(w, 2 * RETENTION_MS) : 0;
    int64_t offset = pick(w, 1000);
    snprintf(text, sizeof text, "%s:%d=%lld", topic_names[t], p, (long long)offset);
    commit(w->f,
           (struct commit){.version = retention != 0 ? 3 : 8, .group = group_names[g], .retention_ms = retention, .partitions = text});
    int64_t now = w->f->world.now_ms;
    w->offset[g][t][p] = (struct twin_offset){true, offset, now, retention != 0 ? now + retention : -1, w->generation[t]};
    w->group[g] = true;
}

static void twin_delete(struct twin *w, int g, int t, int p)
{
    char text[64];
    snprintf(text, sizeof text, "%s:%d", topic_names[t], p);
    offset_delete(w->f, group_names[g], text);
    assert_int_equal(w->f->error, w->group[g] ? 0 : 69);
    w->offset[g][t][p].exists = false;
}

static void twin_group_delete(struct twin *w, int g)
{
    assert_int_equal(group_delete(w->f, group_names[g], NULL), w->group[g] ? 0 : 69);
    memset(w->offset[g], 0, sizeof w->offset[g]);
    w->group[g] = false;
}

static void twin_sweep(struct twin *w, int g)
{
    int64_t now = w->f->world.now_ms;
    bool empty = true;
    run(w->f, GROUP_RETENTION, group_names[g]);
    for (int i = 0; i < TOPICS * PARTITIONS; i++) {
        struct twin_offset *o = &w->offset[g][i / PARTITIONS][i % PARTITIONS];
        if (o->exists && (o->expire_ms >= 0 ? now >= o->expire_ms : now - o->commit_ms >= RETENTION_MS)) {
            o->exists = false;
        }
        empty = empty && !o->exists;
    }
    w->group[g] = w->group[g] && !empty;
}

/* The topic goes and comes back; groups hear of it at once or later. */
static void twin_topic_again(struct twin *w, int t)
{
    struct world *world = &w->f->world;
    if (world->topic_count >= WORLD_TOPICS) {
        return;
    }
    world_topic_set(world, topic_names[t], 0);
    world_topic_set(world, topic_names[t], PARTITIONS);
    w->generation[t]++;
}

static void twin_topics_changed(struct twin *w, int g)
{
    run(w->f, GROUP_TOPICS_CHANGED, group_names[g]);
    for (int i = 0; i < TOPICS * PARTITIONS; i++) {
        struct twin_offset *o = &w->offset[g][i / PARTITIONS][i % PARTITIONS];
        o->exists = o->exists && o->generation == w->generation[i / PARTITIONS];
    }
}

static void twin_compare(struct twin *w, int g)
{
    char expected[1024] = "";
    size_t at = 0;
    for (int t = 0; t < TOPICS; t++) {
        int shown = 0;
        for (int p = 0; p < PARTITIONS; p++) {
            const struct twin_offset *o = &w->offset[g][t][p];
            if (!o->exists || o->generation != w->generation[t]) {
                continue; /* of a topic that is gone: not there any more, or not to be seen */
            }
            at += (size_t)snprintf(expected + at, sizeof expected - at, "%s%s%d=%lld/-1/", shown == 0 && at > 0 ? " " : "",
                                   shown == 0 ? "" : " ", p, (long long)o->offset);
            if (shown++ == 0) { /* the name goes in front of the first one */
                size_t number = strlen(expected) - (size_t)snprintf(NULL, 0, "%d=%lld/-1/", p, (long long)o->offset);
                memmove(expected + number + 3, expected + number, at - number + 1);
                memcpy(expected + number, topic_names[t], 2);
                expected[number + 2] = '[';
                at += 3;
            }
        }
        if (shown > 0) {
            expected[at++] = ']';
            expected[at] = '\0';
        }
    }
    assert_string_equal(fetch(w->f, 9, group_names[g], NULL), expected);
    assert_int_equal(group_exists(w->f, group_names[g]), w->group[g]);
}

static void twin_step(struct twin *w)
{
    int g = pick(w, GROUPS);
    int t = pick(w, TOPICS);
    int p = pick(w, PARTITIONS);
    int what = pick(w, 100);
    if (what < 50) {
        twin_commit(w, g, t, p);
    } else if (what < 62) {
        twin_delete(w, g, t, p);
    } else if (what < 65) {
        twin_group_delete(w, g);
    } else if (what < 80) {
        twin_sweep(w, g);
    } else if (what < 82) {
        twin_topic_again(w, t);
    } else if (what < 90) {
        twin_topics_changed(w, g);
    } else {
        world_tick(&w->f->world, pick(w, RETENTION_MS / 2));
    }
    twin_compare(w, g);
}

void test_twin(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        void *mine = NULL;
        struct twin w = {0};
        fixture_setup(&mine);
        w.f = mine;
        prng_seed(&w.random, seed);
        w.f->world.settings.offsets_retention_ms = RETENTION_MS;
        for (int t = 0; t < TOPICS; t++) {
            world_topic_set(&w.f->world, topic_names[t], PARTITIONS);
        }
        for (int step = 0; step < STEPS; step++) {
            twin_step(&w);
        }
        for (int g = 0; g < GROUPS; g++) {
            twin_group_delete(&w, g);
        }
        assert_int_equal(group_set_hash(w.f->world.set), 0);
        fixture_teardown(&mine);
    }
}
