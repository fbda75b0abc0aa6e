/* identity.h: the identity file as the log sees it: with the mark that a log was begun in this folder. */
#ifndef STORAGE_IDENTITY_H
#define STORAGE_IDENTITY_H

#include <muster/store.h>

int store_identity_load(const struct store_port *port, struct store_identity *ret, bool *ret_log_begun);
int store_identity_save(const struct store_port *port, const struct store_identity *identity, bool log_begun);

#endif
