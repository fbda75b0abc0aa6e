/* torture.h: mischief of all kinds, from the world's seed, while commands and reads keep coming. */
#ifndef MUSTER_TEST_RAFT_TORTURE_H
#define MUSTER_TEST_RAFT_TORTURE_H

#include "world.h"

enum { SECOND = 1000000, MS = 1000 };

extern struct core_stats torture_totals; /* of all lives of all nodes */
extern uint64_t torture_reads;
extern void (*torture_step)(struct world *w); /* between two steps of the clients; may be NULL */

/* Clients do what they do for that long. */
void torture_run(struct world *w, int64_t us);
/* Some one thing goes wrong, or is put right. */
void torture_mischief(struct world *w);
/* Everything is put right. */
void torture_heal(struct world *w);
void torture_collect(struct world *w, struct node *n);
unsigned torture_up_count(const struct world *w);

#endif
