/* file.h: small files and pieces of files through the port. */
#ifndef STORAGE_FILE_H
#define STORAGE_FILE_H

#include <muster/store.h>

/* Reads len bytes at offset; TRUNCATED when the file ends before. */
int store_file_read(const struct store_port *port, int file, uint64_t offset, void *dst, size_t len);
int store_file_write(const struct store_port *port, int file, uint64_t offset, const void *src, size_t len);
int store_file_zero(const struct store_port *port, int file, uint64_t from, uint64_t to);
/* Whether the file has so many bytes and all of them are zero. */
int store_file_is_zero(const struct store_port *port, int file, uint64_t bytes, bool *ret);
/* Everything in the file, at the end of out. LIMIT beyond limit_bytes. */
int store_file_load(const struct store_port *port, int file, uint64_t limit_bytes, struct buf *out);
/* Makes name hold exactly data: temporary file, sync, rename, sync of the folder. */
int store_file_replace(const struct store_port *port, const char *name, const char *tmp_name, const void *data, size_t len);
/* Gives an open, written file its name, for good: sync, rename, sync of the folder. The file stays open; on failure it may have either name. */
int store_file_publish(const struct store_port *port, int file, const char *tmp_name, const char *name);
/* remove that is content when there is nothing. */
int store_file_remove(const struct store_port *port, const char *name);

#endif
