/* internal.h: private to src/api. README.md has the life of a request. */
#ifndef MUSTER_API_INTERNAL_H
#define MUSTER_API_INTERNAL_H

#include <muster/api.h>

/* Kafka's error codes that this layer itself gives. */
enum kafka_error {
    KAFKA_UNKNOWN_SERVER_ERROR = -1,
    KAFKA_NONE = 0,
    KAFKA_UNKNOWN_TOPIC_OR_PARTITION = 3,
    KAFKA_REQUEST_TIMED_OUT = 7,
    KAFKA_COORDINATOR_LOAD_IN_PROGRESS = 14,
    KAFKA_COORDINATOR_NOT_AVAILABLE = 15,
    KAFKA_NOT_COORDINATOR = 16,
    KAFKA_INVALID_TOPIC_EXCEPTION = 17,
    KAFKA_INVALID_GROUP_ID = 24,
    KAFKA_UNSUPPORTED_VERSION = 35,
    KAFKA_NOT_CONTROLLER = 41,
    KAFKA_INVALID_REQUEST = 42,
    KAFKA_POLICY_VIOLATION = 44,
    KAFKA_KAFKA_STORAGE_ERROR = 56,
    KAFKA_FETCH_SESSION_ID_NOT_FOUND = 70,
    KAFKA_FENCED_LEADER_EPOCH = 74,
    KAFKA_UNKNOWN_LEADER_EPOCH = 75,
    KAFKA_INVALID_FETCH_SESSION_EPOCH = 71,
    KAFKA_THROTTLING_QUOTA_EXCEEDED = 89,
    KAFKA_UNKNOWN_TOPIC_ID = 100,
    KAFKA_MISMATCHED_ENDPOINT_TYPE = 114,
    KAFKA_UNSUPPORTED_ENDPOINT_TYPE = 115,
    KAFKA_REBOOTSTRAP_REQUIRED = 129
};

/* The text that Kafka's error 42 carries when nobody gives another. */
#define INVALID_REQUEST_TEXT                                                                                                               \
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible "       \
    "broker. See the broker logs for more details."

/* What a principal may do when nothing is forbidden, as the bit fields of Kafka: the operations that exist for the resource. */
enum { OPERATIONS_OF_GROUP = 3400, OPERATIONS_OF_TOPIC = 3576, OPERATIONS_OF_CLUSTER = 8096 };

struct api_request;
typedef void api_handler(struct api_request *r);

struct api_row {
    int16_t key;
    bool holds; /* may wait long: what follows on the connection waits for it */
    api_handler *handle;
};
extern const struct api_row api_rows[];     /* by key */
bool api_yields(const struct api_row *row); /* may wait, until something follows */
extern const size_t api_row_count;

/* ---- waits.c: moments at which a request goes on -------------------------------------------------------------------------- */

struct api_wait {
    int64_t due_us;
    size_t at; /* in the heap; SIZE_MAX: not armed */
    void (*fire)(struct api_request *r);
};
struct wait_heap {
    struct api_request **v;
    size_t len, cap;
};

void wait_arm(struct api_request *r, int64_t due_us, void (*fire)(struct api_request *r)); /* replaces an earlier one */
void wait_cancel(struct api_request *r);
void waits_fire(struct api *a);
int64_t waits_next_us(const struct api *a);

/* ---- read_shard.c: shards that are being read for a backup ---- */
struct api_cut;
void cuts_expire(struct api *a); /* closes those that nobody reads any more */
int64_t cuts_next_us(const struct api *a);

/* ---- read_folder.c ---- */
struct folder_wait;
void folder_waits_drop(struct api *a); /* what the host would bring back is not waited for any more */

/* ---- a request ------------------------------------------------------------------------------------------------------------ */

/* Part of a request that concerns one group. */
struct api_part {
    struct coord_request coord;
    struct api_request *whole;
    int32_t idx;
    bool busy; /* coord has it */
};

/* The same question about many groups. group.c has how it is asked. */
struct api_fan {
    struct str (*group_of)(const struct api_request *r, int32_t idx);
    const void *(*request_of)(const struct api_request *r, int32_t idx);
    void (*join)(struct api_request *r);
    enum group_op_kind kind;
    const void **answers; /* by the place of their groups */
    const int32_t
        *first; /* of each place, where the same group was named first: it is asked about once; NULL: each place is its own question */
    int32_t count, next; /* next: the first that was not asked about yet */
    struct api_part *parts;
    int32_t part_count, parts_left; /* of the slice under way */
};

