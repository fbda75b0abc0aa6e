/* offset_commit.c: OffsetCommit (8). */
#include "internal.h"

void api_offset_commit(struct api_request *r)
{
    const struct offset_commit_request *request = r->request;
    api_group(r, GROUP_OFFSET_COMMIT, request->group_id);
}
