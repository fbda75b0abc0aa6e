/* form.c: `musterd form`, the one act that makes a cluster of empty nodes. */
#include "server.h"

#include <stdio.h>

enum { FORM_TIMEOUT_MS = 5000 };

int form_run(const struct config *config)
{
    struct form_config form;
    struct uuid cluster_id;
    bool already = false;
    char text[RAFT_HOST_TEXT_BYTES] = "", id[23];
    data_form_config(config, &form);
    form.node_id = 0;
    int rc = form_client_run(&form, FORM_TIMEOUT_MS, &cluster_id, &already, text);
    if (rc < 0) {
        fprintf(stderr, "musterd: the cluster cannot be formed now: %s\n", text[0] != '\0' ? text : muster_strerror(rc));
        return SERVER_EXIT_FORM;
    }
    if (!already) {
        (void)form_client_await(&form, FORM_TIMEOUT_MS);
    }
    uuid_text(cluster_id, id);
    printf("%s %s nodes=%u shards=%u\n", already ? "The cluster was formed before:" : "The cluster is formed:", id, form.peer_count,
           form.shard_count);
    return SERVER_EXIT_OK;
}
