/* snapshot_transfer.c: taking a snapshot file from another node, in pieces, over as many connections as it needs. */
#include "snapshot.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>

struct store_snapshot_sink {
    struct store_port port;
    int file;
    uint32_t shard;
    uint64_t index, term;
    uint64_t have_bytes;
};

/* One transfer a shard: pieces of another snapshot are of no use any more. */
static int remove_others(const struct store_port *port, uint32_t shard, const char *keep)
{
    struct name_list names;
    int rc = store_name_list_load(&names, port);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        uint32_t of_shard = 0;
        uint64_t index = 0;
        uint64_t term = 0;
        const char *name = names.names[i];
        if (store_snapshot_recv_name_parse(name, &of_shard, &index, &term) && of_shard == shard && strcmp(name, keep) != 0) {
            rc = store_file_remove(port, name);
        }
    }
    store_name_list_free(&names);
    return rc;
}

int store_snapshot_receive(const struct store_port *port, uint32_t shard, uint64_t index, uint64_t term, struct store_snapshot_sink **ret,
                           uint64_t *ret_have_bytes)
{
    if (index == 0) {
        return MUSTER_E_INVALID;
    }
    char name[STORE_NAME_BYTES];
    store_snapshot_recv_name(shard, index, term, name);
    int rc = remove_others(port, shard, name);
    if (rc < 0) {
        return rc;
    }
    struct store_snapshot_sink *s = malloc(sizeof(*s));
    if (s == NULL) {
        return MUSTER_E_LIMIT;
    }
    *s = (struct store_snapshot_sink){.port = *port, .file = -1, .shard = shard, .index = index, .term = term};
    rc = port->open(port->ctx, name, true, true, &s->file);
    if (rc >= 0) {
        rc = port->size(port->ctx, s->file, &s->have_bytes);
    }
    if (rc < 0) {
        store_snapshot_receive_abort(s);
        return rc;
    }
    *ret = s;
    *ret_have_bytes = s->have_bytes;
    return MUSTER_E_OK;
}

int store_snapshot_receive_add(struct store_snapshot_sink *s, uint64_t offset, struct bytes data)
{
    if (offset != s->have_bytes) {
        return MUSTER_E_INVALID;
    }
    if (data.len <= 0) {
        return MUSTER_E_OK;
    }
    int rc = store_file_write(&s->port, s->file, offset, data.ptr, (size_t)data.len);
    if (rc < 0) {
        (void)s->port.truncate(s->port.ctx, s->file, s->have_bytes); /* what a resumed transfer builds on must be whole */
        return rc;
    }
    s->have_bytes += (uint64_t)data.len;
    return MUSTER_E_OK;
}

static int make_visible(struct store_snapshot_sink *s, const char *tmp)
{
    char name[STORE_NAME_BYTES];
    uint64_t offset = 0;
    store_snapshot_name(s->shard, s->index, name);
    int rc = store_snapshot_verify(&s->port, tmp, s->shard, s->index, s->term, &offset);
    if (rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION) {
        (void)s->port.remove(s->port.ctx, tmp); /* start over */
        return rc;
    }
    return rc < 0 ? rc : store_file_publish(&s->port, s->file, tmp, name);
}

int store_snapshot_receive_commit(struct store_snapshot_sink *s)
{
    char tmp[STORE_NAME_BYTES];
    store_snapshot_recv_name(s->shard, s->index, s->term, tmp);
    int rc = make_visible(s, tmp);
    store_snapshot_receive_abort(s);
    return rc;
}

void store_snapshot_receive_abort(struct store_snapshot_sink *s)
{
    if (s == NULL) {
        return;
    }
    if (s->file >= 0) {
        s->port.close(s->port.ctx, s->file);
    }
    free(s);
}
