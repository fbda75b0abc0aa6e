/* classic.c: what the requests of classic members have in common: their bytes, who they are, their timers. */
#include "classic.h"

#include "../names.h"

/* ---- partitions by name --------------------------------------------------------------------------------------------------------- */

/* Partitions that this node has not heard of yet count, too: a topic may have grown, and who has them goes on working on them. The next assignment takes away
 * what is not there. */
static void add_topic(const struct decision *d, struct unit_list *list, struct str topic, const struct int32_array *partitions,
                      int32_t epoch)
{
    const struct topics *topics = d->op->topics;
    struct topic_view view;
    if (!topics->by_name(topics->ctx, topic, &view)) {
        return;
    }
    struct uuid *id = ARENA_NEW(d->arena, struct uuid, 1);
    *id = view.id;
    int32_t most = d->op->settings->max_partitions_per_topic;
    most = most > view.partitions ? most : view.partitions;
    for (int32_t i = 0; i < partitions->len; i++) {
        if (partitions->v[i] >= 0 && partitions->v[i] < most) {
            unit_list_add(list, unit_of_topic(id), partitions->v[i], epoch);
        }
    }
}

struct units classic_units(const struct decision *d, const struct consumer_protocol_assignment *a, int32_t epoch)
{
    struct unit_list list;
    unit_list_init(&list, d->arena);
    for (int32_t i = 0; i < a->assigned_partitions.len; i++) {
        add_topic(d, &list, a->assigned_partitions.v[i].topic, &a->assigned_partitions.v[i].partitions, epoch);
    }
    return unit_list_finish(&list);
}

struct units classic_owned(const struct decision *d, const struct consumer_protocol_subscription *s)
{
    struct unit_list list;
    unit_list_init(&list, d->arena);
    for (int32_t i = 0; i < s->owned_partitions.len; i++) {
        add_topic(d, &list, s->owned_partitions.v[i].topic, &s->owned_partitions.v[i].partitions, 0);
    }
    return unit_list_finish(&list);
}

struct units classic_report(const struct draft *t, const struct consumer_protocol_subscription *s)
{
    const struct topics *topics = t->d->op->topics;
    struct unit_report report;
    modern_report_init(&report, &t->before, UNITS_ACTIVE, t->d->arena);
    for (int32_t i = 0; i < s->owned_partitions.len && report.known.len > 0; i++) {
        struct topic_view view;
        if (topics->by_name(topics->ctx, s->owned_partitions.v[i].topic, &view)) {
            const struct int32_array *partitions = &s->owned_partitions.v[i].partitions;
            unit_report_add(&report, unit_of_topic(&view.id), partitions->v, partitions->len);
        }
    }
    return unit_report_finish(&report);
}

struct bytes classic_assignment_of(const struct decision *d, struct units units, struct bytes subscription)
{
    const struct topics *topics = d->op->topics;
    struct consumer_protocol_assignment a;
    wire_init(&wire_consumer_protocol_assignment, &a);
    a.assigned_partitions.v = ARENA_NEW(d->arena, struct consumer_protocol_assignment_topic_partition, units_runs(units));
    for (int32_t i = 0, len; i < units.len; i += len) {
        struct topic_view view;
        len = units_run_length(units, i);
        if (topics->by_id(topics->ctx, topic_of_unit(units.v[i].name), &view)) {
            a.assigned_partitions.v[a.assigned_partitions.len++] =
                (struct consumer_protocol_assignment_topic_partition){.topic = view.name,
                                                                      .partitions = units_run_partitions(units, i, len, d->arena)};
        }
    }
    return embedded_assignment_write(&a, embedded_version(subscription), d->arena);
}

