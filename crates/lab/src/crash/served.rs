//! What a cut leaves of a served array that lacks a drive, computed by the judge of [`crate::cut`]. For whole arrays
//! and single drives, the disk's own bytes tell.

use std::cell::RefCell;
use std::rc::Rc;

use seekwise_model::block::assurance::Assurance;
use seekwise_model::history::{Event, History, Judge, Left};
use seekwise_model::stack::{Change, Layer, Stack};
use seekwise_model::time::Instant;

use super::image::after_cuts;
use crate::cut::terms::Terms;
use crate::cut::view::Plan;

/// A judge of cuts for this stack, and whether a completed flush has brought everything before it to all media; `None`
/// if no drive could be lost.
pub fn judge(stack: &Stack) -> Option<(Judge, bool)> {
    let spec = stack.array()?;
    let survives = |member: u32| stack.volumes().iter().all(|volume| volume.survives(1 << member));
    if !(0..spec.members).any(survives) {
        return None;
    }
    let (judged, trusted) = (stack.clone(), is_trusted(stack));
    Some((Box::new(move |history, lost, at| left(&judged, history, lost, at)), trusted))
}

/// True if flushed, forced and write-through data reach the media (a drive that caches with its cache off has nothing
/// to flush, by its own account); a buffer that survives a cut may keep them.
fn is_trusted(stack: &Stack) -> bool {
    let durable = |breaks| matches!(breaks, Assurance::Flush | Assurance::Fua | Assurance::CacheOff);
    let broken = stack.promise_breakers().iter().any(|breaker| durable(breaker.breaks));
    !broken && !stack.profile.saves_buffer()
}

/// What a cut at `at` leaves of a history of `stack`, which began with everything on the media of the drives present:
/// all but `lost`, one bit each. An error says why that is not judged.
pub fn left(stack: &Stack, history: &History, lost: u64, at: Instant) -> Result<Left, String> {
    let stack = as_it_was(stack, history, lost);
    let (terms, plan) = (Terms::of(&stack), Plan::of(&stack)?);
    let found = Rc::new(RefCell::new(Left::default()));
    let finding = Rc::clone(&found);
    after_cuts(history, (terms, plan), vec![at], at, move |_, image| *finding.borrow_mut() = image.left());
    Ok(found.take())
}

/// The stack at the beginning of the history, with its changes since then.
fn as_it_was(stack: &Stack, history: &History, lost: u64) -> Stack {
    let change = |event: &Event| match event {
        Event::Changed(at, key, value) => Some(Change { at: *at, key: key.clone(), value: value.clone() }),
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
