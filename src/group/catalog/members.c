/* members.c: who belongs to the cluster, and the one change of that which is under way.
 *
 * A change is a record, so that whoever leads shard 0 goes on with it. What it asks of the shards each of their leaders reads from the members' standings
 * (musterd/membership.c); here is decided what may be asked, and what follows once the shards have done it:
 *
 *   add      JOINING --joined--> LEARNER or VOTER --done-->
 *   promote  LEARNER --> VOTER --done-->
 *   remove   LEAVING --done--> gone
 *   replace  LEAVING, with the new folder's incarnation --return--> JOINING --joined--> what it was --done-->
 *
 * A node that does not come while it is JOINING is given up: it is gone again. */
#include "rules.h"
#include "state.h"

#include <inttypes.h>
#include <string.h>

#define LEVEL_NAME "feature.level"

/* Kafka's numbers for its own voters (KIP-853), and for a change while another is under way. */
enum { KAFKA_REASSIGNMENT_IN_PROGRESS = 60, KAFKA_DUPLICATE_VOTER = 126, KAFKA_VOTER_NOT_FOUND = 127, COORDINATOR_NOT_AVAILABLE = 15 };

/* ---- what is recorded -------------------------------------------------------------------------------------------------------- */

static void read_member(const struct entry *e, struct catalog_member *ret)
{
    struct cluster_member_value value;
    entry_value(e, &wire_cluster_member_value, &value);
    *ret = (struct catalog_member){.node_id = (int32_t)get_be32(e->key.ptr + 2),
                                   .incarnation = value.incarnation,
                                   .peer_address = value.peer_address,
                                   .standing = (enum member_standing)value.standing};
}

bool catalog_next_member(const struct group_set *shard0, int32_t after, struct catalog_member *ret)
{
    const struct entry *e = entry_numbered_after(shard0->catalog, RECORD_CLUSTER_MEMBER, after);
    if (e != NULL) {
        read_member(e, ret);
    }
    return e != NULL;
}

bool member_find(const struct group_set *shard0, int32_t node_id, struct catalog_member *ret)
{
    return node_id >= 0 && catalog_next_member(shard0, node_id - 1, ret) && ret->node_id == node_id;
}

bool has_members(const struct group_set *shard0)
{
    struct catalog_member member;
    return catalog_next_member(shard0, -1, &member);
}

int32_t member_count(const struct group_set *shard0, int32_t otherwise)
{
    struct catalog_member member;
    int32_t count = 0;
    for (int32_t after = -1; catalog_next_member(shard0, after, &member); after = member.node_id) {
        count += member.standing == MEMBER_LEARNER || member.standing == MEMBER_VOTER;
    }
    return count > 0 ? count : otherwise;
}

bool catalog_member_change(const struct group_set *shard0, struct catalog_change *ret)
{
    uint8_t key[NUMBERED_KEY_BYTES];
    const struct entry *e = entry_find(shard0->catalog, numbered_key(RECORD_MEMBER_CHANGE, 0, key));
    if (e == NULL) {
        return false;
    }
    struct member_change_value value;
    entry_value(e, &wire_member_change_value, &value);
    *ret = (struct catalog_change){.id = value.change_id,
                                   .kind = (enum member_change_kind)value.kind,
                                   .node_id = value.node_id,
                                   .state = (enum member_change_state)value.state,
                                   .target = (enum member_standing)value.target,
                                   .began_wall_ms = value.began_wall_ms,
                                   .reason = value.reason};
    return true;
}

uint64_t catalog_members_revision(const struct group_set *shard0)
{
    return shard0->members_revision;
}

int16_t catalog_feature_level(const struct group_set *shard0)
{
    struct feature_level_value value = {.level = 1};
    struct arena none;
    arena_init(&none, 0);
    struct feature_level_key key = {STR(LEVEL_NAME)};
    struct record record = wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, NULL, &none);
    const struct entry *e = entry_find(shard0->catalog, record.key);
    if (e != NULL) {
        entry_value(e, &wire_feature_level_value, &value);
    }
    arena_fini(&none);
    return value.level;
}

/* The highest that the member has said it knows; 0: it has not registered. */
static int16_t level_of(const struct group_set *shard0, const struct catalog_member *m)
{
    struct catalog_node node;
    bool known =
        catalog_next_node(shard0, m->node_id - 1, &node) && node.node_id == m->node_id && uuid_eq(node.incarnation, m->incarnation);
    return known ? node.feature_level : 0;
}

