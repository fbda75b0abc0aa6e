/* heartbeat.c: Heartbeat (12). */
#include "internal.h"

void api_heartbeat(struct api_request *r)
{
    const struct heartbeat_request *request = r->request;
    api_group(r, GROUP_HEARTBEAT, request->group_id);
}
