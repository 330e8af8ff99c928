//! A program of which only counts were published: its reads and writes, sequential and random, and the bytes of each.
//! The order was not published, so requests are drawn in runs of one kind until each count is used up. An operation is
//! a run.

use alloc::boxed::Box;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::VolumeError;

/// The figures of a playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaybackSpec {
    pub volume: u8,
    /// The size of its file in bytes.
    pub span: u64,
    /// Counts of requests by kind: sequential reads, random reads, sequential writes, random writes.
    pub counts: [u32; 4],
    /// Bytes read and written in all.
    pub bytes: [u64; 2],
    /// The mean number of requests in a run; the number is drawn evenly from 1 to twice this less one.
    pub run: u32,
    /// How the file is opened.
    pub handle: OpenMode,
    /// Computing time before each run.
    pub time: Span,
}

/// Requests are aligned to this many bytes: the clusters of volumes of their time.
const ALIGN: u64 = 4096;

#[derive(Debug)]
struct Playback {
    spec: PlaybackSpec,
    file: File,
    /// Requests left of each kind.
    left: [u32; 4],
    /// The number of the run.
    at: u32,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &PlaybackSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let file = context.place_file(directory, spec.span)?;
    Ok(script::program_from_script(Playback {
        spec: *spec,
        file,
        left: spec.counts,
        at: 0,
        rng: context.named_rng("playback"),
    }))
}

impl Playback {
    /// Bytes in a request of this kind: the mean of all reads or all writes, as a multiple of 512.
    fn request_bytes(&self, kind: usize) -> u64 {
        let (counts, side) = (self.spec.counts, kind / 2);
        let requests = u64::from(counts[2 * side]) + u64::from(counts[2 * side + 1]);
        (self.spec.bytes[side] / requests.max(1)).next_multiple_of(512).clamp(512, self.spec.span)
    }

    /// Draws the kind of the next run, weighted by the requests left of each; `None` if none are left.
    fn draw_kind(&mut self) -> Option<usize> {
        let all = self.left.iter().map(|&left| u64::from(left)).sum();
        if all == 0 {
            return None;
        }
        let mut drawn = self.rng.below(all);
        self.left.iter().position(|&left| {
            let is_here = drawn < u64::from(left);
            drawn = drawn.wrapping_sub(if is_here { 0 } else { u64::from(left) });
            is_here
        })
    }
}

impl Script for Playback {
    fn add_next_actions(&mut self, _: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let Some(kind) = self.draw_kind() else { return false };
        let size = self.request_bytes(kind);
        let run = (1 + self.rng.below(2 * u64::from(self.spec.run.max(1)) - 1) as u32).min(self.left[kind]);
        self.left[kind] -= run;
        let room = |bytes: u64| self.spec.span.saturating_sub(bytes) / ALIGN + 1;
        let in_sequence = kind % 2 == 0;
        let mut from = self.rng.below(room(if in_sequence { size * u64::from(run) } else { size })) * ALIGN;
        actions.push_calls(compute_call(self.spec.time));
        actions.push_began(self.at);
        for _ in 0..run {
            let (file, bytes, handle) = (self.file, size.min(self.spec.span - from), self.spec.handle);
            actions.push_call(match kind / 2 {
                0 => Call::Read { file, from, bytes, handle },
                _ => Call::Write { file, from, bytes, handle },
            });
            let next = from + size;
            from = if in_sequence && next < self.spec.span { next } else { self.rng.below(room(size)) * ALIGN };
        }
        actions.push_ended(self.at);
        self.at += 1;
        true
    }
}
