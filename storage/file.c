/* file.c: small files and pieces of files through the port. */
#include "file.h"
#include "format.h"

enum { FILE_ZERO_BYTES = 64 * 1024, FILE_CHECK_BYTES = 32 * 1024 };
#define FILE_PART_BYTES ((size_t)1 << 30)

int store_file_read(const struct store_port *port, int file, uint64_t offset, void *dst, size_t len)
{
    size_t got = 0;
    int rc = port->read(port->ctx, file, offset, dst, len, &got);
    if (rc < 0) {
        return rc;
    }
    return got == len ? MUSTER_E_OK : MUSTER_E_TRUNCATED;
}

int store_file_write(const struct store_port *port, int file, uint64_t offset, const void *src, size_t len)
{
    MUSTER_CHECK(len <= FILE_PART_BYTES);
    struct bytes part = {src, (int32_t)len};
    return port->write(port->ctx, file, offset, &part, 1);
}

int store_file_zero(const struct store_port *port, int file, uint64_t from, uint64_t to)
{
    static const uint8_t zeros[FILE_ZERO_BYTES];
    while (from < to) {
        size_t len = to - from < sizeof(zeros) ? (size_t)(to - from) : sizeof(zeros);
        int rc = store_file_write(port, file, from, zeros, len);
        if (rc < 0) {
            return rc;
        }
        from += len;
    }
    return MUSTER_E_OK;
}

int store_file_is_zero(const struct store_port *port, int file, uint64_t bytes, bool *ret)
{
    uint8_t piece[FILE_CHECK_BYTES];
    uint64_t there = 0;
    size_t got = 1;
    int rc = port->size(port->ctx, file, &there);
    bool zero = there == bytes;
    for (uint64_t at = 0; rc >= 0 && zero && got > 0 && at < bytes; at += got) {
        rc = port->read(port->ctx, file, at, piece, sizeof(piece), &got);
        zero = rc >= 0 && got > 0 && store_all_zero(piece, got);
    }
    *ret = rc >= 0 && zero;
    return rc;
}

int store_file_load(const struct store_port *port, int file, uint64_t limit_bytes, struct buf *out)
{
    uint64_t bytes = 0;
    int rc = port->size(port->ctx, file, &bytes);
    if (rc < 0) {
        return rc;
    }
    if (bytes > limit_bytes) {
        return MUSTER_E_LIMIT;
    }
    size_t start = out->len;
    uint8_t *dst = buf_add(out, (size_t)bytes);
    if (dst == NULL) {
        return MUSTER_E_LIMIT;
    }
    size_t got = 0;
    rc = port->read(port->ctx, file, 0, dst, (size_t)bytes, &got);
    out->len = rc < 0 ? start : start + got;
    return rc;
}

static int replace_write(const struct store_port *port, const char *tmp_name, const void *data, size_t len)
{
    int file = -1;
    int rc = port->open(port->ctx, tmp_name, true, true, &file);
    if (rc < 0) {
        return rc;
    }
    rc = port->truncate(port->ctx, file, 0);
    if (rc >= 0) {
        rc = store_file_write(port, file, 0, data, len);
    }
    if (rc >= 0) {
        rc = port->sync(port->ctx, file);
    }
    port->close(port->ctx, file);
    return rc;
}

int store_file_replace(const struct store_port *port, const char *name, const char *tmp_name, const void *data, size_t len)
{
    int rc = replace_write(port, tmp_name, data, len);
    if (rc >= 0) {
        rc = port->rename(port->ctx, tmp_name, name);
    }
    if (rc < 0) {
        (void)port->remove(port->ctx, tmp_name);
        return rc;
    }
    return port->sync_dir(port->ctx);
}

int store_file_publish(const struct store_port *port, int file, const char *tmp_name, const char *name)
{
    int rc = port->sync(port->ctx, file);
    if (rc >= 0) {
        rc = port->rename(port->ctx, tmp_name, name);
    }
    return rc < 0 ? rc : port->sync_dir(port->ctx);
}

int store_file_remove(const struct store_port *port, const char *name)
{
    int rc = port->remove(port->ctx, name);
    return rc == MUSTER_E_NOT_FOUND ? MUSTER_E_OK : rc;
}
