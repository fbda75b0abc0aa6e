/* wire.h: messages of the Kafka protocol and records of the log, described by tables that gen.py makes from src/wire/schema/.
 *
 * The generated header <muster/messages.h> has for every message a plain struct and a `const struct wire_msg`:
 *
 *     request JoinGroup  ->  struct join_group_request   wire_join_group_request
 *     response JoinGroup ->  struct join_group_response  wire_join_group_response
 *     record OffsetCommit -> struct offset_commit_key / offset_commit_value, wire_offset_commit_key / wire_offset_commit_value
 *     struct JoinGroupResponseMember or Member in JoinGroupResponse -> struct join_group_response_member: the message's name, then the
 *         structure's own, without the message's or the API's name if it begins with one of them (FetchTopic -> fetch_request_topic)
 *     message LogEntry   ->  struct log_entry, wire_log_entry
 *     numbers            ->  enum api_key { API_KEY_JOIN_GROUP = 11, ... }, enum record_type { RECORD_OFFSET_COMMIT = 1, ... }
 *
 * Field names are the schema's in snake_case (GroupInstanceId -> group_instance_id). Kinds:
 *     bool int8_t int16_t uint16_t int32_t uint32_t int64_t double; string -> struct str; bytes and records -> struct bytes; uuid -> struct uuid;
 *     []int32 -> struct int32_array { int32_t *v; int32_t len; } (so str_array, uuid_array, int16_array, ...);
 *     []Member -> struct { struct join_group_response_member *v; int32_t len; } under the name struct join_group_response_member_array;
 *     a nullable struct -> pointer, NULL is null; a nullable array has len -1 for null.
 *
 * Decoded views point into the input; arrays lie in the arena. */
#ifndef MUSTER_WIRE_H
#define MUSTER_WIRE_H

#include <muster/base.h>

enum wire_kind {
    WIRE_BOOL, WIRE_INT8, WIRE_INT16, WIRE_UINT16, WIRE_INT32, WIRE_UINT32, WIRE_INT64, WIRE_FLOAT64,
    WIRE_UUID, WIRE_STRING, WIRE_BYTES, WIRE_STRUCT, WIRE_ARRAY
};

/* Arrays of plain values in the generated structs. All arrays have this layout; len -1 is null. */
struct int8_array  { int8_t *v; int32_t len; };
struct int16_array { int16_t *v; int32_t len; };
struct int32_array { int32_t *v; int32_t len; };
struct int64_array { int64_t *v; int32_t len; };
struct str_array   { struct str *v; int32_t len; };
struct bytes_array { struct bytes *v; int32_t len; };
struct uuid_array  { struct uuid *v; int32_t len; };

struct wire_type;

struct wire_field {
    const char *name;                    /* as in the schema: "GroupInstanceId" */
    uint32_t offset;                     /* in the C struct */
    uint8_t kind;                        /* enum wire_kind; an array has WIRE_ARRAY and its element kind in `element` */
    uint8_t element;
    int16_t min_version, max_version;    /* versions that carry the field; INT16_MAX: no end */
    int16_t nullable_from;               /* first version that may be null; -1: never */
    int16_t nullable_to;
    int16_t tag;                         /* tag number; -1: an ordinary field */
    int16_t tag_from;                    /* first version in which it is tagged */
    bool default_null;
    bool has_default;                    /* default_number is not the kind's zero value */
    int64_t default_number;              /* bool and integers */
    const char *default_text;            /* strings; NULL: "" */
    const struct wire_type *type;        /* of WIRE_STRUCT, and of arrays of structs */
};

struct wire_type {
    const char *name;
    uint32_t size;                       /* sizeof the C struct */
    uint32_t field_count;
    const struct wire_field *fields;
    const void *start;                   /* the C struct with every field at its default; NULL: all bytes are zero */
};

struct wire_msg {
    const char *name;                    /* "JoinGroupRequest", "OffsetCommitKey" */
    int16_t number;                      /* API key, or record type */
    int16_t min_version, max_version;
    int16_t flexible_from;               /* INT16_MAX: never */
    const struct wire_type *type;
};

/* A row for each API whose schema the project has, whether served or only spoken by the CLI. */
struct wire_api { int16_t key; const char *name; const struct wire_msg *request, *response; };
extern const struct wire_api wire_apis[];
extern const size_t wire_api_count;
const struct wire_api *wire_api_find(int16_t key);       /* NULL when there is none */

struct wire_record { int16_t type; const char *name; const struct wire_msg *key, *value; };
extern const struct wire_record wire_records[];
extern const size_t wire_record_count;
const struct wire_record *wire_record_find(int16_t type);

/* Fills *value (msg->type->size bytes) with the defaults of the schema. Every message that is going to be encoded starts here. */
void wire_init(const struct wire_msg *msg, void *value);
void wire_init_type(const struct wire_type *type, void *value);

