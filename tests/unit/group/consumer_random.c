/* consumer_random.c: what of random lives is that of consumer groups. */
#include "modern_random.h"
#include "tests.h"

#include <string.h>

enum { TOPICS = 3 };
static const char *const names[TOPICS] = {"ta", "tb", "uc"};
static const char regex[] = "t[ab]";

/* ---- partitions: topics by the last byte of their ids (tests/lib/group_world.c) -------------------------------------------------------- */

static struct unit_bits bits_of_units(struct units units)
{
    struct unit_bits bits = {{0}};
    for (int32_t i = 0; i < units.len; i++) {
        assert_int_equal(units.v[i].name.len, sizeof(struct uuid));
        bits_add(&bits, (uint8_t)units.v[i].name.ptr[15] - 1, units.v[i].partition);
    }
    return bits;
}

static struct consumer_group_heartbeat_request_topic_partitions_array request_units(struct world_request *q, const struct unit_bits *bits)
{
    struct consumer_group_heartbeat_request_topic_partitions_array all = {
        .v = ARENA_NEW(&q->arena, struct consumer_group_heartbeat_request_topic_partitions, RANDOM_NAMES)};
    for (int t = 0; t < RANDOM_NAMES; t++) {
        struct consumer_group_heartbeat_request_topic_partitions *topic = &all.v[all.len];
        if (bits->of[t] == 0) {
            continue;
        }
        memset(topic->topic_id.b, 0xee, sizeof topic->topic_id.b);
        topic->topic_id.b[15] = (uint8_t)(t + 1);
        topic->partitions.v = ARENA_NEW(&q->arena, int32_t, RANDOM_PARTITIONS);
        for (int p = 0; p < RANDOM_PARTITIONS; p++) {
            if ((bits->of[t] >> p & 1) != 0) {
                topic->partitions.v[topic->partitions.len++] = p;
            }
        }
        all.len++;
    }
    return all;
}

/* ---- requests ---------------------------------------------------------------------------------------------------------------------------- */

static struct world_request *request_new(struct modern_random *r, struct random_client *c, int32_t epoch)
{
    struct world_request *q = modern_random_new(r, c);
    struct consumer_group_heartbeat_request *h = ARENA_NEW(&q->arena, struct consumer_group_heartbeat_request, 1);
    int n = modern_random_number(r, c);
    wire_init(&wire_consumer_group_heartbeat_request, h);
    q->op.api_version = n == 0 ? 0 : 1;
    h->group_id = q->op.group_id;
    h->member_epoch = epoch;
    h->member_id = arena_str(&q->arena, str_of(c->member_id));
    h->instance_id = n >= RANDOM_STATIC ? arena_printf(&q->arena, "i%d", n) : STR_NULL;
    q->op.request = h;
    return q;
}

static struct consumer_group_heartbeat_request *body(struct world_request *q)
{
    return (struct consumer_group_heartbeat_request *)(uintptr_t)q->op.request;
}

static void say_subscription(struct modern_random *r, struct world_request *q, const struct random_client *c)
{
    struct consumer_group_heartbeat_request *h = body(q);
    h->subscribed_topic_names = (struct str_array){ARENA_NEW(&q->arena, struct str, TOPICS), 0};
    for (int t = 0; t < TOPICS; t++) {
        if ((c->topics >> t & 1) != 0) {
            h->subscribed_topic_names.v[h->subscribed_topic_names.len++] = str_of(names[t]);
        }
    }
    if (q->op.api_version > 0) {
        h->subscribed_topic_regex = c->by_regex ? STR(regex) : STR("");
    }
    h->rebalance_timeout_ms = (int32_t)(500 + modern_random_below(r, 4) * 1000);
}

static void choose(struct modern_random *r, struct random_client *c)
{
    c->topics = (uint32_t)modern_random_below(r, 1u << TOPICS);
    c->by_regex = modern_random_number(r, c) != 0 && modern_random_below(r, 3) == 0;
}

static struct world_request *join(struct modern_random *r, struct random_client *c)
{
    static const char *const assignors[] = {"uniform", "range"};
    choose(r, c);
    struct world_request *q = request_new(r, c, 0);
    if (q->op.api_version == 0 && modern_random_below(r, 2) == 0) {
        body(q)->member_id = STR(""); /* the coordinator makes one */
    }
    body(q)->topic_partitions.len = 0;
    body(q)->server_assignor = modern_random_below(r, 2) == 0 ? str_of(assignors[modern_random_below(r, 2)]) : STR_NULL;
    body(q)->rack_id = modern_random_below(r, 3) == 0 ? STR("r") : STR_NULL;
    say_subscription(r, q, c);
    return q;
}

