/* list_partition_reassignments.c: ListPartitionReassignments (46). Partitions have no data to move, so none ever does; kafka-topics asks. */
#include "internal.h"

void api_list_partition_reassignments(struct api_request *r)
{
    struct list_partition_reassignments_response *response = api_response(r);
    response->error_message = STR_NULL;
    api_answer(r, response);
}
