/* streams.c: how long the task assignor of streams groups takes, by a group's members and tasks: from members and their tasks by name to new targets by name. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "streams/job.h"

enum { SUBTOPOLOGIES = 4 };

struct shape {
    int32_t members, processes, tasks, replicas;
    bool warm_up, zones; /* three of them */
};
static const struct shape shapes[] = {
    {10, 10, 100, 1, false, false},         {100, 50, 1000, 1, false, false},       {100, 100, 2000, 1, false, false},
    {1000, 1000, 1000, 1, false, false},    {1000, 1000, 10000, 0, false, false},   {1000, 1000, 10000, 1, false, false},
    {1000, 250, 10000, 2, false, false},    {1000, 1000, 10000, 2, false, true},    {1000, 1000, 10000, 1, true, false},
    {10000, 10000, 10000, 1, false, false}, {10000, 5000, 100000, 1, false, false},
};

struct bench {
    const struct shape *shape;
    struct arena arena; /* of the members; another one of each assignment */
    struct resolved_subtopology subtopologies[SUBTOPOLOGIES];
    struct resolved resolved;
    struct streams_configs configs;
    struct str keys[1];
    struct key_value (*tags)[1];
    struct assign_view_member *members;
    struct assign_view view;
};

static void group_init(struct bench *g, const struct shape *shape)
{
    static const char *const ids[SUBTOPOLOGIES] = {"0", "1", "2", "3"};
    memset(g, 0, sizeof(*g));
    arena_init(&g->arena, 0);
    g->shape = shape;
    for (int32_t i = 0; i < SUBTOPOLOGIES; i++) {
        int32_t tasks = shape->tasks / SUBTOPOLOGIES;
        g->subtopologies[i] = (struct resolved_subtopology){.id = str_of(ids[i]), .tasks = tasks, .stateful = i > 0};
    }
    g->resolved = (struct resolved){.problem = TOPOLOGY_FINE, .subtopologies = g->subtopologies, .subtopology_count = SUBTOPOLOGIES};
    g->keys[0] = STR("zone");
    g->configs = (struct streams_configs){.num_standby_replicas = shape->replicas,
                                          .num_warmup_replicas = 20,
                                          .acceptable_recovery_lag = 10000,
                                          .warm_up = shape->warm_up,
                                          .tags = {g->keys, shape->zones ? 1 : 0}};
    g->tags = (struct key_value(*)[1])arena_array(&g->arena, (size_t)shape->members, sizeof(*g->tags));
    g->members = ARENA_NEW(&g->arena, struct assign_view_member, shape->members);
    for (int32_t m = 0; m < shape->members; m++) {
        g->tags[m][0] = (struct key_value){g->keys[0], arena_printf(&g->arena, "z%d", m % shape->processes % 3)};
        g->members[m] = (struct assign_view_member){.member_id = arena_printf(&g->arena, "member-%08d", m),
                                                    .process_id = arena_printf(&g->arena, "process-%08d", m % shape->processes),
                                                    .tags = g->tags[m],
                                                    .tag_count = 1};
    }
    g->view = (struct assign_view){&g->resolved, &g->configs, g->members, shape->members};
}

/* Measures, and gives the members what they got. */
static void measure(struct bench *g, const char *what, int32_t members, int rounds)
{
    double took[ROUNDS_MOST];
    struct assign_result result;
    g->view.member_count = members;
    for (int i = 0; i < rounds; i++) {
        struct arena arena;
        arena_init(&arena, 0);
        double begin = now_ms();
        streams_assign(&g->view, &arena, &result);
        took[i] = now_ms() - begin;
        if (i + 1 < rounds) {
            arena_fini(&arena);
        } /* the last one's names and tasks stay with the members until the end */
    }
    int64_t tasks = 0;
    for (int32_t m = 0; m < g->shape->members; m++) {
        static const struct holding nothing;
        g->members[m].current = m < members ? result.members[m].target : nothing;
        tasks += g->members[m].current.kind[UNITS_ACTIVE].len;
    }
    MUSTER_CHECK(tasks == g->shape->tasks / SUBTOPOLOGIES * SUBTOPOLOGIES);
    print_took(what, took, rounds);
}

void bench_streams(int rounds)
{
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const struct shape *s = &shapes[i];
        struct bench g;
        group_init(&g, s);
        printf("%6d members %6d processes %7d tasks %d standbys%s%s, cost %6ld:", s->members, s->processes, s->tasks, s->replicas,
               s->warm_up ? " warm-up" : "", s->zones ? " zones" : "", (long)streams_assign_cost(&g.view));
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