/* Decodes one message body. Fields the version does not carry get their defaults. Bytes after the body are left alone: *ret_used says
 * how many were read (may be NULL). Unknown tagged fields are skipped. Counts are checked against the bytes left before memory is taken.
 * 0, TRUNCATED, MALFORMED (negative lengths where null is not allowed, varints too long), VERSION, LIMIT (the arena's limit). */
int wire_decode(const struct wire_msg *msg, int16_t version, struct bytes in, struct arena *arena, void *ret, size_t *ret_used);

/* Bytes the body takes in that version. The version is within the message's range (checked). A string longer than the protocol's
 * 32767 bytes is cut there, between two characters: what was decoded is never longer, so that only a composed text can be. */
size_t wire_size(const struct wire_msg *msg, int16_t version, const void *value);
/* Writes exactly wire_size() bytes. Fields the version does not carry are left out without a word. A null where the version
 * does not allow one panics. Returns the bytes written. */
size_t wire_write(const struct wire_msg *msg, int16_t version, const void *value, uint8_t *dst);
/* The same into `room` bytes: what does not fit there is left out. Returns what all of it takes. */
size_t wire_write_within(const struct wire_msg *msg, int16_t version, const void *value, uint8_t *dst, size_t room);
/* size + write into the arena. */
struct bytes wire_encode(const struct wire_msg *msg, int16_t version, const void *value, struct arena *arena);

/* Copies into the arena whatever strings and bytes of the value point to, at any depth; the arrays themselves stay where they are. */
void wire_own(const struct wire_type *type, void *value, struct arena *arena);
/* The value and all that it points to as one block: how many bytes that takes, and the copy in so many, aligned for any type; the copy stands at its start. */
size_t wire_copy_size(const struct wire_type *type, const void *value);
void *wire_copy(const struct wire_type *type, const void *value, void *block);

/* One line of JSON of a decoded message, without newline: field names of the schema, uuids in Kafka's text form, bytes as base64 (a
 * classic subscription or assignment is opaque here). Appends to out; 0 or LIMIT. The form is stable: golden tests and the CLI print it. */
int wire_dump(const struct wire_msg *msg, int16_t version, const void *value, struct buf *out);
int wire_dump_str(struct str text, struct buf *out);     /* one JSON string; bytes that are not UTF-8 become \u00XX */

/* ---- headers of requests and answers (protocol: header v1 and v2, answer header v0 and v1) ---------------------------- */

struct wire_request_header { int16_t api_key, api_version; int32_t correlation_id; struct str client_id; };
/* Reads the header of a frame (without its length word). Needs the API table to know whether tagged fields follow; with an unknown key or
 * version it reads the fixed part (key, version, correlation id) and, where it can, the client id, and returns VERSION with *ret filled. */
int wire_read_request_header(struct bytes frame, struct wire_request_header *ret, size_t *ret_used);
/* Length word + header + body of an answer, appended to out. ApiVersions answers always carry header v0. 0 or LIMIT. */
int wire_frame_response(const struct wire_api *api, int16_t version, int32_t correlation_id, const void *response, struct buf *out);
/* The same for a request (CLI, tests, forwarding). */
int wire_frame_request(const struct wire_api *api, int16_t version, int32_t correlation_id, struct str client_id, const void *request, struct buf *out);
/* Reads the header of an answer's frame (without its length word); the body begins at *ret_used. */
int wire_read_response_header(const struct wire_api *api, int16_t version, struct bytes frame, int32_t *ret_correlation_id, size_t *ret_used);

/* ---- records: int16 type + key fields; int16 version + value fields ------------------------------------------------------ */

struct record { struct bytes key; struct bytes value; };  /* value null: a tombstone */
/* Encodes into the arena. value NULL makes a tombstone. Keys are written in version 0, values in the given version. */
struct record wire_record_encode(int16_t type, const void *key, int16_t value_version, const void *value, struct arena *arena);
/* Only the value's bytes, into `room` bytes: what does not fit there is left out. Returns what all of it takes. */
size_t wire_record_write_value(int16_t type, int16_t version, const void *value, uint8_t *dst, size_t room);
struct wire_decoded_record {
    const struct wire_record *schema;
    int16_t value_version;
    void *key;                            /* the struct of schema->key */
    void *value;                          /* of schema->value; NULL: tombstone */
};
/* NOT_FOUND for an unknown type (callers that read foreign logs skip those), MALFORMED for bytes left over, else as wire_decode. */
int wire_record_decode(struct record record, struct arena *arena, struct wire_decoded_record *ret);
/* The value alone, which is no tombstone, of a record whose key is known already: into a struct of schema->value. As above. */
int wire_record_decode_value(const struct wire_record *schema, struct bytes value, struct arena *arena, int16_t *ret_version, void *ret);
/* {"type":"OffsetCommit","key":{...},"value":{...}} ; value null for a tombstone. An unknown type has its number there, and base64. */
int wire_record_dump(struct record record, struct arena *scratch, struct buf *out);

#endif
