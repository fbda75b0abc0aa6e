/* members.c: from the wanted members in shard 0 to the members of every shard.
 *
 * Every node tells its replica whom to talk to, whenever the records move. The leader of each shard compares its members with the wanted ones, every
 * muster.membership.interval.ms, and makes one change after the other (membership.c says which). The leader of shard 0 lets nodes join, and sees the change
 * through: when its own replicas of all shards are as the records say, it writes that. It keeps nothing that its successor would miss.
 *
 * A node that was removed hears it from the others, who do not let it in any more: it ends, and leaves a note in its folder. */
#include "membership.h"
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMOVED_NAME "removed"

enum {
    JOIN_TRY_MS = 1000,           /* for one try */
    JOIN_AGAIN_US = 500 * 1000,   /* between two */
    EXPELLED_US = 5 * 1000 * 1000 /* a node whose record does not say that it leaves: the others may not have heard of it yet */
};

/* ---- what is wanted ------------------------------------------------------------------------------------------------------------ */

static const struct group_set *catalog_of(const struct server *s)
{
    return coord_set(s->coord, 0);
}

struct wishes {
    struct membership_wish v[CATALOG_MAX_MEMBERS];
    size_t count;
};

static void read_wishes(const struct server *s, struct wishes *ret)
{
    struct catalog_member m;
    ret->count = 0;
    for (int32_t after = -1; ret->count < CATALOG_MAX_MEMBERS && catalog_next_member(catalog_of(s), after, &m); after = m.node_id) {
        ret->v[ret->count++] = (struct membership_wish){(uint32_t)m.node_id, m.standing};
    }
}

static bool find_member(const struct server *s, uint32_t node, struct catalog_member *ret)
{
    return catalog_next_member(catalog_of(s), (int32_t)node - 1, ret) && ret->node_id == (int32_t)node;
}

static void copy_address(char *dst, size_t size, struct str address)
{
    size_t len = (size_t)address.len < size ? (size_t)address.len : size - 1;
    memcpy(dst, address.ptr, len);
    dst[len] = '\0';
}

/* All that are recorded, in order of their ids. */
static uint32_t read_peers(const struct server *s, struct store_peer ret[CATALOG_MAX_MEMBERS])
{
    struct catalog_member m;
    uint32_t count = 0;
    for (int32_t after = -1; count < CATALOG_MAX_MEMBERS && catalog_next_member(catalog_of(s), after, &m); after = m.node_id) {
        struct store_peer *peer = &ret[count++];
        memset(peer, 0, sizeof(*peer));
        peer->node_id = (uint32_t)m.node_id;
        peer->incarnation = m.incarnation;
        copy_address(peer->address, sizeof(peer->address), m.peer_address);
    }
    return count;
}

/* ---- whom to talk to -------------------------------------------------------------------------------------------------------------- */

static bool same_peers(const struct store_identity *id, const struct store_peer *peers, uint32_t count)
{
    bool same = id->peer_count == count;
    for (uint32_t i = 0; same && i < count; i++) {
        same = id->peers[i].node_id == peers[i].node_id && uuid_eq(id->peers[i].incarnation, peers[i].incarnation) &&
               strcmp(id->peers[i].address, peers[i].address) == 0;
    }
    return same;
}

/* The configuration of this node may know better where the others are; it was compared when the node started (data.c). */
static void take_configured(const struct server *s, struct store_peer *peers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        data_configured_address(s->config, peers[i].node_id, peers[i].address, sizeof(peers[i].address));
    }
}

static void tell_peers(struct server *s)
{
    struct store_peer peers[CATALOG_MAX_MEMBERS];
    struct catalog_member self;
    uint32_t count = read_peers(s, peers);
    s->members.peers_due = false;
    if (!find_member(s, s->identity.node_id, &self) || !uuid_eq(self.incarnation, s->identity.incarnation)) {
        return; /* removed, or replaced: the others do not let it in */
    }
    take_configured(s, peers, count);
    if (same_peers(&s->identity, peers, count)) {
        return;
    }
    int rc = uv_replica_set_peers(s->host, peers, count);
    if (rc == MUSTER_E_BUSY) {
        s->members.peers_due = true;
        return;
    }
    if (rc < 0) {
        log_event(LOG_ERROR, "peers_not_taken", "count=%u error=\"%s\"", count, muster_strerror(rc));
        return;
    }
    log_event(LOG_INFO, "peers_changed", "count=%u before=%u", count, s->identity.peer_count);
    memcpy(s->identity.peers, peers, count * sizeof(peers[0]));
    s->identity.peer_count = count;
}

/* ---- this node is gone --------------------------------------------------------------------------------------------------------- */

