// The parts of a response, in the order in which a request meets them, and what each is. A test of crates/lab writes
// this file from `Part` in crates/disk/src/parts.rs (SEEKWISE_UPDATE=1) and compares the two.

export const PARTS = [
  ["processor", "waiting for the host's processor, and work on it"],
  ["driver", "waiting in the host's driver, before the drive or the controller took the request"],
  ["flush", "waiting behind a flush or another barrier, in the driver or in the drive; of a flush, for the medium"],
  ["controller", "the controller's own cost, and waiting for its channel"],
  ["queue", "waiting in the drive's queue"],
  ["overhead", "the drive's command overhead"],
  ["seek", "movement of the arm, or a switch of heads"],
  ["settle", "extra settling before a write"],
  ["rotation", "waiting for the wanted sectors to come under the head"],
  ["transfer", "the wanted sectors passing under the head"],
  ["cache", "waiting for a segment of the drive's buffer, or for a read-ahead in progress"],
  ["link", "moving data over the interface"],
] as const;

export type Part = (typeof PARTS)[number][0];
