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

/* ---- printing ---- */

struct log_filter {
    struct str group; /* null: every group */
    struct str type;  /* a record's name, in any case; null: every type */
    int64_t shard;    /* -1: every shard */
    int64_t from, to; /* indexes */
    bool all;         /* erased entries, votes and terms, barriers, snapshots as well */
};
/* From --group, --type, --shard, --from, --to, --all. false with a message. */
bool log_filter_take(struct cli *cli, struct log_filter *ret);

struct log_printer {
    struct cli *cli;
    struct log_filter filter;
    struct arena scratch; /* cleared with each item */
    bool header_done;
    uint64_t printed;
    bool unreadable; /* an entry was no entry */
};
void log_printer_init(struct log_printer *p, struct cli *cli, const struct log_filter *filter);
void log_printer_fini(struct log_printer *p);
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

/* ---- one record as text (log_text.c) ---- */

/* "OffsetCommit group=g topic=t partition=3 : offset=17 ..."; "tombstone" for no value; what is opaque is decoded where it can be. Fields that
 * say nothing (null, empty, -1 by default) and times equal to known_ms are left out. */
struct str log_record_text(struct record record, int64_t known_ms, struct arena *arena);
/* {"type":...,"key":...,"value":...} as wire_record_dump, with "decoded" for subscriptions and assignments that parse. */
void log_record_json(struct record record, struct arena *arena, struct buf *out);
/* The group a record is of; null: none (catalogue, shard) or it cannot be read. Borrowed from the record or the arena. */
struct str log_record_group(struct record record, struct arena *arena);
/* Its type's name, "type 123" for an unknown one. */
struct str log_record_type(struct record record, struct arena *arena);
const char *log_member_state(int8_t state);       /* of StreamsGroupCurrentMemberAssignment */
const char *log_consumer_state(int8_t state);     /* of ConsumerGroupCurrentMemberAssignment */
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

/* Which entries of a folder were erased by later ones, found by a first pass. An entry is named by its batch and its place in it. */
struct log_erased {
    struct log_place {
        uint64_t sequence;
        uint32_t place;
    } * v;
    size_t count, cap;
};

struct log_folder {
    bool borrowed; /* the port is the caller's */
    struct store_port port;
    struct log_erased erased;
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
/* The same on another port; it stays the caller's. */
int log_folder_open_port(struct cli *cli, const struct store_port *port, struct log_folder *ret);
void log_folder_close(struct log_folder *f);
/* Goes through everything; the callbacks may be NULL. 0, or a code of store_scan. */
int log_folder_scan(struct log_folder *f, void (*item)(void *ctx, const struct log_item *item),
                    void (*state)(void *ctx, const struct store_record *record),
                    void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta), void *ctx);
/* Says what was found wrong with the folder; the exit code. */
int log_folder_judge(struct cli *cli, const struct log_folder *f, int scanned);

/* ---- commands on a folder that is open (tests call them on folders they made) ---- */

int log_dump_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter);
int log_verify_folder(struct cli *cli, struct log_folder *f);
int log_state_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, int64_t at);
/* Every shard as the log makes it: its last index, the newest term that the folder knows, its state. Shards of which nothing is there are left out. Calls `found`
 * once, and only when the code is CLI_OK or CLI_TORN; what it gets is borrowed. */
struct log_shard {
    uint32_t shard;
    uint64_t index, term;
    struct group_set *set;
};
int log_replay_folder(struct cli *cli, struct log_folder *f, void (*found)(void *ctx, const struct log_shard *shards, size_t count),
                      void *ctx);
/* A live node (log_live.c). */
int log_dump_live(struct cli *cli, const struct log_filter *filter, bool follow);

#endif
