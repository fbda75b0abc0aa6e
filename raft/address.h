/* address.h: HOST:PORT texts, [HOST]:PORT for IPv6. */
#ifndef MUSTER_RAFT_ADDRESS_H
#define MUSTER_RAFT_ADDRESS_H

#include <stdint.h>

enum { ADDRESS_HOST_BYTES = 256, ADDRESS_PORT_BYTES = 6 };

/* 0 or INVALID: no colon, an empty host, or a port that is not a number from 1 to 65535. */
int address_split(const char *address, char host[ADDRESS_HOST_BYTES], char port[ADDRESS_PORT_BYTES]);
/* The number of a port that address_split gave. */
uint16_t address_port(const char *port);

#endif
