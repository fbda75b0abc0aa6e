/* Addresses, and what no key can say alone. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config_internal.h"

/* Host names, IPv4 and IPv6 addresses (the latter with an optional zone). Whether it resolves is seen when it is used. */
static bool is_host(struct str host)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%";
    for (int32_t i = 0; i < host.len; i++) {
        if (memchr(allowed, host.ptr[i], sizeof(allowed) - 1) == NULL) {
            return false;
        }
    }
    return true;
}

/* An unsigned number of at most nine digits, without sign or blanks; -1 when it is not one. */
static int64_t plain_number(struct str text)
{
    int64_t value = 0;
    if (text.len < 1 || text.len > 9) {
        return -1;
    }
    for (int32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') {
            return -1;
        }
        value = value * 10 + (text.ptr[i] - '0');
    }
    return value;
}

/* The index of the last such character, or -1. */
static int32_t last_index(struct str text, char c)
{
    int32_t i = text.len - 1;
    while (i >= 0 && text.ptr[i] != c) {
        i--;
    }
    return i;
}

bool config_parse_endpoint(struct str text, struct config_endpoint *ret)
{
    int32_t colon = last_index(text, ':');
    if (colon < 0) {
        return false;
    }
    struct str host = {text.ptr, colon};
    int64_t port = plain_number((struct str){text.ptr + colon + 1, text.len - colon - 1});
    bool bracketed = host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    if (bracketed) {
        host = (struct str){host.ptr + 1, host.len - 2};
    }
    bool has_colon = last_index(host, ':') >= 0;
    if (port < 1 || port > 65535 || has_colon != bracketed || !is_host(host) || (size_t)host.len >= sizeof(ret->host)) {
        return false;
    }
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->host, host.ptr, (size_t)host.len);
    ret->port = (uint16_t)port;
    return true;
}

/* ---- listeners -------------------------------------------------------------------------------------------------------------- */

struct listener_reader {
    const char *key;
    struct buf *errors; /* NULL: the text is known to be good */
    struct config_endpoint at;
    int count;
    int rc;
};

static void read_listener(void *ctx, struct str entry)
{
    static const char scheme[] = "PLAINTEXT://";
    const int32_t scheme_len = (int32_t)sizeof(scheme) - 1;
    struct listener_reader *reader = ctx;
    bool plain = entry.len > scheme_len && memcmp(entry.ptr, scheme, sizeof(scheme) - 1) == 0;
    reader->count++;
    if (plain && config_parse_endpoint((struct str){entry.ptr + scheme_len, entry.len - scheme_len}, &reader->at)) {
        return;
    }
    reader->rc = MUSTER_E_INVALID;
    if (reader->errors != NULL) {
        config_complain(reader->errors, "%s: '%.*s' is not PLAINTEXT://HOST:PORT (other security protocols are not served yet)",
                        reader->key, STR_ARG(entry));
    }
}

static struct listener_reader read_listeners(const char *list, const char *key, struct buf *errors)
{
    struct listener_reader reader = {.key = key, .errors = errors};
    config_each_entry(list, read_listener, &reader);
    return reader;
}

struct config_endpoint config_listener(const struct config *c)
{
    return read_listeners(c->listeners, "listeners", NULL).at;
}

struct config_endpoint config_advertised(const struct config *c)
{
    struct listener_reader reader = read_listeners(c->advertised_listeners, "advertised.listeners", NULL);
    return reader.count > 0 ? reader.at : config_listener(c);
}

struct config_endpoint config_peer_listener(const struct config *c)
{
    struct config_endpoint at;
    MUSTER_CHECK(config_parse_endpoint(str_of(c->peer_listener), &at));
    return at;
}

/* Addresses that mean "all of this machine's" tell a client nothing. */
static bool is_reachable_name(const char *host)
{
    return host[0] != '\0' && strcmp(host, "0.0.0.0") != 0 && strcmp(host, "::") != 0;
}

