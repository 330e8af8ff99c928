//! Programs of one thread, written as scripts: a script adds its next few actions to a queue whenever that is empty.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::fmt;

use seekwise_disk::time::Instant;

use super::action::{Program, ProgramAction};
use crate::files::call::{Call, CallResult};
use crate::files::system::System;

/// The next actions of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct ActionQueue(VecDeque<ProgramAction>);

impl ActionQueue {
    pub(super) fn push_call(&mut self, call: Call) {
        self.0.push_back(ProgramAction::Call(call));
    }

    pub(super) fn push_calls(&mut self, calls: impl IntoIterator<Item = Call>) {
        self.0.extend(calls.into_iter().map(ProgramAction::Call));
    }

    /// Takes the next action.
    pub(super) fn pop(&mut self) -> Option<ProgramAction> {
        self.0.pop_front()
    }

    pub(super) fn push_began(&mut self, number: u32) {
        self.0.push_back(ProgramAction::Began(number));
    }

    pub(super) fn push_ended(&mut self, number: u32) {
        self.0.push_back(ProgramAction::Ended(number));
    }
}

/// The state that [`Script::add_next_actions`] sees.
pub(super) struct ScriptContext<'a> {
    pub(super) now: Instant,
    /// The result of the last call; `None` at the beginning.
    pub(super) returned: Option<&'a CallResult>,
    pub(super) system: &'a System,
}

/// A program of one thread.
pub(super) trait Script: fmt::Debug {
    /// Adds the next actions; returns `false` at the end of the program.
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool;
}

/// A script that runs as a program.
#[derive(Debug)]
struct ScriptProgram<S> {
    script: S,
    actions: ActionQueue,
}

/// Makes a program of a script.
pub(super) fn program_from_script(script: impl Script + 'static) -> Box<dyn Program> {
    Box::new(ScriptProgram { script, actions: ActionQueue::default() })
}

impl<S: Script> Program for ScriptProgram<S> {
    fn next_action(&mut self, _: u16, now: Instant, returned: Option<&CallResult>, system: &System) -> ProgramAction {
        loop {
            if let Some(action) = self.actions.pop() {
                return action;
            }
            if !self.script.add_next_actions(&ScriptContext { now, returned, system }, &mut self.actions) {
                return ProgramAction::Over;
            }
        }
    }
}
