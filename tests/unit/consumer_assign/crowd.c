#include "crowd.h"

#include <stdio.h>
#include <string.h>

void crowd_init(struct crowd *c, enum consumer_assignor assignor, int32_t topic_count)
{
    memset(c, 0, sizeof(*c));
    arena_init(&c->arena, 0);
    c->assignor = assignor;
    c->topic_count = topic_count;
}

void crowd_fini(struct crowd *c)
{
    arena_fini(&c->arena);
}

struct crowd_member *crowd_join(struct crowd *c, const char *id)
{
    int32_t at = 0;
    while (at < c->member_count && strcmp(c->members[at].id, id) < 0) {
        at++;
    }
    if (c->member_count == CROWD_MEMBERS || (at < c->member_count && strcmp(c->members[at].id, id) == 0)) {
        return NULL;
    }
    memmove(&c->members[at + 1], &c->members[at], (size_t)(c->member_count - at) * sizeof(c->members[0]));
    c->members[at] = (struct crowd_member){.rack = -1};
    (void)snprintf(c->members[at].id, sizeof(c->members[at].id), "%s", id);
    c->member_count++;
    return &c->members[at];
}

void crowd_leave(struct crowd *c, int32_t member)
{
    c->member_count--;
    memmove(&c->members[member], &c->members[member + 1], (size_t)(c->member_count - member) * sizeof(c->members[0]));
}

/* ---- the assignor's side ----------------------------------------------------------------------------------------------------------------- */

/* Ids whose order in Kafka's hash tables is their own. */
static struct str topic_id(struct crowd *c, int32_t topic)
{
    char id[16] = {0};
    id[15] = (char)(topic + 1);
    return arena_str(&c->arena, (struct str){id, sizeof(id)});
}

static const struct str_array *topic_racks(struct crowd *c, int32_t topic)
{
    static const char *const names[CROWD_RACKS] = {"r0", "r1", "r2", "r3", "r4", "r5"};
    struct str_array *racks = ARENA_NEW(&c->arena, struct str_array, c->partitions[topic]);
    for (int32_t p = 0; p < c->partitions[topic]; p++) {
        racks[p].v = ARENA_NEW(&c->arena, struct str, 2 * CROWD_RACKS);
        for (int r = 0; r < CROWD_RACKS; r++) {
            if ((c->racks[topic][p] & 1u << r) != 0) {
                racks[p].v[racks[p].len++] = str_of(names[r]);
                if ((p + r) % 3 == 0) { /* two replicas in one rack */
                    racks[p].v[racks[p].len++] = str_of(names[r]);
                }
            }
        }
    }
    return racks;
}

static struct consumer_subscriber subscriber(struct crowd *c, const struct crowd_member *m, const int32_t *places)
{
    struct unit_list had;
    int32_t *topics = ARENA_NEW(&c->arena, int32_t, c->topic_count);
    struct consumer_subscriber s = {.member_id = str_of(m->id), .instance_id = STR_NULL, .rack_id = STR_NULL, .topics = topics};
    unit_list_init(&had, &c->arena);
    for (int32_t t = 0; t < c->topic_count; t++) {
        if (m->wants[t] && c->partitions[t] > 0) {
            topics[s.topic_count++] = places[t];
        }
        for (int32_t p = 0; p < CROWD_PARTITIONS; p++) {
            if (m->had[t][p]) {
                unit_list_add(&had, topic_id(c, t), p, 7);
            }
        }
    }
    s.had = unit_list_finish(&had);
    if (m->is_static) {
        s.instance_id = str_of(m->instance);
    }
    if (m->rack >= 0) {
        s.rack_id = arena_printf(&c->arena, "r%d", m->rack);
    }
    return s;
}

static void give_input(struct crowd *c)
{
    int32_t places[CROWD_TOPICS] = {0};
    struct consumer_topic *topics = ARENA_NEW(&c->arena, struct consumer_topic, c->topic_count);
    struct consumer_subscriber *members = ARENA_NEW(&c->arena, struct consumer_subscriber, c->member_count);
    c->in = (struct consumer_assign_input){.topics = topics, .members = members, .member_count = c->member_count, .mixed = c->mixed};
    for (int32_t t = 0; t < c->topic_count; t++) {
        if (c->partitions[t] > 0) {
            places[t] = c->in.topic_count;
            topics[c->in.topic_count++] = (struct consumer_topic){.id = topic_id(c, t),
                                                                  .partitions = c->partitions[t],
                                                                  .racks = c->racks_known ? topic_racks(c, t) : NULL};
        }
    }
    for (int32_t m = 0; m < c->member_count; m++) {
        members[m] = subscriber(c, &c->members[m], places);
    }
}

