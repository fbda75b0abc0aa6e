/* Versions of the program in one cluster: some nodes know feature level 3, others only level 1 or 2, and the operator replaces the old programs one by one. The administrator
 * asks for the new level all the while, and is to be given it only when every node has been seen with it. What an old program does not know stops it before it applies
 * that (here as its record handling would: src/group/feature.c knows one level only); now and then somebody starts an old one again by mistake. */
#include <muster/messages.h>

#include "world.h"

enum { OLD = 1, MIDDLE = 2, NEW = 3, LOOK_US = 100000 };
enum { MIDDLE_RECORD_FIRST = 0x4008, MIDDLE_RECORD_LAST = 0x400a, NEW_RECORD = 0x400b };

static bool in_story(const struct sim *sim)
{
    return sim->options.story == STORY_LEVELS;
}

/* ---- what an old program knows ---- */

/* The level that a record came with. */
static int16_t level_of(uint16_t type)
{
    return type == NEW_RECORD ? NEW : type >= MIDDLE_RECORD_FIRST && type <= MIDDLE_RECORD_LAST ? MIDDLE : OLD;
}

static bool knows_record(const struct sim_node *n, struct bytes key, struct bytes value, struct arena *arena)
{
    struct feature_level_value level;
    if (key.len < 2 || n->level >= NEW)
        return true;
    uint16_t type = get_be16(key.ptr);
    if (type != RECORD_FEATURE_LEVEL || value.len < 2)
        return n->level >= level_of(type);
    struct bytes body = {value.ptr + 2, value.len - 2};
    return wire_decode(&wire_feature_level_value, (int16_t)get_be16(value.ptr), body, arena, &level, NULL) != 0 || level.level <= n->level;
}

static void outdated(struct sim_node *n, const char *where, uint32_t shard, uint64_t index)
{
    n->outdated = n->stops = true;
    sim_say(n->sim, "node=%u shard=%u %s %llu is of a newer version: it stops", n->id, shard, where, (unsigned long long)index);
}

bool levels_entry(struct sim_node *n, uint32_t shard, uint64_t index, struct bytes entry)
{
    struct arena arena;
    struct log_entry decoded;
    if (!in_story(n->sim) || n->level >= NEW || n->outdated)
        return !n->outdated;
    arena_init(&arena, 0);
    bool knows = true, read = entry.len > 0 && wire_decode(&wire_log_entry, 0, entry, &arena, &decoded, NULL) >= 0;
    for (int32_t i = 0; read && knows && i < decoded.records.len; i++)
        knows = knows_record(n, decoded.records.v[i].key, decoded.records.v[i].value, &arena);
    arena_fini(&arena);
    if (!knows)
        outdated(n, "entry", shard, index);
    return knows;
}

void levels_restored(struct sim_node *n, uint32_t shard, uint64_t index)
{
    struct group_set_counts counts;
    const struct group_set *set = coord_set(n->coord, shard);
    if (!in_story(n->sim) || n->level >= NEW || set == NULL)
        return;
    group_set_counts(set, &counts);
    struct group_office office;
    bool newer = (counts.history_records > 0 && n->level < MIDDLE) || group_set_office(set, 0, &office);
    if (newer || (shard == 0 && catalog_feature_level(set) > n->level))
        outdated(n, "snapshot", shard, index);
}

/* ---- the operator ---- */

static void start_with(struct sim_node *n, int16_t level)
{
    n->level = level;
    n->level_most = level > n->level_most ? level : n->level_most;
    faults_restart_soon(n);
}

void levels_stopped(struct sim_node *n)
{
    n->outdated = false;
    n->sim->totals.outdated++;
    if (n->level_most < NEW && n->sim->totals.levels_raised == 0)
        sim_fail(n->sim, "node %u meets what it does not know, and nobody has raised the level", n->id);
    start_with(n, NEW);
}

static void change_program(struct sim *sim)
{
    if (sim->now_us < sim->alone_until_us && !sim->healing)
        return;
    struct sim_node *n = &sim->nodes[1 + prng_below(&sim->random, sim->options.nodes)];
    bool mistake = n->level >= NEW && !sim->healing && sim_chance(sim, 100000);
    if (!n->alive || (n->level >= NEW && !mistake) || !(sim->healing || sim_chance(sim, 120000)))
        return;
    sim_say(sim, "node=%u is to run a program of level %d", n->id, mistake ? OLD : NEW);
    node_stop(n);
    start_with(n, mistake ? OLD : NEW);
}

/* ---- what nodes and the administrator ask for ---- */

static void answered(struct sim_request *r)
{
    (void)r;
}

