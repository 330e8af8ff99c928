//! An image editor with a scratch file: each stroke saves a part of the picture in one run, and loads tiles of other
//! parts. An operation is a stroke.

use alloc::boxed::Box;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::VolumeError;

/// The figures of an editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchSpec {
    pub volume: u8,
    /// The size of the scratch file.
    pub bytes: u64,
    pub strokes: u32,
    /// Bytes that each stroke saves, contiguously.
    pub run: u64,
    /// Bytes in a write.
    pub block: u64,
    /// Tiles that each stroke loads, at random.
    pub tiles: u32,
    /// Bytes in a tile.
    pub tile: u64,
    /// How the file is opened.
    pub handle: OpenMode,
    /// Computing for each stroke.
    pub time: Span,
}

#[derive(Debug)]
struct Scratch {
    spec: ScratchSpec,
    file: File,
    /// The number of the stroke.
    at: u32,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &ScratchSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let file = context.place_file(directory, spec.bytes)?;
    Ok(script::program_from_script(Scratch { spec: *spec, file, at: 0, rng: context.named_rng("scratch") }))
}

impl Script for Scratch {
    fn add_next_actions(&mut self, _: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        if self.at == self.spec.strokes {
            return false;
        }
        let ScratchSpec { bytes, run, block, tile, handle, .. } = self.spec;
        let file = self.file;
        actions.push_began(self.at);
        actions.push_calls(compute_call(self.spec.time));
        let start = self.rng.below(bytes.saturating_sub(run) / block + 1) * block;
        let blocks = (0..run).step_by(block as usize);
        actions.push_calls(blocks.map(|at| Call::Write { file, from: start + at, bytes: block.min(run - at), handle }));
        for _ in 0..self.spec.tiles {
            let from = self.rng.below((bytes / tile).max(1)) * tile;
            actions.push_call(Call::Read { file, from, bytes: tile, handle });
        }
        actions.push_ended(self.at);
        self.at += 1;
        true
    }
}
