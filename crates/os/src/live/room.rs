//! What a disk at work may take of memory, and how that is parted: what its clients have here, and what it holds.
//!
//! Not counted one by one is what the program took before its first client; that is taken off beforehand.

use crate::nbd::{EACH, LARGEST};

/// The least that all clients have together beside [`EACH`]: one request of the largest, and some small ones.
const CLIENTS: u64 = LARGEST + (8 << 20);

/// The least that the disk has: a large write, on its way and where it lies.
const CONTENTS: u64 = 2 * LARGEST;

/// What comes beside what is counted, such as stacks of threads and what is freed and not given back to the system.
const BESIDE: u64 = 16 << 20;

/// What the program takes where the system does not say.
const PROGRAM: u64 = 32 << 20;

/// Requests that a kernel's file system may have here at once: its own default is 12, less than a drive's queue; a loop device has 128.
const CALLERS: (u64, u64) = (12, 512);

/// What one of these takes at most: Linux hands over a MiB (`fs.fuse.max_pages_limit`).
const CALL: u64 = 1 << 20;

/// Bounds, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRoom {
    /// All of it.
    pub limit: u64,
    /// What clients have here of requests and answers.
    pub clients: u64,
    /// What the disk holds, and keeps for power cuts.
    pub contents: u64,
}

impl Default for MemoryRoom {
    /// Without bounds.
    fn default() -> MemoryRoom {
        MemoryRoom { limit: u64::MAX, clients: u64::MAX, contents: u64::MAX }
    }
}

impl MemoryRoom {
    /// Within so many bytes, of which the program has taken some already, for so many clients. An error says what is needed.
    pub fn within(limit: u64, clients: usize) -> Result<MemoryRoom, String> {
        let program = resident().unwrap_or(PROGRAM) + BESIDE;
        let theirs = CLIENTS + clients as u64 * EACH;
        let least = program + theirs + CONTENTS;
        if limit < least {
            let least = least.div_ceil(1 << 20);
            return Err(format!(
                "{limit} bytes are too few for a disk that is served to {clients} clients; expected {least}m or more"
            ));
        }
        let left = limit - program;
        let clients = (left / 4).max(theirs);
        Ok(MemoryRoom { limit, clients, contents: left - clients })
    }

    /// Requests that a kernel's file system may have here at once.
    pub fn callers(&self) -> u16 {
        (self.clients / CALL).clamp(CALLERS.0, CALLERS.1) as u16
    }
}

/// Bytes of memory that this program has now, where the system says so.
pub fn resident() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_little_is_refused_and_all_of_the_rest_parted() {
        assert!(MemoryRoom::within(64 << 20, 256).unwrap_err().contains("m or more"));
        let room = MemoryRoom::within(4 << 30, 256).unwrap();
        assert!(room.clients + room.contents < room.limit && room.clients > 900 << 20);
        assert_eq!((room.callers(), MemoryRoom { clients: CLIENTS, ..room }.callers()), (512, 40));
    }
}