bool members_were_removed(struct server *s)
{
    int file;
    if (s->port.open(s->port.ctx, REMOVED_NAME, false, false, &file) < 0) {
        return false;
    }
    s->port.close(s->port.ctx, file);
    return true;
}

static void leave_note(struct server *s)
{
    static const char text[] = "This node was removed from its cluster. Empty the folder before it is used again.\n";
    struct bytes part = {(const uint8_t *)text, (int32_t)sizeof(text) - 1};
    int file;
    if (s->port.open(s->port.ctx, REMOVED_NAME, true, true, &file) < 0) {
        return; /* the others go on refusing it */
    }
    if (s->port.write(s->port.ctx, file, 0, &part, 1) == 0) {
        s->port.sync(s->port.ctx, file);
    }
    s->port.close(s->port.ctx, file);
    s->port.sync_dir(s->port.ctx);
}

static bool is_expelled(const struct server *s, bool leaving)
{
    struct uv_peer_status peers[CATALOG_MAX_MEMBERS];
    size_t count = uv_replica_peers(s->host, peers, COUNT_OF(peers));
    size_t expelled = 0;
    count = count < COUNT_OF(peers) ? count : COUNT_OF(peers);
    for (size_t i = 0; i < count; i++) {
        expelled += peers[i].expelled && !peers[i].connected;
    }
    return leaving ? expelled > 0 && 2 * expelled >= count : 2 * expelled > count;
}

/* Ends the node when it is not wanted any more. */
static bool end_if_removed(struct server *s, const struct wishes *wishes)
{
    struct catalog_member self;
    bool known = find_member(s, s->identity.node_id, &self) && uuid_eq(self.incarnation, s->identity.incarnation);
    bool leaving = wishes->count > 0 && (!known || self.standing == MEMBER_LEAVING);
    int64_t now = server_now_us();
    if (!is_expelled(s, leaving)) {
        s->members.expelled_since_us = 0;
        return false;
    }
    if (s->members.expelled_since_us == 0) {
        s->members.expelled_since_us = now;
    }
    if (!leaving && now - s->members.expelled_since_us < EXPELLED_US) {
        return false;
    }
    log_event(
        LOG_WARN, "removed_from_cluster",
        "node=%u dir=\"%s\" hint=\"the other nodes do not count it as a member any more; to use it again, empty the folder and add it\"",
        s->identity.node_id, s->config->data_dir);
    leave_note(s);
    server_fail(s, SERVER_EXIT_REMOVED);
    return true;
}

/* ---- one shard ---------------------------------------------------------------------------------------------------------------------- */

static bool leads(const struct server *s, uint32_t shard)
{
    struct replica_shard_status status;
    replica_status(s->replica, shard, &status);
    return status.role == REPLICA_SERVING;
}

static void read_shard(const struct server *s, uint32_t shard, struct membership_shard *ret)
{
    struct replica_member members[MEMBERSHIP_NODES_MAX];
    int64_t fresh_us = server_now_us() - 3 * (int64_t)s->config->election_timeout_ms * 1000;
    size_t count = replica_members(s->replica, shard, members, COUNT_OF(members), &ret->committed);
    ret->self = s->identity.node_id;
    ret->count = count < COUNT_OF(members) ? count : COUNT_OF(members);
    for (size_t i = 0; i < ret->count; i++) {
        struct replica_progress progress;
        bool answers = members[i].node == ret->self ||
                       (replica_progress(s->replica, shard, members[i].node, &progress) && progress.heard_us > fresh_us);
        ret->v[i] = (struct membership_replica){members[i].node, members[i].vote == REPLICA_VOTER, answers};
    }
}

static void note_doing(struct server *s, uint32_t shard, const struct membership_step *step, int rc)
{
    const char *more = rc == MUSTER_E_REFUSED ? " (refused: no majority of the voters would answer)"
                       : rc == MUSTER_E_DIVERGED
                           ? " (refused: those that would be left have different states, and it may tell which is right)"
                           : "";
    snprintf(s->members.doing, sizeof(s->members.doing), "shard %u: node %u: %s%s", shard, step->node, step->why, more);
}

/* False: there is nothing to be done in the shard, or not here. */
static bool reconcile(struct server *s, const struct wishes *wishes, uint32_t shard)
{
    static const enum replica_change changes[] = {
        [MEMBERSHIP_ADD] = REPLICA_ADD_LEARNER, [MEMBERSHIP_PROMOTE] = REPLICA_PROMOTE, [MEMBERSHIP_REMOVE] = REPLICA_REMOVE};
    static const char *const names[] = {[MEMBERSHIP_ADD] = "add", [MEMBERSHIP_PROMOTE] = "promote", [MEMBERSHIP_REMOVE] = "remove"};
    struct membership_shard state;
    if (!leads(s, shard)) {
        return false;
    }
    read_shard(s, shard, &state);
    struct membership_step step = membership_next(wishes->v, wishes->count, &state);
    if (step.act == MEMBERSHIP_RIGHT) {
        return false;
    }
    int rc = 0;
    if (step.act != MEMBERSHIP_WAIT) {
        rc = replica_change_member(s->replica, shard, changes[step.act], step.node);
        if (rc == 0) {
            log_event(LOG_INFO, "shard_member", "shard=%u change=%s node=%u", shard, names[step.act], step.node);
        }
    }
    note_doing(s, shard, &step, rc);
    return true;
}

