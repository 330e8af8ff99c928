//! Cuts answered from one run, held against the real thing: the same run, cut at the same instant, judged by counting
//! sectors from what a client saw and what the medium received.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_lab::cut::judge::{Cut, Lost, Terms};
use seekwise_lab::cut::stripes::Holes;
use seekwise_lab::cut::{When, judge};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_model::block::{Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, SECTOR, Status};
use seekwise_model::drive::profile::Faults;
use seekwise_model::engine::Engine;
use seekwise_model::host::accelerator::AcceleratorSpec;
use seekwise_model::host::array::layout::{Level, Volume};
use seekwise_model::host::driver::{DriverSpec, PowerOff};
use seekwise_model::record::Record;
use seekwise_model::rng::{Rng, Seed};
use seekwise_model::stack::{Change, Stack};
use seekwise_model::testing::{self, Image, Members, Sight};
use seekwise_model::time::{Instant, Span};
use seekwise_model::workload::{Job, Pattern, Workload};
use seekwise_targets::place::source;
use seekwise_targets::sim::{self, Entries, Watched, Witness};

/// One write or flush as its client saw it. Numbers count the client's doings.
#[derive(Clone, Copy, Debug)]
struct Life {
    request: Request,
    begun: usize,
    /// When it ended, and its number.
    ended: Option<(Instant, usize)>,
    failed: bool,
}

/// Everything, kept.
#[derive(Default)]
struct Log {
    lives: BTreeMap<u64, Life>,
    doings: usize,
    landings: Vec<Landing>,
    /// What an array with parity took, under its numbers; landings have those.
    entered: BTreeMap<u64, Request>,
    /// The stamp of each of those.
    stamps: BTreeMap<u64, u64>,
}

