#include "codec.h"

#include <string.h>

/* ---- reading ---------------------------------------------------------------------------------------------------- */

const uint8_t *reader_take(struct reader *r, size_t size)
{
    static const uint8_t zeros[16];
    if (r->bad || r->left < size) {
        r->bad = true;
        return zeros;
    }
    const uint8_t *p = r->at;
    r->at += size;
    r->left -= size;
    return p;
}

uint8_t reader_u8(struct reader *r)
{
    return *reader_take(r, 1);
}

uint16_t reader_u16(struct reader *r)
{
    return get_le16(reader_take(r, 2));
}

uint32_t reader_u32(struct reader *r)
{
    return get_le32(reader_take(r, 4));
}

uint64_t reader_u64(struct reader *r)
{
    return get_le64(reader_take(r, 8));
}

bool reader_bool(struct reader *r)
{
    uint8_t v = reader_u8(r);
    if (v > 1) {
        r->bad = true;
    }
    return v == 1;
}

struct uuid reader_uuid(struct reader *r)
{
    struct uuid id;
    memcpy(id.b, reader_take(r, sizeof id.b), sizeof id.b);
    return id;
}

struct bytes reader_bytes(struct reader *r)
{
    uint32_t len = reader_u32(r);
    if (r->bad || len > r->left || len > INT32_MAX) {
        r->bad = true;
        return (struct bytes){NULL, 0};
    }
    return (struct bytes){reader_take(r, len), (int32_t)len};
}

/* ---- writing: out grows as needed, bad remembers that a limit was hit -------------------------------------------- */

static uint8_t *writer_add(struct writer *w, size_t size)
{
    static uint8_t waste[16];
    uint8_t *p = w->bad ? NULL : buf_add(w->out, size);
    if (p == NULL) {
        w->bad = true;
        return waste;
    }
    return p;
}

void writer_u8(struct writer *w, uint8_t v)
{
    *writer_add(w, 1) = v;
}

void writer_u16(struct writer *w, uint16_t v)
{
    put_le16(writer_add(w, 2), v);
}

void writer_u32(struct writer *w, uint32_t v)
{
    put_le32(writer_add(w, 4), v);
}

void writer_u64(struct writer *w, uint64_t v)
{
    put_le64(writer_add(w, 8), v);
}

void writer_uuid(struct writer *w, struct uuid id)
{
    memcpy(writer_add(w, sizeof id.b), id.b, sizeof id.b);
}

void writer_bytes(struct writer *w, struct bytes b)
{
    size_t len = b.len > 0 ? (size_t)b.len : 0;
    writer_u32(w, (uint32_t)len);
    if (len > 0 && !w->bad && buf_put(w->out, b.ptr, len) != 0) {
        w->bad = true;
    }
}
