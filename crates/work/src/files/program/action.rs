//! A running program: the next action of each thread.

use core::fmt;

use seekwise_disk::time::{Instant, Span};

use crate::files::call::{Call, CallResult, File};
use crate::files::system::System;

/// The next action of a program's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramAction {
    /// Calls, and goes on when that has returned.
    Call(Call),
    /// An operation begins; the number distinguishes operations under way.
    Began(u32),
    /// The operation relies on bytes of a file (the first, and how many) that another thread wrote for it.
    Relies(u32, File, u64, u64),
    /// The operation has ended.
    Ended(u32),
    /// Waits until another thread of the program has gone on.
    Park,
    /// The thread has ended.
    Over,
}

/// A program that runs.
pub trait Program: fmt::Debug {
    /// Number of threads.
    fn threads(&self) -> u16 {
        1
    }

    /// Returns the next action of `thread` at `now`. `returned` is the result of its call, if its last action was one;
    /// `system` shows how files lie, for a defragmenter.
    fn next(&mut self, thread: u16, now: Instant, returned: Option<&CallResult>, system: &System) -> ProgramAction;
}

/// Returns the call that computes for `span`; `None` for zero.
pub(super) fn compute_call(span: Span) -> Option<Call> {
    (span > Span::ZERO).then_some(Call::Compute(span))
}

/// Returns the call that computes for `bytes` bytes; `mebibyte` is the time for each MiB.
pub(super) fn compute_call_for(bytes: u64, mebibyte: Span) -> Option<Call> {
    let nanos = (u128::from(mebibyte.nanos()) * u128::from(bytes)) >> 20;
    compute_call(Span::from_nanos(nanos as u64))
}
