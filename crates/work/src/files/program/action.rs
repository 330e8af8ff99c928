//! The interface of a running program: the next action of each of its threads.

use core::fmt;

use seekwise_disk::time::{Instant, Span};

use crate::files::call::{Call, CallResult, File};
use crate::files::system::System;

/// The next action of a program's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramAction {
    /// Makes a call, and continues when it has returned.
    Call(Call),
    /// An operation begins; the number distinguishes it from others under way.
    Began(u32),
    /// The operation with this number relies on `bytes` bytes of a file from byte `from` on, which another thread wrote
    /// for it.
    Relies { number: u32, file: File, from: u64, bytes: u64 },
    /// The operation with this number has ended.
    Ended(u32),
    /// Waits until another thread of the program has acted.
    Park,
    /// The thread has ended.
    Over,
}

/// A running program.
pub trait Program: fmt::Debug {
    /// Number of threads.
    fn thread_count(&self) -> u16 {
        1
    }

    /// Returns the next action of `thread` at `now`. `returned` is the result of its last action, if that was a call;
    /// `system` lets a defragmenter see the places of files.
    fn next_action(
        &mut self,
        thread: u16,
        now: Instant,
        returned: Option<&CallResult>,
        system: &System,
    ) -> ProgramAction;
}

/// Returns the call that computes for `span`; `None` for zero.
pub(super) fn compute_call(span: Span) -> Option<Call> {
    (span > Span::ZERO).then_some(Call::Compute(span))
}

/// Returns the call that computes for `bytes` bytes; `None` for no time.
pub(super) fn compute_call_for_bytes(bytes: u64, time_per_mebibyte: Span) -> Option<Call> {
    let nanos = (u128::from(time_per_mebibyte.nanos()) * u128::from(bytes)) >> 20;
    compute_call(Span::from_nanos(nanos as u64))
}
