//! Sectors as a mount reads them: landings, and the cut's effect on those under the heads. The judgement is in `files`.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;

use crate::files::call::File;
use crate::files::volume::{DataSectors, FileLedger, FileState, SectorState, SectorView, VolumeState, WrittenExtent};

use seekwise_disk::durability::overlay::CutOverlay;
use seekwise_disk::durability::runs::{SectorRun, SectorRuns, run_overlap};

/// The sectors of the drives after a cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CutMedium<'a> {
    pub image: &'a SectorRuns<u64>,
    pub overlay: &'a CutOverlay,
}

impl CutMedium<'_> {
    fn sector_state(&self, lba: u64) -> SectorState {
        let run = (lba, lba + 1);
        let hits = |other: SectorRun| run_overlap(other, run).is_some();
        let CutOverlay { besides, torn, gone } = self.overlay;
        if torn.iter().any(|it| hits(it.0)) || gone.iter().any(|&it| hits(it)) {
            return SectorState::Unreadable;
        }
        let finished = besides.iter().filter(|it| hits(it.0)).map(|it| it.1);
        let landed = self.image.content_in(run).map(|it| it.1);
        finished.chain(landed).max().map_or(SectorState::Before, SectorState::Stamp)
    }
}

impl SectorView for CutMedium<'_> {
    fn for_each_run(&self, first: u64, end: u64, report: &mut dyn FnMut(u64, u64, SectorState)) {
        match self.overlay.touches_run((first, end)) {
            true => (first..end).for_each(|lba| report(lba, lba + 1, self.sector_state(lba))),
            false => self.image.for_each_part((first, end), &mut |run, stamp| {
                report(run.0, run.1, stamp.map_or(SectorState::Before, SectorState::Stamp));
            }),
        }
    }
}

/// All volumes as a mount finds them.
pub struct Mounts<'a> {
    volumes: Vec<VolumeState<'a, CutMedium<'a>>>,
    /// Files looked up so far.
    found: RefCell<BTreeMap<File, FileState>>,
}

impl<'a> Mounts<'a> {
    /// The volumes of a scene after a cut.
    pub fn new(ledgers: &'a [FileLedger], seen: CutMedium<'a>) -> Mounts<'a> {
        Mounts { volumes: ledgers.iter().map(|ledger| ledger.mount(seen)).collect(), found: RefCell::default() }
    }

    fn with_file<T>(&self, file: File, ask: impl FnOnce(&VolumeState<'a, CutMedium<'a>>, &FileState) -> T) -> T {
        let volume = &self.volumes[usize::from(file.volume)];
        let mut found = self.found.borrow_mut();
        ask(volume, found.entry(file).or_insert_with(|| volume.find_file(file.id)))
    }

    /// True if a directory lists the file.
    pub(crate) fn is_listed(&self, file: File) -> bool {
        self.with_file(file, |_, found| !found.listed.is_empty())
    }

    /// Counts the sectors of an extent by content.
    pub fn data_sectors(&self, file: File, extent: &WrittenExtent) -> DataSectors {
        self.with_file(file, |volume, found| volume.data_sectors(file.id, found, extent))
    }

    /// True if the whole extent is there, and new enough.
    pub(crate) fn has_extent(&self, file: File, extent: &WrittenExtent) -> bool {
        let data = self.data_sectors(file, extent);
        data.fresh == data.total_sectors()
    }
}