static int check_listeners(const struct config *c, struct buf *errors)
{
    struct listener_reader bound = read_listeners(c->listeners, "listeners", errors);
    struct listener_reader told = read_listeners(c->advertised_listeners, "advertised.listeners", errors);
    int rc = bound.rc < 0 ? bound.rc : told.rc;
    if (bound.count != 1) {
        config_complain(errors, "listeners: exactly one is needed, not %d", bound.count);
        rc = MUSTER_E_INVALID;
    }
    if (told.count > 1) {
        config_complain(errors, "advertised.listeners: one is enough, not %d", told.count);
        rc = MUSTER_E_INVALID;
    }
    if (rc == 0 && told.count == 0 && !is_reachable_name(bound.at.host)) {
        config_complain(errors, "advertised.listeners: is needed, because listeners names no address that clients could be told");
        rc = MUSTER_E_INVALID;
    }
    if (rc == 0 && told.count == 1 && !is_reachable_name(told.at.host)) {
        config_complain(errors, "advertised.listeners: '%s' is no address that clients could connect to", c->advertised_listeners);
        rc = MUSTER_E_INVALID;
    }
    return rc;
}

/* ---- peers ---------------------------------------------------------------------------------------------------------------------- */

struct peer_reader {
    struct buf *errors; /* NULL: the text is known to be good */
    struct config_peer *peers;
    size_t count;
    int rc;
};

static void peer_error(struct peer_reader *reader, struct str entry, const char *why)
{
    reader->rc = MUSTER_E_INVALID;
    if (reader->errors != NULL) {
        config_complain(reader->errors, "muster.peers: '%.*s' %s", STR_ARG(entry), why);
    }
}

static bool same_endpoint(const struct config_endpoint *a, const struct config_endpoint *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}

static void read_peer(void *ctx, struct str entry)
{
    struct peer_reader *reader = ctx;
    const char *at_sign = memchr(entry.ptr, '@', (size_t)entry.len);
    int32_t id_len = at_sign != NULL ? (int32_t)(at_sign - entry.ptr) : 0;
    struct config_peer peer = {.id = (int32_t)plain_number((struct str){entry.ptr, id_len})};
    if (peer.id < 1 || !config_parse_endpoint((struct str){entry.ptr + id_len + 1, entry.len - id_len - 1}, &peer.at) ||
        peer.at.host[0] == '\0') {
        peer_error(reader, entry, "is not ID@HOST:PORT");
        return;
    }
    if (reader->count == CONFIG_MAX_PEERS) {
        peer_error(reader, entry, "is one more than a cluster can have");
        return;
    }
    size_t place = reader->count;
    for (size_t i = 0; i < reader->count; i++) {
        if (reader->peers[i].id == peer.id || same_endpoint(&reader->peers[i].at, &peer.at)) {
            peer_error(reader, entry, "has the id or the address of another one");
            return;
        }
    }
    while (place > 0 && reader->peers[place - 1].id > peer.id) {
        reader->peers[place] = reader->peers[place - 1];
        place--;
    }
    reader->peers[place] = peer;
    reader->count++;
}

size_t config_peers(const struct config *c, struct config_peer ret[CONFIG_MAX_PEERS])
{
    struct peer_reader reader = {.peers = ret};
    config_each_entry(c->peers, read_peer, &reader);
    return reader.count;
}

static int check_peers(const struct config *c, struct buf *errors)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    struct peer_reader reader = {.errors = errors, .peers = peers};
    config_each_entry(c->peers, read_peer, &reader);
    bool found = false;
    for (size_t i = 0; i < reader.count; i++) {
        found = found || peers[i].id == c->node_id;
    }
    if (reader.rc == 0 && reader.count > 0 && c->node_id > 0 && !found) {
        config_complain(errors, "muster.peers: node.id %" PRId32 " is not among them", c->node_id);
        reader.rc = MUSTER_E_INVALID;
    }
    return reader.rc;
}

/* ---- the rest ------------------------------------------------------------------------------------------------------------------ */

/* Of a key whose value is one address, or nothing. */
static int check_endpoint(const char *key, const char *text, struct buf *errors)
{
    struct config_endpoint at;
    if (text[0] == '\0' || config_parse_endpoint(str_of(text), &at)) {
        return 0;
    }
    config_complain(errors, "%s: '%s' is not HOST:PORT", key, text);
    return MUSTER_E_INVALID;
}

static int check_required(const struct config *c, struct buf *errors)
{
    int rc = 0;
    struct arena scratch;
    arena_init(&scratch, 0);
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_row *key = &config_keys[i];
        struct str text = config_text(c, key, &scratch);
        bool missing = str_is_empty(text) || (key->kind == CONFIG_INT32 && str_eq(text, STR("0")));
        if ((key->flags & CONFIG_REQUIRED) != 0 && missing) {
            config_complain(errors, "%s: is required", key->name);
            rc = MUSTER_E_INVALID;
        }
    }
    arena_fini(&scratch);
    return rc;
}

