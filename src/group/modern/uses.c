/* uses.c: which topics the members of a group name, and how many of them do: a join need not look at what all the others subscribe to. */
#include "modern.h"

#include "../sorted.h"

#include <string.h>

static int use_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct topic_use *)in)[place].name, *(const struct str *)key);
}

static int32_t place_of(const struct topic_uses *u, struct str topic, bool *ret_found)
{
    return sorted_place(u->v, u->count, use_order, &topic, ret_found);
}

static struct topic_uses *uses_new(struct pool *pool)
{
    struct topic_uses *u = pool_get(pool, sizeof *u);
    u->references = 1;
    return u;
}

void uses_put(struct pool *pool, struct topic_uses *u)
{
    if (u == NULL) {
        return;
    }
    MUSTER_CHECK(u->references > 0);
    if (--u->references == 0) {
        for (int32_t i = 0; i < u->count; i++) {
            pool_put_str(pool, u->v[i].name);
        }
        pool_put(pool, u->v, (size_t)u->capacity * sizeof *u->v);
        pool_put(pool, u, sizeof *u);
    }
}

/* As something to change. */
static struct topic_uses *uses_own(struct pool *pool, struct modern *s)
{
    if (s->uses == NULL) {
        s->uses = uses_new(pool);
    }
    if (s->uses->references > 1) {
        struct topic_uses *copy = uses_new(pool);
        copy->count = copy->capacity = s->uses->count;
        copy->v = pool_get(pool, (size_t)copy->capacity * sizeof *copy->v);
        for (int32_t i = 0; i < copy->count; i++) {
            copy->v[i] = (struct topic_use){pool_str(pool, s->uses->v[i].name), s->uses->v[i].members};
        }
        s->uses->references--;
        s->uses = copy;
    }
    return s->uses;
}

static void change(struct pool *pool, struct topic_uses *u, struct str topic, int32_t by)
{
    bool found;
    int32_t place = place_of(u, topic, &found);
    if (!found) {
        MUSTER_CHECK(by > 0);
        if (u->count == u->capacity) {
            int32_t capacity = u->capacity == 0 ? 4 : 2 * u->capacity;
            u->v = pool_resize(pool, u->v, (size_t)u->capacity * sizeof *u->v, (size_t)capacity * sizeof *u->v);
            u->capacity = capacity;
        }
        memmove(&u->v[place + 1], &u->v[place], (size_t)(u->count++ - place) * sizeof *u->v);
        u->v[place] = (struct topic_use){pool_str(pool, topic), 0};
    }
    struct topic_use *use = &u->v[place];
    use->members += by;
    MUSTER_CHECK(use->members >= 0);
    if (use->members == 0) {
        pool_put_str(pool, use->name);
        memmove(use, use + 1, (size_t)(--u->count - place) * sizeof *use);
    }
}

void uses_change(struct pool *pool, struct modern *s, const struct modern_member *m, int32_t by)
{
    if (m->topics.len <= 0) {
        return;
    }
    struct topic_uses *u = uses_own(pool, s);
    for (int32_t i = 0; i < m->topics.len; i++) {
        change(pool, u, m->topics.v[i], by);
    }
}

int32_t uses_count(const struct topic_uses *u, struct str topic)
{
    bool found = false;
    int32_t place = u == NULL ? 0 : place_of(u, topic, &found);
    return found ? u->v[place].members : 0;
}
