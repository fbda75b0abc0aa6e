/* group.h: the pure library. What a group is, what a request does to it, what a record means.
 *
 * decide says what happened and what to answer, and changes nothing; apply changes the state and decides nothing and cannot fail. Between them
 * stands the replicated log. No clock, I/O, heap of its own (struct pool is handed in), randomness or floating point: whatever cannot be repeated
 * enters through struct group_op and is written into a record. The server, the simulator, the fuzzers and the CLI's replay run this code.
 *
 * One struct group_set is the whole state of one shard: its groups with members and offsets, and, in shard 0, the catalogue (topics, configs, nodes). */
#ifndef MUSTER_GROUP_H
#define MUSTER_GROUP_H

#include <muster/base.h>
#include <muster/wire.h>
#include <muster/messages.h>

struct group_set;

/* ---- what decide is told ----------------------------------------------------------------------------------------------- */

/* The one interface through which group logic sees topics (the embedded catalogue now; an upstream cluster later). */
struct topic_view { struct str name; struct uuid id; int32_t partitions; };
struct topics {
    const void *ctx;
    bool (*by_name)(const void *ctx, struct str name, struct topic_view *ret);
    bool (*by_id)(const void *ctx, struct uuid id, struct topic_view *ret);
    /* Whether a topic of that id was deleted (and not merely never seen). */
    bool (*was_deleted)(const void *ctx, struct uuid id);
    /* The first topic after the name in order of names; null: the first of all. For regular expressions. */
    bool (*next)(const void *ctx, struct str after, struct topic_view *ret);
};

/* Broker settings, from the node's configuration. Times in ms, sizes in bytes; defaults are Kafka's. */
struct group_settings {
    int32_t initial_rebalance_delay_ms;          /* group.initial.rebalance.delay.ms, 3000 */
    int32_t min_session_timeout_ms;              /* 6000 */
    int32_t max_session_timeout_ms;              /* 1800000 */
    int32_t new_member_join_timeout_ms;          /* 300000: a member of a first join that has not been answered */
    int32_t group_max_size;                      /* group.max.size */
    int32_t max_protocols;                       /* muster.classic.max.protocols: that one JoinGroup may name; 0: no bound */
    int32_t offset_metadata_max_bytes;           /* 4096 */
    int64_t offsets_retention_ms;                /* offsets.retention.minutes */
    int32_t default_partitions;                  /* num.partitions */
    int16_t default_replication_factor;
    int32_t max_partitions_per_topic;
    int32_t max_topics;
    int32_t node_count;                          /* bounds replication factors, as brokers do */
    bool    commit_owned_only;                   /* muster.classic.commit.owned.only */
    bool    rebalance_on_partition_change;       /* muster.classic.rebalance.on.partition.change */
    struct streams_settings {                    /* group.streams.*: what a group's own configs fall back to */
        int32_t session_timeout_ms;              /* 45000 */
        int32_t heartbeat_interval_ms;           /* 5000 */
        int32_t hold_ms;                         /* 0: how long the heartbeat of a settled member may be held; 0: not at all */
        int32_t assignment_interval_ms;          /* 1000: least time between two assignments */
        int32_t initial_rebalance_delay_ms;      /* 3000: from the first join of an empty group to its assignment */
        int32_t max_size;                        /* members of a group */
        int32_t num_standby_replicas;            /* 0 */
        int32_t num_warmup_replicas;             /* 2 */
        int64_t acceptable_recovery_lag;         /* 10000 records */
        int32_t task_offset_interval_ms;         /* 60000 */
        struct str rack_aware_assignment_tags;   /* "": keys of client tags, comma-separated */
        bool    assignor_offload;                /* true: the assignor runs beside the loop, as a job */
        int32_t initialize_timeout_ms;           /* muster.streams.initialize.timeout.ms: how long the member that was asked may take; -1: its rebalance timeout */
        /* What a group's own configs may be: group.streams.min.session.timeout.ms and its like. Kafka's defaults: 45000 to 60000, 5000 to 15000, 0 to 15000,
         * at most 2, at most 20, at least 15000. */
        int32_t min_session_timeout_ms, max_session_timeout_ms, min_heartbeat_interval_ms, max_heartbeat_interval_ms;
        int32_t min_assignment_interval_ms, max_assignment_interval_ms, max_standby_replicas, max_warmup_replicas, min_task_offset_interval_ms;
        int32_t max_subtopologies, max_topology_topics;   /* bounds of a topology that is accepted */
    } streams;
    struct consumer_settings {                   /* group.consumer.*: what a group's own configs fall back to */
        int32_t session_timeout_ms;              /* 45000 */
        int32_t heartbeat_interval_ms;           /* 5000 */
        int32_t hold_ms;                         /* 5000: how long the heartbeat of a settled member may be held; 0: not at all */
        int32_t assignment_interval_ms;          /* 1000: least time between two assignments */
        int32_t max_size;                        /* members of a group */
        struct str assignors;                    /* "uniform,range": by name, comma-separated; the first is what members get that name none */
        bool assignor_offload;                   /* true: the assignor runs beside the loop, as a job */
        int32_t regex_refresh_interval_ms;       /* 600000: how old the matches of a regular expression may become */
        bool upgrade, downgrade;                 /* group.consumer.migration.policy: what classic groups may become, and consumer groups */
        int32_t max_subscribed_topics;           /* bound of what one member may name: muster.group.max.subscribed.topics */
        int32_t max_regexes;                     /* of one group */
        int32_t assign_inline_cost;              /* an assignment that costs more is made by a job; 0: what takes about a millisecond */
        int32_t min_session_timeout_ms, max_session_timeout_ms, min_heartbeat_interval_ms, max_heartbeat_interval_ms;
        int32_t min_assignment_interval_ms, max_assignment_interval_ms;
    } consumer;
    /* Members of groups of the new protocols that are not settled are asked to beat soon: muster.group.heartbeat.adaptive and its like. */
    struct adaptive_settings {
        bool enabled;                            /* true */
        int32_t floor_ms;                        /* 500 */
        int32_t rate;                            /* beats a second that all unsettled members of one group may come to; above it the interval grows */
        int32_t hold_interval_ms;                /* what members of a group are told whose heartbeats are held, if that is sooner; 0: their own interval */
        int32_t hold_rate;                       /* as long as that comes to no more beats a second of one group */
    } adaptive;
    int64_t max_groups, max_members;             /* budgets of a shard, checked by decide at admission only */
    int64_t max_state_bytes;
    /* The history of rebalances, kept from feature level 2 on. */
    int32_t history_max_entries;                 /* muster.group.history.max.entries: rebalances of a group; 0: none is recorded */
    int64_t history_max_bytes;                   /* muster.group.history.max.bytes, a shard's share: beyond it a group keeps its newest one alone; 0: no bound */
    int64_t reserved_groups, reserved_members, reserved_bytes;   /* what decisions in flight will take; coord keeps count */
};

