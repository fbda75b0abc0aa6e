/* folder.c: log files that somebody reads through this node, on libuv's pool. */
#include "server.h"

#include <stdlib.h>
#include <string.h>

struct folder_job {
    uv_work_t work;
    struct server *server;
    struct api_folder_read *read; /* the api's: only what the job is about is touched here, */
    struct store_port port;
    char name[API_FILE_NAME_BYTES];
    uint64_t offset, file_bytes;
    uint32_t max_bytes;
    struct buf data; /* ... and the result handed over on the loop, if the api is still there */
    int result;
};

static void add_name(void *ctx, const char *name)
{
    MUSTER_CHECK(buf_put(ctx, name, strlen(name) + 1) == 0);
}

static void on_read(uv_work_t *work)
{
    struct folder_job *j = CONTAINER_OF(work, struct folder_job, work);
    size_t got = 0;
    if (j->name[0] == '\0') {
        j->result = store_folder_list(&j->port, add_name, &j->data);
        return;
    }
    void *dst = buf_add(&j->data, j->max_bytes);
    MUSTER_CHECK(dst != NULL);
    j->result = store_folder_read(&j->port, j->name, j->offset, dst, j->max_bytes, &got, &j->file_bytes);
    j->data.len = j->result < 0 ? 0 : got;
}

static void on_done(uv_work_t *work, int status)
{
    struct folder_job *j = CONTAINER_OF(work, struct folder_job, work);
    struct server *s = j->server;
    (void)status; /* nobody cancels */
    if (s->replica != NULL && !uv_is_closing((const uv_handle_t *)&s->turn.check)) {
        turn_open(s);
        j->read->result = j->result;
        j->read->file_bytes = j->file_bytes;
        j->read->data = j->data;
        api_folder_done(s->api, j->read);
    } else {
        buf_fini(&j->data);
    }
    free(j);
}

void folder_read(void *ctx, struct api_folder_read *read)
{
    struct server *s = ctx;
    struct folder_job *j = calloc(1, sizeof(*j));
    MUSTER_CHECK(j != NULL);
    j->server = s;
    j->read = read;
    j->port = s->port;
    memcpy(j->name, read->name, sizeof(j->name));
    j->offset = read->offset;
    j->max_bytes = read->max_bytes;
    buf_init(&j->data, 0);
    MUSTER_CHECK(uv_queue_work(&s->loop, &j->work, on_read, on_done) == 0);
}
