/* embedded.c: see embedded.h. */
#include "embedded.h"

#include <muster/wire.h>
#include <string.h>

enum { LATEST = 3, PREFIX = 2 };

/* Whether there is a version in front; *ret is the one to read in. */
static bool split(struct bytes in, int16_t *ret_version, struct bytes *ret_body)
{
    int16_t version = in.len < PREFIX ? -1 : (int16_t)get_be16(in.ptr);
    if (version < 0) {
        return false;
    }
    *ret_version = version < LATEST ? version : LATEST;
    *ret_body = (struct bytes){in.ptr + PREFIX, in.len - PREFIX};
    return true;
}

static bool read_as(const struct wire_msg *msg, struct bytes in, struct arena *arena, void *ret)
{
    int16_t version;
    struct bytes body;
    return split(in, &version, &body) && wire_decode(msg, version, body, arena, ret, NULL) == 0;
}

bool embedded_subscription(struct bytes in, struct arena *arena, struct consumer_protocol_subscription *ret)
{
    return read_as(&wire_consumer_protocol_subscription, in, arena, ret);
}

bool embedded_assignment(struct bytes in, struct arena *arena, struct consumer_protocol_assignment *ret)
{
    return read_as(&wire_consumer_protocol_assignment, in, arena, ret);
}

int16_t embedded_version(struct bytes in)
{
    int16_t version;
    struct bytes body;
    return split(in, &version, &body) ? version : 0;
}

struct bytes embedded_assignment_write(const struct consumer_protocol_assignment *a, int16_t version, struct arena *arena)
{
    MUSTER_CHECK(version >= 0 && version <= LATEST);
    size_t size = wire_size(&wire_consumer_protocol_assignment, version, a);
    uint8_t *bytes = ARENA_NEW(arena, uint8_t, PREFIX + size);
    put_be16(bytes, (uint16_t)version);
    wire_write(&wire_consumer_protocol_assignment, version, a, bytes + PREFIX);
    return (struct bytes){bytes, (int32_t)(PREFIX + size)};
}
