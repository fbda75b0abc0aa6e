/* state.h: the inside of struct replica, shared by the files of this folder only. */
#ifndef MUSTER_RAFT_STATE_H
#define MUSTER_RAFT_STATE_H

#include "core.h"
#include "log.h"
#include "message.h"

#if RAFT_VERSION_NUMBER != 2201
#error "raft_step is not a stable interface: this driver is written for libraft 0.22.1"
#endif

enum { NODES_MAX = 32, HASHES_KEPT = 8, HASHES_RECENT = 256 };

struct peer {
    uint32_t id;
    const char *address;
    bool self;
    bool connected;
    int64_t connected_us;   /* when it last became so */
    bool dead;              /* refused, and nothing heard since */
    int64_t heard_us;       /* its last message */
    bool healthy;           /* what it last said: its disk is, it has restored its state, and is not about to end */
    uint64_t acked_round;   /* newest round it answered */
    int64_t acked_stamp_us; /* our clock when that round left */
};

/* A snapshot file that the log is to name. */
struct mark {
    uint64_t index, term, trim;
    bool install;
};

/* A vote request that may depose a leader this node still believes in. */
struct parked_vote {
    bool used;
    uint32_t from;
    int64_t since_us;
    struct raft_request_vote vote;
};

struct transfer {
    bool active;
    bool stepped; /* the library knows; before, submissions are held until the target has everything */
    uint32_t target;
    int64_t since_us;
};

/* A learner's rounds (members.c). */
struct catch_up {
    uint64_t term;    /* of the leadership that counts; 0: none */
    uint64_t target;  /* what the leader had when the round began */
    int64_t since_us; /* ... and when that was */
    bool done;        /* the newest round that ended was quick, and the present one is not late */
};

/* A removed node that is to be told so. */
struct farewell {
    uint32_t node; /* 0: nobody */
    uint64_t match, index;
};

struct hash_slot {
    uint64_t index;
    uint64_t hash;
    bool known;
};

/* The state's hash behind each of the newest entries, for who asks about one of them. */
struct recent_hashes {
    uint64_t first, last; /* last 0: none */
    uint64_t hash[HASHES_RECENT];
};

/* The newest index at which a peer was answered. */
struct hash_answer {
    uint64_t index;
    int64_t at_us;
};

/* A snapshot, and whether a majority of the voters was seen to have the same hash at its index. */
struct compared_snapshot {
    uint64_t index, hash;
    bool agreed;
};

/* What a shard keeps for each peer, by the peer's position. */
struct shard_positions {
    struct hash_slot reported[NODES_MAX][HASHES_KEPT];
    unsigned reported_next[NODES_MAX];
    struct hash_answer answered[NODES_MAX];
    struct catch_up catch_up[NODES_MAX];
    struct lost_entries {
        uint64_t term;    /* of this node's office */
        int64_t since_us; /* since when it says that it has less; 0: it does not */
        bool found;       /* and it says so again and again */
    } lost[NODES_MAX];
    uint64_t named_term[NODES_MAX]; /* newest that its answers to probes said to be newer than this node's */
};

struct shard {
    struct replica *core;
    uint32_t id;
    struct raft raft;
    bool started;
    struct entry_log log;

    /* What recovery found. */
    struct store_shard_state found;

    /* Term and vote: a version per change; messages wait for the version they were made under. */
    uint64_t term_version, term_writing, term_durable;
    /* Entries: from queued_from on nothing is in a batch yet (0: all are). */
    uint64_t queued_from;
    uint64_t writing_from, writing_to; /* in the outstanding batch; 0: none */
    /* A snapshot to be named in the log. */
    bool mark_wanted, mark_writing;
    struct mark mark, mark_written; /* written: the one in the outstanding batch */
    bool installing;                /* a snapshot replaces the state: from the library's wish until it is told that it is done */

    uint64_t everywhere; /* every member has stored the entries up to this one, as far as this node knows */
    bool outrun;         /* a member lacks entries that are no longer in memory: it needs a snapshot that ends behind them */

    uint64_t applied;
    bool applying;
    uint64_t pending_bytes; /* of entries in the log and not applied */
    uint64_t serving_index; /* leader: first entry of its own term; 0 not leader */
    bool mute;              /* messages of this step are dropped on purpose */
    bool stale_append;      /* the message being stepped has an old term */

