/* timer.h: the deadlines of one shard, kept by its coordinator only. Private to src/coord.
 *
 * A timer is named by kind, group and member (group.h). Time here is the shard's live time: it stands still while the node cannot know whether
 * it still leads. Re-arming a timer to a later moment, which every heartbeat does, writes one field: the heap is put right when the timer
 * comes to its top. */
#ifndef MUSTER_COORD_TIMER_H
#define MUSTER_COORD_TIMER_H

#include <muster/group.h>

struct timer {
    struct timer *chain; /* of its hash bucket */
    uint64_t hash;
    struct group_timer what; /* ids are the timer's own copies */
    int64_t deadline_us;     /* live time */
    int64_t heap_us;         /* under which the heap has it, never later than deadline_us */
    uint64_t order;          /* of creation: equal moments fire in a repeatable order */
    size_t heap_at;          /* SIZE_MAX: fired, waiting for its decision */
    uint64_t serial;         /* changes with each arming: a decision for an older one is void */
    uint64_t connection;     /* that armed it, 0: none */
    int32_t told_ms;         /* of a session: the heartbeat interval that its member was told on that connection; 0: none yet */
};

struct timer_set {
    struct timer **buckets;
    size_t bucket_count;
    struct timer **heap;
    size_t heap_len, heap_cap;
    size_t count;
    uint64_t next_serial, next_order;
};

void timer_set_init(struct timer_set *t);
void timer_set_fini(struct timer_set *t);
void timer_set_clear(struct timer_set *t);
struct timer *timer_arm(struct timer_set *t, const struct group_timer *what, int64_t deadline_us, uint64_t connection);
void timer_cancel(struct timer_set *t, const struct group_timer *what);
struct timer *timer_find(const struct timer_set *t, const struct group_timer *what);
/* Takes the next timer due at live_us out of the heap; it stays findable until timer_decided or a new arming. NULL: none is due. */
struct timer *timer_fire(struct timer_set *t, int64_t live_us);
/* Forgets a fired timer, unless it was armed again meanwhile. */
void timer_decided(struct timer_set *t, const struct group_timer *what, uint64_t serial);
/* The earliest moment at which something may be due; INT64_MAX: never. */
int64_t timer_next_us(const struct timer_set *t);

#endif
