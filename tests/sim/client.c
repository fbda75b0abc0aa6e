/* Model clients. A member joins, syncs, heartbeats, commits what it owns, reads it back, leaves or dies; a committer commits without being a member.
 * Each remembers what it was told, by its own clock, and tells the checkers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum {
    SESSION_MS = SIM_SESSION_MS,
    REBALANCE_MS = 2500,
    HEARTBEAT_US = 300000,
    PATIENCE_US = 1500000, /* of an ordinary request */
    JOIN_PATIENCE_US = 6000000,
    QUIET_PATIENCE_US = 150000,
    MEMBERS_MAX = SIM_CLIENTS_MAX
};

/* Kafka error numbers a client acts on. */
enum {
    NONE = 0,
    UNKNOWN_TOPIC = 3,
    LOAD_IN_PROGRESS = 14,
    NOT_AVAILABLE = 15,
    ILLEGAL_GENERATION = 22,
    UNKNOWN_MEMBER_ID = 25,
    REBALANCE_IN_PROGRESS = 27,
    GROUP_ID_NOT_FOUND = 69, /* of a commit: its group, left by all, was removed */
    MEMBER_ID_REQUIRED = 79,
    FENCED_INSTANCE_ID = 82
};

/* A reader asks any node, over and over, what two slow committers have written in a group of their own: who leads no more and does not know it would
 * answer. They are slow because a commit in flight holds back reads. */
enum client_kind { CLIENT_MEMBER, CLIENT_STATIC, CLIENT_COMMITTER, CLIENT_ADMIN, CLIENT_READER };
enum client_state { CLIENT_DOWN, CLIENT_JOINING, CLIENT_SYNCING, CLIENT_STABLE };

struct reply {
    uint64_t serial;
    enum group_op_kind kind;
    bool cancelled; /* nothing was said */
    int16_t error;
    int32_t generation;
    bool leader;
    char member_id[SIM_ID_MAX];
    char members[MEMBERS_MAX][SIM_ID_MAX];
    uint32_t member_count;
    uint32_t owned; /* bit per partition */
    int64_t offset;
    int16_t partition_error;
};

struct sim_client {
    struct sim *sim;
    uint32_t number, group;
    enum client_kind kind;
    enum client_state state;
    char group_id[SIM_ID_MAX], client_id[SIM_ID_MAX], instance_id[SIM_ID_MAX], member_id[SIM_ID_MAX];
    int32_t generation;
    bool leader;
    char members[MEMBERS_MAX][SIM_ID_MAX];
    uint32_t member_count;
    uint32_t owned;
    int64_t joined_us;         /* it was told that it is a member */
    int64_t last_good_sent_us; /* of the newest heartbeat that was answered NONE */
    int64_t next_heartbeat_us;
    int64_t rejoined_by_us; /* told to rejoin: after this it may be dropped */
    uint32_t node;          /* whom it asks */
    uint64_t serial;        /* of the request under way; 0: none */
    uint64_t thinks;        /* of the newest wake-up */
    int64_t sent_us;
    int32_t partition;
    int64_t value; /* of the commit or fetch under way */
    const char *topic;
    char topic_name[SIM_ID_MAX];
    bool leaving, final_read, final_done;
    bool stray;   /* the request under way is one of a generation that is over: it may not be fine */
    bool created; /* admin: the topic exists */
};

static void think(struct sim *sim, void *arg, uint64_t tag);
static void act(struct sim_client *c);

static void think_at(struct sim_client *c, int64_t at_us)
{
    sim_at(c->sim, at_us, think, c, ++c->thinks);
}

/* ---- requests and their answers ---- */

static void answer_arrives(struct sim_request *r);

static void read_join(struct reply *reply, const struct join_group_response *a)
{
    reply->error = a->error_code;
    reply->generation = a->generation_id;
    snprintf(reply->member_id, SIM_ID_MAX, "%.*s", STR_ARG(a->member_id));
    reply->leader = a->error_code == NONE && str_eq(a->leader, a->member_id);
    for (int32_t i = 0; i < a->members.len && reply->member_count < MEMBERS_MAX; i++)
        snprintf(reply->members[reply->member_count++], SIM_ID_MAX, "%.*s", STR_ARG(a->members.v[i].member_id));
}

