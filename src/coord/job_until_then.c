/* Not to be committed: until src/group/streams/job.c is there. */
#include <muster/group.h>
__attribute__((weak)) struct group_job *group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind)
{
    (void)set;
    (void)op;
    (void)kind;
    return NULL;
}
__attribute__((weak)) void group_job_run(struct group_job *job)
{
    (void)job;
}
__attribute__((weak)) void group_job_free(struct group_job *job)
{
    (void)job;
}
__attribute__((weak)) enum group_job_kind group_job_kind(const struct group_job *job)
{
    (void)job;
    return GROUP_JOB_ASSIGN;
}
