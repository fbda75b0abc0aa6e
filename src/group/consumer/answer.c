/* answer.c: what a member is told. */
#include "draft.h"

typedef struct consumer_group_heartbeat_response response;

static response *answer_new(const struct decision *d)
{
    response *answer = ARENA_NEW(d->arena, response, 1);
    wire_init(&wire_consumer_group_heartbeat_response, answer);
    return answer;
}

void consumer_refuse(struct decision *d, struct refused refused)
{
    response *answer = answer_new(d);
    answer->error_code = refused.error;
    answer->error_message = refused.text;
    d->out->timer_count = 0; /* what was begun does not happen */
    d->out->records.len = d->out->records.bytes = 0;
    out_answer(d, refused.rule, refused.error, answer);
}

void consumer_left(struct decision *d, const char *rule, const consumer_heartbeat *r)
{
    response *answer = answer_new(d);
    answer->member_id = r->member_id;
    answer->member_epoch = r->member_epoch;
    out_answer(d, rule, KAFKA_NONE, answer);
}

static void tell_partitions(const struct draft *t, response *answer)
{
    struct arena *arena = t->d->arena;
    struct units units = t->after.assigned.kind[UNITS_ACTIVE];
    struct consumer_group_heartbeat_response_assignment *a = ARENA_NEW(arena, struct consumer_group_heartbeat_response_assignment, 1);
    a->topic_partitions.v = ARENA_NEW(arena, struct consumer_group_heartbeat_response_topic_partitions, units.len);
    int32_t *partitions = ARENA_NEW(arena, int32_t, units.len);
    for (int32_t i = 0; i < units.len; i++) {
        partitions[i] = units.v[i].partition;
        if (i == 0 || !str_eq(units.v[i - 1].name, units.v[i].name)) {
            a->topic_partitions.v[a->topic_partitions.len++] =
                (struct consumer_group_heartbeat_response_topic_partitions){.topic_id = topic_of_unit(units.v[i].name),
                                                                            .partitions = {&partitions[i], 0}};
        }
        a->topic_partitions.v[a->topic_partitions.len - 1].partitions.len++;
    }
    answer->assignment = a;
}

/* B17: what a member has to say when it begins, or after an error; it is answered in full, so that a lost answer heals. */
static bool is_full(const consumer_heartbeat *r)
{
    bool subscribes = r->subscribed_topic_names.len >= 0 || !str_is_null(r->subscribed_topic_regex);
#ifdef MUSTER_FAULT_FULL_NOT_ANSWERED
    subscribes = false;
#endif
    return r->rebalance_timeout_ms != -1 && subscribes && r->topic_partitions.len >= 0;
}

void consumer_answer(struct draft *t, const char *rule, const consumer_heartbeat *r, const struct holding *owned)
{
    response *answer = answer_new(t->d);
    answer->member_id = t->member_id;
    answer->member_epoch = t->after.epoch;
    answer->heartbeat_interval_ms = draft_heartbeat_interval(t);
    if (r->member_epoch == 0 || is_full(r) || draft_tells_units(t, owned)) {
        tell_partitions(t, answer);
    }
    t->tells = answer->assignment != NULL;
    t->d->out->told_ms = answer->heartbeat_interval_ms;
    out_answer(t->d, rule, KAFKA_NONE, answer);
}
