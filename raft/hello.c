#include "hello.h"
#include "codec.h"

static const char *const verdict_texts[][2] = {
#define X(name, of_dialer, of_answerer) {of_dialer, of_answerer},
    HELLO_VERDICTS(X)
#undef X
};

const char *hello_text(enum hello_verdict verdict, bool dialer)
{
    return verdict_texts[verdict][dialer ? 1 : 0];
}

static const struct store_peer *peer_of(const struct store_identity *self, uint32_t node)
{
    for (uint32_t i = 0; i < self->peer_count; i++) {
        if (self->peers[i].node_id == node) {
            return &self->peers[i];
        }
    }
    return NULL;
}

static int read_beginning(struct reader *r, enum hello_class *ret_class)
{
    uint32_t magic = reader_u32(r);
    uint16_t version = reader_u16(r);
    uint8_t class = reader_u8(r);
    if (r->bad || magic != HELLO_MAGIC) {
        return MUSTER_E_MALFORMED;
    }
    if (version != HELLO_VERSION) {
        return MUSTER_E_VERSION;
    }
    if (class > HELLO_FORM) {
        return MUSTER_E_MALFORMED;
    }
    *ret_class = (enum hello_class) class;
    return 0;
}

int hello_class_of(struct bytes frame, enum hello_class *ret_class)
{
    struct reader r = {frame.ptr, frame.len > 0 ? (size_t)frame.len : 0, false};
    return read_beginning(&r, ret_class);
}

int hello_encode(struct buf *out, const struct hello *h)
{
    struct writer w = {out, false};
    writer_u32(&w, HELLO_MAGIC);
    writer_u16(&w, HELLO_VERSION);
    writer_u8(&w, (uint8_t)h->class);
    writer_uuid(&w, h->cluster_id);
    writer_u32(&w, h->from);
    writer_uuid(&w, h->incarnation);
    writer_u32(&w, h->to);
    writer_u32(&w, h->shard_count);
    writer_u32(&w, h->hash_version);
    return w.bad ? MUSTER_E_LIMIT : 0;
}

int hello_decode(struct bytes frame, struct hello *ret)
{
    struct reader r = {frame.ptr, frame.len > 0 ? (size_t)frame.len : 0, false};
    struct hello h;
    int rc = read_beginning(&r, &h.class);
    if (rc != 0) {
        return rc;
    }
    h.cluster_id = reader_uuid(&r);
    h.from = reader_u32(&r);
    h.incarnation = reader_uuid(&r);
    h.to = reader_u32(&r);
    h.shard_count = reader_u32(&r);
    h.hash_version = reader_u32(&r);
    if (r.bad || r.left != 0 || h.class == HELLO_FORM) {
        return MUSTER_E_MALFORMED;
    }
    *ret = h;
    return 0;
}

enum hello_verdict hello_judge(const struct store_identity *self, const struct hello *h)
{
    if (!uuid_eq(h->cluster_id, self->cluster_id)) {
        return HELLO_VERDICT_CLUSTER;
    }
    const struct store_peer *p = peer_of(self, h->from);
    if (p == NULL || h->from == self->node_id) {
        return HELLO_VERDICT_NODE;
    }
    if (!uuid_eq(p->incarnation, h->incarnation)) {
        return HELLO_VERDICT_INCARNATION;
    }
    if (h->to != self->node_id) {
        return HELLO_VERDICT_MISDIRECTED;
    }
    if (h->shard_count != self->shard_count || h->hash_version != self->hash_version) {
        return HELLO_VERDICT_SHARDS;
    }
    return HELLO_VERDICT_OK;
}

int hello_answer_encode(struct buf *out, const struct hello_answer *a)
{
    struct writer w = {out, false};
    writer_u32(&w, HELLO_MAGIC);
    writer_u16(&w, HELLO_VERSION);
    writer_u8(&w, (uint8_t)a->verdict);
    writer_u32(&w, a->node);
    writer_uuid(&w, a->incarnation);
    return w.bad ? MUSTER_E_LIMIT : 0;
}

int hello_answer_decode(struct bytes frame, struct hello_answer *ret)
{
    struct reader r = {frame.ptr, frame.len > 0 ? (size_t)frame.len : 0, false};
    uint32_t magic = reader_u32(&r);
    uint16_t version = reader_u16(&r);
    uint8_t verdict = reader_u8(&r);
    struct hello_answer a = {.verdict = (enum hello_verdict)verdict};
    a.node = reader_u32(&r);
    a.incarnation = reader_uuid(&r);
    if (r.bad || r.left != 0 || magic != HELLO_MAGIC || verdict >= COUNT_OF(verdict_texts)) {
        return MUSTER_E_MALFORMED;
    }
    if (version != HELLO_VERSION) {
        return MUSTER_E_VERSION;
    }
    *ret = a;
    return 0;
}

enum hello_verdict hello_judge_answer(const struct store_identity *self, const struct hello *sent, const struct hello_answer *a)
{
    const struct store_peer *p = peer_of(self, sent->to);
    if (a->verdict != HELLO_VERDICT_OK) {
        return a->verdict;
    }
    if (a->node != sent->to) {
        return HELLO_VERDICT_MISDIRECTED;
    }
    return p != NULL && uuid_eq(p->incarnation, a->incarnation) ? HELLO_VERDICT_OK : HELLO_VERDICT_STRANGER;
}
