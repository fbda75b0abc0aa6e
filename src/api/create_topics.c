/* create_topics.c: CreateTopics (19). */
#include "internal.h"

void api_create_topics(struct api_request *r)
{
    api_controller(r, CATALOG_CREATE_TOPICS, true);
}
