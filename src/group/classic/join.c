/* join.c: JoinGroup. KIP-62 (rebalance timeout), KIP-345 (static members), KIP-394 (member id required), KIP-814 (skip assignment).
 *
 * A join that is granted is a ClassicMember record whose join_generation is the one it waits for; the request waits beside it and is asked again
 * when the group's phase moves. */
#include "draft.h"

#include <string.h>

static const struct join_group_request *request_of(const struct decision *d)
{
    return d->op->request;
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static struct join_group_response *answer_new(struct decision *d, struct str member_id)
{
    struct join_group_response *answer = ARENA_NEW(d->arena, struct join_group_response, 1);
    wire_init(&wire_join_group_response, answer);
    answer->member_id = member_id;
    answer->protocol_name = d->op->api_version < 7 ? STR("") : STR_NULL; /* null can be said since version 7 */
    return answer;
}

static void refuse(struct decision *d, const char *rule, int16_t error, struct str member_id)
{
    struct join_group_response *answer = answer_new(d, member_id);
    answer->error_code = error;
    out_answer(d, rule, error, answer);
}

static void fill_members(struct decision *d, struct join_group_response *answer, const struct classic_member *const *members, int32_t count,
                         struct str protocol)
{
    answer->members.v = ARENA_NEW(d->arena, struct join_group_response_member, count);
    answer->members.len = count;
    for (int32_t i = 0; i < count; i++) {
        answer->members.v[i].member_id = members[i]->member_id;
        answer->members.v[i].group_instance_id = members[i]->instance_id;
        answer->members.v[i].metadata = member_metadata(members[i], protocol);
    }
}

/* The generation as it stands; members NULL: not for this one's eyes. */
static struct join_group_response *grant(struct decision *d, const struct draft *t, struct str member_id)
{
    struct join_group_response *answer = answer_new(d, member_id);
    answer->generation_id = t->generation;
    answer->protocol_type = t->protocol_type;
    answer->protocol_name = str_is_null(t->protocol_name) ? answer->protocol_name : t->protocol_name;
    answer->leader = str_is_null(t->leader) ? STR("") : t->leader;
    if (str_eq(member_id, t->leader)) {
        int32_t count;
        const struct classic_member **all = classic_draft_members(t, &count);
        fill_members(d, answer, all, count, t->protocol_name);
    }
    return answer;
}

static void wait(struct decision *d, const char *rule)
{
    d->out->verdict = GROUP_WAIT;
    out_rule(d, rule);
}

/* ---- the member that a request asks for ------------------------------------------------------------------------------------ */

/* Kafka's form: the client id, or the instance id, and a random UUID. */
static struct str fresh_member_id(const struct decision *d)
{
    struct str instance = request_of(d)->group_instance_id;
    struct str prefix = str_is_null(instance) ? d->op->caller.client_id : instance;
    size_t len = prefix.len > 0 ? (size_t)prefix.len : 0;
    char *text = arena_get(d->arena, len + 1 + 37);
    if (len > 0) {
        memcpy(text, prefix.ptr, len);
    }
    text[len] = '-';
    uuid_dashed(d->op->fresh_id, text + len + 1);
    return (struct str){text, (int32_t)(len + 1 + 36)};
}

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

static void take_request(struct decision *d, struct classic_member *m)
{
    const struct join_group_request *r = request_of(d);
    m->session_timeout_ms = r->session_timeout_ms;
    m->rebalance_timeout_ms = d->op->api_version < 1 ? r->session_timeout_ms : r->rebalance_timeout_ms;
    m->protocol_count = r->protocols.len;
    m->protocols = ARENA_NEW(d->arena, struct classic_protocol, r->protocols.len);
    for (int32_t i = 0; i < r->protocols.len; i++) {
        m->protocols[i].name = r->protocols.v[i].name;
        m->protocols[i].metadata = r->protocols.v[i].metadata;
    }
}

static struct classic_member *member_of_request(struct decision *d, struct str member_id, bool id_delivered, int32_t join_generation)
{
    struct classic_member *m = ARENA_NEW(d->arena, struct classic_member, 1);
    m->member_id = member_id;
    m->instance_id = request_of(d)->group_instance_id;
    m->client_id = text_or_empty(d->op->caller.client_id);
    m->client_host = text_or_empty(d->op->caller.host);
    m->id_delivered = id_delivered;
    m->join_generation = join_generation;
    take_request(d, m);
    return m;
}

/* A member as it is with what the request says; its client id and host stay those of its first join. */
static struct classic_member *member_updated(struct decision *d, const struct classic_member *old, int32_t join_generation)
{
    struct classic_member *m = ARENA_NEW(d->arena, struct classic_member, 1);
    *m = *old;
    m->id_delivered = true;
    m->join_generation = join_generation;
    take_request(d, m);
    return m;
}

static bool same_protocols(const struct decision *d, const struct classic_member *m)
{
    const struct join_group_request *r = request_of(d);
    bool same = m->protocol_count == r->protocols.len;
    for (int32_t i = 0; same && i < m->protocol_count; i++) {
        same = str_eq(m->protocols[i].name, r->protocols.v[i].name) && bytes_eq(m->protocols[i].metadata, r->protocols.v[i].metadata);
    }
    return same;
}

/* An empty group takes any protocols, another one those of its type of which all members support at least one. */
static bool protocols_fit(const struct decision *d, const struct draft *t)
{
    const struct join_group_request *r = request_of(d);
    if (t->state == CLASSIC_EMPTY) {
        return !str_is_empty(r->protocol_type) && r->protocols.len > 0;
    }
    if (!str_eq(t->protocol_type, r->protocol_type)) {
        return false;
    }
    for (int32_t i = 0; i < r->protocols.len; i++) {
        int32_t members = 0;
        for (int32_t k = 0; k < t->c->use_count; k++) {
            members = str_eq(t->c->uses[k].name, r->protocols.v[i].name) ? t->c->uses[k].members : members;
        }
        if (members == t->c->member_count) {
            return true;
        }
    }
    return false;
}

/* ---- new members -------------------------------------------------------------------------------------------------------------- */

/* A first join has no id to beat with, so its session does not run yet; but it may not wait for ever either. */
static void arm_first_join(struct draft *t, const struct classic_member *m)
{
    struct group_timer_wish wish = {.delay_ms = t->d->op->settings->new_member_join_timeout_ms};
    wish.timer.kind = GROUP_TIMER_SESSION;
    wish.timer.member_id = m->member_id;
    wish.timer.epoch = t->generation;
    wish.timer.seen_members = 1;
    out_timer_full(t->d, &wish);
}

static void add_member(struct draft *t, struct str member_id, bool id_delivered, const char *rule)
{
    struct decision *d = t->d;
    struct classic_member *m = member_of_request(d, member_id, id_delivered, next_generation(t->generation));
    if (t->member_count == 0) {
        t->protocol_type = request_of(d)->protocol_type;
        t->leader = member_id;
        t->changed = true;
    }
    classic_note(t, GROUP_CAUSE_JOINED, m, -1);
    classic_draft_put(t, m, -1);
    arm_first_join(t, m);
    classic_draft_rebalance(t);
    classic_draft_close(t);
    wait(d, rule);
}

/* KIP-394: the id goes out first, the join comes with it. A group made by this is there, as Kafka has it. */
static void require_id(struct draft *t, bool group_is_new)
{
    struct decision *d = t->d;
    struct str member_id = fresh_member_id(d);
    struct classic_pending_id_key key = {.group_id = d->op->group_id, .member_id = member_id};
    struct classic_pending_id_value value = {.session_timeout_ms = request_of(d)->session_timeout_ms};
    out_record(d, RECORD_CLASSIC_PENDING_ID, &key, 0, &value);
    out_timer(d, GROUP_TIMER_PENDING_ID, member_id, 0, value.session_timeout_ms);
    t->changed = group_is_new;
    classic_draft_close(t);
    refuse(d, RULE(JOIN_ID_REQUIRED), KAFKA_MEMBER_ID_REQUIRED, member_id);
}

/* ---- static members ------------------------------------------------------------------------------------------------------------- */

static void copy_assignment(struct decision *d, const struct classic_member *from, struct str to)
{
    if (!from->has_assignment) {
        return;
    }
    struct classic_assignment_key key = {.group_id = d->op->group_id, .member_id = to};
    struct classic_assignment_value value = {.generation = from->assignment_generation, .assignment = from->assignment};
    out_record(d, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
}

/* The member, as its instance's next process: new id, its place in the group, its assignment. */
static struct classic_member *replace_member(struct draft *t, int32_t place, bool joins)
{
    struct decision *d = t->d;
    const struct classic_member *old = t->c->members[place];
    int32_t generation = joins ? next_generation(t->generation) : old->join_generation;
    struct classic_member *m = member_updated(d, old, generation);
    m->member_id = fresh_member_id(d);
    m->id_delivered = false;
    classic_draft_remove(t, place, GROUP_CAUSE_REPLACED);
    classic_draft_put(t, m, -1);
    copy_assignment(d, old, m->member_id);
    if (str_eq(t->leader, old->member_id)) {
        t->leader = m->member_id;
        t->changed = true;
    }
    classic_draft_session(t, m);
    return m;
}

/* Whether the choice of protocol stays what it is with this request's protocols in the member's place. */
static bool choice_stays(const struct draft *t, int32_t place)
{
    struct decision *d = t->d;
    const struct classic_member **all = ARENA_NEW(d->arena, const struct classic_member *, t->c->member_count);
    memcpy(all, t->c->members, (size_t)t->c->member_count * sizeof *all);
    all[place] = member_updated(d, t->c->members[place], 0);
    return str_eq(classic_vote(all, t->c->member_count, d->arena), text_or_empty(t->protocol_name));
}

/* KIP-345: a stable group goes on with the new process in the old one's place. Before version 9 (KIP-814) the old leader's id is told, so that the
 * new process does not take itself for the leader and assign anew. */
static void keep_generation(struct draft *t, int32_t place)
{
    struct decision *d = t->d;
    struct str old_leader = t->leader;
    struct classic_member *m = replace_member(t, place, false);
    classic_draft_close(t);
    struct join_group_response *answer = grant(d, t, m->member_id);
    if (d->op->api_version >= 9) {
        answer->skip_assignment = str_eq(t->leader, m->member_id);
    } else {
        answer->leader = text_or_empty(old_leader);
        answer->members.len = 0;
    }
    out_answer(d, RULE(JOIN_STATIC_KEPT), KAFKA_NONE, answer);
}

static void replace_static(struct draft *t, int32_t place)
{
    if (t->state == CLASSIC_STABLE && choice_stays(t, place)) {
        keep_generation(t, place);
        return;
    }
    replace_member(t, place, true);
    classic_draft_rebalance(t);
    classic_draft_close(t);
    wait(t->d, RULE(JOIN_STATIC_REPLACED));
}

/* ---- the two kinds of join ---------------------------------------------------------------------------------------------------------- */

static void join_new(struct draft *t, bool group_is_new)
{
    struct decision *d = t->d;
    struct str instance = request_of(d)->group_instance_id;
    if (!protocols_fit(d, t)) {
        t->changed = group_is_new; /* Kafka has made the group by now; so it is listed */
        classic_draft_close(t);
        refuse(d, RULE(JOIN_PROTOCOL), KAFKA_INCONSISTENT_GROUP_PROTOCOL, STR(""));
    } else if (!str_is_null(instance)) {
        int32_t place = members_by_instance(t->c, instance);
        if (place >= 0) {
            replace_static(t, place);
        } else {
            add_member(t, fresh_member_id(d), false, RULE(JOIN_STATIC_NEW));
        }
    } else if (d->op->api_version >= 4) {
        require_id(t, group_is_new);
    } else {
        add_member(t, fresh_member_id(d), false, RULE(JOIN_NEW_MEMBER));
    }
}

static void rejoin(struct draft *t, const struct classic_member *m, const char *rule)
{
    if (rule != RULE(JOIN_REJOIN)) {
        bool asks = rule == RULE(JOIN_LEADER) && same_protocols(t->d, m);
        classic_note(t, asks ? GROUP_CAUSE_LEADER : GROUP_CAUSE_SUBSCRIPTION, m, -1);
    }
    bool found;
    classic_draft_put(t, member_updated(t->d, m, next_generation(t->generation)), members_place(t->c, m->member_id, &found));
    classic_draft_rebalance(t);
    classic_draft_close(t);
    wait(t->d, rule);
}

static void join_known(struct draft *t, const struct classic_member *m)
{
    struct decision *d = t->d;
    if (t->state == CLASSIC_PREPARING || t->state == CLASSIC_EMPTY) {
        rejoin(t, m, RULE(JOIN_REJOIN));
    } else if (t->state == CLASSIC_STABLE && str_eq(t->leader, m->member_id)) {
        rejoin(t, m, RULE(JOIN_LEADER)); /* how a leader asks for a rebalance, when topics changed for instance */
    } else if (!same_protocols(d, m)) {
        rejoin(t, m, RULE(JOIN_CHANGED));
    } else {
        out_answer(d, RULE(JOIN_SAME), KAFKA_NONE, grant(d, t, request_of(d)->member_id));
    }
}

static void join_pending(struct draft *t)
{
    struct decision *d = t->d;
    struct str member_id = request_of(d)->member_id;
    if (!str_is_null(request_of(d)->group_instance_id)) {
        /* Ids are handed out to dynamic members alone. Kafka fails here with an internal error. */
        refuse(d, RULE(JOIN_PENDING_INSTANCE), KAFKA_UNKNOWN_MEMBER_ID, member_id);
        return;
    }
    classic_draft_remove_pending(t, member_id);
    add_member(t, member_id, true, RULE(JOIN_PENDING_ID));
}

static void join_with_id(struct draft *t)
{
    struct decision *d = t->d;
    const struct join_group_request *r = request_of(d);
    bool pending;
    pending_place(t->c, r->member_id, &pending);
    if (!protocols_fit(d, t)) {
        refuse(d, RULE(JOIN_PROTOCOL), KAFKA_INCONSISTENT_GROUP_PROTOCOL, r->member_id);
        return;
    }
    if (pending) {
        join_pending(t);
        return;
    }
    const struct classic_member *m;
    int16_t error = classic_check_member(t->c, r->member_id, r->group_instance_id, &m);
    if (error != KAFKA_NONE) {
        refuse(d, error == KAFKA_FENCED_INSTANCE_ID ? RULE(JOIN_FENCED) : RULE(JOIN_UNKNOWN_MEMBER), error, r->member_id);
        return;
    }
    join_known(t, m);
}

/* ---- admission ------------------------------------------------------------------------------------------------------------------------ */

/* KAFKA-7909, KAFKA-9885: ids that were handed out do not count until they join; in a join phase the joined are counted, so that the last to come back
 * are the ones without a place. */
static bool group_has_room(const struct decision *d, const struct draft *t)
{
    int32_t limit = d->op->settings->group_max_size;
    bool found;
    int32_t place = members_place(t->c, request_of(d)->member_id, &found);
    if (limit <= 0 || t->state == CLASSIC_EMPTY) {
        return true;
    }
    if (t->state == CLASSIC_PREPARING) {
        return (found && member_joined(t->c, t->c->members[place])) || t->joined_count < limit;
    }
    return found || t->member_count < limit;
}

static void refuse_full(struct draft *t)
{
    struct decision *d = t->d;
    struct str member_id = request_of(d)->member_id;
    bool found;
    int32_t place = members_place(t->c, member_id, &found);
    if (found) {
        classic_draft_remove(t, place, GROUP_CAUSE_OTHER);
    }
    pending_place(t->c, member_id, &found);
    if (found) {
        classic_draft_remove_pending(t, member_id);
    }
    refuse(d, RULE(JOIN_GROUP_FULL), KAFKA_GROUP_MAX_SIZE_REACHED, STR(""));
}

static int64_t request_bytes(const struct decision *d)
{
    const struct join_group_request *r = request_of(d);
    int64_t bytes = 512 + r->group_id.len + d->op->caller.client_id.len;
    for (int32_t i = 0; i < r->protocols.len; i++) {
        bytes += 32 + r->protocols.v[i].name.len + r->protocols.v[i].metadata.len;
    }
    return bytes;
}

static bool budget_fits(const struct decision *d, const struct group *g)
{
    struct str instance = request_of(d)->group_instance_id;
    bool replaces = g != NULL && !str_is_null(instance) && members_by_instance(&g->classic, instance) >= 0;
    return budget_allows(d, g == NULL ? 1 : 0, replaces ? 0 : 1, request_bytes(d));
}

/* ---- a join that waits ------------------------------------------------------------------------------------------------------------------- */

static void ask_again(struct decision *d, const struct group *g)
{
    const struct join_group_request *r = request_of(d);
    struct str member_id = str_is_empty(r->member_id) ? fresh_member_id(d) : r->member_id;
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        refuse(d, RULE(JOIN_CONVERTED), KAFKA_REBALANCE_IN_PROGRESS, member_id);
        return;
    }
    struct draft t;
    classic_draft_open(&t, d, g);
    bool found;
    int32_t place = members_place(t.c, member_id, &found);
    if (!found) {
        bool fenced = !str_is_null(r->group_instance_id) && members_by_instance(t.c, r->group_instance_id) >= 0;
        refuse(d, fenced ? RULE(JOIN_FENCED) : RULE(JOIN_REMOVED), fenced ? KAFKA_FENCED_INSTANCE_ID : KAFKA_UNKNOWN_MEMBER_ID,
               fenced ? member_id : STR(""));
        return;
    }
    const struct classic_member *m = t.c->members[place];
    if (member_joined(t.c, m)) {
        wait(d, RULE(JOIN_WAITS));
    } else if (m->join_generation == t.generation) {
        out_answer(d, RULE(JOIN_COMPLETED), KAFKA_NONE, grant(d, &t, member_id));
    } else {
        refuse(d, RULE(JOIN_OVERTAKEN), KAFKA_REBALANCE_IN_PROGRESS, member_id);
    }
}

/* Of one of the new protocols: while it is empty it makes way for a classic group. */
static bool is_modern(const struct group *g)
{
    return g != NULL && group_type(g) != GROUP_CLASSIC;
}

static bool is_modern_with_members(const struct group *g)
{
    return is_modern(g) && (group_type(g) == GROUP_STREAMS ? streams_may_delete(g) : consumer_may_delete(g)) != KAFKA_NONE;
}

static void make_way(struct decision *d, const struct group *g)
{
    if (group_type(g) == GROUP_STREAMS) {
        streams_tombstones(d, g);
    } else {
        consumer_tombstones(d, g);
    }
}

void classic_decide_join(struct decision *d)
{
    const struct join_group_request *r = request_of(d);
    const struct group_settings *s = d->op->settings;
    const struct group *g = group_find(d->set, d->op->group_id);
    d->out->reason = r->reason;
    if (d->op->waiting) {
        ask_again(d, g);
        return;
    }
    bool is_new = str_is_empty(r->member_id);
    if (str_is_empty(d->op->group_id)) {
        refuse(d, RULE(JOIN_NO_GROUP_ID), KAFKA_INVALID_GROUP_ID, r->member_id);
    } else if (r->session_timeout_ms < s->min_session_timeout_ms || r->session_timeout_ms > s->max_session_timeout_ms) {
        refuse(d, RULE(JOIN_SESSION_TIMEOUT), KAFKA_INVALID_SESSION_TIMEOUT, r->member_id);
    } else if (s->max_protocols > 0 && r->protocols.len > s->max_protocols) {
        refuse(d, RULE(JOIN_PROTOCOLS), KAFKA_INCONSISTENT_GROUP_PROTOCOL, r->member_id);
    } else if (is_modern_with_members(g) && group_type(g) == GROUP_CONSUMER) {
        consumer_classic_join(d, g);
    } else if (is_modern_with_members(g)) {
        refuse(d, RULE(JOIN_OTHER_TYPE), KAFKA_INCONSISTENT_GROUP_PROTOCOL, STR(""));
    } else if ((g == NULL || is_modern(g)) && !is_new) {
        refuse(d, RULE(JOIN_NO_GROUP), KAFKA_UNKNOWN_MEMBER_ID, r->member_id);
    } else if (is_new && !budget_fits(d, g)) {
        refuse(d, RULE(JOIN_BUDGET), KAFKA_GROUP_MAX_SIZE_REACHED, STR(""));
    } else {
        struct draft t;
        classic_draft_open(&t, d, g);
        if (!group_has_room(d, &t)) {
            refuse_full(&t);
        } else if (is_new) {
            join_new(&t, g == NULL || is_modern(g));
        } else {
            join_with_id(&t);
        }
        /* Empty, it makes way, even for a join that is refused in the end; last, so that the group never seems to be gone. */
        if (is_modern(g)) {
            make_way(d, g);
        }
    }
}
