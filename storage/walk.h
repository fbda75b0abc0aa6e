/* walk.h: the batches of one segment, in order, and the judgement of how they end. Recovery and the offline reader share it. */
#ifndef STORAGE_WALK_H
#define STORAGE_WALK_H

#include "names.h"
#include "format.h"

enum walk_step {
    WALK_BATCH,
    WALK_CLEAN,   /* nothing but zeros follows */
    WALK_TORN,    /* something follows that is no batch, and no sign of a later one behind it */
    WALK_CORRUPT, /* a bad batch behind which a later one was begun, or the first batch is bad */
    WALK_FAILED   /* the file cannot be read; only when it is read piece by piece */
};

struct walk {
    char name[STORE_NAME_BYTES];
    uint64_t number; /* by its name */
    int file;
    const struct store_port *port; /* to read the next piece through; NULL: the file is there whole */
    struct buf data;               /* the file's bytes from base on: all of them, or a piece */
    size_t base, file_bytes;
    struct segment_header header;
    size_t at;                               /* where the next batch is expected */
    uint64_t sequence;                       /* its number */
    uint8_t last_header[BATCH_HEADER_BYTES]; /* of the last good batch */
    char reason[160];                        /* for TORN and CORRUPT */
    int failed;                              /* for FAILED: IO, LIMIT */
};

struct walk_batch {
    struct batch_header header;
    size_t offset;
    const uint8_t *body;
};

/* Opens the segment's file, which stays open until close: removing it then does no harm. NOT_FOUND, IO. */
int store_walk_open(struct walk *w, const struct store_port *port, uint64_t number);
/* The same of a file that has another name than segments have. */
int store_walk_open_as(struct walk *w, const struct store_port *port, uint64_t number, const char *name);
/* Reads it whole. CORRUPT and VERSION with the reason set, IO, LIMIT (no memory). */
int store_walk_load(struct walk *w, const struct store_port *port);
/* The same for a file that nobody changes, which is read piece by piece: what a step gives out is there until the next step. The port has to stay. At TORN and CORRUPT
 * data has all that follows the last good batch. */
int store_walk_begin(struct walk *w, const struct store_port *port);
/* Its header and the body of its first batch, the checkpoints, at the end of out, and nothing more. CORRUPT, VERSION, IO, LIMIT. */
int store_walk_peek(const struct walk *w, const struct store_port *port, struct segment_header *ret_header, struct batch_header *ret_first,
                    struct buf *out);
/* Gives the memory back, to be another's data before it is loaded; the header, the sequence and the last batch's header stay. */
void store_walk_unload(struct walk *w, struct buf *ret_memory);
void store_walk_close(struct walk *w, const struct store_port *port);
enum walk_step store_walk_next(struct walk *w, struct walk_batch *ret);
/* Reads again what follows the last good batch: 1 it has changed, 0 it has not, or an error. For files that grow while they are read. */
int store_walk_refresh(struct walk *w, const struct store_port *port);
/* Whether w follows prev without a gap; the reason is set in w when not. */
bool store_walk_follows(struct walk *w, const struct walk *prev);

#endif
