/* streams_group_topology_description_update.c: StreamsGroupTopologyDescriptionUpdate (93), KIP-1331. */
#include "internal.h"

void api_streams_group_topology_description_update(struct api_request *r)
{
    const struct streams_group_topology_description_update_request *request = r->request;
    api_group(r, GROUP_STREAMS_DESCRIPTION, request->group_id);
}
