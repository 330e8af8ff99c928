//! Compares [`Bytes`] with an array of sectors, the oracle, under random writes, landings in any order, failures,
//! flushes of an array without a drive, and cuts. The array records each write of a sector and its outcome; it has no
//! runs, pieces or files.
//!
//! Rule: a read finds the newest write of a sector that did not fail, if it is pending; if it has landed, the read
//! finds the last landing. A cut leaves the last landing.

use std::collections::BTreeMap;
use std::fs::File;

use seekwise_disk::block::{Flags, Landing, LandingKind, MemberRole, Op, Request, SECTOR};
use seekwise_disk::history::{CutRemains, History, WriteData};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::Instant;

use super::{Bytes, PlatterMedium};

/// Sectors of the disk: whole pieces of eight.
const SECTORS: u64 = 96;
/// Sectors of the base image; sector `at` holds `BASED + at`, and those beyond it zeroes.
const BASE: u64 = 70;
const BASED: u64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq)]
enum SectorWriteState {
    Pending,
    Landed,
    Gone,
}

/// A write of a sector.
#[derive(Clone, Copy, Debug)]
struct SectorWrite {
    stamp: u64,
    /// The value, 0 for zeroes.
    value: u64,
    state: SectorWriteState,
}

/// A sector: the last landing, and all its writes, oldest first.
#[derive(Clone, Debug, Default)]
struct OracleSector {
    /// The value of the last landing.
    platter: u64,
    torn: bool,
    writes: Vec<SectorWrite>,
}

impl OracleSector {
    /// Value that a read finds; `None` if the sector is unreadable.
    fn visible_value(&self) -> Option<u64> {
        let newest = self.writes.iter().rev().find(|write| write.state != SectorWriteState::Gone);
        let value =
            newest.filter(|write| write.state == SectorWriteState::Pending).map_or(self.platter, |write| write.value);
        (!self.torn).then_some(value)
    }

    fn pending_stamps(&self) -> impl Iterator<Item = u64> + '_ {
        self.writes.iter().filter(|write| write.state == SectorWriteState::Pending).map(|write| write.stamp)
    }

    /// True if no write landed over an older one that is still pending.
    fn landed_in_order(&self) -> bool {
        let landed = self.writes.iter().rposition(|write| write.state == SectorWriteState::Landed);
        self.writes[..landed.unwrap_or(0)].iter().all(|write| write.state != SectorWriteState::Pending)
    }

    fn record_landing(&mut self, stamp: u64, kind: LandingKind) {
        self.torn |= kind == LandingKind::Torn;
        let Some(write) = self.writes.iter_mut().find(|write| write.stamp == stamp) else { return };
        if kind == LandingKind::Landed {
            (self.platter, write.state) = (write.value, SectorWriteState::Landed);
        } else {
            write.state = SectorWriteState::Gone;
        }
    }
}

/// A planted fault: an event that is not reported to the bytes, or wrongly, while the array gets the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PlantedFault {
    None,
    /// The older of two overlapping writes is reported as landing last.
    Swapped,
    /// A landing in twenty is not reported.
    Unreported,
    /// A landing in twenty is reported as that of a second copy.
    OtherCopy,
    /// A landing in twenty is reported as discarded.
    TakenBack,
    /// Failed writes are not forgotten.
    Remembered,
    /// The power cut is not reported.
    Uncut,
    /// Former content is not kept when the history begins.
    Unkept,
}

struct OracleTrial {
    bytes: Bytes,
    sectors: Vec<OracleSector>,
    rng: Rng,
    fault: PlantedFault,
    stamp: u64,
    /// By stamp: first sector and length; and the last stamp given when the write was answered as done.
    writes: BTreeMap<u64, (u64, u64)>,
    done: BTreeMap<u64, u64>,
    /// Events since the former content was kept, and that content.
    history: History,
    former: Option<Vec<(u64, bool)>>,
}

impl OracleTrial {
    fn new(bytes: Bytes, based: bool, fault: PlantedFault, seed: u64) -> OracleTrial {
        let mut sectors = vec![OracleSector::default(); SECTORS as usize];
        if based {
            (0..BASE).for_each(|at| sectors[at as usize].platter = BASED + at);
        }
        let (writes, done) = (BTreeMap::new(), BTreeMap::new());
        let (rng, history) = (Seed(seed).stream("bytes"), History::default());
        OracleTrial { bytes, sectors, rng, fault, stamp: 0, writes, done, history, former: None }
    }

