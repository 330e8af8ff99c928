//! Programs of one thread, written as scripts: a list of acts, then the next list.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt;

use super::act::{Act, Program};
use crate::files::call::{Call, Returned};
use crate::files::system::System;
use crate::time::Instant;

/// The acts to come.
#[derive(Clone, Debug, Default)]
pub(super) struct Acts(VecDeque<Act>);

impl Acts {
    pub(super) fn call(&mut self, call: Call) {
        self.0.push_back(Act::Call(call));
    }

    pub(super) fn calls(&mut self, calls: impl IntoIterator<Item = Call>) {
        self.0.extend(calls.into_iter().map(Act::Call));
    }

    /// The next act.
    pub(super) fn next(&mut self) -> Option<Act> {
        self.0.pop_front()
    }

    pub(super) fn began(&mut self, number: u32) {
        self.0.push_back(Act::Began(number));
    }

    pub(super) fn ended(&mut self, number: u32) {
        self.0.push_back(Act::Ended(number));
    }
}

/// What [`Script::more`] sees.
pub(super) struct Seen<'a> {
    pub(super) now: Instant,
    /// The result of the last call; `None` at the beginning.
    pub(super) returned: Option<&'a Returned>,
    pub(super) system: &'a System,
}

/// A program of one thread.
pub(super) trait Script: fmt::Debug {
    /// Adds the next acts; `false` at the end.
    fn more(&mut self, seen: &Seen<'_>, acts: &mut Acts) -> bool;
}

/// A script as a program.
#[derive(Debug)]
struct Lines<S> {
    script: S,
    acts: Acts,
}

/// Makes a program of a script.
pub(super) fn program(script: impl Script + 'static) -> Box<dyn Program> {
    Box::new(Lines { script, acts: Acts::default() })
}

impl<S: Script> Program for Lines<S> {
    fn next(&mut self, _: u16, now: Instant, returned: Option<&Returned>, system: &System) -> Act {
        loop {
            if let Some(act) = self.acts.next() {
                return act;
            }
            if !self.script.more(&Seen { now, returned, system }, &mut self.acts) {
                return Act::Over;
            }
        }
    }
}