static void write_level(struct decision *d, int16_t level)
{
    struct feature_level_key key = {STR(LEVEL_NAME)};
    struct feature_level_value value = {.level = level, .release = d->op->release};
    out_record(d, RECORD_FEATURE_LEVEL, &key, 0, &value);
}

static void write_member(struct decision *d, const struct catalog_member *m, enum member_standing standing)
{
    struct cluster_member_key key = {.node_id = m->node_id};
    struct cluster_member_value value = {.incarnation = m->incarnation, .peer_address = m->peer_address, .standing = (int8_t)standing};
    out_record(d, RECORD_CLUSTER_MEMBER, &key, 0, &value);
}

void member_moved(struct decision *d, const struct catalog_member *member, struct str peer_address)
{
    struct catalog_member moved = *member;
    moved.peer_address = peer_address;
    write_member(d, &moved, member->standing);
}

/* The member, and what it registered. */
static void erase_member(struct decision *d, int32_t node_id)
{
    struct cluster_member_key key = {.node_id = node_id};
    struct node_key node = {.node_id = node_id};
    out_record(d, RECORD_CLUSTER_MEMBER, &key, 0, NULL);
    if (node_is_registered(d->set->catalog, node_id)) {
        out_record(d, RECORD_NODE, &node, 0, NULL);
    }
}

static void write_change(struct decision *d, const struct catalog_change *c)
{
    struct member_change_key key = {.shard = 0};
    struct member_change_value value = {.change_id = c->id,
                                        .kind = (int8_t)c->kind,
                                        .node_id = c->node_id,
                                        .state = (int8_t)c->state,
                                        .target = (int8_t)c->target,
                                        .began_wall_ms = c->began_wall_ms,
                                        .reason = c->reason};
    out_record(d, RECORD_MEMBER_CHANGE, &key, 0, &value);
}

/* ---- answers ------------------------------------------------------------------------------------------------------------------ */

static void answer(struct decision *d, const char *rule, int64_t change_id)
{
    struct change_member_response *response = ARENA_NEW(d->arena, struct change_member_response, 1);
    wire_init(&wire_change_member_response, response);
    response->change_id = change_id;
    out_answer(d, rule, KAFKA_NONE, response);
}

static void refuse_with(struct decision *d, const char *rule, int16_t error, struct str why)
{
    struct change_member_response *response = ARENA_NEW(d->arena, struct change_member_response, 1);
    wire_init(&wire_change_member_response, response);
    response->error_code = error;
    response->error_message = why;
    out_answer(d, rule, error, response);
}

static bool refuse(struct decision *d, int16_t error, struct str why)
{
    refuse_with(d, RULE(CHANGE_REFUSED), error, why);
    return false;
}

static const char *const standing_names[] = {"joining", "learner", "voter", "leaving"};
static const char *const kind_names[] = {"", "add", "promote", "remove", "replace"};

/* ---- quorums ------------------------------------------------------------------------------------------------------------------ */

static bool is_reachable(const struct decision *d, int32_t node_id)
{
    for (int32_t i = 0; i < d->op->reachable.len; i++) {
        if (d->op->reachable.v[i] == node_id) {
            return true;
        }
    }
    return false;
}

struct quorum {
    int32_t voters, answering;
};

/* The voters there are, without the one. */
static struct quorum voters_without(const struct decision *d, int32_t without)
{
    struct catalog_member m;
    struct quorum q = {0, 0};
    for (int32_t after = -1; catalog_next_member(d->set, after, &m); after = m.node_id) {
        if (m.standing == MEMBER_VOTER && m.node_id != without) {
            q.voters++;
            q.answering += is_reachable(d, m.node_id);
        }
    }
    return q;
}

static bool check_quorum(struct decision *d, struct quorum q)
{
    int32_t needed = q.voters / 2 + 1;
    if (q.answering >= needed) {
        return true;
    }
    return refuse(d, KAFKA_POLICY_VIOLATION,
                  arena_printf(d->arena,
                               "The cluster would have %" PRId32 " voter(s), of which %" PRId32 " must answer and only %" PRId32
                               " do: it would stand still. Bring the nodes that are down back first, or remove one of them.",
                               q.voters, needed, q.answering));
}

/* ---- what may be asked ---------------------------------------------------------------------------------------------------------- */