enum group_op_kind {
    /* Requests; `request` is the decoded message named behind. Gate classes: see group_op_class(). */
    GROUP_JOIN,              /* struct join_group_request */
    GROUP_SYNC,              /* struct sync_group_request */
    GROUP_HEARTBEAT,         /* struct heartbeat_request */
    GROUP_LEAVE,             /* struct leave_group_request */
    GROUP_OFFSET_COMMIT,     /* struct offset_commit_request */
    GROUP_OFFSET_FETCH,      /* struct offset_fetch_request_group (v0-7 are brought into that form by api) */
    GROUP_OFFSET_DELETE,     /* struct offset_delete_request */
    GROUP_DESCRIBE,          /* NULL: the group of group_id */
    GROUP_DELETE,            /* NULL */
    GROUP_ALTER_OFFSETS,     /* struct alter_group_offsets_request */
    GROUP_STREAMS_HEARTBEAT, /* struct streams_group_heartbeat_request */
    GROUP_STREAMS_DESCRIBE,  /* struct streams_group_describe_request: IncludeTopologyDescription counts, its groups do not */
    GROUP_STREAMS_TOPOLOGY,  /* struct streams_group_topology_request */
    GROUP_STREAMS_INITIALIZE,/* struct streams_group_initialize_request */
    GROUP_STREAMS_DESCRIPTION, /* struct streams_group_topology_description_update_request */
    GROUP_CONSUMER_HEARTBEAT, /* struct consumer_group_heartbeat_request */
    GROUP_CONSUMER_DESCRIBE, /* NULL: the group of group_id */
    GROUP_HISTORY,           /* NULL: the group of group_id */
    /* Not from clients. */
    GROUP_TIMER,             /* `timer` fired */
    GROUP_TAKEOVER,          /* this node has become the group's coordinator: drop what no client can know of */
    GROUP_RETENTION,         /* expire the group's offsets, and the group when nothing is left */
    GROUP_TOPICS_CHANGED,    /* the catalogue changed: drop offsets of deleted topics, rebalance where configured */
    GROUP_JOB_DONE,          /* `job` ran */
    GROUP_TOPICS_CREATED,    /* topics that a decision wished for (group_out.create) were asked for; `created` says how it went */
    /* Shard 0. */
    CATALOG_CREATE_TOPICS,       /* struct create_topics_request */
    CATALOG_CREATE_PARTITIONS,   /* struct create_partitions_request */
    CATALOG_DELETE_TOPICS,       /* struct delete_topics_request */
    CATALOG_ALTER_CONFIGS,       /* struct incremental_alter_configs_request */
    CATALOG_SET_END,             /* struct set_end_offset_request */
    CATALOG_REGISTER_NODE,       /* struct register_node_request */
    CATALOG_PRODUCER_ID,         /* struct init_producer_id_request */
    CATALOG_CHANGE_MEMBER,       /* struct change_member_request; `reachable` */
    CATALOG_MEMBER_STEP,         /* struct member_step: not from clients; answered as CATALOG_CHANGE_MEMBER */
    CATALOG_UPGRADE,             /* struct upgrade_cluster_request; `release` */
    /* Any shard: records how far of the catalogue it has acted on. */
    CATALOG_CURSOR,              /* `catalog_index` */
    SHARD_OFFICE                 /* `office`: this node leads the shard. For people: nothing is decided by it, so it waits for nothing and nothing for it */
};

