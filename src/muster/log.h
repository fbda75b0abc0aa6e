/* log.h: the log as people and programs read it. Entries come from a data folder (log_folder.c) or a live node (log_live.c), and go to the
 * printer (log_print.c) or are replayed (log_replay.c). Nothing here changes a byte of what it reads. */
#ifndef MUSTER_CLI_LOG_H
#define MUSTER_CLI_LOG_H

#include "cli.h"

#include <muster/messages.h>
#include <muster/store.h>
#include <muster/wire.h>

#include <jansson.h>

/* Kinds of entries, the Raft library's numbers. Only commands carry records. */
enum log_entry_kind { LOG_COMMAND = 1, LOG_BARRIER = 2, LOG_CONFIGURATION = 3 };

struct log_item {
    uint32_t shard;
    uint64_t index, term;
    uint8_t kind; /* enum log_entry_kind */
    struct bytes payload;
    bool erased; /* a later entry took its place: it was never committed */
};

/* The two clocks of a command, which stand at its start. false: it is too short for any. */
bool log_item_times(const struct log_item *item, int64_t *ret_shard_clock_ms, int64_t *ret_wall_ms);

/* ---- moments (log_time.c) ---- */

int64_t log_wall_ms(void); /* this machine's clock */
/* "2026-11-30T20:15:00.5Z", with +01:00, without a zone (UTC), down to a day alone; "15m", "2d ago"; "now". */
bool log_time_parse(const char *text, int64_t now_ms, int64_t *ret_ms);
/* The option, if it is given; false with a message. */
bool log_time_take(struct cli *cli, const char *name, int64_t *ret_ms);
bool log_time_to_come(int64_t wall_ms); /* also by the clock of a node that is a little ahead */
struct log_moment {                     /* --at: an index, a time, or a reading of the shard's clock */
    bool given, by_time, by_clock;
    int64_t index, wall_ms, clock_ms;
};
bool log_moment_take(struct cli *cli, struct log_moment *ret);

/* ---- which records are asked for (log_filter.c) ---- */

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON, LOG_FORMAT_KAFKA };
struct log_pattern; /* log_print.c */
struct log_filter {
    struct str group;               /* null: every group */
    struct str type;                /* a record's name, in any case; null: every type */
    struct str topic, member;       /* that the record mentions; empty: any */
    int64_t shard;                  /* -1: every shard */
    int64_t from, to;               /* indexes */
    int64_t since_ms, until_ms;     /* wall clock of the node that wrote the entry; until 0: no end */
    const struct log_pattern *grep; /* the record's line matches; NULL: any */
    bool all;                       /* erased entries, votes and terms, barriers, snapshots as well */
    enum log_format format;
};
/* From the options of those names, as far as the command has them. false with a message. */
bool log_filter_take(struct cli *cli, struct log_filter *ret);
bool log_filter_place(const struct log_filter *f, uint32_t shard, uint64_t index);
bool log_filter_time(const struct log_filter *f, int64_t wall_ms);
/* By place and, where a time is asked for, by the entry's own; what has none is of no time. */
bool log_filter_item(const struct log_filter *f, const struct log_item *item);
/* Without a filter that only records can pass. */
bool log_filter_bare(const struct log_filter *f);
bool log_filter_everywhere(const struct log_filter *f); /* no place and no time is asked for, but perhaps a shard */

/* Records name most topics by their ids: those that the topic asked for has had. */
enum { LOG_TOPIC_IDS_MAX = 64 };
struct log_topic_ids {
    struct uuid v[LOG_TOPIC_IDS_MAX];
    size_t count;
};
void log_topic_ids_add(struct log_topic_ids *ids, struct uuid id);
/* From the catalogue's records, as they pass. */
void log_topic_ids_learn(struct log_topic_ids *ids, struct str topic, struct record record, struct arena *arena);
/* cause NULL: not known. */
bool log_filter_record(const struct log_filter *f, const struct log_topic_ids *ids, struct record record,
                       const struct log_entry_cause *cause, struct arena *arena);

/* ---- printing ---- */

