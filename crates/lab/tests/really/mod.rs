//! Runs with a real power failure, the content of the drives afterwards, counted sector by sector from what they
//! received, and random stacks and jobs.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::{BTreeMap, BTreeSet};

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Completion, Control, Device, Landing, LandingKind, MemberRole, Request, Status};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::view::CutArray;
use seekwise_disk::engine::Engine;
use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::host::array::layout::{ArrayVolume, Chunk, RaidLevel, VolumeShare};
use seekwise_disk::host::array::{ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::driver::DriverSpec;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Record;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::{SettingChange, Stack};
use seekwise_disk::testing;
use seekwise_disk::time::{Instant, Span};
use seekwise_disk::witness::{WatchedDevice, Witness};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_run::work::Work;
use seekwise_work::workload::{Job, Workload};

/// A write or flush as its client saw it. Numbers count the client's actions.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    pub request: Request,
    pub begun: usize,
    /// When it ended, and its number.
    pub ended: Option<(Instant, usize)>,
    pub failed: bool,
    /// From its submission to its end, no level acknowledged writes before they were durable.
    pub sure: bool,
}

/// Everything, kept.
#[derive(Default)]
pub struct Log {
    pub lives: BTreeMap<u64, Life>,
    pub doings: usize,
    pub landings: Vec<Landing>,
    pub caching: bool,
    pub terms: Option<DriveTerms>,
}

impl Log {
    pub fn of(stack: &Stack) -> Log {
        let terms = DriveTerms::from_stack(stack);
        Log { caching: terms.volatile_at_first, terms: Some(terms), ..Log::default() }
    }
}

impl Witness for Log {
    fn note_submission(&mut self, _: Instant, request: &Request) {
        self.doings += 1;
        let (begun, sure) = (self.doings, !self.caching);
        self.lives.insert(request.stamp, Life { request: *request, begun, ended: None, failed: false, sure });
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.doings += 1;
        let life = self.lives.get_mut(&request.stamp).unwrap();
        // A request that ends with the power is neither.
        if completion.status != Status::PowerLost {
            life.ended = Some((completion.finished, self.doings));
            life.failed = completion.status != Status::Done;
        }
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.landings.push(*landing);
    }
    fn note_change(&mut self, _: Instant, setting: LayerSetting) {
        let terms = self.terms.unwrap();
        if let LayerSetting::WriteBack(on) = setting {
            self.caching = terms.volatile && (on || terms.in_memory);
        }
        let flying = self.lives.values_mut().filter(|life| life.ended.is_none());
        flying.for_each(|life| life.sure &= !self.caching);
    }
    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

/// Runs until `at` and cuts the power there; returns everything that passed.
pub fn cut_really(stack: &Stack, job: &Job, seed: u64, at: Instant) -> Log {
    let mut log = Log::of(stack);
    cut_before(stack, job, seed, at, &mut log);
    log
}

/// The same with any witness.
pub fn cut_before<W: Witness>(stack: &Stack, job: &Job, seed: u64, at: Instant, witness: &mut W) {
    let device = WatchedDevice::new(stack.build(Seed(seed)), witness);
    let job = Workload::new(job, &device.limits(0), Seed(seed)).unwrap();
    let mut engine = Engine::new(job, device);
    for SettingChange { at, control } in stack.changes.iter().filter(|change| change.at <= at) {
        engine.run(*at, &mut |_: &Record| ()).unwrap();
        if engine.is_over() {
            break;
        }
        engine.device_mut().control(*at, control).unwrap();
    }
    engine.run(at, &mut |_: &Record| ()).unwrap();
    let device = engine.device_mut();
    device.handle_timeout(at);
    device.control(at, &Control::PowerCut).unwrap();
    while device.poll_completion().is_some() {}
}

/// Where a drive holds a sector.
pub type Place = (u32, u64);

/// The content of the drives after a cut, sector by sector, by the places of the drives and the order in which the
/// array accepted the writes; the stamps above come last. A single drive is known by stamps.
pub struct Found {
    pub volumes: Vec<ArrayVolume>,
    pub lost: u64,
    /// The number of each sector's content; for a rebuild, that of all writes before it.
    pub held: BTreeMap<Place, (u64, bool)>,
    pub torn: BTreeSet<Place>,
    /// By block: numbers and stamps of the writes that the array accepted.
    pub taken: BTreeMap<u64, Vec<(u64, u64)>>,
}

/// A block that cannot be recovered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl Found {
    pub fn of(stack: &Stack, log: &Log) -> Found {
        let (volumes, lost) = (stack.volumes(), stack.array().map_or(0, |spec| spec.lost));
        let (held, torn, taken) = Default::default();
        let mut found = Found { volumes, lost, held, torn, taken };
        log.landings.iter().for_each(|landing| found.take(landing));
        found
    }

