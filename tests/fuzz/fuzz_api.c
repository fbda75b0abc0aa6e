/* fuzz_api.c: what a client sends, through dispatch and every handler, against the real group library.
 *
 * The input is a list of steps: a byte that says what, a length, bytes. Frames are taken as they are, or get a true header in front so that bodies of every API and
 * version are reached; between them time passes and clients go. */
#include "../unit/api/world.h"

#include <string.h>

enum { MAX_SLOTS = 24, STEP_KINDS = 8 };

struct input {
    const uint8_t *at;
    size_t left;
};

static uint8_t take_byte(struct input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static struct bytes take_bytes(struct input *in)
{
    size_t len = (size_t)take_byte(in) << 8;
    len |= take_byte(in);
    if (len > in->left) {
        len = in->left;
    }
    struct bytes taken = {in->at, (int32_t)len};
    in->at += len;
    in->left -= len;
    return taken;
}

/* The header that fits the API and version the first two bytes choose. */
static struct net_slot *send_body(struct world *w, struct input *in)
{
    const char *name;
    int16_t key = api_key_at(take_byte(in) % api_key_count(), &name);
    const struct wire_api *api = wire_api_find(key);
    int16_t versions = (int16_t)(api->request->max_version - api->request->min_version + 1);
    int16_t version = (int16_t)(api->request->min_version + take_byte(in) % versions);
    struct bytes body = take_bytes(in);
    uint8_t frame[12 + 65536] = {0};
    size_t head = 10;
    put_be16(frame, (uint16_t)key);
    put_be16(frame + 2, (uint16_t)version);
    put_be16(frame + 8, 2);
    memcpy(frame + head, "me", 2);
    head += 2;
    if (version >= api->request->flexible_from) {
        frame[head++] = 0;
    }
    memcpy(frame + head, body.ptr, (size_t)body.len);
    return slot_frame(w, frame, head + (size_t)body.len);
}

static void step(struct world *w, struct input *in, struct net_slot **slots, size_t *count)
{
    uint8_t kind = take_byte(in) % STEP_KINDS;
    if (kind == 0) {
        world_pass(w, take_byte(in) * 100);
    } else if (kind == 1 && *count > 0) {
        struct net_slot *slot = slots[take_byte(in) % *count];
        if (!slot->answered) {
            slot_gone(w, slot);
        }
    } else if (*count < MAX_SLOTS) {
        struct bytes frame;
        if (kind == 2) {
            frame = take_bytes(in);
            slots[(*count)++] = slot_frame(w, frame.ptr, (size_t)frame.len);
        } else {
            slots[(*count)++] = send_body(w, in);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct net_slot *slots[MAX_SLOTS];
    size_t count = 0;
    void *state;
    world_setup(&state);
    struct world *w = state;
    while (in.left > 0) {
        step(w, &in, slots, &count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!slots[i]->answered) {
            slot_gone(w, slots[i]);
        }
        slot_free(slots[i]);
    }
    world_teardown(&state);
    return 0;
}
