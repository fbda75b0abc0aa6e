/* read.c: the smallest pieces of the protocol, read from a bounded view. */
#include "internal.h"

int read_int16(struct reader *in, int16_t *ret)
{
    if (reader_left(in) < sizeof(*ret)) {
        return MUSTER_E_TRUNCATED;
    }
    *ret = (int16_t)get_be16(in->at);
    in->at += sizeof(*ret);
    return MUSTER_E_OK;
}

int read_int32(struct reader *in, int32_t *ret)
{
    if (reader_left(in) < sizeof(*ret)) {
        return MUSTER_E_TRUNCATED;
    }
    *ret = (int32_t)get_be32(in->at);
    in->at += sizeof(*ret);
    return MUSTER_E_OK;
}

int read_long_uvarint(struct reader *in, uint32_t *ret)
{
    uint32_t value = 0;
    for (unsigned shift = 0; shift <= 28; shift += 7) {
        if (in->at == in->end) {
            return MUSTER_E_TRUNCATED;
        }
        uint8_t byte = *in->at++;
        if (shift == 28 && byte > 0x0f) {
            return MUSTER_E_MALFORMED;
        }
        value |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    *ret = value;
    return MUSTER_E_OK;
}

int read_classic_string(struct reader *in, struct str *ret)
{
    int16_t len;
    int rc = read_int16(in, &len);
    if (rc < 0) {
        return rc;
    }
    if (len < -1) {
        return MUSTER_E_MALFORMED;
    }
    if (len == -1) {
        *ret = STR_NULL;
        return MUSTER_E_OK;
    }
    if ((size_t)len > reader_left(in)) {
        return MUSTER_E_TRUNCATED;
    }
    *ret = (struct str){(const char *)in->at, len};
    in->at += len;
    return MUSTER_E_OK;
}

int read_past_tags(struct reader *in)
{
    uint32_t count, tag, size;
    int rc = read_uvarint(in, &count);
    for (; rc == 0 && count > 0; count--) {
        rc = read_uvarint(in, &tag);
        if (rc == 0) {
            rc = read_uvarint(in, &size);
        }
        if (rc == 0 && size > reader_left(in)) {
            return MUSTER_E_TRUNCATED;
        }
        if (rc == 0) {
            in->at += size;
        }
    }
    return rc;
}
