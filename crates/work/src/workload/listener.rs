//! A listener to each request of a workload as it is issued, counted or not.

use alloc::sync::Arc;
use core::fmt;

use seekwise_disk::block::Request;
use seekwise_disk::time::Instant;

/// A function that is called with each request and the instant of its issue. Not reported are the flush that makes a
/// single write durable, as a part of that write, and computing, which is no request.
#[derive(Clone)]
pub struct Tell(Arc<Listener>);

/// Takes a request and the instant of its issue.
type Listener = dyn Fn(Instant, &Request) + Send + Sync;

impl Tell {
    /// A listener that calls `told`.
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
