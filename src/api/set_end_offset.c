/* set_end_offset.c: SetEndOffset (20003), of this project: gives partitions without data their end. */
#include "internal.h"

void api_set_end_offset(struct api_request *r)
{
    api_controller(r, CATALOG_SET_END, true);
}
