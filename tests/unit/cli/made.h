/* made.h: a data folder with a story in it, written through the store.
 *
 *   shard 0   1 configuration, 2 barrier, 3 the topic orders
 *   shard 1   1 configuration, 2 barrier, 3 group g is made with member m1 (its subscription has null user data), 4 m1 is assigned and commits
 *             17, 5 a commit of 99 that never counted, then in term 2 again 5 a commit of 42, 6 group h is made, 7 and deleted,
 *             8 group g's commit is withdrawn (a tombstone) */
#ifndef TESTS_CLI_MADE_H
#define TESTS_CLI_MADE_H

#include "mem_port.h"

#include <muster/group.h>
#include <muster/store.h>

enum { MADE_LAST = 8 };
#define MADE_SEGMENT "log-0000000000000001.seg"

struct made {
    struct mem_disk *disk;
    struct store_port port;
    struct store *store;
    struct arena arena;
};
void made_init(struct made *m); /* an empty folder, open for writing */
void made_story(struct made *m);
void made_close(struct made *m); /* a clean end; the disk stays */
void made_fini(struct made *m);

/* The story's entry; payload in the arena. */
struct store_record made_entry(struct arena *arena, uint32_t shard, uint64_t index, uint64_t term);
void made_write(struct made *m, struct store_record record);
/* A snapshot of shard 1 as it is after the story's entry `index`, with the hash given or its own (hash 0). The log says it is in use. */
void made_snapshot(struct made *m, uint64_t index, uint64_t hash, uint64_t trim);
/* One that says it is of `index` and holds the state after an earlier entry, under the right hash of that. */
void made_snapshot_as(struct made *m, uint64_t index, uint64_t as_of);
/* Copies the disk's files into a real folder. */
void made_export(const struct made *m, const char *dir);

/* ---- other stories, of groups of the new protocols ---- */

struct made_change {
    struct log_entry v;
    struct log_entry_cause cause;
    struct log_entry_group_revision group;
    struct log_entry_entry_record records[12];
};
void made_change_init(struct made_change *e, int16_t api_key, const char *rule, const char *group, int64_t revision);
void made_change_add(struct made_change *e, struct record record);
void made_change_write(struct made *m, const struct made_change *e, uint64_t index); /* into shard 1 */
/* A folder of its own under /tmp with the files; made_folder_remove takes it away. */
void made_folder(const struct made *m, char dir[32]);
void made_folder_remove(const char *dir);

#endif
