/* Jobs: a copy of the group as applied goes out with the host, its result comes back as a request of coord's own (GROUP_JOB_DONE). */
#include "internal.h"

bool errand_job_start(struct coord *c, struct errand *one)
{
    struct shard *s = one->of->shard;
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .api_version = -1, .group_id = one->of->id};
    op_fill(s, gate_find_id(s, op.group_id), &op);
    struct group_job *job = group_job_new(s->set, &op, (enum group_job_kind)one->kind);
    if (job == NULL)
        return false;
    one->state = ERRAND_OUT;
    one->job = job;
    c->running[c->running_count++] = (struct running_job){job, one};
    c->stats.jobs++;
    c->events.run_job(c->events.ctx, job);
    return true;
}

void errand_job_forget(struct coord *c, struct errand *one)
{
    for (uint32_t i = 0; i < c->running_count; i++) {
        if (c->running[i].errand == one)
            c->running[i].errand = NULL;
    }
}

static struct errand *running_take(struct coord *c, const struct group_job *job)
{
    for (uint32_t i = 0; i < c->running_count; i++) {
        if (c->running[i].job == job) {
            struct errand *one = c->running[i].errand;
            c->running[i] = c->running[--c->running_count];
            return one;
        }
    }
    MUSTER_CHECK(false);
    return NULL;
}

void coord_job_done(struct coord *c, struct group_job *job)
{
    struct errand *one = running_take(c, job);
    c->dirty = true;
    if (one == NULL) {
        c->stats.jobs_dropped++;
        group_job_free(job);
        return;
    }
    one->state = ERRAND_BACK;
    internal_submit_job(one->of->shard, one->of->id, job);
}

/* Its records are applied, it decided nothing, or it was refused: for want of a coordinator, and then its errand is gone, or by the disks. */
void errand_job_decided(struct shard *s, struct str group_id, struct group_job *job, int16_t error)
{
    struct errands *e = errands_find(s, group_id);
    struct errand *one = e != NULL ? &e->v[group_job_kind(job)] : NULL;
    bool known = one != NULL && one->state == ERRAND_BACK && one->job == job;
    group_job_free(job);
    if (!known) {
        s->coord->stats.jobs_dropped++;
        return;
    }
    one->job = NULL;
    one->state = ERRAND_IDLE;
    if (error == COORDINATOR_NOT_AVAILABLE) {
        one->again = true;
        errand_rest(one);
    } else if (one->again) {
        errand_wish(one);
    } else {
        errands_tidy(e);
    }
}
