/* modern.h: the state of a group of one of the new protocols: what its records say, shared by consumer groups (KIP-848) and streams groups (KIP-1071).
 *
 * store.c keeps it and finds things in it, apply.c has what their records have in common, record.c gives them back. */
#ifndef MUSTER_MODERN_MODERN_H
#define MUSTER_MODERN_MODERN_H

#include "../state.h"
#include "reconcile.h"
#include "units.h"

enum { MODERN_VALUE_VERSION = 0 }; /* of all their records */

/* ---- reading ------------------------------------------------------------------------------------------------------------------ */

struct modern *group_modern(const struct group *g); /* of the type the group has; NULL: it is a classic one, or g is NULL */
/* The slot of a member id whose metadata record is live; NULL: none, or s is NULL. */
const struct modern_slot *modern_find(const struct modern *s, struct str member_id);
const struct modern_slot *modern_by_instance(const struct modern *s, struct str instance_id); /* NULL: none */
struct member_position modern_position(
    const struct modern_slot *slot);                          /* borrowed; of a member without a current record: epoch 0, nothing */
struct holding modern_target(const struct modern_slot *slot); /* borrowed; empty when none */
/* For what the member says it has of that kind. */
void modern_report_init(struct unit_report *report, const struct member_position *p, enum unit_kind kind, struct arena *arena);
bool modern_all_settled(const struct modern *s); /* every member is STABLE at the assignment's epoch */
bool modern_is_gone(const struct modern *s);     /* no record is live */

/* What the group's regular expressions matched, as recorded; borrowed. */
struct regex_topics {
    struct str regex;
    struct str_array topics; /* in order of names */
};
struct regex_table { /* in order of the regular expressions */
    const struct regex_topics *v;
    int32_t len;
};
struct regex_table modern_regexes(const struct modern *s, struct arena *arena);
const struct regex_topics *regex_table_find(const struct regex_table *table, struct str regex); /* NULL: it is not in it */

/* ---- what differs between the protocols: their records ------------------------------------------------------------------------- */

/* Values are those of MODERN_VALUE_VERSION, in the arena, borrowing: for decisions, and for snapshots, whose bytes must be the same. The keys of all records
 * are laid out alike: the group's id, then the member's id or the regular expression. */
struct modern_kind {
    enum group_type type;
    const char *noun; /* "consumer group", for texts */
    int16_t group_record, assignment_record, regex_record, member_record, target_record, current_record;
    int16_t topology_record, description_record, offsets_record; /* -1: it has no such records */
    const void *(*group_value)(const struct modern *s, struct arena *arena);
    const void *(*assignment_value)(const struct modern *s, struct arena *arena);
    const void *(*member_value)(const struct modern_member *m, struct arena *arena);
    const void *(*target_value)(const struct holding *target, struct arena *arena);
    const void *(*current_value)(const struct member_position *p, struct arena *arena);
    const void *(*regex_value)(const struct modern_regex *r, struct arena *arena);
    const void *(*offsets_value)(const struct modern_offsets *o, struct arena *arena); /* NULL: it has no such records */
};
extern const struct modern_kind consumer_kind; /* ../consumer/record.c */
extern const struct modern_kind streams_kind;  /* ../streams/record.c */

const struct modern_kind *modern_kind_of(int16_t record_type); /* NULL: a record of something else; ../apply.c */
/* The state of that kind, which need not be the group's type. */
static inline struct modern **modern_at(struct group *g, const struct modern_kind *kind)
{
    return kind->type == GROUP_STREAMS ? &g->streams : &g->consumer;
}

/* ---- record.c: the live records, byte for byte as they were logged ---------------------------------------------------------------- */

/* In the order of snapshots: the group's own, regular expressions, then member by member. The key of the one after that key (null: the first), whether or not
 * that key is live; false at the end. g NULL is fine. */
bool modern_key_after(const struct modern_kind *kind, const struct group *g, struct bytes key, struct arena *arena, struct bytes *ret);
/* The record of that very key; false when it is not live. */
bool modern_record(const struct modern_kind *kind, const struct group *g, struct bytes key, struct arena *arena, struct record *ret);
int modern_key_cmp(const struct modern_kind *kind, struct bytes a, struct bytes b); /* that order; both keys of one group */

/* Units as records have them: runs of one name. */
int32_t units_runs(struct units u);                   /* how many */
int32_t units_run_length(struct units u, int32_t at); /* of the one that begins there */
struct int32_array units_run_partitions(struct units u, int32_t at, int32_t len, struct arena *arena);
/* The epochs they were given with; null when there are none and `always` does not want them. */
struct int32_array units_run_epochs(struct units u, int32_t at, int32_t len, bool always, struct arena *arena);

