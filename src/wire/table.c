/* table.c: looking things up in the generated tables, and the defaults they give. */
#include "internal.h"

#include <string.h>

void wire_init_type(const struct wire_type *type, void *value)
{
    if (type->start != NULL) {
        memcpy(value, type->start, type->size);
    } else {
        memset(value, 0, type->size);
    }
}

void wire_init(const struct wire_msg *msg, void *value)
{
    wire_init_type(msg->type, value);
}

size_t kind_size(uint8_t kind, const struct wire_type *type)
{
    static const size_t sizes[] = {
        [WIRE_BOOL] = sizeof(bool),         [WIRE_INT8] = sizeof(int8_t),        [WIRE_INT16] = sizeof(int16_t),
        [WIRE_UINT16] = sizeof(uint16_t),   [WIRE_INT32] = sizeof(int32_t),      [WIRE_UINT32] = sizeof(uint32_t),
        [WIRE_INT64] = sizeof(int64_t),     [WIRE_FLOAT64] = sizeof(double),     [WIRE_UUID] = sizeof(struct uuid),
        [WIRE_STRING] = sizeof(struct str), [WIRE_BYTES] = sizeof(struct bytes),
    };
    if (kind == WIRE_STRUCT) {
        return type->size;
    }
    MUSTER_CHECK(kind < COUNT_OF(sizes));
    return sizes[kind];
}

static bool type_is_default(const struct wire_type *type, const void *value)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        if (!field_is_default(field, (const uint8_t *)value + field->offset)) {
            return false;
        }
    }
    return true;
}

static int64_t integer_value(uint8_t kind, const void *value)
{
    switch (kind) {
    case WIRE_BOOL:
        return *(const bool *)value;
    case WIRE_INT8:
        return *(const int8_t *)value;
    case WIRE_INT16:
        return *(const int16_t *)value;
    case WIRE_UINT16:
        return *(const uint16_t *)value;
    case WIRE_INT32:
        return *(const int32_t *)value;
    case WIRE_UINT32:
        return *(const uint32_t *)value;
    default:
        return *(const int64_t *)value;
    }
}

bool field_is_default(const struct wire_field *field, const void *value)
{
    uint64_t bits;
    switch (field->kind) {
    case WIRE_STRING:
        return str_eq(*(const struct str *)value,
                      field->default_null ? STR_NULL : str_of(field->default_text != NULL ? field->default_text : ""));
    case WIRE_BYTES:
        return ((const struct bytes *)value)->len == (field->default_null ? -1 : 0);
    case WIRE_ARRAY:
        return ((const struct any_array *)value)->len == (field->default_null ? -1 : 0);
    case WIRE_STRUCT:
        return field->nullable_from < 0 ? type_is_default(field->type, value) : *(const void *const *)value == NULL;
    case WIRE_UUID:
        return uuid_is_zero(*(const struct uuid *)value);
    case WIRE_FLOAT64:
        memcpy(&bits, value, sizeof(bits));
        return bits == 0;
    default:
        return integer_value(field->kind, value) == (field->has_default ? field->default_number : 0);
    }
}

const struct wire_api *wire_api_find(int16_t key)
{
    size_t low = 0, high = wire_api_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (wire_apis[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < wire_api_count && wire_apis[low].key == key ? &wire_apis[low] : NULL;
}

const struct wire_record *wire_record_find(int16_t type)
{
    size_t low = 0, high = wire_record_count;
    if (type >= 0 && (size_t)type < high && wire_records[type].type == type) { /* Kafka's are counted from 0 */
        return &wire_records[type];
    }
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (wire_records[middle].type < type) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < wire_record_count && wire_records[low].type == type ? &wire_records[low] : NULL;
}