/* An assignment here is one byte: a bit for each partition. */
static void read_sync(struct reply *reply, const struct sync_group_response *a)
{
    reply->error = a->error_code;
    reply->owned = a->assignment.len == 1 ? a->assignment.ptr[0] : 0;
}

static void read_answer(struct reply *reply, enum group_op_kind kind, const void *answer)
{
    switch (kind) {
    case GROUP_JOIN:
        read_join(reply, answer);
        break;
    case GROUP_SYNC:
        read_sync(reply, answer);
        break;
    case GROUP_HEARTBEAT:
        reply->error = ((const struct heartbeat_response *)answer)->error_code;
        break;
    case GROUP_LEAVE:
        reply->error = ((const struct leave_group_response *)answer)->error_code;
        break;
    case GROUP_OFFSET_COMMIT:
        reply->error = ((const struct offset_commit_response *)answer)->topics.v[0].partitions.v[0].error_code;
        break;
    case GROUP_OFFSET_FETCH: {
        const struct offset_fetch_response_group *g = answer;
        reply->error = g->error_code;
        if (g->error_code == NONE && g->topics.len == 1 && g->topics.v[0].partitions.len == 1) {
            reply->offset = g->topics.v[0].partitions.v[0].committed_offset;
            reply->partition_error = g->topics.v[0].partitions.v[0].error_code;
        }
        break;
    }
    default: {
        const struct create_topics_response *t = answer;
        reply->error = t->topics.len == 1 ? t->topics.v[0].error_code : NOT_AVAILABLE;
        break;
    }
    }
}

static void gone(struct sim_client *c)
{
    c->leaving = false;
    c->state = CLIENT_DOWN;
    c->member_id[0] = '\0';
}

static void give_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_client *c = arg;
    if (c->serial != serial)
        return;
    sim->totals.unknown_outcomes++;
    c->serial = 0;
    if (c->leaving) /* perhaps it has left, perhaps not: it comes back as somebody new */
        gone(c);
    c->node = members_any(sim);
    act(c);
}

static struct sim_request *new_request(struct sim_client *c, enum group_op_kind kind, int16_t api_key, int16_t version)
{
    struct sim_request *r = request_new(c->sim, c, answer_arrives, kind, api_key, version);
    r->request.connection = c->number + 1;
    r->request.op.group_id = arena_str(&r->arena, str_of(c->group_id));
    r->request.op.caller = (struct group_caller){arena_str(&r->arena, str_of(c->client_id)), STR("/sim")};
    return r;
}

static void send(struct sim_client *c, struct sim_request *r, int64_t patience_us)
{
    struct sim *sim = c->sim;
    r->serial = ++c->thinks + ((uint64_t)c->number << 40);
    c->serial = r->serial;
    c->sent_us = sim->now_us;
    request_send(r, c->node);
    sim_at(sim, sim->now_us + patience_us, give_up, c, c->serial);
}

/* Of the group that readers watch; who is not answered soon asks another node. */
static bool quiet(const struct sim_client *c)
{
    return c->number >= SIM_QUIET_FROM && c->number < c->sim->options.clients;
}

static struct str own(struct sim_request *r, const char *text)
{
    return arena_str(&r->arena, str_of(text));
}

static struct str instance(struct sim_request *r)
{
    const struct sim_client *c = r->owner;
    return c->instance_id[0] != '\0' ? own(r, c->instance_id) : STR_NULL;
}

static void send_join(struct sim_client *c)
{
    struct sim_request *r = new_request(c, GROUP_JOIN, 11, c->number % 3 == 0 ? 3 : 9);
    struct join_group_request *m = ARENA_NEW(&r->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, m);
    if (c->kind == CLIENT_STATIC)
        r->request.op.api_version = 9;
    m->group_id = r->request.op.group_id;
    m->session_timeout_ms = SESSION_MS;
    m->rebalance_timeout_ms = REBALANCE_MS;
    m->member_id = own(r, c->member_id);
    m->group_instance_id = instance(r);
    m->protocol_type = STR("sim");
    m->protocols.v = ARENA_NEW(&r->arena, struct join_group_request_protocol, 1);
    m->protocols.len = 1;
    m->protocols.v[0] = (struct join_group_request_protocol){.name = STR("bits"), .metadata = {(const uint8_t *)"m", 1}};
    r->request.op.request = m;
    c->sim->totals.joins++;
    send(c, r, JOIN_PATIENCE_US);
}

