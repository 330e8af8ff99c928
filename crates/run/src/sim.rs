//! Runs a source on a modelled stack in virtual time: jumps from timeout to timeout.

pub mod follow;

use seekwise_disk::block::{Device, Limits, Source};
use seekwise_disk::engine::Engine;
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::{SettingChange, Stack};
use seekwise_disk::time::Instant;
use seekwise_disk::witness::{WatchedDevice, Witness};

use crate::cutoff::RunCutoff;
use crate::outcome::{RunError, RunOutcome, into_outcome_and_device, join_source};

/// The place's name in records.
pub const NAME: &str = "sim";

/// Runs `source` on `stack` until it ends, or to `cutoff`, handing each counted record to `recorder`. The
/// platters' phases at time 0 are drawn from `seed`.
pub fn run_source<S: Source>(
    stack: &Stack,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<S>, RunError> {
    // A drive by itself is known to the compiler as such: no call through a table on the way of a request.
    match stack.is_bare() {
        true => run_on_device(stack.build_drive(seed, 0), source, &[], cutoff, recorder),
        false => run_on_device(stack.build(seed), source, &stack.changes, cutoff, recorder),
    }
}

fn run_on_device<S: Source>(
    device: impl Device,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    changes: &[SettingChange],
    cutoff: RunCutoff<'_>,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<S>, RunError> {
    let mut engine = join_source(device, source, cutoff)?;
    run_engine(&mut engine, changes, recorder)?;
    let mut outcome = into_outcome_and_device(engine).0;
    outcome.figures.asked = outcome.figures.asked.filter(|_| changes.is_empty());
    outcome.unless_cancelled()
}

/// Runs until the source is over, with the changes on the way.
fn run_engine<S: Source, D: Device>(
    engine: &mut Engine<S, D>,
    changes: &[SettingChange],
    record: &mut impl FnMut(&Record),
) -> Result<(), RunError> {
    for (place, change) in changes.iter().enumerate() {
        engine.run(change.at, record)?;
        if engine.is_over() {
            break;
        }
        apply_change(engine.device_mut(), (place, change), change.at)?;
    }
    Ok(engine.run(Instant::FAR, record)?)
}

/// Applies the change at this place of the stack's changes to `device` at `now`.
fn apply_change(
    device: &mut impl Device,
    (place, change): (usize, &SettingChange),
    now: Instant,
) -> Result<(), RunError> {
    device.control(now, &change.control).map_err(|error| RunError::Refused(place, error))
}

/// Whether the layers of `stack` can change what it asks them to change.
pub fn check_changes(stack: &Stack, seed: Seed) -> Result<(), RunError> {
    let mut device = stack.build(seed);
    stack.changes.iter().enumerate().try_for_each(|change| apply_change(&mut device, change, Instant::ZERO))
}

/// How a run that is watched ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// The device goes on by itself for as long as the witness wants.
    Linger,
    /// The power is switched off in order, and what the layers make of that takes its course.
    PowerOff,
}

/// Runs `source` on `stack` until it ends or to `cutoff`, and the device on as `ending` says; `witness` sees every
/// request, completion and landing. Returns the outcome, and when the last thing happened that the ending is about.
pub fn run_witnessed<S: Source>(
    stack: &Stack,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    ending: RunEnding,
    witness: &mut impl Witness,
) -> Result<(RunOutcome<S>, Instant), RunError> {
    let device = WatchedDevice::new(stack.build(seed), witness);
    let mut engine = join_source(device, source, cutoff)?;
    engine.source_mut().keep_flush_flag();
    run_engine(&mut engine, &stack.changes, &mut |_: &Record| ())?;
    let (outcome, mut device) = into_outcome_and_device(engine);
    let outcome = outcome.unless_cancelled()?;
    let last = match ending {
        RunEnding::Linger => {
            device.linger(outcome.figures.end);
            outcome.figures.end
        }
        RunEnding::PowerOff => device.power_off(outcome.figures.end).expect("every device can be switched off"),
    };
    Ok((outcome, last))
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
    use seekwise_disk::block::{Completion, Control, ControlError, Flags, Landing, Op, Request};
    use seekwise_drives::drives;
    use seekwise_formats::fio::{self, FioContext};

    use super::*;
    use crate::work::Work;

    /// Requests as they were submitted, each with whether it is forced; and when they were done.
    #[derive(Default)]
    struct Seen {
        submitted: Vec<(Op, bool)>,
        done: Vec<(Op, Instant)>,
    }

    impl Witness for Seen {
        fn note_submission(&mut self, _: Instant, request: &Request) {
            self.submitted.push((request.op, request.flags.has(Flags::FUA)));
        }
        fn note_completion(&mut self, request: &Request, completion: &Completion) {
            self.done.push((request.op, completion.finished));
        }
        fn note_landing(&mut self, _: &Landing) {}
        fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
            false
        }
    }

    #[test]
    fn a_change_that_the_stack_refuses_is_known_by_its_place() {
        let profile = drives::load("barracuda-7200.7").unwrap().profile().unwrap();
        let change = |setting| SettingChange { at: Instant::ZERO, control: Control::Set(setting) };
        let settings = [LayerSetting::WriteBack(false), LayerSetting::Array(ArraySetting::Lose(0))];
        let stack = Stack { changes: settings.map(change).to_vec(), ..Stack::bare(profile) };
        assert_eq!(check_changes(&stack, Seed(1)), Err(RunError::Refused(1, ControlError::UnknownKey)));
    }

    /// This drive caches writes and has no FUA: each write of `sync=1` is followed by a flush, and done with it.
    #[test]
    fn a_witness_sees_a_synchronous_write_as_its_program_does() {
        let profile = drives::load("barracuda-7200.7").unwrap().profile().unwrap();
        let text = "[a]\nfilename=/dev/sdb\nioengine=libaio\ndirect=1\nrw=write\nbs=4k\nsize=12k\nsync=1\n";
        let file = fio::parse("a.fio", text, &FioContext::bare()).unwrap();
        let (job, _) = file.job(profile.geometry.sectors()).unwrap();
        let (work, stack) = (Work::from(job), Stack::bare(profile));
        let mut seen = Seen::default();
        let source = work.make_source(Seed(1));
        let ran = run_witnessed(&stack, source, RunCutoff::NEVER, Seed(1), RunEnding::Linger, &mut seen);
        assert_eq!(ran.unwrap().0.figures.issued, 6);
        assert_eq!(seen.submitted, [(Op::Write, true), (Op::Flush, false)].repeat(3));
        assert_eq!(seen.done.len(), 6);
        for pair in seen.done.chunks(2) {
            let [(Op::Write, written), (Op::Flush, flushed)] = *pair else { panic!("{:?}", seen.done) };
            assert_eq!(written, flushed);
        }
    }
}
