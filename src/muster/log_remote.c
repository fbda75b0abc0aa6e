/* log_remote.c: the log files of a live node as if they were here: a port whose reads are requests (ReadFolder). So every command on a folder works on a node, too. A segment that
 * becomes history while it is read is found under its new name; one that is removed is not found, and the command says so. */
#include "group_view.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

enum { FILES_MAX = 4096, READ_BYTES = 1 << 20, THROTTLING_QUOTA_EXCEEDED = 89, STORAGE_ERROR = 56 };

struct log_remote {
    struct cli *cli;
    struct client client;
    struct client_node *node;
    struct arena arena;     /* of one answer */
    char *names[FILES_MAX]; /* by handle; NULL: free */
};

/* ---- requests ---- */

static int ask(struct log_remote *r, struct str name, uint64_t offset, size_t bytes, const struct read_folder_response **ret)
{
    struct read_folder_request request;
    const void *answer;
    wire_init(&wire_read_folder_request, &request);
    request.name = name;
    request.offset = (int64_t)offset;
    request.max_bytes = bytes < READ_BYTES ? (int32_t)bytes : READ_BYTES;
    struct client_call call = {.key = API_KEY_READ_FOLDER, .max_version = -1, .request = &request};
    r->client.deadline_ms = client_now_ms() + r->cli->timeout_ms;
    for (int attempt = 0;; attempt++) {
        arena_clear(&r->arena);
        int rc = client_node_call(&r->client, r->node, &call, &r->arena, &answer);
        if (rc < 0) {
            return rc;
        }
        *ret = answer;
        if ((*ret)->error_code != THROTTLING_QUOTA_EXCEEDED || !client_pause(&r->client, attempt)) {
            return (*ret)->error_code == 0 ? MUSTER_E_OK : (*ret)->error_code == STORAGE_ERROR ? MUSTER_E_NOT_FOUND : MUSTER_E_REFUSED;
        }
    }
}

/* The segment of an open file under the name that it has as history now. */
static bool follow_name(struct log_remote *r, int file)
{
    const struct read_folder_response *response;
    char *name = r->names[file];
    size_t number_len = 16;
    if (strncmp(name, "log-", 4) != 0 || strlen(name) < 4 + number_len || ask(r, STR_NULL, 0, 1, &response) != 0) {
        return false;
    }
    for (int32_t i = 0; i < response->names.len; i++) {
        struct str other = response->names.v[i];
        if (other.len > 21 && memcmp(other.ptr, "past-", 5) == 0 && memcmp(other.ptr + 5, name + 4, number_len) == 0) {
            r->names[file] = strndup(other.ptr, (size_t)other.len);
            MUSTER_CHECK(r->names[file] != NULL);
            free(name);
            return true;
        }
    }
    return false;
}

static int ask_file(struct log_remote *r, int file, uint64_t offset, size_t bytes, const struct read_folder_response **ret)
{
    int rc = ask(r, str_of(r->names[file]), offset, bytes, ret);
    return rc == MUSTER_E_NOT_FOUND && follow_name(r, file) ? ask(r, str_of(r->names[file]), offset, bytes, ret) : rc;
}

/* ---- the port ---- */

static int remote_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    struct log_remote *r = ctx;
    const struct read_folder_response *response;
    if (create || write) {
        return MUSTER_E_INVALID;
    }
    if (strncmp(name, "log-", 4) != 0 && strncmp(name, "past-", 5) != 0 && strncmp(name, "snap-", 5) != 0) {
        return MUSTER_E_NOT_FOUND; /* the identity, say: a node does not give it away */
    }
    int rc = ask(r, str_of(name), 0, 1, &response);
    for (int i = 0; rc == 0 && i < FILES_MAX; i++) {
        if (r->names[i] == NULL) {
            r->names[i] = strdup(name);
            MUSTER_CHECK(r->names[i] != NULL);
            *ret_file = i;
            return MUSTER_E_OK;
        }
    }
    return rc < 0 ? rc : MUSTER_E_LIMIT;
}