static void send_sync(struct sim_client *c)
{
    struct sim_request *r = new_request(c, GROUP_SYNC, 14, 5);
    struct sync_group_request *m = ARENA_NEW(&r->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, m);
    m->group_id = r->request.op.group_id;
    m->generation_id = c->generation;
    m->member_id = own(r, c->member_id);
    m->group_instance_id = instance(r);
    m->protocol_type = STR("sim");
    m->protocol_name = STR("bits");
    if (c->leader) {
        m->assignments.v = ARENA_NEW(&r->arena, struct sync_group_request_assignment, c->member_count);
        m->assignments.len = (int32_t)c->member_count;
        for (uint32_t i = 0; i < c->member_count; i++) {
            uint8_t *bits = ARENA_NEW(&r->arena, uint8_t, 1);
            for (uint32_t p = 0; p < SIM_PARTITIONS; p++)
                *bits = (uint8_t)(*bits | (p % c->member_count == i ? 1u << p : 0));
            m->assignments.v[i] = (struct sync_group_request_assignment){own(r, c->members[i]), {bits, 1}};
        }
    }
    r->request.op.request = m;
    send(c, r, JOIN_PATIENCE_US);
}

static void send_heartbeat(struct sim_client *c, int32_t generation)
{
    struct sim_request *r = new_request(c, GROUP_HEARTBEAT, 12, 4);
    struct heartbeat_request *m = ARENA_NEW(&r->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, m);
    m->group_id = r->request.op.group_id;
    m->generation_id = generation;
    m->member_id = own(r, c->member_id);
    m->group_instance_id = instance(r);
    r->request.op.request = m;
    c->stray = generation != c->generation;
    c->sim->totals.heartbeats++;
    c->next_heartbeat_us = c->sim->now_us + HEARTBEAT_US;
    send(c, r, HEARTBEAT_US);
}

static void send_leave(struct sim_client *c)
{
    struct sim_request *r = new_request(c, GROUP_LEAVE, 13, 5);
    struct leave_group_request *m = ARENA_NEW(&r->arena, struct leave_group_request, 1);
    wire_init(&wire_leave_group_request, m);
    m->group_id = r->request.op.group_id;
    m->members.v = ARENA_NEW(&r->arena, struct leave_group_request_member_identity, 1);
    m->members.len = 1;
    m->members.v[0] = (struct leave_group_request_member_identity){.member_id = own(r, c->member_id),
                                                                   .group_instance_id = instance(r),
                                                                   .reason = STR_NULL};
    r->request.op.request = m;
    c->sim->totals.leaves++;
    c->leaving = true;
    send(c, r, PATIENCE_US);
}

