/* ops.h: what operators look at. An HTTP listener for one GET at a time (/metrics in Prometheus' text form, /health), and the words for writing metrics. */
#ifndef MUSTER_OPS_H
#define MUSTER_OPS_H

#include <muster/base.h>

struct uv_loop_s;
struct ops;

struct ops_handler {
    void *ctx;
    void (*metrics)(void *ctx, struct buf *out);         /* appends with the functions below */
    bool (*health)(void *ctx, struct buf *out);          /* appends lines for people; false: not healthy, the status is 503 */
};

int  ops_open(struct ops **ret, struct uv_loop_s *loop, const char *host, uint16_t port, const struct ops_handler *handler, uint16_t *ret_port, const char **ret_why);
/* done runs from the loop when all is closed; the memory is freed then. */
void ops_close(struct ops *o, void (*done)(void *ctx), void *ctx);

/* ---- Prometheus text --------------------------------------------------------------------------------------------------------- */

enum ops_kind { OPS_COUNTER, OPS_GAUGE };
/* The head of a metric; its values follow. */
void ops_metric(struct buf *out, const char *name, enum ops_kind kind, const char *help);
/* One value; label NULL: none. The label's value is escaped. */
void ops_value(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t value);

#endif
