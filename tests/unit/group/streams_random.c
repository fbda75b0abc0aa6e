/* streams_random.c: what of random lives is that of streams groups. */
#include "modern_random.h"
#include "tests.h"

#include <string.h>

#include "streams/draft.h"

/* ---- tasks: subtopologies 0 and 1 ---------------------------------------------------------------------------------------------------- */

static int number_of(struct str subtopology)
{
    assert_true(subtopology.len == 1);
    return subtopology.ptr[0] - '0';
}

static struct unit_bits bits_of_units(struct units units)
{
    struct unit_bits bits = {{0}};
    for (int32_t i = 0; i < units.len; i++) {
        bits_add(&bits, number_of(units.v[i].name), units.v[i].partition);
    }
    return bits;
}

static struct unit_bits bits_of_answer(const struct streams_group_heartbeat_response_task_ids_array *tasks)
{
    struct unit_bits bits = {{0}};
    for (int32_t i = 0; i < tasks->len; i++) {
        for (int32_t k = 0; k < tasks->v[i].partitions.len; k++) {
            bits_add(&bits, number_of(tasks->v[i].subtopology_id), tasks->v[i].partitions.v[k]);
        }
    }
    return bits;
}

static struct streams_group_heartbeat_request_task_ids_array request_tasks(struct world_request *q, const struct unit_bits *bits)
{
    struct streams_group_heartbeat_request_task_ids_array all = {
        .v = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_task_ids, 2)};
    for (int s = 0; s < 2; s++) {
        struct int32_array partitions = {.v = ARENA_NEW(&q->arena, int32_t, RANDOM_PARTITIONS)};
        for (int p = 0; p < RANDOM_PARTITIONS; p++) {
            if ((bits->of[s] >> p & 1) != 0) {
                partitions.v[partitions.len++] = p;
            }
        }
        if (partitions.len > 0) {
            all.v[all.len++] =
                (struct streams_group_heartbeat_request_task_ids){.subtopology_id = s == 0 ? STR("0") : STR("1"), .partitions = partitions};
        }
    }
    return all;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------------- */

static struct world_request *request_new(struct modern_random *r, struct random_client *c, int32_t epoch)
{
    struct world_request *q = modern_random_new(r, c);
    struct streams_group_heartbeat_request *h = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request, 1);
    int n = modern_random_number(r, c);
    wire_init(&wire_streams_group_heartbeat_request, h);
    h->group_id = q->op.group_id;
    h->member_epoch = epoch;
    h->member_id = arena_str(&q->arena, str_of(c->member_id));
    h->instance_id = n >= RANDOM_STATIC ? arena_printf(&q->arena, "i%d", n) : STR_NULL;
    h->endpoint_information_epoch = (int32_t)modern_random_below(r, 3) - 1;
    q->op.request = h;
    return q;
}

static struct streams_group_heartbeat_request *body(struct world_request *q)
{
    return (struct streams_group_heartbeat_request *)(uintptr_t)q->op.request;
}

/* 0 reads in, is stateless, and writes rp; 1 reads in2 and rp's like, and keeps state. */
static void set_topology(struct world_request *q)
{
    struct streams_group_heartbeat_request_topology *t = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topology, 1);
    struct streams_group_heartbeat_request_subtopology *s = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_subtopology, 2);
    struct str *names = ARENA_NEW(&q->arena, struct str, 2);
    names[0] = STR("in");
    names[1] = STR("in2");
    t->subtopologies.v = s;
    t->subtopologies.len = 2;
    for (int i = 0; i < 2; i++) {
        s[i].subtopology_id = i == 0 ? STR("0") : STR("1");
        s[i].source_topics = (struct str_array){&names[i], 1};
    }
    struct streams_group_heartbeat_request_topic_info *changelog =
        ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topic_info, 1);
    changelog->name = STR("cl");
    s[1].state_changelog_topics.v = changelog;
    s[1].state_changelog_topics.len = 1;
    body(q)->topology = t;
}

static struct world_request *join(struct modern_random *r, struct random_client *c)
{
    int n = modern_random_number(r, c);
    struct world_request *q = request_new(r, c, 0);
    struct streams_group_heartbeat_request *h = body(q);
    h->rebalance_timeout_ms = (int32_t)(500 + modern_random_below(r, 4) * 1000);
    h->process_id = arena_printf(&q->arena, "p%d", n / 2); /* two clients of each process, so that there are members that share one */
    h->active_tasks.len = h->standby_tasks.len = h->warmup_tasks.len = 0;
    if (n % 3 == 0) {
        h->user_endpoint = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_endpoint, 1);
        h->user_endpoint->host = STR("h");
        h->user_endpoint->port = (uint16_t)n;
    }
    set_topology(q);
    return q;
}

static struct world_request *beat(struct modern_random *r, struct random_client *c, bool says_what_it_has)
{
    struct world_request *q = request_new(r, c, c->epoch);
    if (says_what_it_has) {
        body(q)->active_tasks = request_tasks(q, &c->has[UNITS_ACTIVE]);
        body(q)->standby_tasks = request_tasks(q, &c->has[UNITS_STANDBY]);
        body(q)->warmup_tasks = request_tasks(q, &c->has[UNITS_WARMUP]);
    }
    return q;
}

