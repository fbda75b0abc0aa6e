/* internal.h: private to src/coord. See README.md for the journey of a request. */
#ifndef MUSTER_COORD_INTERNAL_H
#define MUSTER_COORD_INTERNAL_H

#include <bsd/sys/tree.h>
#include <muster/coord.h>

#include "timer.h"

/* The Kafka errors coord itself gives. */
enum {
    UNKNOWN_SERVER_ERROR = -1,
    LOAD_IN_PROGRESS = 14,
    COORDINATOR_NOT_AVAILABLE = 15,
    NOT_COORDINATOR = 16,
    INVALID_COMMIT_OFFSET_SIZE = 28
};

/* Where a request is. It is in exactly one list at any time. */
enum request_state {
    REQUEST_NEW,
    REQUEST_HELD,      /* the shard hands over, or the catalogue is not known to be fresh */
    REQUEST_QUEUED,    /* its group's gate is closed */
    REQUEST_IN_TURN,   /* decided; its records are in this turn's entry, or it read a group that this entry changes */
    REQUEST_IN_FLIGHT, /* that entry is proposed */
    REQUEST_WAITING,   /* a parked join or sync */
    REQUEST_READING    /* decided without records: waits for a confirmation round */
};

struct request_list {
    struct coord_request *first, **last;
    size_t count;
};
void request_list_init(struct request_list *l);
void request_list_add(struct request_list *l, struct coord_request *r);
struct coord_request *request_list_take(struct request_list *l); /* NULL: empty */
bool request_list_remove(struct request_list *l, struct coord_request *r);
void request_list_move(struct request_list *from, struct request_list *to); /* appends all */

/* What stands before one group while something of it is in flight or waits. Absent: the way is free. */
struct gate {
    RB_ENTRY(gate) link;
    struct str id;
    bool catalog;                /* of shard 0's catalogue, not of a group */
    struct request_list queue;   /* closed out, in order of arrival */
    struct request_list waiting; /* joins and syncs that were decided and have no answer yet */
    uint32_t flights;            /* entries in flight that touch the group */
    uint32_t member_flights;     /* those with a membership change */
    bool exclusive;              /* in flight or in the turn: nothing else may be decided */
    bool creates;                /* what is in flight or in the turn makes the group: one of reserved_groups */
    /* this turn */
    bool in_turn, member_in_turn;
    struct record *turn_records;
    size_t turn_record_count, turn_record_cap; /* membership records, for a late overlay */
    struct group_set *overlay;
    bool was_rebalancing; /* before the entry being applied */
    uint32_t pins;        /* held by a loop that will look at it again */
};
RB_HEAD(gate_tree, gate);

/* One entry: being filled in this turn, or in flight. */
struct flight {
    struct flight *next;
    uint64_t term, index;
    struct request_list requests;
    struct gate **gates;
    size_t gate_count, gate_cap;
    bool *member_change; /* per gate */
    int64_t bytes, joins;
};

struct turn {
    struct arena arena; /* the entry under construction */
    struct log_entry_cause *causes;
    size_t cause_count, cause_cap;
    struct log_entry_entry_record *records;
    size_t record_count, record_cap;
    size_t bytes;
    struct flight *flight; /* NULL: nothing decided yet */
};

/* A walk over all groups of the shard, a few a turn, as requests of coord's own. */
struct sweep {
    bool running, walked;
    enum group_op_kind kind;
    struct buf after;
    bool after_known;
    uint64_t target;
    size_t outstanding;
};

struct gate_list {
    struct gate **v;
    size_t len, cap;
}; /* pinned gates */

struct shard {
    struct coord *coord;
    uint32_t id;
    struct pool pool;
    struct group_set *set;
    enum replica_role role;
    uint64_t term;
    uint32_t leader;
    uint64_t applied;
    struct arena scratch;    /* of apply */
    struct gate_list opened; /* touched by the entry being applied */

    struct gate_tree gates;
    struct gate *catalog_gate;
    struct turn turn;
    struct flight *flights, **flights_end;
    struct request_list reads; /* by round */
    struct request_list held;
    struct coord_read *shard_reads, **shard_reads_end;

    struct timer_set timers;
    int64_t live_us;                      /* time during which leadership was sure */
    int64_t clock_base_ms, clock_base_us; /* shard clock = base + what passed since, monotonic */

    uint64_t barrier_serial; /* any barrier answer with this serial or a higher one will do */
    uint64_t barrier_floor;  /* index of shard 0 to reach; valid when barrier_known */
    bool barrier_known;

    struct sweep sweep;
    bool retention_due, topics_due;
    struct buf handover; /* remaining times from the leader before, until this node serves */
    uint64_t handover_term;
    int64_t reserved_bytes, reserved_members, reserved_groups; /* of decisions in flight */
    struct buf snapshot;                                       /* the run being handed out */
    bool snapshot_done;
};

