/* data.c: the data folder, and whether it belongs to this configuration. */
#include "server.h"

#include <stdio.h>
#include <string.h>

enum { HASH_VERSION = 1 };

static int folder_failed(const char *dir, int rc)
{
    if (rc == MUSTER_E_BUSY) {
        log_event(LOG_ERROR, "data_folder_in_use",
                  "dir=\"%s\" hint=\"another process uses it; end that one, or give this node a folder of its own\"", dir);
    } else {
        log_event(LOG_ERROR, "data_folder_unusable",
                  "dir=\"%s\" error=\"%s\" hint=\"it has to exist or be creatable, and be writable for this user (muster.data.dir)\"", dir,
                  muster_strerror(rc));
    }
    return SERVER_EXIT_DATA;
}

int data_open(struct server *s, bool *ret_formed)
{
    const char *dir = s->config->data_dir;
    int rc = store_port_posix_init(&s->port, dir, false);
    if (rc < 0) {
        return folder_failed(dir, rc);
    }
    s->port_open = true;
    disk_init(&s->disk, &s->port, &s->timed_port);
    rc = s->port.lock(s->port.ctx);
    if (rc < 0) {
        return folder_failed(dir, rc);
    }
    rc = store_identity_read(&s->port, &s->identity);
    if (rc < 0 && rc != MUSTER_E_NOT_FOUND) {
        log_event(LOG_ERROR, "identity_unreadable",
                  "dir=\"%s\" error=\"%s\" hint=\"the file that says which node this is was damaged; restore the folder from a copy, or "
                  "replace the node\"",
                  dir, muster_strerror(rc));
        return SERVER_EXIT_DATA;
    }
    *ret_formed = rc == 0;
    return SERVER_EXIT_OK;
}

static int does_not_fit(const struct server *s, const char *key, uint32_t formed, uint32_t configured)
{
    log_event(LOG_ERROR, "config_does_not_fit_data",
              "dir=\"%s\" key=%s formed_with=%u configured=%u hint=\"this is fixed when a cluster is formed\"", s->config->data_dir, key,
              formed, configured);
    return SERVER_EXIT_CONFIG;
}

static const struct config_peer *find_peer(const struct config_peer *peers, size_t count, uint32_t node)
{
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)peers[i].id == node) {
            return &peers[i];
        }
    }
    return NULL;
}

static void write_address(char *dst, size_t size, const struct config_endpoint *at)
{
    char text[sizeof(at->host) + 16];
    int len = strchr(at->host, ':') != NULL ? snprintf(text, sizeof(text), "[%s]:%u", at->host, at->port)
                                            : snprintf(text, sizeof(text), "%s:%u", at->host, at->port);
    MUSTER_CHECK(len > 0 && (size_t)len < size);
    memcpy(dst, text, (size_t)len + 1);
}

/* Nodes are fixed by the forming; where they are found may change, and then the configuration knows better. */
static int take_addresses(struct server *s)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    size_t count = config_peers(s->config, peers);
    if (count != s->identity.peer_count) {
        return does_not_fit(s, "muster.peers", s->identity.peer_count, (uint32_t)count);
    }
    for (uint32_t i = 0; i < s->identity.peer_count; i++) {
        struct store_peer *peer = &s->identity.peers[i];
        const struct config_peer *configured = find_peer(peers, count, peer->node_id);
        if (configured == NULL) {
            log_event(LOG_ERROR, "config_does_not_fit_data", "dir=\"%s\" key=muster.peers missing_node=%u", s->config->data_dir,
                      peer->node_id);
            return SERVER_EXIT_CONFIG;
        }
        write_address(peer->address, sizeof(peer->address), &configured->at);
    }
    return SERVER_EXIT_OK;
}

int data_check_identity(struct server *s)
{
    if (s->identity.node_id != (uint32_t)s->config->node_id) {
        return does_not_fit(s, "node.id", s->identity.node_id, (uint32_t)s->config->node_id);
    }
    if (s->identity.shard_count != (uint32_t)s->config->shards) {
        return does_not_fit(s, "muster.shards", s->identity.shard_count, (uint32_t)s->config->shards);
    }
    if (s->identity.hash_version != HASH_VERSION) {
        log_event(LOG_ERROR, "data_of_other_release", "dir=\"%s\" hash_version=%u known=%d", s->config->data_dir, s->identity.hash_version,
                  HASH_VERSION);
        return SERVER_EXIT_DATA;
    }
    return take_addresses(s);
}

void data_form_config(const struct config *c, struct form_config *ret)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    memset(ret, 0, sizeof(*ret));
    ret->node_id = (uint32_t)c->node_id;
    ret->shard_count = (uint32_t)c->shards;
    ret->hash_version = HASH_VERSION;
    ret->peer_count = (uint32_t)config_peers(c, peers);
    for (uint32_t i = 0; i < ret->peer_count; i++) {
        ret->peers[i].node_id = (uint32_t)peers[i].id;
        write_address(ret->peers[i].address, sizeof(ret->peers[i].address), &peers[i].at);
    }
}
