//! The contract of [`crate::block`] on any device: each rule is checked by random scripts of requests, flushes, aborts,
//! resets and power failures. Speed is not checked.
//!
//! 1. After each call, drained: the next timeout is later; no completion is dated later or was due before.
//! 2. Every timeout, the script's instants only, extra calls between them: the same answers.
//! 3. Each tag once; the status fits; a request is refused unchanged and only with something in flight; nothing is left
//!    over.
//! 4. After each cut, the image obeys the laws of durability ([`DurabilityChecker`](super::DurabilityChecker)).
//! 5. Landings have a known stamp, lie inside its write, and are dated in order. A write-through has landed when it is
//!    done, unless the buffer survives a cut; a cut leaves no gap.
//! 6. A cut tears at most one physical sector, and only if the profile says so.
//! 7. The parts add up to the response.
//! 8. A script that is run twice gives the same answers.

use alloc::boxed::Box;
use alloc::format;

use super::durability::Promise;
use super::mirror_copies::VolumeSight;
use super::run::{DeviceTrace, ScriptRun, StepMode};
use super::script::{ScriptAuthor, TimedAction};
use super::violation::Violation;
use crate::block::{CutSector, Device};
use crate::rng::Seed;
use crate::time::Instant;

/// Scripts of one call, and steps of a script: a few thousand requests in all.
const SCRIPTS: u64 = 4;
const STEPS: usize = 150;

/// Checks the eight rules on the devices that `make` makes, by scripts drawn from `seed`. The devices are all alike,
/// with one member, the `cut_sector` of their profile, and a buffer that does not survive a cut.
pub fn conformance(make: &dyn Fn() -> Box<dyn Device>, cut_sector: CutSector, seed: u64) -> Result<(), Violation> {
    conformance_through(make, cut_sector, &VolumeSight::default(), seed)
}

/// As [`conformance()`], for arrays seen through `sight`.
pub fn conformance_through(
    make: &dyn Fn() -> Box<dyn Device>,
    cut_sector: CutSector,
    sight: &VolumeSight,
    seed: u64,
) -> Result<(), Violation> {
    conformance_to(make, Promise::from_limits(&make().limits(0), cut_sector), sight, seed)
}

/// As [`conformance()`], for devices that promise `promise`.
pub fn conformance_to(
    make: &dyn Fn() -> Box<dyn Device>,
    promise: Promise,
    sight: &VolumeSight,
    seed: u64,
) -> Result<(), Violation> {
    let judged = (promise, sight);
    for index in 0..SCRIPTS {
        let mut rng = Seed(seed).numbered_stream("script", index);
        let marks = Seed(seed).numbered_stream("marks", index);
        let script = ScriptAuthor::write_script(make().limits(0), &mut rng, marks, STEPS);
        check_script(make, judged, &script)?;
    }
    Ok(())
}

fn check_script(
    make: &dyn Fn() -> Box<dyn Device>,
    judged: (Promise, &VolumeSight),
    script: &[TimedAction],
) -> Result<(), Violation> {
    let run = |stepping| ScriptRun::run_script(make(), judged, script, stepping);
    let first = run(StepMode::EachTimeout)?;
    let again = run(StepMode::EachTimeout)?;
    compare_traces(8, "the same script again", &first, &again)?;
    let coarse = run(StepMode::OwnInstants(first.end))?;
    compare_traces(2, "only at the script's instants", &first, &coarse)?;
    let restless = run(StepMode::Restless(first.end))?;
    compare_traces(2, "with calls in between", &first, &restless)
}

fn compare_traces(rule: u8, how: &str, one: &DeviceTrace, other: &DeviceTrace) -> Result<(), Violation> {
    if one == other {
        return Ok(());
    }
    let differ = one.completions.iter().zip(&other.completions).find(|(a, b)| a != b);
    let landings = one.landings.iter().zip(&other.landings).find(|(a, b)| a != b);
    let counts = |trace: &DeviceTrace| (trace.completions.len(), trace.landings.len(), trace.refused.len());
    let text = format!(
        "{how}: {:?} against {:?} completions, landings, refusals; first completions that differ {differ:?}, \
         landings {landings:?}; end {:?}",
        counts(one),
        counts(other),
        end_instants(one, other),
    );
    Err(Violation { rule, text })
}

fn end_instants(one: &DeviceTrace, other: &DeviceTrace) -> (Instant, Instant) {
    (one.end, other.end)
}
