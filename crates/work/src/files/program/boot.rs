//! The start of a system: phases, each with small reads at scattered places of many files, and with computing. Without
//! prefetch each read waits for the one before, as page faults do. With prefetch the reads of a phase are known from
//! the last start: they are issued in the order of their addresses, several at once, and then the phase computes. An
//! operation is a phase.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::{Instant, Span};

use super::action::{Program, ProgramAction};
use super::context::ProgramContext;
use super::file_set::{FileSet, SizedFile};
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
    /// Computing time of a phase.
    pub time: Span,
}

/// Bytes in a page.
const PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug)]
struct BootRead {
    file: File,
    /// The first byte.
    from: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Boot {
    spec: BootSpec,
    /// The reads of each phase.
    phases: Vec<Vec<BootRead>>,
    /// The current phase.
    phase: usize,
    stage: BootStage,
    /// The next read of the phase.
    next_read: usize,
    reads_in_flight: u32,
    /// For each thread: a read of it is in flight.
    is_reading: Vec<bool>,
    /// Without prefetch: the computing after the last read is done.
    has_computed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BootStage {
    Begin,
    Read,
    Compute,
    End,
}

pub(super) fn create_program(
    spec: &BootSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let files = context.place_file_set(&spec.set, spec.volume)?;
    let mut rng = context.named_rng("boot");
    let volume = &context.volumes[usize::from(spec.volume)];
    let sizes = u64::from((spec.most / PAGE).max(1).ilog2()) + 1;
    let mut draw_read = || {
        let SizedFile { file, bytes: file_bytes } = files[rng.below(files.len() as u64) as usize];
        let bytes = (PAGE << rng.below(sizes)).min(file_bytes.next_multiple_of(PAGE));
        BootRead { file, from: rng.below((file_bytes.saturating_sub(bytes)) / PAGE + 1) * PAGE, bytes }
    };
    let mut phases: Vec<Vec<BootRead>> =
        (0..spec.phases).map(|_| (0..spec.reads).map(|_| draw_read()).collect()).collect();
    if spec.ahead > 0 {
        let address = |read: &BootRead| (volume.file_runs(read.file.id).first().map(|run| run.start), read.from);
        phases.iter_mut().for_each(|phase| phase.sort_by_key(address));
    }
    let is_reading = alloc::vec![false; spec.ahead.max(1) as usize];
    let (phase, stage, next_read, reads_in_flight, has_computed) = (0, BootStage::Begin, 0, 0, false);
    Ok(Box::new(Boot { spec: *spec, phases, phase, stage, next_read, reads_in_flight, is_reading, has_computed }))
}

impl Boot {
    /// The computing time after each read; with prefetch after all reads of a phase.
    fn compute_step_time(&self) -> Span {
        let parts = if self.spec.ahead == 0 { self.spec.reads.max(1) } else { 1 };
        Span::from_nanos(self.spec.time.nanos() / u64::from(parts))
    }
}

impl Program for Boot {
    fn thread_count(&self) -> u16 {
        self.is_reading.len() as u16
    }

    fn next_action(&mut self, thread: u16, _: Instant, _: Option<&CallResult>, _: &System) -> ProgramAction {
        let (index, is_main) = (usize::from(thread), thread == 0);
        self.reads_in_flight -= u32::from(core::mem::take(&mut self.is_reading[index]));
        if self.stage == BootStage::End && is_main {
            (self.phase, self.stage) = (self.phase + 1, BootStage::Begin);
            (self.next_read, self.has_computed) = (0, false);
        }
        let Some(reads) = self.phases.get(self.phase) else { return ProgramAction::Over };
        let number = self.phase as u32;
        match self.stage {
            BootStage::Begin if is_main => {
                self.stage = BootStage::Read;
                ProgramAction::Began(number)
            }
            BootStage::Read if self.next_read < reads.len() => {
                // Without prefetch the phase computes a little after each read.
                let computes = self.spec.ahead == 0 && self.next_read > 0;
                if computes && !core::mem::replace(&mut self.has_computed, true) {
                    return ProgramAction::Call(Call::Compute(self.compute_step_time()));
                }
                self.has_computed = false;
                let BootRead { file, from, bytes } = reads[self.next_read];
                self.next_read += 1;
                self.reads_in_flight += 1;
                self.is_reading[index] = true;
                ProgramAction::Call(Call::Read { file, from, bytes, handle: OpenMode::Cached })
            }
            BootStage::Read if is_main && self.reads_in_flight == 0 => {
                self.stage = BootStage::Compute;
                ProgramAction::Call(Call::Compute(self.compute_step_time()))
            }
            BootStage::Compute if is_main => {
                self.stage = BootStage::End;
                ProgramAction::Ended(number)
            }
            _ => ProgramAction::Park,
        }
    }
}
