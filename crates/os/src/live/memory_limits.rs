//! Limits of a disk's memory at work: the share of its clients, and that of its content.
//!
//! Memory that the program took before its first client is not counted piece by piece, but subtracted beforehand.

use crate::nbd::{EACH, LARGEST};

/// Least memory of all clients together besides [`EACH`]: a largest request, and some small ones.
const CLIENTS: u64 = LARGEST + (8 << 20);

/// Least memory of the disk: a large write, on its way and where it lies.
const CONTENTS: u64 = 2 * LARGEST;

/// Memory that is not counted, such as stacks of threads, and freed memory that is not given back to the system.
const BESIDE: u64 = 16 << 20;

/// Memory of the program if the system does not tell.
const PROGRAM: u64 = 32 << 20;

/// Least and most requests that a kernel's file system may have here at once: its default is 12, less than a drive's queue; a loop device
/// has 128.
const CALLERS: (u64, u64) = (12, 512);

/// Largest size of one of these: Linux hands over a MiB (`fs.fuse.max_pages_limit`).
const CALL: u64 = 1 << 20;

/// Limits of memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct MemoryRoom {
    /// All memory.
    pub limit: u64,
    /// Memory of the clients' requests and answers.
    pub clients: u64,
    /// Memory of the disk's content, and of its history for power cuts.
    pub contents: u64,
}

impl Default for MemoryRoom {
    /// No limits.
    fn default() -> MemoryRoom {
        MemoryRoom { limit: u64::MAX, clients: u64::MAX, contents: u64::MAX }
    }
}

impl MemoryRoom {
    /// Divides `limit` bytes, of which the program has taken some already, for so many clients. An error says what is needed.
    pub fn divide_limit(limit: u64, clients: usize) -> Result<MemoryRoom, String> {
        let program = resident_bytes().unwrap_or(PROGRAM) + BESIDE;
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
    pub fn max_callers(&self) -> u16 {
        (self.clients / CALL).clamp(CALLERS.0, CALLERS.1) as u16
    }
}

/// Bytes of memory that this program has now, if the system tells.
pub(crate) fn resident_bytes() -> Option<u64> {
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
        assert!(MemoryRoom::divide_limit(64 << 20, 256).unwrap_err().contains("m or more"));
        let room = MemoryRoom::divide_limit(4 << 30, 256).unwrap();
        assert!(room.clients + room.contents < room.limit && room.clients > 900 << 20);
        assert_eq!((room.max_callers(), MemoryRoom { clients: CLIENTS, ..room }.max_callers()), (512, 40));
    }

    /// 40 MiB for all of them, and 80 KiB for each: of so many clients that is more than a quarter, whatever the
    /// program itself takes meanwhile.
    #[test]
    fn each_client_has_its_share_and_the_content_what_is_left() {
        for clients in [10_000, 30_000] {
            let theirs = (40 << 20) + clients as u64 * (80 << 10);
            let program = resident_bytes().unwrap_or(PROGRAM) + BESIDE;
            let room = MemoryRoom::divide_limit(program + 2 * theirs, clients).unwrap();
            assert_eq!((room.limit, room.clients), (program + 2 * theirs, theirs));
            assert!(room.contents >= 64 << 20 && room.clients + room.contents < room.limit, "{room:?}");
            // Enough for clients and the least content, but for no program.
            let refused = MemoryRoom::divide_limit(theirs + (64 << 20), clients).unwrap_err();
            assert!(refused.contains(&format!("served to {clients} clients; expected ")), "{refused}");
        }
    }
}
