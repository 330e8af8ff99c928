//! State after a cut of a served array that lacks a drive, computed by the judge of [`super::judge`]. For whole arrays
//! and single drives, the disk's own bytes are the state.

use alloc::string::String;
use alloc::vec;

use super::image::replay_cuts;
use super::terms::DriveTerms;
use super::view::CutArray;
use crate::block::Control;
use crate::block::assurance::Assurance;
use crate::history::{CutRemains, History, HistoryEvent};
use crate::stack::{Layer, SettingChange, Stack};
use crate::time::Instant;

/// True if the stack has an array that survives the loss of some drive.
pub fn can_lose_drive(stack: &Stack) -> bool {
    let survives = |member: u32| stack.volumes().iter().all(|volume| volume.survives_loss(1 << member));
    stack.array().is_some_and(|spec| (0..spec.members).any(survives))
}

/// True if a completed flush has brought everything before it to all media: no layer breaks the promise of a flush, of
/// FUA, or of a cache that is off (a drive that breaks it claims to have nothing to flush), and no buffer that survives
/// a cut keeps data.
pub fn is_flush_trusted(stack: &Stack) -> bool {
    let durable = |breaks| matches!(breaks, Assurance::Flush | Assurance::Fua | Assurance::CacheOff);
    let broken = stack.promise_breakers().iter().any(|breaker| durable(breaker.breaks));
    !broken && !stack.profile.saves_buffer()
}

/// Returns the state after a cut at `at` in a history of `stack`. The history began with everything on the media of the
/// drives present: all but `lost`, one bit each. An error says why the cut is not judged.
pub fn remains_after_cut(stack: &Stack, history: &History, lost: u64, at: Instant) -> Result<CutRemains, String> {
    let stack = initial_stack(stack, history, lost);
    let (terms, plan) = (DriveTerms::from_stack(&stack), CutArray::from_stack(&stack)?);
    let mut found = CutRemains::default();
    replay_cuts(history, (terms, plan), vec![at], at, |_, image| found = image.cut_remains());
    Ok(found)
}

/// The stack at the beginning of the history, with its changes since then.
fn initial_stack(stack: &Stack, history: &History, lost: u64) -> Stack {
    let change = |event: &HistoryEvent| match event {
        HistoryEvent::Changed(at, setting) => Some(SettingChange { at: *at, control: Control::Set(*setting) }),
        _ => None,
    };
    let mut stack = Stack { changes: history.events.iter().filter_map(change).collect(), ..stack.clone() };
    for layer in &mut stack.layers {
        if let Layer::Array(spec) = layer {
            spec.lost = lost;
        }
    }
    stack
}
