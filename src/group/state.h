/* state.h: the state of a shard, private to src/group. Changed by apply alone.
 *
 * Replicated state lives in ordered trees and arrays (iteration order comes from keys); hash tables are for lookup only. Every object made by a
 * record keeps that record's hash, so that the set's hash can be kept by adding and subtracting. Every byte comes from set->pool.
 *
 * Who implements what: set.c, apply.c, overlay.c, decide.c, refuse.c, out.c, list.c and snapshot.c in this folder; classic/, offsets/ and catalog/
 * their own prefixes. */
#ifndef MUSTER_GROUP_STATE_H
#define MUSTER_GROUP_STATE_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <muster/group.h>

#include "modern/units.h"

/* ---- offsets (src/group/offsets) -------------------------------------------------------------------------------------- */

struct offset_page;

struct topic_name { /* interned: one per name in the set, counted */
    RB_ENTRY(topic_name) link;
    struct str name;
    int64_t references;
};
RB_HEAD(topic_name_tree, topic_name);

/* One of them, read off the page that it is packed into: its metadata are the page's, until the group's offsets change. */
struct offset {
    struct topic_name *topic;
    int32_t partition;
    int32_t leader_epoch; /* -1: none */
    int64_t offset;
    int64_t commit_clock_ms; /* shard clock: what retention is measured on */
    int64_t commit_wall_ms;  /* what clients and logs see */
    int64_t expire_clock_ms; /* -1, or the shard clock at which the explicit retention time of commit versions 2 to 4 ends */
    struct uuid topic_id;    /* zero: not known at commit */
    struct str metadata;
};

/* The group's offsets one after another, in order of topic name, then partition:
 *     for (struct offset_walk w = offsets_walk(g); offsets_next(&w);)   w.at is the offset
 * They may not change meanwhile. */
struct offset_walk {
    const struct group *g;
    int32_t page;
    int32_t left; /* of that page */
    const uint8_t *next;
    struct offset at;
};

/* ---- classic groups (src/group/classic) ---------------------------------------------------------------------------------- */

enum __attribute__((packed)) classic_state {
    CLASSIC_EMPTY,
    CLASSIC_PREPARING,
    CLASSIC_COMPLETING,
    CLASSIC_STABLE,
    CLASSIC_DEAD,
    CLASSIC_STATE_COUNT
};

struct classic_protocol {
    struct str name;
    struct bytes metadata;
};

struct classic_member { /* immutable once made: apply puts a new one in its place, so overlays can share it */
    int32_t references;
    struct str member_id, instance_id; /* instance null: dynamic */
    struct str client_id, client_host;
    int32_t session_timeout_ms, rebalance_timeout_ms;
    int32_t join_generation; /* the generation it has joined for: group generation + 1 while it waits in a join phase */
    bool id_delivered;       /* it came with its id, so its client knows it */
    struct classic_protocol *protocols;
    int32_t protocol_count;
    struct bytes assignment;
    int32_t assignment_generation; /* as recorded; in force only through classic_assignment() */
    bool has_assignment;           /* a ClassicAssignment record is live */
    uint64_t record_hash, assignment_hash;
};
struct classic_pending_id {
    struct str member_id;
    int32_t session_timeout_ms;
    uint64_t record_hash;
};
struct classic_protocol_use {
    struct str name;
    int32_t members; /* how many support it */
};

/* Every group has one: what is short stands together. */
struct classic {
    enum classic_state state;
    bool exists; /* a ClassicGroup record is live */
    int32_t generation;
    int32_t assignments_since;                       /* assignments of earlier generations are void */
    int32_t joined_count;                            /* derived: members with join_generation == generation + 1 */
    struct str protocol_type, protocol_name, leader; /* name and leader may be null */
    int64_t state_clock_ms, state_wall_ms;
    int64_t topics_hash; /* 0: not kept */
    struct classic_member **members;
    int32_t member_count, member_capacity; /* sorted by member id */
    struct classic_pending_id *pending;
    int32_t pending_count, pending_capacity; /* sorted by member id */
    struct classic_protocol_use *uses;
    int32_t use_count, use_capacity; /* derived from members */
    uint64_t record_hash;
};

