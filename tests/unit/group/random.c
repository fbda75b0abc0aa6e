#include "random.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "classic/members.h"

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct random_world *r = ctx;
    r->answers++;
    if (request->op.kind != GROUP_JOIN || out->answer == NULL) {
        return;
    }
    const struct join_group_response *answer = out->answer;
    struct random_client *client = (struct random_client *)(uintptr_t)request->tag;
    if (answer->error_code == 0 || answer->error_code == 79) {
        snprintf(client->member_id, sizeof client->member_id, "%.*s", STR_ARG(answer->member_id));
        client->generation = answer->generation_id;
        client->leader = answer->error_code == 0 && str_eq(answer->leader, answer->member_id);
    } else if (answer->error_code != 16) {
        client->member_id[0] = '\0';
    }
}

void random_init(struct random_world *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    prng_seed(&r->prng, seed);
    struct world_events events = {.ctx = r, .answer = on_answer};
    world_init(&r->world, &events);
    world_level(&r->world, prng_chance(&r->prng, 800000) ? 2 : 1);
    r->world.settings.history_max_entries = 1 + (int32_t)prng_below(&r->prng, 4);
    r->world.settings.initial_rebalance_delay_ms = prng_chance(&r->prng, 500000) ? 0 : 3000;
    r->world.settings.group_max_size = prng_chance(&r->prng, 300000) ? 4 : INT32_MAX;
    r->world.settings.rebalance_on_partition_change = prng_chance(&r->prng, 500000);
    world_topic_set(&r->world, "t", 4);
}

void random_fini(struct random_world *r)
{
    world_fini(&r->world);
}

static uint64_t below(struct random_world *r, uint64_t bound)
{
    return prng_below(&r->prng, bound);
}

static struct str text(struct world_request *q, const char *prefix, int number)
{
    return arena_printf(&q->arena, "%s%d", prefix, number);
}

/* ---- requests -------------------------------------------------------------------------------------------------------------- */

/* Clients 4 and 5 are static. */
static struct str instance_of(struct world_request *q, int client)
{
    return client >= 4 ? text(q, "i", client) : STR_NULL;
}

static void fill_join(struct random_world *r, struct world_request *q, const struct random_client *c, int client)
{
    struct join_group_request *j = ARENA_NEW(&q->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, j);
    q->op.kind = GROUP_JOIN;
    q->op.api_version = (int16_t)(client >= 4 ? 5 + below(r, 5) : below(r, 10));
    j->group_id = q->op.group_id;
    j->session_timeout_ms = (int32_t)(6000 + below(r, 4) * 2000);
    j->rebalance_timeout_ms = (int32_t)(3000 + below(r, 4) * 3000);
    j->member_id = below(r, 8) == 0 ? STR("") : arena_str(&q->arena, str_of(c->member_id));
    j->group_instance_id = instance_of(q, client);
    j->protocol_type = STR("consumer");
    j->protocols.len = (int32_t)(1 + below(r, 2));
    j->protocols.v = ARENA_NEW(&q->arena, struct join_group_request_protocol, 2);
    j->protocols.v[0].name = STR("range");
    j->protocols.v[0].metadata = bytes_of_str(text(q, "m", (int)below(r, 3)));
    j->protocols.v[1].name = STR("roundrobin");
    j->protocols.v[1].metadata = bytes_of_str(STR("rr"));
    q->op.request = j;
}

static void fill_sync(struct random_world *r, struct world_request *q, const struct random_client *c, int group, int client)
{
    struct sync_group_request *s = ARENA_NEW(&q->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, s);
    q->op.kind = GROUP_SYNC;
    q->op.api_version = 3;
    s->group_id = q->op.group_id;
    s->generation_id = c->generation;
    s->member_id = arena_str(&q->arena, str_of(c->member_id));
    s->group_instance_id = instance_of(q, client);
    s->assignments.v = ARENA_NEW(&q->arena, struct sync_group_request_assignment, RANDOM_CLIENTS);
    for (int i = 0; c->leader && i < RANDOM_CLIENTS; i++) {
        struct sync_group_request_assignment *a = &s->assignments.v[s->assignments.len++];
        a->member_id = arena_str(&q->arena, str_of(r->client[group][i].member_id));
        a->assignment = bytes_of_str(text(q, "p", (int)below(r, 3)));
    }
    q->op.request = s;
}

static void fill_heartbeat(struct world_request *q, const struct random_client *c, int client)
{
    struct heartbeat_request *h = ARENA_NEW(&q->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, h);
    q->op.kind = GROUP_HEARTBEAT;
    q->op.api_version = 4;
    h->group_id = q->op.group_id;
    h->generation_id = c->generation;
    h->member_id = arena_str(&q->arena, str_of(c->member_id));
    h->group_instance_id = instance_of(q, client);
    q->op.request = h;
}

static void fill_leave(struct random_world *r, struct world_request *q, int group, int client)
{
    struct leave_group_request *l = ARENA_NEW(&q->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, l);
    q->op.kind = GROUP_LEAVE;
    q->op.api_version = 5;
    l->group_id = q->op.group_id;
    l->members.len = (int32_t)(1 + below(r, 2));
    l->members.v = ARENA_NEW(&q->arena, struct leave_group_request_member_identity, l->members.len);
    for (int32_t i = 0; i < l->members.len; i++) {
        int who = (client + (int)below(r, 2)) % RANDOM_CLIENTS;
        bool by_instance = who >= 4 && below(r, 2) == 0;
        l->members.v[i].member_id = by_instance ? STR("") : arena_str(&q->arena, str_of(r->client[group][who].member_id));
        l->members.v[i].group_instance_id = by_instance ? text(q, "i", who) : STR_NULL;
        l->members.v[i].reason = STR_NULL;
    }
    q->op.request = l;
}

