//! Cuts answered from one run, held against the real thing: the same run, cut at the same instant, judged by counting
//! sectors from what a client saw and what the medium received.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_lab::cut::loss::{Cut, Lost};
use seekwise_lab::cut::stripes::Holes;
use seekwise_lab::cut::terms::Terms;
use seekwise_lab::cut::view::Plan;
use seekwise_lab::cut::{When, judge};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_model::block::{
    Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, Role, SECTOR, Status,
};
use seekwise_model::drive::profile::Faults;
use seekwise_model::engine::Engine;
use seekwise_model::host::accelerator::AcceleratorSpec;
use seekwise_model::host::array::layout::{Chunk, Level, Share, Volume};
use seekwise_model::host::array::{ArraySpec, Balance, ParityWrite};
use seekwise_model::host::driver::{DriverSpec, PowerOff};
use seekwise_model::queue::{Discipline, Policy};
use seekwise_model::record::Record;
use seekwise_model::rng::{Rng, Seed};
use seekwise_model::stack::{Change, Stack};
use seekwise_model::testing;
use seekwise_model::time::{Instant, Span};
use seekwise_model::workload::{Job, Pattern, Workload};
use seekwise_targets::sim::{self, Watched, Witness};
use seekwise_targets::work::Work;

/// One write or flush as its client saw it. Numbers count the client's doings.
#[derive(Clone, Copy, Debug)]
struct Life {
    request: Request,
    begun: usize,
    /// When it ended, and its number.
    ended: Option<(Instant, usize)>,
    failed: bool,
    /// Nothing acknowledged writes before they were durable, from its submission to its end.
    sure: bool,
}

/// Everything, kept.
#[derive(Default)]
struct Log {
    lives: BTreeMap<u64, Life>,
    doings: usize,
    landings: Vec<Landing>,
    caching: bool,
    terms: Option<Terms>,
}