/* ---- groups of the new protocols (src/group/modern, src/group/consumer, src/group/streams) ------------------------------------ */

/* What a member said of itself. Immutable once made and counted, as all parts of a slot, so that overlays can share them. A record that would not be written
 * again as it was logged (by another version, say) is kept as it came, in `raw`, beside what was read off it; null for the others. */
struct key_value {
    struct str key, value;
};
struct modern_member {
    int32_t references;
    size_t bytes;
    struct str instance_id, rack_id; /* null: none */
    struct str client_id, client_host;
    int32_t rebalance_timeout_ms;
    /* streams */
    int32_t topology_epoch;
    struct str process_id;
    struct str endpoint_host; /* null: no endpoint */
    uint16_t endpoint_port;
    struct key_value *tags; /* as sent */
    int32_t tag_count;
    /* consumer */
    struct str_array topics; /* that it names, in order, each once */
    struct str regex;        /* null: none */
    struct str assignor;     /* null: it names none */
    bool is_classic;         /* it speaks the classic protocol; its metadata are those protocols */
    int32_t classic_session_timeout_ms;
    struct classic_protocol *protocols;
    int32_t protocol_count;
    struct bytes raw;
    uint64_t record_hash;
};
struct modern_target {
    struct held *held;
    struct bytes raw;
    uint64_t record_hash;
};
struct modern_current { /* member_position (reconcile.h), kept */
    int32_t references;
    int32_t epoch, previous_epoch;
    int8_t state;
    struct held *assigned, *revoking;
    struct bytes raw;
    uint64_t record_hash;
};
struct task_offset {
    struct str subtopology;
    int32_t partition;
    int64_t offset;
};
struct modern_offsets { /* StreamsTaskOffsets */
    int32_t references;
    size_t bytes;
    struct task_offset *offsets, *end_offsets; /* as sent */
    int32_t offset_count, end_offset_count;
    struct bytes raw;
    uint64_t record_hash;
};
enum slot_part { SLOT_MEMBER = 1, SLOT_TARGET = 2, SLOT_CURRENT = 4, SLOT_OFFSETS = 8, SLOT_ID = 16 };
/* A place for one member id; each part NULL while its record is not live. */
struct modern_slot {
    uint8_t borrowed; /* the parts that belong to the group that this one is a copy of (struct modern, origin) */
    struct str member_id;
    struct modern_member *member;
    struct modern_target target; /* held NULL: none */
    struct modern_current *current;
    struct modern_offsets *offsets;
};
struct modern_regex { /* ConsumerGroupRegularExpression, StreamsRegularExpression: which topics it matched */
    int32_t references;
    size_t bytes;
    struct str regex;
    struct str_array topics; /* in order of names */
    int64_t version, timestamp;
    struct bytes raw;
    uint64_t record_hash;
};
struct instance_ref { /* derived: the members with an instance id */
    struct str instance_id, member_id;
};

struct topic_use { /* derived: how many members name the topic */
    struct str name;
    int32_t members;
};
struct topic_uses { /* counted: an overlay shares it until it changes it */
    int32_t references;
    struct topic_use *v; /* by name */
    int32_t count, capacity;
};

struct unit_owner { /* derived: how many members have the partition, given up or not yet */
    struct uuid topic_id;
    int32_t partition;
    int32_t members; /* 0: the place is free */
};
struct unit_owners { /* counted, as topic_uses */
    int32_t references;
    struct unit_owner *v;
    uint32_t size, used; /* size: a power of two */
};

struct streams_topology { /* the record, decoded, in one block of the pool */
    int32_t references;
    size_t bytes;
    const struct streams_group_topology_value *value;
    struct bytes raw;
    uint64_t record_hash;
};
struct streams_description {
    int32_t references;
    struct bytes raw;   /* as logged */
    struct bytes value; /* of that what stands behind its version */
    int32_t topology_epoch;
    uint64_t record_hash;
};

/* A consumer group or a streams group; all of it while any of its records is live. An overlay shares it with its base until it changes it; then it makes
 * itself a copy, which borrows what the slots hold from the one it shared and keeps that alive. */
