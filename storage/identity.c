/* identity.c: who this folder belongs to. One small file, replaced as a whole. */
#include "identity.h"
#include "file.h"
#include "names.h"

#include <string.h>

static const uint8_t identity_magic[8] = {'M', 'U', 'S', 'T', 'E', 'R', 'I', 'D'};

enum {
    IDENTITY_VERSION = 1,
    IDENTITY_FIXED_BYTES = 72,
    IDENTITY_PEER_BYTES = 22, /* without the address */
    IDENTITY_MAX_BYTES = 16 * 1024,
    IDENTITY_FLAG_LOG_BEGUN = 1,
    IDENTITY_FLAG_JOINED = 2,
    PEERS_MAX = (int)COUNT_OF(((struct store_identity *)0)->peers),
    ADDRESS_MAX = (int)sizeof(((struct store_peer *)0)->address) - 1
};

static int peer_put(struct buf *out, const struct store_peer *peer)
{
    size_t len = strnlen(peer->address, sizeof(peer->address));
    if (len > ADDRESS_MAX) {
        return MUSTER_E_INVALID;
    }
    uint8_t *at = buf_add(out, IDENTITY_PEER_BYTES + len);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    put_le32(at, peer->node_id);
    memcpy(at + 4, peer->incarnation.b, 16);
    put_le16(at + 20, (uint16_t)len);
    memcpy(at + IDENTITY_PEER_BYTES, peer->address, len);
    return MUSTER_E_OK;
}

static int identity_encode(struct buf *out, const struct store_identity *id, bool log_begun)
{
    if (id->shard_count == 0 || id->peer_count > PEERS_MAX) {
        return MUSTER_E_INVALID;
    }
    uint8_t *at = buf_add(out, IDENTITY_FIXED_BYTES);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    memset(at, 0, IDENTITY_FIXED_BYTES);
    memcpy(at, identity_magic, sizeof(identity_magic));
    put_le32(at + 8, IDENTITY_VERSION);
    put_le32(at + 16, (log_begun ? IDENTITY_FLAG_LOG_BEGUN : 0) | (id->joined ? IDENTITY_FLAG_JOINED : 0));
    put_le32(at + 20, id->node_id);
    memcpy(at + 24, id->cluster_id.b, 16);
    memcpy(at + 40, id->incarnation.b, 16);
    put_le32(at + 56, id->shard_count);
    put_le32(at + 60, id->hash_version);
    put_le32(at + 64, id->peer_count);
    for (uint32_t i = 0; i < id->peer_count; i++) {
        int rc = peer_put(out, &id->peers[i]);
        if (rc < 0) {
            return rc;
        }
    }
    put_le32(out->ptr + 12, (uint32_t)(out->len + 8));
    uint64_t hash = hash_bytes(out->ptr, out->len, 0);
    uint8_t *sum = buf_add(out, 8);
    if (sum == NULL) {
        return MUSTER_E_LIMIT;
    }
    put_le64(sum, hash);
    return MUSTER_E_OK;
}

int store_identity_save(const struct store_port *port, const struct store_identity *identity, bool log_begun)
{
    struct buf out;
    buf_init(&out, IDENTITY_MAX_BYTES);
    int rc = identity_encode(&out, identity, log_begun);
    if (rc >= 0) {
        rc = store_file_replace(port, STORE_IDENTITY_NAME, STORE_IDENTITY_TMP_NAME, out.ptr, out.len);
    }
    buf_fini(&out);
    return rc;
}

static int peers_decode(const uint8_t *at, size_t len, struct store_identity *id)
{
    for (uint32_t i = 0; i < id->peer_count; i++) {
        struct store_peer *peer = &id->peers[i];
        if (len < IDENTITY_PEER_BYTES) {
            return MUSTER_E_CORRUPT;
        }
        peer->node_id = get_le32(at);
        memcpy(peer->incarnation.b, at + 4, 16);
        size_t address = get_le16(at + 20);
        if (address > ADDRESS_MAX || address > len - IDENTITY_PEER_BYTES) {
            return MUSTER_E_CORRUPT;
        }
        memcpy(peer->address, at + IDENTITY_PEER_BYTES, address);
        at += IDENTITY_PEER_BYTES + address;
        len -= IDENTITY_PEER_BYTES + address;
    }
    return len == 0 ? MUSTER_E_OK : MUSTER_E_CORRUPT;
}

static int identity_decode(const struct buf *in, struct store_identity *id, bool *ret_log_begun)
{
    const uint8_t *p = in->ptr;
    if (in->len < IDENTITY_FIXED_BYTES + 8 || memcmp(p, identity_magic, sizeof(identity_magic)) != 0 || get_le32(p + 12) != in->len ||
        get_le64(p + in->len - 8) != hash_bytes(p, in->len - 8, 0)) {
        return MUSTER_E_CORRUPT;
    }
    if (get_le32(p + 8) != IDENTITY_VERSION) {
        return MUSTER_E_VERSION;
    }
    *id = (struct store_identity){
        .node_id = get_le32(p + 20),
        .shard_count = get_le32(p + 56),
        .hash_version = get_le32(p + 60),
        .joined = (get_le32(p + 16) & IDENTITY_FLAG_JOINED) != 0,
        .peer_count = get_le32(p + 64),
    };
    memcpy(id->cluster_id.b, p + 24, 16);
    memcpy(id->incarnation.b, p + 40, 16);
    if (id->shard_count == 0 || id->peer_count > PEERS_MAX) {
        return MUSTER_E_CORRUPT;
    }
    *ret_log_begun = (get_le32(p + 16) & IDENTITY_FLAG_LOG_BEGUN) != 0;
    return peers_decode(p + IDENTITY_FIXED_BYTES, in->len - IDENTITY_FIXED_BYTES - 8, id);
}

int store_identity_load(const struct store_port *port, struct store_identity *ret, bool *ret_log_begun)
{
    int file = -1;
    int rc = port->open(port->ctx, STORE_IDENTITY_NAME, false, false, &file);
    if (rc < 0) {
        return rc;
    }
    struct buf in;
    buf_init(&in, 0);
    struct store_identity id;
    bool begun = false;
    rc = store_file_load(port, file, IDENTITY_MAX_BYTES, &in);
    port->close(port->ctx, file);
    if (rc == MUSTER_E_LIMIT) {
        rc = MUSTER_E_CORRUPT;
    }
    if (rc >= 0) {
        rc = identity_decode(&in, &id, &begun);
    }
    buf_fini(&in);
    if (rc < 0) {
        return rc;
    }
    *ret = id;
    *ret_log_begun = begun;
    return MUSTER_E_OK;
}

int store_identity_read(const struct store_port *port, struct store_identity *ret)
{
    bool begun = false;
    return store_identity_load(port, ret, &begun);
}

int store_identity_write(const struct store_port *port, const struct store_identity *identity)
{
    struct name_list names;
    int rc = store_name_list_load(&names, port);
    if (rc < 0) {
        return rc;
    }
    bool begun = false;
    for (size_t i = 0; i < names.count; i++) {
        uint64_t number = 0;
        begun = begun || store_segment_name_parse(names.names[i], &number);
    }
    store_name_list_free(&names);
    return store_identity_save(port, identity, begun);
}
