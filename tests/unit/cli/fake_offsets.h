/* fake_offsets.h: answers for fake_more(): groups with names, ends, and a coordinator that changes offsets. */
#ifndef TESTS_CLI_FAKE_OFFSETS_H
#define TESTS_CLI_FAKE_OFFSETS_H

#include "fake_node.h"

typedef struct alter_group_offsets_response_partition altered;

/* There are an empty classic group "old" and a consumer group "new"; or "old", and one of a name that is close to "none". */
const void *fake_lists_two(struct fake *f, int16_t key, const void *request);
const void *fake_lists_close(struct fake *f, int16_t key, const void *request);
/* As a coordinator does it to a group that has committed 10 everywhere. */
const void *fake_alters(struct fake *f, const struct alter_group_offsets_request *request);
/* That, the two groups, and ends of partitions: of 0 nobody has set it, the others end at 15. */
const void *fake_ends_and_changes(struct fake *f, int16_t key, const void *request);

#endif