static void take_output(struct crowd *c)
{
    for (int32_t m = 0; m < c->member_count; m++) {
        for (int32_t i = 0; i < c->shares[m].len; i++) {
            const struct unit *u = &c->shares[m].v[i];
            int32_t t = u->name.ptr[15] - 1;
            assert_in_range(t, 0, c->topic_count - 1);
            assert_in_range(u->partition, 0, c->partitions[t] - 1);
            assert_int_equal(c->owner[t][u->partition], CROWD_NOBODY);
            assert_true(c->members[m].wants[t]);
            assert_int_equal(u->epoch, 0);
            assert_true(i == 0 || unit_cmp(&u[-1], u) < 0);
            c->owner[t][u->partition] = m;
        }
    }
}

void crowd_assign(struct crowd *c)
{
    memset(c->owner, -1, sizeof(c->owner));
    give_input(c);
    c->shares = ARENA_NEW(&c->arena, struct units, c->member_count);
    consumer_assign(c->assignor, &c->in, &c->arena, c->shares);
    take_output(c);
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t]; p++) {
            assert_true((c->owner[t][p] != CROWD_NOBODY) == crowd_wanted(c, t));
        }
    }
}

void crowd_take(struct crowd *c)
{
    for (int32_t m = 0; m < c->member_count; m++) {
        for (int32_t t = 0; t < c->topic_count; t++) {
            for (int32_t p = 0; p < CROWD_PARTITIONS; p++) {
                c->members[m].had[t][p] = p < c->partitions[t] && c->owner[t][p] == m;
            }
        }
    }
}

/* ---- looking at it ------------------------------------------------------------------------------------------------------------------------- */

bool crowd_kindred(const struct crowd *c, int32_t a, int32_t b)
{
    bool same = true;
    for (int32_t m = 0; m < c->member_count; m++) {
        same = same && c->members[m].wants[a] == c->members[m].wants[b];
    }
    return same;
}

bool crowd_wanted(const struct crowd *c, int32_t topic)
{
    bool wanted = false;
    for (int32_t m = 0; m < c->member_count; m++) {
        wanted = wanted || c->members[m].wants[topic];
    }
    return wanted && c->partitions[topic] > 0;
}

int32_t crowd_was(const struct crowd *c, int32_t topic, int32_t partition)
{
    for (int32_t m = 0; partition < c->partitions[topic] && m < c->member_count; m++) {
        if (c->members[m].had[topic][partition] && c->members[m].wants[topic]) {
            return m;
        }
    }
    return CROWD_NOBODY;
}

int32_t crowd_holds(const struct crowd *c, int32_t member)
{
    return c->shares[member].len;
}

int32_t crowd_moves(const struct crowd *c)
{
    int32_t moves = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t]; p++) {
            int32_t was = crowd_was(c, t, p);
            moves += was != CROWD_NOBODY && c->owner[t][p] != was;
        }
    }
    return moves;
}

bool crowd_near(const struct crowd *c, int32_t topic, int32_t partition, int32_t member)
{
    int rack = c->members[member].rack;
    return c->racks_known && rack >= 0 && (c->racks[topic][partition] & 1u << rack) != 0;
}

int32_t crowd_nearness(const struct crowd *c)
{
    int32_t near = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t]; p++) {
            near += c->owner[t][p] != CROWD_NOBODY && crowd_near(c, t, p, c->owner[t][p]);
        }
    }
    return near;
}

bool crowd_alike(const struct crowd *c)
{
    if (c->mixed) {
        return false;
    }
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t m = 1; c->partitions[t] > 0 && m < c->member_count; m++) {
            if (c->members[m].wants[t] != c->members[0].wants[t]) {
                return false;
            }
        }
    }
    return true;
}

/* ---- random ones ---------------------------------------------------------------------------------------------------------------------------- */

