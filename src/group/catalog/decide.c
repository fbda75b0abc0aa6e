/* decide.c: which function decides which op of the catalogue. */
#include "state.h"

void catalog_decide(struct decision *d)
{
    switch (d->op->kind) {
    case CATALOG_CREATE_TOPICS:
        catalog_create_topics(d);
        break;
    case CATALOG_CREATE_PARTITIONS:
        catalog_create_partitions(d);
        break;
    case CATALOG_DELETE_TOPICS:
        catalog_delete_topics(d);
        break;
    case CATALOG_ALTER_CONFIGS:
        catalog_alter_configs(d);
        break;
    case CATALOG_SET_END:
        catalog_set_end(d);
        break;
    case CATALOG_REGISTER_NODE:
        catalog_register_node(d);
        break;
    case CATALOG_PRODUCER_ID:
        catalog_producer_id(d);
        break;
    case CATALOG_CHANGE_MEMBER:
        catalog_change_member(d);
        break;
    case CATALOG_MEMBER_STEP:
        catalog_member_step(d);
        break;
    case CATALOG_UPGRADE:
        catalog_upgrade(d);
        break;
    case CATALOG_CURSOR:
        catalog_move_cursor(d);
        break;
    default:
        MUSTER_CHECK(d->op->kind >= CATALOG_CREATE_TOPICS && d->op->kind <= CATALOG_CURSOR);
        break;
    }
}
