/* internal.h: private to src/coord. See README.md for the journey of a request. */
#ifndef MUSTER_COORD_INTERNAL_H
#define MUSTER_COORD_INTERNAL_H

#include <bsd/sys/queue.h>
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
    REQUEST_HELD,      /* the shard is being handed over, or the catalogue is not known to be fresh */
    REQUEST_QUEUED,    /* its group's gate is closed */
    REQUEST_IN_TURN,   /* decided; its records are in this turn's entry, or it read a group that this entry changes */
    REQUEST_IN_FLIGHT, /* that entry is proposed */
    REQUEST_WAITING,   /* a parked join or sync */
    REQUEST_CREATING,  /* decided, but topics have to be made first; then it is decided again */
    REQUEST_BEAT,      /* a heartbeat whose answer is held: not in a list, but in its gate */
    REQUEST_MOVED,     /* one whose group has moved: it is decided again in a moment */
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

/* A heartbeat whose answer is held. */
struct beat {
    TAILQ_ENTRY(beat) link; /* of its gate, oldest first */
    RB_ENTRY(beat) by_due;  /* of all shards' */
    struct coord_request *request;
    struct gate *gate;
    int64_t due_us;
    uint64_t serial;
};
TAILQ_HEAD(beat_list, beat);
RB_HEAD(beat_tree, beat);

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
    struct beat_list beats;
    uint64_t beat_phase, work_phase; /* of the group, as those beats were decided */
    uint32_t pins;                   /* held by a loop that will look at it again */
};
RB_HEAD(gate_tree, gate);

/* What decisions about one group want done outside: an assignment, regular expressions, topics. One of each kind is under way at a time. */
enum errand_kind { ERRAND_ASSIGN = GROUP_JOB_ASSIGN, ERRAND_RESOLVE = GROUP_JOB_RESOLVE, ERRAND_CREATE, ERRAND_KINDS };
enum errand_state {
    ERRAND_IDLE,
    ERRAND_QUEUED,  /* as many as may are under way */
    ERRAND_OUT,     /* the host has it */
    ERRAND_BACK,    /* what came of it is being decided */
    ERRAND_RESTING, /* it failed, or topics were just made: not again for a while */
};
struct errand {
    TAILQ_ENTRY(errand) link; /* of the queue, of those that rest, or of topics that came back */
    struct errands *of;
    enum errand_kind kind;
    enum errand_state state;
    bool again; /* a job was wished for while one was under way: what it sees may be too old */
    int64_t rest_until_us;
    struct group_job *job; /* out or back */
};
TAILQ_HEAD(errand_list, errand);

struct errands { /* of one group; absent: there are none */
    RB_ENTRY(errands) link;
    struct shard *shard;
    struct str id;
    struct errand v[ERRAND_KINDS];
    /* topics */
    struct arena arena;
    const struct create_topics_request *create;
    uint64_t token;
    bool for_request;            /* that waits for it, and hears what came of it */
    struct str failure;          /* of the newest creation */
    struct request_list waiting; /* requests that go on when topics were made, or may be asked for again */
};
RB_HEAD(errands_tree, errands);

/* A job that the host has; errand NULL: office was lost, the result is dropped. */
struct running_job {
    struct group_job *job;
    struct errand *errand;
};

/* One entry: being filled in this turn, or in flight. */
struct flight {
    struct flight *next;
    uint64_t term, index;
    int64_t since_us; /* when it was proposed */
    struct request_list requests;
    struct gate **gates;
    size_t gate_count, gate_cap;
    bool *member_change; /* per gate */
    bool office;         /* it says that office was taken */
    bool hash;           /* it carries the state's hash */
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
    bool restoring;          /* a snapshot takes the place of its state, over several turns: until then some of it is not there */
    struct arena scratch;    /* of apply */
    struct gate_list opened; /* touched by the entry being applied */

    struct gate_tree gates;
    struct gate *catalog_gate;
    struct turn turn;
    struct flight *flights, **flights_end;
    struct request_list reads; /* by round */
    struct request_list held;
    struct request_list moved; /* heartbeats that were held */
    struct coord_read *shard_reads, **shard_reads_end;

    struct errands_tree errands;
    size_t creating; /* requests that wait for topics */

    struct timer_set timers;
    int64_t live_us;                      /* time during which leadership was sure */
    int64_t clock_base_ms, clock_base_us; /* shard clock = base + what passed since, monotonic */

    uint64_t barrier_serial; /* any barrier answer with this serial or a higher one will do */
    uint64_t barrier_floor;  /* index of shard 0 to reach; valid when barrier_known */
    bool barrier_known;
    uint32_t barrier_via; /* who passed the question on, since shard 0's leader did not answer this node; 0: nobody */
    int64_t barrier_us;   /* when it was answered */

