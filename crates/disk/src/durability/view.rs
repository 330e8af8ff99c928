//! Blocks of the volumes as a program would read them after a cut, if some drives of an array are lost: which write
//! each block holds.
//!
//! For a mirror the first copy present counts. After a cut Linux's md reads the first one until the copies are
//! resynchronized, and copies it over the others (`read_balance` in `drivers/md/raid1.c` and `raid10.c`: the first disk
//! beyond `recovery_cp`; `raid1_sync_request`): what only another copy has is lost. For rows with parity the data count
//! as they stand; those of a lost drive are computed from parity and the others ([`super::stripes`]). A single drive is
//! a view of one copy.
//!
//! If drives are lost or replaced during a run, there is a view for each set of drives that may be lost at a time. All
//! see the whole run; a cut is judged by the view of the set that is lost then.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{Control, CutSector, MemberRole, Request};
use crate::host::array::layout::ArrayVolume;
use crate::stack::{SettingChange, Stack};
use crate::time::Instant;

use super::Tally;
use super::heads::StampedRun;
use super::loss::{CutLoss, class_losses};
use super::overlay::CutOverlay;
use super::risk::{Acknowledgement, SectorContent, WriteAtCut, WriteAtRisk, WritesAtRisk};
use super::runs::{SectorRun, SectorRuns, run_overlap, run_without_all};
use super::stripes::{LostBlocks, StripeRows};
use super::terms::DriveTerms;

/// The array that cuts hit, and what happens to its drives during a run. A single drive has no volumes.
#[derive(Clone, Debug, Default)]
pub struct CutArray {
    volumes: Vec<ArrayVolume>,
    /// Lost drives, one bit each, and those of them that are being rebuilt.
    lost: u64,
    rebuilding: u64,
    /// Changes still to come, in order.
    turns: Vec<ArraySetting>,
}

impl CutArray {
    /// Derives the array of a stack; an error says why its cuts are not judged.
    pub fn from_stack(stack: &Stack) -> Result<CutArray, String> {
        let Some(spec) = stack.array() else { return Ok(CutArray::default()) };
        let turn = |change: &SettingChange| match change.control {
            Control::Set(LayerSetting::Array(turn)) => Some(turn),
            _ => None,
        };
        let turns = stack.changes.iter().filter_map(turn).collect();
        let plan = CutArray { volumes: stack.volumes(), lost: spec.lost, rebuilding: 0, turns };
        let dead = |lost: u64| !plan.volumes.iter().all(|volume| volume.survives_loss(lost));
        if !dead(plan.lost) && plan.lost_sets().into_iter().any(dead) {
            return Err(
                "power cuts are not judged where a volume loses too many drives (`array.lose`): there is nothing \
                        left of it that a cut could lose"
                    .to_owned(),
            );
        }
        if !stack.beside.is_empty() && stack.array().is_some() {
            return Err("power cuts are not judged on an array with a device beside it: what lies behind an array's \
                        blocks is not followed"
                .to_owned());
        }
        if DriveTerms::from_stack(stack).saves
            && plan.has_parity()
            && plan.lost_sets().into_iter().any(|lost| lost != 0)
        {
            return Err(
                "power cuts are not judged on rows with parity that have lost a drive where a buffer outlives a cut: \
                        what it holds of a row under way, one run does not show"
                    .to_owned(),
            );
        }
        let faults = &stack.profile.faults;
        if plan.has_rebuild() && (faults.early_flush || faults.caches_when_off) {
            return Err(
                "power cuts are not judged where a drive is rebuilt (`array.replace`) and drives lie about what \
                        is on the medium (`faults`): what a cut leaves of the rebuild is not followed"
                    .to_owned(),
            );
        }
        Ok(plan)
    }

    /// Number of drives.
    pub fn members(&self) -> u32 {
        self.volumes.first().map_or(1, |volume| volume.members)
    }

    /// Lost drives, one bit each.
    pub(crate) fn lost_drives(&self) -> u64 {
        self.lost
    }

    /// True if some volume has rows with parity.
    pub fn has_parity(&self) -> bool {
        self.volumes.iter().any(|volume| volume.parities() > 0)
    }

