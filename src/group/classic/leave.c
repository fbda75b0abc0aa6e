/* leave.c: LeaveGroup: one member by its id (versions 0 to 2), or several by id, by instance or by both. Each gets its own error; those that can leave do.
 * And the removal of all at an administrator's word. */
#include "draft.h"

static const struct leave_group_request *request_of(const struct decision *d)
{
    return d->op->request;
}

static void refuse(struct decision *d, const char *rule, int16_t error)
{
    struct leave_group_response *answer = ARENA_NEW(d->arena, struct leave_group_response, 1);
    wire_init(&wire_leave_group_response, answer);
    answer->error_code = error;
    out_answer(d, rule, error, answer);
}

/* The members that a request names, in the form of version 3 and later. */
static struct leave_group_request_member_identity_array members_of(const struct decision *d)
{
    const struct leave_group_request *r = request_of(d);
    if (d->op->api_version >= 3) {
        return r->members;
    }
    struct leave_group_request_member_identity *one = ARENA_NEW(d->arena, struct leave_group_request_member_identity, 1);
    one->member_id = r->member_id;
    one->group_instance_id = STR_NULL;
    one->reason = STR_NULL;
    return (struct leave_group_request_member_identity_array){.v = one, .len = 1};
}

/* Whether the draft still has a pending id of that name: it may stand in the request twice. */
static bool still_pending(const struct draft *t, const struct leave_group_request_member_identity_array *all, int32_t at)
{
    bool pending;
    pending_place(t->c, all->v[at].member_id, &pending);
    for (int32_t i = 0; pending && i < at; i++) {
        pending = !str_eq(all->v[i].member_id, all->v[at].member_id);
    }
    return pending;
}

static void leave(struct draft *t, int32_t place, struct str reason)
{
    classic_draft_remove(t, place, history_leave_cause(t->d, t->c->members[place]->client_id, reason));
    history_reason(t->d, reason);
}

static int16_t leave_by_instance(struct draft *t, struct str instance_id, struct str reason)
{
    int32_t place = str_is_null(instance_id) ? -1 : members_by_instance(t->c, instance_id);
    if (place < 0 || !classic_draft_has(t, place)) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    leave(t, place, reason);
    return KAFKA_NONE;
}

static int16_t leave_by_id(struct draft *t, struct str member_id, struct str instance_id, struct str reason)
{
    const struct classic_member *m;
    int16_t error = classic_check_member(t->c, member_id, instance_id, &m);
    bool found;
    int32_t place = members_place(t->c, member_id, &found);
    if (error == KAFKA_FENCED_INSTANCE_ID && !classic_draft_has(t, members_by_instance(t->c, instance_id))) {
        error = KAFKA_UNKNOWN_MEMBER_ID; /* the holder has left with this request */
    }
    if (error == KAFKA_NONE && !classic_draft_has(t, place)) {
        error = KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (error == KAFKA_NONE) {
        leave(t, place, reason);
    }
    return error;
}

static int16_t leave_one(struct draft *t, const struct leave_group_request_member_identity_array *all, int32_t at)
{
    const struct leave_group_request_member_identity *who = &all->v[at];
    if (str_is_empty(who->member_id)) {
        return leave_by_instance(t, who->group_instance_id, who->reason);
    }
    if (still_pending(t, all, at)) {
        classic_note(t, GROUP_CAUSE_LEFT,
                     &(struct classic_member){.member_id = who->member_id,
                                              .instance_id = STR_NULL,
                                              .client_id = t->d->op->caller.client_id,
                                              .client_host = t->d->op->caller.host},
                     -1);
        history_reason(t->d, who->reason);
        classic_draft_remove_pending(t, who->member_id);
        return KAFKA_NONE;
    }
    return leave_by_id(t, who->member_id, who->group_instance_id, who->reason);
}

/* Everyone by itself; returns how many left. */
static int32_t leave_all(struct draft *t, const struct leave_group_request_member_identity_array *all, struct leave_group_response *answer)
{
    int32_t left = 0;
    answer->members.len = all->len;
    answer->members.v = ARENA_NEW(t->d->arena, struct leave_group_response_member_response, all->len);
    for (int32_t i = 0; i < all->len; i++) {
        struct leave_group_response_member_response *one = &answer->members.v[i];
        one->member_id = all->v[i].member_id;
        one->group_instance_id = all->v[i].group_instance_id;
        one->error_code = leave_one(t, all, i);
        left += one->error_code == KAFKA_NONE ? 1 : 0;
    }
    return left;
}

static void note_reason(struct decision *d, const struct leave_group_request_member_identity_array *all)
{
    for (int32_t i = 0; i < all->len && str_is_empty(d->out->reason); i++) {
        d->out->reason = all->v[i].reason;
    }
}

void classic_decide_leave(struct decision *d)
{
    if (str_is_empty(d->op->group_id)) {
        refuse(d, RULE(LEAVE_NO_GROUP_ID), KAFKA_INVALID_GROUP_ID);
        return;
    }
    const struct group *g = group_find(d->set, d->op->group_id);
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        consumer_classic_leave(d, g);
        return;
    }
    struct leave_group_request_member_identity_array all = members_of(d);
    note_reason(d, &all);
    struct leave_group_response *answer = ARENA_NEW(d->arena, struct leave_group_response, 1);
    wire_init(&wire_leave_group_response, answer);
    struct draft t;
    classic_draft_open(&t, d, g);
    int32_t left = leave_all(&t, &all, answer);
    if (left > 0 && t.state != CLASSIC_EMPTY) {
        classic_draft_rebalance(&t);
    }
    classic_draft_close(&t);
    if (d->op->api_version < 3 && all.len == 1) {
        answer->error_code = answer->members.v[0].error_code;
        answer->members.len = 0;
    }
    const char *rule = left > 0 ? RULE(LEAVE_MEMBERS) : g == NULL ? RULE(LEAVE_NO_GROUP) : RULE(LEAVE_NOBODY);
    out_answer(d, rule, answer->error_code, answer);
}

/* Nobody is asked to rejoin: a member that kept its place would keep its positions, too, and commit them again. With its id gone it loses its partitions, comes
 * back as a new one and begins at what is committed then. */
int32_t classic_fence(struct decision *d, const struct group *g)
{
    struct draft t;
    classic_draft_open(&t, d, g);
    for (int32_t i = 0; i < t.c->pending_count; i++) {
        classic_draft_remove_pending(&t, t.c->pending[i].member_id);
    }
    for (int32_t i = 0; i < t.c->member_count; i++) {
        classic_draft_remove(&t, i, GROUP_CAUSE_ADMIN);
    }
    if (t.state == CLASSIC_PREPARING) {
        classic_draft_complete(&t);
    } else if (t.state != CLASSIC_EMPTY) {
        classic_draft_prepare(&t);
    }
    MUSTER_CHECK(t.state == CLASSIC_EMPTY);
    classic_draft_close(&t);
    return t.c->member_count;
}
