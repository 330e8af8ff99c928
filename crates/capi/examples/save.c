// A drive of one's own from its profile's text, saved with requests in flight, restored, and run on: both disks give equal answers.
//
//     cargo build --release -p seekwise-capi && sh crates/capi/install.sh PREFIX
//     export PKG_CONFIG_PATH=PREFIX/lib/pkgconfig LD_LIBRARY_PATH=PREFIX/lib
//     cc save.c $(pkg-config --cflags --libs seekwise) -o save
//     ./save crates/drives/profiles/cheetah-15k.4.toml

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "seekwise.h"

#define REQUESTS 16

static void check(SeekwiseStatus status, const char *why)
{
    if (status != SEEKWISE_STATUS_OK) {
        fprintf(stderr, "%s\n", *why ? why : seekwise_status_text(status));
        exit(1);
    }
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!file || !text || fread(text, 1, (1 << 20) - 1, file) == 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

// Runs until all requests are answered; the sum of the instants at which they were.
static uint64_t finish(SeekwiseDisk *disk)
{
    uint64_t sum = 0;
    for (uint64_t next; (next = seekwise_next(disk)) != SEEKWISE_NEVER;) {
        check(seekwise_advance(disk, next), "");
        for (SeekwiseCompletion done; seekwise_completion(disk, &done) == SEEKWISE_STATUS_OK;)
            sum += done.finished_ns;
    }
    return sum;
}

int main(int count, char **words)
{
    if (count < 2) {
        fprintf(stderr, "usage: save PROFILE.toml [STACK.toml]\n");
        return 2;
    }
    char *profile = read_file(words[1]), *stack = count > 2 ? read_file(words[2]) : NULL;
    SeekwiseDisk *disk, *restored;
    char why[1024] = "";
    check(seekwise_open_profile(profile, stack, 1, &disk, why, sizeof why), why);
    check(seekwise_keep_log(disk), ""); // before the first call
    SeekwiseStatus taken = SEEKWISE_STATUS_OK;
    for (uint32_t tag = 0; tag < REQUESTS && taken == SEEKWISE_STATUS_OK; tag++) { // or until the disk is full
        SeekwiseRequest request = {.tag = tag, .op = SEEKWISE_OP_WRITE, .lba = tag * 8000024ull, .sectors = 8};
        taken = seekwise_submit(disk, 0, &request, NULL);
    }

    uint64_t stamps[REQUESTS];
    size_t unsettled, size = 0;
    check(seekwise_unsettled(disk, stamps, REQUESTS, &unsettled), "");
    seekwise_save(disk, NULL, 0, &size); // only asks for the size
    uint8_t *bytes = malloc(size);
    check(seekwise_save(disk, bytes, size, &size), "");
    check(seekwise_restore(bytes, size, &restored, why, sizeof why), why);
    uint64_t sums[] = {finish(disk), finish(restored)};
    printf("seekwise %s: %zu writes may still land; %s\n", seekwise_version(), unsettled,
           sums[0] == sums[1] && sums[0] > 0 ? "equal answers after the restore" : "the answers differ");
    seekwise_free(disk);
    seekwise_free(restored);
    free(bytes);
    free(stack);
    free(profile);
    return sums[0] == sums[1] ? 0 : 1;
}
