/* fake_node.c: answers of a node that is made up, and the thread that gives them. */
#include "fake_node.h"

#include "made.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- answers ---- */

static const void *answer_versions(struct fake *f)
{
    static const int16_t keys[] = {API_KEY_METADATA,       API_KEY_FIND_COORDINATOR,        API_KEY_DESCRIBE_GROUPS,
                                   API_KEY_LIST_GROUPS,    API_KEY_CREATE_TOPICS,           API_KEY_OFFSET_FETCH,
                                   API_KEY_LIST_OFFSETS,   API_KEY_CLUSTER_STATUS,          API_KEY_LOG_READ,
                                   API_KEY_TRANSFER_SHARD, API_KEY_CONSUMER_GROUP_DESCRIBE, API_KEY_DESCRIBE_CONFIGS};
    struct api_versions_response *r = ARENA_NEW(&f->arena, struct api_versions_response, 1);
    wire_init(&wire_api_versions_response, r);
    r->api_keys.v = ARENA_NEW(&f->arena, struct api_versions_response_api_version, COUNT_OF(keys) + f->more_count);
    for (size_t i = 0; i < COUNT_OF(keys) + f->more_count; i++) {
        int16_t key = i < COUNT_OF(keys) ? keys[i] : f->more_keys[i - COUNT_OF(keys)];
        const struct wire_msg *schema = wire_api_find(key)->request;
        if (key < 20000 || !f->kafka) {
            r->api_keys.v[r->api_keys.len++] = (struct api_versions_response_api_version){key, schema->min_version, schema->max_version};
        }
    }
    return r;
}

/* The topic "orders" has partitions 0 to 2, "wide" has many, listed backwards; no other topic exists. */
static void add_topics(struct fake *f, const struct metadata_request *request, struct metadata_response *r)
{
    int32_t count = request->topics.len > 0 ? request->topics.len : 0;
    r->topics.v = ARENA_NEW(&f->arena, struct metadata_response_topic, count);
    r->topics.len = count;
    for (int32_t i = 0; i < count; i++) {
        struct metadata_response_topic *t = &r->topics.v[i];
        t->name = request->topics.v[i].name;
        bool wide = str_eq(t->name, STR("wide"));
        t->error_code = wide || str_eq(t->name, STR("orders")) ? 0 : 3;
        t->partitions.len = t->error_code == 0 ? 3 : 0;
        t->partitions.len = wide ? WIDE : t->partitions.len;
        t->partitions.v = ARENA_NEW(&f->arena, struct metadata_response_partition, t->partitions.len);
        for (int32_t k = 0; k < t->partitions.len; k++) {
            t->partitions.v[k] = (struct metadata_response_partition){.partition_index = k, .leader_id = k == 2 ? -1 : NODE_ID};
            if (wide) {
                t->partitions.v[k].partition_index = WIDE - 1 - k;
            }
        }
    }
}

static const void *answer_metadata(struct fake *f, const struct metadata_request *request)
{
    struct metadata_response *r = ARENA_NEW(&f->arena, struct metadata_response, 1);
    wire_init(&wire_metadata_response, r);
    r->brokers.v = ARENA_NEW(&f->arena, struct metadata_response_broker, 1);
    r->brokers.len = 1;
    r->brokers.v[0] = (struct metadata_response_broker){NODE_ID, STR("127.0.0.1"), f->port, STR_NULL};
    r->cluster_id = STR("made-up");
    r->controller_id = f->leaderless ? -1 : NODE_ID;
    add_topics(f, request, r);
    return r;
}

static bool counted(atomic_int *count)
{
    return atomic_load(count) > 0 && atomic_fetch_sub(count, 1) > 0;
}

static const void *answer_coordinator(struct fake *f, const struct find_coordinator_request *request)
{
    struct find_coordinator_response *r = ARENA_NEW(&f->arena, struct find_coordinator_response, 1);
    wire_init(&wire_find_coordinator_response, r);
    r->coordinators.v = ARENA_NEW(&f->arena, struct find_coordinator_response_coordinator, 1);
    r->coordinators.len = 1;
    r->coordinators.v[0] = (struct find_coordinator_response_coordinator){
        .key = request->coordinator_keys.v[0], .node_id = NODE_ID, .host = STR("127.0.0.1"), .port = f->port, .error_message = STR("")};
    if (counted(&f->coordinator_missing)) {
        r->coordinators.v[0] = (struct find_coordinator_response_coordinator){
            .key = request->coordinator_keys.v[0], .node_id = -1, .host = STR(""), .port = -1, .error_code = 15};
    }
    return r;
}

