//! The laws of durability, judged as a client must: from its own requests, the acknowledgements that it polled, and the
//! image of the medium after a power failure. The device is known only by its promise ([`Promise`]).
//!
//! At each failure:
//!
//! - [`DurabilityLaw::Durable`]: a durable write is on the medium. A write is durable if a completed flush covers it, if it
//!   has FUA, if it was acknowledged with the cache off, or if an orderly power-off followed. Each of its sectors holds it,
//!   or a write that had not ended when it was submitted.
//! - [`DurabilityLaw::Tearing`]: sectors become unreadable only at a cut, only if the profile says so, in one physical sector
//!   a head, and only where a write that was not yet durable was on its way to them.
//! - [`DurabilityLaw::Stale`]: a sector holds its content of the last failure, or a write to it submitted since.
//! - [`DurabilityLaw::Order`]: of a write that overlaps no other and goes to the medium in one access, the first sectors are
//!   on the medium, up to some sector. If the drive writes in the order of arrival and no two writes overlap or touch, a
//!   write is on the medium, if in part, only if all are that the client had seen acknowledged when it submitted that write.
//!   Writes in flight together have no order: data cross the link in its gaps, and two cores finish in any order.
//!
//! A cut may tear a durable sector while it is being rewritten. `Durable` and `Tearing` assume this for drives whose
//! profile says *unreadable*, and do not allow it for *finished* and *old*.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::image::{ImageSector, SectorImage, SectorPlace};
use super::mirror_copies::BlockCopies;
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
    pub one_access_sectors: u32,
    /// Cached writes reach the medium after those that were acknowledged before they were submitted.
    pub keeps_order: bool,
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
            one_access_sectors: 0,
            keeps_order: false,
        }
    }
}

/// How the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerFailure {
    Cut,
    /// An orderly power-off; the client waited until the device was done.
    PowerOff,
}

/// A law of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DurabilityLaw {
    /// Durable data are on the medium.
    Durable,
    /// A cut tears no other sectors than it may.
    Tearing,
    /// No sector holds data that were not written to it.
    Stale,
    /// The writes on the medium are those that the order allows.
    Order,
}

/// A broken law, and the observation that breaks it.
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

impl LossCounts {
    /// Adds the counts of another time.
    pub(super) fn add(&mut self, other: LossCounts) {
        self.acknowledged += other.acknowledged;
        self.durable += other.durable;
        self.lost += other.lost;
    }
}

/// A write since the last failure. Instants are numbers of the client's actions.
#[derive(Clone, Copy, Debug)]
struct TrackedWrite {
    request: Request,
    submitted: u64,
    ended: Option<u64>,
    /// Ended without an error.
    done: bool,
}

/// A sector of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WrittenSector {
    sector: u64,
    /// The index of the write.
    write: usize,
}

