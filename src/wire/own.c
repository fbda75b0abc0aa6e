/* own.c: a message that stands on its own: what its strings and bytes point to is copied into the arena. */
#include "internal.h"

static void own_value(uint8_t kind, const struct wire_type *type, void *value, struct arena *arena)
{
    switch (kind) {
    case WIRE_STRING: {
        struct str *s = value;
        *s = arena_str(arena, *s);
        break;
    }
    case WIRE_BYTES: {
        struct bytes *b = value;
        *b = arena_bytes(arena, *b);
        break;
    }
    case WIRE_STRUCT:
        wire_own(type, value, arena);
        break;
    default:
        break;
    }
}

static void own_array(const struct wire_field *field, struct any_array *array, struct arena *arena)
{
    bool plain = field->element != WIRE_STRING && field->element != WIRE_BYTES && field->element != WIRE_STRUCT;
    if (plain || array->len <= 0) {
        return;
    }
    size_t size = kind_size(field->element, field->type);
    for (int32_t i = 0; i < array->len; i++) {
        own_value(field->element, field->type, (uint8_t *)array->v + (size_t)i * size, arena);
    }
}

void wire_own(const struct wire_type *type, void *value, struct arena *arena)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        void *at = (uint8_t *)value + field->offset;
        if (field->kind == WIRE_ARRAY) {
            own_array(field, at, arena);
        } else if (field->kind == WIRE_STRUCT && field->nullable_from >= 0) {
            void *there = *(void **)at;
            if (there != NULL) {
                wire_own(field->type, there, arena);
            }
        } else {
            own_value(field->kind, field->type, at, arena);
        }
    }
}
