//! The laws of durability, judged as a client must: from its own requests, the acknowledgements that it polled, and the
//! image that a power failure left. The device is known only by its promise ([`Promise`]).
//!
//! At each failure:
//!
//! - [`DurabilityLaw::Durable`]: a write that is covered by a completed flush, has FUA, or was acknowledged with the cache off is
//!   there. Each of its sectors holds it, or a write that had not ended when it was submitted. After an orderly power-off
//!   that was waited for, every acknowledged write is there too.
//! - [`DurabilityLaw::Tearing`]: sectors become unreadable only at a cut, only if the profile says so, in one physical sector a
//!   head, and only where a write that was not yet durable was on its way to them.
//! - [`DurabilityLaw::Stale`]: a sector holds what it held at the last failure, or a write to it submitted since.
//! - [`DurabilityLaw::Order`]: if a write met no other and goes to the medium in one access, a first part of it is there. If the
//!   destage is first come, first served and no two writes meet, a write that is there, if in part, has with it all whose
//!   acknowledgement the client had seen when it submitted that one. Writes in flight together have no order: data cross
//!   the link in its gaps, and two cores finish in any order.
//!
//! A cut may tear a sector that was durable while a rewrite of it is in progress: `Durable` and `Tearing` assume this for
//! drives whose profile says *unreadable*, and do not allow it for *finished* and *old*.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::image::{ImageSector, SectorImage};
use super::mirror_copies::VolumeSight;
use crate::block::{Completion, CutSector, Flags, Limits, Op, Request, Status};

/// The durability that a device promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Writes with FUA are durable when they complete.
    pub fua: bool,
    /// Other writes are durable only when a flush covers them.
    pub volatile: bool,
    /// Sectors in a physical sector.
    pub unit: u64,
    /// Heads that a cut can meet: a drive has one.
    pub heads: u32,
    /// The effect of a cut on the sector under the head.
    pub cut_sector: CutSector,
    /// The buffer survives a cut: landings may come after the acknowledgements that promise them.
    pub saves_buffer: bool,
    /// Writes of up to this many sectors reach the medium in one access; 0 for unknown.
    pub in_one: u32,
    /// Cached writes reach the medium after those that were acknowledged before they were submitted.
    pub in_order: bool,
}

impl Promise {
    /// The promise of a device of these limits, with `cut_sector` of its profile; without order.
    pub fn from_limits(limits: &Limits, cut_sector: CutSector) -> Promise {
        Promise {
            fua: limits.fua,
            volatile: limits.volatile_cache,
            unit: u64::from(limits.physical) / 512,
            heads: 1,
            cut_sector,
            saves_buffer: false,
            in_one: 0,
            in_order: false,
        }
    }
}

/// How the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerFailure {
    Cut,
    /// In order, and the device was left alone until it was done.
    Off,
}

/// A law of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DurabilityLaw {
    /// Durable data are there.
    Durable,
    /// Unreadable sectors are where they may be.
    Tearing,
    /// No content appears from nowhere.
    Stale,
    /// The survivors are those that the order allows.
    Order,
}

/// A broken law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    pub law: DurabilityLaw,
    pub text: String,
}

/// Counts of the writes between one failure and the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Writes acknowledged.
    pub acknowledged: u64,
    /// Acknowledged writes that were durable by the contract.
    pub durable: u64,
    /// Acknowledged writes with a sector that is missing and was not written again.
    pub lost: u64,
}

/// The life of a write since the last failure, in the order of the client's own actions.
#[derive(Clone, Copy, Debug)]
struct TrackedWrite {
    request: Request,
    begun: u64,
    ended: Option<u64>,
    done: bool,
}

/// Sees requests and acknowledgements, and judges images.
#[derive(Clone, Debug)]
pub struct DurabilityChecker {
    promise: Promise,
    /// Counts submissions and polled completions.
    doings: u64,
    /// By stamp, rising.
    writes: Vec<TrackedWrite>,
    flying: BTreeMap<u32, (Request, u64)>,
    /// The beginning of the latest completed flush.
    flushed: u64,
    trimmed: Vec<(u64, u64)>,
    /// The content of each sector at the last failure.
    before: SectorImage,
    /// The array's image that it judges.
    sight: VolumeSight,
    copy: u32,
}

