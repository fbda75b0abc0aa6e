/* history_records.h: records of groups' histories as chance has it, under the same ids as those of consumer_records.h and streams_records.h. */
#ifndef MUSTER_TESTS_HISTORY_RECORDS_H
#define MUSTER_TESTS_HISTORY_RECORDS_H

#include "record_draw.h"

/* Any of the three types; one in four is a tombstone. */
struct record draw_history_record(struct record_draw *d);

#endif
