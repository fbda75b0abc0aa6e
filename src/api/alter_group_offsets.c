/* alter_group_offsets.c: AlterGroupOffsets (20020): an administrator's change of a group's offsets, its members fenced in the same decision if asked for. */
#include "internal.h"

void api_alter_group_offsets(struct api_request *r)
{
    const struct alter_group_offsets_request *request = r->request;
    api_group(r, GROUP_ALTER_OFFSETS, request->group_id);
}
