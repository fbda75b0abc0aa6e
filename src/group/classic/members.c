/* members.c: finding members and pending ids, and what is read off a member. */
#include "members.h"

int32_t members_place(const struct classic *c, struct str member_id, bool *ret_found)
{
    int32_t low = 0, high = c->member_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = str_cmp(c->members[middle]->member_id, member_id);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_found = false;
    return low;
}

int32_t pending_place(const struct classic *c, struct str member_id, bool *ret_found)
{
    int32_t low = 0, high = c->pending_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = str_cmp(c->pending[middle].member_id, member_id);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_found = false;
    return low;
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
