//! The content that a rebuild restores. A run writes what the other drives held when it began: for each block the last
//! write that the array had accepted. Writes to the row wait until the run is over, so later ones are not included.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::MemberRole;

use super::heads::StampedRun;
use super::runs::{SectorRun, SectorRuns, run_overlap};

/// Blocks of a rebuild's run, with the number and the stamp of their last accepted write.
type Rebuilt = (SectorRun, u64, u64);

/// Writes that an array accepted, to identify the content of a rebuild's runs.
#[derive(Default)]
pub struct Rebuilds {
    /// By block: the last accepted write, by number and stamp.
    taken: SectorRuns<(u64, u64)>,
    /// By number and first block: runs of a rebuild that may still land.
    runs: BTreeMap<(u64, u64), Vec<Rebuilt>>,
}

impl Rebuilds {
    /// Records a write that the array accepted.
    pub fn accept_write(&mut self, run: SectorRun, number: u64, stamp: u64) {
        self.taken.set_content(run, (number, stamp));
    }

    /// Begins a run of a rebuild: keeps the writes that it copies.
    pub fn begin_run(&mut self, number: u64, run: SectorRun) {
        let held = self.taken.content_in(run).map(|(run, (number, stamp))| (run, number, stamp));
        self.runs.insert((number, run.0), held.collect());
    }

    /// Returns the parts of a rebuilt run, each with number and stamp of the write that it copies.
    pub(crate) fn copied_parts(&self, part: &StampedRun) -> Vec<StampedRun> {
        let chunk = self.runs.range((part.number, 0)..=(part.number, part.run.0)).next_back();
        let held = chunk.into_iter().flat_map(|(_, held)| held);
        let inside = held.filter_map(|&(run, number, stamp)| Some((run_overlap(run, part.run)?, number, stamp)));
        inside
            .map(|(run, number, stamp)| StampedRun { role: copy_of(part.role), run, stamp, number, ..*part })
            .collect()
    }

    /// Ends the rebuild: everything restored is on the medium.
    pub(crate) fn end_rebuild(&mut self) {
        self.runs.clear();
    }
}

/// The copy that a role stands for, however it was written.
fn copy_of(role: MemberRole) -> MemberRole {
    if let MemberRole::RebuiltCopy(copy) = role { MemberRole::Copy(copy) } else { role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuild_brings_what_was_taken_before_it_began() {
        let mut rebuilds = Rebuilds::default();
        rebuilds.accept_write((0, 8), 1, 11);
        rebuilds.accept_write((4, 6), 2, 15);
        rebuilds.begin_run(3, (0, 16));
        rebuilds.accept_write((0, 8), 4, 16);
        let landed = StampedRun { member: 2, role: MemberRole::RebuiltCopy(1), run: (2, 12), stamp: 0, number: 3 };
        let parts: Vec<(SectorRun, u64, MemberRole)> =
            rebuilds.copied_parts(&landed).iter().map(|part| (part.run, part.stamp, part.role)).collect();
        let copy = MemberRole::Copy(1);
        assert_eq!(parts, [((2, 4), 11, copy), ((4, 6), 15, copy), ((6, 8), 11, copy)]);
    }
}
