#include "client.h"

#include "out.h"

#include <ctype.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPT_LEAST_MS = 1000, PAUSE_FIRST_MS = 20, PAUSE_MOST_MS = 500, DEFAULT_PORT = 9092 };

enum {
    KAFKA_COORDINATOR_LOAD_IN_PROGRESS = 14,
    KAFKA_COORDINATOR_NOT_AVAILABLE = 15,
    KAFKA_NOT_COORDINATOR = 16,
    KAFKA_NOT_CONTROLLER = 41
};

__attribute__((format(printf, 3, 4))) static int fail(struct client *c, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error, sizeof(c->error), format, args);
    va_end(args);
    return code;
}

/* ---- who asks ---- */

void client_user(char *ret, size_t bytes)
{
    const struct passwd *user = getpwuid(geteuid());
    if (user != NULL) {
        (void)snprintf(ret, bytes, "%s", user->pw_name);
    } else {
        (void)snprintf(ret, bytes, "uid-%u", (unsigned)geteuid());
    }
}

void client_id_of(const char *user, char *ret, size_t bytes)
{
    (void)snprintf(ret, bytes, "muster-cli/%s", user);
    for (char *at = strchr(ret, '/') + 1; *at != '\0'; at++) {
        if (!isalnum((unsigned char)*at) && strchr("._-", *at) == NULL) {
            *at = '_';
        }
    }
}

/* ---- nodes ---- */

/* "host:port", "host", "[v6]:port" into the node. */
static bool parse_address(const char *text, size_t len, struct client_node *node)
{
    const char *end = text + len;
    const char *colon = memrchr(text, ':', len);
    const char *host_end = colon != NULL ? colon : end;
    node->port = DEFAULT_PORT;
    if (len > 0 && text[0] == '[') {
        const char *bracket = memchr(text, ']', len);
        if (bracket == NULL || (bracket + 1 != end && bracket[1] != ':')) {
            return false;
        }
        colon = bracket + 1 != end ? bracket + 1 : NULL;
        host_end = bracket;
        text++;
    }
    if (colon != NULL) {
        char *stop;
        long port = strtol(colon + 1, &stop, 10);
        if (stop != end || stop == colon + 1 || port < 1 || port > 65535) {
            return false;
        }
        node->port = (int32_t)port;
    }
    size_t host_len = (size_t)(host_end - text);
    if (host_len == 0 || host_len >= sizeof(node->host)) {
        return false;
    }
    memcpy(node->host, text, host_len);
    node->host[host_len] = '\0';
    return true;
}

static int add_bootstrap(struct client *c, const char *text, size_t len)
{
    if (len == 0) {
        return MUSTER_E_OK;
    }
    if (c->node_count == CLIENT_NODES_MAX / 2) {
        return fail(c, MUSTER_E_INVALID, "--bootstrap names more than %d addresses", CLIENT_NODES_MAX / 2);
    }
    struct client_node *node = &c->nodes[c->node_count];
    *node = (struct client_node){.id = -1, .fd = -1};
    if (!parse_address(text, len, node)) {
        return fail(c, MUSTER_E_INVALID, "'%.*s' is not an address (--bootstrap HOST:PORT,HOST:PORT,...)", (int)len, text);
    }
    c->node_count++;
    return MUSTER_E_OK;
}

int client_init(struct client *c, const char *bootstrap, int64_t timeout_ms)
{
    char user[CLIENT_USER_BYTES];
    *c = (struct client){.controller = -1, .cluster_id = STR_NULL};
    client_user(user, sizeof(user));
    client_id_of(user, c->client_id, sizeof(c->client_id));
    const char *at = bootstrap;
    for (;;) {
        size_t len = strcspn(at, ",");
        int rc = add_bootstrap(c, at, len);
        if (rc < 0) {
            return rc;
        }
        if (at[len] == '\0') {
            break;
        }
        at += len + 1;
    }
    if (c->node_count == 0) {
        return fail(c, MUSTER_E_INVALID, "--bootstrap names no address");
    }
    c->bootstrap_count = c->node_count;
    c->deadline_ms = client_now_ms() + timeout_ms;
    c->attempt_ms = timeout_ms / 4 > ATTEMPT_LEAST_MS ? timeout_ms / 4 : ATTEMPT_LEAST_MS;
    return MUSTER_E_OK;
}

static void drop_connection(struct client_node *node)
{
    if (node->fd >= 0) {
        close(node->fd);
        node->fd = -1;
    }
    node->api_count = 0;
}

