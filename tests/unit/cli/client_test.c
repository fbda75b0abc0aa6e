/* client_test.c: commands against a node that is made up: it moves coordinators, refuses, hangs and talks nonsense on demand. */
#include "run.h"

#include "made.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 32, NODE_ID = 7 };

struct fake {
    int listener;
    int port;
    pthread_t thread;
    atomic_bool stop;
    struct pollfd fds[CONNECTIONS_MAX + 1];
    int count;
    /* What to do. */
    atomic_int coordinator_missing; /* so many FindCoordinator are answered COORDINATOR_NOT_AVAILABLE */
    atomic_int not_coordinator;     /* so many DescribeGroups are answered NOT_COORDINATOR */
    atomic_int not_controller;      /* so many CreateTopics are answered NOT_CONTROLLER */
    atomic_int transfer_busy;       /* so many TransferShard are answered COORDINATOR_NOT_AVAILABLE */
    atomic_int transfer_in_vain;    /* so many after them are accepted, yet nothing changes */
    atomic_int not_serving;         /* so many ListGroups are answered COORDINATOR_LOAD_IN_PROGRESS once shard 1 was handed over */
    atomic_bool silent, garbage, close_on_create, kafka, list_loading, transferred;
    atomic_int creates;
    struct arena arena;
};

/* ---- answers ---- */

static const void *answer_versions(struct fake *f)
{
    static const int16_t keys[] = {API_KEY_METADATA,      API_KEY_FIND_COORDINATOR, API_KEY_DESCRIBE_GROUPS,        API_KEY_LIST_GROUPS,
                                   API_KEY_CREATE_TOPICS, API_KEY_OFFSET_FETCH,     API_KEY_LIST_OFFSETS,           API_KEY_CLUSTER_STATUS,
                                   API_KEY_LOG_READ,      API_KEY_TRANSFER_SHARD,   API_KEY_CONSUMER_GROUP_DESCRIBE};
    struct api_versions_response *r = ARENA_NEW(&f->arena, struct api_versions_response, 1);
    wire_init(&wire_api_versions_response, r);
    r->api_keys.v = ARENA_NEW(&f->arena, struct api_versions_response_api_version, COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct wire_msg *schema = wire_api_find(keys[i])->request;
        if (keys[i] < 20000 || !f->kafka) {
            r->api_keys.v[r->api_keys.len++] =
                (struct api_versions_response_api_version){keys[i], schema->min_version, schema->max_version};
        }
    }
    return r;
}

enum { WIDE = 60000 };

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
    r->controller_id = NODE_ID;
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

/* The end of every partition is 10 times its number and 5. */
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
            int32_t partition = request->topics.v[i].partitions.v[k].partition_index;
            r->topics.v[i].partitions.v[k] = (struct list_offsets_response_partition_response){.partition_index = partition,
                                                                                               .timestamp = -1,
                                                                                               .offset = partition * 10 + 5};
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

static const void *answer(struct fake *f, int16_t key, const void *request)
{
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

static int setup(void **state)
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

static int teardown(void **state)
{
    struct fake *f = *state;
    f->stop = true;
    pthread_join(f->thread, NULL);
    close(f->listener);
    arena_fini(&f->arena);
    free(f);
    return unsetenv("MUSTER_BOOTSTRAP");
}

/* ---- tests ---- */

static void a_coordinator_is_waited_for(void **state)
{
    struct fake *f = *state;
    f->coordinator_missing = 3;
    struct run r = run_cli("groups", "coordinator", "g", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.out, "7\n");
    run_fini(&r);
    f->coordinator_missing = 1 << 20;
    r = run_cli("groups", "coordinator", "g", "--timeout", "200", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "COORDINATOR_NOT_AVAILABLE"));
    run_fini(&r);
}

static void a_moved_coordinator_is_followed(void **state)
{
    struct fake *f = *state;
    f->not_coordinator = 2;
    struct run r = run_cli("groups", "describe", "g", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "g      classic  Empty"));
    assert_int_equal(f->not_coordinator, 0);
    run_fini(&r);
}

