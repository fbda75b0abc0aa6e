/* initialize.c: StreamsGroupInitialize, of KIP-1071's early revision: a topology given by hand.
 *
 * Who may give it: the member that was asked for it, and anybody who is no member; then it makes the group if there is none, and an empty classic group becomes a
 * streams group with its offsets. A member that was asked and comes late, when the group has a topology, has no effect.
 *
 *     source topics missing, or a regular expression without a match     STREAMS_MISSING_SOURCE_TOPICS
 *     an internal topic is there and does not fit                        STREAMS_INCONSISTENT_INTERNAL_TOPICS; so is one that cannot be made
 *     topics that must be partitioned alike are not                      STREAMS_INVALID_TOPOLOGY
 *     internal topics missing                                            made first; then it is decided again, from the beginning
 *     the very topology the group has                                    nothing changes
 *     the group's topology id for another topology                       STREAMS_INVALID_TOPOLOGY
 *     an epoch that is not above the group's                             STREAMS_INVALID_TOPOLOGY_EPOCH */
#include "draft.h"
#include "../modern/matches.h"
#include "outside.h"

typedef struct streams_group_initialize_request initialize_request;

struct initializing {
    struct decision *d;
    const initialize_request *request;
    struct draft t;
    const topology *given;
    bool same; /* it is the group's already */
    struct regex_table regexes;
    struct resolved resolved;
};

static struct refused refuse(const char *rule, int16_t error, struct str text)
{
    return (struct refused){.error = error, .text = text, .rule = rule};
}

static void answer(struct decision *d, const char *rule, int16_t error, struct str text)
{
    struct streams_group_initialize_response *ret = ARENA_NEW(d->arena, struct streams_group_initialize_response, 1);
    wire_init(&wire_streams_group_initialize_response, ret);
    ret->error_code = error;
    ret->error_message = text;
    out_answer(d, rule, error, ret);
}

/* ---- who asks ------------------------------------------------------------------------------------------------------------------- */

static bool is_member(const initialize_request *r)
{
    return !str_is_null(r->member_id);
}

static struct refused check_group(const struct initializing *i)
{
    struct decision *d = i->d;
    const struct group *g = i->t.g;
    bool other = g != NULL && i->t.is_new && !streams_convertible(g);
    if (str_is_blank(d->op->group_id)) {
        return refuse(RULE(INITIALIZE_NO_GROUP_ID), KAFKA_INVALID_REQUEST, STR("GroupId can't be empty."));
    }
    if (other || (g != NULL && i->t.is_new && is_member(i->request))) {
        return refuse(RULE(INITIALIZE_OTHER_TYPE), KAFKA_GROUP_ID_NOT_FOUND, streams_not_found(d, g));
    }
    if (g == NULL && is_member(i->request)) {
        return refuse(RULE(INITIALIZE_NO_GROUP), KAFKA_GROUP_ID_NOT_FOUND, streams_not_found(d, g));
    }
    if (is_member(i->request) && modern_find(i->t.was, i->request->member_id) == NULL) {
        return refuse(RULE(INITIALIZE_UNKNOWN_MEMBER), KAFKA_UNKNOWN_MEMBER_ID,
                      arena_printf(d->arena, "Member %.*s is not a member of group %.*s.", STR_ARG(i->request->member_id),
                                   STR_ARG(d->op->group_id)));
    }
    return not_refused();
}

/* It was asked for the topology, and somebody else has given one meanwhile. */
static bool is_late(const struct initializing *i)
{
    return is_member(i->request) && draft_topology(&i->t) != NULL;
}

/* ---- the topology --------------------------------------------------------------------------------------------------------------- */

/* The next epoch where none is given. */
static bool choose_epoch(const struct initializing *i, int32_t *ret)
{
    const topology *own = draft_topology(&i->t);
    int32_t asked = i->request->topology_epoch;
    if (asked == -1) {
        *ret = own == NULL ? 0 : own->epoch < INT32_MAX ? own->epoch + 1 : INT32_MAX;
        return own == NULL || own->epoch < INT32_MAX;
    }
    *ret = asked;
    return asked >= 0 && (own == NULL || asked > own->epoch);
}

/* As far as they are given. */
static bool names_own(const initialize_request *r, const topology *own)
{
    return (str_is_null(r->topology_id) || str_eq(r->topology_id, own->topology_id)) &&
           (r->topology_epoch == -1 || r->topology_epoch == own->epoch);
}

static struct refused check_topology(struct initializing *i)
{
    const topology *own = draft_topology(&i->t);
    int32_t epoch;
    struct str problem;
    bool fits = choose_epoch(i, &epoch);
    i->given = topology_of_initialize(i->request, epoch, i->d->arena);
    int16_t error = topology_check(i->given, i->d->op->settings, i->d->arena, &problem);
    if (error != KAFKA_NONE && (fits || error != KAFKA_STREAMS_INVALID_TOPOLOGY_EPOCH)) {
        return refuse(RULE(INITIALIZE_TOPOLOGY), error, problem);
    }
    bool equal = own != NULL && topology_equal(own, i->given);
    i->same = equal && names_own(i->request, own);
    if (i->same) {
        return not_refused();
    }
    if (own != NULL && str_eq(own->topology_id, i->given->topology_id) && !equal) {
        return refuse(RULE(INITIALIZE_ID_TAKEN), KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(i->d->arena, "Topology id %.*s stands for another topology.", STR_ARG(own->topology_id)));
    }
    if (!fits) {
        return refuse(RULE(INITIALIZE_EPOCH), KAFKA_STREAMS_INVALID_TOPOLOGY_EPOCH,
                      arena_printf(i->d->arena, "Topology epoch %d is not above the group's topology epoch %d.",
                                   (int)i->request->topology_epoch, own == NULL ? -1 : (int)own->epoch));
    }
    return not_refused();
}

