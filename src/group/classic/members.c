/* members.c: finding members and pending ids, and what is read off a member. */
#include "members.h"

#include "../sorted.h"

static int member_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((struct classic_member *const *)in)[place]->member_id, *(const struct str *)key);
}

int32_t members_place(const struct classic *c, struct str member_id, bool *ret_found)
{
    return sorted_place(c->members, c->member_count, member_order, &member_id, ret_found);
}

static int pending_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct classic_pending_id *)in)[place].member_id, *(const struct str *)key);
}

int32_t pending_place(const struct classic *c, struct str member_id, bool *ret_found)
{
    return sorted_place(c->pending, c->pending_count, pending_order, &member_id, ret_found);
}

int32_t members_by_instance(const struct classic *c, struct str instance_id)
{
    for (int32_t i = 0; i < c->member_count; i++) {
        if (c->members[i]->instance_id.len >= 0 && str_eq(c->members[i]->instance_id, instance_id)) {
            return i;
        }
    }
    return -1;
}

static const struct classic_protocol *find_protocol(const struct classic_member *m, struct str protocol)
{
    for (int32_t i = 0; i < m->protocol_count; i++) {
        if (str_eq(m->protocols[i].name, protocol)) {
            return &m->protocols[i];
        }
    }
    return NULL;
}

bool member_supports(const struct classic_member *m, struct str protocol)
{
    return find_protocol(m, protocol) != NULL;
}

struct bytes member_metadata(const struct classic_member *m, struct str protocol)
{
    const struct classic_protocol *found = find_protocol(m, protocol);
    return found == NULL ? (struct bytes){(const uint8_t *)"", 0} : found->metadata;
}

const struct classic_member *classic_member_find(const struct group *g, struct str member_id)
{
    bool found = false;
    int32_t place = g == NULL ? 0 : members_place(&g->classic, member_id, &found);
    return found ? g->classic.members[place] : NULL;
}

const struct classic_member *classic_member_after(const struct group *g, struct str member_id)
{
    bool found = false;
    int32_t place = str_is_null(member_id) ? 0 : members_place(&g->classic, member_id, &found);
    place += found ? 1 : 0;
    return place < g->classic.member_count ? g->classic.members[place] : NULL;
}

const struct classic_pending_id *classic_pending_after(const struct group *g, struct str member_id)
{
    bool found = false;
    int32_t place = str_is_null(member_id) ? 0 : pending_place(&g->classic, member_id, &found);
    place += found ? 1 : 0;
    return place < g->classic.pending_count ? &g->classic.pending[place] : NULL;
}

struct bytes classic_assignment(const struct group *g, const struct classic_member *m)
{
    if (!m->has_assignment || m->assignment_generation < g->classic.assignments_since) {
        return (struct bytes){(const uint8_t *)"", 0};
    }
    return m->assignment;
}
