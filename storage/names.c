/* names.c: file names to numbers and back. */
#include "names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void store_segment_name(uint64_t number, char dst[STORE_NAME_BYTES])
{
    (void)snprintf(dst, STORE_NAME_BYTES, "log-%016" PRIx64 ".seg", number);
}

void store_snapshot_name(uint32_t shard, uint64_t index, char dst[STORE_NAME_BYTES])
{
    (void)snprintf(dst, STORE_NAME_BYTES, "snap-%" PRIu32 "-%" PRIu64 ".snap", shard, index);
}

void store_snapshot_tmp_name(uint32_t shard, uint64_t index, char dst[STORE_NAME_BYTES])
{
    (void)snprintf(dst, STORE_NAME_BYTES, "snap-%" PRIu32 "-%" PRIu64 ".snap.tmp", shard, index);
}

void store_snapshot_recv_name(uint32_t shard, uint64_t index, uint64_t term, char dst[STORE_NAME_BYTES])
{
    (void)snprintf(dst, STORE_NAME_BYTES, "snap-%" PRIu32 "-%" PRIu64 "-%" PRIu64 ".recv.tmp", shard, index, term);
}

/* Only the one spelling that we write ourselves counts: the caller prints the parsed numbers again and compares. */
static bool take_number(const char **at, uint64_t max, uint64_t *ret)
{
    if (**at < '0' || **at > '9') {
        return false;
    }
    char *end = NULL;
    uint64_t v = strtoull(*at, &end, 10);
    if (v > max) {
        return false;
    }
    *at = end;
    *ret = v;
    return true;
}

static bool take_text(const char **at, const char *text)
{
    size_t len = strlen(text);
    if (strncmp(*at, text, len) != 0) {
        return false;
    }
    *at += len;
    return true;
}

bool store_segment_name_parse(const char *name, uint64_t *ret_number)
{
    char again[STORE_NAME_BYTES];
    const char *at = name;
    if (!take_text(&at, "log-")) {
        return false;
    }
    uint64_t number = strtoull(at, NULL, 16);
    store_segment_name(number, again);
    if (strcmp(again, name) != 0) {
        return false;
    }
    *ret_number = number;
    return true;
}

void store_past_name(uint64_t number, int64_t since_ms, char dst[STORE_NAME_BYTES])
{
    (void)snprintf(dst, STORE_NAME_BYTES, "past-%016" PRIx64 "-%" PRId64 ".seg", number, since_ms);
}

bool store_past_name_parse(const char *name, uint64_t *ret_number, int64_t *ret_since_ms)
{
    char again[STORE_NAME_BYTES];
    char *end = NULL;
    const char *at = name;
    uint64_t since = 0;
    if (!take_text(&at, "past-")) {
        return false;
    }
    uint64_t number = strtoull(at, &end, 16);
    at = end;
    if (!take_text(&at, "-") || !take_number(&at, INT64_MAX, &since)) {
        return false;
    }
    store_past_name(number, (int64_t)since, again);
    if (strcmp(again, name) != 0) {
        return false;
    }
    *ret_number = number;
    *ret_since_ms = (int64_t)since;
    return true;
}

bool store_snapshot_name_parse(const char *name, uint32_t *ret_shard, uint64_t *ret_index)
{
    char again[STORE_NAME_BYTES];
    uint64_t shard = 0;
    uint64_t index = 0;
    const char *at = name;
    if (!take_text(&at, "snap-") || !take_number(&at, UINT32_MAX, &shard) || !take_text(&at, "-") ||
        !take_number(&at, UINT64_MAX, &index)) {
        return false;
    }
    store_snapshot_name((uint32_t)shard, index, again);
    if (strcmp(again, name) != 0) {
        return false;
    }
    *ret_shard = (uint32_t)shard;
    *ret_index = index;
    return true;
}

bool store_snapshot_recv_name_parse(const char *name, uint32_t *ret_shard, uint64_t *ret_index, uint64_t *ret_term)
{
    char again[STORE_NAME_BYTES];
    uint64_t shard = 0;
    uint64_t index = 0;
    uint64_t term = 0;
    const char *at = name;
    if (!take_text(&at, "snap-") || !take_number(&at, UINT32_MAX, &shard) || !take_text(&at, "-") ||
        !take_number(&at, UINT64_MAX, &index) || !take_text(&at, "-") || !take_number(&at, UINT64_MAX, &term)) {
        return false;
    }
    store_snapshot_recv_name((uint32_t)shard, index, term, again);
    if (strcmp(again, name) != 0) {
        return false;
    }
    *ret_shard = (uint32_t)shard;
    *ret_index = index;
    *ret_term = term;
    return true;
}

bool store_name_is_leftover(const char *name)
{
    if (strcmp(name, STORE_NEXT_NAME) == 0 || strcmp(name, STORE_RESERVE_TMP_NAME) == 0 || strcmp(name, STORE_IDENTITY_TMP_NAME) == 0) {
        return true;
    }
    size_t len = strlen(name);
    return strncmp(name, "snap-", 5) == 0 && len > 4 && strcmp(name + len - 4, ".tmp") == 0;
}

static void name_list_add(void *arg, const char *name)
{
    struct name_list *l = arg;
    if (strlen(name) >= STORE_NAME_BYTES) {
        return; /* none of ours */
    }
    if (l->count == l->cap) {
        size_t cap = l->cap == 0 ? 32 : l->cap * 2;
        void *names = realloc(l->names, cap * sizeof(*l->names));
        if (names == NULL) {
            l->failed = true;
            return;
        }
        l->names = names;
        l->cap = cap;
    }
    memcpy(l->names[l->count++], name, strlen(name) + 1);
}

int store_name_list_load(struct name_list *l, const struct store_port *port)
{
    *l = (struct name_list){0};
    int rc = port->list(port->ctx, name_list_add, l);
    if (rc >= 0 && l->failed) {
        rc = MUSTER_E_LIMIT;
    }
    if (rc < 0) {
        store_name_list_free(l);
        return rc;
    }
    return MUSTER_E_OK;
}

void store_name_list_free(struct name_list *l)
{
    free(l->names);
    *l = (struct name_list){0};
}
