/* copy.c: a message and all that it points to, in one block; or a message that stands on its own. One walk serves to count, to copy and to own, so that
 * these cannot disagree. */
#include "internal.h"

#include <string.h>

struct copier {
    struct arena *arena; /* only strings and bytes are copied, into it; NULL: all is, into the block */
    uint8_t *block;      /* NULL: only count */
    size_t used;
};

enum { ALIGNMENT = 8 };

/* The place of a copy of those bytes; NULL when only counting. */
static void *put(struct copier *c, const void *data, size_t size, size_t alignment)
{
    c->used = (c->used + alignment - 1) / alignment * alignment;
    void *place = c->block == NULL ? NULL : c->block + c->used;
    if (place != NULL && size > 0) {
        memcpy(place, data, size);
    }
    c->used += size;
    return place;
}

static const char *put_text(struct copier *c, const struct str *s)
{
    return c->arena != NULL ? arena_str(c->arena, *s).ptr : put(c, s->ptr, (size_t)s->len, 1);
}

static void *put_values(struct copier *c, const void *values, size_t size)
{
    return c->arena != NULL ? (void *)(uintptr_t)values : put(c, values, size, ALIGNMENT);
}

static void copy_fields(struct copier *c, const struct wire_type *type, const void *from, void *to);

/* What a value points to; `to` holds the value itself already, and is NULL when only counting. */
static void copy_value(struct copier *c, uint8_t kind, const struct wire_type *type, const void *from, void *to)
{
    if (kind == WIRE_STRING || kind == WIRE_BYTES) { /* both have the layout of struct str */
        const struct str *s = from;
        const char *place = s->len > 0 ? put_text(c, s) : "";
        if (to != NULL && s->len >= 0) {
            ((struct str *)to)->ptr = place;
        }
    } else if (kind == WIRE_STRUCT) {
        copy_fields(c, type, from, to);
    }
}

static void copy_array(struct copier *c, const struct wire_field *field, const struct any_array *from, struct any_array *to)
{
    size_t size = kind_size(field->element, field->type);
    size_t count = from->len > 0 ? (size_t)from->len : 0;
    uint8_t *place = count == 0 ? NULL : put_values(c, from->v, count * size);
    bool points = field->element == WIRE_STRING || field->element == WIRE_BYTES || field->element == WIRE_STRUCT;
    if (to != NULL) {
        to->v = place;
    }
    for (size_t i = 0; points && i < count; i++) {
        copy_value(c, field->element, field->type, (const uint8_t *)from->v + i * size, place == NULL ? NULL : place + i * size);
    }
}

static void copy_fields(struct copier *c, const struct wire_type *type, const void *from, void *to)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        const void *at = (const uint8_t *)from + field->offset;
        void *copy = to == NULL ? NULL : (uint8_t *)to + field->offset;
        if (field->kind == WIRE_ARRAY) {
            copy_array(c, field, at, copy);
        } else if (field->kind == WIRE_STRUCT && field->nullable_from >= 0) {
            const void *there = *(const void *const *)at;
            void *place = there == NULL ? NULL : put_values(c, there, field->type->size);
            if (copy != NULL) {
                *(void **)copy = place;
            }
            if (there != NULL) {
                copy_fields(c, field->type, there, place);
            }
        } else {
            copy_value(c, field->kind, field->type, at, copy);
        }
    }
}

size_t wire_copy_size(const struct wire_type *type, const void *value)
{
    struct copier c = {0};
    (void)put(&c, value, type->size, ALIGNMENT);
    copy_fields(&c, type, value, NULL);
    return c.used;
}

void *wire_copy(const struct wire_type *type, const void *value, void *block)
{
    MUSTER_CHECK(block != NULL);
    struct copier c = {.block = block};
    void *copy = put(&c, value, type->size, ALIGNMENT);
    copy_fields(&c, type, value, copy);
    return copy;
}

void wire_own(const struct wire_type *type, void *value, struct arena *arena)
{
    struct copier c = {.arena = arena};
    copy_fields(&c, type, value, value);
}