static struct sim_request *ask(struct sim *sim, enum group_op_kind kind, int16_t api_key, const void *message)
{
    struct sim_request *r = request_new(sim, NULL, answered, kind, api_key, api_key < 0 ? -1 : 0);
    r->request.op.group_id = STR_NULL;
    r->request.op.caller = (struct group_caller){STR("admin"), STR("/sim")};
    r->request.op.request = message;
    return r;
}

static void found(struct sim *sim)
{
    const struct store_identity *identity = &sim->identity;
    struct sim_request *r = ask(sim, CATALOG_MEMBER_STEP, -1, NULL);
    struct member_step *step = ARENA_NEW(&r->arena, struct member_step, 1);
    struct catalog_member *founders = ARENA_NEW(&r->arena, struct catalog_member, identity->peer_count);
    for (uint32_t i = 0; i < identity->peer_count; i++)
        founders[i] = (struct catalog_member){.node_id = (int32_t)identity->peers[i].node_id,
                                              .incarnation = identity->peers[i].incarnation,
                                              .peer_address = str_of(identity->peers[i].address),
                                              .standing = MEMBER_VOTER};
    *step = (struct member_step){
        .kind = MEMBER_STEP_FOUND, .change_id = -1, .founders = founders, .founder_count = identity->peer_count, .reason = STR_NULL};
    r->request.op.request = step;
    request_send(r, members_any(sim));
}

static void register_node(struct sim_node *n)
{
    struct sim *sim = n->sim;
    struct catalog_node known;
    const struct group_set *catalog = coord_set(n->coord, 0);
    if (catalog == NULL ||
        (catalog_next_node(catalog, (int32_t)n->id - 1, &known) && known.node_id == (int32_t)n->id && known.feature_level == n->level))
        return;
    struct sim_request *r = ask(sim, CATALOG_REGISTER_NODE, 20005, NULL);
    struct register_node_request *m = ARENA_NEW(&r->arena, struct register_node_request, 1);
    wire_init(&wire_register_node_request, m);
    m->node_id = (int32_t)n->id;
    m->incarnation = n->identity.incarnation;
    m->host = m->peer_address = m->rack = STR("here");
    m->port = 1;
    m->feature_level = n->level;
    m->release = STR("1");
    r->request.op.request = m;
    request_send(r, members_any(sim));
}

static void ask_for_level(struct sim *sim)
{
    struct sim_request *r = ask(sim, CATALOG_UPGRADE, 20010, NULL);
    struct upgrade_cluster_request *m = ARENA_NEW(&r->arena, struct upgrade_cluster_request, 1);
    wire_init(&wire_upgrade_cluster_request, m);
    m->level = NEW;
    r->request.op.release = STR("3");
    r->request.op.request = m;
    request_send(r, members_any(sim));
}

void levels_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out)
{
    struct sim *sim = n->sim;
    if (!in_story(sim) || op->kind != CATALOG_UPGRADE || out->records.len == 0)
        return;
    sim->totals.levels_raised++;
    sim_say(sim, "node=%u raises the level", n->id);
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].level_most < NEW)
            sim_fail(sim, "the level is raised although node %u never ran a program that knows it", id);
    }
}

static bool is_raised(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *n = &sim->nodes[id];
        if (n->alive && catalog_feature_level(coord_set(n->coord, 0)) >= NEW)
            return true;
    }
    return false;
}

static void look(struct sim *sim, void *arg, uint64_t tag)
{
    (void)arg, (void)tag;
    struct sim_node *leader = operator_leader_of(sim, 0);
    struct catalog_member first;
    if (leader != NULL && !catalog_next_member(coord_set(leader->coord, 0), -1, &first))
        found(sim);
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].alive)
            register_node(&sim->nodes[id]);
    }
    if (!is_raised(sim))
        ask_for_level(sim);
    change_program(sim);
    sim_at(sim, sim->now_us + LOOK_US, look, NULL, 0);
}

void levels_start(struct sim *sim)
{
    if (in_story(sim))
        sim_at(sim, sim->now_us + LOOK_US, look, NULL, 0);
}

void levels_init(struct sim_node *n)
{
    bool old = in_story(n->sim) && sim_chance(n->sim, 700000);
    n->level = n->level_most = !old ? NEW : sim_chance(n->sim, 500000) ? OLD : MIDDLE;
}

bool levels_idle(const struct sim *sim)
{
    for (uint32_t id = 1; in_story(sim) && id <= sim->options.nodes; id++) {
        if (sim->nodes[id].level < NEW)
            return false;
    }
    return !in_story(sim) || is_raised(sim);
}
