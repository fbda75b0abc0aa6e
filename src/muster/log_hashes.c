/* log_hashes.c: the hashes of the state that are written in the log (StateHash), compared. */
#include "log_hashes.h"

#include <muster/messages.h>

#include <stdlib.h>
#include <string.h>

void log_hashes_forget(struct log_hashes *h)
{
    free(h->v);
    h->v = NULL;
}

void log_hashes_agreed(struct log_hashes *h, uint64_t index)
{
    h->agreed = index > h->agreed ? index : h->agreed;
}

static void note(struct log_hashes *h, uint64_t index, uint64_t hash)
{
    if (h->v == NULL) {
        h->v = calloc(LOG_HASHES_KEPT, sizeof(*h->v));
        MUSTER_CHECK(h->v != NULL);
    }
    h->v[index % LOG_HASHES_KEPT] = (struct log_hash){index, hash};
}

/* Whether the bytes can hold one: hardly any entry does, and reading them all twice would cost as much as applying them. */
static bool may_carry(uint32_t shard, struct bytes payload)
{
    uint8_t key[6];
    put_be16(key, (uint16_t)RECORD_STATE_HASH);
    put_be32(key + 2, shard);
    if (payload.len <= 0) {
        return false;
    }
    const uint8_t *at = payload.ptr, *end = at + payload.len;
    while (at != end && (at = memchr(at, key[0], (size_t)(end - at))) != NULL) { /* which looks at many bytes at once; memmem() does not */
        if ((size_t)(end - at) >= sizeof(key) && memcmp(at, key, sizeof(key)) == 0) {
            return true;
        }
        at++;
    }
    return false;
}

/* 1: the state was as the record says; 0: it was not; -1: nobody knows any more. */
static int compare(struct log_hashes *h, const struct log_hash *told)
{
    h->seen++;
    const struct log_hash *known = h->v != NULL ? &h->v[told->index % LOG_HASHES_KEPT] : NULL;
    if (known == NULL || told->index == 0 || known->index != told->index) {
        return -1;
    }
    h->compared++;
    return known->hash == told->hash;
}

static bool compare_carried(struct log_hashes *h, uint32_t shard, struct bytes payload, struct arena *scratch, struct log_hash *ret_told)
{
    struct log_entry entry;
    if (wire_decode(&wire_log_entry, 0, payload, scratch, &entry, NULL) < 0) {
        return true;
    }
    for (int32_t i = 0; i < entry.records.len; i++) {
        struct wire_decoded_record decoded;
        const struct record record = {entry.records.v[i].key, entry.records.v[i].value};
        if (!may_carry(shard, record.key) || wire_record_decode(record, scratch, &decoded) < 0 || decoded.value == NULL ||
            decoded.schema->type != RECORD_STATE_HASH) {
            continue;
        }
        const struct state_hash_value *value = decoded.value;
        const struct log_hash told = {(uint64_t)value->index, (uint64_t)value->hash};
        int same = compare(h, &told);
        if (same == 1) {
            log_hashes_agreed(h, told.index);
        } else if (same == 0 && !h->differed) {
            h->differed = true;
            *ret_told = told;
            return false;
        }
    }
    return true;
}

bool log_hashes_applied(struct log_hashes *h, uint32_t shard, uint64_t index, struct bytes payload, uint64_t hash, struct arena *scratch,
                        struct log_hash *ret_told)
{
    bool good = !may_carry(shard, payload) || compare_carried(h, shard, payload, scratch, ret_told);
    note(h, index, hash);
    return good;
}
