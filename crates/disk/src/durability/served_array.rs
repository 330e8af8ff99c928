//! The state after a power cut of a served array that lacks a drive, computed by the judge of [`super::judge`]. For
//! complete arrays and single drives this module is not needed: the server's own bytes are the state.

use alloc::string::String;
use alloc::vec;

use super::image::replay_cuts;
use super::terms::DriveTerms;
use super::view::CutArray;
use crate::block::Control;
use crate::block::assurance::Assurance;
use crate::history::{CutRemains, History, HistoryEvent};
use crate::host::array::layout::MemberSet;
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
    let is_relied_on = |promise| matches!(promise, Assurance::Flush | Assurance::Fua | Assurance::CacheOff);
    let is_broken = stack.promise_breakers().iter().any(|breaker| is_relied_on(breaker.breaks));
    !is_broken && !stack.profile.saves_buffer()
}

/// Returns the state after a cut at `at` in a history of `stack`. The history began with everything on the media of the
/// drives present: all but `lost`. An error says why the cut is not judged.
pub fn remains_after_cut(stack: &Stack, history: &History, lost: MemberSet, at: Instant) -> Result<CutRemains, String> {
    let stack = stack_at_beginning(stack, history, lost);
    let (terms, array) = (DriveTerms::from_stack(&stack), CutArray::from_stack(&stack)?);
    let mut remains = CutRemains::default();
    replay_cuts(history, (terms, array), vec![at], at, |_, image| remains = image.cut_remains());
    Ok(remains)
}

/// The stack at the beginning of the history, and the changes of settings that the history records.
fn stack_at_beginning(stack: &Stack, history: &History, lost: MemberSet) -> Stack {
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
