//! The one file that reads real time: a monotonic clock, the processor time of a thread, and waits. A thread that has
//! deadlines gets the lowest real-time priority here.

use std::time::Duration;

use rustix::event::Timespec;
use seekwise_disk::time::{Instant, Span};

/// How long before a deadline a sleep ends; the rest is waited for busily. Measured on a virtual machine of two cores:
/// a sleep of a thread with real-time priority ends 51 us late in the median and 125 to 250 us late once in a hundred.
pub(crate) const BUSY_WAIT: Span = Span::from_micros(150);

/// A time of a file, for interfaces of file systems. No clock is read for it.
pub(crate) type FileTime = std::time::SystemTime;

/// Gives this thread, which has deadlines, priority over all ordinary ones if the system permits (`SCHED_FIFO`), and
/// its sleeps no slack. True if it has that priority.
#[cfg(target_os = "linux")]
pub(crate) fn take_real_time_priority() -> bool {
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let lowest = ThreadPriority::Crossplatform(1u8.try_into().expect("from 0 to 99"));
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), lowest, policy).is_ok()
}

/// Makes this thread an ordinary one again, with its former niceness.
#[cfg(target_os = "linux")]
pub(crate) fn drop_real_time_priority() {
    use rustix::process::{getpriority_process, setpriority_process};
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let nice = getpriority_process(None);
    // The crate sets niceness too. The least nice value is refused where only the policy may be changed. Elsewhere the
    // former niceness is restored below.
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, policy);
    if let Ok(nice) = nice {
        let _ = setpriority_process(None, nice);
    }
}

/// Returns false: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take_real_time_priority() -> bool {
    false
}

/// Does nothing: no priority was taken.
#[cfg(not(target_os = "linux"))]
pub(crate) fn drop_real_time_priority() {}

/// A clock that begins at its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: MonotonicTime,
    /// Processor time of the thread at the start.
    processor_at_start: Option<Span>,
}

impl Clock {
    /// Starts now, at [`Instant::ZERO`].
    pub fn start() -> Clock {
        Clock { started: read_monotonic(), processor_at_start: thread_processor_time() }
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(nanos_since(self.started))
    }

    /// Seconds since the start.
    pub fn elapsed_seconds(&self) -> f64 {
        self.now().nanos() as f64 / 1e9
    }

    /// Processor time of this thread since the start, if the system tells.
    pub fn processor_time(&self) -> Option<Span> {
        Some(thread_processor_time()?.saturating_sub(self.processor_at_start?))
    }

    /// Sleeps, then waits busily, until `deadline`.
    pub fn wait_until(&self, deadline: Instant) {
        loop {
            let left = deadline.saturating_since(self.now());
            if left == Span::ZERO {
                return;
            }
            match left.saturating_sub(BUSY_WAIT) {
                Span::ZERO => std::hint::spin_loop(),
                sleep => std::thread::sleep(Duration::from_nanos(sleep.nanos())),
            }
        }
    }
}

/// Converts the time limit of a wait for sockets.
pub(crate) fn to_timespec(limit: Span) -> Timespec {
    Timespec { tv_sec: (limit.nanos() / 1_000_000_000) as i64, tv_nsec: (limit.nanos() % 1_000_000_000) as _ }
}

/// Nanoseconds of a clock that is never set back, counted from before this program. Whole nanoseconds are kept, because
/// converting the standard library's instants would cost a twentieth of a request on `null`.
#[cfg(unix)]
type MonotonicTime = u64;

#[cfg(not(unix))]
type MonotonicTime = std::time::Instant;

#[cfg(unix)]
#[inline]
fn read_monotonic() -> MonotonicTime {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(not(unix))]
fn read_monotonic() -> MonotonicTime {
    std::time::Instant::now()
}

#[cfg(unix)]
#[inline]
fn nanos_since(started: MonotonicTime) -> u64 {
    read_monotonic() - started
}

#[cfg(not(unix))]
fn nanos_since(started: MonotonicTime) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).expect("no process lives for centuries")
}

/// Processor time of this thread until now.
#[cfg(unix)]
fn thread_processor_time() -> Option<Span> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Span::from_secs(time.tv_sec.try_into().ok()?) + Span::from_nanos(time.tv_nsec.try_into().ok()?))
}

/// Returns `None`: other systems are not asked.
#[cfg(not(unix))]
fn thread_processor_time() -> Option<Span> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_whole_seconds_and_the_nanoseconds_beyond_them() {
        for (nanos, tv_sec, tv_nsec) in [
            (0, 0, 0),
            (999_999_999, 0, 999_999_999),
            (1_000_000_000, 1, 0),
            (10_001_000_000, 10, 1_000_000),
            (u64::MAX, 18_446_744_073, 709_551_615),
        ] {
            assert_eq!(to_timespec(Span::from_nanos(nanos)), Timespec { tv_sec, tv_nsec });
        }
    }
}