void client_fini(struct client *c)
{
    for (int i = 0; i < c->node_count; i++) {
        drop_connection(&c->nodes[i]);
    }
    c->node_count = 0;
    if (c->answer_close != NULL) {
        c->answer_close(c->answer_ctx);
        c->answer = NULL;
        c->answer_close = NULL;
    }
}

int64_t client_left_ms(const struct client *c)
{
    int64_t left = c->deadline_ms - client_now_ms();
    return left > 0 ? left : 0;
}

bool client_pause(const struct client *c, int attempt)
{
    int64_t wait = attempt < 5 ? (int64_t)PAUSE_FIRST_MS << attempt : PAUSE_MOST_MS;
    if (client_left_ms(c) <= wait) {
        return false;
    }
    struct timespec pause = {.tv_sec = wait / 1000, .tv_nsec = (wait % 1000) * 1000000};
    nanosleep(&pause, NULL);
    return true;
}

struct client_node *client_node_by_id(struct client *c, int32_t id)
{
    for (int i = c->bootstrap_count; i < c->node_count; i++) {
        if (c->nodes[i].id == id) {
            return &c->nodes[i];
        }
    }
    return NULL;
}

struct client_node *client_broker(struct client *c, int n)
{
    return c->bootstrap_count + n < c->node_count ? &c->nodes[c->bootstrap_count + n] : NULL;
}

/* Makes a broker known under its id and address; the connection to another address of it goes. */
static struct client_node *learn_node(struct client *c, int32_t id, struct str host, int32_t port)
{
    struct client_node *node = client_node_by_id(c, id);
    if (host.len <= 0 || (size_t)host.len >= sizeof(node->host)) {
        return NULL;
    }
    if (node == NULL) {
        if (c->node_count == CLIENT_NODES_MAX) {
            return NULL;
        }
        node = &c->nodes[c->node_count++];
        *node = (struct client_node){.id = id, .fd = -1};
    }
    if (node->port != port || !str_eq(str_of(node->host), host)) {
        drop_connection(node);
        memcpy(node->host, host.ptr, (size_t)host.len);
        node->host[host.len] = '\0';
        node->port = port;
        node->failed = false;
    }
    return node;
}

/* ---- one request ---- */

static int exchange(struct client *c, struct client_node *node, const struct wire_api *api, int16_t version, const void *request,
                    struct arena *arena, const void **ret)
{
    char text[256] = "";
    struct buf frame;
    int32_t id = c->correlation_id++;
    buf_init(&frame, 0);
    int rc = wire_frame_request(api, version, id, str_of(c->client_id), request, &frame);
    MUSTER_CHECK(rc == 0 && frame.len <= INT32_MAX);
    int64_t until = client_now_ms() + c->attempt_ms;
    until = until < c->deadline_ms ? until : c->deadline_ms;
    rc = net_send(node->fd, (struct bytes){frame.ptr, (int32_t)frame.len}, until, text, sizeof(text));
    buf_fini(&frame);
    struct bytes answer = BYTES_NULL;
    if (rc == 0) {
        rc = net_receive(node->fd, c->attempt_ms, c->deadline_ms, arena, &answer, text, sizeof(text));
    }
    if (rc < 0) {
        drop_connection(node);
        return fail(c, rc, "%s:%d: %s (%s)", node->host, node->port, text, api->name);
    }
    int32_t answered = 0;
    size_t used = 0;
    void *response = arena_get(arena, api->response->type->size);
    rc = wire_read_response_header(api, version, answer, &answered, &used);
    if (rc == 0) {
        struct bytes body = {answer.ptr + used, answer.len - (int32_t)used};
        rc = answered == id ? wire_decode(api->response, version, body, arena, response, NULL) : MUSTER_E_MALFORMED;
    }
    if (rc < 0) {
        drop_connection(node);
        return fail(c, MUSTER_E_MALFORMED, "%s:%d: the answer to %s version %d cannot be read", node->host, node->port, api->name, version);
    }
    *ret = response;
    return MUSTER_E_OK;
}

static int learn_versions(struct client *c, struct client_node *node)
{
    struct api_versions_request request;
    const void *answer = NULL;
    struct arena arena;
    wire_init(&wire_api_versions_request, &request);
    arena_init(&arena, 0);
    int rc = exchange(c, node, wire_api_find(API_KEY_API_VERSIONS), 0, &request, &arena, &answer);
    if (rc == 0) {
        const struct api_versions_response *response = answer;
        for (int32_t i = 0; i < response->api_keys.len && node->api_count < CLIENT_APIS_MAX; i++) {
            const struct api_versions_response_api_version *v = &response->api_keys.v[i];
            node->apis[node->api_count++] = (struct client_api){v->api_key, v->min_version, v->max_version};
        }
    }
    arena_fini(&arena);
    return rc;
}

