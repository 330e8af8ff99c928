//! The use of the machine by a run, as data: processor time of the threads that issued requests, load of the whole
//! system, and the work of its disks. `os/real` reads the kernel's accounts into it.

use seekwise_disk::time::Span;

/// The use of the machine by a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time in the program.
    pub user: Span,
    /// Processor time in the kernel, on its behalf.
    pub system: Span,
    /// Context switches, voluntary or not.
    pub switches: u64,
    /// Major page faults: those that read from a disk.
    pub major: u64,
    /// Minor page faults.
    pub minor: u64,
    /// Time on the clock.
    pub wall: Span,
}

impl ThreadUsage {
    /// The difference from an earlier reading, `wall` ago on the clock.
    pub fn since(&self, earlier: &ThreadUsage, wall: Span) -> ThreadUsage {
        ThreadUsage {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            switches: self.switches - earlier.switches,
            major: self.major - earlier.major,
            minor: self.minor - earlier.minor,
            wall,
        }
    }

    /// Processor time of both kinds.
    pub fn processor_time(&self) -> Span {
        self.user + self.system
    }
}

/// The use of the whole system during a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemUsage {
    /// Busy share of all processors, whichever process kept them busy.
    pub busy: f64,
    /// Number of processors.
    pub cores: u32,
    /// Disks that had requests.
    pub disks: Vec<DiskUsage>,
}

/// The work of a disk during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// The kernel's name.
    pub name: String,
    /// Requests: reads and writes.
    pub ios: [u64; 2],
    /// Requests merged with others: reads and writes.
    pub merges: [u64; 2],
    /// Sectors of 512 bytes: read and written.
    pub sectors: [u64; 2],
    /// Sums of response times in milliseconds: of reads and of writes.
    pub ticks: [u64; 2],
    /// Milliseconds with at least one request in flight.
    pub busy_ms: u64,
    /// Sum over milliseconds of the requests in flight.
    pub queue_ms: u64,
}

/// The use of the machine by a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// By worker; a single one for work without workers.
    pub threads: Vec<ThreadUsage>,
    /// The whole system.
    pub system: SystemUsage,
}

impl Usage {
    /// Processor time of all threads.
    pub fn processor_time(&self) -> Span {
        self.threads.iter().fold(Span::ZERO, |sum, thread| sum + thread.processor_time())
    }

    /// Time on the clock of the thread that ran longest.
    pub fn wall_time(&self) -> Span {
        self.threads.iter().map(|thread| thread.wall).max().unwrap_or(Span::ZERO)
    }

    /// Number of threads that hardly ever waited, so that they and not the disk limited the rate.
    pub fn saturated_threads(&self) -> usize {
        /// Share of its time above which a thread counts as always busy (inferred: the rest is lost to unwanted waits).
        const ALWAYS: f64 = 0.95;
        let busy = |thread: &&ThreadUsage| {
            let wall = thread.wall.nanos() as f64;
            wall > 0.0 && thread.processor_time().nanos() as f64 > ALWAYS * wall
        };
        self.threads.iter().filter(busy).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_waits_is_found() {
        let wall = Span::from_millis(100);
        let thread = |busy: u64| ThreadUsage { user: Span::from_millis(busy), wall, ..ThreadUsage::default() };
        let usage =
            Usage { threads: vec![thread(97), thread(50), ThreadUsage::default()], system: SystemUsage::default() };
        assert_eq!((usage.saturated_threads(), usage.processor_time()), (1, Span::from_millis(147)));
    }

    #[test]
    fn a_thread_is_busy_beyond_nineteen_twentieths_of_its_time() {
        for (user, system, saturated) in [(950, 0, 0), (951, 0, 1), (475, 476, 1), (475, 475, 0)] {
            let [user, system] = [user, system].map(Span::from_millis);
            let thread = ThreadUsage { user, system, wall: Span::from_secs(1), ..ThreadUsage::default() };
            let usage = Usage { threads: vec![thread], ..Usage::default() };
            assert_eq!((usage.saturated_threads(), usage.wall_time()), (saturated, Span::from_secs(1)));
        }
        // Without time on the clock nothing is known; a nanosecond is enough.
        for (wall, saturated) in [(0, 0), (1, 1), (2, 0)] {
            let [user, wall] = [1, wall].map(Span::from_nanos);
            let threads = vec![ThreadUsage { user, wall, ..ThreadUsage::default() }];
            assert_eq!(Usage { threads, ..Usage::default() }.saturated_threads(), saturated, "{wall}");
        }
        assert_eq!(Usage::default().wall_time(), Span::ZERO);
    }

    #[test]
    fn what_came_between_two_looks_is_each_figure_s_difference() {
        let usage = |by: u64| ThreadUsage {
            user: Span::from_nanos(by),
            system: Span::from_nanos(2 * by),
            switches: 3 * by,
            major: 4 * by,
            minor: 5 * by,
            wall: Span::from_nanos(6 * by),
        };
        let wall = Span::from_nanos(99);
        assert_eq!(usage(10).since(&usage(3), wall), ThreadUsage { wall, ..usage(7) });
        assert_eq!(usage(10).processor_time(), Span::from_nanos(30));
    }
}
