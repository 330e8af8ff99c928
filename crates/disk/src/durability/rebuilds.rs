//! The writes that the rebuild of a drive restores. A run of the rebuild writes what the other drives held when it began:
//! for each block the last write that the array had accepted by then. Writes to the row wait until the run is over.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::MemberRole;

use super::heads::StampedRun;
use super::runs::{SectorRun, SectorRuns, run_overlap};

/// A write that an array accepted.
#[derive(Clone, Copy)]
struct NumberedStamp {
    /// Number among the writes that the array accepted.
    number: u64,
    /// Stamp of the write's content.
    stamp: u64,
}

/// Writes that an array accepted, to identify the content of a rebuild's runs.
#[derive(Default)]
pub struct Rebuilds {
    /// By block: the last accepted write.
    accepted: SectorRuns<NumberedStamp>,
    /// Runs of a rebuild that may still land, by number and first block: their blocks with the writes that they copy.
    runs: BTreeMap<(u64, u64), Vec<(SectorRun, NumberedStamp)>>,
}

impl Rebuilds {
    /// Records a write that the array accepted.
    pub fn accept_write(&mut self, run: SectorRun, number: u64, stamp: u64) {
        self.accepted.set_content(run, NumberedStamp { number, stamp });
    }

    /// Begins a run of a rebuild: keeps the writes that it copies.
    pub fn begin_run(&mut self, number: u64, run: SectorRun) {
        self.runs.insert((number, run.0), self.accepted.content_in(run).collect());
    }

    /// Returns the parts of a rebuilt run that landed, each with number and stamp of the write that it copies.
    pub(crate) fn copied_parts(&self, landed: &StampedRun) -> Vec<StampedRun> {
        let run = self.runs.range((landed.number, 0)..=(landed.number, landed.run.0)).next_back();
        let copied = run.into_iter().flat_map(|(_, copied)| copied);
        let in_landed = copied.filter_map(|&(run, write)| Some((run_overlap(run, landed.run)?, write)));
        in_landed
            .map(|(run, NumberedStamp { number, stamp })| {
                let role = without_rebuild(landed.role);
                StampedRun { role, run, stamp, number, ..*landed }
            })
            .collect()
    }

    /// Ends the rebuild: everything restored is on the medium.
    pub(crate) fn end_rebuild(&mut self) {
        self.runs.clear();
    }
}

/// The role as if an ordinary write had written the copy.
fn without_rebuild(role: MemberRole) -> MemberRole {
    if let MemberRole::RebuiltCopy(copy) = role { MemberRole::Copy(copy) } else { role }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuild_restores_the_writes_accepted_before_it_began() {
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
