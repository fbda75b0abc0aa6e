/* topics.c: the group's topology against the topics that are there; what happens when they change.
 *
 * Whether the topology can run is recorded with the group, so that it is known without a catalogue. Kafka looks at the topics with each heartbeat; here the
 * group hears at once when they change (GROUP_TOPICS_CHANGED), which moves its epoch, and its members follow with their next heartbeats. */
#include "../modern/job.h"
#include "draft.h"

const struct resolved *streams_draft_resolve(struct draft *t)
{
    const topology *own = draft_topology(t);
    if (own != NULL && streams_part(t)->resolved == NULL) {
        struct resolved *resolved = ARENA_NEW(t->d->arena, struct resolved, 1);
        struct regex_table known = t->regexes != NULL ? *t->regexes : modern_regexes(t->was, t->d->arena);
        topology_resolve(own, &known, t->d->op->topics, t->d->arena, resolved);
        streams_part(t)->resolved = resolved;
    }
    return streams_part(t)->resolved;
}

void streams_draft_set_topology(struct draft *t, const topology *value)
{
    struct streams_topology *kept = ARENA_NEW(t->d->arena, struct streams_topology, 1);
    *kept = (struct streams_topology){.value = value, .raw = BYTES_NULL};
    t->next.topology = kept;
    t->next.initializing_member = STR_NULL;
    t->next.initialize_until_ms = 0;
    streams_part(t)->topology_put = t->changed = true;
    streams_part(t)->resolved = NULL;
}

bool streams_draft_refresh(struct draft *t)
{
    const struct resolved *r = streams_draft_resolve(t);
    if (r == NULL) {
        return false;
    }
    int32_t validated = r->problem == TOPOLOGY_FINE ? draft_topology(t)->epoch : -1;
    bool moved = r->metadata_hash != t->next.metadata_hash || r->problem != t->next.problem || streams_part(t)->topology_put;
    if (!moved) {
        return false; /* the text of the problem stays, too: it may tell why a creation failed */
    }
    t->next.metadata_hash = r->metadata_hash;
    t->next.problem = (int8_t)r->problem;
    t->next.problem_detail = r->detail;
    t->next.validated_topology_epoch = validated;
    t->changed = true;
    if (t->next.member_count > 0) {
        draft_bump(t, streams_part(t)->topology_put && !t->is_new ? GROUP_CAUSE_TOPOLOGY : GROUP_CAUSE_TOPICS);
        history_topics(t->d, r->topics, t->d->set->cursor);
    }
    return true;
}

/* ---- regular expressions ------------------------------------------------------------------------------------------------------------ */

/* Those of the topology: whether there is one that the table lacks (NULL: any). */
static bool topology_has_regex(const topology *own, const struct regex_table *beyond)
{
    for (int32_t i = 0; own != NULL && i < own->subtopologies.len; i++) {
        const struct str_array *regexes = &own->subtopologies.v[i].source_topic_regex;
        for (int32_t k = 0; k < regexes->len; k++) {
            if (beyond == NULL || regex_table_find(beyond, regexes->v[k]) == NULL) {
                return true;
            }
        }
    }
    return false;
}

bool streams_reads_regexes(const struct group *g)
{
    return g->streams != NULL && g->streams->topology != NULL && topology_has_regex(g->streams->topology->value, NULL);
}

/* A regular expression that matches nothing, or was not matched yet, is a missing source topic: only then there is something to look for. Topics are made for
 * members: whoever takes an application down deletes its internal topics while nobody is there. */
void streams_draft_wish(struct draft *t)
{
    if (t->next.problem == TOPOLOGY_MISSING_SOURCES) {
        struct regex_table known = t->regexes != NULL ? *t->regexes : modern_regexes(t->was, t->d->arena);
        t->d->out->resolve = t->d->out->resolve || topology_has_regex(draft_topology(t), &known);
    } else if (t->next.problem == TOPOLOGY_MISSING_INTERNAL && draft_topology(t) != NULL && t->next.member_count > 0) {
        t->d->out->create = topology_creation(streams_draft_resolve(t), t->d->arena);
    }
}

