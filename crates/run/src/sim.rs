//! Runs a source on a modelled stack in virtual time, which jumps from event to event, and applies the stack's changes
//! on the way. The loop itself is the engine's (`disk/engine`).

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

/// Runs `make_source` on `stack` until it ends, or to `cutoff`, handing each counted record to `recorder`. The
/// platters' phases at time 0 are drawn from `seed`.
pub fn run_source<S: Source>(
    stack: &Stack,
    make_source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<S>, RunError> {
    // For a drive without layers the compiler knows the type, so a request needs no dynamic call.
    match stack.is_bare() {
        true => run_on_device(stack.build_drive(seed, 0), make_source, &[], cutoff, recorder),
        false => run_on_device(stack.build(seed), make_source, &stack.changes, cutoff, recorder),
    }
}

fn run_on_device<S: Source>(
    device: impl Device,
    make_source: impl FnOnce(&Limits) -> Result<S, RunError>,
    changes: &[SettingChange],
    cutoff: RunCutoff<'_>,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<S>, RunError> {
    let mut engine = join_source(device, make_source, cutoff)?;
    run_engine(&mut engine, changes, recorder)?;
    let mut outcome = into_outcome_and_device(engine).0;
    outcome.figures.asked = outcome.figures.asked.filter(|_| changes.is_empty());
    outcome.unless_cancelled()
}

/// Runs until the source is over, and applies each change at its instant.
fn run_engine<S: Source, D: Device>(
    engine: &mut Engine<S, D>,
    changes: &[SettingChange],
    recorder: &mut impl FnMut(&Record),
) -> Result<(), RunError> {
    for (index, change) in changes.iter().enumerate() {
        engine.run(change.at, recorder)?;
        if engine.is_over() {
            break;
        }
        apply_change(engine.device_mut(), index, change, change.at)?;
    }
    Ok(engine.run(Instant::FAR, recorder)?)
}

/// Applies `change`, the one at `index` among the stack's changes, to `device` at `now`.
fn apply_change(device: &mut impl Device, index: usize, change: &SettingChange, now: Instant) -> Result<(), RunError> {
    device.control(now, &change.control).map_err(|error| RunError::Refused(index, error))
}

/// Checks that the layers of `stack` accept all of its changes.
pub fn check_changes(stack: &Stack, seed: Seed) -> Result<(), RunError> {
    let mut device = stack.build(seed);
    let mut changes = stack.changes.iter().enumerate();
    changes.try_for_each(|(index, change)| apply_change(&mut device, index, change, Instant::ZERO))
}

/// How a run with a witness ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnding {
    /// The device goes on without requests for as long as the witness wants.
    Linger,
    /// The power is switched off in order, and the layers finish what they do before they stop.
    PowerOff,
}

/// Runs `make_source` on `stack` until it ends or to `cutoff`, then ends the device as `ending` says; `witness` sees
/// every request, completion and landing. Returns the outcome, and when the run ended or the device was switched off.
pub fn run_witnessed<S: Source>(
    stack: &Stack,
    make_source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    ending: RunEnding,
    witness: &mut impl Witness,
) -> Result<(RunOutcome<S>, Instant), RunError> {
    let device = WatchedDevice::new(stack.build(seed), witness);
    let mut engine = join_source(device, make_source, cutoff)?;
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

    #[derive(Default)]
    struct Seen {
        /// Each request as submitted, and whether it is forced.
        submitted: Vec<(Op, bool)>,
        /// When each completed.
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
    fn a_change_that_the_stack_refuses_is_reported_by_its_index() {
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
        let outcome = run_witnessed(&stack, source, RunCutoff::NEVER, Seed(1), RunEnding::Linger, &mut seen);
        assert_eq!(outcome.unwrap().0.figures.issued, 6);
        assert_eq!(seen.submitted, [(Op::Write, true), (Op::Flush, false)].repeat(3));
        assert_eq!(seen.done.len(), 6);
        for pair in seen.done.chunks(2) {
            let [(Op::Write, written), (Op::Flush, flushed)] = *pair else { panic!("{:?}", seen.done) };
            assert_eq!(written, flushed);
        }
    }
}
