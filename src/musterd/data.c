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
    if (members_were_removed(s)) {
        log_event(LOG_ERROR, "folder_of_removed_node",
                  "dir=\"%s\" hint=\"this node was removed from its cluster; empty the folder, then add the node\"", dir);
        return SERVER_EXIT_REMOVED;
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

void data_configured_address(const struct config *c, uint32_t node, char *dst, size_t size)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    const struct config_peer *peer = find_peer(peers, config_peers(c, peers), node);
    if (peer != NULL) {
        write_address(dst, size, &peer->at);
    }
}

/* Who the members are the folder knows, since it was formed or joined; where they are found the configuration knows better, as far as it names them. */
static void take_addresses(struct server *s)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    size_t count = config_peers(s->config, peers);
    size_t common = 0;
    for (uint32_t i = 0; i < s->identity.peer_count; i++) {
        struct store_peer *peer = &s->identity.peers[i];
        char before[sizeof(peer->address)];
        memcpy(before, peer->address, sizeof(before));
        common += find_peer(peers, count, peer->node_id) != NULL;
        data_configured_address(s->config, peer->node_id, peer->address, sizeof(peer->address));
        if (strcmp(before, peer->address) != 0) {
            log_event(LOG_WARN, "peer_address_differs",
                      "node=%u known=%s muster.peers=%s hint=\"muster.peers counts; correct it if it is old\"", peer->node_id, before,
                      peer->address);
        }
    }
    if (common != s->identity.peer_count || common != count) {
        log_event(
            LOG_WARN, "peers_differ",
            "members=%u muster.peers=%zu common=%zu hint=\"the cluster has changed since muster.peers was written: the members count\"",
            s->identity.peer_count, count, common);
    }
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
    take_addresses(s);
    return SERVER_EXIT_OK;
}

void data_form_config(const struct config *c, struct form_config *ret)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    memset(ret, 0, sizeof(*ret));
    ret->node_id = (uint32_t)c->node_id;
    ret->shard_count = (uint32_t)c->shards;
    ret->hash_version = HASH_VERSION;
    ret->feature_level = (uint32_t)group_feature_level;
    ret->peer_count = (uint32_t)config_peers(c, peers);
    for (uint32_t i = 0; i < ret->peer_count; i++) {
        ret->peers[i].node_id = (uint32_t)peers[i].id;
        write_address(ret->peers[i].address, sizeof(ret->peers[i].address), &peers[i].at);
    }
}
