/* register_node.c: RegisterNode (20005), of this project: a node makes itself known. */
#include "internal.h"

void api_register_node(struct api_request *r)
{
    api_controller(r, CATALOG_REGISTER_NODE, false);
}