    enum replica_role told_role;
    uint64_t told_term;
    uint32_t told_leader;
    int64_t led_us; /* when the shard was last known to be led: another node that did was heard of, or a majority by this one */

    /* Elections. */
    unsigned tries;     /* candidacies in a row without a leader */
    int64_t attempt_us; /* when to stand in the dead leader's name; 0 never */
    struct parked_vote parked;
    struct {
        uint64_t term;
        uint32_t target;
    } announced;

    /* Rounds. */
    uint64_t round_first;  /* first round that lists this leadership */
    uint64_t round_wanted; /* newest round asked for */
    uint64_t round_confirmed;

    struct farewell farewell;
#ifdef MUSTER_FAULT_QUORUM_OF_OLD_VOTERS
    size_t founding_voters;
#endif

    struct transfer transfer;
    int64_t flee_after_us; /* from a disk that fails: no attempt before */
    int64_t home_after_us; /* to the preferred leader: no attempt before */
    int64_t sent_home_us;  /* by this node, the last time; 0: never */
    unsigned home_refused; /* how often in a row it was handed back soon */

    /* Snapshots. */
    uint64_t snapshot_index, snapshot_term;
    uint64_t config_index;         /* of the configuration in the newest snapshot */
    struct buf config;             /* ... as the library encodes it */
    uint64_t applied_config_index; /* of the configuration in force at the applied index */
    struct buf applied_config;
    uint64_t applied_bytes, snapshot_bytes;  /* entries applied since the start; of these what the newest snapshot holds */
    uint64_t disk_trim;                      /* the log on disk begins behind this entry */
    struct store_snapshot_reader *restoring; /* at start: the state is not all there yet; NULL: it is */
    uint64_t restoring_hash;                 /* what it must have then */
    bool snapshot_hint;
    bool snapshot_renew;         /* nobody can say any more whether the newest one is right: another is to be taken */
    struct receiving *receiving; /* a snapshot that arrives or is being restored */

    struct hash_slot hashes[HASHES_KEPT]; /* own, newest at hash_next - 1 */
    unsigned hash_next;
    bool in_doubt;       /* a comparison found another hash, and none since a majority with this node's */
    uint64_t doubt_told; /* the index at which that was last logged */
    struct recent_hashes recent;
    uint64_t newest_reported;             /* by any node */
    struct compared_snapshot compared[2]; /* the newest of this node */
    struct shard_positions at;
};

/* A message that waits until its shard's term and vote are on disk. */
struct held {
    struct held *next;
    struct shard *shard;
    uint64_t version;
    uint32_t node;
    uint32_t len;
    uint8_t data[];
};

/* A shard that is to move home once all nodes have answered this round. */
struct homing {
    bool asked;
    uint32_t shard;
    uint64_t round;
};

struct replica {
    struct core_options options;
    struct core_host host;
    struct replica_events events;
    struct store_identity identity;
    uint32_t self;
    struct peer peers[NODES_MAX]; /* ascending by id, this node included */
    size_t peer_count;
    size_t self_pos;

    struct shard *shards;
    uint32_t shard_count;
    int64_t now_us;
    int64_t last_tick_us;
    struct prng prng;
    struct core_stats stats;

    /* The outstanding batch. */
    bool writing;
    int64_t write_started_us;
    struct store_record *records;
    size_t record_count, record_cap;
    struct entry_limbo limbo;
    bool full; /* the disk refuses entries */
    int64_t full_retry_us, terms_retry_us;
    bool broken; /* a fault was reported: nothing leaves any more */
    bool ending; /* told to: the others are told, too, and hand nothing over to it */

    uint64_t pending_bytes;      /* sum of the shards' */
    uint64_t turn_applied_bytes; /* of entries applied in this turn, until replica_flush */
    bool office_behind;          /* as of the last tick: a shard this node leads cannot serve yet, and has committed entries to apply */
    struct held *held_head, **held_tail;
    size_t held_count;
    struct buf out; /* for encoding one message */
    struct message_scratch *scratch;
    struct shard_term *scratch_led; /* MESSAGE_SHARDS_MAX, for a probe or an answer that goes out */
    struct raft_entry *append;      /* MESSAGE_ENTRIES_MAX, for one message that goes out */

