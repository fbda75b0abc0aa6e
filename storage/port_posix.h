/* port_posix.h: the port on a real folder, for the port that stands in front of it in test builds (port_lossy.c). */
#ifndef STORAGE_PORT_POSIX_H
#define STORAGE_PORT_POSIX_H

#include <muster/store.h>

int store_port_plain_init(struct store_port *port, const char *dir, bool read_only);
void store_port_plain_fini(struct store_port *port);
int store_port_error(void); /* errno to one of the port's codes */

#endif