    /// True if a drive is to be rebuilt.
    pub(crate) fn has_rebuild(&self) -> bool {
        self.turns.iter().any(|turn| matches!(turn, ArraySetting::Replace(_)))
    }

    /// The sets of drives that may be lost at a time from now on.
    pub fn lost_sets(&self) -> BTreeSet<u64> {
        let mut sets = BTreeSet::new();
        self.collect_lost_sets(&mut sets);
        sets
    }

    fn collect_lost_sets(&self, sets: &mut BTreeSet<u64>) {
        sets.insert(self.lost);
        for member in (0..self.members()).filter(|member| self.rebuilding >> member & 1 == 1) {
            self.clone().with_rebuilt(member).collect_lost_sets(sets);
        }
        if let Some(&turn) = self.turns.first() {
            self.clone().with_change(turn).collect_lost_sets(sets);
        }
    }

    fn with_change(mut self, turn: ArraySetting) -> CutArray {
        self.turns.remove(0);
        match turn {
            ArraySetting::Lose(member) => {
                (self.lost, self.rebuilding) = (self.lost | 1 << member, self.rebuilding & !(1 << member))
            }
            ArraySetting::Replace(member) => self.rebuilding |= self.lost & 1 << member,
        }
        self
    }

    fn with_rebuilt(mut self, member: u32) -> CutArray {
        (self.lost, self.rebuilding) = (self.lost & !(1 << member), self.rebuilding & !(1 << member));
        self
    }

    /// Applies the next change: a drive is lost or replaced.
    pub(crate) fn apply_next_change(&mut self) {
        if let Some(&turn) = self.turns.first() {
            *self = core::mem::take(self).with_change(turn);
        }
    }

    /// Ends the rebuild of `member`.
    pub(crate) fn end_rebuild(&mut self, member: u32) {
        *self = core::mem::take(self).with_rebuilt(member);
    }
}

/// The last acknowledged write of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AcknowledgedBlocks {
    stamp: u64,
    run: SectorRun,
    acknowledged: Acknowledgement,
    fua: bool,
    sure: bool,
}

/// The view with a set of drives lost.
pub(crate) struct ArrayView {
    terms: DriveTerms,
    volumes: Vec<ArrayVolume>,
    lost: u64,
    /// Writes that are not wholly on the medium.
    pub risk: WritesAtRisk,
    /// Only if rows have parity.
    stripes: Option<StripeRows>,
    /// The content of the medium; only if a cut can destroy it.
    image: Option<SectorRuns<SectorContent>>,
    /// Only if blocks of a lost drive may be unrecoverable.
    relied: Option<SectorRuns<AcknowledgedBlocks>>,
    /// Which write each sector holds; only if files are judged.
    pub surface: Option<SectorRuns<u64>>,
}

impl ArrayView {
    /// The view with these drives lost, one bit each.
    pub fn new(terms: DriveTerms, plan: &CutArray, lost: u64) -> ArrayView {
        ArrayView {
            terms,
            volumes: plan.volumes.clone(),
            lost,
            risk: WritesAtRisk::default(),
            stripes: plan.has_parity().then(|| StripeRows::new(&plan.volumes, lost)),
            image: (terms.cut_sector == CutSector::Unreadable).then(SectorRuns::default),
            relied: (plan.has_parity() && lost != 0).then(SectorRuns::default),
            surface: None,
        }
    }

    /// True if no write is in flight or at risk.
    pub(crate) fn check_idle(&mut self) -> bool {
        self.risk.is_idle() && self.stripes.as_mut().is_none_or(StripeRows::check_idle)
    }

    /// True if a read would return this copy of the block.
    fn is_read(&self, role: MemberRole, lba: u64) -> bool {
        let copy = match role {
            MemberRole::Copy(copy) | MemberRole::RebuiltCopy(copy) => copy,
            MemberRole::Every => return true,
            MemberRole::Parity(_) | MemberRole::RebuiltParity(_) => return false,
        };
        let mut start = 0;
        let inside = |volume: &&ArrayVolume| {
            start += volume.capacity();
            lba < start
        };
        let Some(volume) = self.volumes.iter().find(inside) else { return true };
        let place = volume.row_position(lba + volume.capacity() - start);
        let there = |copy: &u32| self.lost >> volume.data_member(place.row, place.column, *copy) & 1 == 0;
        (0..volume.copies()).find(there) == Some(copy)
    }

