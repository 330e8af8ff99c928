//! A list of requests, in its order: a recorded trace, or a pattern written out.
//!
//! A script whose steps all have the time 0 is a closed loop. Any other is due at its times, as far as the depth
//! allows, and its responses count from when they were due.

use alloc::vec::Vec;

use super::Step;

/// Where a script stands.
#[derive(Clone, Debug)]
pub(crate) struct ScriptStream {
    steps: Vec<Step>,
    at: usize,
    timed: bool,
    repeats: bool,
}

impl ScriptStream {
    /// At the first step; `repeats` begins again after the last.
    pub(crate) fn new(steps: &[Step], repeats: bool) -> ScriptStream {
        let timed = steps.iter().any(|step| step.at.nanos() > 0);
        ScriptStream { steps: steps.to_vec(), at: 0, timed, repeats }
    }

    /// The next step, and whether the script begins again with it; nothing when the script is over.
    pub(crate) fn next(&mut self) -> Option<(Step, bool)> {
        let again = self.at == self.steps.len() && self.repeats;
        if again {
            self.at = 0;
        }
        let step = *self.steps.get(self.at)?;
        self.at += 1;
        Some((step, again))
    }

    /// Its steps have times.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }
}
