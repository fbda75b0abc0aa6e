/* store.h: what a node keeps on disk. One write-ahead log for all shards, one snapshot per shard, one identity file.
 *
 * The module is sans-I/O: every byte goes through a struct store_port, so that the server, the simulator, the fuzzers and the offline reader
 * run the same code on a real or an imagined disk. No thread lives here except in the writer at the end of this page.
 * The unit of recovery is the write batch: sequence number, length, checksum (FORMAT.md). */
#ifndef MUSTER_STORE_H
#define MUSTER_STORE_H

#include <muster/base.h>

/* ---- the port: a folder with files --------------------------------------------------------------------------------- */

/* All calls return 0 or IO, FULL, NOT_FOUND, EXISTS, BUSY (locked by another process). Names are relative to the data folder, without '/'.
 * On IO errno has the cause, for messages. A file that is open stays readable when it is removed or replaced. Safe from several threads. */
struct store_port {
    void *ctx;
    int  (*open)(void *ctx, const char *name, bool create, bool write, int *ret_file);
    void (*close)(void *ctx, int file);
    int  (*read)(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len);   /* short only at the end of the file */
    int  (*write)(void *ctx, int file, uint64_t offset, const struct bytes *parts, size_t count); /* all or an error; durable only after sync */
    int  (*sync)(void *ctx, int file);                   /* fdatasync */
    int  (*size)(void *ctx, int file, uint64_t *ret_bytes);
    int  (*allocate)(void *ctx, int file, uint64_t bytes);   /* zero-filled to that size, blocks really taken */
    int  (*truncate)(void *ctx, int file, uint64_t bytes);
    int  (*rename)(void *ctx, const char *from, const char *to);
    int  (*remove)(void *ctx, const char *name);
    int  (*sync_dir)(void *ctx);
    int  (*list)(void *ctx, void (*each)(void *arg, const char *name), void *arg);
    int  (*lock)(void *ctx);                             /* one writer per folder, for the life of the port */
};
/* Makes the folder unless read_only (its parent must be there). NOT_FOUND, IO with errno. A read-only port refuses every change. */
int  store_port_posix_init(struct store_port *port, const char *dir, bool read_only);
void store_port_posix_fini(struct store_port *port);

/* ---- identity --------------------------------------------------------------------------------------------------------- */

struct store_peer { uint32_t node_id; struct uuid incarnation; char address[256]; };       /* host:port of the peer listener */
struct store_identity {
    struct uuid cluster_id;
    uint32_t node_id;
    struct uuid incarnation;             /* of this folder; made when it was formed */
    uint32_t shard_count;
    uint32_t hash_version;               /* of shard = hash(group id) % shards */
    bool joined;                         /* peers are not the founders any more: the shards' first entry cannot be made of them and comes from others */
    uint32_t peer_count;                 /* members, this node included, ordered by node id */
    struct store_peer peers[32];
};
/* NOT_FOUND: an empty folder, never formed. CORRUPT: the file is there and wrong. Write is atomic (temporary file, fsync, rename, fsync of the folder). */
int store_identity_read(const struct store_port *port, struct store_identity *ret);
int store_identity_write(const struct store_port *port, const struct store_identity *identity);

/* ---- the log ---------------------------------------------------------------------------------------------------------- */

enum store_kind {
    STORE_ENTRY    = 1,                  /* term, index, entry_type, payload; erases every entry of its shard from index on */
    STORE_TERM     = 2,                  /* term, vote: the newest wins */
    STORE_SNAPSHOT = 3,                  /* term, index: a committed snapshot file of that index is in use; entries up to `trim` are no longer needed.
                                          * If the log has not that entry with that term, all entries of the shard go (Raft: a snapshot of another history). */
    STORE_CHECKPOINT = 4                 /* seen by store_scan only: a shard's term, vote, snapshot index and trim at the start of a segment */
};
struct store_record {
    uint8_t kind;
    uint8_t entry_type;                  /* the Raft library's entry type, for STORE_ENTRY; for STORE_SNAPSHOT set by the store: 1 if all entries went */
    uint32_t shard;
    uint64_t term;
    uint64_t index;
    uint64_t vote;                       /* STORE_TERM: node id, 0 none */
    uint64_t trim;                       /* STORE_SNAPSHOT; at most index; a smaller one than before changes nothing */
    struct bytes payload;                /* borrowed until the write has returned */
};