static bool is_address(struct str text)
{
    const char *colon = NULL;
    for (int32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == ':') {
            colon = text.ptr + i;
        } else if (text.ptr[i] <= ' ' || text.ptr[i] > '~' || text.ptr[i] == ',' || text.ptr[i] == '@') {
            return false;
        }
    }
    if (colon == NULL || colon == text.ptr || text.len > 255) {
        return false;
    }
    int32_t port = 0;
    const char *end = text.ptr + text.len;
    for (const char *at = colon + 1; at < end; at++) {
        if (*at < '0' || *at > '9' || end - colon > 6) {
            return false;
        }
        port = 10 * port + (*at - '0');
    }
    return port >= 1 && port <= 65535;
}

static bool check_new(struct decision *d, const struct change_member_request *q)
{
    struct catalog_member m;
    int32_t count = 0;
    if (q->node_id < 1) {
        return refuse(d, KAFKA_INVALID_REQUEST, STR("A node id is at least 1."));
    }
    if (!is_address(q->peer_address)) {
        return refuse(d, KAFKA_INVALID_REQUEST, STR("The address of the node's peer listener is HOST:PORT."));
    }
    for (int32_t after = -1; catalog_next_member(d->set, after, &m); after = m.node_id, count++) {
        if (m.node_id == q->node_id) {
            return refuse(d, KAFKA_DUPLICATE_VOTER,
                          arena_printf(d->arena, "Node %" PRId32 " is a member already (%s).", m.node_id, standing_names[m.standing]));
        }
        if (str_eq(m.peer_address, q->peer_address)) {
            return refuse(d, KAFKA_DUPLICATE_VOTER,
                          arena_printf(d->arena, "%.*s is the address of node %" PRId32 ".", STR_ARG(m.peer_address), m.node_id));
        }
    }
    if (count >= CATALOG_MAX_MEMBERS) {
        return refuse(d, KAFKA_POLICY_VIOLATION, arena_printf(d->arena, "A cluster has at most %d nodes.", CATALOG_MAX_MEMBERS));
    }
    struct quorum quorum = voters_without(d, -1);
    quorum.voters++; /* it cannot answer yet; beside a single voter nothing else is possible */
    quorum.answering += quorum.voters == 2;
    return q->learner || check_quorum(d, quorum);
}

static bool check_known(struct decision *d, const struct change_member_request *q, struct catalog_member *ret)
{
    if (member_find(d->set, q->node_id, ret)) {
        return true;
    }
    return refuse(d, KAFKA_VOTER_NOT_FOUND, arena_printf(d->arena, "Node %" PRId32 " is not a member of the cluster.", q->node_id));
}

static bool check_promotion(struct decision *d, const struct catalog_member *m)
{
    if (m->standing != MEMBER_LEARNER) {
        return refuse(d, KAFKA_INVALID_REQUEST,
                      arena_printf(d->arena, "Node %" PRId32 " is no learner (%s).", m->node_id, standing_names[m->standing]));
    }
    struct quorum quorum = voters_without(d, -1);
    quorum.voters++;
    quorum.answering += is_reachable(d, m->node_id);
    return check_quorum(d, quorum);
}

static bool check_departure(struct decision *d, const struct catalog_member *m, const char *what)
{
    if (m->standing != MEMBER_VOTER) {
        return true;
    }
    struct quorum quorum = voters_without(d, m->node_id);
    if (quorum.voters == 0) {
        return refuse(d, KAFKA_POLICY_VIOLATION,
                      arena_printf(d->arena, "Node %" PRId32 " is the only voter and cannot be %s.", m->node_id, what));
    }
    return check_quorum(d, quorum);
}

static bool check_replacement(struct decision *d, const struct change_member_request *q, const struct catalog_member *m)
{
    if (m->standing != MEMBER_VOTER && m->standing != MEMBER_LEARNER) {
        return refuse(d, KAFKA_INVALID_REQUEST, arena_printf(d->arena, "Node %" PRId32 " is %s.", m->node_id, standing_names[m->standing]));
    }
    if (is_reachable(d, m->node_id) && !q->force) {
        return refuse(d, KAFKA_INVALID_REQUEST,
                      arena_printf(d->arena,
                                   "Node %" PRId32 " runs with its data folder. Stop it and empty the folder before it is replaced (or "
                                   "force it: the folder is of no use afterwards).",
                                   m->node_id));
    }
    return check_departure(d, m, "replaced");
}

/* ---- a change begins ------------------------------------------------------------------------------------------------------------ */