/* ---- the change as a whole, by the leader of shard 0 -------------------------------------------------------------------------------- */

static void on_step_done(struct coord_request *r, int16_t error, const void *answer)
{
    struct server *s = r->ctx;
    (void)error; /* whoever leads looks again */
    (void)answer;
    s->members.asking = false;
}

static void take_step(struct server *s, struct member_step step)
{
    struct members *m = &s->members;
    if (m->asking) {
        return;
    }
    arena_clear(&m->arena);
    m->asking = true;
    m->step = step;
    m->step.reason = arena_str(&m->arena, step.reason);
    m->request = (struct coord_request){.op = {.kind = CATALOG_MEMBER_STEP,
                                               .api_key = -1,
                                               .api_version = -1,
                                               .group_id = STR_NULL,
                                               .release = STR(MUSTER_VERSION),
                                               .request = &m->step},
                                        .arena = &m->arena,
                                        .done = on_step_done,
                                        .ctx = s};
    coord_submit(s->coord, &m->request);
}

/* Whether those that have not said by now which feature levels they know are waited for no longer. */
static bool founders_are_late(struct server *s)
{
    struct members *m = &s->members;
    int64_t now = server_now_us();
    m->found_since_us = m->found_since_us == 0 ? now : m->found_since_us;
    return now - m->found_since_us > (int64_t)s->config->membership_join_timeout_ms * 1000;
}

/* Those that the cluster was formed with: every node's identity names them as long as no records do. */
static void found(struct server *s)
{
    struct members *m = &s->members;
    snprintf(m->doing, sizeof(m->doing), "the nodes that the cluster was formed with are to register");
    if (s->identity.joined || m->asking) {
        return;
    }
    for (uint32_t i = 0; i < s->identity.peer_count; i++) {
        const struct store_peer *peer = &s->identity.peers[i];
        m->founders[i] = (struct catalog_member){.node_id = (int32_t)peer->node_id,
                                                 .incarnation = peer->incarnation,
                                                 .peer_address = str_of(peer->address),
                                                 .standing = MEMBER_VOTER};
    }
    take_step(s, (struct member_step){.kind = MEMBER_STEP_FOUND,
                                      .change_id = -1,
                                      .founders = m->founders,
                                      .founder_count = s->identity.peer_count,
                                      .incomplete = founders_are_late(s),
                                      .reason = STR_NULL});
}

static bool all_agree(const struct server *s, const struct wishes *wishes)
{
    for (uint32_t i = 0; i < s->identity.shard_count; i++) {
        struct replica_member members[MEMBERSHIP_NODES_MAX];
        bool committed;
        size_t count = replica_members(s->replica, i, members, COUNT_OF(members), &committed);
        if (count > COUNT_OF(members) || !membership_agrees(wishes->v, wishes->count, members, count, committed)) {
            return false;
        }
    }
    return true;
}

struct dial {
    uv_work_t work;
    struct server *server;
    struct store_identity identity;
    uint32_t feature_level;
    int64_t change;
    int result;
    char text[RAFT_HOST_TEXT_BYTES];
};

static void on_dial(uv_work_t *work)
{
    struct dial *d = CONTAINER_OF(work, struct dial, work);
    d->result = form_client_join(&d->identity, d->feature_level, JOIN_TRY_MS, d->text);
}

static void on_dialed(uv_work_t *work, int status)
{
    struct dial *d = CONTAINER_OF(work, struct dial, work);
    struct members *m = &d->server->members;
    (void)status; /* nobody cancels */
    m->dialing = false;
    if (d->change == m->join_change) {
        m->join_result = d->result;
        memcpy(m->join_text, d->text, sizeof(m->join_text));
    }
    free(d);
}

static void dial(struct server *s, const struct catalog_change *change, const struct catalog_member *member)
{
    struct dial *d = calloc(1, sizeof(*d));
    MUSTER_CHECK(d != NULL);
    d->server = s;
    d->change = change->id;
    d->feature_level = (uint32_t)catalog_feature_level(catalog_of(s));
    d->identity = s->identity;
    d->identity.node_id = (uint32_t)member->node_id;
    d->identity.incarnation = member->incarnation;
    d->identity.joined = true;
    d->identity.peer_count = read_peers(s, d->identity.peers);
    s->members.dialing = true;
    MUSTER_CHECK(uv_queue_work(&s->loop, &d->work, on_dial, on_dialed) == 0);
}

