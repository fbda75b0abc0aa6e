/* snapshot.h: layout of a snapshot file and what its reader, writer and receiver share. FORMAT.md is the reference.
 *
 * A header with the meta data, chunks of one or more whole runs (one lz4 frame each), a trailer with totals and the chain of all checksums.
 * Every checksum is seeded with the header's, so parts of different snapshots do not mix. */
#ifndef STORAGE_SNAPSHOT_H
#define STORAGE_SNAPSHOT_H

#include "chunk.h"
#include "names.h"

#include <muster/store.h>

enum {
    SNAPSHOT_VERSION = 1,
    SNAPSHOT_HEADER_BYTES = 64, /* then the Raft configuration, then 8 bytes of checksum */
    SNAPSHOT_TRAILER_BYTES = 48,
    SNAPSHOT_CONFIG_LIMIT_BYTES = 64 * 1024
};

extern const uint8_t snapshot_magic[8];
extern const uint8_t snapshot_trailer_magic[4];

int snapshot_reader_open(const struct store_port *port, const char *name, struct store_snapshot_meta *ret_meta,
                         struct store_snapshot_reader **ret);
/* Reads the file to its end. CORRUPT with the place when it is damaged or not the snapshot (shard, index, term); NOT_FOUND, IO. */
int store_snapshot_verify(const struct store_port *port, const char *name, uint32_t shard, uint64_t index, uint64_t term,
                          uint64_t *ret_offset);

#endif
