//! An image editor's scratch file: a stroke puts a part of the picture away in one run, and brings tiles of others back. An
//! operation is a stroke.

use alloc::boxed::Box;

use super::act::{Program, compute};
use super::lines::{self, Acts, Script, Seen};
use super::place::Place;
use crate::files::call::{Call, File, Handle};
use crate::files::volume::Refused;
use crate::rng::Rng;
use crate::time::Span;

/// An editor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchSpec {
    /// The volume.
    pub volume: u8,
    /// Bytes of the scratch file.
    pub bytes: u64,
    /// Strokes.
    pub strokes: u32,
    /// Bytes that each puts away, one after another.
    pub run: u64,
    /// Bytes of a write.
    pub block: u64,
    /// Tiles that each brings back, at random.
    pub tiles: u32,
    /// Bytes of a tile.
    pub tile: u64,
    /// How the file is opened.
    pub handle: Handle,
    /// Computing for each stroke.
    pub time: Span,
}

#[derive(Debug)]
struct Scratch {
    spec: ScratchSpec,
    file: File,
    at: u32,
    rng: Rng,
}

pub(super) fn place(spec: &ScratchSpec, place: &mut Place<'_>) -> Result<Box<dyn Program>, Refused> {
    let directory = place.directory(spec.volume)?;
    let file = place.file(directory, spec.bytes)?;
    Ok(lines::program(Scratch { spec: *spec, file, at: 0, rng: place.rng("scratch") }))
}

impl Script for Scratch {
    fn more(&mut self, _: &Seen<'_>, acts: &mut Acts) -> bool {
        if self.at == self.spec.strokes {
            return false;
        }
        let ScratchSpec { bytes, run, block, tile, handle, .. } = self.spec;
        let file = self.file;
        acts.began(self.at);
        acts.calls(compute(self.spec.time));
        let start = self.rng.below(bytes.saturating_sub(run) / block + 1) * block;
        let blocks = (0..run).step_by(block as usize);
        acts.calls(blocks.map(|at| Call::Write { file, from: start + at, bytes: block.min(run - at), handle }));
        for _ in 0..self.spec.tiles {
            let from = self.rng.below((bytes / tile).max(1)) * tile;
            acts.call(Call::Read { file, from, bytes: tile, handle });
        }
        acts.ended(self.at);
        self.at += 1;
        true
    }
}
