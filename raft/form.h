/* form.h: forming a cluster, the node's side without sockets: what to answer to each request of `musterd form`.
 *
 *   EMPTY --prepare--> PREPARED --commit--> FORMED
 *
 * Prepare leaves a file; commit writes the identity. The client commits only when all nodes have prepared, so where one node is formed all others
 * were prepared for the same cluster: a retry can finish exactly those, and a node whose folder is empty beside a formed one was wiped and is
 * refused. A node that joins a cluster that is there goes from EMPTY to FORMED at once: its identity comes whole, from the leader of shard 0
 * (form_client_join), which may send it again. While the connection that prepared is open no other may prepare, so two clients at once cannot mix two clusters. */
#ifndef MUSTER_RAFT_FORM_H
#define MUSTER_RAFT_FORM_H

#include "hello.h"

#include <muster/raft_host.h>

enum { FORM_FRAME_MAX = 32768, FORM_TEXT_BYTES = 256 };

enum form_op { FORM_QUERY = 1, FORM_PREPARE = 2, FORM_COMMIT = 3, FORM_JOIN = 4 };
enum form_state { FORM_EMPTY = 1, FORM_PREPARED = 2, FORM_FORMED = 3 };

struct form_request {
    enum form_op op;
    struct uuid cluster_id;         /* commit */
    struct store_identity identity; /* prepare, join: as the node is to write it */
    uint32_t feature_level;         /* join: of the cluster; the node must know it */
};

struct form_answer {
    int error; /* MUSTER_E_* of the request; the rest is set in any case */
    enum form_state state;
    uint32_t node_id;
    uint32_t shard_count;       /* as configured, or as formed */
    uint32_t peer_count;        /* likewise: the nodes of the cluster, this one too */
    struct uuid cluster_id;     /* prepared or formed */
    char text[FORM_TEXT_BYTES]; /* with error */
};

int form_request_encode(struct buf *out, const struct form_request *request);
int form_request_decode(struct bytes frame, struct form_request *ret);
int form_answer_encode(struct buf *out, const struct form_answer *answer);
int form_answer_decode(struct bytes frame, struct form_answer *ret);

struct form {
    const struct store_port *port;
    struct form_config config;
    enum form_state state;
    struct store_identity identity; /* prepared or formed */
    const void *owner;              /* the connection that prepared, while it is open */
};

/* 0; EXISTS: the folder holds files but no identity, so it is not empty; CORRUPT: what an interrupted forming left cannot be read; IO.
 * On failure text (FORM_TEXT_BYTES) says so in words. */
int form_init(struct form *f, const struct store_port *port, const struct form_config *config, char *text);
/* Answers one request of a connection. After a successful commit f->state is FORMED and the identity is on disk. */
void form_handle(struct form *f, const void *connection, const struct form_request *request, struct form_answer *ret);
void form_gone(struct form *f, const void *connection);
/* The answers of a node that runs: it is formed already. */
void form_handle_formed(const struct store_identity *self, const struct form_request *request, struct form_answer *ret);

#endif
