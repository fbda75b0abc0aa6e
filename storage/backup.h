/* backup.h: layout of a backup file. FORMAT.md is the reference.
 *
 * A header; for each shard a section's head, chunks, and the section's end; a trailer. Every block but the header begins with its checksum and a magic, and every
 * checksum is seeded with what stands before it in the file, so that neither parts of other backups nor sections in another order pass. */
#ifndef STORAGE_BACKUP_H
#define STORAGE_BACKUP_H

#include "chunk.h"

#include <muster/store.h>

enum {
    BACKUP_VERSION = 1,
    BACKUP_HEADER_BYTES = 64, /* then the version's text, then 8 bytes of checksum */
    BACKUP_SECTION_BYTES = 48,
    BACKUP_END_BYTES = 40,
    BACKUP_TRAILER_BYTES = 40,
    BACKUP_SHARDS_MAX = 1024,
    BACKUP_NAME_BYTES = 256
};

extern const uint8_t backup_magic[8];
extern const uint8_t backup_section_magic[4];
extern const uint8_t backup_end_magic[4];
extern const uint8_t backup_trailer_magic[4];

#endif
