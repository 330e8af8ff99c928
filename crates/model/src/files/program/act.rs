//! A program that runs, thread by thread: what it does next.

use core::fmt;

use crate::files::call::{Call, CallResult, File};
use crate::files::system::System;
use crate::time::{Instant, Span};

/// What a thread of a program does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramAction {
    /// Calls, and goes on when that has returned.
    Call(Call),
    /// An operation begins; the number tells those that are under way at once apart.
    Began(u32),
    /// The operation under way rests on these bytes of a file (from, and how many) that another thread wrote for it.
    Relies(u32, File, u64, u64),
    /// It ended.
    Ended(u32),
    /// Waits until another thread of the program has gone on.
    Park,
    /// This thread is over.
    Over,
}

/// A program that runs.
pub trait Program: fmt::Debug {
    /// How many threads it has.
    fn threads(&self) -> u16 {
        1
    }

    /// What `thread` does at `now`. `returned` is what came of its call, where its last act was one; `system` tells how
    /// files lie, as a defragmenter asks.
    fn next(&mut self, thread: u16, now: Instant, returned: Option<&CallResult>, system: &System) -> ProgramAction;
}

/// Computing, where there is any.
pub(super) fn compute(span: Span) -> Option<Call> {
    (span > Span::ZERO).then_some(Call::Compute(span))
}

/// Computing for so many bytes at so much a MiB.
pub(super) fn compute_for(bytes: u64, mebibyte: Span) -> Option<Call> {
    let nanos = (u128::from(mebibyte.nanos()) * u128::from(bytes)) >> 20;
    compute(Span::from_nanos(nanos as u64))
}