static const void *answer_describe(struct fake *f, const struct describe_groups_request *request)
{
    struct describe_groups_response *r = ARENA_NEW(&f->arena, struct describe_groups_response, 1);
    struct describe_groups_response_described_group *g = ARENA_NEW(&f->arena, struct describe_groups_response_described_group, 1);
    wire_init(&wire_describe_groups_response, r);
    r->groups.v = g;
    r->groups.len = 1;
    g->group_id = request->groups.v[0];
    g->error_message = STR_NULL;
    g->group_state = STR("Empty");
    g->protocol_type = STR("consumer");
    g->protocol_data = STR("");
    if (counted(&f->not_coordinator)) {
        g->error_code = 16;
    } else if (str_eq(g->group_id, STR("none")) || str_eq(g->group_id, STR("moving")) || g->group_id.len == 0 ||
               memchr(g->group_id.ptr, 27, (size_t)g->group_id.len) != NULL) {
        g->error_code = 69;
        g->error_message = arena_printf(&f->arena, "not here: %.*s", STR_ARG(g->group_id));
    }
    return r;
}

typedef struct consumer_group_describe_response_assignment assigned;

/* One topic; count 0: nothing. */
static assigned partitions_of(struct fake *f, const char *topic, int32_t first, int32_t count)
{
    assigned a = {.topic_partitions = {.len = count > 0 ? 1 : 0}};
    a.topic_partitions.v = ARENA_NEW(&f->arena, struct consumer_group_describe_response_topic_partitions, 1);
    a.topic_partitions.v[0].topic_name = str_of(topic);
    a.topic_partitions.v[0].partitions = (struct int32_array){ARENA_NEW(&f->arena, int32_t, count), count};
    for (int32_t i = 0; i < count; i++) {
        a.topic_partitions.v[0].partitions.v[i] = first + i;
    }
    return a;
}

/* The group "moving" is a consumer group: its member z is to give orders 1 up for a, which speaks the classic protocol yet. */
static const void *answer_consumer_describe(struct fake *f, const struct consumer_group_describe_request *request)
{
    struct consumer_group_describe_response *r = ARENA_NEW(&f->arena, struct consumer_group_describe_response, 1);
    struct consumer_group_describe_response_described_group *g =
        ARENA_NEW(&f->arena, struct consumer_group_describe_response_described_group, 1);
    wire_init(&wire_consumer_group_describe_response, r);
    wire_init_type(wire_consumer_group_describe_response.type->fields[1].type, g);
    r->groups.v = g;
    r->groups.len = 1;
    g->group_id = request->group_ids.v[0];
    g->error_code = str_eq(g->group_id, STR("moving")) ? 0 : 69;
    if (g->error_code != 0) {
        return r;
    }
    static struct str names[] = {{"orders", 6}, {"wide", 4}};
    struct consumer_group_describe_response_member *m = ARENA_NEW(&f->arena, struct consumer_group_describe_response_member, 2);
    m[0] = (struct consumer_group_describe_response_member){.member_id = STR("z"),
                                                            .instance_id = STR_NULL,
                                                            .rack_id = STR("r1"),
                                                            .member_epoch = 3,
                                                            .client_id = STR("c"),
                                                            .client_host = STR("/h"),
                                                            .subscribed_topic_names = {names, 2},
                                                            .subscribed_topic_regex = STR("ord.*"),
                                                            .assignment = partitions_of(f, "orders", 0, 2),
                                                            .target_assignment = partitions_of(f, "orders", 0, 1),
                                                            .member_type = MEMBER_CONSUMER};
    m[1] = (struct consumer_group_describe_response_member){.member_id = STR("a"),
                                                            .instance_id = STR("i"),
                                                            .rack_id = STR_NULL,
                                                            .member_epoch = 4,
                                                            .client_id = STR("c"),
                                                            .client_host = STR("/h"),
                                                            .subscribed_topic_names = {names, 1},
                                                            .subscribed_topic_regex = STR(""),
                                                            .target_assignment = partitions_of(f, "orders", 1, 1),
                                                            .member_type = MEMBER_CLASSIC};
    g->group_state = STR("Reconciling");
    g->group_epoch = 5;
    g->assignment_epoch = 4;
    g->assignor_name = STR("uniform");
    g->members.v = m;
    g->members.len = 2;
    return r;
}

