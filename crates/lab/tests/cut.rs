//! Cuts answered from one run, held against the real thing: the same run, cut at the same instant, judged by counting
//! sectors from what a client saw and what the medium received.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_lab::cut::judge::{Cut, Lost, Terms};
use seekwise_lab::cut::{When, judge};
use seekwise_lab::jobs;
use seekwise_model::block::{Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, SECTOR, Status};
use seekwise_model::drive::profile::Faults;
use seekwise_model::engine::Engine;
use seekwise_model::host::accelerator::AcceleratorSpec;
use seekwise_model::record::Record;
use seekwise_model::rng::{Rng, Seed};
use seekwise_model::testing;
use seekwise_model::time::{Instant, Span};
use seekwise_model::workload::{Job, Workload};
use seekwise_targets::sim::{self, Stack, Watched, Witness};

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
    let device = Watched::new(stack.build(Seed(seed)), &mut log);
    let workload = Workload::new(job, &device.limits(0), Seed(seed)).unwrap();
    let mut engine = Engine::new(workload, device);
    engine.run(at, &mut |_: &Record| ()).unwrap();
    let device = engine.device_mut();
    device.handle_timeout(at);
    device.control(at, &Control::PowerCut).unwrap();
    while device.poll_completion().is_some() {}
    drop(engine);
    log
}

/// Counts sector by sector.
fn count(log: &Log, at: Instant, terms: Terms) -> Cut {
    let mut image: BTreeMap<u64, u64> = BTreeMap::new();
    let mut torn = BTreeSet::new();
    for landing in &log.landings {
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
    jobs::load("j.fio", sectors, &|_| Ok(text.clone()), &[]).unwrap().job
}

/// Some drives lie, and some keep their buffer through a cut.
fn random_stack(rng: &mut Rng) -> Stack {
    let layered = testing::random_stack(rng);
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
    if accelerator.is_some() {
        // What outlives a cut below it is not known without a cut.
        (drive.protected, drive.cache.flash_sectors) = (false, 0);
    }
    Stack { accelerator, driver, controller, ..Stack::bare(drive.profile()) }
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
    for case in 0..150u64 {
        let mut rng = Seed(case).stream("case");
        let stack = random_stack(&mut rng);
        let (terms, faults) = (Terms::of(&stack), stack.profile.faults);
        let job = random_job(&mut rng, stack.profile.geometry.sectors());
        let Ok(run) = sim::run(&stack, &job, Seed(case), &mut |_| ()) else { continue };
        // Some of them after the end, while an idle drive writes out.
        let last = run.end.nanos() + 100_000_000;
        let instants: Vec<Instant> = (0..12).map(|_| Instant::from_nanos(rng.below(last))).collect();
        let report = judge(&stack, &job, case, &When::At(instants), &|_, _| ()).unwrap();
        for found in &report.each {
            let counted = count(&cut_really(&stack, &job, case, found.at), found.at, terms);
            assert_eq!(told(*found, terms), told(counted, terms), "case {case}, {terms:?}, {faults:?}: {job:?}");
            let honest = faults == Faults::default() && !stack.accelerator.is_some_and(|it| it.drops_flushes);
            assert!(found.lost[3].writes == 0 || !honest, "case {case}: an honest stack");
            seen.count(found, terms);
        }
    }
    println!("{seen:?}");
    let Seen { judged, lossy, torn, destroyed, partial, survived, saved, lies_found } = seen;
    assert!(judged > 1500 && lossy > 200 && torn > 20 && destroyed > 5, "too little seen");
    assert!(partial > 50 && survived > 20 && saved > 50 && lies_found > 20, "too little seen");
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
    let job = jobs::load("j.fio", stack.profile.geometry.sectors(), &|_| Ok(text.to_owned()), &[]).unwrap().job;
    let after = |ms| {
        let when = When::After { cuts: 5, pause: Span::from_millis(ms) };
        judge(&stack, &job, 1, &when, &|_, _| ()).unwrap()
    };
    let (at_once, later) = (after(0), after(2_000));
    assert_eq!((at_once.cuts, at_once.acknowledged_lost.cuts_with_loss), (5, 5));
    assert_eq!((later.cuts, later.acknowledged_lost.cuts_with_loss), (5, 0));
    assert_eq!(later.writes, 1000);
}
