/* server.h: a node, all its parts wired. Private to src/musterd. */
#ifndef MUSTERD_SERVER_H
#define MUSTERD_SERVER_H

#include <muster/api.h>
#include <muster/coord.h>
#include <muster/net.h>
#include <muster/ops.h>
#include <muster/raft_host.h>
#include <muster/store.h>
#include <uv.h>

#include "census.h"
#include "config.h"
#include "disk.h"
#include "members.h"
#include "notify.h"
#include "random.h"
#include "tally.h"

/* How the program ends; --help prints them. */
enum server_exit {
    SERVER_EXIT_OK = 0,
    SERVER_EXIT_USAGE = 2,
    SERVER_EXIT_CONFIG = 3,  /* the configuration is wrong, or does not fit the data folder */
    SERVER_EXIT_DATA = 4,    /* the data folder is in use, unwritable or damaged */
    SERVER_EXIT_NETWORK = 5, /* an address cannot be listened on */
    SERVER_EXIT_FORM = 6,    /* the cluster could not be formed */
    SERVER_EXIT_VERSION = 7, /* the data is of a feature level that this program does not know */
    SERVER_EXIT_REMOVED = 8, /* the node was removed from its cluster */
    SERVER_EXIT_FATAL = 70   /* stopped while running, to keep the data safe */
};

enum { TURN_SECONDS = 10, RAFT_PEERS_MAX = 32 };

/* The hooks of the loop: what is done before and after the events of one turn (turn.c). */
struct turn {
    uv_check_t check;
    uv_idle_t spin; /* while something is left to do: the loop does not sleep */
    uv_timer_t timer;
    bool open;         /* the clocks of this turn are set */
    int64_t opened_us; /* when they were */
    int64_t armed_us;  /* of the timer */
    struct ops_histogram took;
    int64_t longest_us[TURN_SECONDS]; /* of the turns of each of the last seconds; the present one's first */
};

/* How long other nodes take to answer a probe, by node. */
struct round_trips {
    uint32_t node[RAFT_PEERS_MAX]; /* 0: free */
    struct ops_histogram took[RAFT_PEERS_MAX];
};

struct server {
    uv_loop_t loop;
    const struct config *config;
    struct arena memory; /* of what lives as long as the server */
    struct random_pool random;
    struct store_port port;
    bool port_open;
    struct disk disk;             /* measures what the replica does with the port */
    struct store_port timed_port; /* ... through this one */
    struct round_trips round_trips;
    struct store_identity identity;
    struct form_server *forming; /* while the cluster is not formed */
    struct uv_replica *host;
    struct replica *replica;
    struct coord *coord;
    struct api *api;
    struct net *net;
    struct net_handler api_handler;
    struct ops *ops;
    int64_t started_wall_us;
    struct turn turn;
    struct members members;
    uv_timer_t housekeeping;
    struct tally tally;   /* of what was decided and who led, for the metrics */
    struct census census; /* metrics.c */
    int64_t census_us;    /* when the newest began; 0: none did */
    uv_timer_t counting;
    uv_signal_t term, interrupt;
    struct notify notify; /* manager.c */
    uv_timer_t watchdog;
    uv_timer_t leaving; /* while leadership is handed over before the end */
    int64_t leaving_until_us;
    uint8_t handed_over[256]; /* how often each shard was, before the end; muster.shards has no more */
    bool ending, register_soon;
    int exit_code;
};

/* Runs the node until it is told to end. Returns the exit code of the program; what was wrong is in the log. */
int server_run(const struct config *config);

/* ---- server.c ---- */
_Noreturn void server_fatal(const char *text);             /* nothing may be answered, written or sent any more */
_Noreturn void server_outdated(const char *text);          /* likewise: a newer program is needed */
void server_fail(struct server *s, enum server_exit code); /* ends what has begun and then the loop */

/* ---- node.c: the parts of a formed node ---- */
/* 0, or what is wrong is in the log and the exit code is returned. */
int node_open(struct server *s);
void node_close(struct server *s); /* ends with node_closed */
void node_free(struct server *s);

/* ---- data.c: the data folder ---- */
int data_open(struct server *s, bool *ret_formed);
/* Whether the folder's identity fits the configuration; else the exit code. */
int data_check_identity(struct server *s);
void data_form_config(const struct config *c, struct form_config *ret);
/* Where muster.peers says that the node is; dst stays as it is when it does not say. */
void data_configured_address(const struct config *c, uint32_t node, char *dst, size_t size);

/* ---- errands.c: what coord asks to be done outside ---- */
void errands_run_job(void *ctx, struct group_job *job);
void errands_create_topics(void *ctx, uint64_t token, const struct create_topics_request *request);

/* ---- folder.c: log files that somebody reads through this node ---- */
void folder_read(void *ctx, struct api_folder_read *read);

/* ---- turn.c ---- */
void turn_start(struct server *s);
void turn_stop(struct server *s);
void turn_open(struct server *s);            /* at the first event of a turn: the time is taken once */
void turn_wake(struct server *s);            /* from a timer: the loop must not sleep before the turn's end */
void turn_second(struct server *s);          /* once a second */
int64_t turn_lag_us(const struct server *s); /* the longest turn of the last ten seconds: so long a request may have lain unread */
int64_t server_now_us(void);

/* ---- admin.c: the admin port, what its probes ask ---- */
int admin_open(struct server *s);
void admin_close(struct server *s);
bool admin_disk_answers(const struct server *s);

/* ---- manager.c: what systemd is told ---- */
void manager_open(struct server *s); /* with init_handles */
void manager_ready(struct server *s);
void manager_stopping(struct server *s);
void manager_tell(struct server *s); /* how things stand, now and then */

/* ---- metrics.c, metrics_more.c: what it shows; ctx is the server ---- */
void metrics_put(void *ctx, struct buf *out);
bool metrics_health(void *ctx, struct buf *out);
void metrics_put_process(const struct server *s, struct buf *out);
void metrics_put_etcd(struct server *s, struct buf *out);
void metrics_put_kafka(struct server *s, struct buf *out);

/* ---- form.c ---- */
int form_run(const struct config *config);

#endif
