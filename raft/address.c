#include "address.h"

#include <muster/base.h>

#include <stdlib.h>
#include <string.h>

static int check_port(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || len >= ADDRESS_PORT_BYTES || strspn(text, "0123456789") != len) {
        return MUSTER_E_INVALID;
    }
    long port = strtol(text, NULL, 10);
    return port >= 1 && port <= 65535 ? 0 : MUSTER_E_INVALID;
}

int address_split(const char *address, char host[ADDRESS_HOST_BYTES], char port[ADDRESS_PORT_BYTES])
{
    const char *colon = strrchr(address, ':');
    if (colon == NULL || check_port(colon + 1) != 0) {
        return MUSTER_E_INVALID;
    }
    const char *begin = address;
    size_t len = (size_t)(colon - address);
    if (len >= 2 && begin[0] == '[' && begin[len - 1] == ']') {
        begin++;
        len -= 2;
    }
    if (len == 0 || len >= ADDRESS_HOST_BYTES) {
        return MUSTER_E_INVALID;
    }
    memcpy(host, begin, len);
    host[len] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return 0;
}

uint16_t address_port(const char *port)
{
    return (uint16_t)strtol(port, NULL, 10);
}