/* A node that says no will not say yes later; only an old folder may still be emptied before a replacement. */
static bool is_final(const struct members *m, const struct catalog_change *change)
{
    return m->join_result == MUSTER_E_INVALID || (m->join_result == MUSTER_E_EXISTS && change->kind == MEMBER_ADD);
}

static void let_join(struct server *s, const struct catalog_change *change, const struct catalog_member *member)
{
    struct members *m = &s->members;
    int64_t now = server_now_us();
    if (m->join_change != change->id) {
        m->join_change = change->id;
        m->join_since_us = now;
        m->join_next_us = 0;
        m->join_result = MUSTER_E_BUSY;
        m->join_text[0] = '\0';
    }
    bool late = now - m->join_since_us > (int64_t)s->config->membership_join_timeout_ms * 1000;
    snprintf(m->doing, sizeof(m->doing), "node %d is to join: %.200s", member->node_id,
             m->join_text[0] != '\0' ? m->join_text : "it is asked");
    if (m->join_result == 0) {
        take_step(s, (struct member_step){.kind = MEMBER_STEP_JOINED, .change_id = change->id, .reason = STR_NULL});
    } else if (!m->dialing && (late || is_final(m, change))) {
        log_event(LOG_WARN, "member_given_up", "node=%d text=\"%s\"", member->node_id, m->join_text);
        take_step(s, (struct member_step){.kind = MEMBER_STEP_GIVE_UP, .change_id = change->id, .reason = str_of(m->join_text)});
    } else if (!m->dialing && now >= m->join_next_us) {
        m->join_next_us = now + JOIN_AGAIN_US;
        dial(s, change, member);
    }
}

/* False: there is nothing more to be done for the change. */
static bool see_through(struct server *s, const struct wishes *wishes)
{
    struct catalog_change change;
    struct catalog_member member;
    if (wishes->count == 0) {
        found(s);
        return true;
    }
    if (!catalog_member_change(catalog_of(s), &change) || change.state != MEMBER_CHANGE_UNDER_WAY ||
        !find_member(s, (uint32_t)change.node_id, &member)) {
        return false;
    }
    if (member.standing == MEMBER_JOINING) {
        let_join(s, &change, &member);
    } else if (all_agree(s, wishes)) {
        bool returns = change.kind == MEMBER_REPLACE && member.standing == MEMBER_LEAVING;
        take_step(s, (struct member_step){.kind = returns ? MEMBER_STEP_RETURN : MEMBER_STEP_DONE,
                                          .change_id = change.id,
                                          .reason = STR_NULL});
    }
    return true;
}

/* ---- when ------------------------------------------------------------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer);

static void arm(struct server *s, bool busy)
{
    uint64_t ms = (uint64_t)s->config->membership_interval_ms;
    uint64_t calm = ms < 1000 ? 1000 : ms;
    uv_timer_start(&s->members.timer, on_timer, busy ? ms : calm, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct server *s = timer->data;
    struct wishes wishes;
    if (s->ending || s->replica == NULL) {
        return;
    }
    turn_open(s);
    read_wishes(s, &wishes);
    if (end_if_removed(s, &wishes)) {
        return;
    }
    s->members.doing[0] = '\0';
    bool busy = s->members.peers_due;
    for (uint32_t i = 0; i < s->identity.shard_count; i++) {
        busy |= reconcile(s, &wishes, i);
    }
    if (leads(s, 0)) {
        busy |= see_through(s, &wishes);
    }
    if (s->members.peers_due) {
        tell_peers(s);
    }
    arm(s, busy || s->members.expelled_since_us != 0);
    turn_wake(s);
}

void members_look(struct server *s)
{
    uint64_t revision = catalog_members_revision(catalog_of(s));
    if (revision == s->members.revision || s->ending) {
        return;
    }
    s->members.revision = revision;
    tell_peers(s);
    uv_timer_start(&s->members.timer, on_timer, 0, 0);
}

struct str members_doing(const void *server)
{
    const struct server *s = server;
    return s->members.doing[0] != '\0' ? str_of(s->members.doing) : STR_NULL;
}

void members_init(struct server *s)
{
    uv_timer_init(&s->loop, &s->members.timer);
    s->members.timer.data = s;
    arena_init(&s->members.arena, 0);
}

void members_start(struct server *s)
{
    arm(s, true);
}

void members_stop(struct server *s)
{
    if (!uv_is_closing((uv_handle_t *)&s->members.timer)) {
        uv_close((uv_handle_t *)&s->members.timer, NULL);
    }
}

void members_free(struct server *s)
{
    arena_fini(&s->members.arena);
}