/* ---- changing it: store.c, for the files that apply records -------------------------------------------------------------------- */

enum { SLOT_EVERYTHING = SLOT_MEMBER | SLOT_TARGET | SLOT_CURRENT | SLOT_OFFSETS | SLOT_ID };

struct modern *modern_new(struct pool *pool); /* every field as without records */
/* What is at that place of a group, as something to change: the set's own. */
struct modern *modern_own(struct group_set *set, struct modern **at);
struct modern *modern_share(struct modern *s);               /* one more reference, for an overlay; NULL is fine */
void modern_put(struct pool *pool, struct modern *s);        /* gives a reference back */
void modern_free(struct group_set *set, struct modern **at); /* all of it, without records; NULL there is fine */

/* Where the slot of that member id is, or belongs. */
int32_t slots_place(const struct modern *s, struct str member_id, bool *ret_found);
struct modern_slot *slots_get(struct pool *pool, struct modern *s, struct str member_id); /* made where it is missing */
void slots_remove_if_empty(struct pool *pool, struct modern *s, int32_t place);
/* Empties one part of a slot: what was there is freed unless it is borrowed or shared. */
void slot_drop(struct pool *pool, struct modern_slot *slot, enum slot_part part);
bool slot_has(const struct modern_slot *slot, enum slot_part part);

void instances_add(struct pool *pool, struct modern *s, const struct modern_slot *slot); /* the member has an instance id */
void instances_remove(struct modern *s, const struct modern_slot *slot);                 /* before the member is dropped */

int32_t regexes_place(const struct modern *s, struct str regex, bool *ret_found);
void regex_put(struct pool *pool, struct modern_regex *r);
void topology_put(struct pool *pool, struct streams_topology *t);
void description_put(struct pool *pool, struct streams_description *d);
void configs_put(struct pool *pool, struct key_value *configs, int32_t count);
struct key_value *configs_copy(struct pool *pool, const struct key_value *configs, int32_t count);

/* uses.c: a member of a consumer group comes (by 1) or goes (by -1). */
void uses_change(struct pool *pool, struct modern *s, const struct modern_member *m, int32_t by);
void uses_put(struct pool *pool, struct topic_uses *u);           /* gives a reference back; NULL is fine */
int32_t uses_count(const struct topic_uses *u, struct str topic); /* members that name it; u NULL: 0 */

/* owners.c: what the slot's member has comes (by 1) or goes (by -1); nothing while the group keeps no such table, or one of the two records is not live. */
void owners_change(struct pool *pool, struct modern *s, const struct modern_slot *slot, int32_t by);
void owners_put(struct pool *pool, struct unit_owners *o);                  /* gives a reference back; NULL is fine */
int32_t owners_count(const struct unit_owners *o, const struct unit *unit); /* o NULL: 0 */

/* ---- apply.c: what applying their records has in common -------------------------------------------------------------------------
 * Each record stands for itself, whatever else is live: in any order they come to the same. */

/* The state that the record changes, of group *ret; NULL when it is a tombstone for nothing. */
struct modern *modern_state(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct group **ret);
void modern_free_if_gone(const struct apply_context *c, const struct modern_kind *kind, struct group *g); /* after a change */
/* The value as logged, when the one that would be written now differs from it; else null. */
struct bytes modern_raw(const struct apply_context *c, const void *again);
void modern_hash_replace(const struct apply_context *c, uint64_t *at);
/* Sizes and places of texts in a part that is one block of the pool. */
size_t text_size(struct str s);
struct str text_put(char **at, struct str s);
struct bytes bytes_put(char **at, struct bytes b);

/* The group's own record, after its fields were taken over. */
void modern_applied_group(const struct apply_context *c, const struct modern_kind *kind, struct group *g);
struct modern_assigned { /* what a target assignment metadata record says */
    int32_t epoch;
    int64_t wall_ms, clock_ms;
};
/* Of the following what the record says is NULL for a tombstone. Members and task offsets are made by the caller, from the pool, and taken; references, raw
 * and hash are filled in here. The rest is borrowed; topics in any order. */
void modern_apply_assignment(const struct apply_context *c, const struct modern_kind *kind, struct str group_id,
                             const struct modern_assigned *said);
void modern_apply_regex(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str regex,
                        const struct modern_regex *said);
void modern_apply_member(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                         struct modern_member *m);
void modern_apply_target(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                         const struct holding *target);
void modern_apply_current(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                          const struct member_position *p);
void modern_apply_offsets(const struct apply_context *c, const struct modern_kind *kind, struct str group_id, struct str member_id,
                          struct modern_offsets *o);
struct str_array names_sorted(const struct str_array *names, struct arena *arena); /* in order, each once; borrowed */

#endif