static int64_t number_of(const struct config *c, const char *key)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    int64_t number = strtoll(config_text(c, config_row_find(str_of(key)), &scratch).ptr, NULL, 10);
    arena_fini(&scratch);
    return number;
}

/* `low` must not be above `high`; both by name, so that the message cannot be wrong. */
static int check_order(const struct config *c, const char *low, int64_t factor, const char *high, struct buf *errors)
{
    int64_t least = number_of(c, low), most = number_of(c, high);
    if (least * factor <= most) {
        return 0;
    }
    if (factor == 1) {
        config_complain(errors, "%s: %" PRId64 " is more than %s, which is %" PRId64, low, least, high, most);
    } else {
        config_complain(errors, "%s: %" PRId64 ", taken %" PRId64 " times, is more than %s, which is %" PRId64, low, least, factor, high,
                        most);
    }
    return MUSTER_E_INVALID;
}

/* Nor may they be equal. */
static int check_less(const struct config *c, const char *low, const char *high, struct buf *errors)
{
    int64_t least = number_of(c, low), most = number_of(c, high);
    if (least < most) {
        return 0;
    }
    config_complain(errors, "%s: %" PRId64 " is not less than %s, which is %" PRId64, low, least, high, most);
    return MUSTER_E_INVALID;
}

/* A node's own values lie within the bounds it sets for groups, as with Kafka. */
static int check_bounds(const struct config *c, struct buf *errors)
{
    static const char *const orders[][2] = {
        {"group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"},
        {"group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
        {"group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"},
        {"group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
        {"group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"},
        {"group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
        {"group.streams.min.session.timeout.ms", "group.streams.session.timeout.ms"},
        {"group.streams.session.timeout.ms", "group.streams.max.session.timeout.ms"},
        {"group.streams.min.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"},
        {"group.streams.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
        {"group.streams.min.assignment.interval.ms", "group.streams.assignment.interval.ms"},
        {"group.streams.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
        {"group.streams.num.standby.replicas", "group.streams.max.standby.replicas"},
        {"group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"},
        {"group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"},
    };
    int rc = check_less(c, "group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms", errors);
    int one = check_less(c, "group.streams.heartbeat.interval.ms", "group.streams.session.timeout.ms", errors);
    rc = rc < 0 ? rc : one;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        one = check_order(c, orders[i][0], 1, orders[i][1], errors);
        rc = rc < 0 ? rc : one;
    }
    return rc;
}

struct assignor_reader {
    struct str v[8];
    int32_t len;
    bool repeated;
};

static void read_assignor(void *ctx, struct str entry)
{
    struct assignor_reader *reader = ctx;
    for (int32_t i = 0; i < reader->len; i++) {
        reader->repeated = reader->repeated || str_eq(reader->v[i], entry);
    }
    if (reader->len < (int32_t)COUNT_OF(reader->v)) {
        reader->v[reader->len++] = entry;
    }
}

/* The first one is everybody's who names none, so there has to be one. */
static int check_assignors(const char *key, const char *list, struct buf *errors)
{
    struct assignor_reader reader = {0};
    config_each_entry(list, read_assignor, &reader);
    if (reader.len > 0 && !reader.repeated) {
        return 0;
    }
    config_complain(errors, reader.repeated ? "%s: names one twice" : "%s: names none", key);
    return MUSTER_E_INVALID;
}

int config_validate(const struct config *c, struct buf *errors)
{
    const int results[] = {
        check_required(c, errors),
        check_listeners(c, errors),
        check_peers(c, errors),
        check_endpoint("muster.peer.listener", c->peer_listener, errors),
        check_endpoint("muster.admin.listener", c->admin_listener, errors),
        check_order(c, "group.min.session.timeout.ms", 1, "group.max.session.timeout.ms", errors),
        check_bounds(c, errors),
        check_assignors("group.consumer.assignors", c->consumer_assignors, errors),
        check_assignors("group.streams.assignors", c->streams_assignors, errors),
        check_order(c, "muster.heartbeat.interval.ms", 2, "muster.election.timeout.ms", errors),
        check_order(c, "muster.entry.max.bytes", 2, "muster.log.segment.bytes", errors),
    };
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        if (results[i] < 0) {
            return results[i];
        }
    }
    return 0;
}
