/* pool.c: memory of replicated state with a count of what is in use. The count is of the sizes asked for, so that it is the same on
 * every node whatever its allocator does. */
#include <muster/base.h>

#include <stdlib.h>
#include <string.h>

void *pool_get(struct pool *p, size_t size)
{
    void *ptr = calloc(1, size > 0 ? size : 1);
    MUSTER_CHECK(ptr != NULL);
    p->bytes += size;
    p->objects++;
    return ptr;
}

void *pool_resize(struct pool *p, void *ptr, size_t old_size, size_t new_size)
{
    if (ptr == NULL) {
        return pool_get(p, new_size);
    }
    MUSTER_CHECK(p->bytes >= old_size);
    uint8_t *grown = realloc(ptr, new_size > 0 ? new_size : 1);
    MUSTER_CHECK(grown != NULL);
    if (new_size > old_size) {
        memset(grown + old_size, 0, new_size - old_size);
    }
    p->bytes = p->bytes - old_size + new_size;
    return grown;
}

void pool_put(struct pool *p, void *ptr, size_t size)
{
    if (ptr == NULL) {
        return;
    }
    MUSTER_CHECK(p->bytes >= size && p->objects > 0);
    p->bytes -= size;
    p->objects--;
    free(ptr);
}

struct bytes pool_bytes(struct pool *p, struct bytes b)
{
    if (b.len < 0) {
        return BYTES_NULL;
    }
    if (b.len == 0) {
        return (struct bytes){(const uint8_t *)"", 0};
    }
    uint8_t *ptr = pool_get(p, (size_t)b.len);
    memcpy(ptr, b.ptr, (size_t)b.len);
    return (struct bytes){ptr, b.len};
}

void pool_put_bytes(struct pool *p, struct bytes b)
{
    if (b.len > 0) {
        pool_put(p, (void *)(uintptr_t)b.ptr, (size_t)b.len);
    }
}

struct str pool_str(struct pool *p, struct str s)
{
    struct bytes copy = pool_bytes(p, bytes_of_str(s));
    return (struct str){(const char *)copy.ptr, copy.len};
}

void pool_put_str(struct pool *p, struct str s)
{
    pool_put_bytes(p, bytes_of_str(s));
}
