/* consumer.c: how long the assignors of consumer groups take, by members, topics and partitions: from what members had to what they get. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "consumer/assign.h"

enum { REPLICAS = 3 };

/* alike: all subscribe to all topics; halves: each to one of two halves; random: each to half of the topics, drawn; chain: each to two, overlapping */
enum subscribing { ALIKE, HALVES, RANDOM, CHAIN };
static const char *const subscribing_names[] = {"alike", "halves", "random", "chain"};

struct shape {
    enum consumer_assignor assignor;
    int32_t members, topics, partitions; /* of all topics */
    enum subscribing subscribing;
    int32_t racks; /* 0: not known; three replicas */
};
static const struct shape shapes[] = {
    {ASSIGNOR_UNIFORM, 10, 10, 100, ALIKE, 0},        {ASSIGNOR_UNIFORM, 100, 10, 1000, ALIKE, 0},
    {ASSIGNOR_UNIFORM, 1000, 100, 10000, ALIKE, 0},   {ASSIGNOR_UNIFORM, 1000, 100, 10000, HALVES, 0},
    {ASSIGNOR_UNIFORM, 1000, 100, 10000, RANDOM, 0},  {ASSIGNOR_UNIFORM, 1000, 1000, 10000, CHAIN, 0},
    {ASSIGNOR_UNIFORM, 1000, 100, 10000, ALIKE, 6},   {ASSIGNOR_UNIFORM, 1000, 100, 10000, ALIKE, 60},
    {ASSIGNOR_UNIFORM, 1000, 100, 10000, RANDOM, 6},  {ASSIGNOR_UNIFORM, 10000, 100, 10000, ALIKE, 0},
    {ASSIGNOR_UNIFORM, 10000, 100, 10000, HALVES, 0}, {ASSIGNOR_UNIFORM, 10000, 100, 10000, RANDOM, 0},
    {ASSIGNOR_UNIFORM, 10000, 100, 10000, ALIKE, 6},  {ASSIGNOR_UNIFORM, 10000, 100, 10000, RANDOM, 6},
    {ASSIGNOR_UNIFORM, 10000, 100, 100000, ALIKE, 0}, {ASSIGNOR_RANGE, 1000, 100, 10000, ALIKE, 0},
    {ASSIGNOR_RANGE, 1000, 100, 10000, RANDOM, 0},    {ASSIGNOR_RANGE, 1000, 100, 10000, ALIKE, 6},
    {ASSIGNOR_RANGE, 10000, 100, 10000, ALIKE, 0},    {ASSIGNOR_RANGE, 10000, 100, 10000, RANDOM, 6},
};

struct bench {
    const struct shape *shape;
    struct arena arena; /* of the members; another one of each assignment */
    struct prng prng;
    struct consumer_topic *topics;
    struct consumer_subscriber *members;
    struct consumer_assign_input in;
};

static void topics_init(struct bench *g)
{
    const struct shape *s = g->shape;
    g->topics = ARENA_NEW(&g->arena, struct consumer_topic, s->topics);
    for (int32_t t = 0; t < s->topics; t++) {
        char id[16] = {0};
        put_be32((uint8_t *)id, (uint32_t)t * 2654435u);
        put_be32((uint8_t *)id + 4, (uint32_t)t);
        struct str_array *racks = ARENA_NEW(&g->arena, struct str_array, s->partitions / s->topics);
        g->topics[t] = (struct consumer_topic){.id = arena_str(&g->arena, (struct str){id, sizeof(id)}),
                                               .partitions = s->partitions / s->topics,
                                               .racks = s->racks > 0 ? racks : NULL};
        for (int32_t p = 0; s->racks > 0 && p < g->topics[t].partitions; p++) {
            racks[p] = (struct str_array){ARENA_NEW(&g->arena, struct str, REPLICAS), REPLICAS};
            for (int i = 0; i < REPLICAS; i++) {
                racks[p].v[i] = arena_printf(&g->arena, "rack-%d", (int)prng_below(&g->prng, (uint64_t)s->racks));
            }
        }
    }
}

static bool wants(struct bench *g, int32_t member, int32_t topic)
{
    const struct shape *s = g->shape;
    switch (s->subscribing) {
    case HALVES:
        return member % 2 == topic % 2;
    case RANDOM:
        return prng_below(&g->prng, 2) == 0;
    case CHAIN:
        return topic == member % s->topics || topic == (member + 1) % s->topics;
    default:
        return true;
    }
}

static void group_init(struct bench *g, const struct shape *shape)
{
    memset(g, 0, sizeof(*g));
    arena_init(&g->arena, 0);
    prng_seed(&g->prng, 1);
    g->shape = shape;
    topics_init(g);
    g->members = ARENA_NEW(&g->arena, struct consumer_subscriber, shape->members);
    for (int32_t m = 0; m < shape->members; m++) {
        int32_t *places = ARENA_NEW(&g->arena, int32_t, shape->topics);
        struct consumer_subscriber *s = &g->members[m];
        *s = (struct consumer_subscriber){.instance_id = STR_NULL, .rack_id = STR_NULL, .topics = places};
        s->member_id = arena_printf(&g->arena, "member-%08d-aaaa-bbbb-cccc-dddddddd", m);
        if (shape->racks > 0) {
            s->rack_id = arena_printf(&g->arena, "rack-%d", m % shape->racks);
        }
        for (int32_t t = 0; t < shape->topics; t++) {
            if (wants(g, m, t)) {
                places[s->topic_count++] = t;
            }
        }
    }
    g->in = (struct consumer_assign_input){.topics = g->topics,
                                           .topic_count = shape->topics,
                                           .members = g->members,
                                           .member_count = shape->members};
}

/* Measures, and gives the members what they got. */
static void measure(struct bench *g, const char *what, int32_t members, int rounds)
{
    double took[ROUNDS_MOST];
    struct units *result = ARENA_NEW(&g->arena, struct units, g->shape->members);
    g->in.member_count = members;
    for (int i = 0; i < rounds; i++) {
        struct arena arena;
        arena_init(&arena, 0);
        double begin = now_ms();
        consumer_assign(g->shape->assignor, &g->in, &arena, result);
        took[i] = now_ms() - begin;
        for (int32_t m = 0; i + 1 == rounds && m < g->shape->members; m++) {
            int32_t len = m < members ? result[m].len : 0;
            struct unit *v = ARENA_NEW(&g->arena, struct unit, len);
            if (len > 0) {
                memcpy(v, result[m].v, (size_t)len * sizeof(*v));
            }
            g->members[m].had = (struct units){v, len};
        }
        arena_fini(&arena);
    }
    print_took(what, took, rounds);
}

void bench_consumer(int rounds)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct shape *s = &shapes[i];
        struct bench g;
        group_init(&g, s);
        printf("%-7s %6d members %5d topics %7d partitions, %s, %d racks, cost %7ld:", consumer_assignor_name(s->assignor), s->members,
               s->topics, s->partitions, subscribing_names[s->subscribing], s->racks, (long)consumer_assign_cost(s->assignor, &g.in));
        measure(&g, "first", s->members, rounds);
        measure(&g, "again", s->members, rounds);
        measure(&g, "one leaves", s->members - 1, rounds);
        measure(&g, "one joins", s->members, rounds);
        measure(&g, "a tenth leaves", s->members - s->members / 10, rounds);
        measure(&g, "a tenth joins", s->members, rounds);
        printf(" ms\n");
        arena_fini(&g.arena);
    }
}
