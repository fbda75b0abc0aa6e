/* create_partitions.c: CreatePartitions (37). */
#include "internal.h"

void api_create_partitions(struct api_request *r)
{
    api_controller(r, CATALOG_CREATE_PARTITIONS, true);
}
