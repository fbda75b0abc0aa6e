/* heartbeat.c: ConsumerGroupHeartbeat. Epoch 0 joins (join.c), a negative one leaves (leave.c), any other is a member's beat. */
#include "draft.h"

static const char *beat_rule(const struct draft *t)
{
    if (t->assigned != NULL) {
        return RULE(HEARTBEAT_ASSIGNED);
    }
    if (t->position_put) {
        return RULE(HEARTBEAT_MOVED);
    }
    return t->changed || t->member_put ? RULE(HEARTBEAT_CHANGED) : RULE(HEARTBEAT_SAME);
}

void consumer_draft_settle(struct draft *t, const struct holding *owned)
{
    if (t->bumped) {
        consumer_draft_refresh(t);
    }
    consumer_draft_wish(t);
    consumer_draft_assign(t);
    consumer_draft_reconcile(t, owned);
}

static void arm_refresh(struct draft *t)
{
    if (t->member_put && !str_is_null(t->put->regex)) {
        out_timer(t->d, GROUP_TIMER_REFRESH, STR(""), 0, t->d->op->settings->consumer.regex_refresh_interval_ms);
    }
}

static bool says_nothing(const consumer_heartbeat *r)
{
    bool subscribes = r->subscribed_topic_names.len >= 0 || !str_is_null(r->subscribed_topic_regex);
    bool describes = r->rebalance_timeout_ms != -1 || !str_is_null(r->server_assignor) || !str_is_null(r->rack_id);
    return !subscribes && !describes && r->topic_partitions.len < 0;
}

void consumer_finish(struct draft *t, const consumer_heartbeat *r, const struct holding *owned, const char *rule)
{
    consumer_draft_settle(t, owned);
    arm_refresh(t);
    draft_arm_session(t);
    consumer_answer(t, rule == NULL ? beat_rule(t) : rule, r, owned);
    draft_close(t);
    if (says_nothing(r)) {
        draft_hold_answer(t);
    }
}

static void beat(struct draft *t, const consumer_heartbeat *r)
{
    const struct modern_slot *slot = NULL;
    struct sender who = consumer_sender(r);
    struct refused refused = sender_check_size(t, &who, t->d->op->settings->consumer.max_size);
    refused = refused.error == KAFKA_NONE ? sender_find(t, &who, &slot) : refused;
    struct member_position position = slot == NULL ? (struct member_position){.state = MEMBER_STABLE} : modern_position(slot);
    const struct holding *owned = refused.error == KAFKA_NONE ? consumer_sender_owned(t, r, &position) : NULL;
    refused = refused.error == KAFKA_NONE ? sender_check_epoch(t, &who, slot, owned) : refused;
    refused = refused.error == KAFKA_NONE ? consumer_check_regex(t, r) : refused;
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(t->d, refused);
        return;
    }
    draft_hold(t, slot);
    consumer_sender_put(t, r, slot->member);
    refused = sender_check_growth(t);
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(t->d, refused);
        return;
    }
    consumer_finish(t, r, owned, NULL);
}

static struct refused unknown_group(const struct draft *t, const consumer_heartbeat *r)
{
    struct refused refused = {.error = KAFKA_GROUP_ID_NOT_FOUND, .rule = RULE(OTHER_TYPE)};
    if (t->g != NULL) {
        refused.text = arena_printf(t->d->arena, "Group %.*s is not a consumer group.", STR_ARG(r->group_id));
        return refused;
    }
    refused.rule = RULE(NO_GROUP);
    refused.text = arena_printf(t->d->arena, "%s %.*s not found.", r->member_epoch < 0 ? "Group" : "Consumer group", STR_ARG(r->group_id));
    return refused;
}

void consumer_decide_heartbeat(struct decision *d)
{
    const consumer_heartbeat *r = d->op->request;
    struct draft t;
    consumer_draft_open(&t, d, group_find(d->set, d->op->group_id));
    struct refused refused = consumer_check(&t, r);
    if (refused.error == KAFKA_NONE && r->member_epoch != 0 && t.is_new) {
        refused = unknown_group(&t, r);
    }
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(d, refused);
    } else if (r->member_epoch == 0) {
        consumer_join(&t, r);
    } else if (r->member_epoch < 0) {
        consumer_leave(&t, r);
    } else {
        beat(&t, r);
    }
}
