/* errands.c: what coord wants done outside: jobs of groups on libuv's pool, topics through the api. */
#include "server.h"

#include <stdlib.h>

struct pool_job {
    uv_work_t work;
    struct server *server;
    struct group_job *job;
};

static void on_work(uv_work_t *work)
{
    struct pool_job *p = CONTAINER_OF(work, struct pool_job, work);
    group_job_run(p->job);
}

/* On the loop again. What comes back while the node ends is of no use: nothing could be written any more. */
static void on_worked(uv_work_t *work, int status)
{
    struct pool_job *p = CONTAINER_OF(work, struct pool_job, work);
    struct server *s = p->server;
    (void)status; /* nobody cancels */
    if (s->replica != NULL && !uv_is_closing((const uv_handle_t *)&s->turn.check)) {
        turn_open(s);
        coord_job_done(s->coord, p->job);
    } else {
        group_job_free(p->job);
    }
    free(p);
}

/* The loop does not end before the work has: server_run() waits for it. */
void errands_run_job(void *ctx, struct group_job *job)
{
    struct server *s = ctx;
    struct pool_job *p = calloc(1, sizeof(*p));
    MUSTER_CHECK(p != NULL);
    p->server = s;
    p->job = job;
    MUSTER_CHECK(uv_queue_work(&s->loop, &p->work, on_work, on_worked) == 0);
}

static void on_created(void *ctx, uint64_t token, struct str failure)
{
    struct server *s = ctx;
    if (!str_is_null(failure)) {
        log_event(LOG_WARN, "topics_not_created", "text=\"%.*s\"", STR_ARG(failure));
    }
    coord_topics_created(s->coord, token, failure);
}

void errands_create_topics(void *ctx, uint64_t token, const struct create_topics_request *request)
{
    struct server *s = ctx;
    api_create_topics_own(s->api, request, on_created, s, token);
}
