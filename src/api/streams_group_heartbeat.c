/* streams_group_heartbeat.c: StreamsGroupHeartbeat (88). An id without a letter is refused by any node, before it is asked who coordinates the group. */
#include "internal.h"

void api_streams_group_heartbeat(struct api_request *r)
{
    const struct streams_group_heartbeat_request *request = r->request;
    if (!str_is_blank(request->group_id) || !r->api->options.streams_groups) {
        api_group(r, GROUP_STREAMS_HEARTBEAT, request->group_id);
        return;
    }
    struct streams_group_heartbeat_response *response = api_response(r);
    response->error_code = KAFKA_INVALID_REQUEST;
    response->error_message = str_is_blank(request->member_id) ? STR("MemberId can't be empty.") : STR("GroupId can't be empty.");
    r->api->stats.error_by_key[r->row_idx]++;
    api_answer(r, response);
}
