/* job.c: jobs of groups of either protocol. */
#include "job.h"

struct group_job *group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind)
{
    const struct group *g = group_find(set, op->group_id);
    const struct modern *s = group_modern(g);
    if (s == NULL) {
        return NULL;
    }
    struct arena arena;
    arena_init(&arena, 0);
    struct group_job *job = ARENA_NEW(&arena, struct group_job, 1);
    job->arena = arena;
    job->kind = kind;
    job->type = group_type(g);
    job->group_id = arena_str(&job->arena, op->group_id);
    job->stamp = (struct job_stamp){.epoch = s->epoch,
                                    .catalog_index = op->catalog == NULL ? 0 : (int64_t)group_set_catalog_index(op->catalog),
                                    .topology_epoch = -1};
    bool due = job->type == GROUP_STREAMS ? streams_job_prepare(job, s, op) : consumer_job_prepare(job, s, op);
    if (!due) {
        group_job_free(job);
        return NULL;
    }
    return job;
}

void group_job_run(struct group_job *job)
{
    if (job->kind == GROUP_JOB_ASSIGN) {
        job->assign(job->work, &job->arena, &job->assigned);
    } else {
        job->matches = matching_run(&job->matching, &job->arena);
    }
}

void group_job_free(struct group_job *job)
{
    if (job != NULL) {
        struct arena arena = job->arena;
        arena_fini(&arena);
    }
}

enum group_job_kind group_job_kind(const struct group_job *job)
{
    return job->kind;
}

struct str group_job_group(const struct group_job *job)
{
    return job->group_id;
}
