/* print.h: messages as one line of words: a field that has its default is not mentioned. */
#ifndef MUSTER_TESTS_GOLDEN_PRINT_H
#define MUSTER_TESTS_GOLDEN_PRINT_H

#include "group_world.h"

/* " GroupId=orders Members=[{MemberId=a-#1 Metadata=ma}]": each field that differs from the schema's default, a space before it. */
void print_message(const struct wire_type *type, int16_t version, const void *value, struct buf *out);
void print_record(struct record record, struct buf *out);                 /* "ClassicMember GroupId=..."; ends in " gone" for a tombstone */
void print_topics_of(const struct world_topic *topics, const int *count); /* whose names stand for their ids */
void print_text(const char *text, struct buf *out);
void print_str(struct str s, struct buf *out); /* ids drawn by the test are shortened to #n */
void print_number(int64_t n, struct buf *out);
void print_ms(int64_t ms, struct buf *out);                        /* 10s, 1500ms */
void print_held(const struct group_out *decided, struct buf *out); /* for how long its answer may be held, if it may */

#endif
