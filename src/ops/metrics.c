/* metrics.c: metrics in Prometheus' text form. */
#include <muster/ops.h>

#include <stdatomic.h>
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
    put_text(out, kind == OPS_COUNTER ? " counter\n" : kind == OPS_GAUGE ? " gauge\n" : " histogram\n");
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

static void put_sample(struct buf *out, const char *name, const char *label, struct str label_value, const char *value)
{
    put_text(out, name);
    if (label != NULL) {
        put_label(out, label, label_value);
    }
    put_text(out, " ");
    put_text(out, value);
    put_text(out, "\n");
}

void ops_value(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t value)
{
    char number[32];
    snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
    put_sample(out, name, label, label_value, number);
}

static void micro_text(char dst[32], uint64_t micro)
{
    int len = snprintf(dst, 32, "%llu.%06llu", (unsigned long long)(micro / 1000000), (unsigned long long)(micro % 1000000));
    while (dst[len - 1] == '0') {
        dst[--len] = '\0';
    }
    if (dst[len - 1] == '.') {
        dst[--len] = '\0';
    }
}

void ops_value_micro(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t micro)
{
    char number[32];
    micro_text(number, micro);
    put_sample(out, name, label, label_value, number);
}

void ops_value_none(struct buf *out, const char *name, const char *label, struct str label_value)
{
    put_sample(out, name, label, label_value, "+Inf");
}

/* ---- histograms ---- */

static uint64_t bucket_us(const struct ops_histogram *h, size_t i)
{
    return (uint64_t)(h->first_us > 0 ? h->first_us : 1000) << i;
}

void ops_observe(struct ops_histogram *h, int64_t took_us)
{
    uint64_t us = took_us > 0 ? (uint64_t)took_us : 0;
    size_t i = 0;
    while (i < OPS_BUCKETS && us > bucket_us(h, i)) {
        i++;
    }
    atomic_fetch_add_explicit(&h->counts[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, us, memory_order_relaxed);
}

/* What stands between braces before another label (`before`), or alone. */
static void put_histogram(struct buf *out, const char *name, const char *before, const char *label, struct str label_value,
                          const struct ops_histogram *h)
{
    char part[128], le[32], le_label[64];
    uint64_t sum = 0;
    snprintf(le_label, sizeof(le_label), "%sle", before);
    snprintf(part, sizeof(part), "%s_bucket", name);
    for (size_t i = 0; i <= OPS_BUCKETS; i++) {
        sum += atomic_load_explicit(&h->counts[i], memory_order_relaxed);
        if (i < OPS_BUCKETS) {
            micro_text(le, bucket_us(h, i));
        }
        ops_value(out, part, le_label, i < OPS_BUCKETS ? str_of(le) : STR("+Inf"), sum);
    }
    snprintf(part, sizeof(part), "%s_sum", name);
    ops_value_micro(out, part, label, label_value, atomic_load_explicit(&h->sum_us, memory_order_relaxed));
    snprintf(part, sizeof(part), "%s_count", name);
    ops_value(out, part, label, label_value, sum);
}

void ops_histogram_of(struct buf *out, const char *name, const char *label, uint32_t label_value, const struct ops_histogram *h)
{
    char before[48], value[16];
    snprintf(value, sizeof(value), "%u", label_value);
    snprintf(before, sizeof(before), "%s=\"%s\",", label, value);
    put_histogram(out, name, before, label, str_of(value), h);
}

void ops_histogram(struct buf *out, const char *name, const char *help, const struct ops_histogram *h)
{
    ops_metric(out, name, OPS_HISTOGRAM, help);
    put_histogram(out, name, "", NULL, STR_NULL, h);
}