    /// Records a write that an array accepted under `number`; `part` of it is the write `stamp`.
    pub fn accept_write(&mut self, number: u64, run: SectorRun, part: SectorRun, stamp: u64) {
        if let Some(stripes) = &mut self.stripes {
            stripes.accept_write(number, run, part, stamp);
        }
    }

    /// Records sectors that are on the medium.
    pub(crate) fn land_part(&mut self, at: Instant, part: &StampedRun) {
        let back = self.stripes.as_mut().map(|stripes| stripes.land_part(part));
        if self.is_read(part.role, part.run.0) {
            self.land_readable(at, part.run, part.stamp);
        }
        back.into_iter().flatten().for_each(|(run, stamp)| self.land_readable(at, run, stamp));
    }

    fn land_readable(&mut self, at: Instant, run: SectorRun, stamp: u64) {
        if let Some(image) = &mut self.image {
            image.set_content(run, self.risk.landed_content(stamp, self.terms.volatile));
        }
        match &mut self.surface {
            // A buffer that survives the cut has brought newer data.
            Some(surface) if self.terms.saves => surface.set_if_newer(run, stamp),
            Some(surface) => surface.set_and_merge(run, stamp),
            None => {}
        }
        self.risk.land_write(at, run, stamp);
    }

    /// Counts sectors of a write that were superseded before they reached the medium.
    pub(crate) fn supersede_part(&mut self, part: &StampedRun) {
        if self.is_read(part.role, part.run.0) {
            self.risk.supersede_sectors(part.stamp, part.run.1 - part.run.0);
        }
    }

    /// Acknowledges a write at `at`.
    pub(crate) fn acknowledge_write(&mut self, at: Instant, request: &Request) {
        let (run, stamp) = ((request.lba, request.end()), request.stamp);
        if self.terms.saves {
            self.risk.land_write(at, run, stamp);
            self.surface.iter_mut().for_each(|surface| surface.set_if_newer(run, stamp));
        }
        let marks = self.risk.write_marks(stamp);
        let number = self.risk.acknowledge_write(at, stamp);
        if let Some(image) = &mut self.image {
            image.mark_acknowledged(run, stamp, number, marks.is_some_and(|(fua, sure)| fua || sure));
        }
        if let (Some(relied), Some((fua, sure))) = (&mut self.relied, marks) {
            let later: Vec<SectorRun> =
                relied.content_in(run).filter(|(_, it)| it.stamp > stamp).map(|it| it.0).collect();
            let acknowledged = Acknowledgement { at, number };
            for run in run_without_all(run, &later) {
                relied.set_content(
                    run,
                    AcknowledgedBlocks { stamp, run: (request.lba, request.end()), acknowledged, fua, sure },
                );
            }
        }
    }

    /// Parts that a program would read, with the stamp of each, in order.
    fn readable_parts(&self, parts: &[StampedRun]) -> Vec<(SectorRun, u64)> {
        let seen = parts.iter().filter(|part| self.is_read(part.role, part.run.0));
        let mut seen: Vec<(SectorRun, u64)> = seen.map(|part| (part.run, part.stamp)).collect();
        seen.sort_unstable();
        seen
    }

    /// Effects of a cut on the sectors under the heads, for the judge of files.
    pub(crate) fn cut_overlay(&mut self, under: &[StampedRun]) -> CutOverlay {
        let known = self.stripes.as_mut().filter(|_| !self.terms.saves);
        let hidden =
            known.map_or_else(LostBlocks::default, |stripes| stripes.lost_blocks(under, self.terms.cut_sector));
        let seen = self.readable_parts(under);
        let (finished, unreadable) =
            (self.terms.cut_sector == CutSector::Finished, self.terms.cut_sector == CutSector::Unreadable);
        let besides = seen.iter().copied().filter(|_| finished).chain(hidden.besides.iter().copied()).collect();
        let torn = seen.iter().map(|it| (it.0, Some(it.1))).chain(hidden.torn.iter().map(|&run| (run, None)));
        CutOverlay { besides, torn: torn.filter(|_| unreadable).collect(), gone: hidden.gone }
    }

