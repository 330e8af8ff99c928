//! The registry of Windows, whose hives are flushed through their logs: the dirty sectors are written to the log and
//! flushed, then the pages of the hive are written and flushed. An operation is a flush of a hive.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{SyncScope, VolumeError};

/// The figures of registry activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrySpec {
    pub volume: u8,
    /// Number of hives, each with a log.
    pub hives: u32,
    /// Bytes in a hive.
    pub hive: u64,
    /// Number of flushes in all.
    pub flushes: u32,
    /// Pages written by each flush.
    pub pages: u32,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Computing before each flush.
    pub time: Span,
}

/// Bytes in a page of a hive: hives are mapped by pages (Windows Internals, "bins" of 4,096 bytes).
const PAGE: u64 = 4096;
/// Bytes in the log's head: base block and dirty vector, a sector each (Windows Internals; inferred: 1 KiB to 4 KiB).
const HEAD: u64 = 1024;

#[derive(Debug)]
struct Registry {
    spec: RegistrySpec,
    /// Each hive and its log.
    hives: Vec<(File, File)>,
    /// The number of the flush.
    at: u32,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &RegistrySpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let mut hives = Vec::new();
    for _ in 0..spec.hives {
        hives.push((
            context.place_file(directory, spec.hive)?,
            context.place_file(directory, HEAD + u64::from(spec.pages) * PAGE)?,
        ));
    }
    Ok(script::program_from_script(Registry { spec: *spec, hives, at: 0, rng: context.named_rng("registry") }))
}

impl Script for Registry {
    fn add_next_actions(&mut self, _: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        if self.at == self.spec.flushes {
            return false;
        }
        let RegistrySpec { pages, handle, hive: hive_bytes, .. } = self.spec;
        let (hive, log) = self.hives[self.at as usize % self.hives.len()];
        actions.push_calls(compute_call(self.spec.time));
        actions.push_began(self.at);
        actions.push_call(Call::Write { file: log, from: 0, bytes: HEAD + u64::from(pages) * PAGE, handle });
        actions.push_call(Call::Sync(log, SyncScope::All));
        for _ in 0..pages {
            let from = self.rng.below(hive_bytes.div_ceil(PAGE)) * PAGE;
            actions.push_call(Call::Write { file: hive, from, bytes: PAGE, handle });
        }
        actions.push_call(Call::Sync(hive, SyncScope::All));
        actions.push_ended(self.at);
        self.at += 1;
        true
    }
}
