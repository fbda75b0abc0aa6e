/* streams_records.h: records of streams groups as chance has it: of few groups, members and regular expressions, so that they meet; now and then in a form
 * that this version would not write. */
#ifndef MUSTER_TESTS_STREAMS_RECORDS_H
#define MUSTER_TESTS_STREAMS_RECORDS_H

#include "record_draw.h"

/* Any of the nine types; one in four is a tombstone. */
struct record draw_streams_record(struct record_draw *d);

#endif