    struct sweep sweep;
    bool retention_due, topics_due;
    struct buf handover; /* remaining times from the leader before, until this node serves */
    uint64_t handover_term;
    uint32_t handover_from;
    int64_t handover_us;        /* when it came */
    bool handover_announced;    /* by this node or to it: of handover_term, at handover_us */
    int64_t office_us;          /* when office was taken */
    struct group_office office; /* office.c: what is to be recorded of that */
    int64_t office_due_us;      /* at the latest by then; 0: it is, or there is no office */
    uint32_t led_by;            /* who led the shard last, another node or this one; 0: not known */
    uint64_t led_term;
    uint64_t hash_index, hash; /* state_hash.c: the newest to be written, or written */
    bool hash_due;
    int64_t fled_us;                                           /* when it was last given away for want of the catalogue; 0: never */
    int64_t reserved_bytes, reserved_members, reserved_groups; /* of decisions in flight */
    struct buf snapshot;                                       /* the run being handed out */
    bool snapshot_done, snapshot_running;
    struct coord_cut *cut; /* open, or waiting to be confirmed; never while snapshot_running */
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
    unsigned barrier_tries;         /* questions since one was answered */
    uint32_t barrier_nonce;         /* of this process; 0: not drawn yet */
    int64_t patience_us;            /* when overdue requests are looked for again */
    struct group_settings settings; /* with the reservations of the shard that decides */
    struct topics topics;
    struct coord_stats stats;
    struct log_gate too_large_gate;
    bool dirty; /* another turn is wanted */

    struct errand_list jobs, creations; /* that wait for their turn, of all shards */
    struct errand_list made;            /* creations that came back, to be looked at in this turn */
    struct errand_list resting;         /* in order of time */
    struct errand_list creating;        /* that the host has */
    struct running_job *running;
    uint32_t running_count, creating_count; /* the host has them, whatever became of the office */
    uint64_t creation_token;

