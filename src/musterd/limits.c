/* limits.c: every limit of the configuration as a metric, and beside it how much of it is used and how often it was the reason of a refusal, under the key's own
 * name. So one rule watches all: muster_limit_used / muster_limit > 0.9. */
#include "limits.h"

#include <string.h>

enum { NOWHERE = -1 };

struct row {
    const char *key;
    ptrdiff_t used, refused; /* of a uint64_t in struct limits_view; NOWHERE: there is no such number */
};

#define AT(field) ((ptrdiff_t)offsetof(struct limits_view, field))

/* Limits of one thing (a request, a connection, a group) show as used the largest one there is, where that is known. */
static const struct row rows[] = {
    {"max.connections", AT(net.connections), AT(net.refused)},
    {"socket.request.max.bytes", NOWHERE, AT(net.garbage_closed)},
    {"queued.max.request.bytes", AT(net.queued_bytes), AT(net.pauses)},
    {"muster.connection.max.inflight", AT(net.most_in_flight), NOWHERE},
    {"muster.connection.max.output.bytes", AT(net.most_output_bytes), NOWHERE},
    {"muster.queued.max.response.bytes", AT(net.unread_bytes), AT(net.unread_closed)},
    {"muster.request.max.groups", NOWHERE, AT(api.too_many_groups)},
    {"muster.request.max.topics", NOWHERE, AT(api.too_many_topics)},
    {"muster.response.max.bytes", NOWHERE, AT(api.answers_too_large)},
    {"muster.max.requests", AT(coord.parked), NOWHERE},
    {"muster.turn.max.ms", AT(lag_ms), AT(net.deferred)},
    {"muster.max.unapplied.bytes", AT(core.unapplied_bytes), AT(core.appends_shortened)},
    {"muster.peer.max.queued.bytes", AT(peer_queued_bytes), AT(peer_dropped)},
    {"muster.max.groups", AT(groups), NOWHERE},
    {"muster.max.members", AT(members), NOWHERE},
    {"muster.max.state.bytes", AT(state_bytes), NOWHERE},
    {"muster.group.history.max.bytes", AT(history_bytes), NOWHERE},
    {"muster.max.topics", AT(topics), NOWHERE},
    {"muster.entry.max.bytes", NOWHERE, AT(coord.too_large)},
    {"muster.jobs.max", AT(coord.jobs_running), NOWHERE},
    {"muster.group.heartbeat.hold.max", AT(coord.beats_held), AT(coord.beats_refused)},
    {"muster.log.retain.bytes", AT(core.replay_bytes), NOWHERE},
    {"muster.log.tail.bytes", AT(core.log_bytes), NOWHERE},
    {"muster.log.reads.max", AT(api.folder_reads_now), AT(api.folder_reads_refused)},
    {"muster.history.retention.bytes", AT(store.history_bytes), AT(store.history_given_up)},
};

/* A key is a limit's when one of its words is "max", and when a row above says so. */
static bool is_limit(const struct config_row *key)
{
    const char *word = key->name;
    do {
        word += *word == '.';
        if (strncmp(word, "max", 3) == 0 && (word[3] == '.' || word[3] == '\0')) {
            return true;
        }
        word = strchr(word, '.');
    } while (word != NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].key, key->name) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_number(const struct config *c, const struct config_row *key, int64_t *ret)
{
    const char *at = (const char *)c + key->offset;
    switch (key->kind) {
    case CONFIG_INT16:
        *ret = *(const int16_t *)(const void *)at;
        return true;
    case CONFIG_INT32:
        *ret = *(const int32_t *)(const void *)at;
        return true;
    case CONFIG_INT64:
        *ret = *(const int64_t *)(const void *)at;
        return true;
    default:
        return false;
    }
}

void limits_put(const struct config *c, struct buf *out)
{
    ops_metric(out, "muster_limit", OPS_GAUGE, "The limit that this key of the configuration sets, in the key's unit; +Inf: none.");
    for (size_t i = 0; i < config_key_count; i++) {
        int64_t limit;
        if (!is_limit(&config_keys[i]) || !read_number(c, &config_keys[i], &limit)) {
            continue;
        }
        if (limit < 0) {
            ops_value_none(out, "muster_limit", "key", str_of(config_keys[i].name));
        } else {
            ops_value(out, "muster_limit", "key", str_of(config_keys[i].name), (uint64_t)limit);
        }
    }
}

static void put_column(struct buf *out, const char *name, const struct limits_view *view, ptrdiff_t (*column)(const struct row *row))
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ptrdiff_t at = column(&rows[i]);
        if (at != NOWHERE) {
            ops_value(out, name, "key", str_of(rows[i].key), *(const uint64_t *)(const void *)((const char *)view + at));
        }
    }
}

static ptrdiff_t used_column(const struct row *row)
{
    return row->used;
}

static ptrdiff_t refused_column(const struct row *row)
{
    return row->refused;
}

void limits_put_use(const struct limits_view *view, struct buf *out)
{
    ops_metric(out, "muster_limit_used", OPS_GAUGE,
               "How much of the limit is used; of a limit of one connection or peer: by the one that uses most.");
    put_column(out, "muster_limit_used", view, used_column);
    ops_metric(out, "muster_limit_hits_total", OPS_COUNTER, "How often something was refused, closed or not read because of the limit.");
    put_column(out, "muster_limit_hits_total", view, refused_column);
}
