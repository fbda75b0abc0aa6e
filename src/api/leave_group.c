/* leave_group.c: LeaveGroup (13). */
#include "internal.h"

void api_leave_group(struct api_request *r)
{
    const struct leave_group_request *request = r->request;
    api_group(r, GROUP_LEAVE, request->group_id);
}