struct store_options {
    uint32_t shard_count;
    uint64_t segment_bytes;              /* a segment is prewritten to this size */
    uint64_t reserve_bytes;              /* preallocated file, given up when the disk is full so that votes can still be written */
    uint64_t entry_max_bytes;
    void (*warn)(void *ctx, const char *text);
    void *warn_ctx;
    /* History: segments and snapshots that nothing needs any more are kept for `muster log` up to so many bytes in all and so long (ms; negative: any age), by the wall
     * clock that is asked for. When the disk is full they go first. Bytes 0, ms 0 or no clock: they go at once. */
    uint64_t history_bytes;
    int64_t history_ms;
    int64_t (*wall_ms)(void *ctx);       /* called by the thread that writes */
    void *wall_ctx;
};

/* What recovery found, shard by shard, handed over by store_open before it returns. */
struct store_shard_state {
    uint64_t term, vote;
    uint64_t snapshot_index, snapshot_term;              /* 0: none */
    uint64_t first_index, last_index;                    /* entries kept; first > last: none */
};
struct store_recovery {
    void *ctx;
    void (*shard)(void *ctx, uint32_t shard, const struct store_shard_state *state);
    /* Each surviving entry, in index order within its shard, after the shard() calls. Payload is borrowed for the call. */
    void (*entry)(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload);
};
struct store_report {                    /* for log lines, metrics, error texts and the offline reader */
    uint64_t batches, records, segments;
    bool torn_tail;                      /* a bad last batch was dropped */
    uint64_t torn_offset; char torn_file[64];
    uint64_t corrupt_offset; char corrupt_file[64];      /* set with CORRUPT */
    bool only_past;                      /* offline reader: what is damaged is history, and the node starts all the same */
    char text[1024];                      /* what is wrong and what to do, for people */
};

struct store;
/* Recovers the log. CORRUPT: a bad batch is followed by a good one with a higher number, a segment is missing, or a snapshot that the log
 * relies on is missing or bad: nothing was changed, report says where and how to rebuild. A bad last batch is dropped (and overwritten later). */
int  store_open(struct store **ret, const struct store_port *port, const struct store_options *options, const struct store_recovery *recovery, struct store_report *report);
void store_close(struct store *s);

/* Writes one batch with all records and syncs it; blocking. One call at a time. On IO the store is dead: every later call fails with IO.
 * On FULL nothing of the batch counts and the store stays usable: records of kind STORE_TERM alone may use the reserve.
 * INVALID, and nothing written: a record that cannot follow what is there (an entry that leaves a gap or that a snapshot covers, a term that
 * falls, a second vote in a term). LIMIT: an entry over entry_max_bytes. NOT_FOUND: the snapshot named by a record does not exist. */
int  store_write(struct store *s, const struct store_record *records, size_t count);
/* Entries of the shard up to index are in a committed snapshot: segments that hold nothing needed are removed (by the thread that writes). */
int  store_trim(struct store *s, uint32_t shard, uint64_t index);
/* The shard that pins the oldest segment, and the bytes of log kept; false while nothing pins more than one segment. */
bool store_oldest(const struct store *s, uint32_t *ret_shard, uint64_t *ret_log_bytes);
/* Removes history that has become too old. The same thread as store_write. */
int store_tidy(struct store *s);
/* The disk is full for somebody else who writes into the folder: all history goes. The same thread. */
void store_make_room(struct store *s);
struct store_stats {
    uint64_t batches, records, bytes, syncs, segments, log_bytes, full_events;
    uint64_t history_segments, history_snapshots, history_bytes, history_since_ms;   /* since_ms: wall clock when the oldest segment became history; 0: there is none */
    uint64_t history_given_up;           /* times that the disk was full and a piece of it went */
};
void store_stats(const struct store *s, struct store_stats *ret);

/* ---- snapshots: lz4-framed chunks, each with a checksum --------------------------------------------------------------- */

