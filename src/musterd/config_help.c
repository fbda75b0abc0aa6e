/* --help-config: the manual, from the table. */
#include <inttypes.h>
#include <string.h>

#include "config_internal.h"

enum { MANUAL_WIDTH = 100 };

/* Breaks a text at its blanks into indented lines. */
static void print_wrapped(FILE *out, const char *text)
{
    const char *p = text;
    while (*p != '\0') {
        size_t len = strlen(p);
        if (len > MANUAL_WIDTH) {
            len = MANUAL_WIDTH;
            while (len > 1 && p[len] != ' ') {
                len--;
            }
        }
        fprintf(out, "      %.*s\n", (int)len, p);
        p += len;
        while (*p == ' ') {
            p++;
        }
    }
}

static void print_type(FILE *out, const struct config_row *key)
{
    switch (key->kind) {
    case CONFIG_BOOL:
    case CONFIG_ENUM:
        fprintf(out, "%s", key->choices);
        return;
    case CONFIG_INT16:
    case CONFIG_INT32:
    case CONFIG_INT64:
        fprintf(out, "%" PRId64 " to %" PRId64, key->min, key->max);
        return;
    case CONFIG_STRING:
        fprintf(out, "text");
        return;
    case CONFIG_LIST:
        fprintf(out, "list%s%s", key->choices != NULL ? " of " : "", key->choices != NULL ? key->choices : "");
        return;
    }
}

static void print_key(FILE *out, const struct config_row *key)
{
    fprintf(out, "\n  %s", key->name);
    if (key->default_text == NULL) {
        fprintf(out, "    (required; ");
    } else {
        fprintf(out, "=%s    (", key->default_text);
    }
    print_type(out, key);
    if ((key->flags & CONFIG_DYNAMIC) != 0) {
        fprintf(out, "; may change while the node runs");
    }
    fprintf(out, ")\n");
    print_wrapped(out, key->help);
}

void config_help(FILE *out)
{
    size_t section = 0;
    fputs("The configuration is a properties file: a line key=value each, lists separated by commas, comments behind a # at the start of\n"
          "a line. Keys that Apache Kafka has carry its name and, unless said otherwise, its default. An unknown key is an error. Shown\n"
          "here with their defaults:\n",
          out);
    for (size_t i = 0; i < config_key_count; i++) {
        if (section < config_section_count && config_sections[section].first == i) {
            fprintf(out, "\n%s\n", config_sections[section].title);
            section++;
        }
        print_key(out, &config_keys[i]);
    }
}