enum group_op_class {
    GROUP_CLASS_MEMBERSHIP,  /* decided on an overlay when others of the turn came before; waits while a membership change is in flight */
    GROUP_CLASS_COMMIT,      /* passes beside other commits; waits while a membership change is in flight */
    GROUP_CLASS_READ,        /* waits until everything of the group in flight is applied */
    GROUP_CLASS_EXCLUSIVE    /* as READ, and nothing else of the group is decided until it is applied */
};
enum group_op_class group_op_class(enum group_op_kind kind);
const char *group_op_name(enum group_op_kind kind);       /* "join", "offset_commit", ... */

struct group_caller { struct str client_id, host; };      /* host as Kafka shows it: "/127.0.0.1" */

enum group_timer_kind {
    GROUP_TIMER_SESSION,         /* member_id has not been heard of for its session timeout */
    GROUP_TIMER_REBALANCE,       /* the join phase is over: drop members that have not rejoined */
    GROUP_TIMER_INITIAL_DELAY,   /* the first join of an empty group has waited long enough */
    GROUP_TIMER_SYNC,            /* members that have not sent SyncGroup by the rebalance timeout are removed */
    GROUP_TIMER_PENDING_ID,      /* an id handed out with MEMBER_ID_REQUIRED was not used */
    /* Groups of the new protocols; sessions are GROUP_TIMER_SESSION, and classic members of a consumer group have GROUP_TIMER_SYNC, too. */
    GROUP_TIMER_REVOKE,          /* member_id was told to give something up and has not said that it did; epoch: its member epoch then */
    GROUP_TIMER_ASSIGN,          /* streams: the initial delay is over (the assignment interval has no timer); epoch: not used */
    GROUP_TIMER_REJOIN,          /* consumer groups: the classic member was told to rejoin and has not; epoch: its member epoch then */
    GROUP_TIMER_REFRESH,         /* consumer groups: regular expressions have to be matched again; member_id is empty */
    GROUP_TIMER_LAST = GROUP_TIMER_REFRESH
};
/* A timer is named by kind, group and member; arming it again replaces it. What the decision needs when it fires travels in it. */
struct group_timer {
    enum group_timer_kind kind;
    struct str group_id, member_id;              /* member_id empty for timers of the group */
    int32_t epoch;                               /* generation it was armed for: a late one decides nothing */
    int32_t remaining_ms;                        /* INITIAL_DELAY: what is left of the rebalance timeout */
    int32_t seen_members;                        /* INITIAL_DELAY: members at arming; more now: wait once more */
};
struct group_timer_wish {
    struct group_timer timer;
    int64_t delay_ms;                            /* -1: cancel */
    bool keep;                                   /* one that is armed already goes on as it is */
};