struct store_snapshot_meta {
    uint32_t shard;
    uint64_t index, term;
    uint64_t config_index;               /* of the Raft configuration in force */
    struct bytes config;                 /* encoded by the raft module; borrowed */
    uint64_t state_hash;
};
struct store_snapshot_writer;
/* The writer goes to a temporary file; only commit (fsync, rename, fsync of the folder) makes it visible, and removes the older one after
 * the log says so. Safe to use from a worker thread while the log is written (it shares nothing but the port). */
int  store_snapshot_create(const struct store_port *port, const struct store_snapshot_meta *meta, struct store_snapshot_writer **ret);
int  store_snapshot_add(struct store_snapshot_writer *w, struct bytes data);     /* a run of whole records, read back in one piece; LIMIT over 32 MB */
int  store_snapshot_commit(struct store_snapshot_writer *w);     /* frees the writer, also on error */
void store_snapshot_abort(struct store_snapshot_writer *w);

struct store_snapshot_reader;
/* The newest good one of the shard with at most max_index; bad ones are passed over. NOT_FOUND; CORRUPT, VERSION: there are only bad ones. */
int  store_snapshot_open_before(const struct store_port *port, uint32_t shard, uint64_t max_index, struct store_snapshot_meta *ret_meta, struct store_snapshot_reader **ret);
/* Newest snapshot of the shard with at least min_index whose header and trailer are good. NOT_FOUND, CORRUPT. meta->config stays valid until close. */
int  store_snapshot_open(const struct store_port *port, uint32_t shard, uint64_t min_index, struct store_snapshot_meta *ret_meta, struct store_snapshot_reader **ret);
int  store_snapshot_check(struct store_snapshot_reader *r);                      /* before the first of them: reads all and compares checksums, unpacking nothing; CORRUPT */
int  store_snapshot_next(struct store_snapshot_reader *r, struct bytes *ret);    /* decompressed data, borrowed until the next call; len 0: the end; CORRUPT */
/* Raw transfer, resumable: bytes of the file as they are, and a writer that takes them in order and verifies all on commit. What was received
 * stays on abort, for the next receive of the same (shard, index, term); another one of the shard, or a restart, begins anew. */
uint64_t store_snapshot_file_bytes(const struct store_snapshot_reader *r);
int  store_snapshot_read_raw(struct store_snapshot_reader *r, uint64_t offset, void *dst, size_t len, size_t *ret_len);
void store_snapshot_close(struct store_snapshot_reader *r);
struct store_snapshot_sink;
int  store_snapshot_receive(const struct store_port *port, uint32_t shard, uint64_t index, uint64_t term, struct store_snapshot_sink **ret, uint64_t *ret_have_bytes);
int  store_snapshot_receive_add(struct store_snapshot_sink *s, uint64_t offset, struct bytes data);
int  store_snapshot_receive_commit(struct store_snapshot_sink *s);       /* verifies every chunk, then makes it visible; frees */
void store_snapshot_receive_abort(struct store_snapshot_sink *s);

/* ---- backups: the states of all shards in one file that leaves the node ------------------------------------------------ */

/* Where each shard stood when it was drawn. The caller's rule of consistency (src/muster/README.md): shard 0 is drawn last. */
struct store_backup_info {
    struct uuid cluster_id;              /* of the cluster it was drawn from */
    int64_t taken_ms;                    /* since 1970, by the clock of whoever drew it */
    uint32_t shard_count, hash_version;  /* as in the identity */
    uint64_t draw;                       /* a random number: no two backups are the same */
    char version[32];                    /* of the program that wrote it, for people */
};
struct store_backup_section {
    uint32_t shard;
    uint64_t index, term;                /* the last entry in the state, and the term under which it was read */
    uint64_t state_hash;
    uint64_t catalog_index;              /* of shard 0: what the shard's state has acted on */
};

struct store_backup_writer;
/* Writes NAME.OWN.tmp, own being a number that nobody else who writes NAME has; only commit (fsync, rename, fsync of the folder) makes or replaces NAME. Sections follow each other; add takes runs of whole records. */
int  store_backup_create(const struct store_port *port, const char *name, unsigned own, const struct store_backup_info *info, struct store_backup_writer **ret);
int  store_backup_begin(struct store_backup_writer *w, const struct store_backup_section *section);
int  store_backup_add(struct store_backup_writer *w, struct bytes data);
int  store_backup_end(struct store_backup_writer *w);
/* Forgets the section that was begun, so that it can be begun again. */
int  store_backup_drop(struct store_backup_writer *w);
uint64_t store_backup_bytes(const struct store_backup_writer *w);    /* written so far */
int  store_backup_commit(struct store_backup_writer *w);         /* frees the writer, also on error; INVALID: not every shard is in it */
void store_backup_abort(struct store_backup_writer *w);