struct api_request {
    struct api *api;
    struct net_slot *slot; /* NULL: not from a client of this node */
    uint32_t from_node;    /* forwarded by that node, 0: no; then from_id names it there */
    uint64_t from_id;
    void (*sink)(struct api_request *r, const void *response); /* of this node's own requests; NULL response: it failed */
    struct arena *arena;
    struct arena own_arena; /* of requests without a slot */
    const struct api_row *row;
    const struct wire_api *wire;
    size_t row_idx;
    int16_t version;
    int32_t correlation_id;
    struct str client_id, host;
    const struct principal *principal;
    uint64_t connection;
    struct bytes frame;        /* header and body as they came */
    const void *request;       /* decoded */
    uint32_t refs;             /* calls that will come back to it; it ends when they have and it is answered */
    bool answered, gone, busy; /* busy: coord has `coord` */
    struct coord_request coord;
    struct api_fan *fan;
    void (*again)(struct api_request *r);
    struct api_wait wait;
    void *state; /* the handler's */
    /* controller.c */
    enum group_op_kind kind;
    int64_t deadline_us;
    uint64_t forward_id; /* 0: not under way to another node */
    uint32_t forward_node;
    bool await_applied; /* answer only when all nodes have applied it */
    void (*forward_failed)(struct api_request *r);
    int64_t catalog_deadline_us;
    struct api_request *forward_next;
    struct applied_wait *applied;
};

struct applied_wait;
struct applied_ask {
    uint32_t node;
    uint64_t token, index;
};

struct api {
    struct pool pool; /* of everything that outlives a request's arena */
    struct api_options options;
    struct coord *coord;
    int64_t now_us;
    char cluster_id[23];
    struct wait_heap waits;
    bool submitted;
    bool catalog_ready;           /* this node's copy of the catalogue has caught up once */
    uint64_t next_id;             /* of forwards and asks */
    struct api_request *forwards; /* under way to other nodes */
    struct applied_wait *applied_waits;
    struct applied_ask *asks;
    size_t ask_count, ask_cap;
    bool registering;
    struct api_cut *cuts;
    struct folder_wait *folder_waits; /* reads of log files that are under way */
    struct api_stats stats;
    struct log_gate malformed_gate, unsupported_gate, names_gate, answer_gate;
};

/* ---- dispatch.c ---- */
/* Decodes and runs a frame that did not come from a client's connection. *r has arena, api and destination set. MALFORMED, VERSION. */
int api_run_frame(struct api_request *r, struct bytes frame);
/* A request of this node's own, answered through sink. value is in version's form and is encoded before the call returns. */
void api_run_own(struct api *a, int16_t key, const void *value, void (*sink)(struct api_request *r, const void *response), void *state);
/* The same with a request that was made before. */
void api_run_value(struct api_request *r, int16_t key, const void *value, void (*sink)(struct api_request *r, const void *response),
                   void *state);
struct api_request *api_new_own(struct api *a); /* without a slot; for api_run_frame and api_run_value */
void api_drop_own(struct api_request *r);       /* one that api_run_frame did not take */
void api_ref(struct api_request *r);
void api_unref(struct api_request *r);

/* ---- answer.c ---- */
void api_answer(struct api_request *r, const void *response);     /* encodes it; once */
void api_answer_frame(struct api_request *r, struct bytes frame); /* already encoded, with length word and the request's correlation id */
void api_answer_close(struct api_request *r);                     /* closes the connection instead */
void api_drop(struct api_request *r);                             /* nobody waits for it any more */
void api_answer_too_large(struct api_request *r);                 /* says so in the log and closes */
void *api_response(struct api_request *r);                        /* an initialised response of the request's API, in the arena */

/* ---- group.c: requests about groups ---- */
void api_fill_coord(struct api_request *r, struct coord_request *c, enum group_op_kind kind, struct str group_id, const void *request);
/* Answers with what coord says; what belongs to a protocol that is not served is refused here. */
void api_group(struct api_request *r, enum group_op_kind kind, struct str group_id);
/* Whether so many groups are more than one request may name; then its connection is closed. */
bool api_too_many_groups(struct api_request *r, int32_t count);
bool api_too_many_topics(struct api_request *r, int32_t count); /* the same of topics */
/* The same question about many groups: group_of names each, join makes the answer of r->fan->answers. */
void api_fan_out(struct api_request *r, enum group_op_kind kind, int32_t count,
                 struct str (*group_of)(const struct api_request *r, int32_t idx),
                 const void *(*request_of)(const struct api_request *r, int32_t idx), void (*join)(struct api_request *r));
