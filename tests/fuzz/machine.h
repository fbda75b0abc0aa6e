/* machine.h: the harness of the targets whose input is a program: a set of groups, what is asked of it, and what has to hold whatever was asked. An overlay decides
 * like its base, the records of a decision can be applied, an answer can be written when the state has moved on, a snapshot restores to the hash of the state at
 * its beginning, and in the end no memory is left. */
#ifndef MUSTER_TESTS_FUZZ_MACHINE_H
#define MUSTER_TESTS_FUZZ_MACHINE_H

#include "record_draw.h"

#include <muster/group.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct machine {
    const uint8_t *at;
    size_t left;
    struct pool pool;
    struct group_set *set, *shard0; /* the same when the set is shard 0 */
    struct arena arena;             /* cleared after each step */
    struct group_settings settings;
    struct topics topics;
    struct record_draw draw; /* records as the input has them */
    uint64_t index;
    int64_t clock_ms;
    struct group_job *job; /* one that ran and whose result is not back yet */
    bool cutting;          /* a snapshot is under way */
    uint64_t cut_hash;
    struct buf cut;
};
typedef void machine_step(struct machine *m);

/* settings are those of group_defaults(); the caller changes what it wants. */
void machine_begin(struct machine *m, const uint8_t *data, size_t size, uint32_t shard);
void machine_run(struct machine *m, machine_step *const *steps, size_t count); /* a byte chooses each, until the input is used up */
void machine_end(struct machine *m);

/* ---- what the input says ------------------------------------------------------------------------------------------------------- */

uint8_t next_byte(struct machine *m);   /* 0 at the end */
int32_t next_number(struct machine *m); /* mostly small ones, so that epochs meet */
struct str pick(struct machine *m, const char *const *names, size_t count);
struct str maybe(struct machine *m, struct str s); /* or null */
struct str next_group(struct machine *m);
struct str next_member(struct machine *m);

/* ---- steps that all have ----------------------------------------------------------------------------------------------------------- */

void machine_apply(struct machine *m, struct record record);                                 /* to the set */
void machine_apply_catalog(struct machine *m, struct record record);                         /* to shard 0 */
void machine_config(struct machine *m, struct str group, struct str name, struct str value); /* value null: unset */
/* Decides, checks and applies. response NULL: the answer is a part of one, or there is none. */
void decide(struct machine *m, struct group_op *op, const struct wire_msg *response);
void step_timer(struct machine *m);
void step_job(struct machine *m); /* one begins, or its result comes back */
void step_failover(struct machine *m);
void step_cut(struct machine *m); /* a snapshot: its beginning, its next slice or its end */

#endif