fn broken_law<T>(law: DurabilityLaw, text: String) -> Result<T, Breach> {
    Err(Breach { law, text })
}

impl DurabilityChecker {
    /// A checker of a device with this promise, with nothing written yet.
    pub fn new(promise: Promise) -> DurabilityChecker {
        DurabilityChecker {
            promise,
            doings: 0,
            writes: Vec::new(),
            flying: BTreeMap::new(),
            flushed: 0,
            trimmed: Vec::new(),
            before: SectorImage::new(),
            sight: VolumeSight::default(),
            copy: 0,
        }
    }

    /// Judges the image of `copy` of an array.
    pub fn for_copy(self, sight: &VolumeSight, copy: u32) -> DurabilityChecker {
        let promise = Promise { heads: sight.drives(), ..self.promise };
        DurabilityChecker { promise, sight: sight.clone(), copy, ..self }
    }

    /// A checker with the same observations for the image of another copy, which held `before` at the last failure.
    pub(crate) fn for_other_copy(&self, sight: &VolumeSight, copy: u32, before: &SectorImage) -> DurabilityChecker {
        DurabilityChecker { before: before.clone(), ..self.clone().for_copy(sight, copy) }
    }

    /// Notes that the device accepted a request. Stamps rise.
    pub fn note_submission(&mut self, request: &Request) {
        self.doings += 1;
        self.flying.insert(request.tag, (*request, self.doings));
        if matches!(request.op, Op::Write | Op::WriteZeroes) {
            self.writes.push(TrackedWrite { request: *request, begun: self.doings, ended: None, done: false });
        }
    }

    /// Notes that a completion was polled.
    pub fn note_completion(&mut self, completion: &Completion) {
        self.doings += 1;
        let Some((request, begun)) = self.flying.remove(&completion.tag) else { return };
        let done = completion.status == Status::Done;
        match request.op {
            Op::Write | Op::WriteZeroes => {
                if let Some(write) = self.writes.iter_mut().rev().find(|write| write.begun == begun) {
                    (write.ended, write.done) = (Some(self.doings), done);
                }
            }
            Op::Flush if done => self.flushed = self.flushed.max(begun),
            Op::Trim if done => self.trimmed.push((request.lba, request.end())),
            _ => {}
        }
    }

    /// True if the contract calls the write durable by now.
    fn is_durable(&self, write: &TrackedWrite, failure: PowerFailure) -> bool {
        let Some(ended) = write.ended.filter(|_| write.done) else { return false };
        let forced = self.promise.fua && write.request.flags.has(Flags::FUA);
        forced || !self.promise.volatile || ended < self.flushed || failure == PowerFailure::Off
    }

    /// Judges the image that a failure left, after all completions that it caused were polled. Returns the counts, or the
    /// first broken law; either way later images are compared with this one.
    pub fn judge_image(&mut self, image: &SectorImage, failure: PowerFailure) -> Result<LossCounts, Breach> {
        let meets = self.sector_writes();
        let judged = self.check_laws(&meets, image, failure);
        for &(sector, _) in &meets {
            self.before.set_sector(0, sector, image.get(0, sector));
        }
        if judged.is_err() {
            self.before = image.clone();
        }
        self.writes.clear();
        self.flying.clear();
        self.trimmed.clear();
        judged
    }

    /// Each sector written since the last failure with each of its writes, in order.
    fn sector_writes(&self) -> Vec<(u64, usize)> {
        let mut meets = Vec::new();
        for (index, write) in self.writes.iter().enumerate() {
            meets.extend((write.request.lba..write.request.end()).map(|sector| (sector, index)));
        }
        meets.sort_unstable();
        meets
    }