    /// Judges a cut at `at` with these parts under the heads.
    pub fn judge_cut(&mut self, at: Instant, under: &[StampedRun], tally: &mut impl Tally) -> CutLoss {
        let fate = self.terms.cut_sector;
        // The content of a buffer that survives a cut is not reported.
        let known = self.stripes.as_mut().filter(|_| !self.terms.saves);
        let (holes, hidden) = known.map_or_else(Default::default, |stripes| {
            (stripes.write_holes(under, fate), stripes.lost_blocks(under, fate))
        });
        let seen = self.readable_parts(under);
        let mut besides = if fate == CutSector::Finished { seen.clone() } else { Vec::new() };
        besides.extend(&hidden.besides);
        besides.sort_unstable();
        let torn: Vec<SectorRun> = seen.iter().map(|it| it.0).chain(hidden.torn.iter().copied()).collect();
        let (torn, torn_acknowledged, torn_promised) = self.count_torn(&torn);
        let buried = self.writes_in_gone(&hidden);
        let mut standing = self.risk.writes_at_cut(&besides);
        if !hidden.gone.is_empty() {
            standing = self.reassign_gone(standing, &hidden, &buried);
        }
        let missing = |it: &WriteAtCut<'_>| it.missing.iter().map(|run| run.1 - run.0).sum::<u64>();
        let partial = |it: &&WriteAtCut<'_>| (1..it.write.run.1 - it.write.run.0).contains(&missing(it));
        let flying = || standing.iter().filter(|it| it.write.acknowledged.is_none());
        CutLoss {
            at,
            lost: class_losses(&standing, at, tally),
            torn,
            torn_acknowledged,
            torn_promised,
            partial: standing.iter().filter(partial).map(|it| it.count).sum(),
            in_flight: flying().count() as u64,
            survived: flying().filter(|it| it.missing.is_empty()).count() as u64,
            holes,
        }
    }

    /// Acknowledged writes in blocks that cannot be recovered, with their parts there.
    fn writes_in_gone(&self, hidden: &LostBlocks) -> Vec<(u64, WriteAtRisk, Vec<SectorRun>)> {
        let Some(relied) = &self.relied else { return Vec::new() };
        let mut buried: Vec<(u64, WriteAtRisk, Vec<SectorRun>)> = Vec::new();
        let mut gone: Vec<(SectorRun, AcknowledgedBlocks)> =
            hidden.gone.iter().flat_map(|&run| relied.content_in(run)).collect();
        gone.sort_unstable_by_key(|(run, it)| (it.stamp, run.0));
        for (run, it) in gone {
            match buried.last_mut().filter(|last| last.0 == it.stamp) {
                Some((.., runs)) => runs.push(run),
                None => {
                    buried.push((
                        it.stamp,
                        WriteAtRisk::on_medium(it.run, it.acknowledged, (it.fua, it.sure)),
                        vec![run],
                    ));
                }
            }
        }
        buried
    }