static const void *answer_list(struct fake *f)
{
    struct list_groups_response *r = ARENA_NEW(&f->arena, struct list_groups_response, 1);
    wire_init(&wire_list_groups_response, r);
    r->error_code = f->list_loading || (f->transferred && counted(&f->not_serving)) ? 14 : 0;
    return r;
}

/* Hands shard 1, which nobody leads, to this node. */
static const void *answer_transfer(struct fake *f)
{
    struct transfer_shard_response *r = ARENA_NEW(&f->arena, struct transfer_shard_response, 1);
    wire_init(&wire_transfer_shard_response, r);
    if (counted(&f->transfer_busy)) {
        r->error_code = 15;
        r->error_message = STR("A transfer of the shard is under way already.");
    } else {
        f->transferred = !counted(&f->transfer_in_vain);
    }
    return r;
}

static const void *answer_create(struct fake *f, const struct create_topics_request *request)
{
    struct create_topics_response *r = ARENA_NEW(&f->arena, struct create_topics_response, 1);
    wire_init(&wire_create_topics_response, r);
    f->creates++;
    r->topics.v = ARENA_NEW(&f->arena, struct create_topics_response_creatable_topic_result, 1);
    r->topics.len = 1;
    r->topics.v[0] = (struct create_topics_response_creatable_topic_result){.name = request->topics.v[0].name,
                                                                            .topic_id = {{1}},
                                                                            .error_message = STR_NULL,
                                                                            .num_partitions = 4};
    if (counted(&f->not_controller)) {
        r->topics.v[0].error_code = 41;
    }
    return r;
}

/* Group "behind" has committed orders 1, 0 and 2, and a partition of a topic that is gone. */
static const void *answer_offsets(struct fake *f, const struct offset_fetch_request *request)
{
    static const int32_t partitions[] = {1, 0, 2};
    struct offset_fetch_response *r = ARENA_NEW(&f->arena, struct offset_fetch_response, 1);
    struct offset_fetch_response_group *g = ARENA_NEW(&f->arena, struct offset_fetch_response_group, 1);
    wire_init(&wire_offset_fetch_response, r);
    r->groups.v = g;
    r->groups.len = 1;
    g->group_id = request->groups.v[0].group_id;
    if (!str_eq(g->group_id, STR("behind"))) {
        return r;
    }
    g->topics.v = ARENA_NEW(&f->arena, struct offset_fetch_response_topics, 2);
    g->topics.len = 2;
    for (int32_t i = 0; i < 2; i++) {
        struct offset_fetch_response_topics *t = &g->topics.v[i];
        t->name = i == 0 ? STR("orders") : STR("gone");
        t->partitions.len = i == 0 ? 3 : 1;
        t->partitions.v = ARENA_NEW(&f->arena, struct offset_fetch_response_partitions, t->partitions.len);
        for (int32_t k = 0; k < t->partitions.len; k++) {
            t->partitions.v[k] = (struct offset_fetch_response_partitions){.partition_index = i == 0 ? partitions[k] : 0,
                                                                           .committed_offset = 10,
                                                                           .committed_leader_epoch = -1,
                                                                           .metadata = STR("m")};
        }
    }
    return r;
}

/* The end of every partition is 10 times its number and 5; of a moment a moved leader does not tell. */
static const void *answer_ends(struct fake *f, const struct list_offsets_request *request)
{
    struct list_offsets_response *r = ARENA_NEW(&f->arena, struct list_offsets_response, 1);
    wire_init(&wire_list_offsets_response, r);
    r->topics.len = request->topics.len;
    r->topics.v = ARENA_NEW(&f->arena, struct list_offsets_response_topic_response, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        int32_t count = request->topics.v[i].partitions.len;
        r->topics.v[i].name = request->topics.v[i].name;
        r->topics.v[i].partitions.len = count;
        r->topics.v[i].partitions.v = ARENA_NEW(&f->arena, struct list_offsets_response_partition_response, count);
        for (int32_t k = 0; k < count; k++) {
            const struct list_offsets_request_partition *p = &request->topics.v[i].partitions.v[k];
            r->topics.v[i].partitions.v[k] = (struct list_offsets_response_partition_response){.partition_index = p->partition_index,
                                                                                               .timestamp = -1,
                                                                                               .offset = p->partition_index * 10 + 5};
            r->topics.v[i].partitions.v[k].error_code = f->moved_leader && p->timestamp >= 0 ? 6 : 0;
        }
    }
    return r;
}

