/* join.c: a heartbeat with epoch 0: a new member, a member that begins again, a static member that is back. */
#include "draft.h"

static struct refused refuse(const char *rule, int16_t error, struct str text)
{
    return (struct refused){.error = error, .text = text, .rule = rule};
}

/* ---- admission -------------------------------------------------------------------------------------------------------------------------- */

/* An empty classic group becomes a streams group and keeps its offsets. */
static bool is_convertible(const struct group *g)
{
    return g->classic.state == CLASSIC_EMPTY && g->classic.member_count == 0;
}

static struct refused check_room(const struct draft *t, const heartbeat_request *r)
{
    const struct group_settings *s = t->d->op->settings;
    bool known = streams_member(t->was, r->member_id) != NULL ||
                 (!str_is_null(r->instance_id) && streams_by_instance(t->was, r->instance_id) != NULL);
    if (known) {
        return not_refused();
    }
    if (s->streams.max_size > 0 && t->was->member_count >= s->streams.max_size) {
        return refuse(RULE(JOIN_GROUP_FULL), KAFKA_GROUP_MAX_SIZE_REACHED,
                      arena_printf(t->d->arena, "The streams group has reached its maximum capacity of %d members.",
                                   (int)s->streams.max_size));
    }
    enum { MEMBER_BYTES = 1024 };
    if (!budget_allows(t->d, t->g == NULL ? 1 : 0, 1, MEMBER_BYTES)) {
        return refuse(RULE(NO_ROOM), KAFKA_COORDINATOR_NOT_AVAILABLE, STR_NULL);
    }
    return not_refused();
}

/* ---- whose place it takes ------------------------------------------------------------------------------------------------------------- */

struct joining {
    const struct modern_slot *known; /* the member of that id */
    const struct modern_slot *back;  /* the static member that is back, perhaps under another id */
};

static bool is_away(const struct modern_slot *slot)
{
    return streams_position(slot).epoch == -2;
}

static struct refused look_up(const struct draft *t, const heartbeat_request *r, struct joining *ret)
{
    ret->known = streams_member(t->was, r->member_id);
    ret->back = str_is_null(r->instance_id) ? NULL : streams_by_instance(t->was, r->instance_id);
    if (ret->back != NULL && !is_away(ret->back)) {
        return refuse(
            RULE(JOIN_UNRELEASED), KAFKA_UNRELEASED_INSTANCE_ID,
            arena_printf(t->d->arena,
                         "Static member %.*s with instance id %.*s cannot join the group because the instance id is owned by %.*s "
                         "member.",
                         STR_ARG(r->member_id), STR_ARG(r->instance_id), STR_ARG(ret->back->member_id)));
    }
    return not_refused();
}

/* It begins again where it was when it left. */
static void come_back(struct draft *t, const heartbeat_request *r, const struct joining *j, int32_t topology_epoch)
{
    if (j->back == j->known) {
        streams_draft_hold(t, j->back);
        t->before.epoch = t->before.previous_epoch = 0;
        t->after = t->before;
    } else {
        streams_draft_add(t, r->member_id, j->back);
    }
    sender_replace(t, r, j->back->member, topology_epoch);
}

static const char *join(struct draft *t, const heartbeat_request *r, const struct joining *j, int32_t topology_epoch)
{
    if (j->back != NULL) {
        come_back(t, r, j, topology_epoch);
        return RULE(JOIN_STATIC_BACK);
    }
    if (j->known != NULL) {
        streams_draft_hold(t, j->known);
        sender_update(t, r, j->known->member, topology_epoch);
        return RULE(JOIN_AGAIN);
    }
    streams_draft_add(t, r->member_id, NULL);
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
    struct refused refused = adopt_check(t, r);
    if (refused.error == KAFKA_NONE && t->is_new && t->g != NULL && !is_convertible(t->g)) {
        refused = refuse(RULE(OTHER_TYPE), KAFKA_GROUP_ID_NOT_FOUND,
                         arena_printf(t->d->arena, "Group %.*s is not a streams group.", STR_ARG(t->d->op->group_id)));
    }
    refused = refused.error == KAFKA_NONE ? check_room(t, r) : refused;
    refused = refused.error == KAFKA_NONE ? look_up(t, r, &joining) : refused;
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
    rule = t->topology_put && !t->is_new && t->was->topology != NULL ? RULE(JOIN_UPGRADE) : rule;
    heartbeat_finish(t, r, sender_owned(t, r), rule);
}
