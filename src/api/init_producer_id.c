/* init_producer_id.c: InitProducerId (22), without transactions: Kafka Streams and idempotent producers ask for it first. */
#include "internal.h"

void api_init_producer_id(struct api_request *r)
{
    api_controller(r, CATALOG_PRODUCER_ID, false);
}