    fn check_laws(
        &self,
        meets: &[(u64, usize)],
        image: &SectorImage,
        failure: PowerFailure,
    ) -> Result<LossCounts, Breach> {
        let mut torn = Vec::new();
        let mut lone: Vec<(u64, usize)> = Vec::new();
        let mut lost = alloc::vec![false; self.writes.len()];
        for group in meets.chunk_by(|a, b| a.0 == b.0) {
            let sector = group[0].0;
            let trimmed = self.trimmed.iter().any(|&(from, to)| from <= sector && sector < to);
            if trimmed || !self.sight.sees_block(self.copy, sector) {
                continue;
            }
            self.check_sector(group, image, failure, &mut torn)?;
            let last = group[group.len() - 1].1;
            lost[last] |= !self.holds_write(image, sector, last);
            if group.len() == 1 {
                lone.push((sector, last));
            }
        }
        self.check_unwritten(meets, image)?;
        self.check_first_parts(&lone, image)?;
        self.check_write_order(meets, &lone, image)?;
        let durable = self.writes.iter().filter(|write| self.is_durable(write, failure)).count();
        let gone = self.writes.iter().zip(&lost).filter(|(write, lost)| write.done && **lost).count();
        let acknowledged = self.writes.iter().filter(|write| write.done).count();
        Ok(LossCounts { acknowledged: acknowledged as u64, durable: durable as u64, lost: gone as u64 })
    }

    fn holds_write(&self, image: &SectorImage, sector: u64, write: usize) -> bool {
        image.get(0, sector) == Some(ImageSector::Stamp(self.writes[write].request.stamp))
    }

    /// Judges a sector, with all writes to it.
    fn check_sector(
        &self,
        group: &[(u64, usize)],
        image: &SectorImage,
        failure: PowerFailure,
        torn: &mut Vec<u64>,
    ) -> Result<(), Breach> {
        let sector = group[0].0;
        let (held, before) = (image.get(0, sector), self.before.get(0, sector));
        let writes = || group.iter().map(|&(_, index)| &self.writes[index]);
        let mut durable = writes().filter(|write| self.is_durable(write, failure)).peekable();
        let lost = |by: &TrackedWrite| {
            broken_law(DurabilityLaw::Durable, format!("sector {sector} holds {held:?}, lost {by:?}"))
        };
        let own = writes().find(|write| held == Some(ImageSector::Stamp(write.request.stamp)));
        if let Some(own) = own {
            // The data must not be there if their write ended before a durable one began.
            let over = |write: &&TrackedWrite| own.ended.is_some_and(|ended| ended < write.begun);
            return durable.find(over).map_or(Ok(()), lost);
        }
        // A sector that was unreadable before may have been made durable and torn again.
        if held == Some(ImageSector::Unreadable) && (held != before || durable.peek().is_some()) {
            let place = sector / self.promise.unit;
            if !torn.contains(&place) {
                torn.push(place);
            }
            let one = torn.len() <= self.promise.heads as usize;
            let may = self.promise.cut_sector == CutSector::Unreadable && failure == PowerFailure::Cut;
            let under_way = writes().any(|write| !self.is_durable(write, failure));
            return match may && one && under_way {
                true => Ok(()),
                false => broken_law(
                    DurabilityLaw::Tearing,
                    format!("sector {sector} is torn; first torn {torn:?}, {failure:?}"),
                ),
            };
        }
        if held != before {
            return broken_law(DurabilityLaw::Stale, format!("sector {sector} held {before:?} and holds {held:?}"));
        }
        durable.next().map_or(Ok(()), lost)
    }

    /// Checks that sectors that were not written hold what they held.
    fn check_unwritten(&self, meets: &[(u64, usize)], image: &SectorImage) -> Result<(), Breach> {
        let written = |sector: u64| meets.binary_search_by_key(&sector, |meet| meet.0).is_ok();
        let changed = image.iter().find(|&((member, sector), held)| {
            self.before.get(member, sector) != Some(held) && !(member == 0 && written(sector))
        });
        match changed {
            Some((place, held)) => broken_law(DurabilityLaw::Stale, format!("{place:?}, not written, holds {held:?}")),
            None => Ok(()),
        }
    }

    /// Checks that of each write that met no other a first part survives.
    fn check_first_parts(&self, lone: &[(u64, usize)], image: &SectorImage) -> Result<(), Breach> {
        let mut by_write = lone.to_vec();
        by_write.sort_unstable_by_key(|&(sector, index)| (index, sector));
        for group in by_write.chunk_by(|a, b| a.1 == b.1) {
            let write = &self.writes[group[0].1].request;
            if write.sectors > self.promise.in_one || group.len() != write.sectors as usize {
                continue;
            }
            let there = |meet: &(u64, usize)| self.holds_write(image, meet.0, meet.1);
            let gap = group.iter().position(|meet| !there(meet)).unwrap_or(group.len());
            if let Some(meet) = group[gap..].iter().find(|meet| there(meet)) {
                let text = format!("sector {} is there, sector {} is not, of {write:?}", meet.0, group[gap].0);
                return broken_law(DurabilityLaw::Order, text);
            }
        }
        Ok(())
    }

