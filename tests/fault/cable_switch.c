/* cable_switch.c: a switch in a process, whose cables can be slow, lossy and cut in one direction, where the kernel has no netem.
 *
 *   cable_switch CONTROL MAC NAME [MAC NAME]...
 *
 * makes a tap device for each NAME, whose other end has the MAC given, and carries the Ethernet frames between them until it is killed. The
 * devices may be moved to other network namespaces. Prints a line when they are there.
 *
 * CONTROL is a file of struct cable, one for each pair of devices: row * count + column says what happens to frames from the row's device to the
 * column's. It is mapped, so what a test writes into it holds from the next frame on. Frames of a pair keep their order, as on a real cable:
 * a jitter delays those behind, too. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { PORTS_MAX = 8, FRAME_BYTES = 10240, QUEUE_FRAMES = 4096, MAC_BYTES = 6 };

struct cable {
    uint32_t loss_ppm; /* so many of a million frames are lost; 1,000,000: it is cut */
    uint32_t delay_us;
    uint32_t jitter_us; /* up to so much more */
};

struct frame {
    int64_t due_us;
    size_t len;
    uint8_t *data;
};

/* Frames on their way from one device to another; those that find it full are lost. */
struct queue {
    struct frame frames[QUEUE_FRAMES];
    size_t first, count;
    int64_t last_due_us;
};

struct port {
    int fd;
    uint8_t mac[MAC_BYTES];
};

static struct port ports[PORTS_MAX];
static size_t port_count;
static volatile struct cable *cables;
static struct queue *queues;

static void fail(const char *what)
{
    fprintf(stderr, "cable_switch: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Which frames are lost need not be the same twice: no test asks for that. */
static uint32_t draw_below(uint32_t limit)
{
    static uint64_t state = 0x9e3779b97f4a7c15U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 32) % limit);
}

static void open_port(struct port *p, const char *mac, const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    unsigned bytes[MAC_BYTES];
    if (sscanf(mac, "%x:%x:%x:%x:%x:%x", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5]) != MAC_BYTES) {
        errno = EINVAL;
        fail(mac);
    }
    for (size_t i = 0; i < MAC_BYTES; i++) {
        p->mac[i] = (uint8_t)bytes[i];
    }
    (void)snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    p->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (p->fd < 0 || ioctl(p->fd, TUNSETIFF, &request) < 0) {
        fail(name);
    }
}

static void map_control(const char *path)
{
    size_t bytes = port_count * port_count * sizeof(struct cable);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0) {
        fail(path);
    }
    void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        fail(path);
    }
    cables = at;
    close(fd);
}

static void enqueue(size_t from, size_t to, const uint8_t *data, size_t len, int64_t now)
{
    size_t at = from * port_count + to;
    struct queue *q = &queues[at];
    uint32_t jitter = cables[at].jitter_us;
    uint32_t loss = cables[at].loss_ppm;
    if (q->count == QUEUE_FRAMES || (loss > 0 && draw_below(1000000) < loss)) {
        return;
    }
    uint8_t *copy = malloc(len);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, data, len);
    int64_t due = now + cables[at].delay_us + (jitter > 0 ? draw_below(jitter) : 0);
    q->last_due_us = due > q->last_due_us ? due : q->last_due_us;
    q->frames[(q->first + q->count++) % QUEUE_FRAMES] = (struct frame){.due_us = q->last_due_us, .len = len, .data = copy};
}

/* A frame goes to whose address it has; to everybody else when it is nobody's (who asks for an address). */
static void take(size_t from, const uint8_t *data, size_t len, int64_t now)
{
    bool known = false;
    for (size_t to = 0; to < port_count; to++) {
        known = known || memcmp(data, ports[to].mac, MAC_BYTES) == 0;
    }
    for (size_t to = 0; to < port_count; to++) {
        if (to != from && (!known || memcmp(data, ports[to].mac, MAC_BYTES) == 0)) {
            enqueue(from, to, data, len, now);
        }
    }
}

static void receive(int64_t now)
{
    static uint8_t buffer[FRAME_BYTES];
    for (size_t from = 0; from < port_count; from++) {
        ssize_t len = read(ports[from].fd, buffer, sizeof(buffer));
        while (len > 0) {
            if (len >= 2 * MAC_BYTES) {
                take(from, buffer, (size_t)len, now);
            }
            len = read(ports[from].fd, buffer, sizeof(buffer));
        }
    }
}

/* Delivers what is due; when the next frame is. A device that takes nothing (it is down) loses it. */
static int64_t deliver(int64_t now)
{
    int64_t next = INT64_MAX;
    for (size_t at = 0; at < port_count * port_count; at++) {
        struct queue *q = &queues[at];
        while (q->count > 0 && q->frames[q->first].due_us <= now) {
            struct frame *f = &q->frames[q->first];
            ssize_t lost = write(ports[at % port_count].fd, f->data, f->len);
            (void)lost;
            free(f->data);
            q->first = (q->first + 1) % QUEUE_FRAMES;
            q->count--;
        }
        if (q->count > 0 && q->frames[q->first].due_us < next) {
            next = q->frames[q->first].due_us;
        }
    }
    return next;
}

static void carry(void)
{
    struct pollfd polls[PORTS_MAX];
    for (size_t i = 0; i < port_count; i++) {
        polls[i] = (struct pollfd){.fd = ports[i].fd, .events = POLLIN};
    }
    int64_t next = INT64_MAX;
    for (;;) {
        int64_t wait_us = next == INT64_MAX ? 1000000 : next - now_us();
        wait_us = wait_us > 0 ? wait_us : 0;
        struct timespec wait = {.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000};
        if (ppoll(polls, port_count, &wait, NULL) < 0 && errno != EINTR) {
            fail("ppoll");
        }
        receive(now_us());
        next = deliver(now_us());
    }
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc % 2 != 0 || (argc - 2) / 2 > PORTS_MAX) {
        fprintf(stderr, "usage: cable_switch CONTROL MAC NAME [MAC NAME]...\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with its test, however that ends */
    port_count = (size_t)(argc - 2) / 2;
    for (size_t i = 0; i < port_count; i++) {
        open_port(&ports[i], argv[2 + 2 * i], argv[3 + 2 * i]);
    }
    map_control(argv[1]);
    queues = calloc(port_count * port_count, sizeof(*queues));
    if (queues == NULL) {
        fail("queues");
    }
    puts("ready");
    fflush(stdout);
    carry();
}