struct modern {
    int32_t references;
    struct modern *origin; /* NULL: nothing is borrowed */
    bool exists;           /* the group's own metadata record is live */
    int32_t epoch;
    int64_t metadata_hash;  /* of the topics it goes by */
    int64_t empty_since_ms; /* shard clock; -1: has members */
    struct bytes raw;
    uint64_t record_hash;
    bool has_assignment; /* its target assignment metadata record is live */
    int32_t assignment_epoch;
    int64_t assignment_wall_ms, assignment_clock_ms;
    struct bytes assignment_raw;
    uint64_t assignment_hash;
    struct modern_slot *slots; /* by member id */
    int32_t slot_count, slot_capacity;
    int32_t member_count;           /* slots with a member */
    struct instance_ref *instances; /* by instance id, then member id */
    int32_t instance_count, instance_capacity;
    struct modern_regex **regexes; /* by regex */
    int32_t regex_count, regex_capacity;
    /* consumer; derived from the members */
    int32_t classic_count;      /* members that speak the classic protocol */
    struct topic_uses *uses;    /* topics that members name; NULL: none */
    bool indexed;               /* owners is kept */
    struct unit_owners *owners; /* NULL: nobody has anything */
    /* streams */
    int32_t validated_topology_epoch; /* -1: none */
    struct key_value *configs;        /* the assignor's configs at the last bump; NULL with count -1: not kept */
    int32_t config_count;
    int32_t stored_description_epoch, failed_description_epoch;
    int32_t endpoint_epoch;
    struct str shutdown_member;     /* null: nobody asked */
    int8_t problem;                 /* enum topology_problem; -1: none */
    struct str problem_detail;      /* null when none */
    int64_t assign_not_before_ms;   /* shard clock; 0: no delay */
    struct str initializing_member; /* null: nobody was asked for the topology */
    int64_t initialize_until_ms;
    struct streams_topology *topology;       /* NULL: none */
    struct streams_description *description; /* NULL: none */
};

/* ---- a group ---------------------------------------------------------------------------------------------------------------- */

enum group_type { GROUP_CLASSIC, GROUP_CONSUMER, GROUP_STREAMS };

/* What looking a group up and committing an offset touch stands together. */
struct group {
    struct group *chain; /* in the lookup table */
    uint64_t id_hash;
    struct str id; /* its bytes follow the group */
    int64_t revision;
    int64_t since_clock_ms; /* of the entry that made it; 0: not known. For people: it is in snapshots, and in no hash */
    /* offsets/page.h: in order. A group with one page has it here. */
    union {
        struct offset_page *page;
        struct offset_page **pages;
    };
    int32_t page_count, page_capacity; /* 0: there is no array */
    int64_t offset_count;
    RB_ENTRY(group) link; /* by id */
    uint64_t phase, beat_phase, work_phase;
    struct classic classic;
    struct modern *consumer; /* NULL: no record of a consumer group is live */
    struct modern *streams;  /* NULL: no record of a streams group is live */
    struct history *history; /* history/history.h; NULL: nothing happened, or nothing is recorded */
};
RB_HEAD(group_tree, group);

/* Follows from what is live, so that the order of records does not matter (KAFKA-20254): what the live metadata record says; else classic. */
static inline enum group_type group_type(const struct group *g)
{
    if (g->streams != NULL && g->streams->exists) {
        return GROUP_STREAMS;
    }
    return g->consumer != NULL && g->consumer->exists ? GROUP_CONSUMER : GROUP_CLASSIC;
}

/* ---- catalogue (src/group/catalog) ---------------------------------------------------------------------------------------------- */

struct catalog; /* catalog/state.h; every set has one, empty outside of shard 0 */

/* ---- the set ------------------------------------------------------------------------------------------------------------------------ */

struct snapshot_cut; /* snapshot.c */
struct office;       /* history/office.c */

