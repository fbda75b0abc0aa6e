/* streams_group_topology.c: StreamsGroupTopology (20007), of this project: the topology as it is stored. */
#include "internal.h"

void api_streams_group_topology(struct api_request *r)
{
    const struct streams_group_topology_request *request = r->request;
    api_group(r, GROUP_STREAMS_TOPOLOGY, request->group_id);
}
