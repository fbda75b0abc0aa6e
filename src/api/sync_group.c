/* sync_group.c: SyncGroup (14). Waits for the leader's assignment. */
#include "internal.h"

void api_sync_group(struct api_request *r)
{
    const struct sync_group_request *request = r->request;
    api_group(r, GROUP_SYNC, request->group_id);
}
