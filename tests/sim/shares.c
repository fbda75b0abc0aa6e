#include "shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void set_free(struct unit_set *s)
{
    free(s->v);
    *s = (struct unit_set){0};
}

void set_clear(struct unit_set *s)
{
    s->len = 0;
}

/* Where the unit is, or belongs. */
static int32_t place_of(const struct unit_set *s, uint32_t unit)
{
    int32_t low = 0, high = s->len;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (s->v[middle] < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool set_has(const struct unit_set *s, uint32_t unit)
{
    int32_t place = place_of(s, unit);
    return place < s->len && s->v[place] == unit;
}

void set_add(struct unit_set *s, uint32_t unit)
{
    int32_t place = place_of(s, unit);
    if (place < s->len && s->v[place] == unit)
        return;
    if (s->len == s->cap) {
        s->cap = s->cap == 0 ? 16 : 2 * s->cap;
        s->v = realloc(s->v, (size_t)s->cap * sizeof(*s->v));
        MUSTER_CHECK(s->v != NULL);
    }
    memmove(&s->v[place + 1], &s->v[place], (size_t)(s->len - place) * sizeof(*s->v));
    s->v[place] = unit;
    s->len++;
}

bool set_equal(const struct unit_set *a, const struct unit_set *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->v, b->v, (size_t)a->len * sizeof(*a->v)) == 0);
}

bool set_meets(const struct unit_set *a, const struct unit_set *b)
{
    for (int32_t i = 0; i < a->len; i++) {
        if (set_has(b, a->v[i]))
            return true;
    }
    return false;
}

void set_copy(struct unit_set *to, const struct unit_set *from)
{
    set_clear(to);
    set_join(to, from);
}

void set_join(struct unit_set *s, const struct unit_set *with)
{
    for (int32_t i = 0; i < with->len; i++)
        set_add(s, with->v[i]);
}

static void filter(struct unit_set *s, const struct unit_set *by, bool wanted)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < s->len; i++) {
        if (set_has(by, s->v[i]) == wanted)
            s->v[kept++] = s->v[i];
    }
    s->len = kept;
}

void set_drop(struct unit_set *s, const struct unit_set *what)
{
    filter(s, what, false);
}

void set_keep(struct unit_set *s, const struct unit_set *what)
{
    filter(s, what, true);
}

const char *set_text(const struct unit_set *s, char text[SET_TEXT_MAX])
{
    size_t len = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < s->len; i++) {
        if (len + 24 > SET_TEXT_MAX) {
            snprintf(text + len, SET_TEXT_MAX - len, " ...");
            break;
        }
        len += (size_t)snprintf(text + len, SET_TEXT_MAX - len, "%s%u:%d", i > 0 ? " " : "", unit_name(s->v[i]), unit_partition(s->v[i]));
    }
    return text;
}

void share_free(struct share *s)
{
    for (int role = 0; role < ROLES; role++)
        set_free(&s->role[role]);
}

void share_clear(struct share *s)
{
    for (int role = 0; role < ROLES; role++)
        set_clear(&s->role[role]);
}

void share_copy(struct share *to, const struct share *from)
{
    for (int role = 0; role < ROLES; role++)
        set_copy(&to->role[role], &from->role[role]);
}

void share_join(struct share *s, const struct share *with)
{
    for (int role = 0; role < ROLES; role++)
        set_join(&s->role[role], &with->role[role]);
}

bool share_equal(const struct share *a, const struct share *b)
{
    for (int role = 0; role < ROLES; role++) {
        if (!set_equal(&a->role[role], &b->role[role]))
            return false;
    }
    return true;
}

bool share_within(const struct share *inner, const struct share *outer)
{
    for (int role = 0; role < ROLES; role++) {
        for (int32_t i = 0; i < inner->role[role].len; i++) {
            if (!set_has(&outer->role[role], inner->role[role].v[i]))
                return false;
        }
    }
    return true;
}

int32_t share_count(const struct share *s)
{
    int32_t count = 0;
    for (int role = 0; role < ROLES; role++)
        count += s->role[role].len;
    return count;
}