    fn sector_mut(&mut self, at: u64) -> &mut OracleSector {
        &mut self.sectors[at as usize]
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Draws a pending write.
    fn draw_pending(&mut self) -> Option<u64> {
        let index = self.rng.below(self.writes.len().max(1) as u64) as usize;
        self.writes.keys().nth(index).copied()
    }

    fn write_random(&mut self) {
        let lba = self.rng.below(SECTORS);
        let sectors = (1 + self.rng.below(24)).min(SECTORS - lba);
        let (stamp, zeroes) = (self.next_stamp(), self.rng.draw_chance(25));
        let data = if zeroes {
            WriteData::Zeroes { bytes: sectors * SECTOR, allocated: self.rng.draw_chance(50) }
        } else {
            WriteData::Bytes(full_sector(stamp).repeat(sectors as usize))
        };
        let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
        let request = Request { tag, unit, origin, op, flags, lba, sectors: sectors as u32, stamp };
        self.history.record_request(Instant::ZERO, &request, Some(&data));
        self.bytes.accept_write(&request, data);
        self.writes.insert(stamp, (lba, sectors));
        for at in lba..lba + sectors {
            self.sector_mut(at).torn = false;
            let (value, state) = (if zeroes { 0 } else { stamp }, SectorWriteState::Pending);
            self.sector_mut(at).writes.push(SectorWrite { stamp, value, state });
        }
    }

    fn report_landing(&mut self, lba: u64, sectors: u64, stamp: u64, kind: LandingKind, role: MemberRole) {
        let landing = Landing::new((lba, sectors as u32), stamp, (Instant::ZERO, Instant::ZERO), kind);
        self.bytes.apply_landing(&Landing { role, ..landing }).unwrap();
    }

    /// Applies a landing of a run of a write's sectors.
    fn land_run(&mut self, lba: u64, sectors: u64, stamp: u64, kind: LandingKind) {
        (lba..lba + sectors).for_each(|at| self.sector_mut(at).record_landing(stamp, kind));
        let is_affected = kind == LandingKind::Landed && self.rng.draw_chance(5);
        let role = if self.rng.draw_chance(10) { MemberRole::Every } else { MemberRole::Copy(0) };
        match self.fault {
            PlantedFault::Unreported if is_affected => {}
            PlantedFault::OtherCopy if is_affected => {
                self.report_landing(lba, sectors, stamp, kind, MemberRole::Copy(1))
            }
            PlantedFault::TakenBack if is_affected => {
                self.report_landing(lba, sectors, stamp, LandingKind::Discarded, role)
            }
            _ => self.report_landing(lba, sectors, stamp, kind, role),
        }
    }

    /// Draws a run of a write's sectors whose landing was not reported: its first sector and its length.
    fn unreported_run(&mut self, stamp: u64) -> Option<(u64, u64)> {
        let (lba, sectors) = self.writes[&stamp];
        let waits = |trial: &OracleTrial, at: u64| trial.sectors[at as usize].pending_stamps().any(|it| it == stamp);
        let open: Vec<u64> = (lba..lba + sectors).filter(|&at| waits(self, at)).collect();
        let from = *open.get(self.rng.below(open.len().max(1) as u64) as usize)?;
        let max_length = 1 + self.rng.below(12);
        Some((from, (0..max_length).take_while(|distance| open.contains(&(from + distance))).count() as u64))
    }

    /// Lands, discards or drops a run of a random write, whatever came before or after it.
    fn land_random(&mut self) {
        let Some(stamp) = self.draw_pending() else { return };
        let Some((from, sectors)) = self.unreported_run(stamp) else { return };
        let kind = match self.rng.below(10) {
            0 => LandingKind::Discarded,
            1 => LandingKind::Dropped,
            _ => LandingKind::Landed,
        };
        if kind == LandingKind::Landed {
            self.land_run(from, sectors, stamp, kind);
            if self.rng.draw_chance(5) {
                // Landed again at once, as by a drive whose cache is switched off meanwhile.
                self.report_landing(from, sectors, stamp, kind, MemberRole::Copy(0));
            }
        } else {
            let sound =
                (from..from + sectors).take_while(|&at| self.sectors[at as usize].landed_in_order()).count() as u64;
            self.land_run(from, sound, stamp, kind);
        }
        self.drop_if_complete(stamp);
    }

    /// Lands two overlapping pending writes, the older one first.
    fn land_both(&mut self) {
        let at = self.rng.below(SECTORS);
        let pending: Vec<u64> = self.sectors[at as usize].pending_stamps().collect();
        let [.., older, newer] = pending[..] else { return };
        let kind = LandingKind::Landed;
        [older, newer].iter().for_each(|&stamp| self.sector_mut(at).record_landing(stamp, kind));
        let order = if self.fault == PlantedFault::Swapped { [newer, older] } else { [older, newer] };
        order.iter().for_each(|&stamp| self.report_landing(at, 1, stamp, kind, MemberRole::Copy(0)));
        [older, newer].iter().for_each(|&stamp| self.drop_if_complete(stamp));
    }

    /// Reports landings that do not change what a read finds.
    fn report_ineffective_landings(&mut self) {
        let Some(stamp) = self.draw_pending() else { return };
        let (lba, sectors) = self.writes[&stamp];
        let other =
            [MemberRole::Copy(1), MemberRole::Parity(0), MemberRole::RebuiltCopy(0), MemberRole::RebuiltParity(1)];
        let role = other[self.rng.below(4) as usize];
        self.report_landing(lba, sectors, stamp, LandingKind::Landed, role);
        self.report_landing(lba, sectors, stamp, LandingKind::Torn, role);
        let undecided = [LandingKind::Taken, LandingKind::Gone, LandingKind::Whole][self.rng.below(3) as usize];
        self.report_landing(lba, sectors, stamp, undecided, MemberRole::Copy(0));
        self.report_landing(lba, sectors, 0, LandingKind::Landed, MemberRole::Copy(0));
    }

    fn answer_random(&mut self) {
        let Some(stamp) = self.draw_pending() else { return };
        if !self.done.contains_key(&stamp) {
            self.done.insert(stamp, self.stamp);
            self.bytes.mark_answered(stamp, self.stamp);
            self.drop_if_complete(stamp);
        }
    }

    /// Drops a write that is answered and of which all sectors are reported.
    fn drop_if_complete(&mut self, stamp: u64) {
        let waits = |sector: &OracleSector| sector.pending_stamps().any(|it| it == stamp);
        if self.done.contains_key(&stamp) && !self.sectors.iter().any(waits) {
            self.writes.remove(&stamp);
        }
    }

    fn all_in_order(&self, stamp: u64) -> bool {
        let (lba, sectors) = self.writes[&stamp];
        (lba..lba + sectors).all(|at| self.sectors[at as usize].landed_in_order())
    }

    /// Fails a write that was not answered.
    fn fail_random(&mut self) {
        let Some(stamp) = self.draw_pending() else { return };
        if self.done.contains_key(&stamp) || !self.all_in_order(stamp) {
            return;
        }
        let (lba, sectors) = self.writes.remove(&stamp).expect("it was drawn");
        for at in lba..lba + sectors {
            let open = self.sectors[at as usize].pending_stamps().any(|it| it == stamp);
            if open {
                self.sector_mut(at).record_landing(stamp, LandingKind::Discarded);
            }
        }
        if self.fault != PlantedFault::Remembered {
            self.bytes.drop_failed_write(stamp);
        }
    }

    /// Ends a flush of an array without a drive: writes answered before it began are on the media.
    fn end_flush(&mut self) {
        let newest = self.next_stamp();
        let flush = newest - self.rng.below(newest.min(12));
        let settled = self.done.iter().filter(|it| *it.1 < flush && self.writes.contains_key(it.0));
        let settled: Vec<u64> = settled.map(|it| *it.0).collect();
        if !settled.iter().all(|&stamp| self.all_in_order(stamp)) {
            return;
        }
        for stamp in settled {
            let (lba, sectors) = self.writes.remove(&stamp).expect("it is there");
            for at in lba..lba + sectors {
                if self.sectors[at as usize].pending_stamps().any(|it| it == stamp) {
                    self.sector_mut(at).record_landing(stamp, LandingKind::Landed);
                }
            }
        }
        self.bytes.apply_flush(flush).unwrap();
    }

    /// Cuts the power: some pending sectors land, some tear, some are reported as discarded, the rest is not reported.
    fn cut_power(&mut self) {
        for at in 0..SECTORS {
            let pending: Vec<u64> = self.sectors[at as usize].pending_stamps().collect();
            for stamp in pending {
                let kind = match self.rng.below(20) {
                    0 => LandingKind::Torn,
                    1..8 => LandingKind::Landed,
                    8..14 => LandingKind::Discarded,
                    _ => continue,
                };
                if kind == LandingKind::Landed || self.sectors[at as usize].landed_in_order() {
                    self.land_run(at, 1, stamp, kind);
                }
            }
        }
        self.drop_pending();
        if self.fault != PlantedFault::Uncut {
            self.bytes.apply_cut();
        }
    }

    /// Drops all pending writes.
    fn drop_pending(&mut self) {
        self.writes.clear();
        self.done.clear();
        self.sectors.iter_mut().for_each(|sector| sector.writes.clear());
    }

    /// Begins the history.
    fn begin_history(&mut self) {
        self.former = Some(self.sectors.iter().map(|sector| (sector.platter, sector.torn)).collect());
        self.bytes.keep_former_content(self.fault != PlantedFault::Unkept);
    }

    /// Cuts the power with a given outcome: random parts of random writes, over the former content.
    fn cut_with_remains(&mut self) {
        let Some(former) = self.former.take() else { return };
        self.drop_pending();
        for (sector, (platter, torn)) in self.sectors.iter_mut().zip(former) {
            (sector.platter, sector.torn) = (platter, torn);
        }
        let mut left = CutRemains::default();
        let mut from = 0;
        while from < SECTORS {
            let end = (from + 1 + self.rng.below(9)).min(SECTORS);
            let covers = |write: &(u64, u64, u64, bool)| write.1 <= from && end <= write.2;
            let brings = |request: &Request| {
                let zero = matches!(self.history.data[&request.stamp], WriteData::Zeroes { .. });
                (request.stamp, request.lba, request.end(), zero)
            };
            let fit: Vec<_> = self.history.accepted_writes().map(|it| brings(it.1)).filter(covers).collect();
            let drawn = fit.get(self.rng.below(fit.len().max(1) as u64) as usize);
            if let Some(&(stamp, .., zero)) = drawn.filter(|_| self.rng.draw_chance(50)) {
                left.held.push(((from, end), stamp));
                for at in from..end {
                    let sector = self.sector_mut(at);
                    (sector.platter, sector.torn) = (if zero { 0 } else { stamp }, false);
                }
            } else if self.rng.draw_chance(10) {
                left.unreadable.push((from, end));
                (from..end).for_each(|at| self.sector_mut(at).torn = true);
            }
            from = end;
        }
        self.bytes.apply_remains(&left, &self.history).unwrap();
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..30 => self.write_random(),
            30..66 => self.land_random(),
            66..72 => self.land_both(),
            72..74 => self.report_ineffective_landings(),
            74..88 => self.answer_random(),
            88..93 => self.fail_random(),
            93..96 => self.end_flush(),
            96 => self.cut_power(),
            97 => self.begin_history(),
            98 => self.cut_with_remains(),
            _ => self.check_zeroes(),
        }
    }

