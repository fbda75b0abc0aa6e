/* api.h: from frames to decisions and back. One small file per API key turns a decoded request into calls of coord, and the result into a response.
 *
 * Knows no sockets (net has them) and no rules of groups (coord asks the group library). Everything runs on the loop thread; nothing blocks. */
#ifndef MUSTER_API_H
#define MUSTER_API_H

#include <muster/coord.h>
#include <muster/net.h>

struct api;

/* Channels of replica_send that belong to api; coord has its own. */
enum api_channel {
    API_CHANNEL_FORWARD = 1,                     /* requests for shard 0's leader, and their answers */
    API_CHANNEL_APPLIED = 2                      /* has this node applied shard 0 up to there? */
};

struct api_peer { uint32_t node_id; struct str address; };

/* A read of this node's log files, which takes too long for the loop: made elsewhere, brought back by api_folder_done. */
enum { API_FILE_NAME_BYTES = 64 };
struct api_folder_read {
    char name[API_FILE_NAME_BYTES];              /* "": which files there are */
    uint64_t offset;
    uint32_t max_bytes;
    int result;                                  /* 0, NOT_FOUND, IO; set by the host as what follows */
    uint64_t file_bytes;
    struct buf data;                             /* bytes of the file, or names, each with a zero behind it; taken by api_folder_done */
};

struct api_options {
    uint32_t node_id;
    struct uuid cluster_id, incarnation;
    struct str advertised_host;                  /* where clients reach this node; like all strings here valid as long as the api */
    int32_t advertised_port;
    struct str peer_address, rack;               /* rack may be null */
    struct str version;                          /* of the program */
    const struct api_peer *peers;                /* the nodes that the cluster was formed with, as long as the catalogue has no members */
    size_t peer_count;
    struct str (*doing)(const void *ctx);        /* what this node does for the change of members that is under way, for people; NULL or null: nothing */
    const void *doing_ctx;
    bool auto_create_topics;                     /* auto.create.topics.enable */
    bool consumer_groups, streams_groups;        /* group.coordinator.rebalance.protocols names them */
    int64_t apply_wait_us;                       /* muster.catalog.apply.wait.ms: a change of topics or configs is answered when all connected nodes have
                                                    applied it, or after this time */
    int32_t request_max_groups;                  /* muster.request.max.groups: a request that names more closes its connection */
    int64_t backup_idle_us;                      /* muster.backup.idle.timeout.ms: a shard that is read for a backup is let go after such a pause */
    void (*read_folder)(void *ctx, struct api_folder_read *read);    /* NULL: log files are not given out */
    void *read_folder_ctx;
    int32_t folder_reads_max;                    /* muster.log.reads.max: at once; more are refused */
    int32_t request_max_topics;                  /* muster.request.max.topics: the same of topics */
    size_t response_max_bytes;                   /* muster.response.max.bytes: a request whose answer would be longer closes its connection */
    struct catalog_broker_values broker_values;  /* for DescribeConfigs */
    const struct group_settings *settings;
};

int  api_new(struct api **ret, const struct api_options *options, struct coord *coord);
void api_free(struct api *a);                    /* after coord_free and net_close: what still waits is this node's own, and dropped */

/* The handler for net: ctx is the api. */
void api_net_handler(struct api *a, struct net_handler *ret);

/* The clock of the turn. Before its first frame. */
void api_turn_begin(struct api *a, int64_t now_us);
/* Fires waits that are due (Fetch, forwarded requests), and tells peers what this node has applied. After the turn's requests were submitted. */
void api_turn_end(struct api *a);
int64_t api_next_deadline_us(const struct api *a);       /* INT64_MAX: none */
/* Whether something was submitted to coord since the last call: its turn has to be ended. */
bool api_take_submitted(struct api *a);

/* Messages of the two channels, and connections to peers. */
void api_message(struct api *a, uint32_t from, uint16_t channel, struct bytes data);
void api_peer_changed(struct api *a, uint32_t node, bool connected);

/* Makes this node known (RegisterNode) until the catalogue has it as it is; call it now and then. */
void api_register_self(struct api *a);
/* Whether the catalogue, as applied here, has this node as it is. */
bool api_is_registered(const struct api *a);

/* Makes topics as this node's own CreateTopics, wherever shard 0 is led, and answers when the connected nodes have applied it (at most apply_wait_us later).
 * failure: null when all of them are there, made by this or before; else "name (cause), ..." for people. done is called once, unless the api is freed first. */
typedef void api_created_fn(void *ctx, uint64_t token, struct str failure);
void api_create_topics_own(struct api *a, const struct create_topics_request *request, api_created_fn *done, void *ctx, uint64_t token);

/* On the loop, once for each read, unless the api has been freed. */
void api_folder_done(struct api *a, struct api_folder_read *read);

struct api_stats {
    uint64_t requests, errors, malformed, unsupported, forwarded, forward_failures, fetch_waits, folder_reads, folder_reads_refused, too_many_groups, too_many_topics, answers_too_large;
    uint64_t by_key[64], error_by_key[64];       /* in the order of api_key_at */
    uint64_t waiting;                            /* requests inside */
    uint64_t folder_reads_now;
};
void api_stats(const struct api *a, struct api_stats *ret);
size_t api_key_count(void);
int16_t api_key_at(size_t idx, const char **ret_name);

#endif