static int ensure_connected(struct client *c, struct client_node *node)
{
    if (node->fd >= 0) {
        return MUSTER_E_OK;
    }
    char text[256] = "";
    int64_t until = client_now_ms() + c->attempt_ms;
    int rc = net_connect(node->host, node->port, until < c->deadline_ms ? until : c->deadline_ms, &node->fd, text, sizeof(text));
    if (rc < 0) {
        node->failed = true;
        return fail(c, rc, "%s:%d: %s", node->host, node->port, text);
    }
    rc = learn_versions(c, node);
    if (rc < 0) {
        size_t used = strlen(c->error);
        bool closed = rc == MUSTER_E_CLOSED && strstr(c->error, "closed the connection") != NULL;
        (void)snprintf(c->error + used, sizeof(c->error) - used, "%s", closed ? "; is it a port for clients, not for peers or TLS?" : "");
        drop_connection(node);
        node->failed = true;
        return MUSTER_E_REFUSED; /* what was wanted has not been sent */
    }
    return MUSTER_E_OK;
}

/* The newest version that node, schema and caller know; -1: none. */
static int16_t agree(const struct client_node *node, const struct client_call *call)
{
    const struct wire_msg *schema = wire_api_find(call->key)->request;
    int16_t most = call->max_version >= 0 ? call->max_version : schema->max_version;
    int16_t least = call->min_version > schema->min_version ? call->min_version : schema->min_version;
    for (int i = 0; i < node->api_count; i++) {
        if (node->apis[i].key == call->key) {
            most = most < node->apis[i].max ? most : node->apis[i].max;
            least = least > node->apis[i].min ? least : node->apis[i].min;
            return least <= most ? most : -1;
        }
    }
    return -1;
}

int client_offers(struct client *c, struct client_node *node, int16_t key, int16_t min_version, bool *ret)
{
    struct client_call call = {.key = key, .min_version = min_version, .max_version = -1};
    int rc = ensure_connected(c, node);
    if (rc == 0) {
        *ret = agree(node, &call) >= 0;
    }
    return rc;
}

int client_node_call(struct client *c, struct client_node *node, const struct client_call *call, struct arena *arena, const void **ret)
{
    const struct wire_api *api = wire_api_find(call->key);
    MUSTER_CHECK(api != NULL);
    if (c->answer != NULL) {
        return c->answer(c->answer_ctx, call, arena, ret) == 0 ? MUSTER_E_OK
                                                               : fail(c, MUSTER_E_VERSION, "the log does not say (%s)", api->name);
    }
    int rc = ensure_connected(c, node);
    if (rc < 0) {
        return rc;
    }
    int16_t version = agree(node, call);
    if (version < 0) {
        return fail(c, MUSTER_E_VERSION, "%s:%d does not offer %s in a version that this program speaks%s", node->host, node->port,
                    api->name, call->key >= 20000 ? ": it is not a muster node" : "");
    }
    c->changing = call->changes || call->idempotent;
    rc = exchange(c, node, api, version, call->request, arena, ret);
    node->failed = rc < 0;
    return rc;
}

/* ---- any node ---- */

/* The next node to ask: connected ones first, then those not tried yet. NULL: none is left. */
static struct client_node *choose_node(struct client *c)
{
    struct client_node *chosen = NULL;
    for (int i = 0; i < c->node_count; i++) {
        struct client_node *node = &c->nodes[i];
        if (!node->failed && (chosen == NULL || (chosen->fd < 0 && node->fd >= 0))) {
            chosen = node;
        }
    }
    return chosen;
}

int client_any_call(struct client *c, const struct client_call *call, struct arena *arena, const void **ret, struct client_node **ret_node)
{
    char tried[sizeof(c->error)] = "";
    int rc = MUSTER_E_REFUSED;
    for (int i = 0; i < c->node_count; i++) {
        c->nodes[i].failed = false;
    }
    for (struct client_node *node = choose_node(c); node != NULL; node = choose_node(c)) {
        rc = client_node_call(c, node, call, arena, ret);
        if (rc == 0 && ret_node != NULL) {
            *ret_node = node;
        }
        if (rc == 0 || rc == MUSTER_E_VERSION || (call->changes && rc != MUSTER_E_REFUSED)) {
            return rc;
        }
        node->failed = true;
        size_t used = strlen(tried);
        snprintf(tried + used, sizeof(tried) - used, "%s%.200s", used > 0 ? "; " : "", c->error);
        if (client_left_ms(c) == 0) {
            break;
        }
    }
    memcpy(c->error, tried, sizeof(c->error));
    return rc;
}