    /// Reassigns the blocks that are gone: each counts for its last acknowledged write, and for writes in flight.
    fn reassign_gone<'a>(
        &self,
        standing: Vec<WriteAtCut<'a>>,
        hidden: &LostBlocks,
        buried: &'a [(u64, WriteAtRisk, Vec<SectorRun>)],
    ) -> Vec<WriteAtCut<'a>> {
        let mut all: Vec<WriteAtCut<'a>> = Vec::new();
        let mut rests: Vec<(u64, Vec<SectorRun>)> = Vec::new();
        for it in standing {
            let missing: Vec<SectorRun> =
                it.missing.iter().flat_map(|&run| run_without_all(run, &hidden.gone)).collect();
            if it.write.acknowledged.is_none() {
                let gone = hidden.gone.iter().filter_map(|&run| run_overlap(run, it.write.run));
                let mut missing: Vec<SectorRun> = missing.into_iter().chain(gone).collect();
                missing.sort_unstable();
                all.push(WriteAtCut { missing, ..it });
            } else if buried.iter().any(|(stamp, ..)| *stamp == it.stamp) {
                rests.push((it.stamp, missing.clone()));
                if it.count > 1 {
                    all.push(WriteAtCut { count: it.count - 1, missing, ..it });
                }
            } else {
                all.push(WriteAtCut { missing, ..it });
            }
        }
        for (stamp, write, runs) in buried {
            let rest = rests.iter().find(|rest| rest.0 == *stamp).map_or(&[][..], |rest| &rest.1);
            let mut missing = [&runs[..], rest].concat();
            missing.sort_unstable();
            let flushed = write.acknowledged.is_some_and(|it| self.risk.is_flushed(it.number));
            all.push(WriteAtCut { stamp: *stamp, write, count: 1, flushed, missing });
        }
        all
    }

    /// Counts unreadable sectors: all, those that held acknowledged data, and those with promised data.
    fn count_torn(&self, under: &[SectorRun]) -> (u64, u64, u64) {
        let Some(image) = &self.image else { return (0, 0, 0) };
        let sectors = |run: SectorRun| run.1 - run.0;
        let held = || under.iter().flat_map(|&run| image.content_in(run));
        let relied_on = held().filter(|(_, held)| held.acknowledged.is_some());
        let promised = held()
            .filter(|(_, held)| held.acknowledged.is_some_and(|number| held.forced || self.risk.is_flushed(number)));
        (
            under.iter().map(|&run| sectors(run)).sum(),
            relied_on.map(|it| sectors(it.0)).sum(),
            promised.map(|it| sectors(it.0)).sum(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::array::layout::RaidLevel;

    const TERMS: DriveTerms = DriveTerms {
        unit: 1,
        cut_sector: CutSector::Old,
        volatile: true,
        volatile_at_first: true,
        in_memory: false,
        saves: false,
    };

    fn plan(level: RaidLevel, members: u32) -> CutArray {
        let volume = ArrayVolume { level, members, chunk: 8, first: 0, sectors: 80 };
        CutArray { volumes: vec![volume], ..CutArray::default() }
    }

    #[test]
    fn the_first_copy_that_is_there_is_read() {
        let read = |level, members, lost, copy, lba| {
            ArrayView::new(TERMS, &plan(level, members), lost).is_read(MemberRole::Copy(copy), lba)
        };
        assert!(read(RaidLevel::Raid1, 2, 0, 0, 4) && !read(RaidLevel::Raid1, 2, 0, 1, 4));
        assert!(read(RaidLevel::Raid1, 2, 1, 1, 4), "the first is not there");
        assert!(
            !read(RaidLevel::Raid10, 4, 0b0100, 1, 0) && read(RaidLevel::Raid10, 4, 0b0100, 1, 8),
            "the second pair's"
        );
        assert!(!read(RaidLevel::Raid5, 3, 1, 0, 0) && read(RaidLevel::Raid5, 3, 1, 0, 8), "on a lost drive");
        assert!(ArrayView::new(TERMS, &CutArray::default(), 0).is_read(MemberRole::Copy(0), 9));
    }

    #[test]
    fn every_set_of_drives_that_may_be_lost_has_a_view() {
        let of = |turns: &[ArraySetting]| CutArray { turns: turns.to_vec(), ..plan(RaidLevel::Raid6, 5) }.lost_sets();
        assert_eq!(of(&[]), BTreeSet::from([0]));
        // The rebuild may be over before the second is lost, or not.
        let turns = [ArraySetting::Lose(0), ArraySetting::Replace(0), ArraySetting::Lose(1)];
        assert_eq!(of(&turns), BTreeSet::from([0b00, 0b01, 0b10, 0b11]));
        let mut plan = CutArray { turns: turns.to_vec(), ..plan(RaidLevel::Raid6, 5) };
        plan.apply_next_change();
        plan.apply_next_change();
        plan.end_rebuild(0);
        assert_eq!((plan.lost_drives(), plan.lost_sets()), (0, BTreeSet::from([0b00, 0b10])));
    }
}
