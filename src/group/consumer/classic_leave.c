/* classic_leave.c: LeaveGroup to a consumer group: one member by its id (versions 0 to 2), or several by id, by instance or by both; of either protocol, for
 * consumers of the new one send it, too, and so do administrators. Each gets its own error; the epoch moves once. */
#include "classic.h"

typedef struct leave_group_request_member_identity identity;
typedef struct leave_group_request_member_identity_array identities;

/* The members that a request names, in the form of version 3 and later. */
static identities named(const struct decision *d)
{
    const struct leave_group_request *r = d->op->request;
    if (d->op->api_version >= 3) {
        return r->members;
    }
    identity *one = ARENA_NEW(d->arena, identity, 1);
    *one = (identity){.member_id = r->member_id, .group_instance_id = STR_NULL, .reason = STR_NULL};
    return (identities){.v = one, .len = 1};
}

static int16_t leave_one(struct draft *t, const identity *who)
{
    bool is_static = !str_is_null(who->group_instance_id);
    const struct modern_slot *slot = is_static ? modern_by_instance(t->was, who->group_instance_id) : modern_find(t->was, who->member_id);
    if (slot == NULL) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (is_static && !str_is_empty(who->member_id) && !str_eq(slot->member_id, who->member_id)) {
        return KAFKA_FENCED_INSTANCE_ID;
    }
    if (draft_has(t, slot)) {
        draft_remove(t, slot, history_leave_cause(t->d, slot->member->client_id, who->reason));
        history_reason(t->d, who->reason);
    }
    return KAFKA_NONE; /* twice in one request, too */
}

static void leave_all(struct draft *t, const identities *all, struct leave_group_response *answer)
{
    answer->members.len = all->len;
    answer->members.v = ARENA_NEW(t->d->arena, struct leave_group_response_member_response, all->len);
    for (int32_t i = 0; i < all->len; i++) {
        const identity *who = &all->v[i];
        answer->members.v[i] = (struct leave_group_response_member_response){.member_id = who->member_id,
                                                                             .group_instance_id = who->group_instance_id,
                                                                             .error_code = leave_one(t, who)};
        t->d->out->reason = str_is_empty(t->d->out->reason) ? who->reason : t->d->out->reason;
    }
}

static const char *close(struct draft *t)
{
    if (t->gone == NULL) {
        return RULE(CLASSIC_LEAVE_NOBODY);
    }
    consumer_draft_refresh(t);
    if (consumer_downgrade(t)) {
        return RULE(CLASSIC_LEAVE_DOWNGRADE);
    }
    draft_close(t);
    return t->next.member_count == 0 ? RULE(CLASSIC_LEAVE_LAST) : RULE(CLASSIC_LEAVE);
}

void consumer_classic_leave(struct decision *d, const struct group *g)
{
    identities all = named(d);
    struct leave_group_response *answer = ARENA_NEW(d->arena, struct leave_group_response, 1);
    wire_init(&wire_leave_group_response, answer);
    struct draft t;
    consumer_draft_open(&t, d, g);
    leave_all(&t, &all, answer);
    const char *rule = close(&t);
    if (d->op->api_version < 3) {
        answer->error_code = answer->members.v[0].error_code;
        answer->members.len = 0;
    }
    out_answer(d, rule, answer->error_code, answer);
}
