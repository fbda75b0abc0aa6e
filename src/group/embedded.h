/* embedded.h: the consumer protocol within the classic one: what consumers tell each other in the bytes of JoinGroup and SyncGroup. A coordinator reads and
 * writes them when it assigns for classic members itself; else they are none of its business, but for what classic/subscription.c looks at. */
#ifndef MUSTER_GROUP_EMBEDDED_H
#define MUSTER_GROUP_EMBEDDED_H

#include <muster/messages.h>

/* Both begin with an int16 version; of a later one than 3 what is known is read. Bytes behind the end do not matter. False: they cannot be read. What is
 * returned borrows from the input. */
bool embedded_subscription(struct bytes in, struct arena *arena, struct consumer_protocol_subscription *ret);
bool embedded_assignment(struct bytes in, struct arena *arena, struct consumer_protocol_assignment *ret);
int16_t embedded_version(struct bytes in); /* 0 to 3: the one to answer in; 0 for what cannot be read */
struct bytes embedded_assignment_write(const struct consumer_protocol_assignment *a, int16_t version, struct arena *arena);

#endif
