#include "form.h"
#include "codec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PREPARED_NAME     "form.prepared"
#define PREPARED_TMP_NAME "form.prepared.tmp"

enum { PREPARED_MAGIC = 0x50524d46, PREPARED_HASH_SEED = 7 };

/* ---- the forms of things ------------------------------------------------------------------------------------------------ */

static void write_beginning(struct writer *w)
{
    writer_u32(w, HELLO_MAGIC);
    writer_u16(w, HELLO_VERSION);
    writer_u8(w, HELLO_FORM);
}

static int read_beginning(struct reader *r, struct bytes frame)
{
    enum hello_class class;
    int rc = hello_class_of(frame, &class);
    if (rc != 0) {
        return rc;
    }
    reader_take(r, 7);
    return class == HELLO_FORM ? 0 : MUSTER_E_MALFORMED;
}

static void write_identity(struct writer *w, const struct store_identity *id)
{
    writer_uuid(w, id->cluster_id);
    writer_u32(w, id->node_id);
    writer_uuid(w, id->incarnation);
    writer_u32(w, id->shard_count);
    writer_u32(w, id->hash_version);
    writer_u32(w, id->peer_count);
    for (uint32_t i = 0; i < id->peer_count; i++) {
        writer_u32(w, id->peers[i].node_id);
        writer_uuid(w, id->peers[i].incarnation);
        writer_bytes(w, bytes_of_str(str_of(id->peers[i].address)));
    }
}

static void read_identity(struct reader *r, struct store_identity *id)
{
    memset(id, 0, sizeof *id);
    id->cluster_id = reader_uuid(r);
    id->node_id = reader_u32(r);
    id->incarnation = reader_uuid(r);
    id->shard_count = reader_u32(r);
    id->hash_version = reader_u32(r);
    id->peer_count = reader_u32(r);
    if (id->peer_count == 0 || id->peer_count > COUNT_OF(id->peers)) {
        r->bad = true;
    }
    for (uint32_t i = 0; i < id->peer_count && !r->bad; i++) {
        id->peers[i].node_id = reader_u32(r);
        id->peers[i].incarnation = reader_uuid(r);
        struct bytes address = reader_bytes(r);
        if (address.len <= 0 || (size_t)address.len >= sizeof id->peers[i].address || memchr(address.ptr, 0, (size_t)address.len) != NULL) {
            r->bad = true;
            return;
        }
        memcpy(id->peers[i].address, address.ptr, (size_t)address.len);
    }
}

int form_request_encode(struct buf *out, const struct form_request *q)
{
    struct writer w = {out, false};
    write_beginning(&w);
    writer_u8(&w, (uint8_t)q->op);
    if (q->op == FORM_PREPARE) {
        write_identity(&w, &q->identity);
    } else if (q->op == FORM_JOIN) {
        write_identity(&w, &q->identity);
        writer_u32(&w, q->feature_level);
    } else if (q->op == FORM_COMMIT) {
        writer_uuid(&w, q->cluster_id);
    }
    return w.bad ? MUSTER_E_LIMIT : 0;
}

int form_request_decode(struct bytes frame, struct form_request *ret)
{
    struct reader r = {frame.ptr, frame.len > 0 ? (size_t)frame.len : 0, false};
    int rc = read_beginning(&r, frame);
    if (rc != 0) {
        return rc;
    }
    memset(ret, 0, sizeof *ret);
    uint8_t op = reader_u8(&r);
    if (op == FORM_PREPARE) {
        read_identity(&r, &ret->identity);
    } else if (op == FORM_JOIN) {
        read_identity(&r, &ret->identity);
        ret->identity.joined = true;
        ret->feature_level = reader_u32(&r);
    } else if (op == FORM_COMMIT) {
        ret->cluster_id = reader_uuid(&r);
    } else if (op != FORM_QUERY) {
        r.bad = true;
    }
    ret->op = (enum form_op)op;
    return r.bad || r.left != 0 ? MUSTER_E_MALFORMED : 0;
}

int form_answer_encode(struct buf *out, const struct form_answer *a)
{
    struct writer w = {out, false};
    write_beginning(&w);
    writer_u8(&w, (uint8_t)-a->error);
    writer_u8(&w, (uint8_t)a->state);
    writer_u32(&w, a->node_id);
    writer_u32(&w, a->shard_count);
    writer_u32(&w, a->peer_count);
    writer_uuid(&w, a->cluster_id);
    writer_bytes(&w, bytes_of_str(str_of(a->text)));
    return w.bad ? MUSTER_E_LIMIT : 0;
}