/* ---- the topics ----------------------------------------------------------------------------------------------------------------- */

/* What was asked for is there or is not: of the latter the reason, or somebody has deleted it again. */
static struct refused check_created(const struct initializing *i)
{
    struct str failure = i->d->op->created->failure;
    if (str_is_empty(failure)) {
        return refuse(RULE(INITIALIZE_UNSETTLED), KAFKA_COORDINATOR_NOT_AVAILABLE, i->resolved.detail);
    }
    return refuse(RULE(INITIALIZE_CREATION_FAILED), MUSTER_STREAMS_INCONSISTENT_INTERNAL_TOPICS,
                  arena_printf(i->d->arena, "%.*s; Creation failed: %.*s.", STR_ARG(i->resolved.detail), STR_ARG(failure)));
}

static struct refused check_topics(struct initializing *i)
{
    struct matching matching;
    struct str_array patterns = streams_patterns(i->given, i->d->arena);
    matching_new(patterns.v, patterns.len, i->d->op->topics, i->d->arena, &matching);
    i->regexes = matching_run(&matching, i->d->arena);
    topology_resolve(i->given, &i->regexes, i->d->op->topics, i->d->arena, &i->resolved);
    switch (i->resolved.problem) {
    case TOPOLOGY_FINE:
        break;
    case TOPOLOGY_MISSING_SOURCES:
        return refuse(RULE(INITIALIZE_MISSING_SOURCES), MUSTER_STREAMS_MISSING_SOURCE_TOPICS, i->resolved.detail);
    case TOPOLOGY_PARTITIONING:
        if (i->resolved.misfit) {
            return refuse(RULE(INITIALIZE_MISFIT), MUSTER_STREAMS_INCONSISTENT_INTERNAL_TOPICS, i->resolved.detail);
        }
        return refuse(RULE(INITIALIZE_PARTITIONING), KAFKA_STREAMS_INVALID_TOPOLOGY, i->resolved.detail);
    case TOPOLOGY_MISSING_INTERNAL:
        if (i->d->op->created != NULL) {
            return check_created(i);
        }
        break;
    }
    return not_refused();
}

/* ---- the group -------------------------------------------------------------------------------------------------------------------- */

static bool has_room(const struct initializing *i)
{
    size_t bytes = wire_size(&wire_streams_group_topology_value, MODERN_VALUE_VERSION, i->given);
    return budget_allows(i->d, i->t.g == NULL ? 1 : 0, 0, 1024 + 4 * (int64_t)bytes);
}

/* As after the last member's leave: whoever describes an empty group sees one epoch. Its retention begins anew. */
static void settle_empty(struct draft *t)
{
    t->next.empty_since_ms = t->d->op->clock_ms;
    t->changed = true;
    if (t->is_new) {
        return;
    }
    draft_bump(t, GROUP_CAUSE_TOPOLOGY);
    t->next.has_assignment = true;
    t->next.assignment_epoch = t->next.epoch;
    t->assignment_put = true;
}

static const char *initialize(struct initializing *i)
{
    struct draft *t = &i->t;
    const char *rule = t->g == NULL               ? RULE(INITIALIZE_NEW_GROUP)
                       : t->is_new                ? RULE(INITIALIZE_CONVERTED)
                       : is_member(i->request)    ? RULE(INITIALIZE_MEMBER)
                       : t->was->topology != NULL ? RULE(INITIALIZE_OVERWRITTEN)
                                                  : RULE(INITIALIZE_GROUP);
    t->regexes = &i->regexes;
    streams_draft_set_topology(t, i->given);
    streams_part(t)->resolved = &i->resolved;
    streams_draft_refresh(t);
    if (t->next.member_count == 0) {
        settle_empty(t);
    } else {
        streams_draft_assign(t);
    }
    draft_close(t);
    return rule;
}

void streams_decide_initialize(struct decision *d)
{
    struct initializing *i = ARENA_NEW(d->arena, struct initializing, 1);
    i->d = d;
    i->request = d->op->request;
    streams_draft_open(&i->t, d, group_find(d->set, d->op->group_id));
    struct refused refused = check_group(i);
    if (refused.error == KAFKA_NONE && is_late(i)) {
        answer(d, RULE(INITIALIZE_LATE), KAFKA_NONE, STR_NULL);
        return;
    }
    refused = refused.error == KAFKA_NONE ? check_topology(i) : refused;
    if (refused.error == KAFKA_NONE && i->same) {
        answer(d, RULE(INITIALIZE_SAME), KAFKA_NONE, STR_NULL);
        return;
    }
    refused = refused.error == KAFKA_NONE ? check_topics(i) : refused;
    if (refused.error == KAFKA_NONE && !has_room(i)) {
        refused = refuse(RULE(INITIALIZE_BUDGET), KAFKA_COORDINATOR_NOT_AVAILABLE, STR("There is no room for the topology."));
    }
    if (refused.error != KAFKA_NONE) {
        answer(d, refused.rule, refused.error, refused.text);
        return;
    }
    if (i->resolved.problem == TOPOLOGY_MISSING_INTERNAL) {
        d->out->create = topology_creation(&i->resolved, d->arena);
        d->out->verdict = GROUP_WAIT;
        out_rule(d, RULE(INITIALIZE_CREATES));
        return;
    }
    answer(d, initialize(i), KAFKA_NONE, STR_NULL);
}