static int32_t below(struct prng *p, int32_t bound)
{
    return (int32_t)prng_below(p, (uint64_t)bound);
}

static void draw_wants(struct crowd *c, struct prng *p, struct crowd_member *m, bool mixed)
{
    for (int32_t t = 0; t < c->topic_count; t++) {
        m->wants[t] = c->partitions[t] > 0 && (mixed ? below(p, 10) < 6 : m == c->members || c->members[0].wants[t]);
    }
}

static void draw_member(struct crowd *c, struct prng *p, struct crowd_bounds b)
{
    char id[40];
    bool first = c->member_count == 0;
    (void)snprintf(id, sizeof(id), "%c%llu", 'a' + (char)below(p, 20), (unsigned long long)prng_below(p, 1000000));
    struct crowd_member *m = c->member_count < b.members ? crowd_join(c, id) : NULL;
    if (m == NULL) {
        return;
    }
    m->rack = b.racks > 0 && below(p, 8) > 0 ? below(p, b.racks) : -1;
    m->is_static = below(p, 3) == 0;
    (void)snprintf(m->instance, sizeof(m->instance), "i%s", m->id + 1);
    for (int32_t t = 0; t < c->topic_count; t++) {
        const struct crowd_member *any = m == c->members ? &c->members[1] : c->members;
        m->wants[t] = c->partitions[t] > 0 && (b.mixed ? below(p, 10) < 6 : first || any->wants[t]);
    }
}

static void draw_racks(struct crowd *c, struct prng *p, int32_t topic, int32_t racks)
{
    for (int32_t k = 0; k < CROWD_PARTITIONS; k++) {
        int32_t replicas = below(p, 4);
        c->racks[topic][k] = 0;
        for (int32_t r = 0; racks > 0 && r < replicas; r++) {
            c->racks[topic][k] |= 1u << below(p, racks);
        }
    }
}

void crowd_draw(struct crowd *c, struct prng *p, enum consumer_assignor assignor, struct crowd_bounds b)
{
    crowd_init(c, assignor, 1 + below(p, b.topics));
    int32_t same = below(p, 3) == 0 ? 1 + below(p, b.partitions) : 0;
    c->racks_known = b.racks > 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        c->partitions[t] = same > 0 ? same : 1 + below(p, b.partitions);
        draw_racks(c, p, t, b.racks);
    }
    for (int32_t m = 1 + below(p, b.members); m > 0; m--) {
        draw_member(c, p, b);
    }
}

static void change_topic(struct crowd *c, struct prng *p, struct crowd_bounds b)
{
    int32_t t = below(p, c->topic_count);
    if (c->partitions[t] == 0) {
        return;
    }
    if (below(p, 3) > 0) {
        int32_t more = c->partitions[t] + 1 + below(p, 4);
        c->partitions[t] = more < b.partitions ? more : b.partitions;
        return;
    }
    c->partitions[t] = 0;
    for (int32_t m = 0; m < c->member_count; m++) {
        c->members[m].wants[t] = false;
    }
}

void crowd_change(struct crowd *c, struct prng *p, struct crowd_bounds b)
{
    for (int32_t changes = 1 + (below(p, 3) == 0 ? below(p, 4) : 0); changes > 0; changes--) {
        int32_t what = below(p, 10);
        if (what < 4) {
            draw_member(c, p, b);
        } else if (what < 7 && c->member_count > 1) {
            crowd_leave(c, below(p, c->member_count));
        } else if (what < 8) {
            change_topic(c, p, b);
        } else if (b.mixed) {
            draw_wants(c, p, &c->members[below(p, c->member_count)], true);
        } else {
            int32_t t = below(p, c->topic_count);
            bool wanted = c->partitions[t] > 0 && below(p, 2) == 0;
            for (int32_t m = 0; m < c->member_count; m++) {
                c->members[m].wants[t] = wanted;
            }
        }
    }
}

void crowd_draw_had(struct crowd *c, struct prng *p)
{
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t k = 0; k < CROWD_PARTITIONS; k++) {
            int32_t m = below(p, c->member_count + 1);
            if (m < c->member_count && k < c->partitions[t] + 2) {
                c->members[m].had[t][k] = true;
            }
        }
    }
}