int form_answer_decode(struct bytes frame, struct form_answer *ret)
{
    struct reader r = {frame.ptr, frame.len > 0 ? (size_t)frame.len : 0, false};
    int rc = read_beginning(&r, frame);
    if (rc != 0) {
        return rc;
    }
    memset(ret, 0, sizeof *ret);
    ret->error = -(int)reader_u8(&r);
    uint8_t state = reader_u8(&r);
    ret->state = (enum form_state)state;
    ret->node_id = reader_u32(&r);
    ret->shard_count = reader_u32(&r);
    ret->peer_count = reader_u32(&r);
    ret->cluster_id = reader_uuid(&r);
    struct bytes text = reader_bytes(&r);
    if (r.bad || r.left != 0 || state < FORM_EMPTY || state > FORM_FORMED || text.len >= FORM_TEXT_BYTES) {
        return MUSTER_E_MALFORMED;
    }
    for (int32_t i = 0; i < text.len; i++) {
        ret->text[i] = text.ptr[i] >= 0x20 && text.ptr[i] < 0x7f ? (char)text.ptr[i] : '?';
    }
    return 0;
}

/* ---- the file that prepare leaves --------------------------------------------------------------------------------------- */

static int write_file(const struct store_port *port, const char *name, struct bytes data)
{
    int file;
    int rc = port->open(port->ctx, name, true, true, &file);
    if (rc != 0) {
        return rc;
    }
    rc = port->truncate(port->ctx, file, 0);
    if (rc == 0) {
        rc = port->write(port->ctx, file, 0, &data, 1);
    }
    if (rc == 0) {
        rc = port->sync(port->ctx, file);
    }
    port->close(port->ctx, file);
    return rc;
}

static int save_prepared(struct form *f, const struct store_identity *id)
{
    struct buf out;
    buf_init(&out, FORM_FRAME_MAX);
    struct writer w = {&out, false};
    writer_u32(&w, PREPARED_MAGIC);
    write_identity(&w, id);
    writer_u64(&w, w.bad ? 0 : hash_bytes(out.ptr, out.len, PREPARED_HASH_SEED));
    int rc = w.bad ? MUSTER_E_LIMIT : write_file(f->port, PREPARED_TMP_NAME, (struct bytes){out.ptr, (int32_t)out.len});
    buf_fini(&out);
    if (rc == 0) {
        rc = f->port->rename(f->port->ctx, PREPARED_TMP_NAME, PREPARED_NAME);
    }
    if (rc == 0) {
        rc = f->port->sync_dir(f->port->ctx);
    }
    return rc;
}

static int load_prepared(struct form *f)
{
    static uint8_t data[FORM_FRAME_MAX];
    int file;
    size_t len;
    int rc = f->port->open(f->port->ctx, PREPARED_NAME, false, false, &file);
    if (rc != 0) {
        return rc;
    }
    rc = f->port->read(f->port->ctx, file, 0, data, sizeof data, &len);
    f->port->close(f->port->ctx, file);
    if (rc != 0) {
        return rc;
    }
    if (len < 12 || get_le64(data + len - 8) != hash_bytes(data, len - 8, PREPARED_HASH_SEED)) {
        return MUSTER_E_CORRUPT;
    }
    struct reader r = {data, len - 8, false};
    uint32_t magic = reader_u32(&r);
    read_identity(&r, &f->identity);
    return r.bad || r.left != 0 || magic != PREPARED_MAGIC ? MUSTER_E_CORRUPT : 0;
}

static void note_foreign(void *arg, const char *name)
{
    bool *foreign = arg;
    if (strcmp(name, PREPARED_NAME) != 0 && strcmp(name, PREPARED_TMP_NAME) != 0 && strcmp(name, "identity.tmp") != 0 &&
        strcmp(name, "lost+found") != 0) {
        *foreign = true;
    }
}

int form_init(struct form *f, const struct store_port *port, const struct form_config *config, char *text)
{
    bool foreign = false;
    *f = (struct form){.port = port, .config = *config, .state = FORM_EMPTY};
    int rc = port->list(port->ctx, note_foreign, &foreign);
    if (rc == 0 && foreign) {
        snprintf(text, FORM_TEXT_BYTES,
                 "the data folder holds files but no identity: it is not a new folder, and its cluster is not known");
        return MUSTER_E_EXISTS;
    }
    if (rc == 0) {
        rc = load_prepared(f);
    }
    if (rc == 0) {
        f->state = FORM_PREPARED;
    } else if (rc == MUSTER_E_NOT_FOUND) {
        rc = 0;
    } else if (rc == MUSTER_E_CORRUPT) {
        snprintf(text, FORM_TEXT_BYTES,
                 "%s, left by an interrupted forming, cannot be read; nothing was stored here yet, so the file may be removed",
                 PREPARED_NAME);
    } else {
        snprintf(text, FORM_TEXT_BYTES, "the data folder cannot be read: %s", muster_strerror(rc));
    }
    return rc;
}