struct group_op {
    enum group_op_kind kind;
    int16_t api_key, api_version;                /* for the answer's form and the log's readers; -1 when not from a client */
    struct str group_id;
    const void *request;
    bool waiting;                                /* asked again after GROUP_WAIT: may only answer or wait on */
    /* Heartbeats of the new protocols. */
    bool holds;                                  /* such that come on this connection may be held */
    int32_t told_ms;                             /* the interval that the sender was told last, on this connection; 0: this one may not be held */
    bool held;                                   /* it was held, and is decided again: its sender's session runs since it came */
    int32_t held_ms;                             /* for so long */
    struct group_caller caller;
    struct group_timer timer;                    /* GROUP_TIMER */
    int64_t clock_ms;                            /* shard clock */
    int64_t wall_ms;                             /* for people, and for Kafka's timestamps */
    struct uuid fresh_id;                        /* drawn for this op: new member ids, topic ids (topics i > 0 use hash_bytes of it and i) */
    uint64_t next_index;                         /* the log index the records will have or exceed: creation order of topics */
    int64_t catalog_index;
    struct int32_array reachable;                /* CATALOG_CHANGE_MEMBER: the nodes that the leader is connected to, itself too */
    struct str release;                          /* CATALOG_UPGRADE, MEMBER_STEP_FOUND: of the leader's program */
    const struct topics *topics;
    const struct group_set *catalog;             /* shard 0's state as applied on this node (group configs live there) */
    const struct group_settings *settings;
    const struct group_job *job;                 /* GROUP_JOB_DONE */
    const struct group_office *office;           /* SHARD_OFFICE */
    const struct topics_created *created;        /* GROUP_TOPICS_CREATED; and for a request that waited for topics (see group_out.create) when it is decided again; else NULL */
};
/* Who leads a shard, since when, and who led it before as far as that node knows: from_node_id -1 and from_term 0: it does not. silent_ms: for so long it has not heard of
 * that one; -1: not known. handed_over: that one had said that it would hand over. */
struct group_office { int32_t node_id, from_node_id; int64_t term, from_term, clock_ms, wall_ms, silent_ms; bool handed_over; };
struct topics_created { struct str failure; };   /* null: all are there; else "name (cause), ..." for people */

/* ---- what decide says ------------------------------------------------------------------------------------------------- */

/* Why a group rebalances. The numbers are in records; the names are what metrics and people see. */
#define GROUP_CAUSES(X)                                                              \
    X(OTHER, 0, "other")                                                             \
    X(JOINED, 1, "member_joined")                                                    \
    X(LEFT, 2, "member_left")                                                        \
    X(EXPIRED, 3, "session_expired")                                                 \
    X(REBALANCE_TIMEOUT, 4, "rebalance_timeout")     /* it did not rejoin in time */ \
    X(SYNC_TIMEOUT, 5, "sync_timeout")               /* it did not sync in time */   \
    X(REVOCATION_TIMEOUT, 6, "revocation_timeout")   /* it did not give up in time */ \
    X(SUBSCRIPTION, 7, "subscription_changed")                                       \
    X(LEADER, 8, "leader_rejoined")                  /* how a classic leader asks */ \
    X(REPLACED, 9, "static_member_replaced")                                         \
    X(TOPICS, 10, "topics_changed")                                                  \
    X(TOPOLOGY, 11, "topology_changed")                                              \
    X(CONFIGS, 12, "configs_changed")                                                \
    X(WARMED_UP, 13, "warmup_done")                                                  \
    X(CONVERTED, 14, "group_converted")              /* to another protocol */       \
    X(COORDINATOR, 15, "coordinator_moved")          /* joins that waited are lost */\
    X(ADMIN, 16, "admin")                                                            \
    X(MEMBER, 17, "member_changed")                  /* but for its subscription */
enum group_cause {
#define X(name, number, text) GROUP_CAUSE_##name = number,
    GROUP_CAUSES(X)
#undef X
    GROUP_CAUSE_COUNT
};
const char *group_cause_name(int cause);                  /* "member_joined"; "other" for a number that this program does not know */

enum group_verdict {
    GROUP_ANSWER,            /* `answer` goes out when the records (if any) are applied, else after the turn's confirmation round */
    GROUP_WAIT,              /* the request is parked; after apply, and whenever group_phase() moves, it is asked again with `waiting` */
    GROUP_SILENT             /* nothing to answer (timers, sweeps) */
};
struct record_list { struct record *v; size_t len, cap; size_t bytes; };      /* in the arena */

