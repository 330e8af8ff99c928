//! A listener that is called with each request of a workload as it is issued, counted or not.

use alloc::sync::Arc;
use core::fmt;

use seekwise_disk::block::Request;
use seekwise_disk::time::Instant;

/// A function that is called with each request and the instant of its issue. The flush that makes a single write
/// durable is not reported, as it is a part of that write, nor is computing.
#[derive(Clone)]
pub struct IssueListener(Arc<Listener>);

/// Takes a request and the instant of its issue.
type Listener = dyn Fn(Instant, &Request) + Send + Sync;

impl IssueListener {
    /// Creates a listener that calls `report`.
    pub fn new(report: impl Fn(Instant, &Request) + Send + Sync + 'static) -> IssueListener {
        IssueListener(Arc::new(report))
    }

    pub(crate) fn report(&self, now: Instant, request: &Request) {
        (self.0)(now, request);
    }
}

impl fmt::Debug for IssueListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IssueListener")
    }
}