struct group_set {
    struct pool *pool;
    uint32_t shard;
    const struct group_set *base; /* an overlay's base; NULL for a real set */
    struct group_tree groups;     /* plus a lookup table, set.c */
    struct group_table *table;
    struct topic_name_tree topic_names;
    struct {                            /* the offset that was put last, when it is its page's last: the next one mostly follows it */
        const struct offset_page *page; /* NULL: it is not */
        int32_t partition;
        int64_t clock_ms, wall_ms;
    } newest_offset;
    struct catalog *catalog; /* NULL in overlays */
    struct group_set_counts counts;
    uint64_t hash;
    int64_t clock_ms;
    uint64_t catalog_index;    /* shard 0: of the newest entry that changed the catalogue; apply.c keeps it */
    uint64_t members_revision; /* moves with the records of members and their change; of this process alone */
    int64_t cursor;
    uint64_t cursor_hash;
    struct office **offices; /* who led the shard, the oldest first */
    int32_t office_count, office_capacity;
    uint64_t phases;          /* phases given out: those of a group never repeat */
    struct snapshot_cut *cut; /* a snapshot is being taken */
};

struct group_set *group_set_new_bare(struct pool *pool, uint32_t shard); /* without a catalogue: for overlays */
struct group *group_find(const struct group_set *set, struct str id);    /* NULL: unknown */
struct group *group_find_or_add(struct group_set *set, struct str id);
void group_remove_if_gone(struct group_set *set, struct group *g);     /* frees a group that no live record stands for */
struct group *group_after(const struct group_set *set, struct str id); /* the next one in id order; id null: the first */
void group_phase_move(struct group_set *set, struct group *g);
void group_beat_phase_move(struct group_set *set, struct group *g);
void group_work_phase_move(struct group_set *set, struct group *g);

/* feature.c: whether this program knows the record's type and version, and the feature level if it raises that. */
bool record_is_known(struct record record);

/* Dispatched from group_apply by record type; one function per record, in the folder that owns it. value NULL: tombstone.
 * They keep set->hash through group_hash_replace() and leave freeing an empty group to apply.c. */
struct apply_context {
    struct group_set *set;
    uint64_t index;
    uint64_t key_hash, record_hash;
    struct record raw;
    const struct wire_record *schema; /* of that record */
    struct arena *scratch;
};
/* What a live record adds to the state hash: the hash of key and value as logged. One that is not live counts nothing. apply.c */
uint64_t record_hash(struct record record);
uint64_t record_value_hash(uint64_t key_hash, struct bytes value); /* the same, of a key whose hash is known */
static inline void group_hash_replace(struct group_set *set, uint64_t old_hash, uint64_t new_hash)
{
    set->hash += new_hash - old_hash;
}
/* Before a change, while set->cut: what is there goes into the snapshot that is being taken. The revision of a group moves with each entry that names it. */
/* The next record of a run, off its front; false: there is none, or no whole one. Borrowed from the run. */
bool snapshot_read(struct bytes *run, struct record *ret);
void snapshot_save(struct group_set *set, struct record raw, const struct wire_decoded_record *record, struct arena *scratch);
void snapshot_save_revision(struct group_set *set, struct str group_id, struct arena *scratch);
void classic_apply_group(const struct apply_context *c, const struct classic_group_key *key, const struct classic_group_value *value);
void classic_apply_member(const struct apply_context *c, const struct classic_member_key *key, const struct classic_member_value *value);
void classic_apply_assignment(const struct apply_context *c, const struct classic_assignment_key *key,
                              const struct classic_assignment_value *value);
void classic_apply_pending_id(const struct apply_context *c, const struct classic_pending_id_key *key,
                              const struct classic_pending_id_value *value);
void consumer_apply_group(const struct apply_context *c, const struct consumer_group_metadata_key *key,
                          const struct consumer_group_metadata_value *value);
void consumer_apply_member(const struct apply_context *c, const struct consumer_group_member_metadata_key *key,
                           const struct consumer_group_member_metadata_value *value);
void consumer_apply_assignment(const struct apply_context *c, const struct consumer_group_target_assignment_metadata_key *key,
                               const struct consumer_group_target_assignment_metadata_value *value);
void consumer_apply_target(const struct apply_context *c, const struct consumer_group_target_assignment_member_key *key,
                           const struct consumer_group_target_assignment_member_value *value);
