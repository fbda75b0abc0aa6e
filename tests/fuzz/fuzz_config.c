/* fuzz_config.c: a configuration file of any bytes. What is accepted is usable: every address can be read, the options of all modules come out of it, and the
 * file that --help-config's dump makes of it says the same again. What is refused is told in lines that a terminal shows as they are. */
#include "config.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_told(const struct buf *errors, int rc)
{
    MUSTER_CHECK((rc == 0) == (errors->len == 0));
    MUSTER_CHECK(errors->len == 0 || errors->ptr[errors->len - 1] == '\n');
    for (size_t i = 0; i < errors->len; i++) {
        MUSTER_CHECK(errors->ptr[i] == '\n' || (errors->ptr[i] >= ' ' && errors->ptr[i] != 0x7f));
    }
}

static void check_usable(const struct config *c)
{
    struct config_peer peers[CONFIG_MAX_PEERS];
    size_t count = config_peers(c, peers);
    MUSTER_CHECK(count >= 1 && count <= CONFIG_MAX_PEERS);
    for (size_t i = 0; i < count; i++) {
        MUSTER_CHECK(i == 0 || peers[i].id > peers[i - 1].id);
        MUSTER_CHECK(peers[i].at.host[0] != '\0' && peers[i].at.port != 0);
    }
    MUSTER_CHECK(config_listener(c).port != 0 && config_advertised(c).host[0] != '\0' && config_peer_listener(c).port != 0);
    struct group_settings group;
    struct coord_options coord;
    struct net_options net;
    memset(&group, 0, sizeof(group));
    memset(&coord, 0, sizeof(coord));
    memset(&net, 0, sizeof(net));
    settings_group(c, count, &group);
    settings_coord(c, count, &coord);
    settings_net(c, &net);
}

/* The values as a file says them, whatever bytes they have. */
static void write_again(const struct config *c, struct buf *out, struct arena *arena)
{
    for (size_t k = 0; k < config_key_count; k++) {
        struct str text = config_text(c, &config_keys[k], arena);
        buf_put(out, config_keys[k].name, strlen(config_keys[k].name));
        buf_put(out, "=", 1);
        for (int32_t i = 0; i < text.len; i++) {
            bool plain = (text.ptr[i] >= '0' && text.ptr[i] <= '9') || (text.ptr[i] >= 'a' && text.ptr[i] <= 'z');
            if (text.ptr[i] == '\n' || text.ptr[i] == '\r' || text.ptr[i] == '\t' || text.ptr[i] == '\f') {
                buf_put(out, text.ptr[i] == '\n' ? "\\n" : text.ptr[i] == '\r' ? "\\r" : text.ptr[i] == '\t' ? "\\t" : "\\f", 2);
            } else {
                buf_put(out, "\\", plain || (uint8_t)text.ptr[i] >= 0x80 ? 0 : 1);
                buf_put(out, &text.ptr[i], 1);
            }
        }
        buf_put(out, "\n", 1);
    }
}

static void check_read_again(const struct config *c, struct arena *arena)
{
    struct buf file, errors, once, twice;
    struct config again;
    buf_init(&file, 0);
    buf_init(&errors, 0);
    buf_init(&once, 0);
    buf_init(&twice, 0);
    config_init(&again);
    write_again(c, &file, arena);
    MUSTER_CHECK(config_parse(&again, "again", (struct str){(const char *)file.ptr, (int32_t)file.len}, &errors) == 0);
    config_dump(c, &once);
    config_dump(&again, &twice);
    MUSTER_CHECK(once.len == twice.len && memcmp(once.ptr, twice.ptr, once.len) == 0);
    config_fini(&again);
    buf_fini(&file);
    buf_fini(&errors);
    buf_fini(&once);
    buf_fini(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 20) {
        return 0;
    }
    struct config c;
    struct buf errors;
    struct arena arena;
    arena_init(&arena, 0);
    buf_init(&errors, 0);
    config_init(&c);
    int rc = config_parse(&c, "musterd.properties", (struct str){(const char *)data, (int32_t)size}, &errors);
    check_told(&errors, rc);
    if (rc == 0) {
        rc = config_validate(&c, &errors);
        check_told(&errors, rc);
    }
    if (rc == 0) {
        check_usable(&c);
        check_read_again(&c, &arena);
    }
    config_fini(&c);
    buf_fini(&errors);
    arena_fini(&arena);
    return 0;
}
