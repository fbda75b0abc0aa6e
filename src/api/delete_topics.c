/* delete_topics.c: DeleteTopics (20). */
#include "internal.h"

void api_delete_topics(struct api_request *r)
{
    api_controller(r, CATALOG_DELETE_TOPICS, true);
}
