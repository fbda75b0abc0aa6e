/* log.h: the entries of one shard that are still in memory (memory.c), up to the last.
 *
 * The payloads of AppendEntries messages and of write batches come from here. Entries are immutable; the log owns them. One that is cut off
 * while a write batch may still point to it goes to the limbo and is freed by log_limbo_clear once no batch is outstanding. */
#ifndef MUSTER_RAFT_LOG_H
#define MUSTER_RAFT_LOG_H

#include <muster/base.h>

struct entry {
    struct entry *next; /* in the limbo */
    uint64_t term;
    uint64_t end; /* bytes of all entries up to this one, from some entry on: differences count */
    uint32_t len;
    uint8_t type; /* the Raft library's entry type */
    uint8_t data[];
};

struct entry_limbo {
    struct entry *head;
};

struct entry_log {
    struct entry **ring;
    size_t cap;           /* a power of two, 0 before the first entry */
    uint64_t first, last; /* first = last + 1: empty */
    uint64_t bytes;       /* payloads and headers of the entries kept */
};

void log_init(struct entry_log *log);
void log_fini(struct entry_log *log);
/* The entry is copied. Its index is last + 1. */
void log_append(struct entry_log *log, uint64_t term, uint8_t type, struct bytes data);
/* NULL outside [first, last]. Borrowed until cut or trimmed. */
const struct entry *log_get(const struct entry_log *log, uint64_t index);
/* Bytes of the entries behind index; of all when index is not there. */
uint64_t log_bytes_behind(const struct entry_log *log, uint64_t index);
/* Drops entries from index on; first <= index. */
void log_cut(struct entry_log *log, uint64_t index, struct entry_limbo *limbo);
/* Drops entries before index; index <= last + 1. */
void log_trim(struct entry_log *log, uint64_t index, struct entry_limbo *limbo);
/* Drops entries before index, oldest first, as long as those that are left take at least `bytes` and are one at least. */
void log_shed(struct entry_log *log, uint64_t index, uint64_t bytes, struct entry_limbo *limbo);
/* Drops everything; the next entry is index + 1. */
void log_reset(struct entry_log *log, uint64_t index, struct entry_limbo *limbo);
/* The first index such that it and all behind it take at most `bytes`. */
uint64_t log_tail(const struct entry_log *log, uint64_t end, uint64_t bytes);
void log_limbo_clear(struct entry_limbo *limbo);
uint64_t entry_bytes(const struct entry *e);

#endif
