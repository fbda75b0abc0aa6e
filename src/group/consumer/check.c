/* check.c: whether a heartbeat is one at all, before anybody looks at the group. Texts and precedence are Kafka's. */
#include "draft.h"

#include <muster/regex.h>

#include "../catalog/configs.h"
#include "../names.h"

static struct refused invalid(struct str text)
{
    return (struct refused){.error = KAFKA_INVALID_REQUEST, .text = text, .rule = RULE(INVALID)};
}

struct rule {
    bool broken;
    const char *text;
};

static struct refused first_broken(const struct rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].broken) {
            return invalid(str_of(rules[i].text));
        }
    }
    return not_refused();
}

static struct refused check_ids(const struct decision *d, const consumer_heartbeat *r)
{
    /* Before version 1 the first id is the server's. */
    bool nameless =
        d->op->api_version >= 1 ? str_is_blank(r->member_id) : str_is_empty(r->member_id) && r->member_epoch != 0 && r->member_epoch != -2;
    const struct rule rules[] = {
        {nameless, "MemberId can't be empty."},
        {str_is_blank(r->group_id), "GroupId can't be empty."},
        {str_is_blank(r->instance_id), "InstanceId can't be empty."},
        {str_is_blank(r->rack_id), "RackId can't be empty."},
    };
    return first_broken(rules, COUNT_OF(rules));
}

static struct refused check_join(const consumer_heartbeat *r)
{
    bool names = r->subscribed_topic_names.len >= 0, regex = !str_is_null(r->subscribed_topic_regex);
    const struct rule rules[] = {
        {r->rebalance_timeout_ms == -1, "RebalanceTimeoutMs must be provided in first request."},
        {r->topic_partitions.len != 0, "TopicPartitions must be empty when (re-)joining."},
        {!names && !regex, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."},
    };
    return first_broken(rules, COUNT_OF(rules));
}

static struct refused check_others(const consumer_heartbeat *r)
{
    if (r->member_epoch < -2) {
        return invalid(STR("MemberEpoch is invalid."));
    }
    return not_refused();
}

static struct refused check_bounds(const struct decision *d, const consumer_heartbeat *r)
{
    int32_t most = d->op->settings->consumer.max_subscribed_topics;
    if (most > 0 && r->subscribed_topic_names.len > most) {
        return invalid(arena_printf(d->arena, "SubscribedTopicNames has more than %d entries.", (int)most));
    }
    return not_refused();
}

static struct refused check_assignor(const struct decision *d, const consumer_heartbeat *r)
{
    enum consumer_assignor assignor;
    if (str_is_null(r->server_assignor) || consumer_offers(d->op->settings, r->server_assignor, &assignor)) {
        return not_refused();
    }
    struct str_array names = config_list(d->op->settings->consumer.assignors, d->arena);
    struct str all = names.len > 0 ? names.v[0] : STR("");
    for (int32_t i = 1; i < names.len; i++) {
        all = arena_printf(d->arena, "%.*s, %.*s", STR_ARG(all), STR_ARG(names.v[i]));
    }
    return (struct refused){.error = KAFKA_UNSUPPORTED_ASSIGNOR,
                            .text = arena_printf(d->arena, "ServerAssignor %.*s is not supported. Supported assignors: %.*s.",
                                                 STR_ARG(r->server_assignor), STR_ARG(all)),
                            .rule = RULE(ASSIGNOR)};
}

/* Kafka wants the instance id from whoever goes away as a static member; franz-go does not send it, and would keep its slot busy until its session is over.
 * Here the member's own instance counts. */
static struct refused check_away(const struct draft *t, const consumer_heartbeat *r)
{
    const struct modern_slot *slot = modern_find(t->was, r->member_id);
    bool names = r->member_epoch != -2 || !str_is_null(r->instance_id);
    return names || (slot != NULL && !str_is_null(slot->member->instance_id)) ? not_refused() : invalid(STR("InstanceId can't be null."));
}

struct refused consumer_check(const struct draft *t, const consumer_heartbeat *r)
{
    const struct decision *d = t->d;
    struct refused refused = check_ids(d, r);
    if (refused.error == KAFKA_NONE) {
        refused = r->member_epoch == 0 ? check_join(r) : check_others(r);
        refused = refused.error == KAFKA_NONE ? check_away(t, r) : refused;
    }
    refused = refused.error == KAFKA_NONE ? check_bounds(d, r) : refused;
    return refused.error == KAFKA_NONE ? check_assignor(d, r) : refused;
}

/* Each is matched against every topic, so a group may have so many different ones. Only a new one is counted. */
static bool is_one_too_many(const struct draft *t, struct str regex)
{
    int32_t most = t->d->op->settings->consumer.max_regexes, count = 0;
    struct names seen;
    names_init(&seen, t->d->arena, most > 0 ? t->was->member_count : 0);
    for (int32_t i = 0; most > 0 && i < t->was->slot_count; i++) {
        const struct modern_member *m = t->was->slots[i].member;
        if (m == NULL || str_is_null(m->regex)) {
            continue;
        }
        if (str_eq(m->regex, regex)) {
            return false;
        }
        count += names_add(&seen, bytes_of_str(m->regex), i) < 0 ? 1 : 0;
    }
    return most > 0 && count >= most;
}

struct refused consumer_check_regex(const struct draft *t, const consumer_heartbeat *r)
{
    if (!str_is_empty(r->subscribed_topic_regex) && !str_is_null(r->subscribed_topic_regex) &&
        is_one_too_many(t, r->subscribed_topic_regex)) {
        return invalid(arena_printf(t->d->arena, "The group has as many different regular expressions as it may have (%d).",
                                    (int)t->d->op->settings->consumer.max_regexes));
    }
    char why[REGEX_WHY_BYTES];
    if (str_is_null(r->subscribed_topic_regex) || str_is_empty(r->subscribed_topic_regex) ||
        regex_check(r->subscribed_topic_regex, why) >= 0) {
        return not_refused();
    }
    return (struct refused){.error = KAFKA_INVALID_REGULAR_EXPRESSION,
                            .text = arena_printf(t->d->arena, "SubscribedTopicRegex `%.*s` is not a valid regular expression: %s.",
                                                 STR_ARG(r->subscribed_topic_regex), why),
                            .rule = RULE(REGEX)};
}