/// Observes requests and acknowledgements, and judges images.
#[derive(Clone, Debug)]
pub struct DurabilityChecker {
    promise: Promise,
    /// The number of the last action: of submissions and polled completions.
    actions: u64,
    /// By rising stamp.
    writes: Vec<TrackedWrite>,
    /// By tag: requests in flight, each with the number of its submission.
    in_flight: BTreeMap<u32, (Request, u64)>,
    /// The submission of the latest completed flush.
    flushed_before: u64,
    /// Trimmed sectors: first, and first after the last.
    trimmed: Vec<(u64, u64)>,
    /// The content of each sector at the last failure.
    before: SectorImage,
    copies: BlockCopies,
    /// The copy that it judges.
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
            actions: 0,
            writes: Vec::new(),
            in_flight: BTreeMap::new(),
            flushed_before: 0,
            trimmed: Vec::new(),
            before: SectorImage::new(),
            copies: BlockCopies::default(),
            copy: 0,
        }
    }

    /// Judges images of the copy `copy` of an array's blocks from now on.
    pub fn for_copy(self, copies: &BlockCopies, copy: u32) -> DurabilityChecker {
        let promise = Promise { heads: copies.drives(), ..self.promise };
        DurabilityChecker { promise, copies: copies.clone(), copy, ..self }
    }

    /// A checker with equal observations for the image of another copy, which held `before` at the last failure.
    pub(crate) fn for_other_copy(&self, copies: &BlockCopies, copy: u32, before: &SectorImage) -> DurabilityChecker {
        DurabilityChecker { before: before.clone(), ..self.clone().for_copy(copies, copy) }
    }

    /// Notes that the device accepted a request. Stamps rise.
    pub fn note_submission(&mut self, request: &Request) {
        self.actions += 1;
        self.in_flight.insert(request.tag, (*request, self.actions));
        if matches!(request.op, Op::Write | Op::WriteZeroes) {
            self.writes.push(TrackedWrite { request: *request, submitted: self.actions, ended: None, done: false });
        }
    }

    /// Notes that a completion was polled.
    pub fn note_completion(&mut self, completion: &Completion) {
        self.actions += 1;
        let Some((request, submitted)) = self.in_flight.remove(&completion.tag) else { return };
        let done = completion.status == Status::Done;
        match request.op {
            Op::Write | Op::WriteZeroes => {
                if let Some(write) = self.writes.iter_mut().rev().find(|write| write.submitted == submitted) {
                    (write.ended, write.done) = (Some(self.actions), done);
                }
            }
            Op::Flush if done => self.flushed_before = self.flushed_before.max(submitted),
            Op::Trim if done => self.trimmed.push((request.lba, request.end())),
            _ => {}
        }
    }

    /// True if the write is durable at a failure of this kind.
    fn is_durable(&self, write: &TrackedWrite, failure: PowerFailure) -> bool {
        let Some(ended) = write.ended.filter(|_| write.done) else { return false };
        let forced = self.promise.fua && write.request.flags.has(Flags::FUA);
        forced || !self.promise.volatile || ended < self.flushed_before || failure == PowerFailure::PowerOff
    }

    /// Judges the image after a failure, when all completions that it caused are polled. Returns the counts, or the first
    /// broken law. Later images are compared with this one in both cases.
    pub fn judge_image(&mut self, image: &SectorImage, failure: PowerFailure) -> Result<LossCounts, Breach> {
        let written = self.written_sectors();
        let judged = self.check_laws(&written, image, failure);
        for &WrittenSector { sector, .. } in &written {
            self.before.set_sector(0, sector, image.get(0, sector));
        }
        if judged.is_err() {
            self.before = image.clone();
        }
        self.writes.clear();
        self.in_flight.clear();
        self.trimmed.clear();
        judged
    }

    /// The sectors of all writes since the last failure, by sector, then by write.
    fn written_sectors(&self) -> Vec<WrittenSector> {
        let sectors_of = |(write, tracked): (usize, &TrackedWrite)| {
            (tracked.request.lba..tracked.request.end()).map(move |sector| WrittenSector { sector, write })
        };
        let mut written: Vec<WrittenSector> = self.writes.iter().enumerate().flat_map(sectors_of).collect();
        written.sort_unstable();
        written
    }

    fn check_laws(
        &self,
        written: &[WrittenSector],
        image: &SectorImage,
        failure: PowerFailure,
    ) -> Result<LossCounts, Breach> {
        let mut torn_units = Vec::new();
        // Sectors with a single write.
        let mut written_once: Vec<WrittenSector> = Vec::new();
        let mut is_lost = alloc::vec![false; self.writes.len()];
        for of_sector in written.chunk_by(|a, b| a.sector == b.sector) {
            let last = of_sector[of_sector.len() - 1];
            let is_trimmed = self.trimmed.iter().any(|&(from, to)| from <= last.sector && last.sector < to);
            if is_trimmed || !self.copies.has_block(self.copy, last.sector) {
                continue;
            }
            self.check_sector(of_sector, image, failure, &mut torn_units)?;
            is_lost[last.write] |= !self.is_in_image(image, last);
            if of_sector.len() == 1 {
                written_once.push(last);
            }
        }
        self.check_unwritten(written, image)?;
        self.check_first_parts(&written_once, image)?;
        self.check_write_order(written, &written_once, image)?;
        let durable = self.writes.iter().filter(|write| self.is_durable(write, failure)).count();
        let lost = self.writes.iter().zip(&is_lost).filter(|(write, is_lost)| write.done && **is_lost).count();
        let acknowledged = self.writes.iter().filter(|write| write.done).count();
        Ok(LossCounts { acknowledged: acknowledged as u64, durable: durable as u64, lost: lost as u64 })
    }

    /// True if the image holds the write in this sector of it.
    fn is_in_image(&self, image: &SectorImage, WrittenSector { sector, write }: WrittenSector) -> bool {
        image.get(0, sector) == Some(ImageSector::Stamp(self.writes[write].request.stamp))
    }

    /// Judges a sector by all writes to it. `torn_units`: the physical sectors found torn so far.
    fn check_sector(
        &self,
        of_sector: &[WrittenSector],
        image: &SectorImage,
        failure: PowerFailure,
        torn_units: &mut Vec<u64>,
    ) -> Result<(), Breach> {
        let sector = of_sector[0].sector;
        let (held, before) = (image.get(0, sector), self.before.get(0, sector));
        let writes = || of_sector.iter().map(|written| &self.writes[written.write]);
        let mut durable = writes().filter(|write| self.is_durable(write, failure)).peekable();
        let lost = |write: &TrackedWrite| {
            broken_law(DurabilityLaw::Durable, format!("sector {sector} holds {held:?}, lost {write:?}"))
        };
        if let Some(present) = writes().find(|write| held == Some(ImageSector::Stamp(write.request.stamp))) {
            // A write must not be there if it ended before a durable one was submitted.
            let is_newer = |write: &&TrackedWrite| present.ended.is_some_and(|ended| ended < write.submitted);
            return durable.find(is_newer).map_or(Ok(()), lost);
        }
        // A sector that was unreadable before may have been made durable and torn again.
        if held == Some(ImageSector::Unreadable) && (held != before || durable.peek().is_some()) {
            let unit = sector / self.promise.unit;
            if !torn_units.contains(&unit) {
                torn_units.push(unit);
            }
            let is_one_of_each_head = torn_units.len() <= self.promise.heads as usize;
            let may_tear = self.promise.cut_sector == CutSector::Unreadable && failure == PowerFailure::Cut;
            let is_being_written = writes().any(|write| !self.is_durable(write, failure));
            return match may_tear && is_one_of_each_head && is_being_written {
                true => Ok(()),
                false => broken_law(
                    DurabilityLaw::Tearing,
                    format!("sector {sector} is torn; first torn {torn_units:?}, {failure:?}"),
                ),
            };
        }
        if held != before {
            return broken_law(DurabilityLaw::Stale, format!("sector {sector} held {before:?} and holds {held:?}"));
        }
        durable.next().map_or(Ok(()), lost)
    }

    /// Checks that sectors that were not written hold their earlier content.
    fn check_unwritten(&self, written: &[WrittenSector], image: &SectorImage) -> Result<(), Breach> {
        let is_written = |SectorPlace { member, sector }: SectorPlace| {
            member == 0 && written.binary_search_by_key(&sector, |it| it.sector).is_ok()
        };
        let changed = image
            .iter()
            .find(|&(place, held)| self.before.get(place.member, place.sector) != Some(held) && !is_written(place));
        match changed {
            Some((place, held)) => broken_law(DurabilityLaw::Stale, format!("{place:?}, not written, holds {held:?}")),
            None => Ok(()),
        }
    }

    /// Checks that of each write that overlaps no other, the sectors on the medium are its first.
    fn check_first_parts(&self, written_once: &[WrittenSector], image: &SectorImage) -> Result<(), Breach> {
        let mut by_write = written_once.to_vec();
        by_write.sort_unstable_by_key(|written| (written.write, written.sector));
        for of_write in by_write.chunk_by(|a, b| a.write == b.write) {
            let request = &self.writes[of_write[0].write].request;
            if request.sectors > self.promise.one_access_sectors || of_write.len() != request.sectors as usize {
                continue;
            }
            let is_present = |written: &WrittenSector| self.is_in_image(image, *written);
            let first_missing = of_write.iter().position(|written| !is_present(written)).unwrap_or(of_write.len());
            if let Some(present) = of_write[first_missing..].iter().find(|written| is_present(written)) {
                let missing = of_write[first_missing].sector;
                let text = format!("sector {} is there, sector {missing} is not, of {request:?}", present.sector);
                return broken_law(DurabilityLaw::Order, text);
            }
        }
        Ok(())
    }

    /// Checks the order of cached writes that neither overlap nor touch: a write is on the medium only together with all
    /// that were acknowledged before its submission.
    fn check_write_order(
        &self,
        written: &[WrittenSector],
        written_once: &[WrittenSector],
        image: &SectorImage,
    ) -> Result<(), Breach> {
        let touch = |pair: &[WrittenSector]| pair[1].sector == pair[0].sector + 1 && pair[1].write != pair[0].write;
        let are_apart = written_once.len() == written.len() && !written.windows(2).any(touch);
        let are_cached = self.promise.volatile && !self.writes.iter().any(|write| write.request.flags.has(Flags::FUA));
        let are_whole = self.writes.iter().all(|write| write.request.sectors <= self.promise.one_access_sectors);
        if !self.promise.keeps_order || !are_apart || !are_cached || !are_whole {
            return Ok(());
        }
        let mut done: Vec<&TrackedWrite> = self.writes.iter().filter(|write| write.done).collect();
        done.sort_unstable_by_key(|write| write.ended);
        let mut first_missing: Option<&TrackedWrite> = None;
        for write in done {
            let is_present = |sector: &u64| image.get(0, *sector) == Some(ImageSector::Stamp(write.request.stamp));
            let present = (write.request.lba..write.request.end()).filter(is_present).count();
            if let Some(missing) = first_missing.filter(|missing| present > 0 && missing.ended < Some(write.submitted))
            {
                let text = format!("{:?} is there, {:?}, acknowledged before, is not", write.request, missing.request);
                return broken_law(DurabilityLaw::Order, text);
            }
            if present < write.request.sectors as usize {
                first_missing = first_missing.or(Some(write));
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
        one_access_sectors: 64,
        keeps_order: true,
    };

    /// A checker and the image of its device, which the tests change by hand.
    struct CheckedDevice {
        checker: DurabilityChecker,
        image: SectorImage,
        last_stamp: u64,
    }

    impl CheckedDevice {
        fn new(promise: Promise) -> CheckedDevice {
            let (checker, image) = (DurabilityChecker::new(promise), SectorImage::new());
            CheckedDevice { checker, image, last_stamp: 0 }
        }

        /// Submits a request, without an answer yet. Returns its stamp.
        fn submit(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> u64 {
            self.last_stamp += 1;
            let (tag, stamp) = (self.last_stamp as u32, self.last_stamp);
            self.checker.note_submission(&Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp });
            stamp
        }

        fn acknowledge(&mut self, stamp: u64) {
            let (submitted, finished) = (Instant::ZERO, Instant::ZERO);
            let (tag, status, parts) = (stamp as u32, Status::Done, Parts::default());
            let effort = Effort::default();
            self.checker.note_completion(&Completion { tag, status, submitted, finished, parts, effort });
        }

        /// Submits a write and acknowledges it. Returns its stamp.
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
            self.image.apply_landing(&Landing::new((lba, sectors), stamp, (from, to), kind));
        }

        /// The law that the image breaks after a failure.
        fn broken_law(&mut self, failure: PowerFailure) -> Option<DurabilityLaw> {
            self.checker.judge_image(&self.image, failure).err().map(|breach| breach.law)
        }
    }

    use LandingKind::{Landed, Torn};

    #[test]
    fn a_flush_covers_writes_acknowledged_before_it() {
        let mut device = CheckedDevice::new(PROMISE);
        device.write(0, 8);
        assert_eq!(device.broken_law(PowerFailure::Cut), None, "not covered");
        device.write(0, 8);
        device.flush();
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        // Submitted before the write was acknowledged, it covers nothing.
        let write = device.submit(Op::Write, Flags::NONE, 0, 8);
        let flush = device.submit(Op::Flush, Flags::NONE, 0, 0);
        device.acknowledge(write);
        device.acknowledge(flush);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
        assert_eq!(
            device.broken_law(PowerFailure::PowerOff),
            None,
            "each failure is judged by the requests since the last"
        );
    }

    #[test]
    fn forced_and_uncached_writes_are_durable_and_a_power_off_is_for_all() {
        let mut device = CheckedDevice::new(PROMISE);
        let forced = device.submit(Op::Write, Flags::FUA, 0, 8);
        device.acknowledge(forced);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        let mut device = CheckedDevice::new(Promise { volatile: false, ..PROMISE });
        device.write(0, 8);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        let mut device = CheckedDevice::new(PROMISE);
        device.write(0, 8);
        assert_eq!(device.broken_law(PowerFailure::PowerOff), Some(DurabilityLaw::Durable));
    }

    #[test]
    fn an_older_write_never_stands_over_a_durable_one() {
        let mut device = CheckedDevice::new(PROMISE);
        let old = device.write(0, 8);
        let new = device.write(0, 8);
        device.flush();
        device.land(0, 8, old, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Durable));
        // A later write may stand there.
        let (durable, later) = (device.write(0, 8), device.last_stamp + 2);
        device.flush();
        assert_eq!(device.submit(Op::Write, Flags::NONE, 0, 8), later);
        device.land(0, 8, later, Landed);
        assert!(durable > new);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
    }

    #[test]
    fn tearing_needs_a_write_under_way() {
        let mut device = CheckedDevice::new(PROMISE);
        let stamp = device.write(0, 8);
        device.land(0, 3, stamp, Landed);
        device.land(3, 1, stamp, Torn);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
        let stamp = device.write(0, 8);
        device.flush();
        device.land(0, 8, stamp, Landed);
        device.land(5, 1, stamp, Torn);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Tearing), "nothing was being written");
        let stamp = device.write(0, 8);
        device.land(0, 1, stamp, Torn);
        device.land(4, 1, stamp, Torn);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Tearing), "two at once");
        let mut device = CheckedDevice::new(Promise { cut_sector: CutSector::Old, ..PROMISE });
        let stamp = device.write(0, 8);
        device.land(0, 1, stamp, Torn);
        assert_eq!(
            device.broken_law(PowerFailure::Cut),
            Some(DurabilityLaw::Tearing),
            "no cut tears a sector of this drive"
        );
    }

    /// Found by random cuts: the checker took the second tear for a loss.
    #[test]
    fn a_sector_torn_before_may_be_made_durable_and_torn_again() {
        let mut device = CheckedDevice::new(PROMISE);
        let stamp = device.write(0, 1);
        device.land(0, 1, stamp, Torn);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
        let durable = device.write(0, 1);
        device.flush();
        device.land(0, 1, durable, Landed);
        let again = device.submit(Op::Write, Flags::NONE, 0, 1);
        device.land(0, 1, again, Torn);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
    }

    #[test]
    fn no_sector_holds_data_that_were_not_written_to_it() {
        let mut device = CheckedDevice::new(PROMISE);
        let lost = device.write(0, 8);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
        device.land(0, 8, lost, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Stale), "lost at the last cut");
        device.write(100, 8);
        device.land(100, 1, lost, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Stale), "written to the wrong place");
    }

    #[test]
    fn survivors_are_first_parts_and_first_writes() {
        let mut device = CheckedDevice::new(PROMISE);
        let stamp = device.write(0, 8);
        device.land(4, 4, stamp, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Order), "the second half only");
        let (_, second) = (device.write(0, 8), device.write(20, 8));
        device.land(20, 8, second, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), Some(DurabilityLaw::Order), "the second write only");
        let (first, _) = (device.write(0, 8), device.write(20, 8));
        device.land(0, 5, first, Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), None);
        let both = [0, 20].map(|lba| device.submit(Op::Write, Flags::NONE, lba, 8));
        both.into_iter().for_each(|stamp| device.acknowledge(stamp));
        device.land(20, 8, both[1], Landed);
        assert_eq!(device.broken_law(PowerFailure::Cut), None, "in flight together");
    }
}
