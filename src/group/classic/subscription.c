/* subscription.c: the little of the consumer protocol that a coordinator reads: the topics of a subscription, the partitions of an assignment.
 * Both begin with an int16 version; version 0 is a prefix of all later ones, so that is what is read. */
#include "draft.h"

#include "../sorted.h"

#include <string.h>

struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static uint32_t read_number(struct reader *r, size_t size)
{
    if (r->bad || r->left < size) {
        r->bad = true;
        return 0;
    }
    uint32_t value = size == 2 ? get_be16(r->at) : get_be32(r->at);
    r->at += size;
    r->left -= size;
    return value;
}

static struct str read_string(struct reader *r)
{
    size_t len = read_number(r, 2);
    if (r->bad || len > INT16_MAX || len > r->left) {
        r->bad = true;
        return STR_NULL;
    }
    struct str s = {(const char *)r->at, (int32_t)len};
    r->at += len;
    r->left -= len;
    return s;
}

static struct reader open_reader(struct bytes in)
{
    struct reader r = {.at = in.ptr, .left = in.len > 0 ? (size_t)in.len : 0, .bad = in.len < 2};
    uint32_t version = read_number(&r, 2);
    r.bad = r.bad || version > INT16_MAX;
    return r;
}

/* A count of things of at least `size` bytes each. */
static uint32_t read_count(struct reader *r, size_t size)
{
    uint32_t count = read_number(r, 4);
    if (r->bad || count > r->left / size) {
        r->bad = true;
        return 0;
    }
    return count;
}

/* ---- topics of a group -------------------------------------------------------------------------------------------------- */

struct topic_list {
    struct str *v;
    int32_t len, cap;
};

static void list_add(struct topic_list *n, struct arena *arena, struct str name)
{
    if (n->len == n->cap) {
        int32_t cap = n->cap == 0 ? 16 : 2 * n->cap;
        struct str *grown = ARENA_NEW(arena, struct str, cap);
        if (n->len > 0) {
            memcpy(grown, n->v, (size_t)n->len * sizeof *grown);
        }
        n->v = grown;
        n->cap = cap;
    }
    n->v[n->len++] = name;
}

static void sift_down(struct str *v, int32_t at, int32_t len)
{
    for (int32_t child = 2 * at + 1; child < len; at = child, child = 2 * at + 1) {
        if (child + 1 < len && str_cmp(v[child], v[child + 1]) < 0) {
            child++;
        }
        if (str_cmp(v[at], v[child]) >= 0) {
            return;
        }
        struct str swap = v[at];
        v[at] = v[child];
        v[child] = swap;
    }
}

static void sort_names(struct str *v, int32_t len)
{
    for (int32_t i = len / 2 - 1; i >= 0; i--) {
        sift_down(v, i, len);
    }
    for (int32_t end = len - 1; end > 0; end--) {
        struct str swap = v[0];
        v[0] = v[end];
        v[end] = swap;
        sift_down(v, 0, end);
    }
}

static int32_t drop_doubles(struct str *v, int32_t len)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < len; i++) {
        if (kept == 0 || !str_eq(v[kept - 1], v[i])) {
            v[kept++] = v[i];
        }
    }
    return kept;
}

/* Adds the topics of one subscription that are not the same bytes as the one before it: most members of a group subscribe alike. */
static bool add_topics(struct topic_list *names, struct arena *arena, struct bytes subscription)
{
    struct reader r = open_reader(subscription);
    uint32_t count = read_count(&r, 2);
    for (uint32_t i = 0; i < count && !r.bad; i++) {
        struct str name = read_string(&r);
        if (!r.bad) {
            list_add(names, arena, name);
        }
    }
    uint32_t user_data = read_number(&r, 4);
    return !r.bad && (user_data == UINT32_MAX || user_data <= r.left);
}

/* The topics of all members, sorted, each once. False when a subscription cannot be read. */
static bool topics_of(struct str protocol_type, struct str protocol_name, const struct classic_member *const *members, int32_t count,
                      struct arena *arena, struct topic_list *ret)
{
    *ret = (struct topic_list){0};
    if (!str_eq(protocol_type, STR("consumer"))) {
        return false;
    }
    if (count > 0 && str_is_null(protocol_name)) {
        return false;
    }
    struct bytes last = BYTES_NULL;
    for (int32_t i = 0; i < count; i++) {
        struct bytes subscription = member_metadata(members[i], protocol_name);
        if (!bytes_eq(subscription, last) && !add_topics(ret, arena, subscription)) {
            return false;
        }
        last = subscription;
    }
    sort_names(ret->v, ret->len);
    ret->len = drop_doubles(ret->v, ret->len);
    return true;
}

int64_t classic_topics_hash(struct decision *d, struct str protocol_type, struct str protocol_name,
                            const struct classic_member *const *members, int32_t count)
{
    struct topic_list names;
    const struct topics *topics = d->op->topics;
    if (topics == NULL || !topics_of(protocol_type, protocol_name, members, count, d->arena, &names)) {
        return 0;
    }
    uint64_t hash = 1;
    for (int32_t i = 0; i < names.len; i++) {
        struct topic_view view;
        bool known = topics->by_name(topics->ctx, names.v[i], &view);
        hash = hash_bytes(names.v[i].ptr, (size_t)names.v[i].len, hash);
        hash = hash_bytes(known ? view.id.b : (const uint8_t[16]){0}, 16, hash + (known ? (uint32_t)view.partitions + 1u : 0));
    }
    return hash == 0 ? 1 : (int64_t)hash;
}

struct str_array classic_topic_names(const struct decision *d, const struct classic *c)
{
    struct topic_list names;
    bool known =
        topics_of(c->protocol_type, c->protocol_name, (const struct classic_member *const *)c->members, c->member_count, d->arena, &names);
    return known ? (struct str_array){names.v, names.len} : (struct str_array){NULL, 0};
}

bool classic_subscribed(struct decision *d, const struct group *g, struct str topic, bool *ret_known)
{
    if (d->subscribed_state == 0) {
        struct topic_list names;
        const struct classic *c = &g->classic;
        bool known = topics_of(c->protocol_type, c->protocol_name, (const struct classic_member *const *)c->members, c->member_count,
                               d->arena, &names);
        d->subscribed = names.v;
        d->subscribed_count = known ? names.len : 0;
        d->subscribed_state = known ? 1 : -1;
    }
    *ret_known = d->subscribed_state > 0;
    return str_sorted_find(d->subscribed, d->subscribed_count, topic) >= 0;
}

bool classic_owns(const struct group *g, const struct classic_member *m, struct str topic, int32_t partition)
{
    struct reader r = open_reader(classic_assignment(g, m));
    uint32_t topics = read_count(&r, 6);
    for (uint32_t i = 0; i < topics && !r.bad; i++) {
        bool wanted = str_eq(read_string(&r), topic);
        uint32_t partitions = read_count(&r, 4);
        for (uint32_t k = 0; k < partitions && !r.bad; k++) {
            if (wanted && read_number(&r, 4) == (uint32_t)partition) {
                return true;
            }
            if (!wanted) {
                (void)read_number(&r, 4);
            }
        }
    }
    return false;
}