/* ---- not from members ------------------------------------------------------------------------------------------------------------------ */

static void done(struct draft *t, const char *rule)
{
    draft_close(t);
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

static bool open_existing(struct draft *t, struct decision *d)
{
    streams_draft_open(t, d, group_find(d->set, d->op->group_id));
    return !t->is_new;
}

void streams_decide_topics_changed(struct decision *d)
{
    struct draft t;
    if (!open_existing(&t, d)) {
        out_rule(d, RULE(TOPICS_UNMOVED));
        return;
    }
    bool moved = streams_draft_refresh(&t);
    streams_draft_wish(&t);
    d->out->resolve = topology_has_regex(draft_topology(&t), NULL);
    done(&t, moved ? RULE(TOPICS_CHANGED) : RULE(TOPICS_UNMOVED));
}

void streams_decide_topics_created(struct decision *d)
{
    struct draft t;
    struct str failure = d->op->created == NULL ? STR_NULL : d->op->created->failure;
    if (!open_existing(&t, d)) {
        out_rule(d, RULE(CREATED_MOOT));
        return;
    }
    bool moved = streams_draft_refresh(&t);
    const struct resolved *r = streams_draft_resolve(&t);
    if (r == NULL || r->problem != TOPOLOGY_MISSING_INTERNAL || str_is_empty(failure)) {
        done(&t, moved ? RULE(CREATED) : RULE(CREATED_MOOT));
        return;
    }
    struct str detail = arena_printf(d->arena, "%.*s; Creation failed: %.*s.", STR_ARG(r->detail), STR_ARG(failure));
    if (!str_eq(detail, t.next.problem_detail)) {
        t.next.problem_detail = detail;
        t.changed = true;
    }
    done(&t, RULE(CREATED_FAILED));
}

/* ---- results of jobs ---------------------------------------------------------------------------------------------------------------------- */

static bool still_fits(const struct draft *t, const struct group_job *job)
{
    struct job_stamp stamp = job->stamp;
    const topology *own = draft_topology(t);
    return stamp.epoch == t->was->epoch && stamp.topology_epoch == (own == NULL ? -1 : own->epoch) &&
           (own == NULL || stamp.metadata_hash == t->was->metadata_hash) && draft_same_members(t, &job->assigned);
}

static void take_assignment(struct draft *t, const struct group_job *job)
{
    bool due = assignment_wait(t) == ASSIGNMENT_DUE;
    if (due && still_fits(t, job)) {
        draft_take_result(t, &job->assigned);
        done(t, RULE(JOB_ASSIGNED));
    } else {
        t->d->out->assign = due;
        done(t, due ? RULE(JOB_STALE) : RULE(JOB_MOOT));
    }
}

static void take_matches(struct draft *t, const struct group_job *job)
{
    struct job_stamp stamp = job->stamp;
    const topology *own = draft_topology(t);
    bool reads = topology_has_regex(own, NULL);
    if (!reads) {
        done(t, RULE(JOB_MOOT));
        return;
    }
    /* What changed since it began is looked at by the next one. */
    bool older = t->d->op->catalog != NULL && stamp.catalog_index < (int64_t)group_set_catalog_index(t->d->op->catalog);
    if (stamp.topology_epoch == own->epoch) {
        t->regexes = &job->matches;
        streams_draft_refresh(t);
        streams_draft_wish(t);
    }
    t->d->out->resolve = older || stamp.topology_epoch != own->epoch;
    done(t, RULE(JOB_RESOLVED));
}

void streams_decide_job_done(struct decision *d)
{
    struct draft t;
    if (!open_existing(&t, d)) {
        out_rule(d, RULE(JOB_MOOT));
        return;
    }
    switch (d->op->job->kind) {
    case GROUP_JOB_ASSIGN:
        take_assignment(&t, d->op->job);
        break;
    case GROUP_JOB_RESOLVE:
        take_matches(&t, d->op->job);
        break;
    }
}
