//! Where the records of runs go: memory, or a result folder ([`results`](crate::results)). Nothing here knows which
//! runs there are.

use crate::error::Error;

/// The record of a run.
pub use seekwise_lab::run::RunRecord;

/// Takes records as their runs end, in the plan's order.
pub trait Store: Send {
    /// Keeps a record so that it outlives a program that is killed next.
    fn keep(&mut self, record: &RunRecord) -> Result<(), Error>;
}

/// Keeps nothing: the caller of an execution has the records.
pub struct InMemory;

impl Store for InMemory {
    fn keep(&mut self, _: &RunRecord) -> Result<(), Error> {
        Ok(())
    }
}
