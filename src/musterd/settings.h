/* settings.h: from the configuration to the options of each module. */
#ifndef MUSTERD_SETTINGS_H
#define MUSTERD_SETTINGS_H

#include <muster/api.h>
#include <muster/coord.h>
#include <muster/net.h>

#include "config.h"

void settings_group(const struct config *c, size_t node_count, struct group_settings *ret);
void settings_coord(const struct config *c, size_t node_count, struct coord_options *ret);
void settings_net(const struct config *c, struct net_options *ret);
/* The configuration as DescribeConfigs shows it; c stays where it is. */
void settings_broker_values(const struct config *c, struct catalog_broker_values *ret);

#endif