struct group_out {
    struct record_list records;                  /* empty: nothing happened */
    enum group_verdict verdict;
    const void *answer;                          /* see group_op_kind: the response struct of the API; for OFFSET_FETCH, DESCRIBE and DELETE the
                                                    group's part of it (offset_fetch_response_group, describe_groups_response_described_group,
                                                    delete_groups_response_deletable_group_result); for CATALOG_*: the API's response */
    int16_t error;                               /* the Kafka error the answer carries at its top, for logs and metrics */
    int32_t told_ms;                             /* heartbeats of the new protocols: the interval that the answer tells */
    int32_t hold_ms;                             /* the answer says nothing new: it may be held for so long, until the group moves (group_beat_phase()), or when
                                                    there may be work to do (group_work_phase()); then the request is decided again. 0: it leaves */
    const char *rule;                            /* the rule that fired: "join: new member", "heartbeat: stale generation"; static text */
    struct str reason;                           /* the client's own reason, where it gave one */
    uint32_t causes;                             /* why the group moves: a bit for each enum group_cause; 0: it does not */
    struct group_timer_wish *timers;             /* armed when the records are applied, or at once without records; in the arena */
    size_t timer_count;
    bool assign;                                 /* the group's assignor is due: run a GROUP_JOB_ASSIGN on the state as it is once the records are applied */
    bool resolve;                                /* its regular expressions have to be matched against the topics: the same with GROUP_JOB_RESOLVE */
    /* Topics to be made, or NULL; in the arena. One such wish of a group is under way at a time, later ones are dropped. With verdict GROUP_WAIT the request
     * is decided again, from the beginning, when the topics are there (applied on this node) or could not be made. */
    const struct create_topics_request *create;
    bool more;                                   /* a sliced operation (GROUP_DELETE, RETENTION, TOPICS_CHANGED) is not finished: ask again after apply */
};

/* Decides one op against the state as applied (or an overlay). Everything it returns lies in the arena or is static. Pure. */
void group_decide(const struct group_set *set, const struct group_op *op, struct arena *arena, struct group_out *ret);
/* Whether the decision goes by the catalogue (topics, configs), so that op->topics and op->catalog have to be fresh. Looks at no member. */
bool group_op_needs_catalog(const struct group_set *set, const struct group_op *op);
/* The answer of that op with a coordinator error (NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, ...) in every place a client of that version looks. */
void group_refuse(const struct group_op *op, int16_t error, struct arena *arena, struct group_out *ret);

/* ---- jobs: what takes too long for the loop ------------------------------------------------------------------------------- */

/* A copy of what the work needs, made on the loop; the work, pure, on any thread; its result, brought back as GROUP_JOB_DONE. A job carries the group's epoch:
 * a result that is too late decides nothing. */
enum group_job_kind { GROUP_JOB_ASSIGN, GROUP_JOB_RESOLVE };
struct group_job;
/* NULL when there is nothing to do (the group is gone, nothing is due). Reads set, op->topics, op->catalog, op->settings and op->clock_ms; op->group_id names the group. */
struct group_job *group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind);
void group_job_run(struct group_job *job);
void group_job_free(struct group_job *job);              /* NULL is fine */
enum group_job_kind group_job_kind(const struct group_job *job);
struct str group_job_group(const struct group_job *job);

/* ---- state -------------------------------------------------------------------------------------------------------------- */

struct group_set *group_set_new(struct pool *pool, uint32_t shard);
void group_set_free(struct group_set *set);
void group_set_clear(struct group_set *set);             /* before a restore */

/* Applies one log entry (wire message LogEntry). scratch is cleared by the caller. An entry that does not decode, or whose revision of a group does not match, is a bug or
 * damage: false with *ret_why set, and the node must stop. on_group is called once for each group the entry touched, after all its records. */
bool group_apply_entry(struct group_set *set, uint64_t index, struct bytes entry, struct arena *scratch,
                       void (*on_group)(void *ctx, struct str group_id), void *ctx, const char **ret_why);
/* One record, for overlays, restore and replay. Cannot fail for records that decode; false otherwise. index: of the entry. */
bool group_apply(struct group_set *set, uint64_t index, struct record record, struct arena *scratch);