struct log_printer {
    struct cli *cli;
    struct log_filter filter;
    struct log_topic_ids topic_ids;
    struct arena scratch; /* cleared with each item */
    bool header_done;
    bool terminal;       /* what is printed goes there */
    int64_t kafka_shard; /* the one that is being dumped in Kafka's form; -1: none yet */
    uint64_t printed;
    bool unreadable;  /* an entry was no entry */
    bool cut;         /* the log begins behind its first entry: what came before is in snapshots, */
    bool in_memory;   /* or, of what a node has in memory, on its disk */
    uint64_t seen[4]; /* a bit for each of the first shards of a folder that has shown an entry */
};
void log_printer_init(struct log_printer *p, struct cli *cli, const struct log_filter *filter);
void log_printer_fini(struct log_printer *p);
void log_printer_begin(struct log_printer *p); /* something is printed now: what stands on a terminal of how far it is goes */
void log_print_item(struct log_printer *p, const struct log_item *item);
void log_print_snapshot(struct log_printer *p, const struct store_snapshot_meta *meta);
/* Records of kinds TERM, SNAPSHOT and CHECKPOINT: shown with --all. */
void log_print_state(struct log_printer *p, const struct store_record *record);
/* The exit code of a dump that ended with code: nothing of the group or the type that was asked for is not what was hoped for. */
int log_printer_judge(const struct log_printer *p, int code);
/* One record alone (a state's): its type, key and value. */
void log_print_record(struct log_printer *p, uint32_t shard, struct record record);
/* Whether the filter lets a whole group through, which has no type. */
bool log_printer_takes_group(const struct log_printer *p, struct str group);

/* A command in the form of `kafka-dump-log --offsets-decoder`: a line for the batch, one for each record of `entry` that `takes` (log_kafka.c). */
void log_kafka_print(struct log_printer *p, const struct log_item *item, const struct log_entry *entry,
                     bool (*takes)(struct log_printer *p, const struct log_entry *entry, int32_t record));

/* Extended regular expressions of POSIX. NULL with a message. */
const struct log_pattern *log_pattern_new(struct cli *cli, const char *text, bool any_case);
void log_pattern_free(const struct log_pattern *pattern);

/* ---- one record as text (log_text.c) ---- */

/* "OffsetCommit group=g topic=t partition=3 : offset=17 ..."; "tombstone" for no value; what is opaque is decoded where it can be. Fields that
 * say nothing (null, empty, -1 by default) and times equal to known_ms are left out. */
struct str log_record_text(struct record record, int64_t known_ms, struct arena *arena);
/* {"type":...,"key":...,"value":...} as wire_record_dump, with "names" for what the numbers of states and the like mean, and
 * "decoded" for subscriptions and assignments that parse. */
void log_record_json(struct record record, struct arena *arena, struct buf *out);
/* The group a record is of; null: none (catalogue, shard) or it cannot be read. Borrowed from the record or the arena. */
struct str log_record_group(struct record record, struct arena *arena);
/* Its type's name, "type 123" for an unknown one. */
struct str log_record_type(struct record record, struct arena *arena);
const char *log_member_state(int8_t state);                        /* of StreamsGroupCurrentMemberAssignment */
const char *log_consumer_state(int8_t state);                      /* of ConsumerGroupCurrentMemberAssignment */
size_t log_value_size(uint8_t kind, const struct wire_type *type); /* of the C value of a kind that is no array */
const char *log_topology_problem(int8_t problem); /* of StreamsGroupMetadata: the status code that members are told, in words */

/* ---- consumer groups and streams groups as their records make them (log_groups.c, log_consumer.c, log_streams.c) ---- */

/* Takes the records of a state in their order, and shows each such group in front of its own: state, epochs, who has which partitions or tasks and who is to
 * have them. */
struct group_set;
enum log_group_kind { LOG_GROUP_NONE, LOG_GROUP_CONSUMER, LOG_GROUP_STREAMS };
struct log_groups {
    struct log_printer *printer;
    const struct group_set *set;
    const struct group_set *catalog; /* shard 0's state, for the names of topics; NULL: not known */
    uint32_t shard;
    struct arena arena;       /* of one group */
    enum log_group_kind kind; /* that is being collected */
    struct str group;
    struct record *records;
    size_t count, cap;
};
void log_groups_init(struct log_groups *g, struct log_printer *printer, uint32_t shard, const struct group_set *set,
                     const struct group_set *catalog);
void log_groups_record(struct log_groups *g, struct record record);
void log_groups_fini(struct log_groups *g); /* shows what is left */
/* What was collected; nothing when there is no group in it, or the filter does not take it. */
void log_consumer_show(struct log_groups *g);
void log_streams_show(struct log_groups *g);
/* {"shard":1,NAME:{...}} on a line of its own; takes the group. */
void log_groups_json(const struct log_groups *g, const char *name, json_t *group);

/* ---- a data folder ---- */

/* Which entries of a folder were erased by later ones, found by a first pass: it remembers where a shard's log turned back, not what was there, so that memory does not grow
 * with the log. */
struct log_place { /* a record's batch, and its place in it */
    uint64_t sequence;
    uint32_t place;
};
struct log_erasure {
    uint64_t index;         /* entries from here on, */
    struct log_place place; /* if they stand before it, are void */
};
struct log_erased {
    struct log_erasure *v;
    size_t count, cap;
    uint64_t last; /* index of the newest entry */
};

