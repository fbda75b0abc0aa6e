/* closest.h: what somebody may have meant who wrote a word that there is not. Words are offered one after the other; the closest one is kept, by the number of
 * letters that are to be changed, added or left out. */
#ifndef MUSTER_CLOSEST_H
#define MUSTER_CLOSEST_H

#include <muster/base.h>

struct closest {
    struct str word;
    struct str found; /* null: none was close enough; borrowed */
    int distance;     /* of what is found; before that, one more than is allowed */
};
void closest_init(struct closest *c, struct str word, int most); /* most: how many letters may differ */
void closest_offer(struct closest *c, struct str candidate);

#endif
