/* classic_join.c: JoinGroup to a consumer group with members. It is answered at once: what the others wait for in a classic group, the assignment in force
 * tells here. What the member says it owns, in its subscription, is its report: it confirms what it was to give up. */
#include "classic.h"

#include "../names.h"

static const struct join_group_request *request_of(const struct decision *d)
{
    return d->op->request;
}

static void answer(struct decision *d, const char *rule, int16_t error, struct str member_id, int32_t generation, struct str protocol)
{
    struct join_group_response *response = ARENA_NEW(d->arena, struct join_group_response, 1);
    wire_init(&wire_join_group_response, response);
    response->error_code = error;
    response->generation_id = generation;
    response->protocol_type = error == KAFKA_NONE ? STR("consumer") : STR_NULL;
    response->protocol_name = protocol;
    if (str_is_null(protocol) && d->op->api_version < 7) {
        response->protocol_name = STR("");
    }
    response->leader = STR("");
    response->member_id = member_id;
    out_answer(d, rule, error, response);
}

static void refuse(struct decision *d, const char *rule, int16_t error, struct str member_id)
{
    answer(d, rule, error, member_id, -1, STR_NULL);
}

static struct str fresh_member_id(const struct decision *d)
{
    char text[23];
    uuid_text(d->op->fresh_id, text);
    return arena_str(d->arena, str_of(text));
}

/* Version 0 has one timeout for both. */
static int32_t rebalance_timeout_ms(const struct decision *d)
{
    const struct join_group_request *r = request_of(d);
    return d->op->api_version < 1 ? r->session_timeout_ms : r->rebalance_timeout_ms;
}

/* ---- may it ------------------------------------------------------------------------------------------------------------------------------ */

/* How many of the classic members support the sender's protocols, each: one look at all they have, for they may have thousands. A member that names one twice
 * counts once. */
struct support {
    struct names wanted;     /* the sender's protocols, by their places */
    int32_t *count, *newest; /* of each; the newest slot that was counted, from 1 */
};

static void count_support(struct support *c, const struct modern *s)
{
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_member *m = s->slots[i].member;
        for (int32_t k = 0; m != NULL && k < m->protocol_count; k++) {
            int32_t at = names_find(&c->wanted, bytes_of_str(m->protocols[k].name));
            if (at >= 0 && c->newest[at] != i + 1) {
                c->newest[at] = i + 1;
                c->count[at]++;
            }
        }
    }
}

/* As in a classic group: all members, the sender itself as it is among them, support one of those it brings. */
static bool protocols_fit(const struct decision *d, const struct modern *s)
{
    const struct join_group_request *r = request_of(d);
    int32_t len = r->protocols.len;
    struct support c = {.count = ARENA_NEW(d->arena, int32_t, len), .newest = ARENA_NEW(d->arena, int32_t, len)};
    bool fit = false;
    names_init(&c.wanted, d->arena, len);
    for (int32_t i = 0; i < len; i++) {
        names_add(&c.wanted, bytes_of_str(r->protocols.v[i].name), i);
    }
    count_support(&c, s);
    for (int32_t i = 0; i < len && !fit; i++) {
        fit = c.count[i] == s->classic_count;
    }
    return fit && str_eq(r->protocol_type, STR("consumer"));
}

/* NULL: it may. */
static const char *check(const struct draft *t, const struct sender *who, int16_t *ret_error)
{
    const struct consumer_settings *s = &t->d->op->settings->consumer;
    *ret_error = KAFKA_INCONSISTENT_GROUP_PROTOCOL;
    if (!s->upgrade && !s->downgrade) {
        return RULE(CLASSIC_JOIN_DISABLED);
    }
    if (sender_check_room(t, who, s->max_size).error != KAFKA_NONE) {
        *ret_error = KAFKA_GROUP_MAX_SIZE_REACHED;
        return RULE(CLASSIC_JOIN_FULL);
    }
    return protocols_fit(t->d, t->was) ? NULL : RULE(CLASSIC_JOIN_PROTOCOL);
}

/* ---- whose place it takes ------------------------------------------------------------------------------------------------------------------ */

/* A static one that comes without an id takes the place of whoever has its instance, of whichever protocol. NULL: it may. */
static const char *look_up(const struct draft *t, const struct join_group_request *r, struct joining *ret, int16_t *ret_error)
{
    bool is_static = !str_is_null(r->group_instance_id), is_new = str_is_empty(r->member_id);
    ret->known = is_new ? NULL : modern_find(t->was, r->member_id);
    ret->back = is_static ? modern_by_instance(t->was, r->group_instance_id) : NULL;
    if (is_static && !is_new && ret->back == NULL) {
        *ret_error = KAFKA_UNKNOWN_MEMBER_ID;
        return RULE(CLASSIC_UNKNOWN_MEMBER);
    }
    if (is_static && !is_new && ret->back != ret->known) {
        *ret_error = KAFKA_FENCED_INSTANCE_ID;
        return RULE(CLASSIC_FENCED);
    }
    return NULL;
}

static const struct modern_slot *place_of(const struct joining *j)
{
    return j->known != NULL ? j->known : j->back;
}

/* ---- what it says of itself ------------------------------------------------------------------------------------------------------------------ */

static struct classic_protocol *protocols_of(const struct decision *d)
{
    const struct join_group_request *r = request_of(d);
    struct classic_protocol *v = ARENA_NEW(d->arena, struct classic_protocol, r->protocols.len);
    for (int32_t i = 0; i < r->protocols.len; i++) {
        v[i] = (struct classic_protocol){r->protocols.v[i].name, r->protocols.v[i].metadata};
    }
    return v;
}

