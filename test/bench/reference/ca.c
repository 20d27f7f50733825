/* Subscribes to PVs with libca, as an archiver does, and measures the cost.
 *
 *   reference-ca FORMAT COUNT SECONDS
 *
 * FORMAT is the format of a PV's name with its number, such as SIM:NOISE:%04d. If no
 * server has the PVs, the program searches for SECONDS. It prints lines with a name and a
 * number. connected_s is the time until all PVs were connected. events and cpu_us are the
 * number of events and the CPU time of the process in the SECONDS after that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cadef.h>
#include <epicsAtomic.h>

static int connected;
static size_t events;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static double cpu(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static void update(struct event_handler_args args) {
    if (args.status == ECA_NORMAL) epicsAtomicIncrSizeT(&events);
}

static void connection(struct connection_handler_args args) {
    if (args.op != CA_OP_CONN_UP) {
        epicsAtomicDecrIntT(&connected);
        return;
    }
    epicsAtomicIncrIntT(&connected);
    if (!ca_puser(args.chid)) { /* subscribe once; libca repeats it after a reconnect */
        ca_set_puser(args.chid, &connected);
        ca_create_subscription(DBR_TIME_DOUBLE, 1, args.chid, DBE_LOG | DBE_ALARM, update, NULL, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s FORMAT COUNT SECONDS\n", argv[0]);
        return 2;
    }
    int count = atoi(argv[2]), seconds = atoi(argv[3]);
    SEVCHK(ca_context_create(ca_enable_preemptive_callback), "ca_context_create");
    double begun = now();
    for (int i = 0; i < count; i++) {
        char name[256];
        chid id;
        snprintf(name, sizeof name, argv[1], i);
        SEVCHK(ca_create_channel(name, connection, NULL, CA_PRIORITY_DEFAULT, &id), "ca_create_channel");
    }
    ca_flush_io();
    while (epicsAtomicGetIntT(&connected) < count && now() - begun < seconds) usleep(1000);
    if (epicsAtomicGetIntT(&connected) < count) {
        printf("connected %d\ncpu_us %.0f\n", epicsAtomicGetIntT(&connected), cpu());
        return 0;
    }
    printf("connected_s %.3f\n", now() - begun);
    sleep(2); /* all subscriptions are sent, and the first values arrive */
    size_t before = epicsAtomicGetSizeT(&events);
    double cost = cpu();
    sleep(seconds);
    cost = cpu() - cost;
    printf("events %zu\ncpu_us %.0f\n", epicsAtomicGetSizeT(&events) - before, cost);
    return 0; /* the process ends without clearing the channels */
}