/* ---- answers --------------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void refuse(struct form_answer *a, int error, const char *format, ...)
{
    va_list args;
    a->error = error;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
}

static bool peers_agree(const struct form *f, const struct store_identity *id)
{
    if (id->peer_count != f->config.peer_count) {
        return false;
    }
    for (uint32_t i = 0; i < id->peer_count; i++) {
        if (id->peers[i].node_id != f->config.peers[i].node_id || strcmp(id->peers[i].address, f->config.peers[i].address) != 0) {
            return false;
        }
    }
    return true;
}

static void prepare(struct form *f, const void *connection, const struct store_identity *id, struct form_answer *a)
{
    if (f->owner != NULL && f->owner != connection) {
        refuse(a, MUSTER_E_BUSY, "another form is under way");
    } else if (id->node_id != f->config.node_id) {
        refuse(a, MUSTER_E_INVALID, "this is node %u, not node %u", f->config.node_id, id->node_id);
    } else if (!peers_agree(f, id)) {
        refuse(a, MUSTER_E_INVALID, "its configuration lists other nodes in muster.peers");
    } else if (id->shard_count != f->config.shard_count || id->hash_version != f->config.hash_version) {
        refuse(a, MUSTER_E_INVALID, "its configuration has muster.shards=%u, not %u", f->config.shard_count, id->shard_count);
    } else {
        int rc = save_prepared(f, id);
        if (rc != 0) {
            refuse(a, rc, "its data folder cannot be written: %s", muster_strerror(rc));
            return;
        }
        f->identity = *id;
        f->state = FORM_PREPARED;
        f->owner = connection;
    }
}

static void commit(struct form *f, const void *connection, struct uuid cluster_id, struct form_answer *a)
{
    if (f->owner != NULL && f->owner != connection) {
        refuse(a, MUSTER_E_BUSY, "another form is under way");
    } else if (f->state != FORM_PREPARED || !uuid_eq(f->identity.cluster_id, cluster_id)) {
        refuse(a, MUSTER_E_REFUSED, "it was not prepared for this cluster");
    } else {
        int rc = store_identity_write(f->port, &f->identity);
        if (rc != 0) {
            refuse(a, rc, "its identity cannot be written: %s", muster_strerror(rc));
            return;
        }
        f->port->remove(f->port->ctx, PREPARED_NAME); /* of no meaning beside an identity; left over it harms nobody */
        f->state = FORM_FORMED;
    }
}

/* Into a cluster that is there. Whether it is the same as its configuration lists does not matter: that may be older than the cluster's last change. */
static void join(struct form *f, const struct form_request *q, struct form_answer *a)
{
    const struct store_identity *id = &q->identity;
    if (f->state != FORM_EMPTY) {
        refuse(a, MUSTER_E_REFUSED, "it was prepared by a forming that did not end: remove %s from its data folder", PREPARED_NAME);
    } else if (id->node_id != f->config.node_id) {
        refuse(a, MUSTER_E_INVALID, "this is node %u, not node %u", f->config.node_id, id->node_id);
    } else if (id->shard_count != f->config.shard_count || id->hash_version != f->config.hash_version) {
        refuse(a, MUSTER_E_INVALID, "its configuration has muster.shards=%u, not %u", f->config.shard_count, id->shard_count);
    } else if (q->feature_level > f->config.feature_level) {
        refuse(a, MUSTER_E_INVALID, "it knows feature levels up to %u, and the cluster is at %u: a newer musterd is needed there",
               f->config.feature_level, q->feature_level);
    } else {
        int rc = store_identity_write(f->port, id);
        if (rc != 0) {
            refuse(a, rc, "its identity cannot be written: %s", muster_strerror(rc));
            return;
        }
        f->identity = *id;
        f->state = FORM_FORMED;
    }
}

void form_handle(struct form *f, const void *connection, const struct form_request *q, struct form_answer *a)
{
    *a = (struct form_answer){.node_id = f->config.node_id, .shard_count = f->config.shard_count, .peer_count = f->config.peer_count};
    if (f->state == FORM_FORMED) {
        form_handle_formed(&f->identity, q, a);
        return;
    }
    if (q->op == FORM_PREPARE) {
        prepare(f, connection, &q->identity, a);
    } else if (q->op == FORM_COMMIT) {
        commit(f, connection, q->cluster_id, a);
    } else if (q->op == FORM_JOIN) {
        join(f, q, a);
    }
    a->state = f->state;
    if (f->state != FORM_EMPTY) {
        a->cluster_id = f->identity.cluster_id;
    }
}

void form_gone(struct form *f, const void *connection)
{
    if (f->owner == connection) {
        f->owner = NULL;
    }
}

void form_handle_formed(const struct store_identity *self, const struct form_request *q, struct form_answer *a)
{
    *a = (struct form_answer){.state = FORM_FORMED,
                              .node_id = self->node_id,
                              .shard_count = self->shard_count,
                              .peer_count = self->peer_count,
                              .cluster_id = self->cluster_id};
    bool joined = q->op == FORM_JOIN && uuid_eq(q->identity.cluster_id, self->cluster_id) && q->identity.node_id == self->node_id &&
                  uuid_eq(q->identity.incarnation, self->incarnation);
    bool done_already = q->op == FORM_QUERY || joined || (q->op == FORM_COMMIT && uuid_eq(q->cluster_id, self->cluster_id));
    if (!done_already) {
        refuse(a, MUSTER_E_EXISTS, "it belongs to a cluster already, or its data folder was not emptied");
    }
}