static struct world_request *change(struct modern_random *r, struct random_client *c)
{
    struct world_request *q = request_new(r, c, c->epoch);
    body(q)->rebalance_timeout_ms = (int32_t)(500 + modern_random_below(r, 4) * 1000);
    body(q)->shutdown_application = modern_random_below(r, 20) == 0;
    return q;
}

static int32_t epoch_of(const struct group_out *out)
{
    return ((const struct streams_group_heartbeat_response *)out->answer)->member_epoch;
}

static struct str member_id_of(const struct group_out *out)
{
    return ((const struct streams_group_heartbeat_response *)out->answer)->member_id;
}

static bool told_by(const struct group_out *out, struct unit_bits told[UNIT_KINDS])
{
    const struct streams_group_heartbeat_response *answer = out->answer;
    told[UNITS_ACTIVE] = bits_of_answer(&answer->active_tasks);
    told[UNITS_STANDBY] = bits_of_answer(&answer->standby_tasks);
    told[UNITS_WARMUP] = bits_of_answer(&answer->warmup_tasks);
    return answer->active_tasks.len >= 0;
}

/* ---- topics ------------------------------------------------------------------------------------------------------------------------------ */

static void change_topics(struct modern_random *r)
{
    static const char *const names[] = {"in", "in2", "cl"};
    world_topic_set(&r->world, names[modern_random_below(r, 3)], (int32_t)modern_random_below(r, 9));
    modern_random_tell_topics(r);
}

/* The changelog, as it has to be. */
static void mend_topics(struct modern_random *r)
{
    const struct topics *topics = &r->world.topics;
    struct topic_view view;
    if (topics->by_name(topics->ctx, STR("in2"), &view)) {
        world_topic_set(&r->world, "cl", 0);
        world_topic_set(&r->world, "cl", view.partitions);
    }
    modern_random_tell_topics(r);
}

static void init(struct modern_random *r)
{
    static const int32_t intervals[] = {0, 0, 300, 1000};
    static const int32_t delays[] = {0, 0, 1000, 3000};
    r->world.settings.streams.assignment_interval_ms = intervals[modern_random_below(r, 4)];
    r->world.settings.streams.initial_rebalance_delay_ms = delays[modern_random_below(r, 4)];
    r->world.settings.streams.num_standby_replicas = (int32_t)modern_random_below(r, 3);
    world_topic_set(&r->world, "in", (int32_t)(1 + modern_random_below(r, 8)));
    world_topic_set(&r->world, "in2", (int32_t)(1 + modern_random_below(r, 8)));
}

/* ---- state ---------------------------------------------------------------------------------------------------------------------------------- */

static const struct modern *state_of(const struct group *g)
{
    return group_type(g) == GROUP_STREAMS ? g->streams : NULL;
}

/* A process has a task in one kind. */
static void check(const struct modern_slot *first, const struct modern_slot *second)
{
    struct member_position a = modern_position(first), b = modern_position(second);
    struct unit_bits of_a = bits_of_units(a.assigned.kind[UNITS_ACTIVE]), of_b = bits_of_units(b.assigned.kind[UNITS_ACTIVE]);
    struct unit_bits a_revokes = bits_of_units(a.revoking.kind[UNITS_ACTIVE]), b_revokes = bits_of_units(b.revoking.kind[UNITS_ACTIVE]);
    struct unit_bits a_stands_by = bits_of_units(a.assigned.kind[UNITS_STANDBY]),
                     b_stands_by = bits_of_units(b.assigned.kind[UNITS_STANDBY]);
    if (str_eq(first->member->process_id, second->member->process_id)) {
        assert_false(bits_meet(&of_a, &b_stands_by) || bits_meet(&a_revokes, &b_stands_by) || bits_meet(&a_stands_by, &b_stands_by));
        assert_false(bits_meet(&of_b, &a_stands_by) || bits_meet(&b_revokes, &a_stands_by));
    }
}

static struct unit_bits needed(const struct modern_random *r, const struct modern *s)
{
    static const char *const sources[] = {"in", "in2"};
    const struct topics *topics = &r->world.topics;
    struct unit_bits all = {{0}};
    for (int i = 0; i < 2 && s->problem == TOPOLOGY_FINE; i++) {
        struct topic_view view;
        int32_t count = topics->by_name(topics->ctx, str_of(sources[i]), &view) ? view.partitions : 0;
        for (int32_t p = 0; p < count; p++) {
            bits_add(&all, i, p);
        }
    }
    return all;
}

const struct random_kind random_streams = {.name = "streams",
                                           .heartbeat = GROUP_STREAMS_HEARTBEAT,
                                           .init = init,
                                           .join = join,
                                           .beat = beat,
                                           .leave = request_new,
                                           .change = change,
                                           .change_topics = change_topics,
                                           .mend_topics = mend_topics,
                                           .epoch_of = epoch_of,
                                           .told = told_by,
                                           .member_id = member_id_of,
                                           .state = state_of,
                                           .bits = bits_of_units,
                                           .check = check,
                                           .needed = needed};