static struct world_request *beat(struct modern_random *r, struct random_client *c, bool says_what_it_has)
{
    struct world_request *q = request_new(r, c, c->epoch);
    if (says_what_it_has) {
        body(q)->topic_partitions = request_units(q, &c->has[UNITS_ACTIVE]);
        if (modern_random_below(r, 2) == 0) { /* and everything else */
            say_subscription(r, q, c);
        }
    }
    return q;
}

static struct world_request *change(struct modern_random *r, struct random_client *c)
{
    struct world_request *q = request_new(r, c, c->epoch);
    choose(r, c);
    say_subscription(r, q, c);
    return q;
}

static int32_t epoch_of(const struct group_out *out)
{
    return ((const struct consumer_group_heartbeat_response *)out->answer)->member_epoch;
}

static struct str member_id_of(const struct group_out *out)
{
    return ((const struct consumer_group_heartbeat_response *)out->answer)->member_id;
}

static bool told_by(const struct group_out *out, struct unit_bits told[UNIT_KINDS])
{
    const struct consumer_group_heartbeat_response *answer = out->answer;
    if (answer->assignment == NULL) {
        return false;
    }
    for (int32_t i = 0; i < answer->assignment->topic_partitions.len; i++) {
        const struct consumer_group_heartbeat_response_topic_partitions *t = &answer->assignment->topic_partitions.v[i];
        for (int32_t k = 0; k < t->partitions.len; k++) {
            bits_add(&told[UNITS_ACTIVE], t->topic_id.b[15] - 1, t->partitions.v[k]);
        }
    }
    return true;
}

/* ---- topics --------------------------------------------------------------------------------------------------------------------------------- */

/* One grows, goes, or comes again under another id. */
static void change_topics(struct modern_random *r)
{
    const struct topics *topics = &r->world.topics;
    const char *name = names[modern_random_below(r, TOPICS)];
    struct topic_view view;
    bool there = topics->by_name(topics->ctx, str_of(name), &view);
    int32_t count = there ? view.partitions : 0;
    if (!there && r->world.topic_count < WORLD_TOPICS) {
        world_topic_set(&r->world, name, (int32_t)(1 + modern_random_below(r, RANDOM_PARTITIONS)));
    } else if (there && modern_random_below(r, 3) == 0) {
        world_topic_set(&r->world, name, 0);
    } else if (there && count < RANDOM_PARTITIONS) {
        world_topic_set(&r->world, name, count + 1);
    }
    modern_random_tell_topics(r);
}

static void init(struct modern_random *r)
{
    static const int32_t intervals[] = {0, 0, 300, 1000};
    r->world.settings.consumer.assignment_interval_ms = intervals[modern_random_below(r, 4)];
    for (int t = 0; t < TOPICS; t++) {
        world_topic_set(&r->world, names[t], (int32_t)(1 + modern_random_below(r, RANDOM_PARTITIONS)));
    }
}

/* ---- state ----------------------------------------------------------------------------------------------------------------------------------- */

static const struct modern *state_of(const struct group *g)
{
    return group_type(g) == GROUP_CONSUMER ? g->consumer : NULL;
}

static bool subscribes(const struct modern_member *m, int topic)
{
    bool named = !str_is_empty(m->regex) && names[topic][0] == 't';
    for (int32_t i = 0; i < m->topics.len; i++) {
        named = named || str_eq(m->topics.v[i], str_of(names[topic]));
    }
    return named;
}

static struct unit_bits needed(const struct modern_random *r, const struct modern *s)
{
    const struct topics *topics = &r->world.topics;
    struct unit_bits all = {{0}};
    for (int t = 0; t < TOPICS; t++) {
        struct topic_view view;
        bool wanted = false;
        for (int32_t i = 0; i < s->slot_count; i++) {
            wanted = wanted || subscribes(s->slots[i].member, t);
        }
        int32_t count = wanted && topics->by_name(topics->ctx, str_of(names[t]), &view) ? view.partitions : 0;
        for (int32_t p = 0; p < count; p++) {
            bits_add(&all, view.id.b[15] - 1, p);
        }
    }
    return all;
}

const struct random_kind random_consumers = {.name = "consumers",
                                             .heartbeat = GROUP_CONSUMER_HEARTBEAT,
                                             .init = init,
                                             .join = join,
                                             .beat = beat,
                                             .leave = request_new,
                                             .change = change,
                                             .change_topics = change_topics,
                                             .epoch_of = epoch_of,
                                             .told = told_by,
                                             .member_id = member_id_of,
                                             .state = state_of,
                                             .bits = bits_of_units,
                                             .needed = needed};
