//! Blocks of the volumes as a program would read them after a cut, if some drives of an array are lost: which write
//! each block holds.
//!
//! For a mirror the first copy present counts. After a cut Linux's md reads that copy until the copies are resynchronized
//! (`read_balance` in `drivers/md/raid1.c` and `raid10.c`: the first disk beyond `recovery_cp`), and copies it over the
//! others (`raid1_sync_request`). So data that only another copy has are lost. For rows with parity the data count as
//! they are on the drives; blocks of a lost drive are computed from parity and the other data ([`super::stripes`]). A
//! single drive is a view of one copy.
//!
//! If drives are lost or replaced during a run, there is a view for each set of drives that may be lost at a time. Each
//! view follows the whole run. A cut is judged by the view of the set that is lost at the cut.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{Control, CutSector, MemberRole, Request};
use crate::host::array::layout::{ArrayVolume, MemberSet};
use crate::stack::{SettingChange, Stack};
use crate::time::Instant;

use super::Tally;
use super::heads::StampedRun;
use super::loss::{CutLoss, class_losses};
use super::overlay::CutOverlay;
use super::risk::{Acknowledgement, SectorContent, WriteAtCut, WriteAtRisk, WriteMarks, WritesAtRisk};
use super::runs::{SectorRun, SectorRuns, run_overlap, run_without_all};
use super::stripes::{LostBlocks, StripeRows};
use super::terms::DriveTerms;

/// The array that cuts hit, and what happens to its drives during a run. A single drive has no volumes.
#[derive(Clone, Debug, Default)]
pub struct CutArray {
    volumes: Vec<ArrayVolume>,
    lost: MemberSet,
    /// Lost drives that are being rebuilt.
    rebuilding: MemberSet,
    /// Changes still to come, in order.
    changes: Vec<ArraySetting>,
}

impl CutArray {
    /// Derives the array of a stack; an error says why its cuts are not judged.
    pub fn from_stack(stack: &Stack) -> Result<CutArray, String> {
        let Some(spec) = stack.array() else { return Ok(CutArray::default()) };
        let array_setting = |change: &SettingChange| match change.control {
            Control::Set(LayerSetting::Array(setting)) => Some(setting),
            _ => None,
        };
        let changes = stack.changes.iter().filter_map(array_setting).collect();
        let array = CutArray { volumes: stack.volumes(), lost: spec.lost, rebuilding: 0, changes };
        let loses_volume = |lost: MemberSet| !array.volumes.iter().all(|volume| volume.survives_loss(lost));
        if !loses_volume(array.lost) && array.lost_sets().into_iter().any(loses_volume) {
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
            && array.has_parity()
            && array.lost_sets().into_iter().any(|lost| lost != 0)
        {
            return Err(
                "power cuts are not judged on rows with parity that have lost a drive where a buffer outlives a cut: \
                        what it holds of a row under way, one run does not show"
                    .to_owned(),
            );
        }
        let faults = &stack.profile.faults;
        if array.has_rebuild() && (faults.early_flush || faults.caches_when_off) {
            return Err(
                "power cuts are not judged where a drive is rebuilt (`array.replace`) and drives lie about what \
                        is on the medium (`faults`): what a cut leaves of the rebuild is not followed"
                    .to_owned(),
            );
        }
        Ok(array)
    }

    /// Number of drives.
    pub fn members(&self) -> u32 {
        self.volumes.first().map_or(1, |volume| volume.members)
    }

    /// The drives that are lost now.
    pub(crate) fn lost_drives(&self) -> MemberSet {
        self.lost
    }

    /// True if some volume has rows with parity.
    pub fn has_parity(&self) -> bool {
        self.volumes.iter().any(|volume| volume.parities() > 0)
    }

    /// True if a drive is to be rebuilt.
    pub(crate) fn has_rebuild(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, ArraySetting::Replace(_)))
    }

    /// The sets of drives that may be lost at a time from now on.
    pub fn lost_sets(&self) -> BTreeSet<MemberSet> {
        let mut sets = BTreeSet::new();
        self.collect_lost_sets(&mut sets);
        sets
    }

    fn collect_lost_sets(&self, sets: &mut BTreeSet<MemberSet>) {
        sets.insert(self.lost);
        for member in (0..self.members()).filter(|member| self.rebuilding >> member & 1 == 1) {
            self.clone().with_rebuild_over(member).collect_lost_sets(sets);
        }
        if let Some(&change) = self.changes.first() {
            self.clone().with_next_change(change).collect_lost_sets(sets);
        }
    }

    /// The array after `change`, the first of the changes still to come.
    fn with_next_change(mut self, change: ArraySetting) -> CutArray {
        self.changes.remove(0);
        match change {
            ArraySetting::Lose(member) => {
                (self.lost, self.rebuilding) = (self.lost | 1 << member, self.rebuilding & !(1 << member))
            }
            ArraySetting::Replace(member) => self.rebuilding |= self.lost & 1 << member,
            // It writes nothing.
            ArraySetting::Check(_) | ArraySetting::SkipSync(_) => {}
        }
        self
    }

    /// The array after the rebuild of `member`.
    fn with_rebuild_over(mut self, member: u32) -> CutArray {
        (self.lost, self.rebuilding) = (self.lost & !(1 << member), self.rebuilding & !(1 << member));
        self
    }

    /// Applies the next change: a drive is lost or replaced.
    pub(crate) fn apply_next_change(&mut self) {
        if let Some(&change) = self.changes.first() {
            *self = core::mem::take(self).with_next_change(change);
        }
    }

    /// Ends the rebuild of `member`.
    pub(crate) fn end_rebuild(&mut self, member: u32) {
        *self = core::mem::take(self).with_rebuild_over(member);
    }
}

