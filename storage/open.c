/* open.c: opening a store: lock, read, settle what a crash left, hand over. Nothing on disk changes before the reading has found all well. */
#include "recover.h"
#include "file.h"
#include "identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t first_salt_seed = 0x6d75737465720001u; /* any constant: segment 1 of a folder without identity */

struct store *store_new(const struct store_port *port, const struct store_options *options)
{
    struct store *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->port = *port;
    s->options = *options;
    s->file = -1;
    s->next_file = -1;
    s->sequence = 1;
    buf_init(&s->head, 0);
    buf_init(&s->out, 0);
    s->shards = calloc(options->shard_count, sizeof(*s->shards));
    s->released = calloc(options->shard_count, sizeof(*s->released));
    s->probes = calloc(options->shard_count, sizeof(*s->probes));
    s->probe_marks = calloc(options->shard_count, sizeof(*s->probe_marks));
    s->history.floor = calloc(options->shard_count, sizeof(*s->history.floor));
    if (s->shards == NULL || s->history.floor == NULL || s->released == NULL || s->probes == NULL || s->probe_marks == NULL) {
        store_delete(s);
        return NULL;
    }
    return s;
}

void store_delete(struct store *s)
{
    if (s->file >= 0) {
        s->port.close(s->port.ctx, s->file);
    }
    if (s->next_file >= 0) {
        s->port.close(s->port.ctx, s->next_file);
    }
    for (size_t i = 0; i < s->segment_count; i++) {
        free(s->segments[i].last_entries);
    }
    for (uint32_t shard = 0; s->shards != NULL && shard < s->options.shard_count; shard++) {
        shard_log_fini(&s->shards[shard]);
    }
    free(s->history.v);
    free(s->history.floor);
    free(s->segments);
    free(s->shards);
    free(s->released);
    free(s->probes);
    free(s->probe_marks);
    buf_fini(&s->head);
    buf_fini(&s->out);
    free(s);
}

static void warn(const struct store *s, const char *text)
{
    if (s->options.warn != NULL) {
        s->options.warn(s->options.warn_ctx, text);
    }
}

/* ---- a folder without a log ----------------------------------------------------------------------------------------------- */

/* The identity remembers that a log was begun: a folder whose log was deleted must not start as if it were new. */
static int begin_log(struct recover *r, const struct store_identity *identity, bool log_begun)
{
    struct store *s = r->store;
    if (log_begun || r->snapshots_seen) {
        char name[STORE_NAME_BYTES];
        store_segment_name(1, name);
        return store_recover_corrupt(r->report, name, 0, "the folder was in use and its log is missing, with the node's votes");
    }
    s->salt = identity != NULL ? hash_bytes(identity->incarnation.b, 16, first_salt_seed) : first_salt_seed;
    buf_clear(&s->out);
    return store_segment_switch(s, 0, false);
}

/* ---- settling what a crash left ------------------------------------------------------------------------------------------- */

static int remove_leftovers(struct store *s)
{
    struct name_list names;
    int rc = store_name_list_load(&names, &s->port);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        uint32_t shard = 0;
        uint64_t index = 0;
        bool gone = store_name_is_leftover(names.names[i]);
        if (store_snapshot_name_parse(names.names[i], &shard, &index)) {
            /* one the log does not know: written, but the log never came to rely on it; older ones may be history */
            gone = shard >= s->options.shard_count || index > s->shards[shard].at.snapshot_index;
        }
        if (gone) {
            rc = store_file_remove(&s->port, names.names[i]);
        }
    }
    store_name_list_free(&names);
    return rc;
}

/* The torn bytes go before anything is written: the next batch may be shorter than they are. */
static int open_newest(struct recover *r)
{
    struct store *s = r->store;
    char name[STORE_NAME_BYTES];
    store_segment_name(r->last.number, name);
    int rc = s->port.open(s->port.ctx, name, false, true, &s->file);
    if (rc >= 0 && r->dirty_bytes > 0) {
        rc = store_file_zero(&s->port, s->file, r->used_bytes, r->dirty_bytes);
        if (rc >= 0) {
            rc = s->port.sync(s->port.ctx, s->file);
        }
    }
    s->offset = r->used_bytes;
    s->in_reserve = r->last.reserve;
    return rc;
}

/* A reserve counts when it has its size and has never been written to. */
static int check_reserve(struct store *s)
{
    int file = -1;
    int rc = s->port.open(s->port.ctx, STORE_RESERVE_NAME, false, false, &file);
    if (rc == MUSTER_E_NOT_FOUND) {
        return MUSTER_E_OK;
    }
    if (rc < 0) {
        return rc;
    }
    rc = store_file_is_zero(&s->port, file, s->options.reserve_bytes, &s->reserve_ready);
    s->port.close(s->port.ctx, file);
    s->reserve_ready = s->reserve_ready && s->options.reserve_bytes > 0;
    return rc >= 0 && !s->reserve_ready ? store_file_remove(&s->port, STORE_RESERVE_NAME) : rc;
}

