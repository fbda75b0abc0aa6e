/* metrics.c: metrics in Prometheus' text form. */
#include <muster/ops.h>

#include <stdio.h>
#include <string.h>

static void put_text(struct buf *out, const char *text)
{
    MUSTER_CHECK(buf_put(out, text, strlen(text)) == 0);
}

void ops_metric(struct buf *out, const char *name, enum ops_kind kind, const char *help)
{
    put_text(out, "# HELP ");
    put_text(out, name);
    put_text(out, " ");
    put_text(out, help);
    put_text(out, "\n# TYPE ");
    put_text(out, name);
    put_text(out, kind == OPS_COUNTER ? " counter\n" : " gauge\n");
}

static void put_label(struct buf *out, const char *label, struct str value)
{
    put_text(out, "{");
    put_text(out, label);
    put_text(out, "=\"");
    for (int32_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\n') {
            put_text(out, "\\n");
            continue;
        }
        if (c == '"' || c == '\\') {
            put_text(out, "\\");
        }
        MUSTER_CHECK(buf_put(out, &c, 1) == 0);
    }
    put_text(out, "\"}");
}

void ops_value(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t value)
{
    char number[32];
    put_text(out, name);
    if (label != NULL) {
        put_label(out, label, label_value);
    }
    snprintf(number, sizeof(number), " %llu\n", (unsigned long long)value);
    put_text(out, number);
}