/// An acknowledged write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AcknowledgedWrite {
    stamp: u64,
    run: SectorRun,
    acknowledgement: Acknowledgement,
    marks: WriteMarks,
}

/// An acknowledged write, some blocks of which cannot be recovered.
struct UnrecoverableWrite {
    stamp: u64,
    write: WriteAtRisk,
    /// The blocks, in order.
    gone: Vec<SectorRun>,
}

/// Counts of unreadable sectors.
struct TornCounts {
    all: u64,
    /// Sectors that held acknowledged data.
    acknowledged: u64,
    /// Sectors that held data promised to be durable.
    promised: u64,
}

/// The view with a set of drives lost.
pub(crate) struct ArrayView {
    terms: DriveTerms,
    volumes: Vec<ArrayVolume>,
    lost: MemberSet,
    /// Writes that are not wholly on the medium.
    pub risk: WritesAtRisk,
    /// Only if rows have parity.
    stripes: Option<StripeRows>,
    /// The content of the medium; only if a cut can destroy it.
    image: Option<SectorRuns<SectorContent>>,
    /// The last acknowledged write of each block; only if blocks of a lost drive may be unrecoverable.
    last_acknowledged: Option<SectorRuns<AcknowledgedWrite>>,
    /// Which write each sector holds; only if files are judged.
    pub surface: Option<SectorRuns<u64>>,
}

impl ArrayView {
    /// The view of `array` with the drives in `lost` lost.
    pub fn new(terms: DriveTerms, array: &CutArray, lost: MemberSet) -> ArrayView {
        ArrayView {
            terms,
            volumes: array.volumes.clone(),
            lost,
            risk: WritesAtRisk::default(),
            stripes: array.has_parity().then(|| StripeRows::new(&array.volumes, lost)),
            image: (terms.cut_sector == CutSector::Unreadable).then(SectorRuns::default),
            last_acknowledged: (array.has_parity() && lost != 0).then(SectorRuns::default),
            surface: None,
        }
    }

    /// Forgets what is wholly on the medium. True if no write is in flight or at risk.
    pub(crate) fn prune_and_check_idle(&mut self) -> bool {
        self.risk.is_idle() && self.stripes.as_mut().is_none_or(StripeRows::prune_and_check_idle)
    }

    /// True if a read would return this copy of the block.
    fn is_read(&self, role: MemberRole, lba: u64) -> bool {
        let copy = match role {
            MemberRole::Copy(copy) | MemberRole::RebuiltCopy(copy) => copy,
            MemberRole::Every => return true,
            MemberRole::Parity(_) | MemberRole::RebuiltParity(_) => return false,
        };
        let mut volume_end = 0;
        let ends_after_lba = |volume: &&ArrayVolume| {
            volume_end += volume.capacity();
            lba < volume_end
        };
        let Some(volume) = self.volumes.iter().find(ends_after_lba) else { return true };
        let position = volume.row_position(lba + volume.capacity() - volume_end);
        let is_present = |copy: &u32| self.lost >> volume.data_member(position.row, position.column, *copy) & 1 == 0;
        (0..volume.copies()).find(is_present) == Some(copy)
    }

    /// Records a write that an array accepted under `number`; `part` of it is the write `stamp`.
    pub fn accept_write(&mut self, number: u64, run: SectorRun, part: SectorRun, stamp: u64) {
        if let Some(stripes) = &mut self.stripes {
            stripes.accept_write(number, run, part, stamp);
        }
    }