    pub fn take(&mut self, landing: &Landing) {
        let places = (landing.sector..landing.sector + u64::from(landing.sectors)).map(|it| (landing.member, it));
        let rebuilt = matches!(landing.role, MemberRole::RebuiltCopy(_) | MemberRole::RebuiltParity(_));
        let number = if self.volumes.is_empty() { landing.stamp } else { landing.number };
        match landing.kind {
            LandingKind::Landed => {
                self.torn.retain(|place| !places.clone().any(|other| other == *place));
                self.held.extend(places.map(|place| (place, (number, rebuilt))));
            }
            LandingKind::Torn => self.torn.extend(places),
            LandingKind::Taken if landing.role == MemberRole::Every => {
                for block in landing.lba..landing.end() {
                    self.taken.entry(block).or_default().push((landing.number, landing.stamp));
                }
            }
            LandingKind::Gone => self.lost |= 1 << landing.member,
            LandingKind::Whole => self.lost &= !(1 << landing.member),
            LandingKind::Taken | LandingKind::Discarded | LandingKind::Dropped => {}
        }
    }

    /// The volume of a block, and its number in it.
    pub fn volume(&self, block: u64) -> (&ArrayVolume, u64) {
        let mut start = 0;
        let inside = |volume: &&ArrayVolume| {
            start += volume.capacity();
            block < start
        };
        let volume = self.volumes.iter().find(inside).unwrap();
        (volume, block + volume.capacity() - start)
    }

    /// The last write up to this number to a block; 0 for none.
    pub fn last(&self, block: u64, until: u64) -> u64 {
        let taken = self.taken.get(&block).into_iter().flatten();
        taken.map(|it| it.0).filter(|&number| number <= until).max().unwrap_or(0)
    }

    /// The number of a place's content; for parity, that of the last write it covers.
    pub fn number(&self, place: Place, block: Option<u64>) -> u64 {
        match (self.held.get(&place), block) {
            (None, _) => 0,
            (Some(&(number, false)), _) => number,
            (Some(&(number, true)), Some(block)) => self.last(block, number - 1),
            (Some(&(number, true)), None) => number - 1,
        }
    }

    /// The places from which a block is read with these drives lost: the first copy, or for a row all present data and
    /// as many parities as are missing; and whether that is enough.
    pub fn sources(&self, block: u64, lost: u64) -> (Vec<Place>, bool) {
        if self.volumes.is_empty() {
            return (vec![(0, block)], true);
        }
        let (volume, inside) = self.volume(block);
        let place = volume.row_position(inside);
        let sector = volume.row_start(place.row) + place.within;
        let there = |member: &u32| lost >> member & 1 == 0;
        let copies = (0..volume.copies()).map(|copy| volume.data_member(place.row, place.column, copy));
        if let Some(member) = copies.clone().find(there) {
            return (vec![(member, sector)], true);
        }
        let data: Vec<u32> =
            (0..volume.columns()).map(|column| volume.data_member(place.row, column, 0)).filter(there).collect();
        let missing = (volume.columns() as usize).saturating_sub(data.len());
        let parities =
            (0..volume.parities()).map(|which| volume.parity_member(place.row, which)).filter(there).take(missing);
        let all: Vec<Place> = data.into_iter().chain(parities).map(|member| (member, sector)).collect();
        let enough = volume.parities() > 0 && all.len() == volume.columns() as usize;
        (all, enough)
    }

    /// The number of the result of a read of a block with these drives lost.
    pub fn read(&self, block: u64, lost: u64) -> Result<u64, Gone> {
        let (sources, enough) = self.sources(block, lost);
        if let ([one], true) = (&sources[..], self.volumes.is_empty() || self.volume(block).0.parities() == 0) {
            return Ok(self.number(*one, Some(block)));
        }
        let (volume, inside) = self.volume(block);
        let place = volume.row_position(inside);
        let sector = volume.row_start(place.row) + place.within;
        let of = |column: u32| {
            block - inside + place.row * volume.row_sectors() + u64::from(column) * volume.chunk + place.within
        };
        let member = |column: u32| volume.data_member(place.row, column, 0);
        if lost >> member(place.column) & 1 == 0 {
            return Ok(self.number((member(place.column), sector), Some(block)));
        }
        let (data, parities): (Vec<u32>, Vec<u32>) = {
            let is_data = |it: &Place| (0..volume.columns()).any(|column| member(column) == it.0);
            let (data, parities): (Vec<Place>, Vec<Place>) = sources.iter().partition(|it| is_data(it));
            (data.iter().map(|it| it.0).collect(), parities.iter().map(|it| it.0).collect())
        };
        let mut given = BTreeSet::new();
        for parity in parities {
            let until = self.number((parity, sector), None);
            let columns = (0..volume.columns()).filter(|&column| data.contains(&member(column)));
            for column in columns {
                if self.number((member(column), sector), Some(of(column))) != self.last(of(column), until) {
                    return Err(Gone);
                }
            }
            given.insert(self.last(block, until));
        }
        let one = given.first().copied().filter(|_| enough && given.len() == 1);
        one.ok_or(Gone)
    }

