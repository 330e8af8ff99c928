//! The drives after a cut, as a mount reads them: the writes that are on the media, and the cut's effect on the sectors
//! under the heads. The judgement is in `durability`.

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
        let covers = |other: SectorRun| run_overlap(other, run).is_some();
        let CutOverlay { besides, torn, gone } = self.overlay;
        if torn.iter().any(|it| covers(it.0)) || gone.iter().any(|&it| covers(it)) {
            return SectorState::Unreadable;
        }
        let stamps_besides = besides.iter().filter(|it| covers(it.0)).map(|it| it.1);
        let stamps_before = self.image.content_in(run).map(|it| it.1);
        stamps_besides.chain(stamps_before).max().map_or(SectorState::Before, SectorState::Stamp)
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
    /// Mounts the volumes with these ledgers.
    pub fn new(ledgers: &'a [FileLedger], medium: CutMedium<'a>) -> Mounts<'a> {
        Mounts { volumes: ledgers.iter().map(|ledger| ledger.mount(medium)).collect(), found: RefCell::default() }
    }

    /// Calls `query` with the volume of a file, and with the file as the mount finds it.
    fn with_file<T>(&self, file: File, query: impl FnOnce(&VolumeState<'a, CutMedium<'a>>, &FileState) -> T) -> T {
        let volume = &self.volumes[usize::from(file.volume)];
        let mut found = self.found.borrow_mut();
        query(volume, found.entry(file).or_insert_with(|| volume.find_file(file.id)))
    }

    /// True if a directory lists the file.
    pub(crate) fn is_listed(&self, file: File) -> bool {
        self.with_file(file, |_, found| !found.listed.is_empty())
    }

    /// Counts the sectors of extents by content.
    pub fn data_sectors<'e>(&self, file: File, extents: impl IntoIterator<Item = &'e WrittenExtent>) -> DataSectors {
        self.with_file(file, |volume, found| {
            let mut sum = DataSectors::default();
            for extent in extents {
                sum.add(volume.data_sectors(file.id, found, extent));
            }
            sum
        })
    }

    /// True if the whole extent is on the medium, with the expected data or newer data.
    pub(crate) fn holds_extent(&self, file: File, extent: &WrittenExtent) -> bool {
        let data = self.data_sectors(file, [extent]);
        data.fresh == data.total_sectors()
    }
}
