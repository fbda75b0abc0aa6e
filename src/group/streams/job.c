/* job.c: what jobs of streams groups take: the tasks and members for the assignor, the regular expressions of the topology. */
#include "../modern/job.h"

#include "assign_view.h"
#include "draft.h"

static void solve(void *work, struct arena *arena, struct assign_result *ret)
{
    view_solve(work, arena, ret);
}

static void prepare_assign(struct group_job *job, const struct modern *s, const struct group_op *op)
{
    struct streams_configs configs;
    struct resolved resolved = {.problem = TOPOLOGY_MISSING_SOURCES};
    struct arena scratch;
    arena_init(&scratch, 0);
    streams_configs(op->catalog, op->settings, op->group_id, &scratch, &configs);
    if (s->topology != NULL) {
        struct regex_table regexes = modern_regexes(s, &scratch);
        topology_resolve(s->topology->value, &regexes, op->topics, &scratch, &resolved);
    }
    struct assign_view view = {.resolved = &resolved, .configs = &configs};
    view.members = streams_view_members(s, &configs, &scratch, &view.member_count);
    struct numbered *numbered = ARENA_NEW(&job->arena, struct numbered, 1);
    view_number(&view, true, &job->arena, numbered);
    job->work = numbered;
    job->assign = solve;
    job->stamp.metadata_hash = resolved.metadata_hash;
    arena_fini(&scratch);
}

struct str_array streams_patterns(const topology *t, struct arena *arena)
{
    struct str_array all = {NULL, 0};
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        all.len += t->subtopologies.v[i].source_topic_regex.len;
    }
    all.v = ARENA_NEW(arena, struct str, all.len);
    all.len = 0;
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        const struct str_array *regexes = &t->subtopologies.v[i].source_topic_regex;
        for (int32_t k = 0; k < regexes->len; k++) {
            all.v[all.len++] = regexes->v[k];
        }
    }
    return all;
}

bool streams_job_prepare(struct group_job *job, const struct modern *s, const struct group_op *op)
{
    const topology *t = s->topology == NULL ? NULL : s->topology->value;
    job->stamp.topology_epoch = t == NULL ? -1 : t->epoch;
    if (job->kind == GROUP_JOB_ASSIGN) {
        bool due = s->member_count > 0 && s->epoch > assignment_epoch(s);
        if (due) {
            prepare_assign(job, s, op);
        }
        return due;
    }
    struct str_array patterns = t == NULL ? (struct str_array){NULL, 0} : streams_patterns(t, &job->arena);
    if (patterns.len > 0) {
        matching_new(patterns.v, patterns.len, op->topics, &job->arena, &job->matching);
    }
    return patterns.len > 0;
}