    /// The stamp of the result of a read of a block.
    pub fn stamp(&self, block: u64) -> Result<Option<u64>, Gone> {
        let number = self.read(block, self.lost)?;
        if self.volumes.is_empty() {
            return Ok((number > 0).then_some(number));
        }
        let taken = self.taken.get(&block).into_iter().flatten();
        Ok(taken.filter(|it| it.0 == number).map(|it| it.1).next())
    }

    /// True if a sector that is read for the block is unreadable.
    pub fn is_torn(&self, block: u64) -> bool {
        let (sources, _) = self.sources(block, self.lost);
        sources.iter().any(|place| self.torn.contains(place))
    }

    /// Blocks that are unreadable because a sector is, except those that cannot be recovered anyway.
    pub fn torn(&self) -> Vec<u64> {
        let mut near: BTreeSet<u64> = BTreeSet::new();
        for &(_, sector) in &self.torn {
            let mut start = 0;
            for volume in &self.volumes {
                if (volume.first..volume.end()).contains(&sector) {
                    let beside = (0..volume.members).filter_map(|member| volume.block_at(member, sector));
                    let data = beside.filter(|(chunk, _)| matches!(chunk, Chunk::Data { .. }));
                    near.extend(data.map(|(_, block)| start + block));
                }
                start += volume.capacity();
            }
            near.extend(self.volumes.is_empty().then_some(sector));
        }
        near.into_iter().filter(|&block| self.is_torn(block) && self.read(block, self.lost).is_ok()).collect()
    }

    /// Blocks that would change with the loss of their drive.
    pub fn holes(&self) -> u64 {
        let row = self.volumes[0].row_sectors();
        let end = self.taken.keys().last().map_or(0, |block| (block + 1).next_multiple_of(row));
        let differs = |&block: &u64| {
            let (volume, inside) = self.volume(block);
            let place = volume.row_position(inside);
            let without = 1 << volume.data_member(place.row, place.column, 0);
            let torn = |lost| self.sources(block, lost).0.iter().any(|place| self.torn.contains(place));
            torn(0) || torn(without) || self.read(block, without) != self.read(block, 0)
        };
        (0..end.min(self.volumes[0].capacity())).filter(differs).count() as u64
    }
}

pub fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

pub fn workers(work: Work) -> Job {
    match work {
        Work::Job(job) => job,
        Work::Cached(cached) => cached.0,
        other => panic!("{} is no job of workers", other.name()),
    }
}

/// A job of two seconds that writes a small part of the drive again and again, with any means of durability.
pub fn random_job(rng: &mut Rng, sectors: u64) -> Job {
    let mut text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=2\n".to_owned();
    text += pick(rng, &["size=1m\n", "size=1m\n", "size=64k\n"]);
    text += pick(rng, &["rw=randwrite\n", "rw=randwrite\n", "rw=randrw\n", "rw=write\n"]);
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-32k\n", "bs=64k\n"]);
    text += pick(rng, &["", "fsync=1\n", "fsync=16\n", "sync=1\n"]);
    text += pick(rng, &["", "thinktime=3000\n", "thinktime=200000\nthinktime_blocks=20\n"]);
    text += &format!("iodepth={}\n", pick(rng, &[1, 1, 4, 32]));
    workers(jobs::load_job("j.fio", sectors, &Inputs::from_today(&|_| Ok(text.clone())), &[]).unwrap().job)
}

