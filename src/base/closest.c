#include <muster/closest.h>

/* Edit distance between two short words; longer ones are no misspelling of anything. */
static int distance(struct str a, struct str b)
{
    enum { LONGEST = 80 };
    int row[LONGEST + 1] = {0};
    if (a.len > LONGEST || b.len > LONGEST) {
        return LONGEST;
    }
    for (int j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (int i = 1; i <= a.len; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= b.len; j++) {
            int changed = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = changed < shorter ? changed : shorter;
        }
    }
    return b.len > 0 ? row[b.len] : a.len;
}

void closest_init(struct closest *c, struct str word, int most)
{
    *c = (struct closest){word, STR_NULL, most + 1};
}

void closest_offer(struct closest *c, struct str candidate)
{
    int d = distance(c->word, candidate);
    if (d < c->distance) {
        c->distance = d;
        c->found = candidate;
    }
}
