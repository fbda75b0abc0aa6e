/* topics.c: what happens to a consumer group when topics change, and when a job has run. */
#include "draft.h"

#include "../modern/job.h"

static void done(struct draft *t, const char *rule)
{
    draft_close(t);
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

static bool open_existing(struct draft *t, struct decision *d)
{
    consumer_draft_open(t, d, group_find(d->set, d->op->group_id));
    return !t->is_new;
}

static bool has_regexes(const struct modern *s)
{
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL && !str_is_null(s->slots[i].member->regex)) {
            return true;
        }
    }
    return false;
}

bool consumer_reads_regexes(const struct group *g)
{
    return g->consumer != NULL && has_regexes(g->consumer);
}

void consumer_decide_topics_changed(struct decision *d)
{
    struct draft t;
    if (!open_existing(&t, d)) {
        out_rule(d, RULE(TOPICS_UNMOVED));
        return;
    }
    bool moved = consumer_draft_refresh(&t);
    d->out->resolve = has_regexes(t.was);
#ifdef MUSTER_FAULT_OLD_MATCHES
    d->out->resolve = d->out->resolve && t.was->regex_count == 0;
#endif
    done(&t, moved ? RULE(TOPICS_CHANGED) : RULE(TOPICS_UNMOVED));
}

/* ---- results of jobs ---------------------------------------------------------------------------------------------------------------------- */

static void take_assignment(struct draft *t, const struct group_job *job)
{
    bool due = assignment_wait(t) == ASSIGNMENT_DUE;
    bool fits =
        job->stamp.epoch == t->was->epoch && job->stamp.metadata_hash == t->was->metadata_hash && draft_same_members(t, &job->assigned);
#ifdef MUSTER_FAULT_STALE_ASSIGNMENT
    fits = true;
#endif
    if (due && fits) {
        draft_take_result(t, &job->assigned);
        done(t, RULE(JOB_ASSIGNED));
    } else {
        t->d->out->assign = due;
        done(t, due ? RULE(JOB_STALE) : RULE(JOB_MOOT));
    }
}

/* Adds the topics that were not there before. One that is gone is no news: the hash of the topics told of it when it went. known NULL: it had not been matched
 * before. */
static void add_more(const struct regex_topics *now, const struct regex_topics *known, struct str_array *to)
{
    int32_t k = 0, len = known == NULL ? 0 : known->topics.len;
    for (int32_t i = 0; i < now->topics.len; i++) {
        while (k < len && str_cmp(known->topics.v[k], now->topics.v[i]) < 0) {
            k++;
        }
        if (k == len || !str_eq(known->topics.v[k], now->topics.v[i])) {
            to->v[to->len++] = now->topics.v[i];
        }
    }
}

/* What members read more than before by a regular expression that they name. */
static struct str_array news(const struct draft *t, const struct regex_table *matches)
{
    struct regex_table known = modern_regexes(t->was, t->d->arena);
    int64_t most = 0;
    for (int32_t i = 0; i < matches->len; i++) {
        most += matches->v[i].topics.len;
    }
    struct str_array all = {ARENA_NEW(t->d->arena, struct str, most), 0};
    for (int32_t i = 0; i < matches->len; i++) {
        if (consumer_draft_has_regex(t, matches->v[i].regex)) {
            add_more(&matches->v[i], regex_table_find(&known, matches->v[i].regex), &all);
        }
    }
    return all;
}

/* Who reads less by an expression that was not matched before than by the one it named then gave that up at once, while the epoch waited for the matches: what it is
 * to have is nobody's, or will be where an assignment is on its way. NULL: there is none. */
static const struct modern_slot *who_gave_up(const struct draft *t)
{
    struct regex_table known = modern_regexes(t->was, t->d->arena);
    bool on_its_way = t->was->epoch > assignment_epoch(t->was);
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        const struct modern_member *m = slot->member;
        bool matched = m != NULL && !str_is_null(m->regex) && regex_table_find(&known, m->regex) == NULL &&
                       regex_table_find(t->regexes, m->regex) != NULL;
        struct units target = modern_target(slot).kind[UNITS_ACTIVE];
        if (matched && (on_its_way || consumer_still_read(t, m, target).len < target.len)) {
            return slot;
        }
    }
    return NULL;
}

/* One that came while the job ran is in no table yet. */
static bool lacks_regex(const struct draft *t)
{
    struct regex_table known = consumer_draft_regexes(t);
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_member *m = t->was->slots[i].member;
        if (m != NULL && !str_is_null(m->regex) && regex_table_find(&known, m->regex) == NULL) {
            return true;
        }
    }
    return false;
}

static void take_matches(struct draft *t, const struct group_job *job)
{
    if (!has_regexes(t->was)) {
        done(t, RULE(JOB_MOOT));
        return;
    }
    /* What changed since it began is looked at by the next one. */
    bool older = t->d->op->catalog != NULL && job->stamp.catalog_index < (int64_t)group_set_catalog_index(t->d->op->catalog);
#ifdef MUSTER_FAULT_OLD_MATCHES
    older = false;
#endif
    struct str_array more = news(t, &job->matches);
    t->regexes = &job->matches;
    const struct modern_slot *less = more.len > 0 ? NULL : who_gave_up(t);
    if (more.len > 0) {
        draft_bump(t, GROUP_CAUSE_TOPICS);
        history_topics(t->d, more, -1);
    } else if (less != NULL) {
        draft_note_subscription(t, less);
        draft_bump(t, GROUP_CAUSE_SUBSCRIPTION);
    }
    consumer_draft_refresh(t);
    t->d->out->resolve = older || lacks_regex(t);
    out_timer(t->d, GROUP_TIMER_REFRESH, STR(""), 0, t->d->op->settings->consumer.regex_refresh_interval_ms);
    done(t, RULE(JOB_RESOLVED));
}

void consumer_decide_job_done(struct decision *d)
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

/* ---- how old matches may become ------------------------------------------------------------------------------------------------------------ */

/* Topics that come are matched at once; this is for whatever may have been missed. */
const char *consumer_refresh_due(struct draft *t)
{
    t->d->out->resolve = has_regexes(t->was);
    if (t->d->out->resolve) {
        out_timer(t->d, GROUP_TIMER_REFRESH, STR(""), 0, t->d->op->settings->consumer.regex_refresh_interval_ms);
    }
    return RULE(REFRESH);
}
