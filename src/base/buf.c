/* buf.c: bytes that grow, and numbers in both byte orders. */
#include <muster/base.h>

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum { BUF_FIRST_BYTES = 256 };

void buf_init(struct buf *b, size_t limit_bytes)
{
    *b = (struct buf){.limit = limit_bytes};
}

void buf_fini(struct buf *b)
{
    free(b->ptr);
    *b = (struct buf){.limit = b->limit};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

static bool buf_grow(struct buf *b, size_t need)
{
    size_t cap = b->cap > 0 ? b->cap : BUF_FIRST_BYTES;
    while (cap < need) {
        cap *= 2;
    }
    uint8_t *ptr = realloc(b->ptr, cap);
    if (ptr == NULL) {
        return false;
    }
    b->ptr = ptr;
    b->cap = cap;
    return true;
}

void *buf_add(struct buf *b, size_t size)
{
    if (size > SIZE_MAX / 4 - b->len) {
        return NULL;
    }
    size_t need = b->len + size;
    if (b->limit != 0 && need > b->limit) {
        return NULL;
    }
    if ((need > b->cap || b->ptr == NULL) && !buf_grow(b, need)) {
        return NULL;
    }
    void *at = b->ptr + b->len;
    b->len = need;
    return at;
}

int buf_put(struct buf *b, const void *data, size_t size)
{
    void *at = buf_add(b, size);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    if (size > 0) {
        memcpy(at, data, size);
    }
    return MUSTER_E_OK;
}

void buf_drop_front(struct buf *b, size_t size)
{
    MUSTER_CHECK(size <= b->len);
    b->len -= size;
    if (b->len > 0 && size > 0) {
        memmove(b->ptr, b->ptr + size, b->len);
    }
}

void put_be16(uint8_t *p, uint16_t v)
{
    v = htobe16(v);
    memcpy(p, &v, sizeof(v));
}

void put_be32(uint8_t *p, uint32_t v)
{
    v = htobe32(v);
    memcpy(p, &v, sizeof(v));
}

void put_be64(uint8_t *p, uint64_t v)
{
    v = htobe64(v);
    memcpy(p, &v, sizeof(v));
}

uint16_t get_be16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return be16toh(v);
}

uint32_t get_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return be32toh(v);
}

uint64_t get_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return be64toh(v);
}

void put_le16(uint8_t *p, uint16_t v)
{
    v = htole16(v);
    memcpy(p, &v, sizeof(v));
}

void put_le32(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof(v));
}

void put_le64(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
}

uint16_t get_le16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return le16toh(v);
}

uint32_t get_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

uint64_t get_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}
