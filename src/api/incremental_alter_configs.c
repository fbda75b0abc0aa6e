/* incremental_alter_configs.c: IncrementalAlterConfigs (44). */
#include "internal.h"

void api_incremental_alter_configs(struct api_request *r)
{
    api_controller(r, CATALOG_ALTER_CONFIGS, true);
}
