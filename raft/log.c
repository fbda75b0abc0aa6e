#include "log.h"

#include <stdlib.h>
#include <string.h>

enum { CAP_MIN = 64 };

uint64_t entry_bytes(const struct entry *e)
{
    return sizeof *e + e->len;
}

void log_init(struct entry_log *log)
{
    *log = (struct entry_log){.first = 1};
}

void log_fini(struct entry_log *log)
{
    struct entry_limbo limbo = {NULL};
    log_reset(log, 0, &limbo);
    log_limbo_clear(&limbo);
    free(log->ring);
    log->ring = NULL;
    log->cap = 0;
}

static struct entry **slot(const struct entry_log *log, uint64_t index)
{
    return &log->ring[index & (log->cap - 1)];
}

static void grow(struct entry_log *log)
{
    struct entry_log wide = *log;
    wide.cap = log->cap == 0 ? CAP_MIN : log->cap * 2;
    wide.ring = calloc(wide.cap, sizeof(struct entry *));
    MUSTER_CHECK(wide.ring != NULL);
    for (uint64_t i = log->first; i <= log->last; i++) {
        *slot(&wide, i) = *slot(log, i);
    }
    free(log->ring);
    *log = wide;
}

void log_append(struct entry_log *log, uint64_t term, uint8_t type, struct bytes data)
{
    size_t len = data.len > 0 ? (size_t)data.len : 0;
    struct entry *e = malloc(sizeof *e + len);
    MUSTER_CHECK(e != NULL);
    e->next = NULL;
    e->term = term;
    e->len = (uint32_t)len;
    e->type = type;
    if (len > 0) {
        memcpy(e->data, data.ptr, len);
    }
    if (log->last - log->first + 1 == log->cap) {
        grow(log);
    }
    const struct entry *before = log_get(log, log->last);
    e->end = (before != NULL ? before->end : 0) + entry_bytes(e);
    log->last++;
    *slot(log, log->last) = e;
    log->bytes += entry_bytes(e);
}

const struct entry *log_get(const struct entry_log *log, uint64_t index)
{
    if (index < log->first || index > log->last) {
        return NULL;
    }
    return *slot(log, index);
}

uint64_t log_bytes_behind(const struct entry_log *log, uint64_t index)
{
    const struct entry *from = log_get(log, index), *to = log_get(log, log->last);
    return index >= log->last || to == NULL ? 0 : from != NULL ? to->end - from->end : log->bytes;
}

static void bury(struct entry_log *log, uint64_t index, struct entry_limbo *limbo)
{
    struct entry *e = *slot(log, index);
    log->bytes -= entry_bytes(e);
    e->next = limbo->head;
    limbo->head = e;
}

void log_cut(struct entry_log *log, uint64_t index, struct entry_limbo *limbo)
{
    MUSTER_CHECK(index >= log->first);
    while (log->last >= index) {
        bury(log, log->last, limbo);
        log->last--;
    }
}

void log_trim(struct entry_log *log, uint64_t index, struct entry_limbo *limbo)
{
    MUSTER_CHECK(index <= log->last + 1);
    while (log->first < index) {
        bury(log, log->first, limbo);
        log->first++;
    }
}

void log_shed(struct entry_log *log, uint64_t index, uint64_t bytes, struct entry_limbo *limbo)
{
    while (log->first < index && log->first < log->last && log->bytes - entry_bytes(log_get(log, log->first)) >= bytes) {
        bury(log, log->first, limbo);
        log->first++;
    }
}

void log_reset(struct entry_log *log, uint64_t index, struct entry_limbo *limbo)
{
    log_trim(log, log->last + 1, limbo);
    log->first = index + 1;
    log->last = index;
}

uint64_t log_tail(const struct entry_log *log, uint64_t end, uint64_t bytes)
{
    uint64_t index = end + 1;
    uint64_t sum = 0;
    while (index > log->first) {
        sum += entry_bytes(log_get(log, index - 1));
        if (sum > bytes) {
            break;
        }
        index--;
    }
    return index;
}

void log_limbo_clear(struct entry_limbo *limbo)
{
    while (limbo->head != NULL) {
        struct entry *e = limbo->head;
        limbo->head = e->next;
        free(e);
    }
}
