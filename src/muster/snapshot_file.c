/* snapshot_file.c: a backup file, shard by shard. */
#include "snapshot_file.h"
#include "out.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *snapshot_path_split(const char *path, struct arena *arena, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    *ret_name = slash != NULL ? slash + 1 : path;
    if (slash == NULL) {
        return ".";
    }
    return slash == path ? "/" : arena_printf(arena, "%.*s", (int)(slash - path), path).ptr;
}

/* ---- open ---- */

static int not_read(struct snapshot_file *f, int rc, const char *text)
{
    switch (rc) {
    case MUSTER_E_CORRUPT:
        return cli_fail(f->cli, CLI_CORRUPT, "%s is damaged: %s", f->path, text);
    case MUSTER_E_VERSION:
        return cli_fail(f->cli, CLI_FAILED, "%s was written by a newer release: use the `muster` of that one", f->path);
    case MUSTER_E_NOT_FOUND:
        return cli_fail(f->cli, CLI_FAILED, "%s cannot be read: there is no such file", f->path);
    default:
        return cli_fail(f->cli, CLI_FAILED, "%s cannot be read: %s", f->path,
                        rc == MUSTER_E_IO && errno != 0 ? strerror(errno) : muster_strerror(rc));
    }
}

int snapshot_file_open(struct cli *cli, const char *path, struct snapshot_file *ret)
{
    char text[256] = "";
    const char *name;
    const char *dir = snapshot_path_split(path, &cli->arena, &name);
    *ret = (struct snapshot_file){.cli = cli, .path = path};
    arena_init(&ret->scratch, 0);
    int rc = store_port_posix_init(&ret->port, dir, true);
    if (rc < 0) {
        ret->port.ctx = NULL;
    } else {
        rc = store_backup_open(&ret->port, name, &ret->info, &ret->reader, text);
    }
    int code = rc < 0 ? not_read(ret, rc, text) : CLI_OK;
    if (code != CLI_OK) {
        snapshot_file_close(ret);
    }
    return code;
}

static void forget_set(struct snapshot_file *f)
{
    group_set_free(f->set);
    f->set = NULL;
}

void snapshot_file_close(struct snapshot_file *f)
{
    if (f->set != NULL) {
        forget_set(f);
    }
    progress_end(f->cli);
    store_backup_close(f->reader);
    f->reader = NULL;
    if (f->port.ctx != NULL) {
        store_port_posix_fini(&f->port);
    }
    f->port = (struct store_port){0};
    arena_fini(&f->scratch);
}

/* ---- shards ---- */

static int wrong(struct snapshot_file *f, uint32_t shard, const char *what)
{
    return cli_fail(f->cli, CLI_CORRUPT, "%s is damaged: shard %" PRIu32 ": %s", f->path, shard, what);
}

static int rebuild(struct snapshot_file *f, const struct store_backup_section *section)
{
    struct bytes run = {NULL, 1};
    f->set = group_set_new(&f->pool, section->shard);
    for (;;) {
        int rc = store_backup_next(f->reader, &run);
        if (rc < 0) {
            return not_read(f, rc, store_backup_problem(f->reader));
        }
        if (run.len == 0) {
            return CLI_OK;
        }
        arena_clear(&f->scratch);
        if (group_restore(f->set, run, &f->scratch) < 0) {
            return wrong(f, section->shard, "it holds a record that this program cannot read");
        }
    }
}

/* Whether the state is the one that was read from the cluster, and of this shard. */
static int check_state(struct snapshot_file *f, const struct store_backup_section *section)
{
    if (group_set_hash(f->set) != section->state_hash) {
        return wrong(f, section->shard, "the state does not have the hash that the file carries");
    }
    for (struct str id = group_set_next(f->set, STR_NULL); !str_is_null(id); id = group_set_next(f->set, id)) {
        if (hash_bytes(id.ptr, (size_t)id.len, 0) % f->info.shard_count != section->shard) {
            return wrong(f, section->shard, "it holds a group that belongs to another shard");
        }
    }
    if (section->shard == 0) {
        f->catalog = section->index;
    }
    uint64_t acted_on = (uint64_t)group_set_cursor(f->set);
    f->acted_on = acted_on > f->acted_on ? acted_on : f->acted_on;
    return CLI_OK;
}

int snapshot_file_next(struct snapshot_file *f, struct store_backup_section *ret, struct group_set **ret_set)
{
    if (f->set != NULL) {
        forget_set(f);
    }
    *ret_set = NULL;
    progress(f->cli, "shards", f->shards_read++, f->info.shard_count);
    int rc = store_backup_section(f->reader, ret);
    if (rc == MUSTER_E_NOT_FOUND) {
        progress_end(f->cli);
        return f->acted_on <= f->catalog ? CLI_OK : wrong(f, 0, "the catalogue is older than what another shard has acted on");
    }
    if (rc < 0) {
        return not_read(f, rc, store_backup_problem(f->reader));
    }
    int code = rebuild(f, ret);
    code = code != CLI_OK ? code : check_state(f, ret);
    if (code == CLI_OK) {
        *ret_set = f->set;
    }
    return code;
}

/* ---- showing ---- */

static const char *const headers[] = {"SHARD", "INDEX", "TERM", "GROUPS", "MEMBERS", "OFFSETS", "TOPICS", "STATE-HASH"};

void snapshot_row_headers(const char *const **ret, int *ret_count)
{
    *ret = headers;
    *ret_count = (int)COUNT_OF(headers);
}

void snapshot_row(struct cli *cli, struct table *t, void *json_array, const struct store_backup_section *section,
                  const struct group_set *set)
{
    static const char *const names[] = {"shard", "index", "term", "groups", "members", "offsets", "topics"};
    struct group_set_counts counts;
    group_set_counts(set, &counts);
    const int64_t numbers[] = {section->shard, (int64_t)section->index, (int64_t)section->term, counts.groups,
                               counts.members, counts.offsets,          counts.topics};
    struct str hash = arena_printf(&cli->arena, "%016" PRIx64, section->state_hash);
    json_t *one = json_object();
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        table_number(t, numbers[i]);
        out_json_set(one, names[i], json_integer(numbers[i]));
    }
    table_text(t, hash);
    out_json_set(one, "stateHash", out_json_text(hash));
    out_json_add(json_array, one);
}
