/* offset_delete.c: OffsetDelete (47). */
#include "internal.h"

void api_offset_delete(struct api_request *r)
{
    const struct offset_delete_request *request = r->request;
    api_group(r, GROUP_OFFSET_DELETE, request->group_id);
}
