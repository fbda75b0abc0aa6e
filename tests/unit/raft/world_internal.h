/* world_internal.h: shared by world.c and world_members.c. */
#ifndef MUSTER_TEST_RAFT_WORLD_INTERNAL_H
#define MUSTER_TEST_RAFT_WORLD_INTERNAL_H

#include "world.h"

void world_slot(struct world *w, uint32_t i); /* makes the node at this place, which is not part of the world yet */
void world_up(struct node *n);
/* Connections both ways with all that know each other and are not connected yet. */
void world_connect(struct node *n);
/* What a hello finds out: the node is in that one's list, with the incarnation that it has. */
bool world_lets_in(const struct node *n, uint32_t other, unsigned incarnation);
struct store_peer world_record(const struct node *n);
struct store_identity world_identity(const struct world *w, const struct node *n); /* of a founder */

#endif
