/* offset_file.h: committed offsets as a file: CSV as kafka-consumer-groups has it, or JSON.
 *
 * CSV: "topic,partition,offset" a line, or "group,topic,partition,offset"; fields in double quotes where they need it (RFC 4180); no header. It holds no more than
 * that. JSON has leader epochs and metadata as well, and what `muster offsets list --json` prints is read, too. */
#ifndef MUSTER_CLI_OFFSET_FILE_H
#define MUSTER_CLI_OFFSET_FILE_H

#include "cli.h"

#include <jansson.h>

struct saved_offset {
    struct str group; /* null: the file does not name it */
    struct str topic;
    int32_t partition;
    int64_t offset;
    int32_t leader_epoch; /* -1: none */
    struct str metadata;
};
struct saved_offsets {
    struct saved_offset *v;
    int count, cap;
};

void saved_add(struct saved_offsets *s, const struct saved_offset *one, struct arena *arena);
/* In order of groups, topics and partitions; of several for one partition the last one added stays. */
void saved_settle(struct saved_offsets *s);
/* Settled ones: of the group, else of a line without a group; NULL: none. */
const struct saved_offset *saved_find(const struct saved_offsets *s, struct str group, struct str topic, int32_t partition);
/* Reads either form; "-" is standard input. Settled. An exit code; what is wrong is said, with the line. */
int saved_read(struct cli *cli, const char *path, struct saved_offsets *ret);
int saved_parse(struct cli *cli, const char *name, struct bytes text,
                struct saved_offsets *ret); /* the same of bytes; name: for what is said */
/* Makes the names what out_text makes of them where they have anything that a terminal would obey, for a file that is written to one. */
void saved_make_safe(struct saved_offsets *s, struct arena *arena);
void saved_write_csv(const struct saved_offsets *s, bool with_group, FILE *to);
json_t *saved_json(const struct saved_offsets *s);

/* A whole file in the arena; "-" is standard input. An exit code. */
int file_read(struct cli *cli, const char *path, struct bytes *ret);

#endif
