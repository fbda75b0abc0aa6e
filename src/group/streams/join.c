/* join.c: a heartbeat with epoch 0: a new member, a member that begins again, a static member that is back. */
#include "draft.h"

static struct refused refuse(const char *rule, int16_t error, struct str text)
{
    return (struct refused){.error = error, .text = text, .rule = rule};
}

/* ---- admission -------------------------------------------------------------------------------------------------------------------------- */

bool streams_convertible(const struct group *g)
{
    return group_type(g) == GROUP_CLASSIC && g->classic.state == CLASSIC_EMPTY && g->classic.member_count == 0;
}

/* It begins again where it was when it left. */
static void come_back(struct draft *t, const heartbeat_request *r, const struct joining *j, int32_t topology_epoch)
{
    struct sender who = sender_of(r);
    sender_come_back(t, &who, j);
    sender_replace(t, r, j->back->member, topology_epoch);
}

static const char *join(struct draft *t, const heartbeat_request *r, const struct joining *j, int32_t topology_epoch)
{
    if (j->back != NULL) {
        come_back(t, r, j, topology_epoch);
        return RULE(JOIN_STATIC_BACK);
    }
    if (j->known != NULL) {
        draft_hold(t, j->known);
        sender_update(t, r, j->known->member, topology_epoch);
        return RULE(JOIN_AGAIN);
    }
    draft_add(t, r->member_id, NULL);
    sender_new(t, r, topology_epoch);
    if (t->is_new) {
        return t->g == NULL ? RULE(JOIN_NEW_GROUP) : RULE(JOIN_CONVERTED);
    }
    return str_is_null(r->instance_id) ? RULE(JOIN_NEW_MEMBER) : RULE(JOIN_STATIC_NEW);
}

void heartbeat_join(struct draft *t, const heartbeat_request *r)
{
    struct joining joining = {0};
    int32_t topology_epoch;
    struct sender who = sender_of(r);
    struct refused refused = adopt_check(t, r);
    if (refused.error == KAFKA_NONE && t->is_new && t->g != NULL && !streams_convertible(t->g)) {
        refused = refuse(RULE(OTHER_TYPE), KAFKA_GROUP_ID_NOT_FOUND,
                         arena_printf(t->d->arena, "Group %.*s is not a streams group.", STR_ARG(t->d->op->group_id)));
    }
    refused = refused.error == KAFKA_NONE ? sender_check_room(t, &who, t->d->op->settings->streams.max_size) : refused;
    refused = refused.error == KAFKA_NONE ? sender_look_up(t, &who, &joining) : refused;
    refused = refused.error == KAFKA_NONE ? adopt_topology(t, r, &topology_epoch) : refused;
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    const char *rule = join(t, r, &joining, topology_epoch);
    refused = sender_check_growth(t);
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    streams_draft_refresh(t);
    rule = streams_part(t)->topology_put && !t->is_new && t->was->topology != NULL ? RULE(JOIN_UPGRADE) : rule;
    heartbeat_finish(t, r, sender_owned(t, r, &t->before), rule);
}