    uint64_t round_next;
    uint32_t round_asked, round_carries; /* requests that wait for the next round, that went with the newest */
    int64_t round_sent_us;

    int64_t balance_us;    /* next look */
    int64_t calm_since_us; /* when a node last came or went */
    struct homing homing;

    struct taking *taking;     /* the snapshot being taken, one at a time */
    int64_t snapshot_after_us; /* no snapshot before: the last one failed */
    struct sending *sendings;  /* snapshots being sent, at most one per peer and shard */
    size_t jobs;
};

/* ---- peers.c */
struct peer *peer_by_id(struct replica *core, uint32_t id);
const struct peer *peer_const(const struct replica *core, uint32_t id);
int peers_take(struct replica *core); /* from the identity */

/* ---- core.c */
uint64_t core_unstored_bytes(const struct replica *core); /* entries in memory that are not on this node's disk */
bool node_healthy(const struct replica *core);
void core_fatal(struct replica *core, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool shard_leads(const struct shard *s);
bool shard_serves(const struct shard *s);
void job_start(struct replica *core, struct core_job *job);

/* ---- step.c: one event into the library, and everything that must follow */
int shard_step(struct shard *s, struct raft_event *event);
int shard_submit(struct shard *s, uint8_t type, struct bytes data);
int shard_start(struct shard *s);
void shard_apply(struct shard *s);
bool core_slice_left(const struct replica *core); /* of what this turn may apply and restore */
bool shard_behind(const struct shard *s);         /* committed entries, or a snapshot, wait for the next turn */
void core_apply(struct replica *core);            /* what turns before this one left */
void shard_tell(struct shard *s);                 /* role event, if something changed */
int shard_receive(struct shard *s, struct raft_message *m);
/* Sends or, while the shard's term is not durable, holds. s NULL: not bound to a term. */
void core_post(struct replica *core, struct shard *s, uint32_t node, enum core_class class, const struct message *m);
void core_release_held(struct replica *core);
void core_drop_held(struct replica *core, uint32_t node);
int64_t shard_silence_us(const struct shard *s); /* since the leader was heard or a vote given */

void shard_send_append(struct shard *s, uint32_t node, const struct raft_append_entries *args); /* payloads from the log */
int shard_vote(struct shard *s, struct raft_message *m);                                        /* a vote request */
void shard_configuration(struct shard *s, uint64_t index, struct bytes config);                 /* tells the library that it is committed */

/* ---- members.c */
bool shard_member(const struct shard *s, uint32_t node);
bool shard_voter(const struct shard *s, uint32_t node);
size_t shard_voters(const struct shard *s, uint32_t ret[NODES_MAX]); /* ascending */
bool shard_alone(const struct shard *s);                             /* this node is the only voter */
void members_tick(struct shard *s);
void members_applied(struct shard *s, uint64_t index, struct bytes config); /* a configuration is committed and applied */
void members_before_change(struct shard *s, uint64_t index);                /* one is about to enter the log at index */
void members_stand_alone(struct shard *s);
bool members_found_alone(const struct shard *s); /* before the start: by what recovery found */

/* ---- persist.c */
void persist_start(struct replica *core);
void persist_entries(struct shard *s, uint64_t from); /* entries from this index on need writing */

/* ---- memory.c: how much of the log stays in memory */
void memory_everywhere(struct shard *s, uint64_t index); /* every member has stored what is up to there */
void memory_tick(struct replica *core);
void memory_trim(struct shard *s);
uint64_t memory_tail_bytes(const struct replica *core); /* of each shard, kept although nobody lacks it */
uint64_t shard_replay_bytes(const struct shard *s);     /* applied, and in no snapshot */
uint64_t core_replay_bytes(const struct replica *core);

/* ---- elect.c */
void elect_after_step(struct shard *s);
void elect_start(struct shard *s);
void elect_before_timeout(struct shard *s); /* the library is about to be told that time has run out */
void elect_tick(struct shard *s);
void elect_peer_dead(struct replica *core, struct peer *p);
void elect_connected(struct replica *core);   /* to one node more */
void elect_refused_pre_vote(struct shard *s); /* this node's log is newer than the candidate's */
void elect_refused_vote(struct shard *s);     /* this node's log is longer than a disrupting candidate's */
bool elect_admit(struct shard *s, uint32_t from, const struct raft_request_vote *vote); /* false: parked */
void elect_announced(struct shard *s, uint32_t from, uint64_t term, uint32_t target);
int64_t elect_deadline(const struct shard *s);

/* ---- round.c */
void round_flush(struct replica *core);
void round_office(struct shard *s); /* the shard has just become leader */
void round_probe(struct replica *core, struct peer *p, const struct message_probe *probe);
void round_ack(struct replica *core, struct peer *p, const struct message_probe *ack);
int64_t round_contact_us(const struct shard *s);
int64_t round_deadline(const struct replica *core);
bool peer_recent(const struct replica *core, const struct peer *p); /* it answered lately */

/* ---- transfer.c */
int transfer_begin(struct shard *s, uint32_t target);
uint32_t transfer_choose(struct shard *s);               /* 0: nobody is fit */
bool transfer_may_flee(const struct shard *s);           /* it serves, and was not tried to be handed over a moment ago */
void transfer_flee(struct shard *s, const char *reason); /* to whoever is fit, if anybody is */
void transfer_poll(struct shard *s);
void transfer_lost(struct shard *s); /* no longer leader */
void balance_tick(struct replica *core);
void balance_office(struct shard *s);
void balance_answered(struct replica *core); /* a node has answered a round */

/* ---- snapshot.c: taking one; install.c: moving one to another node */
void snapshot_tick(struct replica *core);
void snapshot_marked(struct shard *s, const struct mark *mark); /* the log names the snapshot now */
int snapshot_open(struct shard *s, char *ret_text);             /* at start: it is whole, and what the library must know of it is read */
void snapshot_restore(struct shard *s);                         /* ... and its state restored, as far as the turn's slice goes */
void snapshot_close(struct shard *s);                           /* it is restored, or not wanted any more */
void snapshot_abort(struct replica *core);
void snapshot_forget_job(struct replica *core);
bool snapshot_under_way(const struct shard *s);
bool snapshot_busy(struct shard *s); /* a snapshot of this shard is being written; if so it is cancelled */
int config_decode(struct bytes data, struct raft_configuration *ret);
void install_offer(struct shard *s, uint32_t node);
void install_wanted(struct shard *s, struct raft_update *update); /* the library agrees: replace the state */
void install_marked(struct shard *s, const struct mark *mark);
int install_message(struct replica *core, struct peer *p, const struct message *m);
uint64_t install_pinned(const struct shard *s);           /* the entry after this one is wanted by a node that is being sent a snapshot */
void install_forget(struct replica *core, uint32_t node); /* nothing more is sent to it */
bool install_sending(const struct shard *s, uint32_t node);
void install_connected(struct replica *core, uint32_t node);
void install_tick(struct replica *core);
void install_close(struct replica *core);

/* ---- lost.c: followers that have not what they acknowledged ---- */
void lost_answered(struct shard *s, struct peer *p, bool rejects, uint64_t last_index); /* its log ends there */
bool lost_entries(const struct shard *s, const struct peer *p);                         /* in this term */
void lost_tick(struct replica *core);

/* ---- divergence.c */
void hash_applied(struct shard *s);
void hash_reported(struct shard *s, size_t from_pos, uint64_t index, uint64_t hash);
void hash_connected(struct replica *core, uint32_t node);
void hash_snapshot(struct shard *s, uint64_t index,
                   uint64_t hash); /* this node has, or begins, a snapshot of this state: how do others see it? */
void hash_ask(struct shard *s, uint64_t index, uint64_t hash);            /* once more */
bool hash_agreed(struct shard *s, uint64_t index, uint64_t hash);         /* a snapshot's state is that of a majority */
bool hash_disputed(const struct shard *s, uint64_t index, uint64_t hash); /* a voter that is connected has told another */
/* Voters have different states, and without that one no majority would be known to have the same as this node. Asks all once more. */
bool hash_undecided(struct shard *s, uint32_t without);
bool hash_comparable(const struct shard *s, uint32_t without); /* voters to make a majority are connected, that node not counted */

#endif