static void a_consumer_group_is_described(void **state)
{
    (void)state;
    struct run r = run_cli("groups", "describe", "moving", "--members", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "GROUP   TYPE      STATE        EPOCH  ASSIGNMENT-EPOCH  ASSIGNOR  #MEMBERS  COORDINATOR\n"
                                  "moving  consumer  Reconciling      5                 4  uniform          2  7 (127.0.0.1:"));
    assert_non_null(strstr(r.out, "PROTOCOL  EPOCH  TARGET-EPOCH  TOPICS       TOPIC-REGEX  ASSIGNMENT   TARGET\n"));
    assert_non_null(strstr(r.out, " classic       4             4  orders       -            -            orders[1]\n"));
    assert_non_null(strstr(r.out, " consumer      3             4  orders,wide  ord.*        orders[0,1]  orders[0]\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "moving", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "moving  orders          1               -              15    -  z            /h    c\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "moving", "g", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *groups = json_object_get(document, "groups"), *group = json_array_get(groups, 0);
    assert_int_equal(json_array_size(groups), 2);
    assert_int_equal(json_integer_value(json_object_get(group, "assignmentEpoch")), 4);
    json_t *z = json_array_get(json_object_get(group, "members"), 1);
    assert_string_equal(json_string_value(json_object_get(z, "memberType")), "consumer");
    assert_string_equal(json_string_value(json_object_get(z, "topicRegex")), "ord.*");
    assert_string_equal(json_string_value(json_object_get(z, "rackId")), "r1");
    assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(z, "assignment"), 0), "partitions")), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(z, "targetAssignment"), 0), "partitions")), 1);
    assert_null(json_object_get(json_array_get(groups, 1), "epoch")); /* a classic group */
    json_decref(document);
    run_fini(&r);
}

static void an_unknown_group_is_an_error(void **state)
{
    (void)state;
    struct run r = run_cli("groups", "describe", "none", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "muster: group 'none': GROUP_ID_NOT_FOUND: not here: none\n");
    run_fini(&r);
    r = run_cli("groups", "describe", "", NULL);
    assert_string_equal(r.err, "muster: group '': GROUP_ID_NOT_FOUND: not here: \n");
    run_fini(&r);
    r = run_cli("offsets", "list", "g", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "no committed offsets"));
    run_fini(&r);
}

/* Neither a name that somebody chose nor what a server says of it may reach the terminal as it is. */
static void messages_are_safe(void **state)
{
    struct fake *f = *state;
    struct run r = run_cli("groups", "describe", "red\x1b[31m", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.err, "muster: group 'red\\x1b[31m': GROUP_ID_NOT_FOUND: not here: red\\x1b[31m\n");
    run_fini(&r);
    f->coordinator_missing = 1 << 20;
    r = run_cli("groups", "describe", "bell\a\xff", "--timeout", "100", NULL);
    assert_non_null(strstr(r.err, "group 'bell\\x07\\xff' has no coordinator: none was elected in time\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "", "--timeout", "100", NULL);
    assert_non_null(strstr(r.err, "group '' has no coordinator: none was elected in time\n"));
    run_fini(&r);
}

static void another_controller_is_asked(void **state)
{
    struct fake *f = *state;
    f->not_controller = 2;
    struct run r = run_cli("topics", "create", "t", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(f->creates, 3);
    assert_non_null(strstr(r.out, "created"));
    run_fini(&r);
}

/* A change whose answer is lost is not sent again. */
static void a_lost_answer_is_told(void **state)
{
    struct fake *f = *state;
    f->close_on_create = true;
    struct run r = run_cli("topics", "create", "t", "--timeout", "2000", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_int_equal(f->creates, 1);
    assert_non_null(strstr(r.err, "may have been carried out"));
    run_fini(&r);
}

static void the_next_address_is_tried(void **state)
{
    struct fake *f = *state;
    char bootstrap[128];
    snprintf(bootstrap, sizeof(bootstrap), "127.0.0.1:1,127.0.0.1:%d", f->port);
    struct run r = run_cli("groups", "coordinator", "g", "--bootstrap", bootstrap, NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("groups", "coordinator", "g", "--bootstrap", "127.0.0.1:1", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "127.0.0.1:1: Connection refused"));
    run_fini(&r);
}

static void a_silent_node_is_given_up(void **state)
{
    struct fake *f = *state;
    f->silent = true;
    int64_t before = client_now_ms();
    struct run r = run_cli("topics", "list", "--timeout", "300", NULL);
    assert_true(client_now_ms() - before < 5000);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "no answer in time"));
    run_fini(&r);
}

static void a_foreign_protocol_is_told(void **state)
{
    struct fake *f = *state;
    f->garbage = true;
    struct run r = run_cli("groups", "list", "--timeout", "1000", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "not Kafka's protocol"));
    run_fini(&r);
}

static void a_node_of_another_kind_is_told(void **state)
{
    struct fake *f = *state;
    f->kafka = true;
    struct run r = run_cli("cluster", "status", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "it is not a muster node"));
    run_fini(&r);
}

static void offsets_are_set_against_the_ends(void **state)
{
    (void)state;
    struct run r = run_cli("offsets", "list", "--group", "behind", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.out, "GROUP   TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  LEADER-EPOCH  METADATA\n"
                               "behind  gone            0              10               -    -             -  m\n"
                               "behind  orders          0              10               5    0             -  m\n"
                               "behind  orders          1              10              15    5             -  m\n"
                               "behind  orders          2              10               -    -             -  m\n");
    run_fini(&r);
    r = run_cli("offsets", "list", "behind", "none-committed", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *offsets = json_object_get(json_array_get(json_object_get(document, "groups"), 0), "offsets");
    assert_int_equal(json_array_size(offsets), 4);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(offsets, 2), "lag")), 5);
    assert_true(json_is_null(json_object_get(json_array_get(offsets, 0), "logEndOffset")));
    json_decref(document);
    run_fini(&r);
}

