// Seekwise: a modelled disk for simulators and emulators in C. Made by cbindgen from crates/capi/src; do not edit.
//
// Open a disk, submit requests, advance to the next instant, collect completions. The caller has the clock: all times are
// nanoseconds from instant 0, they never run back, and nothing here sleeps. Equal calls give equal answers. How: docs/embed.md.
//
// Pointers point to what their types say, or are refused as null. A disk is used by one thread at a time, and not after it was
// freed.

#ifndef SEEKWISE_H
#define SEEKWISE_H

#include <stddef.h>
#include <stdint.h>

// The library's version, first part.
#define SEEKWISE_VERSION_MAJOR 0

// The library's version, second part. Before 1.0 a program needs the one that it was built with.
#define SEEKWISE_VERSION_MINOR 2

// The library's version, third part.
#define SEEKWISE_VERSION_PATCH 0

// An instant that never comes: nothing happens by itself.
#define SEEKWISE_NEVER UINT64_MAX

// The parts of a response. seekwise_part_name names them.
#define SEEKWISE_PARTS 12

// A request's longest run, in sectors of 512 bytes: what the longest command of ATA carries.
#define SEEKWISE_MOST_SECTORS 65536

// A request ends at most here, in sectors from the first: what ATA's addresses of 48 bits reach.
#define SEEKWISE_MOST_LBA 281474976710656

// Flag: a write completes only when it is on the medium, a read comes from the medium (force unit access).
#define SEEKWISE_FUA 1

// Flag: all earlier requests are served before, all later ones after (SCSI ordered).
#define SEEKWISE_ORDERED 2

// Flag: served next (SCSI head of queue).
#define SEEKWISE_HEAD_OF_QUEUE 4

// Flag: served before what is not so marked, where the drive makes that difference.
#define SEEKWISE_PRIORITY 8

// How a call ended.
typedef enum {
  // Done.
  SEEKWISE_STATUS_OK = 0,
  // There is nothing to hand over.
  SEEKWISE_STATUS_NONE = 1,
  // The disk has no room: advance to its next instant, collect completions, try again.
  SEEKWISE_STATUS_BUSY = 2,
  // A null pointer, a number that stands for nothing, or one out of its range.
  SEEKWISE_STATUS_BAD_ARGUMENT = 3,
  // The instant is before an earlier call's.
  SEEKWISE_STATUS_TIME_RAN_BACK = 4,
  // A request with this tag is in flight, or its completion was not collected.
  SEEKWISE_STATUS_TAG_IN_USE = 5,
  // No such drive, layer, key, value or tag.
  SEEKWISE_STATUS_UNKNOWN = 6,
  // The disk is off.
  SEEKWISE_STATUS_OFF = 7,
  // A fault of the model. The disk answers nothing else any more; free it.
  SEEKWISE_STATUS_PANICKED = 8,
  // The memory is too small for what was asked for; the size that it takes was given.
  SEEKWISE_STATUS_NO_ROOM = 9,
  // The disk keeps no log of its calls: seekwise_keep_log right after it was opened.
  SEEKWISE_STATUS_NO_LOG = 10,
  // The bytes are no saved state, damaged, of another format, or the model answers their calls otherwise.
  SEEKWISE_STATUS_BAD_STATE = 11,
} SeekwiseStatus;

// The operation of a request.
typedef enum {
  // Bytes from the medium.
  SEEKWISE_OP_READ = 0,
  // Bytes to the medium.
  SEEKWISE_OP_WRITE = 1,
  // A run of zeroes, no data on the link.
  SEEKWISE_OP_WRITE_ZEROES = 2,
  // Make all writes durable whose completions were collected. No sectors.
  SEEKWISE_OP_FLUSH = 3,
  // The sectors are no longer needed. The built-in drives do not support it.
  SEEKWISE_OP_TRIM = 4,
} SeekwiseOp;

// How a request ended.
typedef enum {
  // As it should.
  SEEKWISE_OUTCOME_DONE = 0,
  // Taken back by a reset or an abort, or by another's error.
  SEEKWISE_OUTCOME_ABORTED = 1,
  // The power went, or was away.
  SEEKWISE_OUTCOME_POWER_LOST = 2,
  // The request reaches past the end of the disk.
  SEEKWISE_OUTCOME_OUT_OF_RANGE = 3,
  // The disk does not support the operation.
  SEEKWISE_OUTCOME_UNSUPPORTED = 4,
  // The medium could not be read or written.
  SEEKWISE_OUTCOME_MEDIUM_ERROR = 5,
} SeekwiseOutcome;

// An action on a disk, besides requests.
typedef enum {
  // The supply fails: everything volatile is lost.
  SEEKWISE_CONTROL_POWER_CUT = 0,
  // An orderly power-off.
  SEEKWISE_CONTROL_POWER_OFF = 1,
  // The supply returns.
  SEEKWISE_CONTROL_POWER_ON = 2,
  // Everything in flight is aborted; the cache stays.
  SEEKWISE_CONTROL_RESET = 3,
} SeekwiseControl;

