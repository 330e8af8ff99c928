//! Metadata in memory: which pages are known, because they were read or written, and which of those are dirty.
//!
//! Pages stay in memory until [`MetadataPages::drop_all`]. A real system evicts pages under memory pressure; that is
//! not modelled (docs/files.md).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use seekwise_disk::block::Flags;

use super::plan::{IoPlan, SectorRole};

/// A dirty page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirtyPage {
    pub(super) lba: u64,
    pub(super) sectors: u64,
    pub(super) role: SectorRole,
    /// The latest change that it holds.
    pub(super) latest_change: u64,
    /// Rises in the order in which pages became dirty.
    age: u64,
}

/// Pages of a volume's metadata, by their first sector on the drive. The caller makes sure that none overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct MetadataPages {
    known: BTreeSet<u64>,
    dirty: BTreeMap<u64, DirtyPage>,
    /// First sectors of dirty pages by age.
    ages: BTreeMap<u64, u64>,
    age: u64,
    /// Files from before the run are being laid out. All are on the drive when the run begins, so no page is kept.
    laying_out: bool,
}

impl MetadataPages {
    /// Sets whether files from before the run are being laid out.
    pub(super) fn set_laying_out(&mut self, laying_out: bool) {
        self.laying_out = laying_out;
    }

    /// True while files from before the run are being laid out.
    pub(super) fn is_laying_out(&self) -> bool {
        self.laying_out
    }

    /// Adds the read of a page to the plan unless the page is known.
    pub(super) fn read_unless_known(&mut self, lba: u64, sectors: u64, role: SectorRole, plan: &mut IoPlan) {
        if !self.laying_out && self.known.insert(lba) {
            plan.add_read(lba, sectors, role);
        }
    }

    /// Marks a new page as known: it need not be read.
    pub(super) fn mark_known(&mut self, lba: u64) {
        if !self.laying_out {
            self.known.insert(lba);
        }
    }

    /// Marks a page as dirty; it holds changes up to `latest_change`.
    pub(super) fn mark_dirty(&mut self, lba: u64, sectors: u64, role: SectorRole, latest_change: u64) {
        if self.laying_out {
            return;
        }
        self.mark_known(lba);
        let age = match self.dirty.get(&lba) {
            Some(dirty) => dirty.age,
            None => {
                self.age += 1;
                self.ages.insert(self.age, lba);
                self.age
            }
        };
        self.dirty.insert(lba, DirtyPage { lba, sectors, role, latest_change, age });
    }

    /// How many pages are dirty.
    pub(super) fn dirty_count(&self) -> usize {
        self.dirty.len()
    }

    /// The latest change that a dirty page holds; `None` if it is clean.
    #[cfg(test)]
    pub(super) fn latest_change(&self, lba: u64) -> Option<u64> {
        self.dirty.get(&lba).map(|dirty| dirty.latest_change)
    }

    /// Takes the `count` pages that have been dirty longest, in order of address. Pages that are taken become clean.
    pub(super) fn take_oldest_dirty(&mut self, count: usize) -> Vec<DirtyPage> {
        let mut taken: Vec<u64> = self.ages.values().take(count).copied().collect();
        taken.sort_unstable();
        self.take_dirty_at(&taken)
    }

    /// Takes the dirty pages whose roles `accepts`, in order of address.
    pub(super) fn take_dirty_if(&mut self, accepts: impl Fn(SectorRole) -> bool) -> Vec<DirtyPage> {
        let taken: Vec<u64> = self.dirty.values().filter(|dirty| accepts(dirty.role)).map(|dirty| dirty.lba).collect();
        self.take_dirty_at(&taken)
    }

    /// Takes those pages among `lbas` that are dirty.
    pub(super) fn take_dirty_at(&mut self, lbas: &[u64]) -> Vec<DirtyPage> {
        let mut taken = Vec::with_capacity(lbas.len());
        for lba in lbas {
            if let Some(dirty) = self.dirty.remove(lba) {
                self.ages.remove(&dirty.age);
                taken.push(dirty);
            }
        }
        taken
    }

    /// Drops the pages in a range of sectors that was freed.
    pub(super) fn drop_range(&mut self, lba: u64, sectors: u64) {
        let gone: Vec<u64> = self.dirty.range(lba..lba + sectors).map(|(&lba, _)| lba).collect();
        self.take_dirty_at(&gone);
        let known: Vec<u64> = self.known.range(lba..lba + sectors).copied().collect();
        known.iter().for_each(|lba| {
            self.known.remove(lba);
        });
    }

    /// Drops all pages, as a restart does.
    pub(super) fn drop_all(&mut self) {
        *self = MetadataPages { laying_out: self.laying_out, ..MetadataPages::default() };
    }
}

/// Adds the writes of these pages to the plan. Contiguous pages of one role are one step.
pub(super) fn add_page_writes(pages: &[DirtyPage], flags: Flags, plan: &mut IoPlan) {
    let mut rest = pages;
    while let Some(first) = rest.first() {
        let joins = |pair: &&[DirtyPage]| pair[0].lba + pair[0].sectors == pair[1].lba && pair[0].role == pair[1].role;
        let count = 1 + rest.windows(2).take_while(joins).count();
        let last = rest[count - 1];
        let latest_change = rest[..count].iter().map(|page| page.latest_change).max().unwrap_or(0);
        plan.add_write(first.lba, last.lba + last.sectors - first.lba, flags, first.role, latest_change);
        rest = &rest[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_page_is_read_once_and_written_once() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        pages.read_unless_known(8, 8, SectorRole::Inodes, &mut plan);
        pages.read_unless_known(8, 8, SectorRole::Inodes, &mut plan);
        assert_eq!(plan.steps().len(), 1);
        pages.mark_dirty(8, 8, SectorRole::Inodes, 1);
        pages.mark_dirty(8, 8, SectorRole::Inodes, 2);
        assert_eq!((pages.dirty_count(), pages.latest_change(8)), (1, Some(2)));
        assert_eq!(pages.take_oldest_dirty(9).len(), 1);
        assert_eq!(pages.dirty_count(), 0);
    }

    #[test]
    fn the_oldest_go_first_and_neighbours_go_together() {
        let (mut pages, mut plan) = (MetadataPages::default(), IoPlan::new());
        for lba in [80, 16, 8, 24, 96] {
            pages.mark_dirty(lba, 8, SectorRole::MftRecords, lba);
        }
        let taken: Vec<u64> = pages.take_oldest_dirty(4).iter().map(|page| page.lba).collect();
        assert_eq!(taken, vec![8, 16, 24, 80]);
        pages.mark_dirty(32, 8, SectorRole::LogRecords, 7);
        let all = pages.take_dirty_if(|_| true);
        assert_eq!(all.len(), 2);
        add_page_writes(&all, Flags::NONE, &mut plan);
        assert_eq!(plan.steps().len(), 2);
        plan.clear();
        for lba in [8, 16, 24] {
            pages.mark_dirty(lba, 8, SectorRole::Inodes, lba);
        }
        add_page_writes(&pages.take_dirty_if(|_| true), Flags::NONE, &mut plan);
        let step = plan.steps()[0];
        assert_eq!((plan.steps().len(), step.lba, step.sectors, step.latest_change), (1, 8, 24, 24));
    }
}
