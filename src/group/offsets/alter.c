/* alter.c: AlterGroupOffsets: an administrator sets, moves and deletes offsets of a group, in one decision.
 *
 * All of it or nothing: where one partition is refused none is changed and nobody is fenced. Members and a new offset do not go together: one that runs commits
 * its own position a moment later. So a group with members is refused, or, with Fence, its members are removed by the same entry that has the offsets. There is
 * no moment in between: what a member still commits is decided before, and is then what Before says, or after, and is then refused as that of an unknown member. */
#include "offsets.h"
#include "rules.h"

enum action { ACTION_SET, ACTION_MOVE, ACTION_DELETE };
enum create { CREATE_NO, CREATE_MAY, CREATE_MUST };

typedef struct alter_group_offsets_request_partition partition_request;
typedef struct alter_group_offsets_response_partition partition_answer;

struct alteration {
    struct decision *d;
    const struct alter_group_offsets_request *request;
    const struct group *g; /* NULL: unknown */
    struct alter_group_offsets_response *response;
    struct asked asked;
    int64_t growth;
};

static int32_t members_of(const struct group *g)
{
    switch (group_type(g)) {
    case GROUP_CONSUMER:
        return g->consumer->member_count;
    case GROUP_STREAMS:
        return g->streams->member_count;
    default:
        return g->classic.member_count;
    }
}

static void refuse(struct alteration *a, enum offsets_rule rule, int16_t error, struct str text)
{
    a->response->error_code = error;
    a->response->error_message = text;
    out_answer(a->d, offsets_rules[rule], error, a->response);
}

/* ---- whether it may be -------------------------------------------------------------------------------------------------------- */

static bool may_alter(struct alteration *a)
{
    struct arena *arena = a->d->arena;
    struct str id = a->d->op->group_id;
    if (str_is_empty(id)) {
        refuse(a, RULE_ALTER_NO_GROUP_ID, KAFKA_INVALID_GROUP_ID, STR_NULL);
        return false;
    }
    if (a->g == NULL && a->request->create == CREATE_NO) {
        refuse(a, RULE_ALTER_NO_GROUP, KAFKA_GROUP_ID_NOT_FOUND, arena_printf(arena, "Group %.*s not found.", STR_ARG(id)));
        return false;
    }
    if (a->g != NULL && a->request->create == CREATE_MUST) {
        refuse(a, RULE_ALTER_EXISTS, KAFKA_INVALID_REQUEST, arena_printf(arena, "Group %.*s exists.", STR_ARG(id)));
        return false;
    }
    if (a->g != NULL && !a->request->force && offsets_protected(a->d, a->g)) {
        refuse(a, RULE_ALTER_PROTECTED, KAFKA_POLICY_VIOLATION, offsets_protected_text(a->d));
        return false;
    }
    /* A classic group that rebalances or waits for members with an id is not empty, even with nobody in it. */
    if (a->g != NULL && !a->request->fence && offsets_group_may_go(a->g) != KAFKA_NONE) {
        refuse(a, RULE_ALTER_MEMBERS, KAFKA_NON_EMPTY_GROUP,
               arena_printf(arena, "Group %.*s has %d member%s; stop them, or have them fenced.", STR_ARG(id), (int)members_of(a->g),
                            members_of(a->g) == 1 ? "" : "s"));
        return false;
    }
    return true;
}

/* ---- each partition ------------------------------------------------------------------------------------------------------------ */

/* before + by, within least and most; saturating. */
static int64_t moved(int64_t before, const partition_request *p)
{
    int64_t to;
    if (__builtin_add_overflow(before, p->offset, &to)) {
        to = p->offset > 0 ? INT64_MAX : 0;
    }
    to = to > p->most ? p->most : to;
    to = to < p->least ? p->least : to;
    return to < 0 ? 0 : to;
}

static int16_t judge_one(struct alteration *a, const struct asked_topic *t, int32_t i, const partition_request *p, partition_answer *answer)
{
    struct offset o;
    bool found = offsets_find(a->g, t->name, p->partition_index, &o);
    answer->partition_index = p->partition_index;
    answer->before = found ? o.offset : -1;
    answer->after = -1;
    if (p->action == ACTION_DELETE) {
        return KAFKA_NONE; /* of what is not there any more, too */
    }
    if (t->error[i] != ASKED_GROUP) {
        return t->error[i];
    }
    if (p->action == ACTION_MOVE ? !found : p->action != ACTION_SET || p->offset < 0) {
        return KAFKA_INVALID_REQUEST;
    }
    if (offsets_metadata_too_large(p->metadata, a->d->op->settings->offset_metadata_max_bytes)) {
        return KAFKA_OFFSET_METADATA_TOO_LARGE;
    }
    answer->after = p->action == ACTION_MOVE ? moved(answer->before, p) : p->offset;
    a->growth += offsets_growth(a->d->set, a->g, t->name, p->partition_index, p->metadata);
    return KAFKA_NONE;
}

