#include "internal.h"

void request_list_init(struct request_list *l)
{
    l->first = NULL;
    l->last = &l->first;
    l->count = 0;
}

void request_list_add(struct request_list *l, struct coord_request *r)
{
    r->in.next = NULL;
    *l->last = r;
    l->last = &r->in.next;
    l->count++;
}

struct coord_request *request_list_take(struct request_list *l)
{
    struct coord_request *r = l->first;
    if (r == NULL)
        return NULL;
    l->first = r->in.next;
    if (l->first == NULL)
        l->last = &l->first;
    l->count--;
    r->in.next = NULL;
    return r;
}

bool request_list_remove(struct request_list *l, struct coord_request *r)
{
    struct coord_request **link = &l->first;
    while (*link != NULL && *link != r)
        link = &(*link)->in.next;
    if (*link == NULL)
        return false;
    *link = r->in.next;
    if (l->last == &r->in.next)
        l->last = link;
    l->count--;
    r->in.next = NULL;
    return true;
}

void request_list_move(struct request_list *from, struct request_list *to)
{
    struct coord_request *r;
    while ((r = request_list_take(from)) != NULL)
        request_list_add(to, r);
}