/* ---- metadata and coordinators ---- */

static bool is_listed(const struct metadata_response *response, int32_t id)
{
    for (int32_t i = 0; i < response->brokers.len; i++) {
        if (response->brokers.v[i].node_id == id) {
            return true;
        }
    }
    return false;
}

static void learn_brokers(struct client *c, const struct metadata_response *response)
{
    int kept = c->bootstrap_count;
    for (int i = c->bootstrap_count; i < c->node_count; i++) {
        if (is_listed(response, c->nodes[i].id)) {
            c->nodes[kept++] = c->nodes[i];
        } else {
            drop_connection(&c->nodes[i]);
        }
    }
    c->node_count = kept;
    for (int32_t i = 0; i < response->brokers.len; i++) {
        (void)learn_node(c, response->brokers.v[i].node_id, response->brokers.v[i].host, response->brokers.v[i].port);
    }
    c->controller = response->controller_id;
}

static int by_index(const void *a, const void *b)
{
    const struct metadata_response_partition *x = a, *y = b;
    return (x->partition_index > y->partition_index) - (x->partition_index < y->partition_index);
}

const struct metadata_response_partition *client_partition(const struct metadata_response_topic *topic, int32_t partition)
{
    struct metadata_response_partition key = {.partition_index = partition};
    if (topic->partitions.len <= 0) {
        return NULL;
    }
    return bsearch(&key, topic->partitions.v, (size_t)topic->partitions.len, sizeof(key), by_index);
}

/* From the node, NULL: from any. */
static int metadata_of(struct client *c, struct client_node *node, const struct str *topics, int count, struct arena *arena,
                       const struct metadata_response **ret)
{
    struct metadata_request request;
    const void *answer = NULL;
    wire_init(&wire_metadata_request, &request);
    request.allow_auto_topic_creation = false;
    request.topics.len = count;
    request.topics.v = ARENA_NEW(arena, struct metadata_request_topic, count > 0 ? count : 0);
    for (int i = 0; i < count; i++) {
        request.topics.v[i].name = topics[i];
    }
    struct client_call call = {.key = API_KEY_METADATA, .min_version = 4, .max_version = -1, .request = &request};
    int rc = node != NULL ? client_node_call(c, node, &call, arena, &answer) : client_any_call(c, &call, arena, &answer, NULL);
    if (rc < 0) {
        return rc;
    }
    const struct metadata_response *response = answer;
    learn_brokers(c, response);
    for (int32_t i = 0; i < response->topics.len; i++) {
        if (response->topics.v[i].partitions.len > 0) {
            qsort(response->topics.v[i].partitions.v, (size_t)response->topics.v[i].partitions.len,
                  sizeof(*response->topics.v[i].partitions.v), by_index);
        }
    }
    c->cluster_id = response->cluster_id;
    *ret = response;
    return MUSTER_E_OK;
}

int client_metadata(struct client *c, const struct str *topics, int count, struct arena *arena, const struct metadata_response **ret)
{
    return metadata_of(c, NULL, topics, count, arena, ret);
}

bool client_coordinator_moves(int16_t error)
{
    return error == KAFKA_COORDINATOR_LOAD_IN_PROGRESS || error == KAFKA_COORDINATOR_NOT_AVAILABLE || error == KAFKA_NOT_COORDINATOR;
}

/* One FindCoordinator, without another try. */
static int ask_coordinator(struct client *c, struct str group, struct arena *arena, struct client_node **ret, int16_t *ret_error)
{
    struct find_coordinator_request request;
    const void *answer;
    wire_init(&wire_find_coordinator_request, &request);
    request.coordinator_keys.v = &group;
    request.coordinator_keys.len = 1;
    struct client_call call = {.key = API_KEY_FIND_COORDINATOR, .min_version = 4, .max_version = -1, .request = &request};
    int rc = client_any_call(c, &call, arena, &answer, NULL);
    if (rc < 0) {
        return rc;
    }
    const struct find_coordinator_response *response = answer;
    if (response->coordinators.len != 1) {
        return fail(c, MUSTER_E_MALFORMED, "the answer to FindCoordinator names %d coordinators", response->coordinators.len);
    }
    const struct find_coordinator_response_coordinator *found = &response->coordinators.v[0];
    *ret_error = found->error_code;
    if (found->error_code == 0) {
        *ret = learn_node(c, found->node_id, found->host, found->port);
        if (*ret == NULL) {
            return fail(c, MUSTER_E_MALFORMED, "the coordinator's address cannot be used");
        }
    }
    return MUSTER_E_OK;
}