impl Witness for Log {
    fn submitted(&mut self, _: Instant, request: &Request) {
        self.doings += 1;
        self.lives.insert(request.stamp, Life { request: *request, begun: self.doings, ended: None, failed: false });
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
    fn entered(&mut self, number: u64, request: &Request) {
        self.entered.insert(number, Request { stamp: number, ..*request });
        self.stamps.insert(number, request.stamp);
    }
    fn landed(&mut self, landing: &Landing) {
        self.landings.push(*landing);
    }
    fn lingers(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

/// Runs until `at` and cuts the power there.
fn cut_really(stack: &Stack, job: &Job, seed: u64, at: Instant) -> Log {
    let mut log = Log::default();
    let entries = Entries::default();
    let device = Watched::numbered(sim::build_numbered(stack, Seed(seed), &entries), entries.clone(), &mut log);
    let job = Workload::new(job, &device.limits(0), Seed(seed)).unwrap();
    let mut engine = Engine::new(job, device);
    engine.run(at, &mut |_: &Record| ()).unwrap();
    let device = engine.device_mut();
    device.handle_timeout(at);
    device.control(at, &Control::PowerCut).unwrap();
    while device.poll_completion().is_some() {}
    drop(engine);
    log
}

/// Landings as a program sees them: in its blocks, of each the first copy that is there.
fn blocks(log: &Log, sight: &Sight) -> Vec<Landing> {
    let mut seen = Vec::new();
    for landing in &log.landings {
        let landing = &Landing { stamp: log.stamps.get(&landing.stamp).copied().unwrap_or(landing.stamp), ..*landing };
        let first = |lba| (0..sight.copies()).find(|&copy| sight.sees(copy, lba));
        sight.through(landing, |part| seen.extend((first(part.lba) == Some(part.member)).then_some(part)));
    }
    seen
}

/// Sectors that would change with the loss of their drive: read directly, and without it.
fn holes(log: &Log, volume: Volume) -> u64 {
    let mut image = Image::new();
    log.landings.iter().for_each(|landing| image.apply(landing));
    let writes: Vec<Request> = log.entered.values().copied().collect();
    let end = writes.iter().map(|write| write.end()).max().unwrap_or(0).next_multiple_of(volume.row());
    let whole = Members { image: &image, volume, lost: 0, writes: &writes };
    let differs = |&lba: &u64| {
        let place = volume.place(lba);
        let without = Members { lost: 1 << volume.member(place.row, place.column, 0), ..whole };
        without.read(lba) != whole.read(lba)
    };
    (0..end.min(volume.capacity())).filter(differs).count() as u64
}

/// Counts sector by sector.
fn count(log: &Log, at: Instant, terms: Terms, sight: &Sight) -> Cut {
    let mut image: BTreeMap<u64, u64> = BTreeMap::new();
    let mut torn = BTreeSet::new();
    for landing in &blocks(log, sight) {
        let sectors = landing.lba..landing.lba + u64::from(landing.sectors);
        match landing.kind {
            LandingKind::Landed => image.extend(sectors.map(|sector| (sector, landing.stamp))),
            LandingKind::Torn => torn.extend(sectors),
            LandingKind::Discarded | LandingKind::Dropped => {}
        }
    }
    let flushes =
        log.lives.values().filter(|life| life.request.op == Op::Flush && life.ended.is_some() && !life.failed);
    let flushed = flushes.map(|life| life.begun).max().unwrap_or(0);
    let is_write = |life: &&Life| matches!(life.request.op, Op::Write | Op::WriteZeroes) && !life.failed;
    let is_flushed = |life: &Life| life.ended.is_some_and(|(_, number)| number < flushed);
    let is_forced = |life: &Life| life.request.flags.has(Flags::FUA);
    let is_promised = |life: &Life| is_flushed(life) || is_forced(life) || !terms.volatile;
    let older = |life: &Life, sector: u64| match image.get(&sector).map(|held| (held, &log.lives[held])) {
        Some((&stamp, held)) => stamp < life.request.stamp && held.ended.is_some_and(|(_, number)| number < life.begun),
        None => true,
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
    let held = |sector: &&u64| {
        image.get(*sector).map(|stamp| &log.lives[stamp]).filter(|life| life.ended.is_some() && !life.failed)
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

/// A job of two seconds that writes a small part of the drive again and again, with whatever makes writes durable.
fn random_job(rng: &mut Rng, sectors: u64) -> Job {
    let mut text = "[j]\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=2\n".to_owned();
    text += pick(rng, &["size=1m\n", "size=1m\n", "size=64k\n"]);
    text += pick(rng, &["rw=randwrite\n", "rw=randwrite\n", "rw=randrw\n", "rw=write\n"]);
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-32k\n", "bs=64k\n"]);
    text += pick(rng, &["", "fsync=1\n", "fsync=16\n", "sync=1\n"]);
    text += pick(rng, &["", "thinktime=3000\n", "thinktime=200000\nthinktime_blocks=20\n"]);
    text += &format!("iodepth={}\n", pick(rng, &[1, 1, 4, 32]));
    jobs::load("j.fio", sectors, &Inputs::today(&|_| Ok(text.clone())), &[]).unwrap().job
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
    let mut array = array;
    if let Some(spec) = &mut array {
        let parity = spec.shares.iter().any(|share| matches!(share.level, Level::Raid5 | Level::Raid6));
        spec.lost = if parity { 0 } else { spec.lost };
    }
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
    // Above an array it is refused.
    let accelerator = layered.layers.iter().filter(|_| array.is_none()).find_map(|layer| match layer {
        testing::Layer::Accelerator(spec) => Some(AcceleratorSpec { drops_flushes: rng.percent(20), ..*spec }),
        _ => None,
    });
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

#[test]
fn what_is_answered_from_one_run_is_what_real_cuts_leave() {
    let mut seen = Seen::default();
    for case in 0..300u64 {
        let mut rng = Seed(case).stream("case");
        let stack = random_stack(&mut rng);
        let (terms, faults) = (Terms::of(&stack), stack.profile.faults);
        let volumes = stack.volumes();
        let sight = Sight::of(&volumes, stack.array().map_or(0, |spec| spec.lost));
        // Above a RAID 6 two parities can disagree; the checker looks at the first.
        let rows = volumes.first().filter(|volume| volume.level == Level::Raid5);
        let mut job = random_job(&mut rng, stack.sectors());
        if let Pattern::Fio(fio) = &mut job.workers[0].pattern
            && stack.accelerators().next().is_some()
        {
            // Memory takes a hundred times what a drive does, and the judge keeps all that is at risk.
            fio.requests = Some(2000);
        }
        let Ok(run) = sim::run(&stack, source(&job, Seed(case)), u64::MAX, Seed(case), &mut |_| ()) else { continue };
        // Some of them after the end, while an idle drive writes out.
        let last = run.end.nanos() + 100_000_000;
        let instants: Vec<Instant> = (0..12).map(|_| Instant::from_nanos(rng.below(last))).collect();
        let report = judge(&stack, &job, case, &When::At(instants), &|_, _| ()).unwrap();
        for (index, found) in report.each.iter().enumerate() {
            let log = cut_really(&stack, &job, case, found.at);
            let counted = count(&log, found.at, terms, &sight);
            if let Some(volume) = rows.filter(|_| index < 6 && !terms.saves) {
                assert_eq!(found.holes.sectors, holes(&log, *volume), "case {case}, at {:?}: {volume:?}", found.at);
                seen.holes += u32::from(found.holes.rows > 0);
                seen.closed += u32::from(found.holes.rows == 0);
            }
            let found = &Cut { holes: Holes::default(), ..*found };
            assert_eq!(told(*found, terms), told(counted, terms), "case {case}, {terms:?}, {faults:?}: {job:?}");
            let honest = faults == Faults::default() && !stack.accelerators().any(|it| it.drops_flushes);
            assert!(found.lost[3].writes == 0 || !honest, "case {case}: an honest stack");
            seen.count(found, terms);
        }
    }
    println!("{seen:?}");
    let Seen { judged, lossy, torn, destroyed, partial, survived, saved, lies_found, holes, closed } = seen;
    assert!(judged > 1500 && lossy > 200 && torn > 20 && destroyed > 5, "too little seen");
    assert!(holes > 5 && closed > 5, "too little seen");
    assert!(partial > 50 && survived > 20 && saved > 50 && lies_found > 20, "too little seen");
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
    let stack = loop {
        let layered = testing::random_array(&mut rng);
        let spec = layered.layers.iter().find_map(|layer| match layer {
            testing::Layer::Array(spec) => Some(spec.clone()),
            _ => None,
        });
        if let Some(spec) = spec.filter(|spec| spec.shares[0].level == Level::Raid5 && spec.lost != 0) {
            break Stack::bare(layered.drive.profile()).under(testing::Layer::Array(spec));
        }
    };
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=20\n";
    let job = jobs::load("j.fio", stack.sectors(), &Inputs::today(&|_| Ok(text.to_owned())), &[]).unwrap().job;
    let why = |stack: &Stack| judge(stack, &job, 1, &When::Random(3), &|_, _| ()).err().map(|error| error.to_string());
    assert!(why(&stack).unwrap().contains("rows with parity that have lost a member"));
    let mut whole = stack.clone();
    if let testing::Layer::Array(spec) = &mut whole.layers[0] {
        spec.lost = 0;
    }
    assert_eq!(why(&whole), None);
    let merging = whole.clone().under(testing::Layer::Driver(DriverSpec { merge: true, ..DriverSpec::default() }));
    assert!(why(&merging).unwrap().contains("`driver.merge`"));
    let accelerator = AcceleratorSpec {
        size: 1 << 20,
        hit: Span::from_micros(5),
        write_back: true,
        drops_flushes: false,
        dirty_share: 500,
        dirty_age: Span::from_secs(1),
        idle: Span::from_millis(10),
        read_ahead: 0,
    };
    let cached = whole.clone().under(testing::Layer::Accelerator(accelerator));
    assert!(why(&cached).unwrap().contains("`accelerator`"));
    let change = Change { at: Instant::ZERO, key: "array.lose".to_owned(), value: "0".to_owned() };
    assert!(why(&Stack { changes: vec![change], ..whole }).unwrap().contains("while `array.lose` changes"));
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
