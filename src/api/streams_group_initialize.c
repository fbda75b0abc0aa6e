/* streams_group_initialize.c: StreamsGroupInitialize (20006), of KIP-1071's early revision: a topology is given by a member that was asked for it, or by anybody. */
#include "internal.h"

void api_streams_group_initialize(struct api_request *r)
{
    const struct streams_group_initialize_request *request = r->request;
    api_group(r, GROUP_STREAMS_INITIALIZE, request->group_id);
}