    /// Compares the content of a run, sector by sector, with the array.
    fn compare_run(&self, from: u64, end: u64) -> Option<String> {
        let shown = |at: u64| self.sectors[at as usize].visible_value();
        let torn = (from..end).find(|&at| shown(at).is_none());
        let found = match (self.bytes.read(from, end - from), torn) {
            (Err(unreadable), torn) if torn == Some(unreadable.0) => return None,
            (Ok(read), None) => read.unwrap(),
            (found, torn) => return Some(format!("{from}..{end}: {:?} for {torn:?}", found.map(|_| ()))),
        };
        let wrong = (from..end).zip(found.chunks(SECTOR as usize)).find(|(at, data)| {
            let value = shown(*at).expect("none is torn");
            *data != full_sector(value).as_slice()
        });
        let value = |data: &[u8]| u64::from_le_bytes(data[..8].try_into().unwrap());
        wrong.map(|(at, data)| format!("{at}: {} for {:?}", value(data), shown(at)))
    }

    /// Checks that stretches reported as zeroes are zero, and that a walk over them ends.
    fn check_zeroes(&mut self) {
        let zeroes = |from: u64, end: u64| {
            (from..end).all(|at| self.sectors[at as usize].visible_value().is_none_or(|value| value == 0))
        };
        let (from, end) = (self.rng.below(SECTORS), SECTORS);
        let mut at = from;
        while at < end {
            let data = self.bytes.first_data_sector(at..end);
            assert!(
                data >= at && data <= end && (self.fault != PlantedFault::None || zeroes(at, data)),
                "{at}..{data}"
            );
            let hole = self.bytes.first_hole_sector(data..end);
            assert!(data == end || hole > data, "data at {data} are a sector at least, and end at {hole}");
            at = hole.max(data);
        }
    }

