#include "random_value.h"

#include "internal.h"

#include <string.h>

struct maker {
    struct prng *random;
    struct arena *arena;
    int16_t version;
};

static void fill_struct(struct maker *m, const struct wire_type *type, void *dst);

/* Small, large and extreme numbers alike. */
static uint64_t random_bits(struct maker *m)
{
    static const uint64_t extremes[] = {0,    1,    UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 0x7fffffff, 0x80000000,
                                        0x7f, 0x80, 0x7fff,     0x8000};
    switch (prng_below(m->random, 3)) {
    case 0:
        return extremes[prng_below(m->random, COUNT_OF(extremes))];
    case 1:
        return prng_below(m->random, 1000);
    default:
        return prng_next(m->random);
    }
}

static struct bytes random_bytes(struct maker *m, size_t limit)
{
    size_t len = (size_t)prng_below(m->random, prng_chance(m->random, 50000) ? limit : 12);
    uint8_t *ptr = arena_get(m->arena, len);
    for (size_t i = 0; i < len; i++) {
        ptr[i] = (uint8_t)prng_next(m->random);
    }
    return (struct bytes){ptr, (int32_t)len};
}

static void fill_plain(struct maker *m, uint8_t kind, const struct wire_type *type, bool nullable, void *dst)
{
    uint64_t bits = random_bits(m);
    bool null = nullable && prng_chance(m->random, 250000);
    switch (kind) {
    case WIRE_BOOL:
        *(bool *)dst = bits & 1;
        break;
    case WIRE_STRING: {
        struct bytes text = random_bytes(m, 400);
        *(struct str *)dst = null ? STR_NULL : (struct str){(const char *)text.ptr, text.len};
        break;
    }
    case WIRE_BYTES:
        *(struct bytes *)dst = null ? BYTES_NULL : random_bytes(m, 40000);
        break;
    case WIRE_UUID:
        memcpy(dst, (uint64_t[]){bits, prng_next(m->random)}, sizeof(struct uuid));
        break;
    case WIRE_STRUCT:
        fill_struct(m, type, dst);
        break;
    default:
        memcpy(dst, &bits, kind_size(kind, type));
        break;
    }
}

static void fill_array(struct maker *m, const struct wire_field *field, struct any_array *dst)
{
    if (field_is_nullable(field, m->version) && prng_chance(m->random, 250000)) {
        *dst = (struct any_array){NULL, -1};
        return;
    }
    dst->len = (int32_t)prng_below(m->random, 4);
    if (field->element != WIRE_STRUCT && prng_chance(m->random, 20000)) {
        dst->len = 200;
    }
    size_t stride = kind_size(field->element, field->type);
    uint8_t *element = dst->len > 0 ? arena_array(m->arena, (size_t)dst->len, stride) : NULL;
    dst->v = element;
    for (int32_t i = 0; i < dst->len; i++, element += stride) {
        fill_plain(m, field->element, field->type, false, element);
    }
}

static void fill_field(struct maker *m, const struct wire_field *field, void *dst)
{
    bool nullable = field_is_nullable(field, m->version);
    if (field->kind == WIRE_ARRAY) {
        fill_array(m, field, dst);
    } else if (field->kind == WIRE_STRUCT && field->nullable_from >= 0) {
        void *value = nullable && prng_chance(m->random, 250000) ? NULL : arena_get(m->arena, field->type->size);
        if (value != NULL) {
            fill_struct(m, field->type, value);
        }
        *(void **)dst = value;
    } else {
        fill_plain(m, field->kind, field->type, nullable, dst);
    }
}

static void fill_struct(struct maker *m, const struct wire_type *type, void *dst)
{
    wire_init_type(type, dst);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        bool skip = field_is_tagged(field, m->version) && prng_chance(m->random, 300000);
        if (field_is_carried(field, m->version) && !skip) {
            fill_field(m, field, (uint8_t *)dst + field->offset);
        }
    }
}

void *random_value(const struct wire_msg *msg, int16_t version, struct prng *random, struct arena *arena)
{
    struct maker m = {.random = random, .arena = arena, .version = version};
    void *value = arena_get(arena, msg->type->size);
    fill_struct(&m, msg->type, value);
    return value;
}
