/* bench.h: what the benchmarks of the assignors share. */
#ifndef MUSTER_TESTS_BENCH_ASSIGN_BENCH_H
#define MUSTER_TESTS_BENCH_ASSIGN_BENCH_H

enum { ROUNDS_MOST = 101 };

double now_ms(void);                                         /* of processor time */
void print_took(const char *what, double *took, int rounds); /* the median and the longest */

/* Each prints one line a shape. */
void bench_streams(int rounds);
void bench_consumer(int rounds);

#endif