/* A private copy of one group (members shared until touched, offsets not at all): decide and group_apply work on it, the base stays as it is. */
struct group_set *group_overlay_new(const struct group_set *base, struct str group_id);
void group_overlay_free(struct group_set *overlay);

int64_t  group_revision(const struct group_set *set, struct str group_id);       /* entries that touched it since it exists; 0: unknown group */
uint64_t group_phase(const struct group_set *set, struct str group_id);          /* moves when parked joins or syncs may have an answer */
/* Of heartbeats that are held; neither number repeats. */
uint64_t group_beat_phase(const struct group_set *set, struct str group_id);     /* moves when all of them may have another answer */
uint64_t group_work_phase(const struct group_set *set, struct str group_id);     /* moves when one of them may have an assignment to make, now or soon */
uint64_t group_set_hash(const struct group_set *set);    /* order-independent over the live records' bytes */
int64_t  group_set_clock(const struct group_set *set);   /* shard clock of the newest entry applied, ms */
int64_t  group_set_cursor(const struct group_set *set);  /* highest catalogue index this shard has acted on */
uint64_t group_set_catalog_index(const struct group_set *set);   /* shard 0: index of the newest entry that changed topics or configs */

/* Who led the shard, as it was recorded: the nth newest, from 0; from_term is not. false: there are no more. */
bool group_set_office(const struct group_set *set, int32_t nth, struct group_office *ret);

struct group_set_counts { int64_t groups, members, pending, offsets, topics, bytes, history_records, history_bytes; };      /* pending: member ids that have yet to join (KIP-394) */
void group_set_counts(const struct group_set *set, struct group_set_counts *ret);

/* The timers a new coordinator arms: every one in full. catalog: shard 0's state as applied here, for group configs; clock_ms: the shard clock. */
void group_set_timers(const struct group_set *set, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms, void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx);
/* Group ids in order: the first one after `after` (null: the first of all); null at the end. Borrowed until the next apply. */
struct str group_set_next(const struct group_set *set, struct str after);
/* Whether the group needs a GROUP_TAKEOVER (it is in a join phase). */
bool group_needs_takeover(const struct group_set *set, struct str group_id);
/* Whether its members, or its topology, name topics by regular expressions. What they match is found by jobs, and a job ends with the office that started it: a new
 * coordinator has to look again (GROUP_TOPICS_CHANGED). */
bool group_reads_regexes(const struct group_set *set, struct str group_id);

struct group_listing { struct str group_id, protocol_type, type, state; };       /* type "classic", "consumer" or "streams", state "Stable": Kafka's words */
bool group_listing(const struct group_set *set, struct str group_id, struct group_listing *ret);

/* ---- snapshots: the state as records ------------------------------------------------------------------------------------- */

/* Freezes the state as of now; later changes copy what they are about to overwrite (record by record). One at a time. */
void group_snapshot_begin(struct group_set *set);
/* The next run of records, encoded (int32 key length, key, int32 value length, value; big-endian), about `budget` bytes, appended to out. false: it was the last. */
bool group_snapshot_next(struct group_set *set, size_t budget, struct buf *out);
/* After the last run, before the end: whether the records given out have the hash that the state had when it was frozen. It is kept from the records as they were logged,
 * so that a state that has changed by itself is not handed on. */
bool group_snapshot_whole(const struct group_set *set);
void group_snapshot_end(struct group_set *set);
/* Takes runs written by group_snapshot_next. The first record is a SnapshotHeader-like record of our own that carries clock, cursor and revisions. 0 or MALFORMED. */
int  group_restore(struct group_set *set, struct bytes run, struct arena *scratch);

/* ---- catalogue (shard 0), read side ------------------------------------------------------------------------------------------ */

void catalog_topics(const struct group_set *shard0, struct topics *ret);         /* borrowed: valid as long as the set */
struct catalog_topic { struct str name; struct uuid id; int32_t partitions; int16_t replication_factor; };
/* Topics in name order; name null: from the start. false at the end. */
bool catalog_next_topic(const struct group_set *shard0, struct str after, struct catalog_topic *ret);
bool catalog_find_topic(const struct group_set *shard0, struct str name, struct catalog_topic *ret);
bool catalog_find_topic_id(const struct group_set *shard0, struct uuid id, struct catalog_topic *ret);
int64_t catalog_end_offset(const struct group_set *shard0, struct uuid topic_id, int32_t partition);     /* 0 until set */
struct catalog_node { int32_t node_id; struct uuid incarnation; struct str host; int32_t port; struct str peer_address, rack; int16_t feature_level; struct str release; };
bool catalog_next_node(const struct group_set *shard0, int32_t after, struct catalog_node *ret);         /* after -1: the first */

