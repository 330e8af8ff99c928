//! The one file that reads real time.

use std::time::Duration;

use rustix::event::Timespec;
use seekwise_disk::time::{Instant, Span};

/// How long before a deadline a sleep ends; the rest is waited for awake. Measured on a virtual machine of two cores: a sleep of a
/// thread with precedence ends 51 us late in the median and 125 to 250 us late once in a hundred.
pub(crate) const AWAKE: Span = Span::from_micros(150);

/// A time of a file, for interfaces of file systems. No clock is read for it.
pub(crate) type FileTime = std::time::SystemTime;

/// Gives this thread, which has deadlines, precedence over all ordinary ones if the system permits (`SCHED_FIFO`), and its sleeps
/// no slack. True if it has precedence.
#[cfg(target_os = "linux")]
pub(crate) fn take_precedence() -> bool {
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let lowest = ThreadPriority::Crossplatform(1u8.try_into().expect("from 0 to 99"));
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), lowest, policy).is_ok()
}

/// Makes this thread an ordinary one again, of its former niceness.
#[cfg(target_os = "linux")]
pub(crate) fn give_up_precedence() {
    use rustix::process::{getpriority_process, setpriority_process};
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let nice = getpriority_process(None);
    // The crate sets niceness too. The least nice value is refused where only the policy may be changed; elsewhere it is taken back
    // below.
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, policy);
    if let Ok(nice) = nice {
        let _ = setpriority_process(None, nice);
    }
}

/// Returns false: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn take_precedence() -> bool {
    false
}

/// Does nothing: there was no precedence.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_up_precedence() {}

/// The wall clock, from its start on.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Reading,
    processor: Option<Span>,
}

impl Clock {
    /// Starts now, at [`Instant::ZERO`].
    pub fn start() -> Clock {
        Clock { started: read_monotonic(), processor: processor() }
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
        Some(processor()?.saturating_sub(self.processor?))
    }

    /// Waits until `at`.
    pub fn wait_until(&self, at: Instant) {
        loop {
            let left = at.saturating_since(self.now());
            if left == Span::ZERO {
                return;
            }
            match left.saturating_sub(AWAKE) {
                Span::ZERO => std::hint::spin_loop(),
                sleep => std::thread::sleep(Duration::from_nanos(sleep.nanos())),
            }
        }
    }
}

/// Converts the time limit of a wait for sockets.
pub(crate) fn to_timespec(span: Span) -> Timespec {
    Timespec { tv_sec: (span.nanos() / 1_000_000_000) as i64, tv_nsec: (span.nanos() % 1_000_000_000) as _ }
}

/// Nanoseconds of a clock that is never set back, counted from before this program. As whole nanoseconds at once: the library's
/// seconds and their part cost a twentieth of a request on `null`.
#[cfg(unix)]
type Reading = u64;

#[cfg(not(unix))]
type Reading = std::time::Instant;

#[cfg(unix)]
#[inline]
fn read_monotonic() -> Reading {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(not(unix))]
fn read_monotonic() -> Reading {
    std::time::Instant::now()
}

#[cfg(unix)]
#[inline]
fn nanos_since(started: Reading) -> u64 {
    read_monotonic() - started
}

#[cfg(not(unix))]
fn nanos_since(started: Reading) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).expect("no process lives for centuries")
}

/// Processor time of this thread until now.
#[cfg(unix)]
fn processor() -> Option<Span> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Span::from_secs(time.tv_sec.try_into().ok()?) + Span::from_nanos(time.tv_nsec.try_into().ok()?))
}

/// `None`: other systems are not asked.
#[cfg(not(unix))]
fn processor() -> Option<Span> {
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