static void send_commit(struct sim_client *c, int32_t partition)
{
    struct sim_request *r = new_request(c, GROUP_OFFSET_COMMIT, 8, 9);
    struct offset_commit_request *m = ARENA_NEW(&r->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, m);
    c->partition = partition;
    c->value = (int64_t)check_write_begin(c->sim, c->group, partition, c->node);
    m->group_id = r->request.op.group_id;
    bool member = c->kind != CLIENT_COMMITTER;
    m->generation_id_or_member_epoch = member ? c->generation : -1;
    m->member_id = member ? own(r, c->member_id) : STR("");
    m->group_instance_id = member ? instance(r) : STR_NULL;
    m->topics.v = ARENA_NEW(&r->arena, struct offset_commit_request_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = STR(SIM_TOPIC);
    m->topics.v[0].partitions.v = ARENA_NEW(&r->arena, struct offset_commit_request_partition, 1);
    m->topics.v[0].partitions.len = 1;
    m->topics.v[0].partitions.v[0] = (struct offset_commit_request_partition){partition, c->value, -1, STR("")};
    r->request.op.request = m;
    c->sim->totals.commits++;
    send(c, r, quiet(c) ? QUIET_PATIENCE_US : PATIENCE_US);
}

static void send_fetch(struct sim_client *c, int32_t partition)
{
    struct sim_request *r = new_request(c, GROUP_OFFSET_FETCH, 9, 8);
    struct offset_fetch_request_group *m = ARENA_NEW(&r->arena, struct offset_fetch_request_group, 1);
    c->partition = partition;
    m->group_id = r->request.op.group_id;
    m->member_id = STR_NULL;
    m->member_epoch = -1;
    m->topics.v = ARENA_NEW(&r->arena, struct offset_fetch_request_topics, 1);
    m->topics.len = 1;
    m->topics.v[0].name = own(r, c->topic);
    m->topics.v[0].partition_indexes.v = ARENA_NEW(&r->arena, int32_t, 1);
    m->topics.v[0].partition_indexes.v[0] = partition;
    m->topics.v[0].partition_indexes.len = 1;
    r->request.op.request = m;
    c->sim->totals.fetches++;
    send(c, r, quiet(c) ? QUIET_PATIENCE_US : PATIENCE_US);
}

static void send_create(struct sim_client *c)
{
    struct sim_request *r = new_request(c, CATALOG_CREATE_TOPICS, 19, 7);
    struct create_topics_request *m = ARENA_NEW(&r->arena, struct create_topics_request, 1);
    wire_init(&wire_create_topics_request, m);
    m->topics.v = ARENA_NEW(&r->arena, struct create_topics_request_creatable_topic, 1);
    m->topics.len = 1;
    bool extra = c->created; /* more topics come now and then, so that the catalogue moves */
    m->topics.v[0] = (struct create_topics_request_creatable_topic){
        .name = extra ? arena_printf(&r->arena, "extra-%llu", (unsigned long long)c->thinks) : STR(SIM_TOPIC),
        .num_partitions = SIM_PARTITIONS,
        .replication_factor = 1,
    };
    r->request.op.request = m;
    c->sim->totals.topics_changed += extra;
    send(c, r, PATIENCE_US);
}

/* ---- what an answer means ---- */

static void rejoin(struct sim_client *c, bool keep_id)
{
    if (!keep_id)
        c->member_id[0] = '\0';
    c->state = CLIENT_JOINING;
    c->owned = 0;
    c->rejoined_by_us = c->sim->now_us + REBALANCE_MS * 1000;
}

/* Thrown out although it was heard of in time, by its own clock? Static members can be replaced, and so can who is late to rejoin. */
static void check_expelled(struct sim_client *c, const char *by)
{
    c->sim->totals.unknown_outcomes++;
    if (c->state != CLIENT_STABLE || c->kind == CLIENT_STATIC || c->last_good_sent_us == 0)
        return;
    int64_t silent_us = c->sim->now_us - c->last_good_sent_us; /* at most: the decision was made before */
    if (silent_us < SIM_LEAST_US(SESSION_MS) && !resets_fenced_since(c->sim, c->group, c->last_good_sent_us))
        sim_fail(c->sim, "client %u (%s): %s says its member is unknown, %lld ms after a heartbeat that was fine", c->number, c->member_id,
                 by, (long long)silent_us / 1000);
}

/* Errors of any request of a member; true when it was one. */
static bool member_error(struct sim_client *c, int16_t error, const char *by)
{
    switch (error) {
    case NONE:
        return false;
    case UNKNOWN_MEMBER_ID:
        check_expelled(c, by);
        rejoin(c, false);
        return true;
    case FENCED_INSTANCE_ID:
        c->sim->totals.fenced++;
        rejoin(c, false);
        return true;
    case ILLEGAL_GENERATION:
    case REBALANCE_IN_PROGRESS:
        rejoin(c, true);
        return true;
    default:
        sim_fail(c->sim, "client %u: %s is answered with error %d", c->number, by, error);
        return true;
    }
}

static void joined(struct sim_client *c, const struct reply *a)
{
    if (a->error == MEMBER_ID_REQUIRED) {
        snprintf(c->member_id, SIM_ID_MAX, "%s", a->member_id);
        return;
    }
    if (member_error(c, a->error, "join"))
        return;
    snprintf(c->member_id, SIM_ID_MAX, "%s", a->member_id);
    c->generation = a->generation;
    c->joined_us = c->sim->now_us;
    c->leader = a->leader;
    c->member_count = a->member_count;
    memcpy(c->members, a->members, sizeof(c->members));
    c->state = CLIENT_SYNCING;
    sim_say(c->sim, "client=%u group=%u joined generation=%d member=%s%s members=%u", c->number, c->group, c->generation, c->member_id,
            c->leader ? " leads" : "", c->member_count);
    check_generation(c->sim, c->group, a->generation, c->sent_us, c->sim->now_us);
}

static void synced(struct sim_client *c, const struct reply *a)
{
    if (member_error(c, a->error, "sync"))
        return;
    c->state = CLIENT_STABLE;
    c->owned = a->owned;
    c->last_good_sent_us = 0;
    sim_say(c->sim, "client=%u group=%u synced generation=%d owns=%02x", c->number, c->group, c->generation, c->owned);
    c->next_heartbeat_us = c->sim->now_us + HEARTBEAT_US;
    for (int32_t p = 0; p < SIM_PARTITIONS; p++) {
        if (c->owned & (1u << p))
            check_owner(c->sim, c->group, c->generation, p, c->kind == CLIENT_STATIC ? c->instance_id : c->member_id);
    }
}

static void committed(struct sim_client *c, const struct reply *a)
{
    if (a->error == NONE) {
        if (c->kind != CLIENT_COMMITTER)
            resets_check_commit(c->sim, c->group, c->joined_us, c->sent_us, c->member_id);
        c->sim->totals.commits_acked++;
        check_write_acked(c->sim, c->group, c->partition, c->value);
        return;
    }
    if (c->kind == CLIENT_COMMITTER)
        sim_fail(c->sim, "client %u: a simple commit is answered with error %d", c->number, a->error);
    else if (a->error != REBALANCE_IN_PROGRESS)
        (void)member_error(c, a->error == GROUP_ID_NOT_FOUND ? UNKNOWN_MEMBER_ID : a->error, "commit");
}

static void check_stray(struct sim_client *c, int16_t error)
{
    c->stray = false;
    if (error == NONE)
        sim_fail(c->sim, "client %u of group %u: a heartbeat of generation %d is fine in generation %d", c->number, c->group,
                 c->generation - 1, c->generation);
    else if (error != ILLEGAL_GENERATION)
        (void)member_error(c, error, "heartbeat");
}

static void understand(struct sim_client *c, const struct reply *a)
{
    switch (a->kind) {
    case GROUP_JOIN:
        joined(c, a);
        break;
    case GROUP_SYNC:
        synced(c, a);
        break;
    case GROUP_HEARTBEAT:
        if (c->stray) {
            check_stray(c, a->error);
        } else if (a->error == NONE) {
            c->last_good_sent_us = c->sent_us;
            check_heartbeat(c->sim, c->group, c->generation, c->sent_us);
        } else {
            (void)member_error(c, a->error, "heartbeat");
        }
        break;
    case GROUP_LEAVE:
        gone(c);
        break;
    case GROUP_OFFSET_COMMIT:
        committed(c, a);
        break;
    case GROUP_OFFSET_FETCH:
        check_read(c->sim, c->group, c->partition, a->offset, c->sent_us, c->node, c->final_read ? "final read" : "fetch");
        if (c->final_read)
            c->final_done = true;
        break;
    default:
        if (a->error == NONE || a->error == 36)
            c->created = true;
        break;
    }
}

/* Most of a run's time goes into what is asked here, and before the first fault and after the last one there is little to find out by asking often. */
static int64_t pause_us(struct sim *sim)
{
    bool peace = sim->healing || sim->now_us < SIM_FIRST_FAULT_US;
    return peace ? sim_between(sim, 5000, 60000) : sim_between(sim, 100, 16000);
}

static void answer_arrives(struct sim_request *r)
{
    struct sim *sim = r->sim;
    struct sim_client *c = r->owner;
    struct reply reply = {.kind = r->request.op.kind, .serial = r->serial};
    if (c->serial != r->serial)
        return;
    read_answer(&reply, reply.kind, r->answer);
    c->serial = 0;
    if (request_elsewhere(reply.error) || reply.error == UNKNOWN_TOPIC) {
        if (c->leaving) /* an entry in flight when office was lost may still be committed */
            gone(c);
        c->node = reply.error == LOAD_IN_PROGRESS ? c->node : members_any(sim);
        think_at(c, sim->now_us + sim_between(sim, 1000, 20000));
    } else {
        understand(c, &reply);
        if (!sim->failed)
            think_at(c, sim->now_us + pause_us(sim));
    }
}

/* ---- what to do next ---- */

static int32_t owned_partition(struct sim_client *c)
{
    int32_t p = (int32_t)prng_below(&c->sim->random, SIM_PARTITIONS);
    for (int i = 0; i < SIM_PARTITIONS; i++, p = (p + 1) % SIM_PARTITIONS) {
        if (c->owned & (1u << p))
            return p;
    }
    return -1;
}

static void die(struct sim_client *c)
{
    c->sim->totals.deaths++;
    sim_say(c->sim, "client=%u dies member=%s", c->number, c->member_id);
    c->state = CLIENT_DOWN;
    c->member_id[0] = '\0';
    c->serial = 0;
    think_at(c, c->sim->now_us + sim_between(c->sim, 100000, 4000000));
}

static void act_stable(struct sim_client *c)
{
    struct sim *sim = c->sim;
    int32_t partition = owned_partition(c);
    if (sim->now_us >= c->next_heartbeat_us)
        send_heartbeat(c, sim_chance(sim, 100000) ? c->generation - 1 : c->generation);
    else if (!sim->healing && sim_chance(sim, 2000))
        send_leave(c);
    else if (!sim->healing && sim_chance(sim, 2000))
        die(c);
    else if (partition >= 0 && sim_chance(sim, 300000))
        send_commit(c, partition);
    else if (partition >= 0 && sim_chance(sim, 200000))
        send_fetch(c, partition);
    else
        think_at(c, sim->now_us + sim_between(sim, 5000, 60000));
}

static void act_member(struct sim_client *c)
{
    switch (c->state) {
    case CLIENT_DOWN:
        c->state = CLIENT_JOINING;
        send_join(c);
        break;
    case CLIENT_JOINING:
        send_join(c);
        break;
    case CLIENT_SYNCING:
        send_sync(c);
        break;
    case CLIENT_STABLE:
        act_stable(c);
        break;
    }
}

/* They are on the other side of a leader that is given up: a commit in flight there would hold back what readers ask it for until its office ends. */
static void act_quietly(struct sim_client *c)
{
    if (network_is_reset(c->sim, c->node))
        c->node = members_any(c->sim);
    if (network_is_reset(c->sim, c->node) || sim_chance(c->sim, 500000))
        think_at(c, c->sim->now_us + sim_between(c->sim, 10000, 60000));
    else
        send_commit(c, 0);
}

static void act(struct sim_client *c)
{
    struct sim *sim = c->sim;
    if (sim->failed)
        return;
    if (c->final_read) {
        if (!c->final_done)
            send_fetch(c, c->partition);
        return;
    }
    switch (c->kind) {
    case CLIENT_MEMBER:
    case CLIENT_STATIC:
        act_member(c);
        break;
    case CLIENT_COMMITTER:
        if (quiet(c))
            act_quietly(c);
        else if (sim_chance(sim, 600000))
            send_commit(c, (int32_t)prng_below(&sim->random, SIM_PARTITIONS));
        else
            send_fetch(c, (int32_t)prng_below(&sim->random, SIM_PARTITIONS));
        break;
    case CLIENT_READER:
        c->node = members_any(sim);
        send_fetch(c, 0);
        break;
    case CLIENT_ADMIN:
        if (!c->created || sim_chance(sim, 20000))
            send_create(c);
        else
            think_at(c, sim->now_us + 50000);
        break;
    }
}

static void think(struct sim *sim, void *arg, uint64_t tag)
{
    (void)sim;
    struct sim_client *c = arg;
    if (c->serial == 0 && c->thinks == tag)
        act(c);
}

static enum client_kind kind_of(uint32_t number)
{
    if (number == 0)
        return CLIENT_ADMIN;
    if (number >= SIM_QUIET_FROM)
        return number < SIM_QUIET_FROM + 2 ? CLIENT_COMMITTER : CLIENT_READER;
    if (number % 6 == 1)
        return CLIENT_COMMITTER;
    return number % 6 == 2 ? CLIENT_STATIC : CLIENT_MEMBER;
}

/* Committers have groups of their own: a group with members refuses simple commits. */
static uint32_t group_of(const struct sim *sim, uint32_t number)
{
    if (number >= SIM_QUIET_FROM)
        return sim->options.groups + 2;
    return kind_of(number) == CLIENT_COMMITTER ? sim->options.groups + (number / 6) % 2 : number % sim->options.groups;
}

/* Those behind the classic groups are consumer groups, which are read at the end. */
static void name_group(struct sim_client *c)
{
    c->topic = SIM_TOPIC;
    snprintf(c->group_id, SIM_ID_MAX, "group-%u", c->group);
    if (c->group < SIM_GROUPS_MAX)
        return;
    snprintf(c->group_id, SIM_ID_MAX, "consumer-%u", c->group - SIM_GROUPS_MAX);
    c->topic = consumer_topic(c->group - SIM_GROUPS_MAX, 0, c->topic_name);
}

void clients_start(struct sim *sim)
{
    /* One more for each final read. */
    size_t count = sim->options.clients + SIM_REGISTERS * SIM_PARTITIONS;
    sim->clients = calloc(count, sizeof(*sim->clients));
    MUSTER_CHECK(sim->clients != NULL && sim->options.groups + 3 <= SIM_GROUPS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct sim_client *c = &sim->clients[i];
        c->sim = sim;
        c->number = i;
        c->node = 1 + i % sim->options.nodes;
        c->kind = i < sim->options.clients ? kind_of(i) : CLIENT_COMMITTER;
        c->group = group_of(sim, i);
        if (i >= sim->options.clients) {
            c->group = (i - sim->options.clients) / SIM_PARTITIONS;
            c->partition = (int32_t)((i - sim->options.clients) % SIM_PARTITIONS);
        }
        name_group(c);
        snprintf(c->client_id, SIM_ID_MAX, "client-%u", i);
        if (c->kind == CLIENT_STATIC)
            snprintf(c->instance_id, SIM_ID_MAX, "instance-%u", i);
        if (i < sim->options.clients)
            think_at(c, sim->now_us + sim_between(sim, 500000, 2500000));
    }
}

void clients_settle(struct sim *sim)
{
    sim->healing = true;
}

bool clients_settled(struct sim *sim, char *why, size_t why_len)
{
    for (uint32_t i = 0; i < sim->options.clients; i++) {
        const struct sim_client *c = &sim->clients[i];
        bool member = c->kind == CLIENT_MEMBER || c->kind == CLIENT_STATIC;
        if (member && c->state != CLIENT_STABLE) {
            snprintf(why, why_len, "client %u of group %u is in state %d", i, c->group, (int)c->state);
            return false;
        }
    }
    for (uint32_t i = 0; i < sim->options.clients; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct sim_client *a = &sim->clients[i], *b = &sim->clients[k];
            bool members = (a->kind == CLIENT_MEMBER || a->kind == CLIENT_STATIC) && (b->kind == CLIENT_MEMBER || b->kind == CLIENT_STATIC);
            if (members && a->group == b->group && a->generation != b->generation) {
                snprintf(why, why_len, "clients %u and %u of group %u are in generations %d and %d", k, i, a->group, b->generation,
                         a->generation);
                return false;
            }
        }
    }
    return true;
}

void clients_final_reads(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_REGISTERS * SIM_PARTITIONS; i++) {
        struct sim_client *c = &sim->clients[sim->options.clients + i];
        c->final_read = true;
        think_at(c, sim->now_us + 1 + i);
    }
}
