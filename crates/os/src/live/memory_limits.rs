//! Limits of the memory of a disk at work: the share of its clients, and that of its content.
//!
//! The limit is on all of the program's memory. The memory that it took before its first client is subtracted
//! beforehand; after that, requests, answers and content are counted.

use crate::nbd::{CLIENT_MEMORY, MAX_REQUEST_BYTES};

/// Least memory of all clients together besides [`CLIENT_MEMORY`]: a largest request, and some small ones.
const LEAST_FOR_CLIENTS: u64 = MAX_REQUEST_BYTES + (8 << 20);

/// Least memory of the disk's content: a large write, on its way and where it lies.
const LEAST_FOR_CONTENTS: u64 = 2 * MAX_REQUEST_BYTES;

/// Memory that is not counted, such as stacks of threads, and freed memory that is not given back to the system.
const UNCOUNTED: u64 = 16 << 20;

/// Memory of the program if the system does not tell.
const ASSUMED_PROGRAM: u64 = 32 << 20;

/// Range of the number of requests that a kernel's file system may have here at once. Its default is 12, less than a
/// drive's queue; a loop device has 128.
const CALLER_RANGE: (u64, u64) = (12, 512);

/// Largest size of one of these requests: Linux hands over a MiB (`fs.fuse.max_pages_limit`).
const CALLER_REQUEST_BYTES: u64 = 1 << 20;

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
    /// Divides `limit` bytes, of which the program has taken some already, for so many clients. An error says what is
    /// needed.
    pub fn divide_limit(limit: u64, clients: usize) -> Result<MemoryRoom, String> {
        let program = resident_bytes().unwrap_or(ASSUMED_PROGRAM) + UNCOUNTED;
        let for_clients = LEAST_FOR_CLIENTS + clients as u64 * CLIENT_MEMORY;
        let least = program + for_clients + LEAST_FOR_CONTENTS;
        if limit < least {
            let least = least.div_ceil(1 << 20);
            return Err(format!(
                "{limit} bytes are too few for a disk that up to {clients} clients use at once; expected {least}m or more"
            ));
        }
        let left = limit - program;
        let clients = (left / 4).max(for_clients);
        Ok(MemoryRoom { limit, clients, contents: left - clients })
    }

    /// Requests that a kernel's file system may have here at once.
    pub fn max_callers(&self) -> u16 {
        (self.clients / CALLER_REQUEST_BYTES).clamp(CALLER_RANGE.0, CALLER_RANGE.1) as u16
    }
}

/// Bytes of memory that this program occupies now, if the system tells.
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
        assert_eq!((room.max_callers(), MemoryRoom { clients: LEAST_FOR_CLIENTS, ..room }.max_callers()), (512, 40));
    }

    /// 40 MiB for all of them, and 80 KiB for each: of so many clients that is more than a quarter, whatever the
    /// program itself takes meanwhile.
    #[test]
    fn each_client_has_its_share_and_the_content_what_is_left() {
        for clients in [10_000, 30_000] {
            let theirs = (40 << 20) + clients as u64 * (80 << 10);
            let program = resident_bytes().unwrap_or(ASSUMED_PROGRAM) + UNCOUNTED;
            let room = MemoryRoom::divide_limit(program + 2 * theirs, clients).unwrap();
            assert_eq!((room.limit, room.clients), (program + 2 * theirs, theirs));
            assert!(room.contents >= 64 << 20 && room.clients + room.contents < room.limit, "{room:?}");
            // Enough for clients and the least content, but for no program.
            let refused = MemoryRoom::divide_limit(theirs + (64 << 20), clients).unwrap_err();
            assert!(refused.contains(&format!("that up to {clients} clients use at once; expected ")), "{refused}");
        }
    }
}