/// Some drives lie, and some keep their buffer through a cut.
pub fn random_stack(rng: &mut Rng) -> Stack {
    let arrayed = rng.draw_chance(50);
    let layered = if arrayed { testing::random_array(rng) } else { testing::random_stack(rng) };
    let array = layered.layers.iter().find_map(|layer| match layer {
        testing::Layer::Array(spec) => Some(spec.clone()),
        _ => None,
    });
    let bus = layered.layers.iter().find(|layer| layer.is_shared()).cloned();
    let driver = layered.layers.iter().find_map(|layer| match layer {
        testing::Layer::Driver(spec) => Some(*spec),
        _ => None,
    });
    let controller = layered.layers.iter().find_map(|layer| match layer {
        testing::Layer::Controller(spec) => Some(*spec),
        _ => None,
    });
    let mut drive = layered.drive;
    if (1..=drive.cache.segments).contains(&drive.cache.dirty_segments) {
        drive.faults.early_flush = rng.draw_chance(15);
        drive.faults.ignores_fua = drive.link.fua && rng.draw_chance(15);
        drive.faults.caches_when_off = rng.draw_chance(10);
        drive.protected = rng.draw_chance(10);
        drive.cache.flash_sectors = if rng.draw_chance(5) { 512 } else { 0 };
    }
    let accelerator = layered.layers.iter().find_map(|layer| match layer {
        testing::Layer::Accelerator(spec) => Some(AcceleratorSpec { drops_flushes: rng.draw_chance(20), ..*spec }),
        _ => None,
    });
    let parity =
        |spec: &ArraySpec| spec.shares.iter().any(|share| matches!(share.level, RaidLevel::Raid5 | RaidLevel::Raid6));
    if array.as_ref().is_some_and(|spec| spec.lost != 0 && parity(spec)) {
        // The buffer's part of a row under way is not known without a cut.
        (drive.protected, drive.cache.flash_sectors) = (false, 0);
    }
    if accelerator.is_some() {
        // What survives a cut below it is not known without a cut.
        (drive.protected, drive.cache.flash_sectors) = (false, 0);
    }
    let layers = [
        controller.map(testing::Layer::Controller),
        bus,
        array.map(testing::Layer::Array),
        driver.map(testing::Layer::Driver),
        accelerator.map(testing::Layer::Accelerator),
    ];
    Stack { layers: layers.into_iter().flatten().collect(), ..Stack::bare(drive.profile()) }
}

/// Lost and new drives, and a cache that is switched, at any time of a job of two seconds; unchanged if such a run is
/// not judged.
pub fn random_changes(rng: &mut Rng, stack: Stack) -> Stack {
    let mut changes = Vec::new();
    let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
    let change = |ms, setting| SettingChange { at: at(ms), control: Control::Set(setting) };
    if let Some(spec) = stack.array().filter(|spec| spec.lost == 0) {
        let member = rng.below(u64::from(spec.members)) as u32;
        let lost = rng.below(1_000);
        changes.push(change(lost, LayerSetting::Array(ArraySetting::Lose(member))));
        if rng.draw_chance(60) {
            changes.push(change(lost + rng.below(300), LayerSetting::Array(ArraySetting::Replace(member))));
        }
    }
    let cache = &stack.profile.cache;
    if (1..=cache.segments).contains(&cache.dirty_segments) && rng.draw_chance(40) {
        let on = cache.write_back;
        let (one, two) = (rng.below(1_000), 1_000 + rng.below(500));
        changes.extend([(one, !on), (two, on)].map(|(ms, on)| change(ms, LayerSetting::WriteBack(on))));
    }
    changes.sort_by_key(|change| change.at);
    let changed = Stack { changes, ..stack.clone() };
    if CutArray::from_stack(&changed).is_ok() { changed } else { stack }
}

/// An array of any drive with its cache on, small enough for a short rebuild, below a driver that merges.
pub fn merging(rng: &mut Rng, level: RaidLevel, lost: u64) -> Stack {
    let mut drive = testing::random_profile(rng);
    (drive.zones, drive.holes, drive.remaps, drive.weak) = (vec![(20, 64), (20, 48)], vec![], vec![], vec![]);
    drive.cache.segments = drive.cache.segments.max(4);
    (drive.cache.dirty_segments, drive.cache.write_back) = (drive.cache.segments / 2, true);
    drive.firmware.recovery_limit = None;
    let spec = ArraySpec {
        members: level.least_members() + u32::from(level != RaidLevel::Raid10 && rng.draw_chance(50)),
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: pick(rng, &[8, 16, 64]),
        depth: 32,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: pick(rng, &[ParityWrite::Fewest, ParityWrite::Modify, ParityWrite::Reconstruct]),
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost,
        bitmap: None,
    };
    let driver = DriverSpec { merge: true, ..DriverSpec::plain(64, 8, Discipline::plain(Policy::CLook), 256) };
    let array = testing::Layer::Array(spec);
    Stack::bare(drive.profile()).with_layer(array).with_layer(testing::Layer::Driver(driver))
}

/// Small writes side by side, which a driver merges, over a few rows; some followed by a flush.
pub fn small_writes(rng: &mut Rng, sectors: u64, lasting: bool) -> Job {
    let mut text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\nnumber_ios=600\niodepth=16\n".to_owned();
    text += pick(rng, &["size=256k\n", "size=64k\n", "size=1m\n"]);
    text += pick(rng, &["rw=randwrite\n", "rw=write\n", "rw=randwrite\npercentage_random=50\n"]);
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-16k\n"]);
    text += if lasting {
        "thinktime=4000\n"
    } else {
        pick(rng, &["", "fsync=16\n", "thinktime=20000\nthinktime_blocks=20\n"])
    };
    workers(jobs::load_job("j.fio", sectors, &Inputs::from_today(&|_| Ok(text.clone())), &[]).unwrap().job)
}