int client_coordinator(struct client *c, struct str group, struct arena *arena, struct client_node **ret, int16_t *ret_error)
{
    int rc;
    *ret_error = 0;
    for (int attempt = 0;; attempt++) {
        rc = ask_coordinator(c, group, arena, ret, ret_error);
        if (rc < 0 || !client_coordinator_moves(*ret_error) || !client_pause(c, attempt)) {
            return rc;
        }
    }
}

int client_group_call(struct client *c, struct str group, const struct client_call *call, client_error_fn *error_of, struct arena *arena,
                      const void **ret)
{
    for (int attempt = 0;; attempt++) {
        struct client_node *node = NULL;
        int16_t error = 0;
        int rc = client_coordinator(c, group, arena, &node, &error);
        if (rc < 0) {
            return rc;
        }
        if (error != 0) {
            return fail(c, MUSTER_E_NOT_LEADER, "group %.*s has no coordinator: %s", STR_ARG(out_quoted(group, arena)),
                        error == KAFKA_COORDINATOR_NOT_AVAILABLE ? "none was elected in time" : "the cluster refuses to name one");
        }
        rc = client_node_call(c, node, call, arena, ret);
        bool again =
            rc == MUSTER_E_REFUSED || (rc == MUSTER_E_CLOSED && !call->changes) || (rc == 0 && client_coordinator_moves(error_of(*ret)));
        if (!again || !client_pause(c, attempt)) {
            return rc;
        }
    }
}

/* Whoever answers may be cut off from the others: when it names no controller, the next one is asked in its place. */
static int find_controller(struct client *c, int attempt, struct arena *arena)
{
    const struct metadata_response *metadata;
    bool other = attempt > 0 && c->controller < 0;
    int rc = other ? metadata_of(c, &c->nodes[attempt % c->node_count], NULL, 0, arena, &metadata) : MUSTER_E_REFUSED;
    return rc == 0 ? rc : client_metadata(c, NULL, 0, arena, &metadata);
}

int client_controller_call(struct client *c, const struct client_call *call, client_error_fn *error_of, struct arena *arena,
                           const void **ret)
{
    for (int attempt = 0;; attempt++) {
        int rc = find_controller(c, attempt, arena);
        if (rc < 0) {
            return rc;
        }
        struct client_node *node = client_node_by_id(c, c->controller);
        if (c->controller < 0) {
            if (client_pause(c, attempt)) {
                continue;
            }
            return fail(c, MUSTER_E_NOT_LEADER, "no node leads the cluster: no majority of its nodes answers (muster cluster status)");
        }
        rc = node != NULL ? client_node_call(c, node, call, arena, ret) : client_any_call(c, call, arena, ret, NULL);
        bool again = rc == MUSTER_E_REFUSED || (rc == 0 && error_of(*ret) == KAFKA_NOT_CONTROLLER);
        if (!again || !client_pause(c, attempt)) {
            return rc;
        }
    }
}

int client_is_muster(struct client *c, struct arena *arena, bool *ret)
{
    const struct metadata_response *metadata;
    int rc = client_metadata(c, NULL, 0, arena, &metadata);
    if (rc < 0) {
        return rc;
    }
    rc = MUSTER_E_REFUSED;
    struct client_node *node = client_broker(c, 0);
    for (int n = 0; node != NULL && rc < 0; node = client_broker(c, ++n)) {
        rc = client_offers(c, node, API_KEY_CLUSTER_STATUS, 0, ret);
    }
    return rc;
}

int client_shard_count(struct client *c)
{
    struct cluster_status_request request;
    const void *answer = NULL;
    struct arena arena;
    if (c->shard_count != 0) {
        return c->shard_count;
    }
    wire_init(&wire_cluster_status_request, &request);
    arena_init(&arena, 0);
    struct client_call call = {.key = API_KEY_CLUSTER_STATUS, .max_version = -1, .request = &request};
    int rc = client_any_call(c, &call, &arena, &answer, NULL);
    const struct cluster_status_response *status = answer;
    c->shard_count = rc == 0 && status->error_code == 0 && status->shards.len > 0 ? status->shards.len : -1;
    arena_fini(&arena);
    return c->shard_count;
}