impl Witness for Log {
    fn submitted(&mut self, _: Instant, request: &Request) {
        self.doings += 1;
        let (begun, sure) = (self.doings, !self.caching);
        self.lives.insert(request.stamp, Life { request: *request, begun, ended: None, failed: false, sure });
    }
    fn completed(&mut self, request: &Request, completion: &Completion) {
        self.doings += 1;
        let life = self.lives.get_mut(&request.stamp).unwrap();
        // What ends with the power is neither.
        if completion.status != Status::PowerLost {
            life.ended = Some((completion.finished, self.doings));
            life.failed = completion.status != Status::Done;
        }
    }
    fn landed(&mut self, landing: &Landing) {
        self.landings.push(*landing);
    }
    fn changed(&mut self, _: Instant, key: &str, value: &str) {
        let terms = self.terms.unwrap();
        if key == "drive.cache.write_back" {
            self.caching = terms.volatile && (value == "on" || terms.in_memory);
        }
        let flying = self.lives.values_mut().filter(|life| life.ended.is_none());
        flying.for_each(|life| life.sure &= !self.caching);
    }
    fn lingers(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

/// Runs until `at` and cuts the power there.
fn cut_really(stack: &Stack, job: &Job, seed: u64, at: Instant) -> Log {
    let terms = Terms::of(stack);
    let mut log = Log { caching: terms.volatile_at_first, terms: Some(terms), ..Log::default() };
    let device = Watched::new(stack.build(Seed(seed)), &mut log);
    let job = Workload::new(job, &device.limits(0), Seed(seed)).unwrap();
    let mut engine = Engine::new(job, device);
    for Change { at, key, value } in stack.changes.iter().filter(|change| change.at <= at) {
        engine.run(*at, &mut |_: &Record| ()).unwrap();
        if engine.is_over() {
            break;
        }
        engine.device_mut().control(*at, &Control::Set { key, value }).unwrap();
    }
    engine.run(at, &mut |_: &Record| ()).unwrap();
    let device = engine.device_mut();
    device.handle_timeout(at);
    device.control(at, &Control::PowerCut).unwrap();
    while device.poll_completion().is_some() {}
    drop(engine);
    log
}

/// Where a drive holds a sector.
type Place = (u32, u64);

/// What the drives hold after a cut, sector by sector, by the places of the drives and the order in which the array took
/// the writes; which write above each is comes last. A drive by itself is known by stamps.
struct Found {
    volumes: Vec<Volume>,
    lost: u64,
    /// The number of what each sector holds; of what a rebuild wrote, that of all writes before it.
    held: BTreeMap<Place, (u64, bool)>,
    torn: BTreeSet<Place>,
    /// By block: numbers and stamps of the writes that the array took.
    taken: BTreeMap<u64, Vec<(u64, u64)>>,
}

/// Nothing gives a block back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gone;

impl Found {
    fn of(stack: &Stack, log: &Log) -> Found {
        let (volumes, lost) = (stack.volumes(), stack.array().map_or(0, |spec| spec.lost));
        let (held, torn, taken) = Default::default();
        let mut found = Found { volumes, lost, held, torn, taken };
        log.landings.iter().for_each(|landing| found.take(landing));
        found
    }

    fn take(&mut self, landing: &Landing) {
        let places = (landing.sector..landing.sector + u64::from(landing.sectors)).map(|it| (landing.member, it));
        let rebuilt = matches!(landing.role, Role::RebuiltCopy(_) | Role::RebuiltParity(_));
        let number = if self.volumes.is_empty() { landing.stamp } else { landing.number };
        match landing.kind {
            LandingKind::Landed => {
                self.torn.retain(|place| !places.clone().any(|other| other == *place));
                self.held.extend(places.map(|place| (place, (number, rebuilt))));
            }
            LandingKind::Torn => self.torn.extend(places),
            LandingKind::Taken if landing.role == Role::Every => {
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
    fn volume(&self, block: u64) -> (&Volume, u64) {
        let mut start = 0;
        let inside = |volume: &&Volume| {
            start += volume.capacity();
            block < start
        };
        let volume = self.volumes.iter().find(inside).unwrap();
        (volume, block + volume.capacity() - start)
    }

    /// The last write up to this number to a block; 0 where there was none.
    fn last(&self, block: u64, until: u64) -> u64 {
        let taken = self.taken.get(&block).into_iter().flatten();
        taken.map(|it| it.0).filter(|&number| number <= until).max().unwrap_or(0)
    }

    /// The number of what a place holds; of parity, that of the last write it belongs to.
    fn number(&self, place: Place, block: Option<u64>) -> u64 {
        match (self.held.get(&place), block) {
            (None, _) => 0,
            (Some(&(number, false)), _) => number,
            (Some(&(number, true)), Some(block)) => self.last(block, number - 1),
            (Some(&(number, true)), None) => number - 1,
        }
    }

    /// The places that a block is read from when these drives are lost: the first copy, or of a row all data that are there
    /// and as many parities as are missing; and whether that is enough.
    fn sources(&self, block: u64, lost: u64) -> (Vec<Place>, bool) {
        if self.volumes.is_empty() {
            return (vec![(0, block)], true);
        }
        let (volume, inside) = self.volume(block);
        let place = volume.place(inside);
        let sector = volume.row_start(place.row) + place.within;
        let there = |member: &u32| lost >> member & 1 == 0;
        let copies = (0..volume.copies()).map(|copy| volume.member(place.row, place.column, copy));
        if let Some(member) = copies.clone().find(there) {
            return (vec![(member, sector)], true);
        }
        let data: Vec<u32> =
            (0..volume.columns()).map(|column| volume.member(place.row, column, 0)).filter(there).collect();
        let missing = (volume.columns() as usize).saturating_sub(data.len());
        let parities = (0..volume.parities()).map(|which| volume.parity(place.row, which)).filter(there).take(missing);
        let all: Vec<Place> = data.into_iter().chain(parities).map(|member| (member, sector)).collect();
        let enough = volume.parities() > 0 && all.len() == volume.columns() as usize;
        (all, enough)
    }

    /// The number of what a read of a block gives when these drives are lost.
    fn read(&self, block: u64, lost: u64) -> Result<u64, Gone> {
        let (sources, enough) = self.sources(block, lost);
        if let ([one], true) = (&sources[..], self.volumes.is_empty() || self.volume(block).0.parities() == 0) {
            return Ok(self.number(*one, Some(block)));
        }
        let (volume, inside) = self.volume(block);
        let place = volume.place(inside);
        let sector = volume.row_start(place.row) + place.within;
        let of =
            |column: u32| block - inside + place.row * volume.row() + u64::from(column) * volume.chunk + place.within;
        let member = |column: u32| volume.member(place.row, column, 0);
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

    /// The stamp of what a read of a block gives.
    fn stamp(&self, block: u64) -> Result<Option<u64>, Gone> {
        let number = self.read(block, self.lost)?;
        if self.volumes.is_empty() {
            return Ok((number > 0).then_some(number));
        }
        let taken = self.taken.get(&block).into_iter().flatten();
        Ok(taken.filter(|it| it.0 == number).map(|it| it.1).next())
    }

    /// A sector that is read for the block cannot be read.
    fn is_torn(&self, block: u64) -> bool {
        let (sources, _) = self.sources(block, self.lost);
        sources.iter().any(|place| self.torn.contains(place))
    }

    /// Blocks that cannot be read for a sector that cannot, but for those that nothing gives back anyhow.
    fn torn(&self) -> Vec<u64> {
        let mut near: BTreeSet<u64> = BTreeSet::new();
        for &(_, sector) in &self.torn {
            let mut start = 0;
            for volume in &self.volumes {
                if (volume.first..volume.end()).contains(&sector) {
                    let beside = (0..volume.members).filter_map(|member| volume.block(member, sector));
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
    fn holes(&self) -> u64 {
        let row = self.volumes[0].row();
        let end = self.taken.keys().last().map_or(0, |block| (block + 1).next_multiple_of(row));
        let differs = |&block: &u64| {
            let (volume, inside) = self.volume(block);
            let place = volume.place(inside);
            let without = 1 << volume.member(place.row, place.column, 0);
            let torn = |lost| self.sources(block, lost).0.iter().any(|place| self.torn.contains(place));
            torn(0) || torn(without) || self.read(block, without) != self.read(block, 0)
        };
        (0..end.min(self.volumes[0].capacity())).filter(differs).count() as u64
    }
}

/// Counts sector by sector.
fn count(log: &Log, at: Instant, found: &Found) -> Cut {
    let is_write = |life: &&Life| matches!(life.request.op, Op::Write | Op::WriteZeroes) && !life.failed;
    let mut written: BTreeMap<u64, Result<Option<u64>, Gone>> = BTreeMap::new();
    // The last write of each sector that was acknowledged.
    let mut relied: BTreeMap<u64, u64> = BTreeMap::new();
    for life in log.lives.values().filter(|life| matches!(life.request.op, Op::Write | Op::WriteZeroes)) {
        for sector in life.request.lba..life.request.end() {
            written.entry(sector).or_insert_with(|| found.stamp(sector));
            if life.ended.is_some() && !life.failed {
                relied.insert(sector, life.request.stamp);
            }
        }
    }
    let flushes =
        log.lives.values().filter(|life| life.request.op == Op::Flush && life.ended.is_some() && !life.failed);
    let flushed = flushes.map(|life| life.begun).max().unwrap_or(0);
    let is_flushed = |life: &Life| life.ended.is_some_and(|(_, number)| number < flushed);
    let is_forced = |life: &Life| life.request.flags.has(Flags::FUA);
    let is_promised = |life: &Life| is_flushed(life) || is_forced(life) || life.sure;
    let older = |life: &Life, sector: u64| match written[&sector] {
        Err(Gone) => life.ended.is_none() || relied[&sector] == life.request.stamp,
        Ok(None) => true,
        Ok(Some(stamp)) => {
            stamp < life.request.stamp && log.lives[&stamp].ended.is_some_and(|(_, number)| number < life.begun)
        }
    };
    let mut lost = [Lost::default(); 4];
    let mut bytes: [BTreeSet<u64>; 4] = Default::default();
    let (mut partial, mut in_flight, mut survived) = (0, 0, 0);
    for life in log.lives.values().filter(is_write) {
        let missing: Vec<u64> = (life.request.lba..life.request.end()).filter(|&sector| older(life, sector)).collect();
        partial += u64::from(!missing.is_empty() && missing.len() < life.request.sectors as usize);
        let Some((acknowledged, _)) = life.ended else {
            in_flight += 1;
            survived += u64::from(missing.is_empty());
            continue;
        };
        let classes = [true, is_flushed(life), is_forced(life), is_promised(life)];
        for (class, _) in classes.iter().enumerate().filter(|(_, holds)| **holds && !missing.is_empty()) {
            lost[class].writes += 1;
            lost[class].oldest = lost[class].oldest.max(at.since(acknowledged));
            bytes[class].extend(&missing);
        }
    }
    for (lost, bytes) in lost.iter_mut().zip(&bytes) {
        lost.bytes = bytes.len() as u64 * SECTOR;
    }
    let torn = found.torn();
    let held = |sector: &&u64| {
        found
            .stamp(**sector)
            .ok()
            .flatten()
            .map(|stamp| &log.lives[&stamp])
            .filter(|life| life.ended.is_some() && !life.failed)
    };
    Cut {
        at,
        lost,
        torn: torn.len() as u64,
        torn_acknowledged: torn.iter().filter(|sector| held(sector).is_some()).count() as u64,
        torn_promised: torn.iter().filter(|sector| held(sector).is_some_and(is_promised)).count() as u64,
        partial,
        in_flight,
        survived,
        holes: Holes::default(),
    }
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn workers(work: Work) -> Job {
    match work {
        Work::Job(job) => job,
        Work::Cached(cached) => cached.0,
        other => panic!("{} is no job of workers", other.name()),
    }
}

/// A job of two seconds that writes a small part of the drive again and again, with whatever makes writes durable.
fn random_job(rng: &mut Rng, sectors: u64) -> Job {
    let mut text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=2\n".to_owned();
    text += pick(rng, &["size=1m\n", "size=1m\n", "size=64k\n"]);
    text += pick(rng, &["rw=randwrite\n", "rw=randwrite\n", "rw=randrw\n", "rw=write\n"]);
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-32k\n", "bs=64k\n"]);
    text += pick(rng, &["", "fsync=1\n", "fsync=16\n", "sync=1\n"]);
    text += pick(rng, &["", "thinktime=3000\n", "thinktime=200000\nthinktime_blocks=20\n"]);
    text += &format!("iodepth={}\n", pick(rng, &[1, 1, 4, 32]));
    workers(jobs::load("j.fio", sectors, &Inputs::today(&|_| Ok(text.clone())), &[]).unwrap().job)
}

/// Some drives lie, and some keep their buffer through a cut.
fn random_stack(rng: &mut Rng) -> Stack {
    let arrayed = rng.percent(50);
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
        drive.faults.early_flush = rng.percent(15);
        drive.faults.ignores_fua = drive.link.fua && rng.percent(15);
        drive.faults.caches_when_off = rng.percent(10);
        drive.protected = rng.percent(10);
        drive.cache.flash_sectors = if rng.percent(5) { 512 } else { 0 };
    }
    let accelerator = layered.layers.iter().find_map(|layer| match layer {
        testing::Layer::Accelerator(spec) => Some(AcceleratorSpec { drops_flushes: rng.percent(20), ..*spec }),
        _ => None,
    });
    let parity = |spec: &ArraySpec| spec.shares.iter().any(|share| matches!(share.level, Level::Raid5 | Level::Raid6));
    if array.as_ref().is_some_and(|spec| spec.lost != 0 && parity(spec)) {
        // What a buffer holds of a row under way is not known without a cut.
        (drive.protected, drive.cache.flash_sectors) = (false, 0);
    }
    if accelerator.is_some() {
        // What outlives a cut below it is not known without a cut.
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

/// What is not told of a drive that saves its buffer: what it had of writes that it had not acknowledged.
fn told(cut: Cut, terms: Terms) -> Cut {
    if terms.saves { Cut { partial: 0, in_flight: 0, survived: 0, ..cut } } else { cut }
}

#[derive(Debug, Default)]
struct Seen {
    judged: u32,
    lossy: u32,
    torn: u32,
    destroyed: u32,
    partial: u32,
    survived: u32,
    saved: u32,
    lies_found: u32,
    holes: u32,
    closed: u32,
    /// Rows that lost a drive, and those of them in which promised data are gone; rebuilds that were over.
    hidden: u32,
    given_up: u32,
    whole: u32,
}

impl Seen {
    fn count(&mut self, cut: &Cut, terms: Terms) {
        self.judged += 1;
        self.lossy += u32::from(cut.lost[0].writes > 0);
        self.torn += u32::from(cut.torn > 0);
        self.destroyed += u32::from(cut.torn_promised > 0);
        self.partial += u32::from(cut.partial > 0);
        self.survived += u32::from(cut.survived > 0);
        self.saved += u32::from(terms.saves);
        self.lies_found += u32::from(cut.lost[3].writes > 0);
    }
}

/// Lost and new drives, and a cache that is switched, at any time of a job of two seconds; nothing where such a run is
/// not judged.
fn random_changes(rng: &mut Rng, stack: Stack) -> Stack {
    let mut changes = Vec::new();
    let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
    let change = |ms, key: &str, value: String| Change { at: at(ms), key: key.to_owned(), value };
    if let Some(spec) = stack.array().filter(|spec| spec.lost == 0) {
        let member = rng.below(u64::from(spec.members));
        let lost = rng.below(1_000);
        changes.push(change(lost, "array.lose", member.to_string()));
        if rng.percent(60) {
            changes.push(change(lost + rng.below(300), "array.replace", member.to_string()));
        }
    }
    let cache = &stack.profile.cache;
    if (1..=cache.segments).contains(&cache.dirty_segments) && rng.percent(40) {
        let words = if cache.write_back { ["off", "on"] } else { ["on", "off"] };
        let (one, two) = (rng.below(1_000), 1_000 + rng.below(500));
        changes.extend(
            [(one, words[0]), (two, words[1])].map(|(ms, word)| change(ms, "drive.cache.write_back", word.into())),
        );
    }
    changes.sort_by_key(|change| change.at);
    let changed = Stack { changes, ..stack.clone() };
    if Plan::of(&changed).is_ok() { changed } else { stack }
}

/// Holds what is judged of a run against cuts of the same device at the same instants.
fn agree(stack: &Stack, job: &Job, case: u64, rng: &mut Rng, seen: &mut Seen) {
    let (terms, faults) = (Terms::of(stack), stack.profile.faults);
    let work = Work::from(job.clone());
    let Ok(run) = sim::run(stack, work.source(Seed(case)), u64::MAX, Seed(case), &mut |_| ()) else { return };
    // Some of them after the end, while an idle drive writes out, or a new one is filled.
    let filled = stack.changes.iter().any(|change| change.key == "array.replace");
    let last = run.end.nanos() + if filled { 1_000_000_000 } else { 100_000_000 };
    let instants: Vec<Instant> = (0..12).map(|_| Instant::from_nanos(rng.below(last))).collect();
    let report = judge(stack, &work, case, &When::At(instants), &|_, _| ()).unwrap();
    for (index, judged) in report.each.iter().enumerate() {
        let log = cut_really(stack, job, case, judged.at);
        let found = Found::of(stack, &log);
        let counted = count(&log, judged.at, &found);
        // Above a RAID 6 two parities can disagree; the checker looks at the first.
        let rows = found.volumes.first().is_some_and(|volume| volume.level == Level::Raid5) && found.lost == 0;
        if rows && index < 6 && !terms.saves {
            assert_eq!(judged.holes.sectors, found.holes(), "case {case}, at {:?}", judged.at);
            seen.holes += u32::from(judged.holes.rows > 0);
            seen.closed += u32::from(judged.holes.rows == 0);
        }
        let judged = &Cut { holes: Holes::default(), ..*judged };
        let context =
            || format!("case {case}, {terms:?}, {faults:?}: {job:?}\n{:?}\n{:?}", stack.layers, stack.changes);
        assert_eq!(told(*judged, terms), told(counted, terms), "{}", context());
        let hidden = found.lost != 0 && found.volumes.iter().any(|volume| volume.parities() > 0);
        let honest = faults == Faults::default() && !stack.accelerators().any(|it| it.drops_flushes);
        assert!(judged.lost[3].writes == 0 || !honest || hidden, "an honest stack: {}", context());
        seen.count(judged, terms);
        seen.hidden += u32::from(hidden);
        seen.given_up += u32::from(hidden && honest && judged.lost[3].writes > 0);
        seen.whole += u32::from(log.landings.iter().any(|landing| landing.kind == LandingKind::Whole));
    }
}

#[test]
fn what_is_answered_from_one_run_is_what_real_cuts_leave() {
    let mut seen = Seen::default();
    for case in 0..300u64 {
        let mut rng = Seed(case).stream("case");
        let mut stack = random_stack(&mut rng);
        if rng.percent(30) {
            stack = random_changes(&mut rng, stack);
        }
        let mut job = random_job(&mut rng, stack.sectors());
        if let Pattern::Fio(fio) = &mut job.workers[0].pattern
            && stack.accelerators().next().is_some()
        {
            // Memory takes a hundred times what a drive does, and the judge keeps all that is at risk.
            fio.requests = Some(2000);
        }
        agree(&stack, &job, case, &mut rng, &mut seen);
    }
    println!("{seen:?}");
    let Seen { judged, lossy, torn, destroyed, partial, survived, saved, lies_found, holes, closed, .. } = seen;
    assert!(judged > 1500 && lossy > 200 && torn > 20 && destroyed > 5, "too little seen");
    assert!(holes > 5 && closed > 5, "too little seen");
    assert!(partial > 50 && survived > 20 && saved > 50 && lies_found > 20, "too little seen");
    assert!(seen.hidden > 50 && seen.given_up > 2, "too little seen");
}

/// An array of any drive whose cache is on, small enough to be rebuilt soon, below a driver that merges.
fn merging(rng: &mut Rng, level: Level, lost: u64) -> Stack {
    let mut drive = testing::random_profile(rng);
    (drive.zones, drive.holes, drive.remaps, drive.weak) = (vec![(20, 64), (20, 48)], vec![], vec![], vec![]);
    drive.cache.segments = drive.cache.segments.max(4);
    (drive.cache.dirty_segments, drive.cache.write_back) = (drive.cache.segments / 2, true);
    drive.firmware.recovery_limit = None;
    let spec = ArraySpec {
        members: level.least_members() + u32::from(level != Level::Raid10 && rng.percent(50)),
        shares: vec![Share { level, permille: 1000 }],
        chunk: pick(rng, &[8, 16, 64]),
        depth: 32,
        queue: Discipline::plain(Policy::Fcfs),
        balance: Balance::Nearest,
        parity: pick(rng, &[ParityWrite::Fewest, ParityWrite::Modify, ParityWrite::Reconstruct]),
        rebuild_rate: 100_000_000,
        rebuild_run: 128,
        lost,
    };
    let driver = DriverSpec { merge: true, ..DriverSpec::plain(64, 8, Discipline::plain(Policy::CLook), 256) };
    let array = testing::Layer::Array(spec);
    Stack::bare(drive.profile()).under(array).under(testing::Layer::Driver(driver))
}

/// Small writes side by side, which a driver merges, over a few rows; some followed by a flush.
fn small_writes(rng: &mut Rng, sectors: u64, lasting: bool) -> Job {
    let mut text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\nnumber_ios=600\niodepth=16\n".to_owned();
    text += pick(rng, &["size=256k\n", "size=64k\n", "size=1m\n"]);
    text += pick(rng, &["rw=randwrite\n", "rw=write\n", "rw=randwrite\npercentage_random=50\n"]);
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-16k\n"]);
    text += if lasting {
        "thinktime=4000\n"
    } else {
        pick(rng, &["", "fsync=16\n", "thinktime=20000\nthinktime_blocks=20\n"])
    };
    workers(jobs::load("j.fio", sectors, &Inputs::today(&|_| Ok(text.clone())), &[]).unwrap().job)
}

/// What is told of a layer above an array, or of an array with lost drives, in each arrangement by itself.
#[test]
fn what_stands_above_arrays_and_what_arrays_have_lost_is_judged_as_real_cuts_are() {
    let memory = AcceleratorSpec {
        size: 256 << 10,
        hit: Span::from_micros(5),
        write_back: true,
        drops_flushes: false,
        dirty_share: 500,
        dirty_age: Span::from_millis(200),
        idle: Span::from_millis(10),
        read_ahead: 0,
    };
    let change = |at: u64, key: &str, value: &str| Change {
        at: Instant::ZERO + Span::from_millis(at),
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let lose = [change(100, "array.lose", "0")];
    let replace = [change(50, "array.lose", "0"), change(60, "array.replace", "0")];
    let switch = [change(60, "drive.cache.write_back", "off"), change(150, "drive.cache.write_back", "on")];
    type Arranged<'a> = (&'a str, Level, u64, bool, &'a [Change]);
    let arranged: &[Arranged<'_>] = &[
        ("merging above RAID 5", Level::Raid5, 0, false, &[]),
        ("memory above RAID 5", Level::Raid5, 0, true, &[]),
        ("memory above RAID 1", Level::Raid1, 0, true, &[]),
        ("RAID 5 that lost a drive", Level::Raid5, 1, false, &[]),
        ("RAID 6 that lost a drive", Level::Raid6, 2, false, &[]),
        ("RAID 6 that lost two", Level::Raid6, 3, false, &[]),
        ("RAID 10 that lost a drive", Level::Raid10, 4, false, &[]),
        ("memory above a RAID 5 that lost a drive", Level::Raid5, 2, true, &[]),
        ("RAID 5 that loses one", Level::Raid5, 0, false, &lose),
        ("RAID 1 that loses one", Level::Raid1, 0, false, &lose),
        ("RAID 10 with a new drive", Level::Raid10, 0, false, &replace),
        ("RAID 5 with a new drive", Level::Raid5, 0, false, &replace),
        ("RAID 1 with a new drive below memory", Level::Raid1, 0, true, &replace),
        ("RAID 5 whose cache is switched", Level::Raid5, 0, false, &switch),
    ];
    for (name, level, lost, cached, changes) in arranged {
        let mut seen = Seen::default();
        let has = |key: &str| changes.iter().any(|change| change.key == key);
        let (loses, replaces) = (*lost != 0 || has("array.lose"), has("array.replace"));
        for case in 0..10 {
            let mut rng = Seed(case).stream(name);
            let mut stack = merging(&mut rng, *level, *lost);
            if *cached {
                stack = stack.under(testing::Layer::Accelerator(memory));
            }
            stack.changes = changes.to_vec();
            let job = small_writes(&mut rng, stack.sectors(), replaces);
            agree(&stack, &job, case, &mut rng, &mut seen);
        }
        println!("{name}: {seen:?}");
        assert!(seen.judged == 120 && seen.lossy > 5, "{name}: too little seen");
        let parity = matches!(level, Level::Raid5 | Level::Raid6);
        assert!(!(parity && loses) || seen.hidden > 5, "{name}: too little seen");
        assert!(!replaces || seen.whole > 5, "{name}: too little seen");
    }
}

/// What a driver makes of switching off, held against cuts at the same instants of the same runs.
#[test]
fn a_power_off_is_a_cut_when_the_driver_makes_it_one() {
    let mut rng = Seed(3).stream("pause");
    let mut drive = testing::random_profile(&mut rng);
    (drive.cache.segments, drive.cache.segment_sectors, drive.cache.dirty_segments) = (8, 64, 8);
    (drive.cache.write_back, drive.cache.destage_idle) = (true, Span::from_millis(5));
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=200\n";
    let job = jobs::load("j.fio", drive.profile().geometry.sectors(), &Inputs::today(&|_| Ok(text.to_owned())), &[])
        .unwrap()
        .job;
    let of = |power_off, when: &When| {
        let driver = DriverSpec { power_off, ..DriverSpec::default() };
        let stack = Stack::bare(drive.profile()).under(testing::Layer::Driver(driver));
        let report = judge(&stack, &job, 1, when, &|_, _| ()).unwrap();
        let lost = report.each.iter().map(|cut| (cut.at, cut.lost[0], cut.torn, cut.partial)).collect::<Vec<_>>();
        (lost, report.promise_kept)
    };
    let after = |ms| of(PowerOff::Orderly, &When::After { cuts: 20, pause: Span::from_millis(ms) }).0;
    let (at_once, kept) = of(PowerOff::AtOnce, &When::Off(20));
    assert_eq!((at_once, kept), (after(0), false), "switching off in order promises all");
    // The drive is cut while it writes.
    let (paused, _) = of(PowerOff::Pause(Span::from_millis(20)), &When::Off(20));
    let lost = |cuts: &[(Instant, Lost, u64, u64)]| cuts.iter().map(|cut| cut.1.writes).sum::<u64>();
    assert_eq!(paused, after(20));
    assert!(lost(&paused) > 0 && lost(&paused) < lost(&after(0)), "{paused:?}");
    let (orderly, kept) = of(PowerOff::Orderly, &When::Off(20));
    assert_eq!((lost(&orderly), kept), (0, true));
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let mut rng = Seed(3).stream("array");
    let stack = merging(&mut rng, Level::Raid5, 0);
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=20\n";
    let job = jobs::load("j.fio", stack.sectors(), &Inputs::today(&|_| Ok(text.to_owned())), &[]).unwrap().job;
    let why = |stack: &Stack| judge(stack, &job, 1, &When::Random(3), &|_, _| ()).err().map(|error| error.to_string());
    assert_eq!(why(&stack), None);
    let change = |key: &str, value: &str| Change { at: Instant::ZERO, key: key.to_owned(), value: value.to_owned() };
    let lose = |members: &[&str]| members.iter().map(|member| change("array.lose", member)).collect::<Vec<_>>();
    assert_eq!(why(&Stack { changes: lose(&["0"]), ..stack.clone() }), None);
    let dead = why(&Stack { changes: lose(&["0", "1"]), ..stack.clone() });
    assert!(dead.unwrap().contains("a volume loses too many drives"));
    let mut saving = Stack { changes: lose(&["0"]), ..stack.clone() };
    saving.profile.protected = true;
    assert!(why(&saving).unwrap().contains("a buffer outlives a cut"));
    let mut lying = Stack { changes: [lose(&["0"]), vec![change("array.replace", "0")]].concat(), ..stack };
    assert_eq!(why(&lying), None);
    lying.profile.faults.early_flush = true;
    assert!(why(&lying).unwrap().contains("drives lie"));
}

#[test]
fn a_pause_after_the_job_lets_an_idle_drive_write_out() {
    let mut rng = Seed(3).stream("pause");
    let mut drive = testing::random_profile(&mut rng);
    drive.cache.segments = 8;
    drive.cache.segment_sectors = 64;
    drive.cache.dirty_segments = 8;
    drive.cache.write_back = true;
    drive.cache.destage_idle = Span::from_millis(50);
    let stack = Stack::bare(drive.profile());
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=200\n";
    let job = jobs::load("j.fio", stack.profile.geometry.sectors(), &Inputs::today(&|_| Ok(text.to_owned())), &[])
        .unwrap()
        .job;
    let after = |ms| {
        let when = When::After { cuts: 5, pause: Span::from_millis(ms) };
        judge(&stack, &job, 1, &when, &|_, _| ()).unwrap()
    };
    let (at_once, later) = (after(0), after(2_000));
    assert_eq!((at_once.cuts, at_once.acknowledged_lost.cuts_with_loss), (5, 5));
    assert_eq!((later.cuts, later.acknowledged_lost.cuts_with_loss), (5, 0));
    assert_eq!(later.writes, 1000);
}