static const void *answer_status(struct fake *f)
{
    struct cluster_status_response *r = ARENA_NEW(&f->arena, struct cluster_status_response, 1);
    wire_init(&wire_cluster_status_response, r);
    r->cluster_id = STR("made-up");
    r->node_id = NODE_ID;
    r->version = STR("9");
    r->nodes.v = ARENA_NEW(&f->arena, struct cluster_status_response_node_status, 2);
    r->nodes.len = 2;
    r->nodes.v[1] = (struct cluster_status_response_node_status){.node_id = 3, .host = STR(""), .port = -1, .peer_address = STR("p:3")};
    r->nodes.v[0] = (struct cluster_status_response_node_status){.node_id = NODE_ID, .host = STR("h"), .peer_address = STR("p:1")};
    r->shards.v = ARENA_NEW(&f->arena, struct cluster_status_response_shard_status, 2);
    r->shards.len = 2;
    r->shards.v[0] = (struct cluster_status_response_shard_status){.shard = 0, .role = 2, .leader = NODE_ID, .term = 3, .commit_index = 5};
    r->shards.v[1] = (struct cluster_status_response_shard_status){.shard = 1, .role = 0, .leader = -1, .term = 2};
    if (f->transferred) {
        r->shards.v[1] = (struct cluster_status_response_shard_status){.shard = 1, .role = 2, .leader = NODE_ID, .term = 3};
    }
    return r;
}

/* Shard 1 has the made story's entries 3 to 8, two with each answer. */
static const void *answer_log(struct fake *f, const struct log_read_request *request)
{
    struct log_read_response *r = ARENA_NEW(&f->arena, struct log_read_response, 1);
    wire_init(&wire_log_read_response, r);
    r->last_index = request->from_index - 1;
    r->first_index = 3;
    r->entries.v = ARENA_NEW(&f->arena, struct log_read_response_entry, 2);
    int64_t from = request->from_index > 3 ? request->from_index : 3;
    for (int64_t i = from; request->shard == 1 && i <= MADE_LAST && i < from + 2; i++) {
        struct store_record entry = made_entry(&f->arena, 1, (uint64_t)i, 2);
        r->entries.v[r->entries.len++] = (struct log_read_response_entry){i, 2, 1, entry.payload};
        r->last_index = i;
    }
    return r;
}

/* The group "moving" is protected. Kafka leaves out configs that it does not know. */
static const void *answer_configs(struct fake *f, const struct describe_configs_request *request)
{
    struct describe_configs_response *r = ARENA_NEW(&f->arena, struct describe_configs_response, 1);
    struct describe_configs_response_result *result = ARENA_NEW(&f->arena, struct describe_configs_response_result, 1);
    struct describe_configs_response_resource_result *config = ARENA_NEW(&f->arena, struct describe_configs_response_resource_result, 1);
    wire_init(&wire_describe_configs_response, r);
    assert_int_equal(request->resources.len, 1);
    const struct describe_configs_request_resource *resource = &request->resources.v[0];
    if (resource->resource_type != 32) {
        return r;
    }
    config->name = STR("muster.protected");
    config->value = str_eq(resource->resource_name, STR("moving")) ? STR("true") : STR("false");
    result->resource_type = 32;
    result->resource_name = resource->resource_name;
    result->error_message = STR_NULL;
    result->configs.v = config;
    result->configs.len = f->kafka ? 0 : 1;
    r->results.v = result;
    r->results.len = 1;
    return r;
}

static const void *answer(struct fake *f, int16_t key, const void *request)
{
    const void *more = f->more != NULL ? f->more(f, key, request) : NULL;
    if (more != NULL) {
        return more;
    }
    switch (key) {
    case API_KEY_API_VERSIONS:
        return answer_versions(f);
    case API_KEY_METADATA:
        return answer_metadata(f, request);
    case API_KEY_FIND_COORDINATOR:
        return answer_coordinator(f, request);
    case API_KEY_DESCRIBE_GROUPS:
        return answer_describe(f, request);
    case API_KEY_CONSUMER_GROUP_DESCRIBE:
        return answer_consumer_describe(f, request);
    case API_KEY_LIST_GROUPS:
        return answer_list(f);
    case API_KEY_CREATE_TOPICS:
        return answer_create(f, request);
    case API_KEY_OFFSET_FETCH:
        return answer_offsets(f, request);
    case API_KEY_LIST_OFFSETS:
        return answer_ends(f, request);
    case API_KEY_CLUSTER_STATUS:
        return answer_status(f);
    case API_KEY_LOG_READ:
        return answer_log(f, request);
    case API_KEY_DESCRIBE_CONFIGS:
        return answer_configs(f, request);
    case API_KEY_TRANSFER_SHARD:
        return answer_transfer(f);
    default:
        return NULL;
    }
}

