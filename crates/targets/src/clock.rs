//! The one file that reads real time.

use std::time::Duration;

use seekwise_model::time::{Instant, Span};

/// How long before the end of a wait a sleep is to end: Linux ends one up to 50 us late where nothing else is asked for
/// (timer slack, `prctl(2)`), and waking up takes some more. What is left is waited for awake.
pub const AWAKE: Span = Span::from_micros(100);

/// The wall clock, from when it was started.
pub struct Clock {
    started: std::time::Instant,
    processor: Option<Span>,
}

impl Clock {
    /// Starts now, at [`Instant::ZERO`].
    pub fn start() -> Clock {
        Clock { started: std::time::Instant::now(), processor: processor() }
    }

    /// The present.
    pub fn now(&self) -> Instant {
        let nanos = self.started.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).expect("no process lives for centuries"))
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
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