    /// Checks the order of cached writes that do not meet: each is there only with all acknowledged before its submission.
    fn check_write_order(
        &self,
        meets: &[(u64, usize)],
        lone: &[(u64, usize)],
        image: &SectorImage,
    ) -> Result<(), Breach> {
        let apart = lone.len() == meets.len() && !meets.windows(2).any(|w| w[1].0 == w[0].0 + 1 && w[1].1 != w[0].1);
        let cached = self.promise.volatile && !self.writes.iter().any(|write| write.request.flags.has(Flags::FUA));
        let whole = self.writes.iter().all(|write| write.request.sectors <= self.promise.in_one);
        if !self.promise.in_order || !apart || !cached || !whole {
            return Ok(());
        }
        let mut done: Vec<&TrackedWrite> = self.writes.iter().filter(|write| write.done).collect();
        done.sort_unstable_by_key(|write| write.ended);
        let mut missing: Option<&TrackedWrite> = None;
        for write in done {
            let there = |sector: &u64| image.get(0, *sector) == Some(ImageSector::Stamp(write.request.stamp));
            let count = (write.request.lba..write.request.end()).filter(there).count();
            if let Some(before) = missing.filter(|missing| count > 0 && missing.ended < Some(write.begun)) {
                let text = format!("{:?} is there, {:?}, acknowledged before, is not", write.request, before.request);
                return broken_law(DurabilityLaw::Order, text);
            }
            if count < write.request.sectors as usize {
                missing = missing.or(Some(write));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Landing, LandingKind};
    use crate::record::{Effort, Parts};
    use crate::time::Instant;

    const PROMISE: Promise = Promise {
        fua: true,
        volatile: true,
        unit: 1,
        heads: 1,
        cut_sector: CutSector::Unreadable,
        saves_buffer: false,
        in_one: 64,
        in_order: true,
    };

    /// A checker and the image of its device, by hand.
    struct Scene(DurabilityChecker, SectorImage, u64);

    impl Scene {
        fn new(promise: Promise) -> Scene {
            Scene(DurabilityChecker::new(promise), SectorImage::new(), 0)
        }

        /// Submits, without an answer yet.
        fn submit(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> u64 {
            self.2 += 1;
            let tag = self.2 as u32;
            self.0.note_submission(&Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: self.2 });
            self.2
        }

        fn acknowledge(&mut self, stamp: u64) {
            let (submitted, finished) = (Instant::ZERO, Instant::ZERO);
            let (tag, status, parts) = (stamp as u32, Status::Done, Parts::default());
            self.0.note_completion(&Completion { tag, status, submitted, finished, parts, effort: Effort::default() });
        }

        fn write(&mut self, lba: u64, sectors: u32) -> u64 {
            let stamp = self.submit(Op::Write, Flags::NONE, lba, sectors);
            self.acknowledge(stamp);
            stamp
        }

        fn flush(&mut self) {
            let stamp = self.submit(Op::Flush, Flags::NONE, 0, 0);
            self.acknowledge(stamp);
        }

        fn land(&mut self, lba: u64, sectors: u32, stamp: u64, kind: LandingKind) {
            let (from, to) = (Instant::ZERO, Instant::ZERO);
            self.1.apply_landing(&Landing::new((lba, sectors), stamp, (from, to), kind));
        }

        fn verdict(&mut self, failure: PowerFailure) -> Option<DurabilityLaw> {
            self.0.judge_image(&self.1, failure).err().map(|breach| breach.law)
        }
    }

    use LandingKind::{Landed, Torn};

    #[test]
    fn a_flush_covers_what_was_acknowledged_before_it() {
        let mut scene = Scene::new(PROMISE);
        scene.write(0, 8);
        assert_eq!(scene.verdict(PowerFailure::Cut), None, "not covered");
        scene.write(0, 8);
        scene.flush();
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        // Submitted before the write was acknowledged, it covers nothing.
        let write = scene.submit(Op::Write, Flags::NONE, 0, 8);
        let flush = scene.submit(Op::Flush, Flags::NONE, 0, 0);
        scene.acknowledge(write);
        scene.acknowledge(flush);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
        assert_eq!(scene.verdict(PowerFailure::Off), None, "each failure is judged by what came since the last");
    }

    #[test]
    fn forced_and_uncached_writes_are_durable_and_a_power_off_is_for_all() {
        let mut scene = Scene::new(PROMISE);
        let forced = scene.submit(Op::Write, Flags::FUA, 0, 8);
        scene.acknowledge(forced);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        let mut scene = Scene::new(Promise { volatile: false, ..PROMISE });
        scene.write(0, 8);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        let mut scene = Scene::new(PROMISE);
        scene.write(0, 8);
        assert_eq!(scene.verdict(PowerFailure::Off), Some(DurabilityLaw::Durable));
    }

    #[test]
    fn an_older_write_has_no_business_over_a_durable_one() {
        let mut scene = Scene::new(PROMISE);
        let old = scene.write(0, 8);
        let new = scene.write(0, 8);
        scene.flush();
        scene.land(0, 8, old, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        // A later write may stand there.
        let (durable, later) = (scene.write(0, 8), scene.2 + 2);
        scene.flush();
        assert_eq!(scene.submit(Op::Write, Flags::NONE, 0, 8), later);
        scene.land(0, 8, later, Landed);
        assert!(durable > new);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
    }

    #[test]
    fn tearing_needs_a_write_under_way() {
        let mut scene = Scene::new(PROMISE);
        let stamp = scene.write(0, 8);
        scene.land(0, 3, stamp, Landed);
        scene.land(3, 1, stamp, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
        let stamp = scene.write(0, 8);
        scene.flush();
        scene.land(0, 8, stamp, Landed);
        scene.land(5, 1, stamp, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Tearing), "nothing was being written");
        let stamp = scene.write(0, 8);
        scene.land(0, 1, stamp, Torn);
        scene.land(4, 1, stamp, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Tearing), "two at once");
        let mut scene = Scene::new(Promise { cut_sector: CutSector::Old, ..PROMISE });
        let stamp = scene.write(0, 8);
        scene.land(0, 1, stamp, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Tearing), "not of this drive");
    }

    /// Found by the swarm: it took the second for a loss.
    #[test]
    fn a_sector_torn_before_may_be_made_durable_and_torn_again() {
        let mut scene = Scene::new(PROMISE);
        let stamp = scene.write(0, 1);
        scene.land(0, 1, stamp, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
        let durable = scene.write(0, 1);
        scene.flush();
        scene.land(0, 1, durable, Landed);
        let again = scene.submit(Op::Write, Flags::NONE, 0, 1);
        scene.land(0, 1, again, Torn);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
    }

    #[test]
    fn nothing_comes_from_nowhere() {
        let mut scene = Scene::new(PROMISE);
        let lost = scene.write(0, 8);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
        scene.land(0, 8, lost, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Stale), "back from the dead");
        scene.write(100, 8);
        scene.land(100, 1, lost, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Stale), "written to the wrong place");
    }

    #[test]
    fn survivors_are_first_parts_and_first_writes() {
        let mut scene = Scene::new(PROMISE);
        let stamp = scene.write(0, 8);
        scene.land(4, 4, stamp, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Order), "the second half only");
        let (_, second) = (scene.write(0, 8), scene.write(20, 8));
        scene.land(20, 8, second, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), Some(DurabilityLaw::Order), "the second write only");
        let (first, _) = (scene.write(0, 8), scene.write(20, 8));
        scene.land(0, 5, first, Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), None);
        let both = [0, 20].map(|lba| scene.submit(Op::Write, Flags::NONE, lba, 8));
        both.into_iter().for_each(|stamp| scene.acknowledge(stamp));
        scene.land(20, 8, both[1], Landed);
        assert_eq!(scene.verdict(PowerFailure::Cut), None, "in flight together");
    }
}
