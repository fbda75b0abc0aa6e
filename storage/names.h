/* names.h: the files of a data folder. Names that are none of these are left alone. */
#ifndef STORAGE_NAMES_H
#define STORAGE_NAMES_H

#include <muster/store.h>

enum { STORE_NAME_BYTES = 64 };

#define STORE_IDENTITY_NAME     "identity"
#define STORE_IDENTITY_TMP_NAME "identity.tmp"
#define STORE_NEXT_NAME         "next.tmp" /* the segment that is prepared ahead */
#define STORE_RESERVE_NAME      "reserve"
#define STORE_RESERVE_TMP_NAME  "reserve.tmp"

/* log-<number, 16 hexadecimal digits>.seg */
void store_segment_name(uint64_t number, char dst[STORE_NAME_BYTES]);
bool store_segment_name_parse(const char *name, uint64_t *ret_number);

/* past-<number, 16 hexadecimal digits>-<when>.seg: a segment that nothing needs any more, kept as history since then (ms since 1970) */
void store_past_name(uint64_t number, int64_t since_ms, char dst[STORE_NAME_BYTES]);
bool store_past_name_parse(const char *name, uint64_t *ret_number, int64_t *ret_since_ms);

/* snap-<shard>-<index>.snap; while it is written .snap.tmp; while it is received snap-<shard>-<index>-<term>.recv.tmp */
void store_snapshot_name(uint32_t shard, uint64_t index, char dst[STORE_NAME_BYTES]);
void store_snapshot_tmp_name(uint32_t shard, uint64_t index, char dst[STORE_NAME_BYTES]);
void store_snapshot_recv_name(uint32_t shard, uint64_t index, uint64_t term, char dst[STORE_NAME_BYTES]);
bool store_snapshot_name_parse(const char *name, uint32_t *ret_shard, uint64_t *ret_index);
bool store_snapshot_recv_name_parse(const char *name, uint32_t *ret_shard, uint64_t *ret_index, uint64_t *ret_term);

/* A leftover of an interrupted write: ends in .tmp and is one of ours. */
bool store_name_is_leftover(const char *name);

/* The folder's names, for modules that change the folder while they go through them. list_load: 0, IO, LIMIT (no memory). */
struct name_list {
    char (*names)[STORE_NAME_BYTES];
    size_t count, cap;
    bool failed;
};
int store_name_list_load(struct name_list *l, const struct store_port *port);
void store_name_list_free(struct name_list *l);

#endif
