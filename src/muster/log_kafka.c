/* log_kafka.c: entries in the form that `kafka-dump-log --offsets-decoder` of Kafka 4.4.0 prints. An entry stands where a batch stands there, its index where the offset
 * stands, the place of a record in its entry where the sequence stands. What a log of ours does not have is said as Kafka says "none". Records of our own types come
 * with their type numbers, and fields that only muster's records have are left out. */
#include "log.h"
#include "out.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OUR_TAGS = 10000 }; /* from here on tags are ours */

static json_t *fields_json(const struct wire_type *type, int16_t version, const void *value);

static json_t *plain_json(uint8_t kind, const struct wire_type *type, int16_t version, const void *at)
{
    char id[23];
    switch (kind) {
    case WIRE_BOOL:
        return json_boolean(*(const bool *)at);
    case WIRE_INT8:
        return json_integer(*(const int8_t *)at);
    case WIRE_INT16:
        return json_integer(*(const int16_t *)at);
    case WIRE_UINT16:
        return json_integer(*(const uint16_t *)at);
    case WIRE_INT32:
        return json_integer(*(const int32_t *)at);
    case WIRE_UINT32:
        return json_integer(*(const uint32_t *)at);
    case WIRE_INT64:
        return json_integer(*(const int64_t *)at);
    case WIRE_FLOAT64:
        return json_real(*(const double *)at);
    case WIRE_UUID:
        uuid_text(*(const struct uuid *)at, id);
        return out_json_text(str_of(id));
    case WIRE_STRING:
        return out_json_text(*(const struct str *)at);
    case WIRE_BYTES:
        return out_json_base64(*(const struct bytes *)at);
    default:
        MUSTER_CHECK(kind == WIRE_STRUCT);
        return fields_json(type, version, at);
    }
}

static json_t *array_json(const struct wire_field *field, int16_t version, const struct bytes_array *array)
{
    if (array->len < 0) {
        return json_null();
    }
    json_t *all = json_array();
    size_t stride = log_value_size(field->element, field->type);
    for (int32_t i = 0; i < array->len; i++) {
        const void *at = (const uint8_t *)(const void *)array->v + (size_t)i * stride;
        out_json_add(all, plain_json(field->element, field->type, version, at));
    }
    return all;
}

/* A tagged field that is not there is not printed. */
static bool is_absent(const struct wire_field *field, const void *at)
{
    switch (field->kind) {
    case WIRE_STRUCT:
        return field->nullable_from >= 0 && *(const void *const *)at == NULL;
    case WIRE_UUID:
        return uuid_is_zero(*(const struct uuid *)at);
    case WIRE_STRING:
        return ((const struct str *)at)->len <= 0;
    case WIRE_BYTES:
        return ((const struct bytes *)at)->len <= 0;
    case WIRE_ARRAY:
        return ((const struct bytes_array *)at)->len <= 0;
    case WIRE_INT32:
        return *(const int32_t *)at == (field->has_default ? (int32_t)field->default_number : 0);
    case WIRE_INT64:
        return *(const int64_t *)at == (field->has_default ? field->default_number : 0);
    default:
        return false;
    }
}

static json_t *fields_json(const struct wire_type *type, int16_t version, const void *value)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *f = &type->fields[i];
        const void *at = (const uint8_t *)value + f->offset;
        bool carried = version >= f->min_version && version <= f->max_version;
        bool tagged = f->tag >= 0 && version >= f->tag_from;
        char name[64];
        if (!carried || (tagged && (f->tag >= OUR_TAGS || is_absent(f, at)))) {
            continue;
        }
        snprintf(name, sizeof(name), "%s", f->name);
        name[0] = (char)tolower((unsigned char)name[0]); /* Kafka's converters write the first letter small */
        if (f->kind == WIRE_ARRAY) {
            out_json_set(object, name, array_json(f, version, at));
        } else if (f->kind == WIRE_STRUCT && f->nullable_from >= 0) {
            const void *pointed = *(const void *const *)at;
            out_json_set(object, name, pointed == NULL ? json_null() : fields_json(f->type, version, pointed));
        } else {
            out_json_set(object, name, plain_json(f->kind, f->type, version, at));
        }
    }
    return object;
}

/* {"type":"1","data":{...}} of a key, {"version":"4","data":{...}} of a value. */
static void print_side(FILE *to, const char *what, int16_t number, json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);
    MUSTER_CHECK(text != NULL);
    fprintf(to, "{\"%s\":\"%d\",\"data\":%s}", what, number, text);
    free(text);
    json_decref(data);
}

static void print_record(struct log_printer *p, const struct log_item *item, const struct log_entry *entry, int32_t i)
{
    FILE *to = p->cli->out;
    struct record record = {entry->records.v[i].key, entry->records.v[i].value};
    struct wire_decoded_record d;
    fprintf(to, "| offset: %" PRIu64 " CreateTime: %" PRId64 " keySize: %d valueSize: %d sequence: %d headerKeys: [] key: ", item->index,
            entry->wall_ms, record.key.len, record.value.len, i);
    if (wire_record_decode(record, &p->scratch, &d) < 0) {
        print_side(to, "type", record.key.len >= 2 ? (int16_t)get_be16(record.key.ptr) : -1, out_json_base64(record.key));
        fprintf(to, " payload: %s\n", record.value.len < 0 ? "<DELETE>" : "<UNREADABLE>");
        return;
    }
    print_side(to, "type", d.schema->type, fields_json(d.schema->key->type, 0, d.key));
    fputs(" payload: ", to);
    if (d.value == NULL) {
        fputs("<DELETE>", to);
    } else {
        print_side(to, "version", d.value_version, fields_json(d.schema->value->type, d.value_version, d.value));
    }
    fputc('\n', to);
}

static void print_batch(struct log_printer *p, const struct log_item *item, const struct log_entry *entry)
{
    if (p->kafka_shard != (int64_t)item->shard) {
        fprintf(p->cli->out, "Dumping shard-%" PRIu32 "\nLog starting offset: %" PRIu64 "\n", item->shard, item->index);
        p->kafka_shard = item->shard;
    }
    fprintf(p->cli->out,
            "baseOffset: %" PRIu64 " lastOffset: %" PRIu64 " count: %d baseSequence: 0 lastSequence: %d producerId: -1 producerEpoch: -1 "
            "partitionLeaderEpoch: %" PRIu64 " isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
            "CreateTime: %" PRId64 " size: %d magic: 2 compresscodec: none crc: 0 isvalid: true\n",
            item->index, item->index, entry->records.len, entry->records.len - 1, item->term, entry->wall_ms, item->payload.len);
}

void log_kafka_print(struct log_printer *p, const struct log_item *item, const struct log_entry *entry,
                     bool (*takes)(struct log_printer *p, const struct log_entry *entry, int32_t record))
{
    bool begun = false;
    for (int32_t i = 0; i < entry->records.len; i++) {
        if (!takes(p, entry, i)) {
            continue;
        }
        if (!begun) {
            log_printer_begin(p);
            print_batch(p, item, entry);
            begun = true;
        }
        print_record(p, item, entry, i);
        p->printed++;
    }
}
