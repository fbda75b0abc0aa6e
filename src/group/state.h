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

/* ---- offsets (src/group/offsets) -------------------------------------------------------------------------------------- */

struct topic_name { /* interned: one per name in the set, counted */
    RB_ENTRY(topic_name) link;
    struct str name;
    int64_t references;
};
RB_HEAD(topic_name_tree, topic_name);

struct offset {
    RB_ENTRY(offset) link; /* by topic name, then partition */
    struct topic_name *topic;
    int32_t partition;
    int32_t leader_epoch; /* -1: none */
    int64_t offset;
    int64_t commit_clock_ms; /* shard clock: what retention is measured on */
    int64_t commit_wall_ms;  /* what clients and logs see */
    int64_t expire_clock_ms; /* -1, or the shard clock at which the explicit retention time of commit versions 2 to 4 ends */
    struct uuid topic_id;    /* zero: not known at commit */
    struct str metadata;
    uint64_t record_hash;
};
RB_HEAD(offset_tree, offset);

/* ---- classic groups (src/group/classic) ---------------------------------------------------------------------------------- */

enum classic_state { CLASSIC_EMPTY, CLASSIC_PREPARING, CLASSIC_COMPLETING, CLASSIC_STABLE, CLASSIC_DEAD, CLASSIC_STATE_COUNT };

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

struct classic {
    enum classic_state state;
    bool exists; /* a ClassicGroup record is live */
    int32_t generation;
    struct str protocol_type, protocol_name, leader; /* name and leader may be null */
    int64_t state_clock_ms, state_wall_ms;
    int32_t assignments_since; /* assignments of earlier generations are void */
    int64_t topics_hash;       /* 0: not kept */
    struct classic_member **members;
    int32_t member_count, member_capacity; /* sorted by member id */
    struct classic_pending_id *pending;
    int32_t pending_count, pending_capacity; /* sorted by member id */
    struct classic_protocol_use *uses;
    int32_t use_count, use_capacity; /* derived from members */
    int32_t joined_count;            /* derived: members with join_generation == generation + 1 */
    uint64_t record_hash;
};

/* ---- a group ---------------------------------------------------------------------------------------------------------------- */

enum group_type { GROUP_CLASSIC }; /* consumer and streams follow */

struct group {
    RB_ENTRY(group) link; /* by id */
    struct group *chain;  /* in the lookup table */
    uint64_t id_hash;
    struct str id;
    enum group_type type;
    int64_t revision;
    uint64_t phase;
    struct classic classic;
    struct offset_tree offsets;
    int64_t offset_count;
};
RB_HEAD(group_tree, group);

/* ---- catalogue (src/group/catalog) ---------------------------------------------------------------------------------------------- */

struct catalog; /* catalog/state.h; every set has one, empty outside of shard 0 */

/* ---- the set ------------------------------------------------------------------------------------------------------------------------ */

struct snapshot_cut; /* snapshot.c */

struct group_set {
    struct pool *pool;
    uint32_t shard;
    const struct group_set *base; /* an overlay's base; NULL for a real set */
    struct group_tree groups;     /* plus a lookup table, set.c */
    struct group_table *table;
    struct topic_name_tree topic_names;
    struct catalog *catalog; /* NULL in overlays */
    struct group_set_counts counts;
    uint64_t hash;
    int64_t clock_ms;
    uint64_t catalog_index; /* shard 0: of the newest entry that changed the catalogue; apply.c keeps it */
    int64_t cursor;
    uint64_t cursor_hash;
    uint64_t phases;          /* phases given out; group_phase() of a group never repeats */
    struct snapshot_cut *cut; /* a snapshot is being taken */
};

struct group_set *group_set_new_bare(struct pool *pool, uint32_t shard); /* without a catalogue: for overlays */
struct group *group_find(const struct group_set *set, struct str id);    /* NULL: unknown */
struct group *group_find_or_add(struct group_set *set, struct str id);
void group_remove_if_gone(struct group_set *set, struct group *g);     /* frees a group that no live record stands for */
struct group *group_after(const struct group_set *set, struct str id); /* the next one in id order; id null: the first */
void group_phase_move(struct group_set *set, struct group *g);

/* Dispatched from group_apply by record type; one function per record, in the folder that owns it. value NULL: tombstone.
 * They keep set->hash through group_hash_replace() and leave freeing an empty group to apply.c. */
struct apply_context {
    struct group_set *set;
    uint64_t index;
    uint64_t record_hash;
    struct record raw;
};
static inline void group_hash_replace(struct group_set *set, uint64_t old_hash, uint64_t new_hash)
{
    set->hash += new_hash - old_hash;
}
/* Before a change, while set->cut: what is there goes into the snapshot that is being taken. The revision of a group moves with each entry that names it. */
void snapshot_save(struct group_set *set, struct record raw, const struct wire_decoded_record *record, struct arena *scratch);
void snapshot_save_revision(struct group_set *set, struct str group_id, struct arena *scratch);
void classic_apply_group(const struct apply_context *c, const struct classic_group_key *key, const struct classic_group_value *value);
void classic_apply_member(const struct apply_context *c, const struct classic_member_key *key, const struct classic_member_value *value);
void classic_apply_assignment(const struct apply_context *c, const struct classic_assignment_key *key,
                              const struct classic_assignment_value *value);
void classic_apply_pending_id(const struct apply_context *c, const struct classic_pending_id_key *key,
                              const struct classic_pending_id_value *value);
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
/* The group's first offset after (topic, partition); topic null: the first of all. NULL at the end. */
const struct offset *offsets_after(const struct group *g, struct str topic, int32_t partition);
const struct offset *offsets_find(const struct group *g, struct str topic, int32_t partition);
struct record offsets_record(const struct group *g, const struct offset *o, struct arena *arena);

void catalog_new(struct group_set *set); /* makes set->catalog */
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
    int32_t subscribed_count; /* classic_subscribed() fills these once, sorted */
    int8_t subscribed_state;  /* 0 not read yet, 1 known, -1 cannot be read */
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
const char *classic_state_name(enum classic_state state); /* "Stable": Kafka's words */
void classic_timers(const struct group *g, const struct group_settings *settings,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx);

void offsets_decide_commit(struct decision *d);
void offsets_decide_fetch(struct decision *d);
void offsets_decide_delete(struct decision *d);
void offsets_decide_group_delete(struct decision *d);
void offsets_decide_retention(struct decision *d);
void offsets_decide_topics_changed(struct decision *d);
void catalog_decide(struct decision *d);

#endif