static struct str refused_text(const struct alteration *a, struct str topic, const partition_request *p, int16_t error)
{
    const char *why = error != KAFKA_INVALID_REQUEST ? "it is refused"
                      : p->action == ACTION_MOVE     ? "it has no offset that could be moved"
                      : p->action == ACTION_SET      ? "an offset is not negative"
                                                     : "the action is unknown";
    return arena_printf(a->d->arena, "%.*s-%d: %s; nothing was changed.", STR_ARG(topic), (int)p->partition_index,
                        error == KAFKA_UNKNOWN_TOPIC_OR_PARTITION ? "there is no such partition" : why);
}

/* What becomes of every partition; false when one is refused, with the first one's error at the top. */
static bool judge(struct alteration *a)
{
    const struct alter_group_offsets_request *r = a->request;
    struct arena *arena = a->d->arena;
    asked_init(&a->asked, r->topics.len, false, arena);
    a->response->topics.v = ARENA_NEW(arena, struct alter_group_offsets_response_topic, r->topics.len);
    a->response->topics.len = r->topics.len;
    for (int32_t t = 0; t < r->topics.len; t++) {
        const struct alter_group_offsets_request_topic *from = &r->topics.v[t];
        struct alter_group_offsets_response_topic *to = &a->response->topics.v[t];
        struct asked_topic *asked = asked_add(&a->asked, from->name, (struct uuid){{0}}, from->partitions.len, a->d->op->topics, arena);
        to->name = from->name;
        to->partitions.v = ARENA_NEW(arena, partition_answer, from->partitions.len);
        to->partitions.len = from->partitions.len;
        for (int32_t i = 0; i < from->partitions.len; i++) {
            asked->partition[i] = from->partitions.v[i].partition_index;
        }
        asked_check(&a->asked, asked);
        for (int32_t i = 0; i < from->partitions.len; i++) {
            int16_t error = judge_one(a, asked, i, &from->partitions.v[i], &to->partitions.v[i]);
            to->partitions.v[i].error_code = error;
            if (error != KAFKA_NONE && a->response->error_code == KAFKA_NONE) {
                refuse(a, RULE_ALTER_PARTITION, error, refused_text(a, from->name, &from->partitions.v[i], error));
            }
        }
    }
    return a->response->error_code == KAFKA_NONE;
}

/* ---- records --------------------------------------------------------------------------------------------------------------------- */

static int32_t fence(struct alteration *a)
{
    if (a->g == NULL || !a->request->fence) {
        return 0;
    }
#ifdef MUSTER_FAULT_RESET_KEEPS_MEMBERS
    return 0;
#endif
    switch (group_type(a->g)) {
    case GROUP_CONSUMER:
        return consumer_fence(a->d, a->g);
    case GROUP_STREAMS:
        return streams_fence(a->d, a->g);
    default:
        return classic_fence(a->d, a->g);
    }
}

static void write_partition(struct alteration *a, const struct asked_topic *t, const partition_request *p, const partition_answer *answer)
{
    if (p->action == ACTION_DELETE) {
        struct offset o;
        if (offsets_find(a->g, t->name, p->partition_index, &o)) {
            offsets_write_tombstone(a->d, &o);
        }
        return;
    }
    offsets_write(a->d, &(struct offset_written){.topic = t->name,
                                                 .topic_id = t->id,
                                                 .partition = p->partition_index,
                                                 .leader_epoch = p->leader_epoch,
                                                 .offset = answer->after,
                                                 .expire_clock_ms = -1,
                                                 .metadata = p->metadata});
}

static void write_all(struct alteration *a)
{
    a->response->fenced = fence(a);
    if (a->g == NULL) {
        offsets_write_simple_group(a->d);
    }
    for (int32_t t = 0; t < a->asked.len; t++) {
        const struct alter_group_offsets_request_topic *from = &a->request->topics.v[t];
        for (int32_t i = 0; i < from->partitions.len; i++) {
            write_partition(a, &a->asked.v[t], &from->partitions.v[i], &a->response->topics.v[t].partitions.v[i]);
        }
    }
}

void offsets_decide_alter(struct decision *d)
{
    struct alteration a = {.d = d, .request = d->op->request, .g = group_find(d->set, d->op->group_id)};
    a.response = ARENA_NEW(d->arena, struct alter_group_offsets_response, 1);
    wire_init(&wire_alter_group_offsets_response, a.response);
    d->out->reason = a.request->reason;
    if (!may_alter(&a) || !judge(&a)) {
        return;
    }
    int64_t growth = a.growth + (a.g == NULL ? (int64_t)sizeof(struct group) + d->op->group_id.len : 0);
    if ((a.g == NULL || growth > 0) && !budget_allows(d, a.g == NULL ? 1 : 0, 0, growth)) {
        refuse(&a, RULE_ALTER_OVER_BUDGET, KAFKA_COORDINATOR_NOT_AVAILABLE, STR("The shard's budget of groups or bytes is used up."));
        return;
    }
    enum offsets_rule rule = RULE_ALTER_VALIDATED;
    if (!a.request->validate_only) {
        write_all(&a);
        rule = a.g == NULL ? RULE_ALTER_NEW_GROUP : a.response->fenced > 0 ? RULE_ALTER_FENCED : RULE_ALTER;
    } else if (a.g != NULL && a.request->fence) {
        a.response->fenced = members_of(a.g);
    }
    out_answer(d, offsets_rules[rule], KAFKA_NONE, a.response);
}