void api_cancel(struct api_request *r);

/* ---- controller.c: requests for shard 0's leader ---- */
void api_controller(struct api_request *r, enum group_op_kind kind, bool await_applied);
void controller_message(struct api *a, uint32_t from, struct bytes data);
/* The answer of a request that another node forwarded; frame null: this node cannot give it. */
void controller_answer_peer(struct api_request *r, struct bytes frame);
void controller_peer_lost(struct api *a, uint32_t node);
/* Sends the request as it came to the node; its answer becomes the request's. Uses up one reference, unless it fails: the node is not reachable, went away or
 * says that it cannot answer; then failed is called, which owns the reference again. */
void api_forward(struct api_request *r, uint32_t node, void (*failed)(struct api_request *r));

/* ---- applied.c ---- */
void applied_wait_begin(struct api_request *r, const void *response); /* answers it when all nodes have applied what this one has */
void applied_message(struct api *a, uint32_t from, struct bytes data);
void applied_answer_asks(struct api *a);
void applied_peer_lost(struct api *a, uint32_t node);

/* ---- brokers.c: who is in the cluster, and who serves what ---- */
struct broker {
    int32_t node_id;
    struct str host;
    int32_t port;
    struct str rack;
    bool fenced;
}; /* fenced: cannot be reached */
struct broker_list {
    struct broker *v;
    int32_t len;
};
struct broker_list api_all_brokers(struct api *a, struct arena *arena); /* by node id */
struct broker_list api_brokers(struct api *a, struct arena *arena);     /* those that can be reached; at least this node */
const struct broker *broker_find(const struct broker_list *list, uint32_t node_id);
int32_t api_controller_id(const struct api *a); /* -1: nobody leads */
const struct group_set *api_catalog(const struct api *a);
/* Whether the catalogue copy may be shown; else the request is asked again through `again` a little later, and shown as it is after a second. */
bool api_catalog_ready(struct api_request *r, void (*again)(struct api_request *r));
/* Partitions are spread over the nodes so that clients have somebody to ask; any node answers for any of them. */
struct placement {
    int32_t leader;
    struct int32_array replicas;
};
struct placement api_place(const struct broker_list *brokers, const struct catalog_topic *topic, int32_t partition, struct arena *arena);
bool topic_name_is_valid(struct str name);

/* ---- names.c ---- */
int32_t *names_in_order(const struct str *names, int32_t len, struct arena *arena); /* their places; equal ones in the order they came */
bool *names_repeated(const struct str *names, int32_t len, struct arena *arena);    /* whether the same name came before */
int32_t *names_first(const struct str *names, int32_t len, struct arena *arena);    /* the first place at which the same name stands */

/* ---- one file each ---- */
api_handler api_api_versions, api_metadata, api_find_coordinator, api_join_group, api_sync_group, api_heartbeat, api_leave_group,
    api_offset_commit, api_offset_fetch, api_offset_delete, api_list_groups, api_describe_groups, api_delete_groups, api_create_topics,
    api_create_partitions, api_delete_topics, api_incremental_alter_configs, api_set_end_offset, api_register_node, api_init_producer_id,
    api_describe_cluster, api_describe_topic_partitions, api_describe_configs, api_list_config_resources, api_list_partition_reassignments,
    api_list_offsets, api_fetch, api_offset_for_leader_epoch, api_produce, api_cluster_status, api_log_read, api_transfer_shard,
    api_streams_group_heartbeat, api_streams_group_describe, api_streams_group_topology_description_update, api_streams_group_initialize,
    api_streams_group_topology, api_change_member, api_cluster_members, api_upgrade_cluster, api_consumer_group_heartbeat,
    api_consumer_group_describe, api_read_folder, api_alter_group_offsets, api_read_shard, api_group_history;
/* A version of ApiVersions that this server does not know: the one case in which a client gets an answer all the same. */
void api_versions_unsupported(struct api_request *r);
bool api_versions_header_is_whole(struct bytes frame);

#endif
