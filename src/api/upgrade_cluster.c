/* upgrade_cluster.c: UpgradeCluster (20010), of this project: raises the feature level to what all members know. */
#include "internal.h"

void api_upgrade_cluster(struct api_request *r)
{
    api_controller(r, CATALOG_UPGRADE, true);
}
