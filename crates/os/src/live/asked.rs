//! A request on its way to a disk, and who is to be answered.

use crate::nbd::wire::{RequestHead, error};

/// A request that makes sense: within the disk's bounds, of whole sectors.
#[derive(Debug)]
pub struct DiskRequest {
    /// What is asked.
    pub head: RequestHead,
    /// What is to be written.
    pub data: Vec<u8>,
    /// Who is answered.
    pub whom: ReplyTo,
}

/// Who is answered.
#[derive(Debug)]
pub enum ReplyTo {
    /// The client of this number.
    Client(u64),
    /// A caller within the program.
    Caller(Caller),
}

/// A caller within the program, who is answered once: with what was read, or an error of the protocol. Forgotten without an
/// answer it is told that the disk is shutting down.
pub struct Caller(Option<Way>);

/// Takes the outcome to whoever asked.
type Way = Box<dyn FnOnce(Result<Vec<u8>, u32>) + Send>;

impl Caller {
    /// Is answered by `way`.
    pub fn new(way: impl FnOnce(Result<Vec<u8>, u32>) + Send + 'static) -> Caller {
        Caller(Some(Box::new(way)))
    }

    /// It is answered.
    pub fn answer(mut self, outcome: Result<Vec<u8>, u32>) {
        if let Some(way) = self.0.take() {
            way(outcome);
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(way) = self.0.take() {
            way(Err(error::SHUTDOWN));
        }
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller")
    }
}
