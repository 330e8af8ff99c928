//! Starting a system: phases of small reads at scattered places of many files, and computing. Without prefetch each
//! read waits for the one before, as page faults do. With prefetch, the reads of a phase are known from the last start;
//! they are issued in the order of their addresses, several at once, and then the phase computes. An operation is a
//! phase.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::{Instant, Span};

use super::action::{Program, ProgramAction};
use super::context::ProgramContext;
use super::file_set::FileSet;
use crate::files::call::{Call, CallResult, File, OpenMode};
use crate::files::system::System;
use crate::files::volume::VolumeError;

/// The figures of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootSpec {
    pub volume: u8,
    /// The system's files.
    pub set: FileSet,
    pub phases: u32,
    /// Reads in a phase.
    pub reads: u32,
    /// The largest read in bytes. Sizes are 4 KiB times a power of two, evenly drawn.
    pub most: u64,
    /// Reads outstanding while a phase is prefetched; 0 for no prefetch.
    pub ahead: u32,
    /// Computing in a phase.
    pub time: Span,
}

/// Bytes in a page.
const PAGE: u64 = 4096;

#[derive(Debug)]
struct Boot {
    spec: BootSpec,
    /// The reads of each phase.
    phases: Vec<Vec<(File, u64, u64)>>,
    phase: usize,
    /// The next read of the phase, the reads in flight, and the phase's stage.
    next: usize,
    flying: u32,
    stage: BootStage,
    /// Whether each thread has a read in flight.
    reading: Vec<bool>,
    /// Without prefetch: the computing after the last read is done.
    computed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BootStage {
    Begin,
    Read,
    Compute,
    End,
}

pub(super) fn create_program(spec: &BootSpec, place: &mut ProgramContext<'_>) -> Result<Box<dyn Program>, VolumeError> {
    let files = place.place_set(&spec.set, spec.volume)?;
    let mut rng = place.named_rng("boot");
    let volume = &place.volumes[usize::from(spec.volume)];
    let sizes = u64::from((spec.most / PAGE).max(1).ilog2()) + 1;
    let mut one = || {
        let (file, long) = files[rng.below(files.len() as u64) as usize];
        let bytes = (PAGE << rng.below(sizes)).min(long.next_multiple_of(PAGE));
        (file, rng.below((long.saturating_sub(bytes)) / PAGE + 1) * PAGE, bytes)
    };
    let mut phases: Vec<Vec<(File, u64, u64)>> =
        (0..spec.phases).map(|_| (0..spec.reads).map(|_| one()).collect()).collect();
    if spec.ahead > 0 {
        let lies = |&(file, from, _): &(File, u64, u64)| (volume.file_runs(file.id).first().map(|run| run.start), from);
        phases.iter_mut().for_each(|phase| phase.sort_by_key(lies));
    }
    let threads = spec.ahead.max(1) as usize;
    let reading = alloc::vec![false; threads];
    let (phase, next, flying, stage, computed) = (0, 0, 0, BootStage::Begin, false);
    Ok(Box::new(Boot { spec: *spec, phases, phase, next, flying, stage, reading, computed }))
}

impl Boot {
    /// Computing at a time: after each read, or with prefetch after all of a phase.
    fn compute_time(&self) -> Span {
        let parts = if self.spec.ahead == 0 { self.spec.reads.max(1) } else { 1 };
        Span::from_nanos(self.spec.time.nanos() / u64::from(parts))
    }
}

impl Program for Boot {
    fn threads(&self) -> u16 {
        self.reading.len() as u16
    }

    fn next(&mut self, thread: u16, _: Instant, _: Option<&CallResult>, _: &System) -> ProgramAction {
        let (own, main) = (usize::from(thread), thread == 0);
        self.flying -= u32::from(core::mem::take(&mut self.reading[own]));
        if self.stage == BootStage::End && main {
            (self.phase, self.next, self.stage, self.computed) = (self.phase + 1, 0, BootStage::Begin, false);
        }
        let Some(reads) = self.phases.get(self.phase) else { return ProgramAction::Over };
        let number = self.phase as u32;
        match self.stage {
            BootStage::Begin if main => {
                self.stage = BootStage::Read;
                ProgramAction::Began(number)
            }
            BootStage::Read if self.next < reads.len() => {
                // Without prefetch the phase computes a little after each read.
                if self.spec.ahead == 0 && self.next > 0 && !core::mem::replace(&mut self.computed, true) {
                    return ProgramAction::Call(Call::Compute(self.compute_time()));
                }
                self.computed = false;
                let (file, from, bytes) = reads[self.next];
                self.next += 1;
                self.flying += 1;
                self.reading[own] = true;
                ProgramAction::Call(Call::Read { file, from, bytes, handle: OpenMode::Cached })
            }
            BootStage::Read if main && self.flying == 0 => {
                self.stage = BootStage::Compute;
                ProgramAction::Call(Call::Compute(self.compute_time()))
            }
            BootStage::Compute if main => {
                self.stage = BootStage::End;
                ProgramAction::Ended(number)
            }
            _ => ProgramAction::Park,
        }
    }
}