void consumer_apply_current(const struct apply_context *c, const struct consumer_group_current_member_assignment_key *key,
                            const struct consumer_group_current_member_assignment_value *value);
void consumer_apply_regex(const struct apply_context *c, const struct consumer_group_regular_expression_key *key,
                          const struct consumer_group_regular_expression_value *value);
void streams_apply_group(const struct apply_context *c, const struct streams_group_metadata_key *key,
                         const struct streams_group_metadata_value *value);
void streams_apply_member(const struct apply_context *c, const struct streams_group_member_metadata_key *key,
                          const struct streams_group_member_metadata_value *value);
void streams_apply_assignment(const struct apply_context *c, const struct streams_group_target_assignment_metadata_key *key,
                              const struct streams_group_target_assignment_metadata_value *value);
void streams_apply_target(const struct apply_context *c, const struct streams_group_target_assignment_member_key *key,
                          const struct streams_group_target_assignment_member_value *value);
void streams_apply_current(const struct apply_context *c, const struct streams_group_current_member_assignment_key *key,
                           const struct streams_group_current_member_assignment_value *value);
void streams_apply_topology(const struct apply_context *c, const struct streams_group_topology_key *key,
                            const struct streams_group_topology_value *value);
void streams_apply_task_offsets(const struct apply_context *c, const struct streams_task_offsets_key *key,
                                const struct streams_task_offsets_value *value);
void streams_apply_description(const struct apply_context *c, const struct streams_topology_description_key *key,
                               const struct streams_topology_description_value *value);
void streams_apply_regex(const struct apply_context *c, const struct streams_regular_expression_key *key,
                         const struct streams_regular_expression_value *value);
void offsets_apply_commit(const struct apply_context *c, const struct offset_commit_key *key, const struct offset_commit_value *value);
void catalog_apply(const struct apply_context *c, const struct wire_decoded_record *record);

/* ---- life and snapshots of what the folders own ------------------------------------------------------------------------------------
 * A snapshot walks the live records in order of their keys and encodes them again; the bytes must be those that were logged, for the state hash
 * is over them. Functions that return a record put it into the arena. */

void classic_free(struct group_set *set, struct group *g);                           /* members and all, without records */
void classic_clone(struct group_set *to, struct group *copy, const struct group *g); /* into a fresh group; members are shared */
/* The live record of a ClassicGroup, ClassicMember, ClassicAssignment or ClassicPendingId; each false when there is none. */
bool classic_record_group(const struct group *g, struct arena *arena, struct record *ret);
bool classic_record_member(const struct group *g, struct str member_id, struct arena *arena, struct record *ret);
bool classic_record_assignment(const struct group *g, struct str member_id, struct arena *arena, struct record *ret);
bool classic_record_pending_id(const struct group *g, struct str member_id, struct arena *arena, struct record *ret);
/* The first member or pending id whose id follows; id null: the first. NULL at the end. */
const struct classic_member *classic_member_after(const struct group *g, struct str member_id);
const struct classic_pending_id *classic_pending_after(const struct group *g, struct str member_id);

void offsets_free(struct group_set *set, struct group *g); /* the group's offsets, without records: counts only */
struct offset_walk offsets_walk(const struct group *g);
bool offsets_next(struct offset_walk *w); /* false: there are no more */
/* The group's first offset after (topic, partition); topic null: the first of all. False: there is none. */
bool offsets_after(const struct group *g, struct str topic, int32_t partition, struct offset *ret);
bool offsets_find(const struct group *g, struct str topic, int32_t partition, struct offset *ret); /* g may be NULL */
struct record offsets_record(const struct group *g, const struct offset *o, struct arena *arena);

void catalog_new(struct group_set *set); /* makes set->catalog */
/* How many of these topics were made, grew or were deleted behind that index of shard 0's log. The first of them by name are put into `first`, which has room for
 * first->len. Of what changed before a snapshot that this node was sent only new topics are known. */
int32_t catalog_changed_topics(const struct group_set *shard0, struct str_array names, int64_t since, struct arena *arena,
                               struct str_array *first);
void catalog_free(struct group_set *set);
/* The catalogue's records in an order of its own, which catalog_key_cmp() knows: every key of it differs from every other, and the record after a key
 * (null: the first) is found whether or not the key itself is live. False at the end. */
