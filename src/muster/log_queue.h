/* log_queue.h: entries of a log that wait to be applied, by as many threads as there are processors: those of a line (a shard) by one at a time, and in their order. */
#ifndef MUSTER_CLI_LOG_QUEUE_H
#define MUSTER_CLI_LOG_QUEUE_H

#include <muster/base.h>

#include <stdbool.h>
#include <stdint.h>

struct log_queue;
struct log_queued {
    uint64_t index, term;
    uint8_t kind; /* enum log_entry_kind */
    struct bytes payload;
};
struct log_piece;
struct log_line { /* zeroed memory, which stays where it is as long as the queue */
    struct log_piece *filling;
    struct log_piece *first, **last; /* that are full */
    bool known, ready;               /* ready: it stands in the line of those, or is being worked on */
    struct log_line *next_known, *next_ready;
};

/* `apply` is called by any thread; by the caller's while it is in one of the functions below. */
struct log_queue *log_queue_new(void (*apply)(void *ctx, struct log_line *line, const struct log_queued *entry), void *ctx);
/* Copies the payload. The entries of a line come with ascending indexes. */
void log_queue_put(struct log_queue *q, struct log_line *line, const struct log_queued *entry);
/* Everything that was put is applied when it returns. */
void log_queue_finish(struct log_queue *q);
/* Takes the line's entries from the index on back, as far as they were not applied. Nothing is being applied when it returns. */
void log_queue_take_back(struct log_queue *q, struct log_line *line, uint64_t index);
void log_queue_free(struct log_queue *q); /* after log_queue_finish() */

#endif