struct log_folder {
    bool borrowed;             /* the port is the caller's */
    struct log_remote *remote; /* the live node behind the port; NULL: it is a folder */
    struct store_port port;
    uint64_t segments;
    uint32_t log_shards; /* the log is of so many; 0: not known */
    struct {             /* which segments are read; wanted NULL: all */
        bool (*wanted)(void *ctx, const struct store_segment *segment, const struct store_segment *next);
        void *ctx;
    } scope;
    struct cli *cli;
    struct { /* how far a pass is */
        struct log_extent {
            uint64_t first_sequence, before; /* bytes of the segments before it */
        } * v;
        size_t count, cap;
        uint64_t bytes; /* of all */
    } extent;
    int told; /* the exit code of what was said to be wrong; CLI_OK: nothing was */
    bool marked;
    struct log_erased *erased; /* by shard */
    size_t shard_count;
    struct store_report report;
    struct { /* of the pass */
        uint64_t sequence;
        uint32_t place;
        void (*item)(void *ctx, const struct log_item *item);
        void (*state)(void *ctx, const struct store_record *record);
        void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta);
        void *ctx;
    } pass;
};
/* CLI_OK or an exit code, said. The folder is opened for reading only. */
int log_folder_open(struct cli *cli, const char *dir, struct log_folder *ret);
/* Saves the first pass of the scans that follow, up to the next log_folder_scope(): of no entry they say that it was erased. */
void log_folder_as_written(struct log_folder *f);
/* What --data names, or, without it, the log files of a live node, read through it (log_remote.c). */
int log_source_open(struct cli *cli, struct log_folder *ret);
struct log_remote;
int log_remote_open(struct cli *cli, int64_t node_id, struct log_folder *ret); /* node_id -1: the first that answers */
void log_remote_close(struct log_remote *r);
/* The same on another port; it stays the caller's. */
int log_folder_open_port(struct cli *cli, const struct store_port *port, struct log_folder *ret);
void log_folder_close(struct log_folder *f);
/* Shows how far a pass over the folder is that has come to that batch; the pass ends with progress_end(). */
void log_folder_progress(const struct log_folder *f, const char *what, uint64_t sequence, uint64_t offset);
/* From now on only segments that are wanted are read; NULL: all. */
void log_folder_scope(struct log_folder *f,
                      bool (*wanted)(void *ctx, const struct store_segment *segment, const struct store_segment *next), void *ctx);
/* Goes through everything in scope; the callbacks may be NULL. 0, or a code of store_scan. */
int log_folder_scan(struct log_folder *f, void (*item)(void *ctx, const struct log_item *item),
                    void (*state)(void *ctx, const struct store_record *record),
                    void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta), void *ctx);
/* The record at *at in a run of a snapshot, and the place of the next one; false: there is no whole one. */
bool log_run_next(struct bytes run, size_t *at, struct record *ret);
/* The ids that the catalogue in the newest snapshot of shard 0 has for the topic; what comes later is learnt as it is read. */
void log_folder_learn_topic(struct log_folder *f, struct str topic, struct log_topic_ids *ids);
/* What is wrong with a folder whose log does not even begin. */
int log_folder_tell(struct cli *cli, struct log_folder *f);
/* Says what was found wrong with the folder, once; the exit code. */
int log_folder_judge(struct cli *cli, struct log_folder *f, int scanned);

/* ---- commands on a folder that is open (tests call them on folders they made) ---- */

int log_dump_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter);
int log_stat_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, int64_t top);
int log_diff_folders(struct cli *cli, struct log_folder *a, const char *a_name, struct log_folder *b, const char *b_name,
                     const struct log_filter *filter);
/* The entry of that index, as the folder of that name has it. */
void log_show_entry(struct cli *cli, struct log_folder *f, const char *name, uint32_t shard, uint64_t index);
int log_verify_folder(struct cli *cli, struct log_folder *f, int64_t shard); /* -1: all */
/* Both, and whether they make the same states. */
int log_verify_folders(struct cli *cli, struct log_folder *a, const char *a_name, struct log_folder *b, const char *b_name, int64_t shard);
int log_state_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, const struct log_moment *at);

/* ---- the log applied again (log_replay.c) ---- */

