/* change_member.c: ChangeMember (20008), of this project: begins a change of the cluster's members. */
#include "internal.h"

void api_change_member(struct api_request *r)
{
    api_controller(r, CATALOG_CHANGE_MEMBER, false);
}