static int settle_reserve(struct store *s)
{
    int rc = check_reserve(s);
    if (rc >= 0) {
        rc = store_reserve_make(s);
    }
    if (rc == MUSTER_E_FULL) {
        warn(s, "no space for the reserve file: a full disk would keep this node from voting");
        return MUSTER_E_OK;
    }
    return rc;
}

static int settle(struct recover *r)
{
    struct store *s = r->store;
    struct store_identity identity;
    bool begun = false;
    int known = store_identity_load(&s->port, &identity, &begun);
    if (known < 0 && known != MUSTER_E_NOT_FOUND) {
        return known == MUSTER_E_CORRUPT ? store_recover_corrupt(r->report, STORE_IDENTITY_NAME, 0, "the identity file is damaged") : known;
    }
    int rc = r->number_count > 0 ? MUSTER_E_OK : begin_log(r, known >= 0 ? &identity : NULL, begun);
    if (rc >= 0) {
        rc = remove_leftovers(s);
    }
    if (rc >= 0) {
        rc = store_history_open(s);
    }
    if (rc >= 0 && r->number_count > 0) {
        rc = open_newest(r);
    }
    if (rc >= 0 && known >= 0 && !begun) {
        rc = store_identity_save(&s->port, &identity, true);
    }
    return rc < 0 ? rc : settle_reserve(s);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------ */

static void hand_over_shards(struct recover *r, const struct store_recovery *recovery)
{
    struct store *s = r->store;
    for (uint32_t shard = 0; shard < s->options.shard_count; shard++) {
        const struct store_checkpoint *at = &s->shards[shard].at;
        struct store_shard_state state = {
            .term = at->term,
            .vote = at->vote,
            .snapshot_index = at->snapshot_index,
            .snapshot_term = at->snapshot_term,
            .first_index = at->trim + 1,
            .last_index = at->last_index,
        };
        recovery->shard(recovery->ctx, shard, &state);
    }
}

static int fail_with_text(struct store_report *report, int rc)
{
    if (report->text[0] == '\0') {
        const char *why = rc == MUSTER_E_IO && errno != 0 ? strerror(errno) : muster_strerror(rc);
        (void)snprintf(report->text, sizeof(report->text), "the data folder cannot be used: %s", why);
    }
    return rc;
}

static int open_with(struct recover *r, const struct store_recovery *recovery)
{
    struct store *s = r->store;
    int rc = store_recover_read(r);
    if (rc < 0) {
        return fail_with_text(r->report, rc);
    }
    for (uint32_t shard = 0; shard < s->options.shard_count; shard++) {
        s->shards[shard] = r->shards[shard].log; /* moves the runs */
        r->shards[shard].log.runs = NULL;
        s->released[shard] = s->shards[shard].at.trim;
    }
    errno = 0;
    rc = settle(r);
    if (rc < 0) {
        return rc == MUSTER_E_CORRUPT ? rc : fail_with_text(r->report, rc);
    }
    hand_over_shards(r, recovery);
    rc = store_recover_replay(r, recovery);
    if (rc >= 0) {
        rc = store_trim_segments(s);
    }
    if (rc < 0) {
        return fail_with_text(r->report, rc);
    }
    (void)snprintf(r->report->text, sizeof(r->report->text), "%s", r->torn_text);
    return MUSTER_E_OK;
}

static bool options_fit(const struct store_options *o)
{
    return o->shard_count > 0 && o->shard_count <= UINT16_MAX && o->segment_bytes >= 4096 && o->segment_bytes <= ((uint64_t)1 << 30) &&
           o->reserve_bytes <= ((uint64_t)1 << 30) && o->entry_max_bytes > 0 && o->entry_max_bytes <= ((uint64_t)1 << 28);
}

int store_open(struct store **ret, const struct store_port *port, const struct store_options *options,
               const struct store_recovery *recovery, struct store_report *report)
{
    memset(report, 0, sizeof(*report));
    if (!options_fit(options)) {
        return fail_with_text(report, MUSTER_E_INVALID);
    }
    errno = 0;
    int rc = port->lock(port->ctx);
    if (rc == MUSTER_E_BUSY) {
        (void)snprintf(report->text, sizeof(report->text), "another process uses the data folder");
        return rc;
    }
    if (rc < 0) {
        return fail_with_text(report, rc);
    }
    struct store *s = store_new(port, options);
    if (s == NULL) {
        return fail_with_text(report, MUSTER_E_LIMIT);
    }
    struct recover r;
    rc = store_recover_init(&r, s, report);
    if (rc >= 0) {
        rc = open_with(&r, recovery);
    }
    store_recover_fini(&r);
    if (rc < 0) {
        store_delete(s);
        return rc;
    }
    *ret = s;
    return MUSTER_E_OK;
}
