/* consumer_records.h: records of consumer groups as chance has it, as streams_records.h has those of streams groups, under the same ids. */
#ifndef MUSTER_TESTS_CONSUMER_RECORDS_H
#define MUSTER_TESTS_CONSUMER_RECORDS_H

#include "record_draw.h"

/* Any of the six types; one in four is a tombstone. */
struct record draw_consumer_record(struct record_draw *d);

#endif