static void fill_commit(struct random_world *r, struct world_request *q, const struct random_client *c, int client)
{
    struct offset_commit_request *o = ARENA_NEW(&q->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, o);
    q->op.kind = GROUP_OFFSET_COMMIT;
    q->op.api_version = 9;
    o->group_id = q->op.group_id;
    o->generation_id_or_member_epoch = below(r, 4) == 0 ? -1 : c->generation;
    o->member_id = below(r, 4) == 0 ? STR("") : arena_str(&q->arena, str_of(c->member_id));
    o->group_instance_id = instance_of(q, client);
    o->topics.len = 1;
    o->topics.v = ARENA_NEW(&q->arena, struct offset_commit_request_topic, 1);
    o->topics.v[0].name = STR("t");
    o->topics.v[0].partitions.len = 1;
    o->topics.v[0].partitions.v = ARENA_NEW(&q->arena, struct offset_commit_request_partition, 1);
    o->topics.v[0].partitions.v[0].partition_index = (int32_t)below(r, 4);
    o->topics.v[0].partitions.v[0].committed_offset = (int64_t)below(r, 1000);
    o->topics.v[0].partitions.v[0].committed_leader_epoch = -1;
    o->topics.v[0].partitions.v[0].committed_metadata = STR("");
    q->op.request = o;
}

struct world_request *random_request(struct random_world *r)
{
    int group = (int)below(r, RANDOM_GROUPS), client = (int)below(r, RANDOM_CLIENTS);
    struct random_client *c = &r->client[group][client];
    struct world_request *q = world_request_new("r");
    q->tag = c;
    q->op.group_id = text(q, "group-", group);
    q->op.caller = (struct group_caller){.client_id = text(q, "c", client), .host = STR("/127.0.0.1")};
    switch (below(r, 12)) {
    case 0:
    case 1:
    case 2:
    case 3:
        fill_join(r, q, c, client);
        break;
    case 4:
    case 5:
    case 6:
        fill_sync(r, q, c, group, client);
        break;
    case 7:
    case 8:
        fill_heartbeat(q, c, client);
        break;
    case 9:
    case 10:
        fill_commit(r, q, c, client);
        break;
    default:
        if (below(r, 6) == 0) {
            q->op.kind = GROUP_DELETE;
            q->op.api_version = 3;
        } else {
            fill_leave(r, q, group, client);
        }
    }
    return q;
}

void random_step(struct random_world *r)
{
    uint64_t what = below(r, 100);
    if (what < 75) {
        world_submit(&r->world, random_request(r));
    } else if (what < 98) {
        world_tick(&r->world, (int64_t)below(r, 3000));
    } else {
        world_failover(&r->world);
    }
}

/* ---- invariants ------------------------------------------------------------------------------------------------------------- */

static void check_members(const struct classic *c)
{
    int32_t joined = 0;
    for (int32_t i = 0; i < c->member_count; i++) {
        const struct classic_member *m = c->members[i];
        joined += member_joined(c, m) ? 1 : 0;
        assert_true(i == 0 || str_cmp(c->members[i - 1]->member_id, m->member_id) < 0);
        assert_int_equal(m->references, 1);
        assert_true(str_is_null(m->instance_id) || members_by_instance(c, m->instance_id) == i);
        bool pending;
        pending_place(c, m->member_id, &pending);
        assert_false(pending);
        assert_true(m->join_generation <= next_generation(c->generation));
    }
    assert_int_equal(c->joined_count, joined);
}

static void check_uses(const struct classic *c)
{
    for (int32_t k = 0; k < c->use_count; k++) {
        int32_t members = 0;
        for (int32_t i = 0; i < c->member_count; i++) {
            members += member_supports(c->members[i], c->uses[k].name) ? 1 : 0;
        }
        assert_int_equal(c->uses[k].members, members);
        assert_true(members > 0);
    }
}

static void check_group(const struct group *g)
{
    const struct classic *c = &g->classic;
    check_members(c);
    check_uses(c);
    bool leads;
    members_place(c, str_is_null(c->leader) ? STR("") : c->leader, &leads);
    switch (c->state) {
    case CLASSIC_EMPTY:
        assert_int_equal(c->member_count, 0);
        assert_true(str_is_null(c->protocol_name));
        break;
    case CLASSIC_COMPLETING:
    case CLASSIC_STABLE:
        assert_true(leads);
        assert_true(c->joined_count == 0);
        for (int32_t i = 0; i < c->member_count; i++) {
            assert_true(member_supports(c->members[i], c->protocol_name));
        }
        break;
    default:
        break;
    }
    assert_true(c->exists || c->member_count == 0);
    assert_true(g->revision > 0);
}

void check_invariants(const struct group_set *set)
{
    struct group_set_counts counts;
    int64_t groups = 0, members = 0, pending = 0;
    for (struct str id = group_set_next(set, STR_NULL); !str_is_null(id); id = group_set_next(set, id)) {
        const struct group *g = group_find(set, id);
        assert_non_null(g);
        check_group(g);
        groups++;
        members += g->classic.member_count;
        pending += g->classic.pending_count;
    }
    group_set_counts(set, &counts);
    assert_int_equal(counts.groups, groups);
    assert_int_equal(counts.members, members);
    assert_int_equal(counts.pending, pending);
}
