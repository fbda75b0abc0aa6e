/* internal.h: what the files of wire share. */
#ifndef MUSTER_WIRE_INTERNAL_H
#define MUSTER_WIRE_INTERNAL_H

#include <muster/wire.h>

/* Into the walk over a structure's fields: the compiler would make calls of them, and a record of the log took 90 ns instead of 70 to be read. */
#define INLINE static inline __attribute__((always_inline))

/* Every generated array has this layout. */
struct any_array {
    void *v;
    int32_t len;
};

/* ---- reading ---- */

struct reader {
    const uint8_t *at, *end;
};

static inline size_t reader_left(const struct reader *in)
{
    return (size_t)(in->end - in->at);
}
int read_int16(struct reader *in, int16_t *ret);
int read_int32(struct reader *in, int32_t *ret);
int read_long_uvarint(struct reader *in, uint32_t *ret);
/* At most five bytes and 32 bits, else MALFORMED. Nearly all have one. */
static inline int read_uvarint(struct reader *in, uint32_t *ret)
{
    if (in->at != in->end && *in->at < 0x80) {
        *ret = *in->at++;
        return MUSTER_E_OK;
    }
    return read_long_uvarint(in, ret);
}
/* A string with an int16 length in front; null is allowed. */
int read_classic_string(struct reader *in, struct str *ret);
/* Steps over the tagged fields of a structure of which none is known. */
int read_past_tags(struct reader *in);

/* ---- tables ---- */

static inline bool field_is_carried(const struct wire_field *field, int16_t version)
{
    return version >= field->min_version && version <= field->max_version;
}

/* Of a carried field: it stands in the tagged section. */
static inline bool field_is_tagged(const struct wire_field *field, int16_t version)
{
    return field->tag >= 0 && version >= field->tag_from;
}

static inline bool field_is_nullable(const struct wire_field *field, int16_t version)
{
    return version >= field->nullable_from && version <= field->nullable_to;
}

/* The value is the field's default, and so is not written when tagged. */
bool field_is_default(const struct wire_field *field, const void *value);
/* sizeof the C value of a kind that is not WIRE_STRUCT, WIRE_ARRAY; of an array's element with its type. */
size_t kind_size(uint8_t kind, const struct wire_type *type);

#endif