struct store_backup_reader;
/* Checks header and trailer. NOT_FOUND, VERSION (a newer program wrote it), CORRUPT with the place and what is wrong there in ret_text (256 bytes). */
int  store_backup_open(const struct store_port *port, const char *name, struct store_backup_info *ret_info, struct store_backup_reader **ret, char *ret_text);
/* The next section's head; NOT_FOUND behind the last, when all there was to check was found in order. What is left of the section before is read over, checked. */
int  store_backup_section(struct store_backup_reader *r, struct store_backup_section *ret);
/* Its next run, borrowed until the next call; len 0: the section's end. */
int  store_backup_next(struct store_backup_reader *r, struct bytes *ret);
/* After CORRUPT: where in the file, and what. */
const char *store_backup_problem(const struct store_backup_reader *r);
void store_backup_close(struct store_backup_reader *r);

/* ---- offline reader: reads a folder without changing, locking or creating anything ------------------------------------- */

/* A segment as its first batch says: where each shard stood when it was begun. */
struct store_segment {
    uint64_t number, first_sequence, bytes;
    bool past;                           /* kept as history: no node needs it to start */
    int64_t since_ms;                    /* since when, wall clock, in ms since 1970 */
    uint32_t shard_count;
    const struct store_segment_shard { uint64_t last_index, snapshot_index; } *shards;  /* the newest entry before this segment; the snapshot in use */
};
struct store_visit {
    void *ctx;
    void (*batch)(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records);
    void (*record)(void *ctx, const struct store_record *record);        /* every record in log order, erased ones included */
    void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta);
    void (*damage)(void *ctx, bool torn_tail, const char *file, uint64_t offset, const char *text);
    /* NULL: every segment is read. Else: whether this one is, asked of all before the first is read; next: the one behind it, NULL for the newest and when that one
     * cannot be told. Between two that are not neighbours nothing is said of what is missing. */
    bool (*wanted)(void *ctx, const struct store_segment *segment, const struct store_segment *next);
    bool skip_snapshots;                 /* they are not looked at */
};
/* 0: clean; TRUNCATED: torn tail; CORRUPT: damage, everything before it was shown. History is read first. Damage in it ends with its segment: what is behind is shown,
 * too, and report->only_past stays true as long as there is no other. */
int store_scan(const struct store_port *port, const struct store_visit *visit, struct store_report *report);

/* The files of the log and the snapshots, names only; and bytes of one of them (*ret_len is short at its end). Other files of the folder are NOT_FOUND. From any thread. */
int store_folder_list(const struct store_port *port, void (*each)(void *ctx, const char *name), void *ctx);
int store_folder_read(const struct store_port *port, const char *name, uint64_t offset, void *dst, size_t len, size_t *ret_len, uint64_t *ret_file_bytes);

/* ---- writer: the log thread of a server -------------------------------------------------------------------------------- */

struct store_writer;
/* wake is called on the log thread after each finished batch (the server gives uv_async_send). */
int  store_writer_start(struct store_writer **ret, struct store *s, void (*wake)(void *ctx), void *wake_ctx);
/* One batch may be outstanding: BUSY otherwise. Records and payloads are borrowed until the result is polled. */
int  store_writer_submit(struct store_writer *w, const struct store_record *records, size_t count);
bool store_writer_poll(struct store_writer *w, int *ret_result);         /* true once per finished batch */
bool store_writer_busy(const struct store_writer *w);
void store_writer_trim(struct store_writer *w, uint32_t shard, uint64_t index);      /* runs between batches */
void store_writer_tidy(struct store_writer *w, bool make_room);          /* store_tidy, or store_make_room, between batches */
void store_writer_stop(struct store_writer *w);          /* waits for the batch in flight */

#endif
