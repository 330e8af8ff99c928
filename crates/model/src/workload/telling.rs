//! Who is told of each request of a workload as it is issued, counted or not.

use alloc::sync::Arc;
use core::fmt;

use crate::block::Request;
use crate::time::Instant;

/// What is called with a request and the instant of its issue. The flush of a write that is to be durable at once is a
/// part of that write, and computing is no request: neither is told.
#[derive(Clone)]
pub struct Tell(Arc<Listener>);

/// Hears of a request at the instant of its issue.
type Listener = dyn Fn(Instant, &Request) + Send + Sync;

impl Tell {
    /// Calls this.
    pub fn new(told: impl Fn(Instant, &Request) + Send + Sync + 'static) -> Tell {
        Tell(Arc::new(told))
    }

    pub(crate) fn tell(&self, now: Instant, request: &Request) {
        (self.0)(now, request);
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}