    struct beat_tree beats;
    size_t beat_count;
    uint64_t beat_serial;
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

/* ---- errand.c: what is done outside for a group, and what may be under way at once ---- */
struct errands *errands_find(struct shard *s, struct str id); /* NULL: there are none */
struct errands *errands_get(struct shard *s, struct str id);
struct errands *errands_first(struct shard *s);
struct errands *errands_after(struct errands *e); /* in order of ids; NULL: the end */
void errands_tidy(struct errands *e);             /* frees it when there is nothing left in it */
void errand_wish(struct errand *one);
void errand_rest(struct errand *one);
bool errands_of(struct shard *s, struct coord_request *r); /* what its decision wished for; true: it waits for topics */
void errands_step(struct coord *c);
void errands_drop(struct shard *s, struct request_list *requests); /* office was lost; adds requests that waited */
int64_t errands_next_us(const struct coord *c);

/* ---- job.c, create.c: the two sorts of errands ---- */
bool errand_job_start(struct coord *c, struct errand *one); /* false: nothing is due */
void errand_job_decided(struct shard *s, struct str group_id, struct group_job *job, int16_t error);
void errand_job_forget(struct coord *c, struct errand *one);
void creation_wish(struct shard *s, struct coord_request *r);
void creation_start(struct coord *c, struct errand *one);
void creation_wait(struct shard *s, struct coord_request *r); /* until topics are made */
bool creation_cancel(struct shard *s, struct coord_request *r);
void creation_made(struct errand *one);
void creation_rested(struct errand *one); /* whoever waited may ask for topics again */

/* ---- decide.c: from a request to records, an answer, or a place to wait ---- */
void request_route(struct shard *s, struct coord_request *r);  /* gate, catalogue, decide */
void request_finish(struct shard *s, struct coord_request *r); /* its answer is true: out with it */
void request_refuse(struct shard *s, struct coord_request *r, int16_t error);
void request_poll(struct shard *s, struct coord_request *r);   /* a parked join or sync: answer it, or let it wait on */
bool request_follow(struct shard *s, struct coord_request *r); /* timers and errands of its decision; true: it waits for one of them */
void read_finish(struct shard *s, struct coord_read *read, int16_t error);
int64_t shard_clock_ms(const struct shard *s);
void op_fill(struct shard *s, const struct gate *g, struct group_op *op); /* with what coord knows and draws */
bool op_adds_member(const struct group_op *op);

/* ---- turn.c ---- */
void turn_init(struct turn *t);
void turn_fini(struct turn *t);
void turn_clear(struct turn *t);                         /* its flight has another owner */
bool turn_has_room(const struct shard *s, size_t bytes); /* an entry is filled to half the limit, the rest goes into the next */
void turn_add(struct shard *s, struct gate *g, struct coord_request *r, const struct group_out *out);
void turn_note(struct shard *s, const struct group_op *op,
               const struct group_out *out); /* records that nobody waits for, before which no gate stands */
void turn_remark(struct shard *s, const char *rule,
                 struct record record); /* goes with what is written anyway; the record lies in the turn's arena */
void turn_join(struct shard *s, struct gate *g, struct coord_request *r); /* waits for the turn's entry without adding to it */
void turn_seal(struct shard *s);                                          /* proposes what there is */
void turn_withdraw(struct shard *s);                                      /* what was decided in it is held, to be decided again */
struct flight *flight_take(struct shard *s); /* the oldest in flight; its gates are opened and listed in s->opened */
void flight_free(struct flight *f);

/* ---- role.c ---- */
void coord_role(struct shard *s, enum replica_role role, uint64_t term, uint32_t leader);
void coord_advance(struct shard *s, int64_t elapsed_us); /* live time, if leadership is sure */

/* ---- apply.c ---- */
void coord_give_up(struct coord *c, struct str outdated, const char *why);
void coord_apply(struct shard *s, uint64_t index, uint64_t term, struct bytes entry);
void coord_confirmed(struct shard *s, uint64_t term, uint64_t round);
void gates_reconsider(struct shard *s); /* everything in s->opened: parked requests first, then the queue */

/* ---- office.c: that office was taken, for the history of the shard's groups ---- */
void office_known(struct shard *s, uint32_t leader, uint64_t term); /* who led, or leads, as far as this node is told */
void office_taken(struct shard *s);
void office_lost(struct shard *s);
void office_again(struct shard *s); /* it could not be written */
void office_step(struct shard *s);  /* before the turn is sealed */
int64_t office_due_us(const struct shard *s);

/* ---- state_hash.c: the state's hash in the log, for its readers ---- */
void state_hash_applied(struct shard *s, uint64_t index);
void state_hash_forget(struct shard *s);
void state_hash_step(struct shard *s);  /* before the turn is sealed */
void state_hash_again(struct shard *s); /* it could not be written */

/* ---- sweep.c: requests of coord's own ---- */
void internal_submit(struct shard *s, enum group_op_kind kind, struct str group_id, const struct timer *timer);
void internal_submit_job(struct shard *s, struct str group_id, struct group_job *job);
void internal_submit_created(struct shard *s, struct str group_id, struct str failure);
bool internal_is_stale(struct shard *s, const struct coord_request *r); /* a timer's decision whose timer was armed again */
void sweep_step(struct shard *s);
void sweep_reset(struct shard *s);

/* ---- barrier.c: how fresh the local copy of the catalogue must be ---- */
bool catalog_ready(const struct shard *s);
void catalog_moved(struct coord *c); /* this node's copy has: budgets may have been altered */
void barrier_reset(struct shard *s); /* the shard has taken office */
void barrier_step(struct coord *c);  /* asks shard 0's leader where some shard still needs to know */
void barrier_flee(struct coord *c);  /* gives away what is not getting to know */
int64_t barrier_flee_us(const struct shard *s);
void barrier_message(struct coord *c, uint32_t from, uint16_t channel, struct bytes data);
void held_release(struct shard *s);

/* ---- coord.c ---- */
/* What was drawn of it in all is what the log made; else the node ends. */
bool snapshot_sound(struct shard *s);

/* ---- cut.c ---- */
void cut_lose(struct shard *s); /* the state is wanted for something else */

/* ---- beat.c: heartbeats whose answers are held ---- */
void beat_fill(struct shard *s, struct coord_request *r); /* whether, before it is decided */
/* It was decided, and its answer may be held for so long; before: what its arena had then. False: it is answered. */
bool beat_hold(struct shard *s, struct coord_request *r, int32_t hold_ms, struct arena_mark before);
void beat_cancel(struct shard *s, struct coord_request *r);
void beats_look(struct shard *s, struct gate *g); /* an entry touched its group */
void beats_expire(struct coord *c);
void beats_step(struct coord *c);                                                /* those whose groups have moved */
void beats_drop(struct shard *s, struct gate *g, struct request_list *requests); /* all of them, as requests like any others */
void beats_hand_over(struct shard *s);                                           /* all of the shard's wait for the end of the transfer */
int64_t beats_next_us(const struct coord *c);

/* ---- patience.c: requests that take too long ---- */
void patience_check(struct coord *c);
int64_t patience_next_us(const struct coord *c); /* INT64_MAX: nothing is owed to anybody */

/* ---- handover.c ---- */
/* A handover of the shard was announced a moment ago, and nobody is known yet to have taken over. */
bool handover_pending(const struct shard *s);
void handover_expire(struct shard *s); /* nobody takes over: what waited for that waits no more */
int64_t handover_expiry_us(const struct shard *s);
void handover_send(struct shard *s);
void handover_take(struct shard *s);
void handover_call_off(struct shard *s);              /* the transfer did not come about */
void handover_forget(struct coord *c, uint32_t node); /* what that node has said */

#endif