static struct str text_or_empty(struct str s)
{
    return str_is_null(s) ? STR("") : s;
}

static void put(struct draft *t, const struct modern_member *from, const struct consumer_protocol_subscription *s)
{
    const struct join_group_request *r = request_of(t->d);
    struct modern_member *m = ARENA_NEW(t->d->arena, struct modern_member, 1);
    *m = from != NULL ? *from : consumer_nobody;
    m->raw = BYTES_NULL;
    m->client_id = text_or_empty(t->d->op->caller.client_id);
    m->client_host = text_or_empty(t->d->op->caller.host);
    m->instance_id = str_is_null(r->group_instance_id) ? m->instance_id : r->group_instance_id;
    m->rack_id = str_is_null(s->rack_id) ? m->rack_id : s->rack_id;
    m->rebalance_timeout_ms = rebalance_timeout_ms(t->d) == -1 ? m->rebalance_timeout_ms : rebalance_timeout_ms(t->d);
    m->topics = classic_topics(t->d, s);
    m->regex = STR_NULL;
    m->is_classic = true;
    m->classic_session_timeout_ms = r->session_timeout_ms;
    m->protocols = protocols_of(t->d);
    m->protocol_count = r->protocols.len;
    consumer_draft_put(t, m, from);
}

static const char *enter(struct draft *t, const struct joining *j, const struct consumer_protocol_subscription *s)
{
    const struct join_group_request *r = request_of(t->d);
    const struct modern_slot *place = place_of(j);
    if (j->known != NULL) {
        draft_hold(t, j->known);
    } else {
        draft_add(t, str_is_empty(r->member_id) ? fresh_member_id(t->d) : r->member_id, j->back);
    }
    put(t, place == NULL ? NULL : place->member, s);
    if (place == NULL) {
        return str_is_null(r->group_instance_id) ? RULE(CLASSIC_JOIN_NEW) : RULE(CLASSIC_JOIN_STATIC_NEW);
    }
    if (modern_position(place).state == MEMBER_UNREVOKED && !place->member->is_classic) {
        out_timer(t->d, GROUP_TIMER_REVOKE, place->member_id, 0, -1); /* classic members have a REJOIN timer instead */
    }
    classic_timers_end(t->d, place->member_id);
    if (!place->member->is_classic) {
        return RULE(CLASSIC_JOIN_TURNED);
    }
    if (j->known == NULL) {
        return RULE(CLASSIC_JOIN_STATIC_BACK);
    }
    return t->member_put ? RULE(CLASSIC_JOIN_CHANGED) : RULE(CLASSIC_JOIN_AGAIN);
}

/* ---- what follows ------------------------------------------------------------------------------------------------------------------------------- */

static void arm(struct draft *t)
{
    const struct join_group_request *r = request_of(t->d);
    int32_t patience = rebalance_timeout_ms(t->d);
    out_timer(t->d, GROUP_TIMER_SESSION, t->member_id, 0, r->session_timeout_ms);
    out_timer(t->d, GROUP_TIMER_SYNC, t->member_id, t->after.epoch, patience > 0 ? patience : 0);
}

/* last: nobody speaks the new protocol any more. */
static void finish(struct draft *t, const char *rule, const struct consumer_protocol_subscription *s, bool last)
{
    struct holding owned = {{classic_report(t, s)}};
    if (!last || !t->bumped) {
        consumer_draft_settle(t, &owned);
    }
    answer(t->d, last ? RULE(CLASSIC_JOIN_LAST) : rule, KAFKA_NONE, t->member_id, t->after.epoch, t->put->protocols[0].name);
    if (last) {
        classic_take_over(t);
        return;
    }
    arm(t);
    draft_close(t);
}

static void join(struct draft *t)
{
    struct decision *d = t->d;
    const struct join_group_request *r = request_of(d);
    struct joining joining = {0};
    struct consumer_protocol_subscription subscription;
    int16_t error;
    const char *rule = look_up(t, r, &joining, &error);
    if (rule == NULL && !embedded_subscription(r->protocols.v[0].metadata, d->arena, &subscription)) {
        error = KAFKA_INCONSISTENT_GROUP_PROTOCOL;
        rule = RULE(CLASSIC_JOIN_METADATA);
    }
    if (rule != NULL) {
        refuse(d, rule, error, STR(""));
        return;
    }
    const struct modern_slot *place = place_of(&joining);
    bool last = place != NULL && !str_is_null(r->group_instance_id) && classic_is_last(t, place);
    rule = enter(t, &joining, &subscription);
    if (sender_check_growth(t).error != KAFKA_NONE) {
        d->out->timer_count = 0;
        refuse(d, RULE(CLASSIC_JOIN_FULL), KAFKA_GROUP_MAX_SIZE_REACHED, STR(""));
        return;
    }
    finish(t, rule, &subscription, last);
}

void consumer_classic_join(struct decision *d, const struct group *g)
{
    const struct join_group_request *r = request_of(d);
    struct sender who = {.member_id = r->member_id, .instance_id = r->group_instance_id};
    struct draft t;
    int16_t error;
    consumer_draft_open(&t, d, g);
    const char *rule = check(&t, &who, &error);
    bool needs_id = str_is_empty(r->member_id) && str_is_null(r->group_instance_id) && d->op->api_version >= 4;
    if (rule != NULL) {
        refuse(d, rule, error, STR(""));
    } else if (needs_id) {
        refuse(d, RULE(CLASSIC_JOIN_ID_REQUIRED), KAFKA_MEMBER_ID_REQUIRED,
               fresh_member_id(d)); /* KIP-394; any id may join here, so none is kept */
    } else {
        join(&t);
    }
}
