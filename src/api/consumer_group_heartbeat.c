/* consumer_group_heartbeat.c: ConsumerGroupHeartbeat (68). An id without a letter is refused by any node, before it is asked who coordinates the group. */
#include "internal.h"

/* Version 0 leaves it to the server to make the id of a member that joins. */
static bool needs_member_id(const struct api_request *r)
{
    const struct consumer_group_heartbeat_request *request = r->request;
    return r->version >= 1 || request->member_epoch > 0 || request->member_epoch == -1;
}

void api_consumer_group_heartbeat(struct api_request *r)
{
    const struct consumer_group_heartbeat_request *request = r->request;
    if (!str_is_blank(request->group_id) || !r->api->options.consumer_groups) {
        api_group(r, GROUP_CONSUMER_HEARTBEAT, request->group_id);
        return;
    }
    bool no_member = needs_member_id(r) && str_is_blank(request->member_id);
    struct consumer_group_heartbeat_response *response = api_response(r);
    response->error_code = KAFKA_INVALID_REQUEST;
    response->error_message = no_member ? STR("MemberId can't be empty.") : STR("GroupId can't be empty.");
    r->api->stats.error_by_key[r->row_idx]++;
    api_answer(r, response);
}
