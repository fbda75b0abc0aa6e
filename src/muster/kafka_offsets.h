/* kafka_offsets.h: the committed offsets that Kafka's own records (the topic __consumer_offsets) say: out of segment files, out of a running cluster, and into a
 * segment file. */
#ifndef MUSTER_CLI_KAFKA_OFFSETS_H
#define MUSTER_CLI_KAFKA_OFFSETS_H

#include "offset_file.h"

/* Batches are taken in the order of each partition's log; what a transaction committed counts once its marker has come by. Memory goes with what is live, not with
 * the length of the log. */
struct kafka_offsets;
struct kafka_offsets *kafka_offsets_new(void);
void kafka_offsets_free(struct kafka_offsets *k);
/* What is live, settled, in the arena. */
void kafka_offsets_take(struct kafka_offsets *k, struct arena *arena, struct saved_offsets *ret);

/* One segment file. A torn end is said and counts for nothing; damage is an error. An exit code. */
int kafka_offsets_read_segment(struct cli *cli, struct kafka_offsets *k, const char *path);
int kafka_offsets_parse_segment(struct cli *cli, struct kafka_offsets *k, const char *name, struct bytes data); /* the same of bytes */
/* Every partition of the topic in that cluster, up to where it ended when the partition was begun. An exit code. */
int kafka_offsets_read_cluster(struct cli *cli, struct kafka_offsets *k, const char *bootstrap);

/* As Kafka would have written them. */
void kafka_offsets_write(const struct saved_offsets *offsets, int64_t now_ms, struct buf *to);

#endif