// The fate of sectors that were written.
typedef enum {
  // On the medium.
  SEEKWISE_LANDING_KIND_LANDED = 0,
  // A power cut left them unreadable.
  SEEKWISE_LANDING_KIND_TORN = 1,
  // Never on the medium: lost at a cut, or overwritten in the cache.
  SEEKWISE_LANDING_KIND_DISCARDED = 2,
  // Acknowledged and then forgotten by a fault.
  SEEKWISE_LANDING_KIND_DROPPED = 3,
  // An array took the write; nothing has become of it yet.
  SEEKWISE_LANDING_KIND_TAKEN = 4,
  // The member is lost, with all that it holds.
  SEEKWISE_LANDING_KIND_GONE = 5,
  // The member holds again all that it should.
  SEEKWISE_LANDING_KIND_WHOLE = 6,
} SeekwiseLandingKind;

// The contents of a place on a drive, as the array's host sees it; without an array always copy 0.
typedef enum {
  // A copy of the sectors.
  SEEKWISE_ROLE_COPY = 0,
  // A parity of their row.
  SEEKWISE_ROLE_PARITY = 1,
  // A copy, written by a rebuild.
  SEEKWISE_ROLE_REBUILT_COPY = 2,
  // A parity, written by a rebuild.
  SEEKWISE_ROLE_REBUILT_PARITY = 3,
  // All copies: the write has not come to any drive.
  SEEKWISE_ROLE_EVERY = 4,
} SeekwiseRole;

// A modelled disk.
typedef struct SeekwiseDisk SeekwiseDisk;

// The limits of a disk.
typedef struct {
  // Capacity in sectors of 512 bytes.
  uint64_t sectors;
  // Bytes of a logical sector; requests are whole multiples.
  uint32_t logical_bytes;
  // Bytes of a physical sector; writes of less cost a read.
  uint32_t physical_bytes;
  // The longest request in sectors.
  uint32_t max_transfer_sectors;
  // Requests that it takes at once.
  uint32_t depth;
  // 1: it knows SEEKWISE_FUA.
  uint32_t fua;
  // 1: it acknowledges writes before they are durable.
  uint32_t volatile_cache;
} SeekwiseLimits;

// A request.
typedef struct {
  // Names the request until its completion is collected.
  uint32_t tag;
  // A number of SeekwiseOp.
  uint32_t op;
  // SEEKWISE_FUA and the like, or'ed together.
  uint32_t flags;
  // Sectors of 512 bytes: from 1 to SEEKWISE_MOST_SECTORS; 0 for a flush.
  uint32_t sectors;
  // The first sector; 0 for a flush. A request that ends past the disk but not past SEEKWISE_MOST_LBA is out of range.
  uint64_t lba;
} SeekwiseRequest;

// The answer to a request.
typedef struct {
  // The request's tag.
  uint32_t tag;
  // A number of SeekwiseOutcome.
  uint32_t outcome;
  // When the disk took it.
  uint64_t submitted_ns;
  // When it was done.
  uint64_t finished_ns;
  // Where the time between went; the parts add up to it exactly.
  uint64_t parts_ns[SEEKWISE_PARTS];
} SeekwiseCompletion;

// The fate of a run of sectors that were written with one stamp, which passed under the head evenly in from_ns..to_ns.
typedef struct {
  // The stamp of the write, as seekwise_submit gave it.
  uint64_t stamp;
  // The first sector.
  uint64_t lba;
  uint32_t sectors;
  // A number of SeekwiseLandingKind.
  uint32_t kind;
  // When the head came over the first sector.
  uint64_t from_ns;
  // When it left the last.
  uint64_t to_ns;
  // The drive of an array, from 0.
  uint32_t member;
  // A number of SeekwiseRole.
  uint32_t role;
  // Which copy or parity, from 0.
  uint32_t which;
} SeekwiseLanding;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a built-in drive by name, with nothing above it. The platters' phase at instant 0 is drawn from seed: the same name and
// seed give the same disk. If there is no such drive, why gets the reason, cut to why_size bytes; it may be null.
SeekwiseStatus seekwise_open(const char *drive,
                             uint64_t seed,
                             SeekwiseDisk **disk,
                             char *why,
                             size_t why_size);

// Opens a stack like a drive, from the text of a stack file (docs/stack.md), whose drive is a built-in one.
SeekwiseStatus seekwise_open_stack(const char *stack_toml,
                                   uint64_t seed,
                                   SeekwiseDisk **disk,
                                   char *why,
                                   size_t why_size);

