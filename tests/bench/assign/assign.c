/* assign.c: how long the assignors take.
 *
 *     assign [streams|consumer] [--rounds N]     one line a shape; milliseconds of processor time, the median of the rounds (5) and the longest */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5 };

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int double_cmp(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void print_took(const char *what, double *took, int rounds)
{
    qsort(took, (size_t)rounds, sizeof(took[0]), double_cmp);
    printf("  %s %.2f (%.2f)", what, took[rounds / 2], took[rounds - 1]);
}

int main(int argc, char **argv)
{
    int rounds = ROUNDS, at = 1;
    const char *only = argc > 1 && argv[1][0] != '-' ? argv[at++] : NULL;
    if (argc == at + 2 && strcmp(argv[at], "--rounds") == 0) {
        rounds = (int)strtol(argv[at + 1], NULL, 10);
        at += 2;
    }
    if (argc != at || rounds < 1 || rounds > ROUNDS_MOST ||
        (only != NULL && strcmp(only, "streams") != 0 && strcmp(only, "consumer") != 0)) {
        fprintf(stderr, "assign [streams|consumer] [--rounds 1..%d]\n", ROUNDS_MOST);
        return 2;
    }
    if (only == NULL || strcmp(only, "streams") == 0) {
        bench_streams(rounds);
    }
    if (only == NULL || strcmp(only, "consumer") == 0) {
        bench_consumer(rounds);
    }
    return 0;
}