    /// Records sectors that are on the medium.
    pub(crate) fn land_part(&mut self, at: Instant, part: &StampedRun) {
        let recovered = self.stripes.as_mut().map(|stripes| stripes.land_part(part));
        if self.is_read(part.role, part.run.0) {
            self.land_readable(at, part.run, part.stamp);
        }
        recovered.into_iter().flatten().for_each(|(run, stamp)| self.land_readable(at, run, stamp));
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
            image.mark_acknowledged(run, stamp, number, marks.is_some_and(WriteMarks::is_forced));
        }
        if let (Some(last_acknowledged), Some(marks)) = (&mut self.last_acknowledged, marks) {
            let held = last_acknowledged.content_in(run);
            let later: Vec<SectorRun> = held.filter(|(_, write)| write.stamp > stamp).map(|(part, _)| part).collect();
            let write = AcknowledgedWrite { stamp, run, acknowledgement: Acknowledgement { at, number }, marks };
            run_without_all(run, &later).into_iter().for_each(|part| last_acknowledged.set_content(part, write));
        }
    }

    /// Parts that a program would read, with the stamp of each, in order.
    fn readable_parts(&self, parts: &[StampedRun]) -> Vec<(SectorRun, u64)> {
        let read = parts.iter().filter(|part| self.is_read(part.role, part.run.0));
        let mut readable: Vec<(SectorRun, u64)> = read.map(|part| (part.run, part.stamp)).collect();
        readable.sort_unstable();
        readable
    }

    /// Effects of a cut on the sectors `under_heads`, for the judge of files.
    pub(crate) fn cut_overlay(&mut self, under_heads: &[StampedRun]) -> CutOverlay {
        let fate = self.terms.cut_sector;
        let stripes = self.stripes.as_mut().filter(|_| !self.terms.saves);
        let lost = stripes.map_or_else(LostBlocks::default, |stripes| stripes.lost_blocks(under_heads, fate));
        let readable = self.readable_parts(under_heads);
        let finished = readable.iter().copied().filter(|_| fate == CutSector::Finished);
        let besides = finished.chain(lost.besides.iter().copied()).collect();
        let torn_readable = readable.iter().map(|&(run, stamp)| (run, Some(stamp)));
        let torn = torn_readable.chain(lost.torn.iter().map(|&run| (run, None)));
        CutOverlay { besides, torn: torn.filter(|_| fate == CutSector::Unreadable).collect(), gone: lost.gone }
    }

    /// Judges a cut at `at` with these parts under the heads.
    pub fn judge_cut(&mut self, at: Instant, under_heads: &[StampedRun], tally: &mut impl Tally) -> CutLoss {
        let fate = self.terms.cut_sector;
        // The content of a buffer that survives a cut is not reported.
        let stripes = self.stripes.as_mut().filter(|_| !self.terms.saves);
        let (holes, lost) = stripes.map_or_else(Default::default, |stripes| {
            (stripes.write_holes(under_heads, fate), stripes.lost_blocks(under_heads, fate))
        });
        let readable = self.readable_parts(under_heads);
        let mut besides = if fate == CutSector::Finished { readable.clone() } else { Vec::new() };
        besides.extend(&lost.besides);
        besides.sort_unstable();
        let torn: Vec<SectorRun> = readable.iter().map(|&(run, _)| run).chain(lost.torn.iter().copied()).collect();
        let torn_sectors = self.count_torn(&torn);
        let unrecoverable = self.unrecoverable_writes(&lost.gone);
        let mut writes = self.risk.writes_at_cut(&besides);
        if !lost.gone.is_empty() {
            writes = self.reassign_gone_blocks(writes, &lost.gone, &unrecoverable);
        }
        let missing_sectors = |it: &WriteAtCut<'_>| it.missing.iter().map(|run| run.1 - run.0).sum::<u64>();
        let is_partial = |it: &&WriteAtCut<'_>| (1..it.write.run.1 - it.write.run.0).contains(&missing_sectors(it));
        let in_flight = || writes.iter().filter(|it| it.write.acknowledged.is_none());
        CutLoss {
            at,
            lost: class_losses(&writes, at, tally),
            torn: torn_sectors.all,
            torn_acknowledged: torn_sectors.acknowledged,
            torn_promised: torn_sectors.promised,
            partial: writes.iter().filter(is_partial).map(|it| it.count).sum(),
            in_flight: in_flight().count() as u64,
            survived: in_flight().filter(|it| it.missing.is_empty()).count() as u64,
            holes,
        }
    }

    /// The last acknowledged writes of the blocks in `gone`, which cannot be recovered.
    fn unrecoverable_writes(&self, gone: &[SectorRun]) -> Vec<UnrecoverableWrite> {
        let Some(last_acknowledged) = &self.last_acknowledged else { return Vec::new() };
        let mut parts: Vec<(SectorRun, AcknowledgedWrite)> =
            gone.iter().flat_map(|&run| last_acknowledged.content_in(run)).collect();
        parts.sort_unstable_by_key(|(run, write)| (write.stamp, run.0));
        let mut unrecoverable: Vec<UnrecoverableWrite> = Vec::new();
        for (part, AcknowledgedWrite { stamp, run, acknowledgement, marks }) in parts {
            match unrecoverable.last_mut().filter(|last| last.stamp == stamp) {
                Some(last) => last.gone.push(part),
                None => {
                    let write = WriteAtRisk::on_medium(run, acknowledgement, marks);
                    unrecoverable.push(UnrecoverableWrite { stamp, write, gone: vec![part] });
                }
            }
        }
        unrecoverable
    }

    /// Reassigns the blocks in `gone`: each counts for its last acknowledged write, and for writes in flight.
    fn reassign_gone_blocks<'a>(
        &self,
        writes: Vec<WriteAtCut<'a>>,
        gone: &[SectorRun],
        unrecoverable: &'a [UnrecoverableWrite],
    ) -> Vec<WriteAtCut<'a>> {
        let mut reassigned: Vec<WriteAtCut<'a>> = Vec::new();
        // Missing blocks that are not gone, of the writes in `unrecoverable`, by stamp.
        let mut other_missing: BTreeMap<u64, Vec<SectorRun>> = BTreeMap::new();
        for it in writes {
            let mut missing: Vec<SectorRun> = it.missing.iter().flat_map(|&run| run_without_all(run, gone)).collect();
            if it.write.acknowledged.is_none() {
                missing.extend(gone.iter().filter_map(|&run| run_overlap(run, it.write.run)));
                missing.sort_unstable();
                reassigned.push(WriteAtCut { missing, ..it });
            } else if unrecoverable.iter().any(|write| write.stamp == it.stamp) {
                other_missing.insert(it.stamp, missing.clone());
                if it.count > 1 {
                    reassigned.push(WriteAtCut { count: it.count - 1, missing, ..it });
                }
            } else {
                reassigned.push(WriteAtCut { missing, ..it });
            }
        }
        for UnrecoverableWrite { stamp, write, gone } in unrecoverable {
            let mut missing = gone.clone();
            missing.extend(other_missing.remove(stamp).unwrap_or_default());
            missing.sort_unstable();
            let flushed = write.acknowledged.is_some_and(|it| self.risk.is_flushed(it.number));
            reassigned.push(WriteAtCut { stamp: *stamp, write, count: 1, flushed, missing });
        }
        reassigned
    }

    /// Counts the unreadable sectors in `torn`.
    fn count_torn(&self, torn: &[SectorRun]) -> TornCounts {
        let Some(image) = &self.image else { return TornCounts { all: 0, acknowledged: 0, promised: 0 } };
        let sectors = |run: SectorRun| run.1 - run.0;
        let held = || torn.iter().flat_map(|&run| image.content_in(run));
        let is_promised =
            |held: &SectorContent| held.acknowledged.is_some_and(|number| held.forced || self.risk.is_flushed(number));
        let acknowledged = held().filter(|(_, held)| held.acknowledged.is_some());
        let promised = held().filter(|(_, held)| is_promised(held));
        TornCounts {
            all: torn.iter().map(|&run| sectors(run)).sum(),
            acknowledged: acknowledged.map(|(run, _)| sectors(run)).sum(),
            promised: promised.map(|(run, _)| sectors(run)).sum(),
        }
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

    fn array(level: RaidLevel, members: u32) -> CutArray {
        let volume = ArrayVolume { level, members, chunk: 8, first: 0, sectors: 80 };
        CutArray { volumes: vec![volume], ..CutArray::default() }
    }

    #[test]
    fn the_first_copy_that_is_there_is_read() {
        let read = |level, members, lost, copy, lba| {
            ArrayView::new(TERMS, &array(level, members), lost).is_read(MemberRole::Copy(copy), lba)
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
        let array_with =
            |changes: &[ArraySetting]| CutArray { changes: changes.to_vec(), ..array(RaidLevel::Raid6, 5) };
        assert_eq!(array_with(&[]).lost_sets(), BTreeSet::from([0]));
        // The rebuild may be over before the second is lost, or not.
        let changes = [ArraySetting::Lose(0), ArraySetting::Replace(0), ArraySetting::Lose(1)];
        let mut array = array_with(&changes);
        assert_eq!(array.lost_sets(), BTreeSet::from([0b00, 0b01, 0b10, 0b11]));
        array.apply_next_change();
        array.apply_next_change();
        array.end_rebuild(0);
        assert_eq!((array.lost_drives(), array.lost_sets()), (0, BTreeSet::from([0b00, 0b10])));
    }
}
