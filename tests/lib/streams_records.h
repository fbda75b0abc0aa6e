/* streams_records.h: records of streams groups as chance has it: of few groups, members and regular expressions, so that they meet; now and then in a form
 * that this version would not write. */
#ifndef MUSTER_TESTS_STREAMS_RECORDS_H
#define MUSTER_TESTS_STREAMS_RECORDS_H

#include <muster/messages.h>

struct record_draw {
    void *ctx;
    uint64_t (*below)(void *ctx, uint64_t bound); /* the chance: less than bound */
    struct arena *arena;
    int groups, members; /* how many of each */
};

/* Any of the nine types; one in four is a tombstone. */
struct record draw_streams_record(struct record_draw *d);

#endif
