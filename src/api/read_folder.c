/* read_folder.c: ReadFolder (20040), of this project: the files of this node's log as they lie on its disk, for `muster log` and --at on a live node. The disk is read beside the
 * loop. A file may be gone or have another name by the next request: the reader begins again. */
#include "internal.h"

enum { MOST_BYTES = 1 << 20 };

struct folder_wait {
    struct api_folder_read read; /* first: what the host brings back */
    struct api_request *request;
    struct folder_wait *next;
};

static void wait_end(struct api *a, struct folder_wait *w)
{
    struct api_request *r = w->request;
    struct folder_wait **at = &a->folder_waits;
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    a->stats.folder_reads_now--;
    buf_fini(&w->read.data);
    pool_put(&a->pool, w, sizeof(*w));
    api_unref(r);
}

void folder_waits_drop(struct api *a)
{
    while (a->folder_waits != NULL) {
        api_drop(a->folder_waits->request);
        wait_end(a, a->folder_waits);
    }
}

static void refuse(struct api_request *r, int16_t error, const char *text)
{
    struct read_folder_response *response = api_response(r);
    response->node_id = (int32_t)r->api->options.node_id;
    response->error_code = error;
    response->error_message = str_of(text);
    api_answer(r, response);
}

/* Names stand one behind the other, each with a zero at its end. */
static void take_names(struct api_request *r, const struct buf *data, struct read_folder_response *response)
{
    int32_t count = 0;
    for (size_t i = 0; i < data->len; i++) {
        count += data->ptr[i] == 0;
    }
    response->names.v = ARENA_NEW(r->arena, struct str, count);
    for (size_t at = 0; response->names.len < count;) {
        struct str name = str_of((const char *)data->ptr + at);
        response->names.v[response->names.len++] = arena_str(r->arena, name);
        at += (size_t)name.len + 1;
    }
}

static void give(struct api_request *r, const struct api_folder_read *read)
{
    struct read_folder_response *response = api_response(r);
    response->node_id = (int32_t)r->api->options.node_id;
    response->file_bytes = (int64_t)read->file_bytes;
    if (read->name[0] == '\0') {
        take_names(r, &read->data, response);
    } else {
        response->data = arena_bytes(r->arena, (struct bytes){read->data.ptr, (int32_t)read->data.len});
    }
    api_answer(r, response);
}

void api_folder_done(struct api *a, struct api_folder_read *read)
{
    struct folder_wait *w = CONTAINER_OF(read, struct folder_wait, read);
    struct api_request *r = w->request;
    if (r->gone) {
        api_drop(r);
    } else if (read->result == MUSTER_E_NOT_FOUND) {
        refuse(r, KAFKA_KAFKA_STORAGE_ERROR, "There is no such log file here (any more).");
    } else if (read->result < 0) {
        refuse(r, KAFKA_UNKNOWN_SERVER_ERROR, muster_strerror(read->result));
    } else {
        give(r, read);
    }
    wait_end(a, w);
}

void api_read_folder(struct api_request *r)
{
    const struct read_folder_request *request = r->request;
    struct api *a = r->api;
    bool named = !str_is_null(request->name);
    if (a->options.read_folder == NULL || request->offset < 0 ||
        (named && (request->name.len == 0 || request->name.len >= API_FILE_NAME_BYTES))) {
        refuse(r, KAFKA_INVALID_REQUEST, "No such file can be asked for.");
        return;
    }
    if (a->stats.folder_reads_now >= (uint64_t)a->options.folder_reads_max) {
        a->stats.folder_reads_refused++;
        refuse(r, KAFKA_THROTTLING_QUOTA_EXCEEDED, "Others read this node's log at the moment (muster.log.reads.max).");
        return;
    }
    struct folder_wait *w = pool_get(&a->pool, sizeof(*w));
    bool few = request->max_bytes > 0 && request->max_bytes < MOST_BYTES;
    w->request = r;
    w->read.offset = (uint64_t)request->offset;
    w->read.max_bytes = few ? (uint32_t)request->max_bytes : MOST_BYTES;
    for (int32_t i = 0; named && i < request->name.len; i++) {
        w->read.name[i] = request->name.ptr[i];
    }
    buf_init(&w->read.data, 0);
    w->next = a->folder_waits;
    a->folder_waits = w;
    a->stats.folder_reads_now++;
    a->stats.folder_reads++;
    api_ref(r);
    a->options.read_folder(a->options.read_folder_ctx, &w->read);
}