// Opens a drive of your own from the text of its profile (docs/how-to/own-drive.md). stack_toml is the text of a stack file whose drive is
// "profile.toml", or null for the drive with nothing above it. An error names line, key, what was expected and the nearest word.
SeekwiseStatus seekwise_open_profile(const char *profile_toml,
                                     const char *stack_toml,
                                     uint64_t seed,
                                     SeekwiseDisk **disk,
                                     char *why,
                                     size_t why_size);

// Copies a disk with all its state. Equal calls of both give equal answers; free both.
SeekwiseStatus seekwise_fork(SeekwiseDisk *disk, SeekwiseDisk **copy);

// Keeps a log of all calls, which seekwise_save needs; SEEKWISE_STATUS_NO_LOG after the first call. A call takes a few bytes.
SeekwiseStatus seekwise_keep_log(SeekwiseDisk *disk);

// Saves the whole state: what the disk was opened from, and its log. size gets the bytes that it takes; with fewer than that in
// capacity nothing is written (SEEKWISE_STATUS_NO_ROOM). bytes may be null if capacity is 0.
SeekwiseStatus seekwise_save(SeekwiseDisk *disk,
                             uint8_t *bytes,
                             size_t capacity,
                             size_t *size);

// Restores a saved state as a new disk, by repeating its calls: later calls get the answers that the saved disk would have given. It
// keeps its log on. Other bytes, and a state that this build of the model answers otherwise, are SEEKWISE_STATUS_BAD_STATE.
SeekwiseStatus seekwise_restore(const uint8_t *bytes,
                                size_t size,
                                SeekwiseDisk **disk,
                                char *why,
                                size_t why_size);

// Frees a disk. Null is ignored.
void seekwise_free(SeekwiseDisk *disk);

// Gets the limits of a disk.
SeekwiseStatus seekwise_limits(SeekwiseDisk *disk, SeekwiseLimits *limits);

// Submits a request at now_ns, after doing all that is due by then. stamp gets the number of the request among all that the disk
// has taken, from 1, by which landings name it; it may be null. Collect completions afterwards.
SeekwiseStatus seekwise_submit(SeekwiseDisk *disk,
                               uint64_t now_ns,
                               const SeekwiseRequest *request,
                               uint64_t *stamp);

// When something happens next by itself: the instant to call seekwise_advance at. SEEKWISE_NEVER without a disk, or while nothing
// is going on.
uint64_t seekwise_next(SeekwiseDisk *disk);

// Does all that is due by now_ns, each thing at its own instant: late calls change no figure.
SeekwiseStatus seekwise_advance(SeekwiseDisk *disk, uint64_t now_ns);

// Collects the next completion; SEEKWISE_STATUS_NONE when there is none.
SeekwiseStatus seekwise_completion(SeekwiseDisk *disk, SeekwiseCompletion *completion);

// Collects the next landing; SEEKWISE_STATUS_NONE when there is none. Set landings to on first. Landings are kept until they
// are collected.
SeekwiseStatus seekwise_landing(SeekwiseDisk *disk,
                                SeekwiseLanding *landing);

// Gets the stamps of the writes that may still land, and possibly of others, rising: keep their data. count gets how many there are;
// with fewer than that in capacity none is written (SEEKWISE_STATUS_NO_ROOM). stamps may be null if capacity is 0.
SeekwiseStatus seekwise_unsettled(SeekwiseDisk *disk,
                                  uint64_t *stamps,
                                  size_t capacity,
                                  size_t *count);

// Does at now_ns what control (one of SeekwiseControl) says.
SeekwiseStatus seekwise_control(SeekwiseDisk *disk, uint64_t now_ns, uint32_t control);

// Aborts a request in flight, which completes as aborted.
SeekwiseStatus seekwise_abort(SeekwiseDisk *disk, uint64_t now_ns, uint32_t tag);

// Sets a dotted key of the stack: landings to on, drive.cache.write_back to off.
SeekwiseStatus seekwise_set(SeekwiseDisk *disk,
                            uint64_t now_ns,
                            const char *key,
                            const char *value);

// The name of the built-in drive at index, from 0; SEEKWISE_STATUS_NONE past the last. A name longer than size - 1 bytes is cut.
SeekwiseStatus seekwise_drive_name(size_t index,
                                   char *name,
                                   size_t size);

// The name of a part of a response, in the order of parts_ns; SEEKWISE_STATUS_NONE past the last.
SeekwiseStatus seekwise_part_name(size_t part, char *name, size_t size);

// Why the last seekwise_set that the disk refused was refused, and what was expected. Nothing if none was.
SeekwiseStatus seekwise_last_error(SeekwiseDisk *disk,
                                   char *text,
                                   size_t size);

// The version of the library that runs, such as 0.2.0. SEEKWISE_VERSION_MAJOR and the like are those of this header.
const char *seekwise_version(void);

// The meaning of a status (one of SeekwiseStatus), in words.
const char *seekwise_status_text(uint32_t status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SEEKWISE_H */
