/* store.h: what the files that keep the state of streams groups share: store.c (life, lookup), apply.c (records in), record.c (records out). */
#ifndef MUSTER_STREAMS_STORE_H
#define MUSTER_STREAMS_STORE_H

#include "streams.h"

enum { SLOT_EVERYTHING = SLOT_MEMBER | SLOT_TARGET | SLOT_CURRENT | SLOT_OFFSETS | SLOT_ID };

struct streams *streams_new(struct pool *pool); /* every field as without records */
/* The group's state as something to change: the set's own. */
struct streams *streams_own(struct group_set *set, struct group *g);
void streams_put(struct pool *pool, struct streams *s); /* gives a reference back */

/* Where the slot of that member id is, or belongs. */
int32_t slots_place(const struct streams *s, struct str member_id, bool *ret_found);
struct modern_slot *slots_get(struct pool *pool, struct streams *s, struct str member_id); /* made where it is missing */
void slots_remove_if_empty(struct pool *pool, struct streams *s, int32_t place);
/* Empties one part of a slot: what was there is freed unless it is borrowed or shared. */
void slot_drop(struct pool *pool, struct modern_slot *slot, enum slot_part part);
bool slot_has(const struct modern_slot *slot, enum slot_part part);

void instances_add(struct pool *pool, struct streams *s, const struct modern_slot *slot); /* the member has an instance id */
void instances_remove(struct streams *s, const struct modern_slot *slot);                 /* before the member is dropped */

int32_t regexes_place(const struct streams *s, struct str regex, bool *ret_found);
void regex_put(struct pool *pool, struct modern_regex *r);
void topology_put(struct pool *pool, struct streams_topology *t);
void description_put(struct pool *pool, struct streams_description *d);
void configs_put(struct pool *pool, struct key_value *configs, int32_t count);
struct key_value *configs_copy(struct pool *pool, const struct key_value *configs, int32_t count);

#endif