int catalog_key_cmp(struct bytes a, struct bytes b);
bool catalog_record_after(const struct group_set *set, struct bytes key, struct arena *arena, struct record *ret);
bool catalog_record(const struct group_set *set, struct bytes key, struct arena *arena, struct record *ret); /* the live one of that key */

/* ---- decide: each folder answers for its ops ----------------------------------------------------------------------------------------- */

struct decision {
    const struct group_set *set;
    const struct group_op *op;
    struct arena *arena;
    struct group_out *out;
    struct str *subscribed;
    int32_t subscribed_count;    /* classic_subscribed() fills these once, sorted */
    int8_t subscribed_state;     /* 0 not read yet, 1 known, -1 cannot be read */
    struct history_notes *notes; /* history/history.h; NULL: nothing happened yet */
};
/* Nothing that is returned may point into the state: it changes before an answer leaves. Records are encoded, timer names copied, and group_decide() copies
 * what an answer shows; whoever adds a kind of answer that shows bytes of the state names it there (decide.c, shows_state). */
void out_record(struct decision *d, int16_t type, const void *key, int16_t value_version, const void *value); /* value NULL: tombstone */
void out_timer(struct decision *d, enum group_timer_kind kind, struct str member_id, int32_t epoch, int64_t delay_ms);
void out_timer_full(struct decision *d, const struct group_timer_wish *wish); /* group_id is filled in */
void out_rule(struct decision *d, const char *rule);
void out_answer(struct decision *d, const char *rule, int16_t error, const void *answer); /* verdict GROUP_ANSWER with all three */
/* Budgets of the shard at admission (architecture 1): whether what is asked for still fits, reservations included. A budget of 0 is none. */
bool budget_allows(const struct decision *d, int64_t groups, int64_t members, int64_t bytes);

void classic_decide_join(struct decision *d);
void classic_decide_sync(struct decision *d);
void classic_decide_heartbeat(struct decision *d);
void classic_decide_leave(struct decision *d);
void classic_decide_timer(struct decision *d);
void classic_decide_takeover(struct decision *d);
void classic_decide_topics_changed(struct decision *d); /* the rebalance half of GROUP_TOPICS_CHANGED */
void classic_describe(struct decision *d, const struct group *g,
                      struct describe_groups_response_described_group *ret); /* g NULL: unknown */
/* Commit rights: the Kafka error for this committer, 0 when it may. g NULL: unknown group. A commit keeps its member's session: that timer is wished for.
 * Where it may not, the rule is set. */
int16_t classic_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request);
const struct classic_member *classic_member_find(const struct group *g, struct str member_id); /* NULL: none */
struct bytes classic_assignment(const struct group *g, const struct classic_member *m);        /* in force; never null */
/* From its consumer-protocol assignment in force. */
bool classic_owns(const struct group *g, const struct classic_member *m, struct str topic, int32_t partition);
bool classic_subscribed(struct decision *d, const struct group *g, struct str topic,
                        bool *ret_known);                           /* known false: the subscription cannot be read */
void classic_tombstones(struct decision *d, const struct group *g); /* of every classic record of the group, its own last */
int16_t classic_may_delete(const struct group *g);
/* All members go, and pending ids: the group is empty in a generation of its own. Returns how many members there were. */
int32_t classic_fence(struct decision *d, const struct group *g);
const char *classic_state_name(enum classic_state state); /* "Stable": Kafka's words */
void classic_timers(const struct group *g, const struct group_settings *settings,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx);
/* The members of what becomes a classic group of protocol type "consumer", by id, each with its assignment. Not stable: a rebalance begins. */
struct classic_adoption {
    const struct classic_member *const *members;
    int32_t count;
    int32_t generation;
    struct str protocol_name;
    bool stable;
};
void classic_adopt(struct decision *d, const struct classic_adoption *a);
void classic_adopt_timers(struct decision *d, const struct classic_adoption *a);

