/* ops.h: what operators look at. An HTTP listener for one GET at a time (/livez, /readyz, /health, /metrics in Prometheus' text form), and the words for
 * writing metrics. */
#ifndef MUSTER_OPS_H
#define MUSTER_OPS_H

#include <muster/base.h>

struct uv_loop_s;
struct ops;

/* One thing that /livez and /readyz ask, as those of Kubernetes and etcd do. */
struct ops_check {
    const char *name;                            /* of letters, digits and hyphens: it is a word of the URL */
    bool live;                                   /* /livez asks it: a process that fails it is better started anew */
    bool (*good)(void *ctx, struct buf *why);    /* false: it failed, and a few words for people were appended to why */
};

struct ops_handler {
    void *ctx;
    void (*metrics)(void *ctx, struct buf *out);         /* appends with the functions below */
    bool (*health)(void *ctx, struct buf *out);          /* appends lines for people; false: not healthy, the status is 503 */
    const struct ops_check *checks;              /* borrowed as long as the listener lives; /readyz asks all of them */
    size_t check_count;
};

int  ops_open(struct ops **ret, struct uv_loop_s *loop, const char *host, uint16_t port, const struct ops_handler *handler, uint16_t *ret_port, const char **ret_why);
/* done runs from the loop when all is closed; the memory is freed then. */
void ops_close(struct ops *o, void (*done)(void *ctx), void *ctx);

/* ---- probes ------------------------------------------------------------------------------------------------------------------- */

/* Answers the target of a request ("/readyz?verbose&exclude=peers", "/livez/loop") if it names a probe: 200 all that was asked is good, 503 something is not, 404
 * there is no such check; the text, in the form of Kubernetes and etcd, is appended to out. 0: the target is no probe's. */
int ops_probe(const struct ops_handler *handler, struct str target, struct buf *out);

/* ---- Prometheus text --------------------------------------------------------------------------------------------------------- */

enum ops_kind { OPS_COUNTER, OPS_GAUGE, OPS_HISTOGRAM };
/* The head of a metric; its values follow. */
void ops_metric(struct buf *out, const char *name, enum ops_kind kind, const char *help);
/* One value; label NULL: none. The label's value is escaped. */
void ops_value(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t value);
/* The same of a value in millionths: 1500000 is written as 1.5. For seconds. */
void ops_value_micro(struct buf *out, const char *name, const char *label, struct str label_value, uint64_t micro);

/* "+Inf": a limit that is none. */
void ops_value_none(struct buf *out, const char *name, const char *label, struct str label_value);

/* How long something takes. Buckets double: from 1 ms to 8.192 s, which are those of etcd's histograms of its disk, or from first_us on. Counting is safe from any thread. */
enum { OPS_BUCKETS = 14 };
struct ops_histogram {
    uint32_t first_us;                           /* the first bucket's bound; 0: 1 ms. Set before anything is counted */
    _Atomic uint64_t counts[OPS_BUCKETS + 1];    /* of each bucket alone; the last is what took longer than all */
    _Atomic uint64_t sum_us;
};
void ops_observe(struct ops_histogram *h, int64_t took_us);
/* Values without a head, of one of several that a label tells apart. */
void ops_histogram_of(struct buf *out, const char *name, const char *label, uint32_t label_value, const struct ops_histogram *h);
/* Head and values. */
void ops_histogram(struct buf *out, const char *name, const char *help, const struct ops_histogram *h);

#endif
