/* join.c: a heartbeat with epoch 0: a new member, a member that begins again, a static member that is back. */
#include "draft.h"

/* A member id of the server's making (version 0): in the form of Kafka's ids. */
static struct str fresh_member_id(const struct draft *t)
{
    char text[23];
    uuid_text(t->d->op->fresh_id, text);
    return arena_str(t->d->arena, str_of(text));
}

/* A group of another type becomes a consumer group: a classic one with its members, where the policy allows it, or while it is empty. */
static struct refused take_over(struct draft *t)
{
    if (!t->is_new || t->g == NULL) {
        return not_refused();
    }
    if (group_type(t->g) == GROUP_CLASSIC && t->g->classic.state == CLASSIC_EMPTY && t->g->classic.member_count == 0) {
        return not_refused();
    }
    if (group_type(t->g) == GROUP_CLASSIC) {
        return consumer_convert(t);
    }
    return (struct refused){.error = KAFKA_GROUP_ID_NOT_FOUND,
                            .text = arena_printf(t->d->arena, "Group %.*s is not a consumer group.", STR_ARG(t->d->op->group_id)),
                            .rule = RULE(OTHER_TYPE)};
}

static const char *join(struct draft *t, const consumer_heartbeat *r, const struct sender *who, const struct joining *j)
{
    if (j->back != NULL) {
        const struct modern_member *from = j->back->member;
        sender_come_back(t, who, j);
        consumer_sender_put(t, r, from);
        return RULE(JOIN_STATIC_BACK);
    }
    if (j->known != NULL) {
        draft_hold(t, j->known);
        consumer_sender_put(t, r, j->known->member);
        return RULE(JOIN_AGAIN);
    }
    draft_add(t, who->member_id, NULL);
    consumer_sender_put(t, r, NULL);
    if (t->is_new) {
        return t->g == NULL ? RULE(JOIN_NEW_GROUP) : RULE(JOIN_CONVERTED);
    }
    return str_is_null(r->instance_id) ? RULE(JOIN_NEW_MEMBER) : RULE(JOIN_STATIC_NEW);
}

void consumer_join(struct draft *t, const consumer_heartbeat *r)
{
    struct joining joining = {0};
    struct sender who = consumer_sender(r);
    who.member_id = str_is_empty(who.member_id) ? fresh_member_id(t) : who.member_id;
    struct refused refused = take_over(t);
    refused = refused.error == KAFKA_NONE ? sender_check_room(t, &who, t->d->op->settings->consumer.max_size) : refused;
    refused = refused.error == KAFKA_NONE ? sender_look_up(t, &who, &joining) : refused;
    refused = refused.error == KAFKA_NONE ? consumer_check_regex(t, r) : refused;
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(t->d, refused);
        return;
    }
    const char *rule = join(t, r, &who, &joining);
    rule = consumer_part(t)->converted ? RULE(JOIN_CONVERTED) : rule;
    refused = sender_check_growth(t);
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(t->d, refused);
        return;
    }
    consumer_finish(t, r, consumer_sender_owned(t, r, &t->before), rule);
}
