/* log.h: the open log, for the files of this folder. FORMAT.md and README.md have the picture.
 *
 * One thread at a time calls what changes a store (store_write, store_trim, store_prepare); the figures in `shown` may be read by others. */
#ifndef STORAGE_LOG_H
#define STORAGE_LOG_H

#include "format.h"
#include "shard.h"

#include <stdatomic.h>

struct segment {
    uint64_t number;
    uint64_t bytes;
    uint64_t *last_entries; /* by shard: the highest entry in it that still counts, 0 none */
};

struct store_shown { /* read by other threads: each number by itself is right */
    _Atomic uint64_t batches, records, bytes, syncs, segments, log_bytes, full_events;
    _Atomic uint64_t history_segments, history_snapshots, history_bytes, history_since_ms, history_given_up;
    _Atomic uint64_t pinning_shard; /* shard + 1; 0: nothing pins more than one segment */
};

struct past { /* a segment that is history */
    uint64_t number, bytes;
    int64_t since_ms; /* as its name says */
};

struct store {
    struct store_port port;
    struct store_options options;
    bool dead; /* a write or sync failed: nothing goes any more */

    struct shard_log *shards;
    uint64_t *released; /* by shard: entries up to here may go, said by store_trim */

    struct segment *segments; /* oldest first; the last one is written */
    size_t segment_count, segment_cap;
    int file; /* of the last segment */
    uint64_t salt;
    uint64_t offset;    /* where the next batch goes */
    uint64_t dirty_end; /* a write that failed with FULL may have left bytes up to here; 0: none */
    uint64_t sequence;  /* of the next batch */
    uint8_t last_header[BATCH_HEADER_BYTES];
    bool in_reserve; /* the last segment was made from the reserve */
    bool reserve_ready;
    uint64_t batches_since_open;

    int next_file;       /* the segment prepared ahead; -1: none */
    uint64_t next_bytes; /* how much of it is written and synced */

    struct buf head;                 /* header and first batch of a new segment */
    struct buf out;                  /* the batch that is written */
    struct store_checkpoint *probes; /* state after the records checked so far, valid where probe_marks has the batch's mark */
    uint64_t *probe_marks;
    uint64_t probe_mark;

    struct {
        struct past *v; /* oldest first, up to the log without a gap */
        size_t count, cap;
        uint64_t bytes;
        uint64_t *floor; /* by shard: the newest entry before the oldest segment, of history or of the log */
        bool floor_known;
    } history;

    struct store_shown shown;
};

/* segment.c */
/* Brings the segment prepared ahead to at least bytes, in one go. FULL leaves nothing behind; IO kills the store. */
int store_next_prepare(struct store *s, uint64_t bytes);
/* One slice of that work if the pace asks for it: called between batches, so that a switch finds everything done. Errors show up at the switch. */
void store_prepare(struct store *s);
void store_next_discard(struct store *s);
int store_reserve_make(struct store *s);
/* Begins a new segment with the batch in s->out as its second batch. from_reserve: takes the reserve instead of the one prepared ahead. */
int store_segment_switch(struct store *s, uint32_t record_count, bool from_reserve);
int store_segment_push(struct store *s, uint64_t number, uint64_t bytes);
/* Bytes that the header and the first batch of any segment take. */
uint64_t store_segment_head_bytes(const struct store *s);
/* A record has been applied: keeps last_entries right. */
void store_segments_note(struct store *s, const struct store_record *r);

/* log.c */
/* The sync of a batch: the moment it counts. */
int store_batch_sync(struct store *s, int file, bool only_terms);
int store_die(struct store *s, int rc);

/* trim.c */
void store_show_segments(struct store *s);
/* Removes the oldest segments as far as nothing in them is needed. */
int store_trim_segments(struct store *s);

/* history.c */
bool store_history_on(const struct store *s);
/* The segment, which nothing needs any more, becomes history; the folder is not synced yet. */
int store_history_keep(struct store *s, const struct segment *segment);
/* Removes what passes the bounds, and snapshots that a newer one replaced and no history needs. What cannot be removed now goes the next time. */
int store_history_settle(struct store *s);
/* The disk is full: the oldest of it goes. false: there is none left. */
bool store_history_give_up(struct store *s);
/* Takes up what is there; with history off it is removed. */
int store_history_open(struct store *s);

/* recover.c gives the memory back for log.c too */
struct store *store_new(const struct store_port *port, const struct store_options *options);
void store_delete(struct store *s);

#endif
