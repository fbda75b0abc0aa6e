/* sweep.c: what goes by itself: expired offsets (KIP-211), groups without anything left, offsets of deleted topics.
 *
 *   group                                     measured from                  which offsets
 *   no protocol type (simple)                 its commit                     all
 *   empty                                     the moment it became empty     all
 *   stable consumers, subscription readable   its commit                     those of topics nobody subscribes to
 *   consumer or streams, without members      the moment it became empty     all
 *   consumer or streams, its topics settled   its commit                     those of topics nobody reads
 *   anything else                             -                              none (KAFKA-13636: while it rebalances the subscription is unknown)
 *
 * An explicit expiry (commit versions 2 to 4) takes the place of both the moment and the retention time. All of it is on the shard clock. A group
 * without members whose last offset goes, or that has none, goes too, and with it the member ids that were handed out but not used; a streams group,
 * which may have been initialized for later, and a consumer group not before the retention time is over. */
#include "offsets.h"
#include "rules.h"

#include "../modern/modern.h"

enum expiry { EXPIRY_NONE, EXPIRY_SINCE_COMMIT, EXPIRY_SINCE_EMPTY };

static enum expiry modern_expiry(const struct group *g)
{
    if (group_modern(g)->member_count == 0) {
        return EXPIRY_SINCE_EMPTY;
    }
    bool known = group_type(g) == GROUP_STREAMS ? streams_subscription_known(g) : consumer_subscription_known(g);
    return known ? EXPIRY_SINCE_COMMIT : EXPIRY_NONE;
}

static enum expiry group_expiry(const struct group *g)
{
    if (group_modern(g) != NULL) {
        return modern_expiry(g);
    }
    if (str_is_empty(g->classic.protocol_type)) {
        return EXPIRY_SINCE_COMMIT;
    }
    if (g->classic.state == CLASSIC_EMPTY) {
        return EXPIRY_SINCE_EMPTY;
    }
    bool consumers = str_eq(g->classic.protocol_type, STR("consumer"));
    return consumers && g->classic.state == CLASSIC_STABLE ? EXPIRY_SINCE_COMMIT : EXPIRY_NONE;
}

static bool is_over(const struct decision *d, int64_t since)
{
    return d->op->clock_ms - since >= d->op->settings->offsets_retention_ms;
}

static int64_t empty_since(const struct group *g)
{
    const struct modern *s = group_modern(g);
    return s != NULL ? s->empty_since_ms : g->classic.state_clock_ms;
}

static bool is_expired(const struct decision *d, const struct group *g, const struct offset *o, enum expiry expiry)
{
    if (o->expire_clock_ms >= 0) {
        return d->op->clock_ms >= o->expire_clock_ms;
    }
    return is_over(d, expiry == EXPIRY_SINCE_EMPTY ? empty_since(g) : o->commit_clock_ms);
}

static bool may_go(const struct decision *d, const struct group *g)
{
    return offsets_group_may_go(g) == KAFKA_NONE && (group_modern(g) == NULL || is_over(d, empty_since(g)));
}

/* Drops what is expired. True when nothing stays. */
static bool drop_expired(struct decision *d, const struct group *g, enum expiry expiry)
{
    bool all = true;
    bool kept = false;
    const struct topic_name *last = NULL;
    for (struct offset_walk w = offsets_walk(g); offsets_next(&w);) {
        const struct offset *o = &w.at;
        if (o->topic != last) {
            kept = offsets_subscribed(d, g, o->topic->name);
            last = o->topic;
        }
        if (kept || !is_expired(d, g, o, expiry)) {
            all = false;
        } else if (!offsets_drop(d, o)) {
            return false;
        }
    }
    return all;
}

void offsets_decide_retention(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    d->out->verdict = GROUP_SILENT;
    if (g == NULL) {
        out_rule(d, offsets_rules[RULE_RETENTION_NO_GROUP]);
        return;
    }
    enum expiry expiry = group_expiry(g);
    if (expiry == EXPIRY_NONE && g->offset_count > 0) {
        out_rule(d, offsets_rules[RULE_RETENTION_SUBSCRIPTION_UNKNOWN]);
        return;
    }
    bool all = drop_expired(d, g, expiry);
    if (all && may_go(d, g)) {
        offsets_group_tombstones(d, g);
        out_rule(d, offsets_rules[RULE_RETENTION_GROUP_GONE]);
    } else {
        out_rule(d, offsets_rules[d->out->records.len > 0 ? RULE_RETENTION_EXPIRED : RULE_RETENTION_NOTHING]);
    }
}

/* ---- deleted topics ---------------------------------------------------------------------------------------------------------- */

/* An offset goes with the topic it was committed for, whether or not a new topic has taken the name. An id that the catalogue does not know and
 * does not remember as deleted is one this node has not heard of yet. Offsets without an id (taken over from elsewhere) go by name. */
static bool topic_is_gone(const struct decision *d, const struct offset *o)
{
    const struct topics *topics = d->op->topics;
    if (!uuid_is_zero(o->topic_id)) {
        return topics->was_deleted(topics->ctx, o->topic_id);
    }
    struct topic_view view;
    return !topics->by_name(topics->ctx, o->topic->name, &view);
}

void offsets_decide_topics_changed(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    d->out->verdict = GROUP_SILENT;
    if (g == NULL) {
        return;
    }
    for (struct offset_walk w = offsets_walk(g); offsets_next(&w);) {
        const struct offset *o = &w.at;
        if (topic_is_gone(d, o) && !offsets_drop(d, o)) {
            out_rule(d, offsets_rules[RULE_TOPICS_CHANGED_SLICE]);
            return;
        }
    }
    out_rule(d, offsets_rules[RULE_TOPICS_CHANGED_DROPPED]);
}