struct str_array classic_topics(const struct decision *d, const struct consumer_protocol_subscription *s)
{
    const int32_t *order = names_sort(s->topics.v, s->topics.len, d->arena);
    struct str_array ret = {ARENA_NEW(d->arena, struct str, s->topics.len), 0};
    for (int32_t i = 0; i < s->topics.len; i++) {
        if (i == 0 || !str_eq(s->topics.v[order[i]], s->topics.v[order[i - 1]])) {
            ret.v[ret.len++] = s->topics.v[order[i]];
        }
    }
    return ret;
}

/* ---- who ---------------------------------------------------------------------------------------------------------------------------- */

int16_t classic_find(const struct modern *s, struct str member_id, struct str instance_id, const struct modern_slot **ret)
{
    *ret = str_is_null(instance_id) ? modern_find(s, member_id) : modern_by_instance(s, instance_id);
    if (*ret == NULL) {
        return KAFKA_UNKNOWN_MEMBER_ID;
    }
    if (!str_eq((*ret)->member_id, member_id)) {
        return KAFKA_FENCED_INSTANCE_ID;
    }
    return (*ret)->member->is_classic ? KAFKA_NONE : KAFKA_UNKNOWN_MEMBER_ID;
}

/* ---- timers --------------------------------------------------------------------------------------------------------------------------
 * A session of its own, REJOIN since it was told to rejoin, SYNC since it joined. A new coordinator arms sessions alone: who has to rejoin is told so again, and
 * who has synced is not recorded. */

void classic_timers_end(struct decision *d, struct str member_id)
{
    out_timer(d, GROUP_TIMER_REJOIN, member_id, 0, -1);
    out_timer(d, GROUP_TIMER_SYNC, member_id, 0, -1);
}

void classic_told_to_rejoin(struct decision *d, const struct modern_slot *slot)
{
    int32_t patience = slot->member->rebalance_timeout_ms;
    struct group_timer_wish wish = {.delay_ms = patience > 0 ? patience : 0, .keep = true};
    wish.timer.kind = GROUP_TIMER_REJOIN;
    wish.timer.member_id = slot->member_id;
    wish.timer.epoch = modern_position(slot).epoch;
    out_timer_full(d, &wish);
}

const char *consumer_classic_timer(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    const struct modern_slot *slot = modern_find(t->was, timer->member_id);
    if (slot == NULL || !slot->member->is_classic || modern_position(slot).epoch != timer->epoch) {
        return RULE(CLASSIC_TIMER_MOOT);
    }
    draft_remove(t, slot, timer->kind == GROUP_TIMER_SYNC ? GROUP_CAUSE_SYNC_TIMEOUT : GROUP_CAUSE_REBALANCE_TIMEOUT);
    return timer->kind == GROUP_TIMER_SYNC ? RULE(CLASSIC_SYNC_TIMEOUT) : RULE(CLASSIC_REJOIN_TIMEOUT);
}

void consumer_classic_removed(struct draft *t, const struct modern_slot *slot)
{
    if (slot->member->is_classic) {
        classic_timers_end(t->d, slot->member_id);
    }
}

/* What it was to give up it may still have: it has as long as any other member then. */
void consumer_classic_turned(struct draft *t, const struct modern_slot *slot)
{
    classic_timers_end(t->d, slot->member_id);
    if (t->slot == slot && t->before.state == MEMBER_UNREVOKED && !t->position_put) {
        int32_t patience = t->put->rebalance_timeout_ms;
        out_timer(t->d, GROUP_TIMER_REVOKE, slot->member_id, t->before.epoch, patience > 0 ? patience : 0);
    }
}

/* ---- commits ---------------------------------------------------------------------------------------------------------------------------- */

int16_t consumer_classic_may_commit(struct decision *d, const struct group *g, const struct modern_slot *slot,
                                    const struct offset_commit_request *request)
{
    (void)g;
    if (request->generation_id_or_member_epoch != modern_position(slot).epoch) {
        out_rule(d, RULE(CLASSIC_COMMIT_GENERATION));
        return KAFKA_ILLEGAL_GENERATION;
    }
    return KAFKA_NONE;
}
