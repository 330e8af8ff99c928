//! The contract of [`crate::block`] on any device: each of its rules is checked by random scripts of requests, flushes,
//! aborts, resets and power failures. Speed is not checked.
//!
//! 1. After each call and the polling of everything ready, the next timeout is later than the call. No completion is dated
//!    later than the call that returns it, or was due at an earlier call.
//! 2. Answers are equal whether the device is called at every timeout, at the script's instants only, or more often.
//! 3. Each tag completes once, with a status that fits. A request is refused unchanged, and only if others are in flight.
//!    Every request ends.
//! 4. After each cut, the image obeys the laws of durability ([`DurabilityChecker`](super::DurabilityChecker)).
//! 5. Landings have a known stamp, lie inside its write, and begin before they end. A write that bypasses the cache has
//!    landed when it completes, unless the buffer survives a cut. After a cut each sector of an acknowledged write has been
//!    reported.
//! 6. A cut tears at most one physical sector of each drive, and only if the profile says so.
//! 7. The parts of a response add up to it.
//! 8. A script that is run twice gives equal answers.

use alloc::boxed::Box;
use alloc::format;

use super::durability::Promise;
use super::mirror_copies::BlockCopies;
use super::run::{DeviceTrace, ScriptRun, StepMode};
use super::script::{ScriptAuthor, TimedAction};
use super::violation::Violation;
use crate::block::{CutSector, Device};
use crate::rng::Seed;

/// Scripts of one check.
const SCRIPTS: u64 = 4;

/// Steps of a script. All scripts of a check have several hundred requests.
const STEPS: usize = 150;

/// Checks the eight rules on the devices that `build_device` returns, by scripts drawn from `seed`. The devices are all
/// alike: single drives with `cut_sector` in their profile, and a buffer that does not survive a cut.
pub fn check_conformance(
    build_device: &dyn Fn() -> Box<dyn Device>,
    cut_sector: CutSector,
    seed: u64,
) -> Result<(), Violation> {
    check_array_conformance(build_device, cut_sector, &BlockCopies::default(), seed)
}

/// As [`check_conformance`], for arrays with these copies of their blocks.
pub fn check_array_conformance(
    build_device: &dyn Fn() -> Box<dyn Device>,
    cut_sector: CutSector,
    copies: &BlockCopies,
    seed: u64,
) -> Result<(), Violation> {
    check_promise_conformance(build_device, Promise::from_limits(&build_device().limits(0), cut_sector), copies, seed)
}

/// As [`check_array_conformance`], for devices that promise `promise`.
pub fn check_promise_conformance(
    build_device: &dyn Fn() -> Box<dyn Device>,
    promise: Promise,
    copies: &BlockCopies,
    seed: u64,
) -> Result<(), Violation> {
    let expected = (promise, copies);
    for index in 0..SCRIPTS {
        let mut rng = Seed(seed).numbered_stream("script", index);
        let flags_rng = Seed(seed).numbered_stream("marks", index);
        let script = ScriptAuthor::write_script(build_device().limits(0), &mut rng, flags_rng, STEPS);
        check_script(build_device, expected, &script)?;
    }
    Ok(())
}

/// Runs a script on fresh devices in all ways that must give equal answers.
fn check_script(
    build_device: &dyn Fn() -> Box<dyn Device>,
    expected: (Promise, &BlockCopies),
    script: &[TimedAction],
) -> Result<(), Violation> {
    let run = |step_mode| ScriptRun::run_script(build_device(), expected, script, step_mode);
    let first = run(StepMode::EachTimeout)?;
    let again = run(StepMode::EachTimeout)?;
    compare_traces(8, "the same script again", &first, &again)?;
    let coarse = run(StepMode::ScriptInstants(first.end))?;
    compare_traces(2, "only at the script's instants", &first, &coarse)?;
    let restless = run(StepMode::ExtraCalls(first.end))?;
    compare_traces(2, "with calls in between", &first, &restless)
}

/// Checks that two runs gave equal answers; otherwise they break `rule`. `variation`: the difference of the second run.
fn compare_traces(rule: u8, variation: &str, one: &DeviceTrace, other: &DeviceTrace) -> Result<(), Violation> {
    if one == other {
        return Ok(());
    }
    let differ = one.completions.iter().zip(&other.completions).find(|(a, b)| a != b);
    let landings = one.landings.iter().zip(&other.landings).find(|(a, b)| a != b);
    let counts = |trace: &DeviceTrace| (trace.completions.len(), trace.landings.len(), trace.refused_steps.len());
    let text = format!(
        "{variation}: {:?} against {:?} completions, landings, refusals; first completions that differ {differ:?}, \
         landings {landings:?}; end {:?}",
        counts(one),
        counts(other),
        (one.end, other.end),
    );
    Err(Violation { rule, text })
}
