/* group_history.c: GroupHistory (20050), of this project: why a group rebalanced. */
#include "internal.h"

void api_group_history(struct api_request *r)
{
    const struct group_history_request *request = r->request;
    api_group(r, GROUP_HISTORY, request->group_id);
}
