//! Programs of one thread, written as scripts: a list of acts, then the next list.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt;

use seekwise_disk::time::Instant;

use super::action::{Program, ProgramAction};
use crate::files::call::{Call, CallResult};
use crate::files::system::System;

/// The acts to come.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionQueue(VecDeque<ProgramAction>);

impl ActionQueue {
    pub(super) fn push_call(&mut self, call: Call) {
        self.0.push_back(ProgramAction::Call(call));
    }

    pub(super) fn push_calls(&mut self, calls: impl IntoIterator<Item = Call>) {
        self.0.extend(calls.into_iter().map(ProgramAction::Call));
    }

    /// The next act.
    pub(super) fn next(&mut self) -> Option<ProgramAction> {
        self.0.pop_front()
    }

    pub(super) fn push_began(&mut self, number: u32) {
        self.0.push_back(ProgramAction::Began(number));
    }

    pub(super) fn push_ended(&mut self, number: u32) {
        self.0.push_back(ProgramAction::Ended(number));
    }
}

/// The state that [`Script::add_actions`] sees.
pub(super) struct ScriptContext<'a> {
    pub(super) now: Instant,
    /// The result of the last call; `None` at the beginning.
    pub(super) returned: Option<&'a CallResult>,
    pub(super) system: &'a System,
}

/// A program of one thread.
pub(super) trait Script: fmt::Debug {
    /// Adds the next acts; `false` at the end.
    fn add_actions(&mut self, seen: &ScriptContext<'_>, acts: &mut ActionQueue) -> bool;
}

/// A script, run as a program.
#[derive(Debug)]
struct ScriptProgram<S> {
    script: S,
    acts: ActionQueue,
}

/// Makes a program of a script.
pub(super) fn from_script(script: impl Script + 'static) -> Box<dyn Program> {
    Box::new(ScriptProgram { script, acts: ActionQueue::default() })
}

impl<S: Script> Program for ScriptProgram<S> {
    fn next(&mut self, _: u16, now: Instant, returned: Option<&CallResult>, system: &System) -> ProgramAction {
        loop {
            if let Some(act) = self.acts.next() {
                return act;
            }
            if !self.script.add_actions(&ScriptContext { now, returned, system }, &mut self.acts) {
                return ProgramAction::Over;
            }
        }
    }
}