struct coord {
    struct coord_options options;
    struct coord_events events;
    struct replica *replica;
    struct shard *shards;
    int64_t now_us;
    int64_t retention_next_us;
    uint64_t catalog_index;  /* newest change of the catalogue applied on this node */
    uint64_t barrier_serial; /* of the newest barrier asked for */
    int64_t barrier_retry_us;
    int64_t patience_us;            /* when overdue requests are looked for again */
    struct group_settings settings; /* with the reservations of the shard that decides */
    struct topics topics;
    struct coord_stats stats;
    bool dirty; /* another turn is wanted */
};

/* ---- gate.c ---- */
bool op_is_catalog(enum group_op_kind kind);
struct gate *gate_find(struct shard *s, const struct group_op *op); /* NULL: nothing is in the way */
struct gate *gate_get(struct shard *s, const struct group_op *op);
struct gate *gate_find_id(struct shard *s, struct str id);
struct gate *gate_first(struct shard *s);
struct gate *gate_after(struct gate *g); /* in order of ids; NULL: the end */
bool gate_closed(const struct gate *g, enum group_op_class class);
const struct group_set *gate_view(struct shard *s, struct gate *g,
                                  struct arena *scratch); /* the applied state, or the overlay of this turn */
void gate_end_turn(struct gate *g);                       /* drops overlay and turn records */
void gate_made(struct shard *s, struct gate *g);          /* its group exists now, or will not */
void gate_free_if_idle(struct shard *s, struct gate *g);
void gate_list_add(struct gate_list *l, struct gate *g);
struct gate *gate_list_take(struct gate_list *l); /* unpins; NULL: empty */

/* ---- decide.c: from a request to records, an answer, or a place to wait ---- */
void request_route(struct shard *s, struct coord_request *r);  /* gate, catalogue, decide */
void request_finish(struct shard *s, struct coord_request *r); /* its answer is true: out with it */
void request_refuse(struct shard *s, struct coord_request *r, int16_t error);
void request_poll(struct shard *s, struct coord_request *r); /* a parked join or sync: answer it, or let it wait on */
void request_arm_timers(struct shard *s, struct coord_request *r);
void read_finish(struct shard *s, struct coord_read *read, int16_t error);
int64_t shard_clock_ms(const struct shard *s);

/* ---- turn.c ---- */
void turn_init(struct turn *t);
void turn_fini(struct turn *t);
void turn_clear(struct turn *t);                         /* its flight has another owner */
bool turn_has_room(const struct shard *s, size_t bytes); /* an entry is filled to half the limit, the rest goes into the next */
void turn_add(struct shard *s, struct gate *g, struct coord_request *r, const struct group_out *out);
void turn_join(struct shard *s, struct gate *g, struct coord_request *r); /* waits for the turn's entry without adding to it */
void turn_seal(struct shard *s);                                          /* proposes what there is */
struct flight *flight_take(struct shard *s); /* the oldest in flight; its gates are opened and listed in s->opened */
void flight_free(struct flight *f);

/* ---- role.c ---- */
void coord_role(struct shard *s, enum replica_role role, uint64_t term, uint32_t leader);
void coord_advance(struct shard *s, int64_t elapsed_us); /* live time, if leadership is sure */

/* ---- apply.c ---- */
void coord_apply(struct shard *s, uint64_t index, uint64_t term, struct bytes entry);
void coord_confirmed(struct shard *s, uint64_t term, uint64_t round);
void gates_reconsider(struct shard *s); /* everything in s->opened: parked requests first, then the queue */

/* ---- sweep.c: requests of coord's own ---- */
void internal_submit(struct shard *s, enum group_op_kind kind, struct str group_id, const struct timer *timer);
bool internal_is_stale(struct shard *s, const struct coord_request *r); /* a timer's decision whose timer was armed again */
void sweep_step(struct shard *s);
void sweep_reset(struct shard *s);

/* ---- barrier.c: how fresh the local copy of the catalogue must be ---- */
bool op_needs_catalog(const struct group_op *op);
bool catalog_ready(const struct shard *s);
void catalog_moved(struct coord *c); /* this node's copy has: budgets may have been altered */
void barrier_reset(struct shard *s); /* the shard has taken office */
void barrier_step(struct coord *c);  /* asks shard 0's leader where some shard still needs to know */
void barrier_message(struct coord *c, uint32_t from, uint16_t channel, struct bytes data);
void held_release(struct shard *s);

/* ---- patience.c: requests that take too long ---- */
void patience_check(struct coord *c);
int64_t patience_next_us(const struct coord *c); /* INT64_MAX: nothing is owed to anybody */

/* ---- handover.c ---- */
void handover_send(struct shard *s);
void handover_take(struct shard *s);

#endif