struct log_shard {
    uint32_t shard;
    uint64_t index, term; /* of its newest entry; the newest term that was seen */
    int64_t wall_ms;      /* clock of the node that wrote it; 0: not known, for it is in a snapshot */
    uint64_t entries;     /* applied, behind the snapshot that was begun with */
    uint64_t snapshot;    /* its index; 0: it was begun with nothing */
    struct group_set *set;
};
struct log_wish {
    uint32_t shard;
    uint64_t at; /* the last entry that counts; UINT64_MAX: all there is */
};
/* The wished shards, each from the nearest snapshot on, reading only what that takes. The code of what went wrong, said. Freed by the caller in any case. */
struct log_replay;
struct log_replay *log_replay_run(struct cli *cli, struct log_folder *f, const struct log_wish *wishes, size_t count, int *ret_code);
/* The shard, or all of them (-1), from the oldest entry that can be applied, every snapshot on the way compared. states NULL, or it gets the hash of every state. */
struct log_states;
struct log_replay *log_replay_verify(struct cli *cli, struct log_folder *f, int64_t shard, struct log_states *states, int *ret_code);
/* By number of shard, those without a state left out; borrowed. */
const struct log_shard *log_replay_shards(const struct log_replay *r, size_t *ret_count);
const struct log_shard *log_replay_shard(const struct log_replay *r, uint32_t shard); /* NULL: nothing of it is there */
/* What was there to hold the state against, and was held: snapshots, and hashes that leaders wrote into the log. */
struct log_compared {
    uint64_t snapshots, snapshots_compared, hashes, hashes_compared;
};
struct log_compared log_replay_compared(const struct log_replay *r);
void log_replay_free(struct log_replay *r);
/* Where a moment is in a shard's log. */
struct log_found {
    uint64_t
        at; /* the last entry up to it: before the first that was written later, or the last there is now; UINT64_MAX: there is none; 0: the log that is kept begins later */
    uint64_t again; /* the newest entry behind that one which was not written later either: the wall clock went back; 0: there is none */
    int64_t at_clock_ms, again_clock_ms; /* the shard's clock there */
    int64_t begins_ms, begins_clock_ms;  /* of the first entry that has a time */
};
/* By number of shard, in the cli's arena. 0, or a code of store_scan. */
int log_find_moment(struct cli *cli, struct log_folder *f, const struct log_moment *at, struct log_found **ret, size_t *ret_count);
uint32_t log_shard_of_group(struct str group, uint32_t shard_count);

/* The states that a log makes (log_states.c): of each shard their hashes by index, ascending. */
struct log_states {
    struct log_states_shard {
        struct log_state_mark {
            uint64_t index, term, hash;
        } * v;
        size_t count, cap;
        uint64_t replaced; /* what it had before that index a snapshot from another node took the place of */
    } * shards;
    uint32_t shard_count;
};
void log_states_init(struct log_states *states, uint32_t shard_count);
void log_states_fini(struct log_states *states);
void log_states_note(struct log_states *states, uint32_t shard,
                     const struct log_state_mark *mark); /* what was noted of its index and of later ones is void */
void log_states_replaced(struct log_states *states, uint32_t shard, uint64_t index);
/* Where the states of two logs begin to differ, shown and told. CLI_OK, CLI_FAILED; `ret` NULL: as a table, else as JSON. */
int log_states_compare(struct cli *cli, const struct log_states *states, struct log_folder *const *folders, const char *const *names,
                       json_t **ret);

/* Every shard as the log makes it. Shards of which nothing is there are left out. Calls `found` once, and only when the code is CLI_OK or CLI_TORN; what it gets is
 * borrowed. */
int log_replay_folder(struct cli *cli, struct log_folder *f, void (*found)(void *ctx, const struct log_shard *shards, size_t count),
                      void *ctx);
/* What is new in the folder of a running node, as it comes (log_follow.c). Ends when the output does, or as the filter says. */
/* Whether nothing is to come any more that the filter lets through: `last` is the newest index that was seen of its shard. Clocks of nodes may be a second apart. */
bool log_follow_is_over(const struct log_filter *f, uint64_t last);
bool log_follow_passed(const struct log_filter *f); /* by the time alone */
int log_follow_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, bool from_end);
/* A live node (log_live.c). filter->from LOG_FROM_END: what comes behind its present end. */
#define LOG_FROM_END INT64_MAX
struct client;
struct client_node;
struct log_read_response;
struct
    log_live_place { /* what is read: of which shard, from which index on, records of a group (null: of all), and how many bytes at most */
    int32_t shard;
    int64_t from;
    struct str group;
    int32_t max_bytes;
};
/* What the node has of that in memory, into *ret, which lives in the arena. As client_node_call(). */
int log_live_read(struct client *client, struct client_node *node, const struct log_live_place *place, struct arena *arena,
                  const struct log_read_response **ret);
int log_dump_live(struct cli *cli, const struct log_filter *filter, bool follow);

#endif