/* ---- members of the cluster: what the records of ClusterMember and MemberChange say. A catalogue without them is of a cluster that was just formed. */
enum member_standing { MEMBER_JOINING, MEMBER_LEARNER, MEMBER_VOTER, MEMBER_LEAVING };
enum member_change_kind { MEMBER_ADD = 1, MEMBER_PROMOTE, MEMBER_REMOVE, MEMBER_REPLACE };
enum member_change_state { MEMBER_CHANGE_UNDER_WAY, MEMBER_CHANGE_DONE, MEMBER_CHANGE_GIVEN_UP };
enum { CATALOG_MAX_MEMBERS = 32 };
struct catalog_member { int32_t node_id; struct uuid incarnation; struct str peer_address; enum member_standing standing; };
bool catalog_next_member(const struct group_set *shard0, int32_t after, struct catalog_member *ret);     /* after -1: the first */
struct catalog_change { int64_t id; enum member_change_kind kind; int32_t node_id; enum member_change_state state; enum member_standing target; int64_t began_wall_ms; struct str reason; };
bool catalog_member_change(const struct group_set *shard0, struct catalog_change *ret);                  /* the newest; false: there was none */

/* Moves whenever the members or their change do; of no meaning between processes. */
uint64_t catalog_members_revision(const struct group_set *shard0);

/* What the host of shard 0's leader tells of a change under way, CATALOG_MEMBER_STEP. */
enum member_step_kind {
    MEMBER_STEP_FOUND,                           /* the members that the cluster was formed with, once all have registered; of no effect when there are any; `release` */
    MEMBER_STEP_JOINED,                          /* the node has its identity: from now on it is a learner or is to become a voter */
    MEMBER_STEP_RETURN,                          /* replace: no shard knows the old folder any more */
    MEMBER_STEP_DONE,                            /* all shards are as the members say */
    MEMBER_STEP_GIVE_UP                          /* the node did not come; for `reason` */
};
/* incomplete: the members are recorded although some have not registered, and the feature level stays what it is. */
struct member_step { enum member_step_kind kind; int64_t change_id; const struct catalog_member *founders; size_t founder_count; bool incomplete; struct str reason; };

/* The feature level says which records may be written: all nodes know them. A cluster begins with the highest that its founders know; later CATALOG_UPGRADE raises it. */
extern const int16_t group_feature_level;        /* the highest that this program knows */
int16_t catalog_feature_level(const struct group_set *shard0);
/* Why this program cannot apply the entry, or a run of group_snapshot_next: it holds what only a newer one knows. Null: it can as far as that goes. In the arena. */
struct str group_entry_problem(struct bytes entry, struct arena *arena);
struct str group_run_problem(struct bytes run, struct arena *arena);

/* Configs: resource types 2 topic, 4 broker (name "" for the cluster default), 32 group. */
bool catalog_config(const struct group_set *shard0, int8_t resource_type, struct str resource, struct str name, struct str *ret);
/* Answers DescribeConfigs for one resource: every key known for it with default, override, source, synonyms, type and help text, as Kafka does. broker values come through
 * `broker_value` (ctx, key) -> text or null. result is filled in the arena. */
struct catalog_broker_values { const void *ctx; struct str (*get)(const void *ctx, struct str key, struct arena *arena); bool (*next)(const void *ctx, struct str after, struct str *ret_key); };
void catalog_describe_config(const struct group_set *shard0, const struct describe_configs_request_resource *resource, bool synonyms, bool documentation,
                             const struct catalog_broker_values *broker, struct arena *arena, struct describe_configs_response_result *ret);
/* Puts the budgets that were altered for all brokers (muster.max.groups, muster.max.members, muster.max.state.bytes: of the cluster) into the settings
 * of a shard, as its share; the others stay as they are. For the host, whenever the catalogue has moved. */
void catalog_settings(const struct group_set *shard0, int32_t shard_count, struct group_settings *settings);
/* Resources that have configs, for ListConfigResources. */
bool catalog_next_config_resource(const struct group_set *shard0, int8_t resource_type, struct str after, struct str *ret);

#endif
