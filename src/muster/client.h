/* client.h: a blocking client of Kafka's protocol. One connection to a node at a time it is needed, requests one after the other.
 *
 * Versions are agreed with each node by ApiVersions. Everything ends by the deadline given at the start; a node that does not answer within its
 * share of that time is given up for another. Answers lie in the arena of the call. */
#ifndef MUSTER_CLI_CLIENT_H
#define MUSTER_CLI_CLIENT_H

#include <muster/base.h>
#include <muster/messages.h>

enum { CLIENT_NODES_MAX = 64, CLIENT_APIS_MAX = 160, CLIENT_USER_BYTES = 48, CLIENT_ID_BYTES = 64 };

struct client_node {
    int32_t id; /* -1: an address of the bootstrap list */
    char host[256];
    int32_t port;
    int fd;      /* -1: not connected */
    bool failed; /* did not answer in this round */
    int api_count;
    struct client_api {
        int16_t key, min, max;
    } apis[CLIENT_APIS_MAX];
};

struct client_call;
struct client {
    struct client_node nodes[CLIENT_NODES_MAX];
    int node_count, bootstrap_count; /* the bootstrap addresses come first */
    int64_t deadline_ms;             /* monotonic */
    int64_t attempt_ms;              /* for one answer */
    int32_t correlation_id;
    int32_t controller; /* of the newest Metadata; -1: none */
    int shard_count;    /* 0: not asked for yet; -1: the cluster has none, or does not say */
    struct str cluster_id;
    /* Not NULL: requests are answered by this instead of by a node (log_past_client.c). 0 or VERSION. */
    int (*answer)(void *ctx, const struct client_call *call, struct arena *arena, const void **ret);
    void (*answer_close)(void *ctx);
    void *answer_ctx;
    char client_id[CLIENT_ID_BYTES]; /* "muster-cli/USER" */
    const char *from;                /* who named the bootstrap addresses, to be told when none answers; NULL: nothing is told */
    bool changing;                   /* the last request was one that changes something */
    char error[512];                 /* what failed and what to do, after any call that returned an error */
};

/* One request. `max_version` below the schema's own keeps to an older form; min_version is what the caller can work with. */
struct client_call {
    int16_t key;
    int16_t min_version, max_version; /* max -1: the newest the schema knows */
    const void *request;              /* the generated struct */
    bool changes;                     /* must not be sent twice: an answer that does not come is an error */
    bool idempotent;                  /* it changes something, and may be sent twice */
};

/* The user of this process, by name where there is one. */
void client_user(char *ret, size_t bytes);
/* Under which id requests are sent: brokers and the log name it. What is no letter, digit, dot, dash or underscore of the user's name becomes '_'. */
void client_id_of(const char *user, char *ret, size_t bytes);
/* 0 or INVALID (error says what is wrong with the list). No connection is made. */
int client_init(struct client *c, const char *bootstrap, int64_t timeout_ms);
void client_fini(struct client *c);
int64_t client_left_ms(const struct client *c);

/* All calls: 0; REFUSED nothing reached a node; NOT_LEADER nobody leads what it is for; CLOSED the request left and no answer came; VERSION the node does not offer it; MALFORMED. */
int client_node_call(struct client *c, struct client_node *node, const struct client_call *call, struct arena *arena, const void **ret);
/* Any node that answers, those connected first; with ret_node (may be NULL) saying which. */
int client_any_call(struct client *c, const struct client_call *call, struct arena *arena, const void **ret, struct client_node **ret_node);
/* Metadata: brokers become nodes, the controller is noted. topics NULL with count -1: all topics; count 0: none. Partitions are in order. */
int client_metadata(struct client *c, const struct str *topics, int count, struct arena *arena, const struct metadata_response **ret);
/* Of a topic of client_metadata; NULL when it has no such partition. */
const struct metadata_response_partition *client_partition(const struct metadata_response_topic *topic, int32_t partition);
struct client_node *client_node_by_id(struct client *c, int32_t id); /* NULL when not known */
/* The n-th broker of the newest Metadata, NULL behind the last. */
struct client_node *client_broker(struct client *c, int n);

/* Whether the error says that a shard's leader moved, loads or is missing: the same request may succeed a little later. */
bool client_coordinator_moves(int16_t error);

/* Waits a little before another attempt; false when the deadline leaves no room. The wait grows with the attempt. */
bool client_pause(const struct client *c, int attempt);

/* Sends to the group's coordinator, found anew as long as the answer's error says that it moved, loads or is missing, or it cannot be
 * reached. error_of picks that error out of the answer. */
typedef int16_t client_error_fn(const void *response);
int client_group_call(struct client *c, struct str group, const struct client_call *call, client_error_fn *error_of, struct arena *arena,
                      const void **ret);
/* 0, or a Kafka error code that outlasted the retries in *ret_error (0 then is returned too). */
int client_coordinator(struct client *c, struct str group, struct arena *arena, struct client_node **ret, int16_t *ret_error);
/* The same for the controller: NOT_CONTROLLER is tried again elsewhere. */
int client_controller_call(struct client *c, const struct client_call *call, client_error_fn *error_of, struct arena *arena,
                           const void **ret);

/* Whether the cluster's nodes are muster's, by what they offer. 0, or as client_any_call. */
int client_is_muster(struct client *c, struct arena *arena, bool *ret);
/* Into how many shards the cluster's groups are divided, asked for once; -1: it is no cluster of muster, or does not say. */
int client_shard_count(struct client *c);

/* Whether the node offers the API in a version from min on. Connects when needed. */
int client_offers(struct client *c, struct client_node *node, int16_t key, int16_t min_version, bool *ret);

/* ---- client_net.c: bytes ---- */

int64_t client_now_ms(void);
/* A connected socket, 0 or REFUSED with why in text. */
int net_connect(const char *host, int32_t port, int64_t deadline_ms, int *ret_fd, char *text, size_t text_bytes);
/* 0 or CLOSED. */
int net_send(int fd, struct bytes data, int64_t deadline_ms, char *text, size_t text_bytes);
/* One frame without its length word, into the arena. Each arriving byte extends the time to now + quiet_ms, up to limit_ms. 0, CLOSED, MALFORMED (too long). */
int net_receive(int fd, int64_t quiet_ms, int64_t limit_ms, struct arena *arena, struct bytes *ret, char *text, size_t text_bytes);

#endif