static void remote_close(void *ctx, int file)
{
    struct log_remote *r = ctx;
    free(r->names[file]);
    r->names[file] = NULL;
}

static int remote_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    struct log_remote *r = ctx;
    *ret_len = 0;
    while (*ret_len < len) {
        const struct read_folder_response *response;
        int rc = ask_file(r, file, offset + *ret_len, len - *ret_len, &response);
        if (rc < 0) {
            return rc;
        }
        if (response->data.len <= 0) {
            break;
        }
        size_t got = (size_t)response->data.len < len - *ret_len ? (size_t)response->data.len : len - *ret_len;
        memcpy((uint8_t *)dst + *ret_len, response->data.ptr, got);
        *ret_len += got;
    }
    return MUSTER_E_OK;
}

static int remote_size(void *ctx, int file, uint64_t *ret_bytes)
{
    struct log_remote *r = ctx;
    const struct read_folder_response *response;
    int rc = ask_file(r, file, 0, 1, &response);
    if (rc == 0) {
        *ret_bytes = response->file_bytes > 0 ? (uint64_t)response->file_bytes : 0;
    }
    return rc;
}

static int remote_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    struct log_remote *r = ctx;
    const struct read_folder_response *response;
    int rc = ask(r, STR_NULL, 0, 1, &response);
    for (int32_t i = 0; rc == 0 && i < response->names.len; i++) {
        char name[64];
        if (response->names.v[i].len < (int32_t)sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", STR_ARG(response->names.v[i]));
            each(arg, name);
        }
    }
    return rc;
}

/* ---- beginning and end ---- */

static void remote_free(struct log_remote *r)
{
    for (int i = 0; i < FILES_MAX; i++) {
        free(r->names[i]);
    }
    arena_fini(&r->arena);
    client_fini(&r->client);
    free(r);
}

static int choose_node(struct log_remote *r, int64_t node_id)
{
    const void *answer;
    struct cluster_status_request request;
    const struct metadata_response *metadata;
    wire_init(&wire_cluster_status_request, &request);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    if (node_id < 0) {
        return client_any_call(&r->client, &call, &r->arena, &answer, &r->node);
    }
    int rc = client_metadata(&r->client, NULL, 0, &r->arena, &metadata);
    r->node = rc == 0 ? client_node_by_id(&r->client, (int32_t)node_id) : NULL;
    return rc;
}

int log_remote_open(struct cli *cli, int64_t node_id, struct log_folder *ret)
{
    struct log_remote *r = calloc(1, sizeof(*r));
    MUSTER_CHECK(r != NULL);
    r->cli = cli;
    arena_init(&r->arena, 0);
    int code = client_init(&r->client, cli->bootstrap, cli->timeout_ms) < 0 ? cli_fail(cli, CLI_USAGE, "%s", r->client.error) : CLI_OK;
    int rc = code == CLI_OK ? choose_node(r, node_id) : 0;
    if (rc < 0) {
        code = cli_client_failed(cli, &r->client, rc);
    } else if (code == CLI_OK && r->node == NULL) {
        code = cli_fail(cli, CLI_UNREACHABLE, "node %d cannot be reached, or there is none; --data DIR reads its data folder, or a copy",
                        (int)node_id);
    }
    if (code != CLI_OK) {
        remote_free(r);
        return code;
    }
    const struct store_port port = {
        .ctx = r, .open = remote_open, .close = remote_close, .read = remote_read, .size = remote_size, .list = remote_list};
    code = log_folder_open_port(cli, &port, ret);
    if (code != CLI_OK) {
        remote_free(r);
        return code;
    }
    ret->remote = r;
    return CLI_OK;
}

void log_remote_close(struct log_remote *r)
{
    if (r != NULL) {
        remote_free(r);
    }
}
