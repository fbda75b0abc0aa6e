/* assign_scale.c: an ordered set of loads. */
#include "assign_draft.h"

static int pan_cmp(const struct assign_pan *a, const struct assign_pan *b)
{
    int64_t left = a->load * b->width, right = b->load * a->width;
    if (left != right) {
        return left < right ? -1 : 1;
    }
    return (a->id > b->id) - (a->id < b->id);
}

RB_GENERATE_INTERNAL(assign_scale, assign_pan, link, pan_cmp, __attribute__((unused)) static)

void scale_put(struct assign_scale *scale, struct assign_pan *pan, int64_t load)
{
    scale_take(scale, pan);
    pan->load = load;
    pan->on = true;
    MUSTER_CHECK(RB_INSERT(assign_scale, scale, pan) == NULL);
}

void scale_take(struct assign_scale *scale, struct assign_pan *pan)
{
    if (pan->on) {
        RB_REMOVE(assign_scale, scale, pan);
        pan->on = false;
    }
}

struct assign_pan *scale_lightest(struct assign_scale *scale)
{
    return RB_MIN(assign_scale, scale);
}

struct assign_pan *scale_next(struct assign_pan *pan)
{
    return RB_NEXT(assign_scale, NULL, pan);
}
