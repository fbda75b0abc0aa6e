/* Those who look at groups: any node is asked, over and over; and a node that has just taken office, before anybody has said anything. */
#include "member.h"

enum { LOOK_PATIENCE_US = 150000 };

static void look_again(struct sim *sim, void *arg, uint64_t serial);

static void look_at(struct looker *l, int64_t delay_us)
{
    sim_at(l->sim, l->sim->now_us + delay_us, look_again, l, ++l->serial);
}

static void look_answered(struct sim_request *r)
{
    struct sim *sim = r->sim;
    struct looker *l = r->owner;
    if (l->serial != r->serial)
        return;
    if (!request_elsewhere(l->question->error(r->answer)))
        l->question->look(sim, l->crowd, r->answer, l->sent_us);
    if (!sim->failed)
        look_at(l, sim_between(sim, 3000, 40000));
}

static void look_given_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct looker *l = arg;
    (void)sim;
    if (l->serial == serial)
        look_at(l, 1000);
}

static void look_again(struct sim *sim, void *arg, uint64_t serial)
{
    struct looker *l = arg;
    if (l->serial != serial || sim->failed)
        return;
    l->crowd = l->choose(sim, &l->question);
    struct sim_request *r = request_new(sim, l, look_answered, l->question->kind, l->question->api_key, l->question->version);
    r->request.op.group_id = arena_str(&r->arena, str_of(l->crowd->id));
    r->request.op.caller = (struct group_caller){STR("looker"), STR("/sim")};
    l->question->fill(r);
    l->sent_us = sim->now_us;
    r->serial = ++l->serial;
    request_send(r, members_any(sim));
    sim_at(sim, sim->now_us + LOOK_PATIENCE_US, look_given_up, l, r->serial);
}

void looker_start(struct looker *l, struct sim *sim, int64_t delay_us,
                  struct crowd *(*choose)(struct sim *sim, const struct question **ret))
{
    l->sim = sim;
    l->choose = choose;
    look_at(l, delay_us);
}

/* ---- right after a failover ---- */

bool looks_superseded(const struct sim_node *n, uint32_t shard)
{
    struct replica_shard_status own, other, catalog;
    replica_status(n->core, 0, &catalog);
    /* It may lead one shard and know less of the catalogue, or nothing yet: whoever asks is held back until it does. */
    if (n->joining || n->catalog_restores || catalog.applied_index < (uint64_t)group_set_cursor(coord_set(n->coord, shard)))
        return true;
    replica_status(n->core, shard, &own);
    for (uint32_t id = 1; id <= n->sim->options.nodes; id++) {
        if (!n->sim->nodes[id].alive)
            continue;
        replica_status(n->sim->nodes[id].core, shard, &other);
        if (other.term > own.term)
            return true;
    }
    return false;
}

const void *look_at_node(struct sim_node *n, uint32_t shard, struct group_op *op, struct arena *arena)
{
    struct group_out out;
    struct topics topics;
    struct group_settings settings = {.node_count = 1};
    catalog_topics(coord_set(n->coord, 0), &topics);
    op->topics = &topics;
    op->catalog = coord_set(n->coord, 0);
    op->settings = &settings;
    group_decide(coord_set(n->coord, shard), op, arena, &out);
    return out.answer;
}
