// A modelled disk in C: two reads, a write and its flush, where their time went, and what a power cut leaves of another write.
//
//     cargo build --release -p seekwise-capi
//     cc -I crates/capi/include crates/capi/examples/disk.c target/release/libseekwise_capi.a -lpthread -ldl -lm -o disk

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seekwise.h"

static void check(SeekwiseStatus status)
{
    if (status != SEEKWISE_STATUS_OK) {
        fprintf(stderr, "%s\n", seekwise_status_text(status));
        exit(1);
    }
}

static void submit(SeekwiseDisk *disk, uint64_t now, uint32_t tag, SeekwiseOp op, uint64_t lba, uint32_t sectors)
{
    SeekwiseRequest request = {.tag = tag, .op = op, .lba = lba, .sectors = sectors};
    check(seekwise_submit(disk, now, &request, NULL));
}

static void print(const SeekwiseCompletion *done)
{
    printf("request %" PRIu32 ": outcome %" PRIu32 ", %" PRIu64 " ns\n", done->tag, done->outcome,
           done->finished_ns - done->submitted_ns);
    for (size_t part = 0; part < SEEKWISE_PARTS; part++) {
        char name[32];
        check(seekwise_part_name(part, name, sizeof name));
        if (done->parts_ns[part] > 0)
            printf("  %-10s %10" PRIu64 " ns\n", name, done->parts_ns[part]);
    }
}

// Advances to the next instant until a request completes; the instant at which it did.
static uint64_t wait_for(SeekwiseDisk *disk, SeekwiseCompletion *done)
{
    while (seekwise_completion(disk, done) == SEEKWISE_STATUS_NONE)
        check(seekwise_advance(disk, seekwise_next(disk)));
    return done->finished_ns;
}

int main(int count, char **words)
{
    const char *name = count > 1 ? words[1] : "barracuda-7200.7-ncq";
    SeekwiseDisk *disk;
    char why[256];
    if (seekwise_open(name, 1, &disk, why, sizeof why) != SEEKWISE_STATUS_OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    check(seekwise_set(disk, 0, "landings", "on"));

    submit(disk, 0, 1, SEEKWISE_OP_READ, 1000000, 8);
    submit(disk, 0, 2, SEEKWISE_OP_READ, 150000000, 8);
    submit(disk, 0, 3, SEEKWISE_OP_WRITE, 2000000, 64);
    uint64_t now = 0;
    SeekwiseCompletion done;
    for (int left = 4; left > 0; left--) {
        now = wait_for(disk, &done);
        print(&done);
        if (done.tag == 3) // a flush covers the writes whose completions were collected
            submit(disk, now, 4, SEEKWISE_OP_FLUSH, 0, 0);
    }

    submit(disk, now, 5, SEEKWISE_OP_WRITE, 3000000, 64);
    now = wait_for(disk, &done);
    check(seekwise_control(disk, now, SEEKWISE_CONTROL_POWER_CUT));
    for (SeekwiseLanding left; seekwise_landing(disk, &left) == SEEKWISE_STATUS_OK;)
        printf("write %" PRIu64 ": %" PRIu32 " sectors at %" PRIu64 " %s\n", left.stamp, left.sectors, left.lba,
               left.kind == SEEKWISE_LANDING_KIND_LANDED ? "on the medium" : "lost");
    seekwise_free(disk);
    return 0;
}
