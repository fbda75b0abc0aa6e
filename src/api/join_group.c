/* join_group.c: JoinGroup (11). May wait for a whole rebalance. */
#include "internal.h"

void api_join_group(struct api_request *r)
{
    const struct join_group_request *request = r->request;
    api_group(r, GROUP_JOIN, request->group_id);
}