    /// Compares the bytes at risk, the acknowledged ones among them, and the unreadable sectors with the array.
    fn compare_counts(&self) -> Option<String> {
        let newest = |sector: &OracleSector| {
            sector.writes.iter().rev().find(|write| write.state != SectorWriteState::Gone).copied()
        };
        let above = self.sectors.iter().filter_map(newest).filter(|write| write.state == SectorWriteState::Pending);
        let (mut risk, mut acknowledged) = (0, 0);
        for write in above {
            risk += SECTOR;
            acknowledged += if self.done.contains_key(&write.stamp) { SECTOR } else { 0 };
        }
        let torn = self.sectors.iter().filter(|sector| sector.torn).count() as u64;
        let counted =
            (self.bytes.bytes_at_risk(), self.bytes.acknowledged_bytes_at_risk(), self.bytes.unreadable_sectors());
        (counted != (risk, acknowledged, torn)).then(|| format!("{counted:?} for {:?}", (risk, acknowledged, torn)))
    }

    /// Makes so many steps, then lands and answers all writes; returns the first difference, or a write that remains
    /// pending.
    fn first_difference(&mut self, steps: u32) -> Option<String> {
        for step in 0..steps {
            self.step();
            let from = self.rng.below(SECTORS);
            let end = (from + 1 + self.rng.below(20)).min(SECTORS);
            let (from, end) = if step % 32 == 0 { (0, SECTORS) } else { (from, end) };
            if let Some(difference) = self.compare_run(from, end).or_else(|| self.compare_counts()) {
                return Some(format!("step {step}: {difference}"));
            }
        }
        for (stamp, (lba, sectors)) in std::mem::take(&mut self.writes) {
            for at in lba..lba + sectors {
                if self.sectors[at as usize].pending_stamps().any(|it| it == stamp) {
                    self.land_run(at, 1, stamp, LandingKind::Landed);
                }
            }
            self.bytes.mark_answered(stamp, self.stamp);
        }
        let left = (self.bytes.pending.len(), self.bytes.pending_bytes, self.bytes.visible.len());
        let left = (left != (0, 0, 0)).then(|| format!("left in memory: {left:?}"));
        left.or_else(|| self.compare_run(0, SECTORS)).or_else(|| self.compare_counts())
    }
}

