/* turn.c: one turn of the loop, and what belongs to it once.
 *
 * The loop polls and calls back for every socket that has something; requests are decided in these calls. After them comes on_check: whatever had to wait for
 * an answer goes on, deadlines fire (all sockets have been read by then, so nobody is late whose heartbeat lies in one), the records of the turn become one
 * entry a shard, the replica hands them to disk and peers, and answers leave with one write a connection. */
#include "server.h"

#include <string.h>

int64_t server_now_us(void)
{
    return (int64_t)(uv_hrtime() / 1000);
}

static void on_spin(uv_idle_t *idle)
{
    (void)idle;
}

void turn_open(struct server *s)
{
    if (s->turn.open) {
        return;
    }
    int64_t now = server_now_us();
    s->turn.open = true;
    s->turn.opened_us = now;
    if (s->turn.check.data != NULL) {
        uv_idle_start(&s->turn.spin, on_spin); /* a turn that a timer began must come to its end before the loop sleeps */
    }
    coord_turn_begin(s->coord, now);
    api_turn_begin(s->api, now);
}

void turn_wake(struct server *s)
{
    uv_idle_start(&s->turn.spin, on_spin);
}

/* Ends the loop's sleep, no more: what is due fires in on_check, when the sockets have been read. */
static void on_timer(uv_timer_t *timer)
{
    struct server *s = timer->data;
    s->turn.armed_us = INT64_MAX;
    turn_wake(s);
}

static void arm(struct server *s, int64_t next_us)
{
    if (next_us == s->turn.armed_us) {
        return;
    }
    s->turn.armed_us = next_us;
    if (next_us == INT64_MAX) {
        uv_timer_stop(&s->turn.timer);
        return;
    }
    int64_t in_us = next_us - server_now_us();
    uv_timer_start(&s->turn.timer, on_timer, in_us > 0 ? (uint64_t)(in_us + 999) / 1000 : 0, 0);
}

/* Sleeps until the next deadline, or not at all while something is left to do. */
static void plan(struct server *s)
{
    int64_t next = coord_next_deadline_us(s->coord);
    int64_t api_next = api_next_deadline_us(s->api);
    if (next == 0 || api_take_submitted(s->api) || net_has_resumable(s->net)) {
        uv_idle_start(&s->turn.spin, on_spin);
        return;
    }
    uv_idle_stop(&s->turn.spin);
    arm(s, next < api_next ? next : api_next);
}

/* How long whoever came at its beginning had to wait for the turn's end: the loop's lag, as others call it. */
static void measure(struct server *s)
{
    int64_t took_us = server_now_us() - s->turn.opened_us;
    ops_observe(&s->turn.took, took_us);
    net_pressure(s->net, took_us);
    if (took_us > s->turn.longest_us[0]) {
        s->turn.longest_us[0] = took_us;
    }
}

void turn_second(struct server *s)
{
    memmove(s->turn.longest_us + 1, s->turn.longest_us, (TURN_SECONDS - 1) * sizeof(s->turn.longest_us[0]));
    s->turn.longest_us[0] = 0;
}

int64_t turn_lag_us(const struct server *s)
{
    int64_t longest_us = 0;
    for (size_t i = 0; i < TURN_SECONDS; i++) {
        longest_us = s->turn.longest_us[i] > longest_us ? s->turn.longest_us[i] : longest_us;
    }
    return longest_us;
}

static void on_check(uv_check_t *check)
{
    struct server *s = check->data;
    turn_open(s);
    net_resume(s->net);
    members_look(s);
    coord_expire(s->coord);
    api_turn_end(s->api);
    if (s->register_soon && !s->ending) {
        s->register_soon = false;
        api_register_self(s->api);
    }
    api_take_submitted(s->api);
    coord_turn_end(s->coord);
    replica_flush(s->replica, server_now_us());
    net_flush(s->net);
    s->turn.open = false;
    measure(s);
    plan(s);
}

void turn_start(struct server *s)
{
    uv_check_init(&s->loop, &s->turn.check);
    uv_idle_init(&s->loop, &s->turn.spin);
    uv_timer_init(&s->loop, &s->turn.timer);
    s->turn.check.data = s->turn.spin.data = s->turn.timer.data = s;
    s->turn.armed_us = INT64_MAX;
    uv_check_start(&s->turn.check, on_check);
}

void turn_stop(struct server *s)
{
    uv_close((uv_handle_t *)&s->turn.check, NULL);
    uv_close((uv_handle_t *)&s->turn.spin, NULL);
    uv_close((uv_handle_t *)&s->turn.timer, NULL);
}