static void begin(struct decision *d, const struct catalog_member *m, enum member_standing standing, enum member_standing target,
                  const struct catalog_change *before)
{
    const struct change_member_request *q = d->op->request;
    struct catalog_change change = {.id = before != NULL ? before->id + 1 : 1,
                                    .kind = (enum member_change_kind)q->kind,
                                    .node_id = q->node_id,
                                    .state = MEMBER_CHANGE_UNDER_WAY,
                                    .target = target,
                                    .began_wall_ms = d->op->wall_ms,
                                    .reason = STR_NULL};
    bool forced = before != NULL && before->state == MEMBER_CHANGE_UNDER_WAY;
    write_member(d, m, standing);
    write_change(d, &change);
    answer(d, forced ? RULE(CHANGE_FORCED) : RULE(CHANGE_BEGUN), change.id);
}

static void decide_change(struct decision *d, const struct catalog_change *before)
{
    const struct change_member_request *q = d->op->request;
    struct catalog_member m = {.node_id = q->node_id, .incarnation = d->op->fresh_id, .peer_address = q->peer_address};
    if (q->kind == MEMBER_ADD) {
        if (check_new(d, q)) {
            begin(d, &m, MEMBER_JOINING, q->learner ? MEMBER_LEARNER : MEMBER_VOTER, before);
        }
    } else if (!check_known(d, q, &m)) {
        return;
    } else if (q->kind == MEMBER_PROMOTE) {
        if (check_promotion(d, &m)) {
            begin(d, &m, MEMBER_VOTER, MEMBER_VOTER, before);
        }
    } else if (q->kind == MEMBER_REMOVE) {
        if (check_departure(d, &m, "removed")) {
            begin(d, &m, MEMBER_LEAVING, MEMBER_LEAVING, before);
        }
    } else if (q->kind != MEMBER_REPLACE) {
        refuse(d, KAFKA_INVALID_REQUEST, STR("Members are added, promoted, removed or replaced."));
    } else if (check_replacement(d, q, &m)) {
        enum member_standing target = m.standing;
        m.incarnation = d->op->fresh_id; /* from now on the old folder is let in nowhere */
        begin(d, &m, MEMBER_LEAVING, target, before);
    }
}

/* A removal that is forced takes the place of the node's own change, at whatever step that is. */
static bool may_begin(const struct change_member_request *q, const struct catalog_change *before)
{
    return before->state != MEMBER_CHANGE_UNDER_WAY ||
           (q->kind == MEMBER_REMOVE && q->force && before->node_id == q->node_id && before->kind != MEMBER_REMOVE);
}

void catalog_change_member(struct decision *d)
{
    const struct change_member_request *q = d->op->request;
    struct catalog_change before;
    bool had = catalog_member_change(d->set, &before);
    if (!has_members(d->set)) {
        refuse_with(d, RULE(MEMBERS_MISSING), COORDINATOR_NOT_AVAILABLE, STR("The members of the cluster are about to be recorded."));
        return;
    }
    if (had && !may_begin(q, &before)) {
        refuse(d, KAFKA_REASSIGNMENT_IN_PROGRESS,
               arena_printf(d->arena, "Another change is under way: %s of node %" PRId32 " (change %" PRId64 "). There is one at a time.",
                            kind_names[before.kind], before.node_id, before.id));
        return;
    }
    decide_change(d, had ? &before : NULL);
}

/* ---- a change goes on ------------------------------------------------------------------------------------------------------------- */

/* The highest level that all founders know; 0: not all of them have registered. */
static int16_t founders_level(const struct decision *d, const struct member_step *step)
{
    int16_t level = INT16_MAX;
    for (size_t i = 0; i < step->founder_count; i++) {
        int16_t its = level_of(d->set, &step->founders[i]);
        level = its < level ? its : level;
    }
    return level;
}

/* The cluster begins at the level that all its founders know: nobody has to raise it. */
static void found(struct decision *d, const struct member_step *step)
{
    int16_t level = founders_level(d, step);
    if (has_members(d->set)) {
        answer(d, RULE(CHANGE_STALE), -1);
        return;
    }
    if (level == 0 && !step->incomplete) {
        answer(d, RULE(FOUNDERS_AWAITED), -1);
        return;
    }
    for (size_t i = 0; i < step->founder_count; i++) {
        write_member(d, &step->founders[i], MEMBER_VOTER);
    }
    if (level > catalog_feature_level(d->set)) {
        write_level(d, level);
    }
    answer(d, RULE(MEMBERS_FOUNDED), -1);
}

static void finish(struct decision *d, struct catalog_change *change)
{
    if (change->kind == MEMBER_REMOVE) {
        erase_member(d, change->node_id);
    }
    change->state = MEMBER_CHANGE_DONE;
    write_change(d, change);
    answer(d, RULE(CHANGE_DONE), change->id);
}