/// Returns a sector full of one value.
fn full_sector(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(SECTOR as usize / 8)
}

/// Returns the first difference on a disk in memory or in a file, that begins empty or with an image.
fn find_difference(on_file: bool, based: bool, fault: PlantedFault, seed: u64) -> Option<String> {
    let mut bytes = Bytes::default();
    if on_file {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SECTORS * SECTOR).unwrap();
        bytes = Bytes::on_platters(PlatterMedium::File(file));
    }
    if based {
        bytes = bytes.with_base(base_image()).unwrap();
    }
    OracleTrial::new(bytes, based, fault, seed).first_difference(400)
}

fn base_image() -> File {
    let mut file = tempfile::tempfile().unwrap();
    let content: Vec<u8> = (0..BASE).flat_map(|at| full_sector(BASED + at)).collect();
    std::io::Write::write_all(&mut file, &content).unwrap();
    file
}

#[test]
fn a_read_finds_what_an_array_of_sectors_finds_in_whatever_order_writes_land() {
    for seed in 0..24 {
        for (on_file, based) in [(false, false), (false, true), (true, false), (true, true)] {
            let found = find_difference(on_file, based, PlantedFault::None, seed);
            assert_eq!(found, None, "seed {seed}, in a file {on_file}, with an image {based}");
        }
    }
}

#[test]
fn each_planted_fault_is_noticed() {
    use PlantedFault::*;
    for fault in [Swapped, Unreported, OtherCopy, TakenBack, Remembered, Uncut, Unkept] {
        let found = (0..8).filter(|&seed| find_difference(false, false, fault, seed).is_some()).count();
        assert!(found >= 4, "{fault:?}: noticed in {found} of 8 trials");
    }
}
