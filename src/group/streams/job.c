/* job.c: the assignor and the matching of regular expressions as jobs: everything they need in an arena of their own. */
#include "assign_view.h"
#include "draft.h"
#include "matches.h"

struct group_job {
    struct arena arena; /* the job itself lies in it */
    enum group_job_kind kind;
    struct str group_id;
    struct job_stamp stamp;
    struct numbered numbered; /* ASSIGN */
    struct assign_result assigned;
    struct matching matching; /* RESOLVE */
    struct regex_table matches;
};

/* ---- made on the loop ------------------------------------------------------------------------------------------------------------- */

static void prepare_assign(struct group_job *job, const struct streams *s, const struct group_op *op)
{
    struct streams_configs configs;
    struct resolved resolved = {.problem = TOPOLOGY_MISSING_SOURCES};
    struct arena scratch;
    arena_init(&scratch, 0);
    streams_configs(op->catalog, op->settings, op->group_id, &scratch, &configs);
    if (s->topology != NULL) {
        struct regex_table regexes = streams_regexes(s, &scratch);
        topology_resolve(s->topology->value, &regexes, op->topics, &scratch, &resolved);
    }
    struct assign_view view = {.resolved = &resolved, .configs = &configs};
    view.members = streams_view_members(s, &configs, &scratch, &view.member_count);
    view_number(&view, true, &job->arena, &job->numbered);
    job->stamp.metadata_hash = resolved.metadata_hash;
    arena_fini(&scratch);
}

/* Whether the group, with that topology or none, has something to do of that kind. */
static bool is_due(const struct streams *s, const topology *t, enum group_job_kind kind)
{
    if (kind == GROUP_JOB_ASSIGN) {
        return s->member_count > 0 && s->epoch > assignment_epoch(s);
    }
    for (int32_t i = 0; t != NULL && i < t->subtopologies.len; i++) {
        if (t->subtopologies.v[i].source_topic_regex.len > 0) {
            return true;
        }
    }
    return false;
}

struct group_job *group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind)
{
    const struct group *g = group_find(set, op->group_id);
    const struct streams *s = g == NULL || group_type(g) != GROUP_STREAMS ? NULL : g->streams;
    const topology *t = s == NULL || s->topology == NULL ? NULL : s->topology->value;
    if (s == NULL || !is_due(s, t, kind)) {
        return NULL;
    }
    struct arena arena;
    arena_init(&arena, 0);
    struct group_job *job = ARENA_NEW(&arena, struct group_job, 1);
    job->arena = arena;
    job->kind = kind;
    job->group_id = arena_str(&job->arena, op->group_id);
    job->stamp = (struct job_stamp){.epoch = s->epoch,
                                    .catalog_index = op->catalog == NULL ? 0 : (int64_t)group_set_catalog_index(op->catalog),
                                    .topology_epoch = t == NULL ? -1 : t->epoch};
    if (kind == GROUP_JOB_ASSIGN) {
        prepare_assign(job, s, op);
    } else if (t != NULL) {
        streams_matching(t, op->topics, &job->arena, &job->matching);
    }
    return job;
}

/* ---- run anywhere ----------------------------------------------------------------------------------------------------------------- */

void group_job_run(struct group_job *job)
{
    if (job->kind == GROUP_JOB_ASSIGN) {
        view_solve(&job->numbered, &job->arena, &job->assigned);
    } else {
        job->matches = streams_matches(&job->matching, &job->arena);
    }
}

void group_job_free(struct group_job *job)
{
    if (job != NULL) {
        struct arena arena = job->arena;
        arena_fini(&arena);
    }
}

/* ---- looked at on the loop ---------------------------------------------------------------------------------------------------------- */

enum group_job_kind group_job_kind(const struct group_job *job)
{
    return job->kind;
}

struct str group_job_group(const struct group_job *job)
{
    return job->group_id;
}

struct job_stamp streams_job_stamp(const struct group_job *job)
{
    return job->stamp;
}

const struct assign_result *streams_job_assigned(const struct group_job *job)
{
    return &job->assigned;
}

const struct regex_table *streams_job_matches(const struct group_job *job)
{
    return &job->matches;
}
