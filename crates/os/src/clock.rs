//! The one file that reads real time.

use std::time::Duration;

use seekwise_model::time::{Instant, Span};

/// How long before the end of a wait a sleep is to end; what is left is waited for awake. Measured on a virtual machine of
/// two cores: a sleep of a thread with precedence ends 51 us late in the median and 125 to 250 us late once in a hundred.
pub const AWAKE: Span = Span::from_micros(150);

/// A time of a file, as interfaces of file systems have it. No clock is read for it.
pub type FileTime = std::time::SystemTime;

/// Lets this thread, which has deadlines, run before all ordinary ones where the system permits that (`SCHED_FIFO`), and
/// end its sleeps without slack. True where it has precedence.
#[cfg(target_os = "linux")]
pub fn take_precedence() -> bool {
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{RealtimeThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let lowest = ThreadPriority::Crossplatform(1u8.try_into().expect("from 0 to 99"));
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    set_thread_priority_and_policy(thread_native_id(), lowest, policy).is_ok()
}

/// This thread is an ordinary one again, as nice as it was.
#[cfg(target_os = "linux")]
pub fn give_up_precedence() {
    use rustix::process::{getpriority_process, setpriority_process};
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, thread_native_id};
    let nice = getpriority_process(None);
    // The crate sets niceness besides. The least nice is refused where only the policy may be changed, and can be taken back
    // where it is not.
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Max, policy);
    if let Ok(nice) = nice {
        let _ = setpriority_process(None, nice);
    }
}

/// No system but Linux is asked.
#[cfg(not(target_os = "linux"))]
pub fn take_precedence() -> bool {
    false
}

/// It had none.
#[cfg(not(target_os = "linux"))]
pub fn give_up_precedence() {}

/// The wall clock, from when it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds of [`monotonic`].
    started: u64,
    processor: Option<Span>,
}

impl Clock {
    /// Starts now, at [`Instant::ZERO`].
    pub fn start() -> Clock {
        Clock { started: monotonic(), processor: processor() }
    }

    /// The same clock for the thread that calls: its own processor time from now on.
    pub fn of_this_thread(&self) -> Clock {
        Clock { started: self.started, processor: processor() }
    }

    /// The present.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic() - self.started)
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.now().nanos() as f64 / 1e9
    }

    /// What this thread had of a processor since the start, where the system tells.
    pub fn processor(&self) -> Option<Span> {
        Some(processor()?.saturating_sub(self.processor?))
    }

    /// Returns when `at` has come.
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

/// Nanoseconds of a clock that is never set back, from an instant before this program. As whole nanoseconds at once: seconds
/// and their part, as the library has them, cost a twentieth of what a request on `null` takes.
#[cfg(unix)]
#[inline]
fn monotonic() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The same, from when it was first asked.
#[cfg(not(unix))]
fn monotonic() -> u64 {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let nanos = FIRST.get_or_init(std::time::Instant::now).elapsed().as_nanos();
    u64::try_from(nanos).expect("no process lives for centuries")
}

/// Processor time of this thread until now.
#[cfg(unix)]
fn processor() -> Option<Span> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Span::from_secs(time.tv_sec.try_into().ok()?) + Span::from_nanos(time.tv_nsec.try_into().ok()?))
}

/// Not told.
#[cfg(not(unix))]
fn processor() -> Option<Span> {
    None
}