/* ---- the node ---- */

static bool read_all(int fd, void *dst, size_t len)
{
    return recv(fd, dst, len, MSG_WAITALL) == (ssize_t)len;
}

/* One request and its answer; false ends the connection. */
static bool serve(struct fake *f, int fd)
{
    uint8_t head[4];
    struct wire_request_header header;
    size_t used = 0;
    struct buf out;
    if (!read_all(fd, head, 4)) {
        return false;
    }
    arena_clear(&f->arena);
    struct bytes frame = {arena_get(&f->arena, get_be32(head)), (int32_t)get_be32(head)};
    if (!read_all(fd, (void *)(uintptr_t)frame.ptr, (size_t)frame.len) || f->silent) {
        return f->silent;
    }
    if (f->garbage) {
        return send(fd, "HTTP/1.1 400 Bad Request", 24, MSG_NOSIGNAL) == 24;
    }
    assert_int_equal(wire_read_request_header(frame, &header, &used), 0);
    snprintf(f->client_id, sizeof(f->client_id), "%.*s", STR_ARG(header.client_id));
    const struct wire_api *api = wire_api_find(header.api_key);
    void *request = arena_get(&f->arena, api->request->type->size);
    struct bytes body = {frame.ptr + used, frame.len - (int32_t)used};
    assert_int_equal(wire_decode(api->request, header.api_version, body, &f->arena, request, NULL), 0);
    const void *response = answer(f, header.api_key, request);
    if (response == NULL || (header.api_key == API_KEY_CREATE_TOPICS && f->close_on_create)) {
        return false;
    }
    buf_init(&out, 0);
    assert_int_equal(wire_frame_response(api, header.api_version, header.correlation_id, response, &out), 0);
    bool sent = send(fd, out.ptr, out.len, MSG_NOSIGNAL) == (ssize_t)out.len;
    buf_fini(&out);
    return sent;
}

static void *run_fake(void *arg)
{
    struct fake *f = arg;
    while (!f->stop) {
        if (poll(f->fds, (nfds_t)f->count, 20) <= 0) {
            continue;
        }
        for (int i = f->count - 1; i > 0; i--) {
            if (f->fds[i].revents != 0 && !serve(f, f->fds[i].fd)) {
                close(f->fds[i].fd);
                f->fds[i] = f->fds[--f->count];
            }
        }
        if (f->fds[0].revents != 0 && f->count <= CONNECTIONS_MAX) {
            f->fds[f->count++] = (struct pollfd){.fd = accept(f->listener, NULL, NULL), .events = POLLIN};
        }
    }
    for (int i = 1; i < f->count; i++) {
        close(f->fds[i].fd);
    }
    return NULL;
}

void fake_more(struct fake *f, fake_more_fn *more, const int16_t *keys, size_t count)
{
    f->more = more;
    f->more_keys = keys;
    f->more_count = count;
}

int fake_setup(void **state)
{
    struct fake *f = calloc(1, sizeof(*f));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    assert_non_null(f);
    arena_init(&f->arena, 0);
    f->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(f->listener, 16), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &len), 0);
    f->port = ntohs(address.sin_port);
    f->fds[0] = (struct pollfd){.fd = f->listener, .events = POLLIN};
    f->count = 1;
    char bootstrap[64];
    snprintf(bootstrap, sizeof(bootstrap), "127.0.0.1:%d", f->port);
    assert_int_equal(setenv("MUSTER_BOOTSTRAP", bootstrap, 1), 0);
    assert_int_equal(pthread_create(&f->thread, NULL, run_fake, f), 0);
    *state = f;
    return 0;
}

int fake_teardown(void **state)
{
    struct fake *f = *state;
    f->stop = true;
    pthread_join(f->thread, NULL);
    close(f->listener);
    arena_fini(&f->arena);
    free(f);
    return unsetenv("MUSTER_BOOTSTRAP");
}