void streams_decide_heartbeat(struct decision *d);
void streams_decide_describe(struct decision *d);
void streams_decide_topology(struct decision *d);
void streams_decide_initialize(struct decision *d);
void streams_decide_description(struct decision *d);
void streams_decide_timer(struct decision *d); /* a timer of a streams group, sessions too */
void streams_decide_topics_changed(struct decision *d);
void streams_decide_topics_created(struct decision *d);
void streams_decide_job_done(struct decision *d);
/* As their classic namesakes, for groups of type GROUP_STREAMS. ret_member: the member that commits, NULL for commits from outside. One that does not commit
 * with its own epoch has to pass streams_may_commit_partition() for every partition: one that does not fails the request. */
int16_t streams_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request,
                           const struct modern_slot **ret_member);
struct str_array streams_readers(struct decision *d, const struct group *g, struct str topic); /* the subtopologies whose tasks read it */
int16_t streams_may_commit_partition(struct decision *d, const struct modern_slot *m, int32_t epoch, const struct str_array *readers,
                                     int32_t partition); /* 0 or STALE_MEMBER_EPOCH */
int16_t streams_may_fetch(struct decision *d, const struct group *g,
                          const struct offset_fetch_request_group *request);          /* v9: member and epoch */
bool streams_subscribed(struct decision *d, const struct group *g, struct str topic); /* a member's topology reads it */
bool streams_subscription_known(const struct group *g);                               /* what it reads is settled */
void streams_tombstones(struct decision *d, const struct group *g); /* of every record of the streams group, its own last */
int16_t streams_may_delete(const struct group *g);
int32_t streams_fence(struct decision *d, const struct group *g); /* as classic_fence() */
const char *streams_state_name(const struct group *g,
                               bool standard); /* standard: as clients of Kafka know it ("NotReady"); else "Initializing" too */
void streams_timers(const struct group *g, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx);
bool streams_reads_regexes(const struct group *g);

void consumer_decide_heartbeat(struct decision *d);
void consumer_decide_describe(struct decision *d);
void consumer_decide_timer(struct decision *d); /* a timer of a consumer group, sessions too */
void consumer_decide_topics_changed(struct decision *d);
void consumer_decide_job_done(struct decision *d);
/* Requests of the classic protocol to a consumer group: what classic_decide_join() and its like have found to be one. */
void consumer_classic_join(struct decision *d, const struct group *g);
void consumer_classic_sync(struct decision *d, const struct group *g);
void consumer_classic_heartbeat(struct decision *d, const struct group *g);
void consumer_classic_leave(struct decision *d, const struct group *g);
/* As their namesakes, for groups of type GROUP_CONSUMER. A partition is known by its topic's id. */
int16_t consumer_may_commit(struct decision *d, const struct group *g, const struct offset_commit_request *request,
                            const struct modern_slot **ret_member);
int16_t consumer_may_commit_partition(struct decision *d, const struct modern_slot *m, int32_t epoch, struct uuid topic_id,
                                      int32_t partition); /* 0 or STALE_MEMBER_EPOCH */
int16_t consumer_may_fetch(struct decision *d, const struct group *g,
                           const struct offset_fetch_request_group *request);          /* v9: member and epoch */
bool consumer_subscribed(struct decision *d, const struct group *g, struct str topic); /* some member subscribes to it */
bool consumer_subscription_known(const struct group *g);                               /* its regular expressions have been matched */
void consumer_tombstones(struct decision *d, const struct group *g); /* of every record of the consumer group, its own last */
int16_t consumer_may_delete(const struct group *g);
int32_t consumer_fence(struct decision *d, const struct group *g); /* as classic_fence(); members of both protocols */
const char *consumer_state_name(const struct group *g);            /* "Assigning": Kafka's words */
void consumer_timers(const struct group *g, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                     void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx);
bool consumer_reads_regexes(const struct group *g);

void offsets_decide_commit(struct decision *d);
void offsets_decide_fetch(struct decision *d);
void offsets_decide_delete(struct decision *d);
void offsets_decide_group_delete(struct decision *d);
void offsets_decide_alter(struct decision *d);
void offsets_decide_retention(struct decision *d);
void offsets_decide_topics_changed(struct decision *d);
void catalog_decide(struct decision *d);

#endif
