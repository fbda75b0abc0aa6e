/* config_internal.h: what the files of the configuration share among themselves. */
#ifndef MUSTER_CONFIG_INTERNAL_H
#define MUSTER_CONFIG_INTERNAL_H

#include "config.h"

struct config_section {
    const char *title;
    size_t first; /* index in config_keys */
};
extern const struct config_section config_sections[];
extern const size_t config_section_count;

/* Appends one message with a newline. */
__attribute__((format(printf, 2, 3))) void config_complain(struct buf *errors, const char *format, ...);
/* What may follow "unknown key X": a sentence that helps, or an empty string. */
struct str config_hint(struct str unknown, struct arena *arena);
/* Calls back for each entry of a comma separated list, trimmed. */
void config_each_entry(const char *list, void (*each)(void *ctx, struct str entry), void *ctx);
struct str config_trim_text(struct str s);
/* The i-th word of "a|b|c"; null past the end. */
struct str config_choice(const char *choices, int32_t index);

#endif