/* The node does not offer DescribeConfigs: what it says otherwise is shown all the same. */
static void topics_are_described_with_their_ends(void **state)
{
    (void)state;
    struct run r = run_cli("topics", "describe", "orders", "nothing", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "topic 'nothing': UNKNOWN_TOPIC_OR_PARTITION"));
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *partitions = json_object_get(json_array_get(json_object_get(document, "topics"), 0), "partitions");
    assert_int_equal(json_array_size(partitions), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(partitions, 1), "logEndOffset")), 15);
    assert_true(json_is_null(json_object_get(json_array_get(partitions, 2), "leader")));
    json_decref(document);
    run_fini(&r);
}

/* In a time that is not the square of their number. */
static void many_partitions_are_described(void **state)
{
    (void)state;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct run r = run_cli("topics", "describe", "wide", NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < 10);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), WIDE + 4);
    assert_non_null(strstr(r.out, " 59999 "));
    run_fini(&r);
}

static bool serving(const char *text, size_t shard)
{
    json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    bool is = json_is_true(json_object_get(json_array_get(json_object_get(document, "shards"), shard), "serving"));
    json_decref(document);
    return is;
}

static void status_says_what_is_served(void **state)
{
    struct fake *f = *state;
    struct run r = run_cli("cluster", "status", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_true(serving(r.out, 0));
    assert_false(serving(r.out, 1));
    run_fini(&r);
    f->list_loading = true;
    r = run_cli("cluster", "status", "--json", NULL);
    assert_false(serving(r.out, 0));
    run_fini(&r);
    r = run_cli("cluster", "status", NULL);
    assert_non_null(strstr(r.out, "not serving"));
    assert_non_null(strstr(r.out, "no leader"));
    assert_non_null(strstr(r.out, "  p:3           unreachable      0  "));
    assert_non_null(strstr(r.err, "node 3: the other nodes have no connection to it"));
    run_fini(&r);
}

/* Neither a leader that is busy, nor one that gives up handing over, nor one that does not serve yet is the end. */
static void a_transfer_is_tried_until_the_shard_is_served(void **state)
{
    struct fake *f = *state;
    f->transfer_busy = 2;
    f->transfer_in_vain = 2;
    f->not_serving = 2;
    struct run r = run_cli("cluster", "transfer", "1", "--to", "7", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(f->transfer_busy, 0);
    assert_int_equal(f->transfer_in_vain, 0);
    assert_int_equal(f->not_serving, 0);
    run_fini(&r);
}

static void a_transfer_that_does_not_come_about_is_told(void **state)
{
    struct fake *f = *state;
    f->transfer_busy = 1 << 20;
    struct run r = run_cli("cluster", "transfer", "1", "--to", "7", "--timeout", "300", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "shard 1: COORDINATOR_NOT_AVAILABLE: A transfer of the shard is under way already."));
    run_fini(&r);
    f->transfer_busy = 0;
    f->not_serving = 1 << 20;
    r = run_cli("cluster", "transfer", "1", "--to", "7", "--timeout", "300", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "node 7 leads it but does not serve it yet"));
    run_fini(&r);
}

static void a_live_log_is_read_to_its_end(void **state)
{
    (void)state;
    struct run r = run_cli("log", "dump", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 1 + 2 + 2 + 1 + 1 + 1 + 1);
    assert_non_null(strstr(r.err, "shard 1: entries before 3 are no longer in the node"));
    run_fini(&r);
    r = run_cli("log", "dump", "--from", "5", "--to", "6", "--shard", "1", NULL);
    assert_int_equal(lines_of(r.out), 3);
    assert_string_equal(r.err, "");
    run_fini(&r);
    r = run_cli("log", "dump", "--group", "nobody", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "muster: the log holds no such record"));
    run_fini(&r);
    r = run_cli("log", "dump", "--shard", "9", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_coordinator_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moved_coordinator_is_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(an_unknown_group_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_consumer_group_is_described, setup, teardown),
        cmocka_unit_test_setup_teardown(messages_are_safe, setup, teardown),
        cmocka_unit_test_setup_teardown(another_controller_is_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(the_next_address_is_tried, setup, teardown),
        cmocka_unit_test_setup_teardown(a_silent_node_is_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(a_foreign_protocol_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_of_another_kind_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(offsets_are_set_against_the_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(topics_are_described_with_their_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(many_partitions_are_described, setup, teardown),
        cmocka_unit_test_setup_teardown(status_says_what_is_served, setup, teardown),
        cmocka_unit_test_setup_teardown(a_transfer_is_tried_until_the_shard_is_served, setup, teardown),
        cmocka_unit_test_setup_teardown(a_transfer_that_does_not_come_about_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_live_log_is_read_to_its_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