static void give_up(struct decision *d, struct catalog_change *change, struct str reason)
{
    erase_member(d, change->node_id);
    change->state = MEMBER_CHANGE_GIVEN_UP;
    change->reason = reason;
    write_change(d, change);
    answer(d, RULE(CHANGE_GIVEN_UP), change->id);
}

/* Whether all shards may be as the member says: then it stands where the change wants it. */
static bool may_finish(const struct catalog_change *change, const struct catalog_member *m)
{
    return change->kind == MEMBER_REMOVE ? m->standing == MEMBER_LEAVING : m->standing == change->target;
}

void catalog_member_step(struct decision *d)
{
    const struct member_step *step = d->op->request;
    struct catalog_change change;
    struct catalog_member m;
    if (step->kind == MEMBER_STEP_FOUND) {
        found(d, step);
        return;
    }
    bool current = catalog_member_change(d->set, &change) && change.id == step->change_id && change.state == MEMBER_CHANGE_UNDER_WAY &&
                   member_find(d->set, change.node_id, &m);
    if (current && step->kind == MEMBER_STEP_JOINED && m.standing == MEMBER_JOINING) {
        write_member(d, &m, change.target);
    } else if (current && step->kind == MEMBER_STEP_RETURN && change.kind == MEMBER_REPLACE && m.standing == MEMBER_LEAVING) {
        write_member(d, &m, MEMBER_JOINING);
    } else if (current && step->kind == MEMBER_STEP_DONE && may_finish(&change, &m)) {
        finish(d, &change);
        return;
    } else if (current && step->kind == MEMBER_STEP_GIVE_UP && m.standing == MEMBER_JOINING) {
        give_up(d, &change, step->reason);
        return;
    } else {
        answer(d, RULE(CHANGE_STALE), step->change_id);
        return;
    }
    answer(d, RULE(CHANGE_STEPPED), change.id);
}

/* ---- the feature level -------------------------------------------------------------------------------------------------------------- */

static void refuse_upgrade(struct decision *d, struct upgrade_cluster_response *response, int16_t error, struct str why)
{
    response->error_code = error;
    response->error_message = why;
    out_answer(d, RULE(FEATURE_REFUSED), error, response);
}

/* The highest level that every member knows, and who knows no higher one; a member that has not registered knows none. */
static int16_t common_level(const struct decision *d, int32_t *ret_lowest)
{
    struct catalog_member m;
    int16_t level = INT16_MAX;
    for (int32_t after = -1; catalog_next_member(d->set, after, &m); after = m.node_id) {
        int16_t its = level_of(d->set, &m);
#ifdef MUSTER_FAULT_LEVEL_OF_ANY
        level = level == INT16_MAX || its > level ? its : level;
        its = INT16_MAX;
#endif
        if (its < level) {
            level = its;
            *ret_lowest = m.node_id;
        }
    }
    return level;
}

/* The level only rises, and only as far as every member follows. */
void catalog_upgrade(struct decision *d)
{
    const struct upgrade_cluster_request *q = d->op->request;
    struct upgrade_cluster_response *response = ARENA_NEW(d->arena, struct upgrade_cluster_response, 1);
    int32_t lowest = -1;
    wire_init(&wire_upgrade_cluster_response, response);
    if (!has_members(d->set)) {
        refuse_upgrade(d, response, COORDINATOR_NOT_AVAILABLE, STR("The members of the cluster are about to be recorded."));
        return;
    }
    int16_t now = catalog_feature_level(d->set);
    int16_t common = common_level(d, &lowest);
    int16_t wanted = q->level > 0 ? q->level : common;
    response->before = now;
    response->level = now;
    if (common == 0 || wanted > common) {
        struct str why = common == 0
                             ? arena_printf(d->arena, "Node %" PRId32 " has not said yet which levels it knows: start it.", lowest)
                             : arena_printf(d->arena, "Node %" PRId32 " knows feature levels up to %d: upgrade it first.", lowest, common);
        refuse_upgrade(d, response, KAFKA_POLICY_VIOLATION, why);
        return;
    }
    if (wanted < now) {
        refuse_upgrade(d, response, KAFKA_INVALID_REQUEST, arena_printf(d->arena, "The feature level is %d and cannot be lowered.", now));
        return;
    }
    response->level = wanted;
    if (wanted == now || q->validate_only) {
        out_answer(d, RULE(FEATURE_KEPT), KAFKA_NONE, response);
        return;
    }
    write_level(d, wanted);
    out_answer(d, RULE(FEATURE_RAISED), KAFKA_NONE, response);
}
