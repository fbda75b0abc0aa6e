/* folder.c: the files of a log as they are, for readers that are elsewhere. Nothing else in the folder can be had this way. */
#include "file.h"
#include "names.h"

#include <string.h>

static bool is_log(const char *name)
{
    uint64_t number;
    int64_t since_ms;
    uint32_t shard;
    return store_segment_name_parse(name, &number) || store_past_name_parse(name, &number, &since_ms) ||
           store_snapshot_name_parse(name, &shard, &number);
}

int store_folder_list(const struct store_port *port, void (*each)(void *ctx, const char *name), void *ctx)
{
    struct name_list names;
    int rc = store_name_list_load(&names, port);
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        if (is_log(names.names[i])) {
            each(ctx, names.names[i]);
        }
    }
    if (rc >= 0) {
        store_name_list_free(&names);
    }
    return rc;
}

int store_folder_read(const struct store_port *port, const char *name, uint64_t offset, void *dst, size_t len, size_t *ret_len,
                      uint64_t *ret_file_bytes)
{
    int file = -1;
    if (!is_log(name)) {
        return MUSTER_E_NOT_FOUND;
    }
    int rc = port->open(port->ctx, name, false, false, &file);
    if (rc < 0) {
        return rc;
    }
    rc = port->size(port->ctx, file, ret_file_bytes);
    if (rc >= 0) {
        rc = port->read(port->ctx, file, offset, dst, len, ret_len);
    }
    port->close(port->ctx, file);
    return rc;
}
