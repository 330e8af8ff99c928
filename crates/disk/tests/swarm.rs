//! A thousand random stacks (two hundred by default, see `drawn`) under random closed loops: one seed, its options, one run, and checks of what can be seen
//! while it goes. On failure the seed and the options are printed; a seed that failed once stays as a named case.
//!
//! The anatomy check does not know how long a part should take, only that the parts leave no gap; the laws do.

use std::ops::Range;

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::block::{
    Accounting, Completion, Control, Device, Flags, LandingKind, Op, Request, Source, SourcePoll, Status,
};
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::engine::Engine;
use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::host::driver::SchedulerSpec;
use seekwise_disk::queue::Discipline;
use seekwise_disk::record::{Part, Record};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{Layer, SmallStack, check_conformance, random_array, random_discipline, random_stack};
use seekwise_disk::time::{Instant, Span};

/// What a closed loop issues.
#[derive(Clone, Copy, Debug)]
struct Options {
    requests: u32,
    depth: u32,
    read_percent: u32,
    sequential_percent: u32,
    flush_percent: u32,
    fua_percent: u32,
    max_sectors: u32,
    think: Span,
}

impl Options {
    fn random(rng: &mut Rng) -> Options {
        let mut pick = |choices: &[u32]| choices[rng.below(choices.len() as u64) as usize];
        Options {
            requests: 200,
            depth: pick(&[1, 2, 8, 64]),
            read_percent: pick(&[0, 50, 70, 100]),
            sequential_percent: pick(&[0, 50, 100]),
            flush_percent: pick(&[0, 0, 5, 30]),
            fua_percent: pick(&[0, 0, 20]),
            max_sectors: pick(&[1, 8, 64, 256]),
            think: Span::from_micros(u64::from(pick(&[0, 0, 100, 30_000]))),
        }
    }
}

struct Loop {
    options: Options,
    sectors: u64,
    fua: bool,
    rng: Rng,
    issued: u32,
    free: Vec<u32>,
    next: u64,
    not_before: Instant,
    done: u32,
}

impl Source for Loop {
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.issued == self.options.requests {
            return SourcePoll::Done;
        }
        if now < self.not_before {
            return SourcePoll::At(self.not_before);
        }
        let Some(tag) = self.free.pop() else {
            return SourcePoll::Completion;
        };
        self.issued += 1;
        let Options { read_percent, flush_percent, fua_percent, max_sectors, .. } = self.options;
        if self.rng.draw_chance(flush_percent) {
            return SourcePoll::Request(blank(tag, Op::Flush));
        }
        let op = if self.rng.draw_chance(read_percent) { Op::Read } else { Op::Write };
        let sectors = 1 + self.rng.below(u64::from(max_sectors));
        let onward = self.rng.draw_chance(self.options.sequential_percent) && self.next + sectors <= self.sectors;
        let lba = if onward { self.next } else { self.rng.below(self.sectors - sectors) };
        self.next = lba + sectors;
        let forced = self.fua && op == Op::Write && self.rng.draw_chance(fua_percent);
        let flags = if forced { Flags::FUA } else { Flags::NONE };
        SourcePoll::Request(Request { lba, sectors: sectors as u32, flags, ..blank(tag, op) })
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.free.push(completion.tag);
        self.done += u32::from(completion.status == Status::Done);
        self.not_before = now + self.options.think;
        Accounting::In { worker: 0, intended: completion.submitted, served: None }
    }
}

fn blank(tag: u32, op: Op) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 }
}

/// The parts add up, nothing ends before it begins, and a request that moved no data has no transfer. A read of a weak
/// place may fail; if no driver sends it again, an ATA queue fails with it.
fn check_anatomy(record: &Record, last_finished: Instant, stack: &SmallStack) {
    let Completion { submitted, finished, parts, status, .. } = record.completion;
    let weak = !stack.drive.weak.is_empty() && stack.drive.firmware.recovery_limit.is_some();
    let driven = stack.layers.iter().any(|layer| matches!(layer, Layer::Driver(_)));
    let fits = match status {
        Status::Done => true,
        Status::MediumError => weak && record.request.op == Op::Read,
        Status::Aborted => weak && stack.drive.link.queuing.is_ata() && !driven,
        _ => false,
    };
    assert!(fits, "{record:?}");
    assert_eq!(parts.total(), finished.since(submitted), "{record:?}");
    assert_eq!(parts.total(), record.response_time(), "{record:?}");
    assert!(finished >= last_finished, "answers out of order: {record:?}");
    if record.request.op == Op::Flush {
        assert_eq!(parts.get(Part::Transfer), Span::ZERO, "{record:?}");
    }
}

fn run(seed: u64, draw: fn(&mut Rng) -> SmallStack) {
    let mut rng = Seed(seed).stream("swarm");
    let stack = draw(&mut rng);
    let options = Options::random(&mut rng);
    // Printed by the test harness when the run fails.
    println!("seed {seed}: {options:?}\n{stack:?}");
    let mut device = stack.build();
    device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    let limits = device.limits(0);
    let (free, next) = ((0..options.depth).collect(), 0);
    let (sectors, fua) = (limits.sectors, limits.fua);
    let not_before = Instant::ZERO;
    let source = Loop { options, sectors, fua, rng, issued: 0, free, next, not_before, done: 0 };
    let mut engine = Engine::new(source, device);
    let mut last = Instant::ZERO;
    let mut written = 0u64;
    let sight = stack.block_copies();
    let patience = |layer: &Layer| if let Layer::Driver(driver) = layer { driver.timeout } else { None };
    let patience = stack.layers.iter().filter_map(patience).min();
    let mut sent_again = false;
    let mut check = |record: &Record| {
        check_anatomy(record, last, &stack);
        sent_again |= patience.is_some_and(|patience| record.response_time() >= patience);
        last = record.completion.finished;
        if record.request.op == Op::Write {
            let copies = (0..sight.count())
                .flat_map(|copy| (record.request.lba..record.request.end()).map(move |lba| (copy, lba)));
            written += copies.filter(|&(copy, lba)| sight.has_block(copy, lba)).count() as u64;
        }
    };
    engine.run(Instant::FAR, &mut check).expect("nothing stuck");
    let done = u64::from(engine.source().done);
    assert_eq!(done + engine.failures(), u64::from(options.requests), "all complete");
    // A write that is sent again is reported again. The drive also aborts what waits when a read of a layer's own
    // fails.
    sent_again |= !stack.drive.weak.is_empty() && stack.drive.link.queuing.is_ata();
    check_cores(engine.device(), engine.now());
    if engine.failures() == 0 {
        check_landings(&mut engine, &stack, written, !sent_again);
    }
}

/// No core works for longer than there is time, in any stretch of the run.
fn check_cores(device: &dyn Device, end: Instant) {
    if let Some(cores) = device.core_load(end) {
        assert_eq!((cores.find_overload(), cores.counted_until()), (None, end));
        assert_eq!(cores.work_between(Instant::ZERO, end), cores.total_work(), "each work has its time");
    }
}

/// After a last flush every written sector was reported: on the medium, or overwritten in the buffer; once, if no layer
/// sent it again.
fn check_landings(engine: &mut Engine<Loop, Box<dyn Device>>, stack: &SmallStack, written: u64, once: bool) {
    let mut now = engine.now();
    let device = engine.device_mut();
    let mut reported = 0u64;
    device.submit(now, blank(0, Op::Flush)).expect("room: nothing is in flight");
    while device.poll_completion().is_none() {
        now = device.poll_timeout().expect("the flush is in flight");
        device.handle_timeout(now);
    }
    while let Some(landing) = device.poll_landing() {
        assert!(landing.from <= landing.to && landing.to <= now, "{landing:?}");
        let cached = stack.layers.iter().any(|layer| matches!(layer, Layer::Accelerator(_)));
        let at_once = matches!(landing.kind, LandingKind::Landed | LandingKind::Taken);
        assert!(at_once || stack.drive.cache.write_back || cached || !once, "{landing:?}");
        let counts = landing.kind != LandingKind::Taken;
        stack
            .block_copies()
            .for_each_changed(&landing, |_, seen| reported += u64::from(counts) * u64::from(seen.sectors));
    }
    assert!(reported == written || reported > written && !once, "{reported} sectors reported, {written} written");
}

#[test]
fn random_stacks_add_up() {
    for seed in 0..crate::drawn(1000) {
        run(seed, random_stack);
    }
}

/// The elevator of the drive's own queue passes one write over until the driver times out and sends it again.
#[test]
fn seed_11522_what_a_driver_sends_again_is_reported_again() {
    run(11_522, random_stack);
}

/// A read-ahead of the cache in memory meets a weak place, and the drive aborts a write that waits.
#[test]
fn seed_11613_what_a_cache_sends_again_is_reported_again() {
    run(11_613, random_stack);
}

/// The drive chooses some commands before their turn.
pub fn random_planner(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    stack.drive.firmware.ahead = 1 + rng.below(8) as u32;
    stack
}

pub fn bare_planner(rng: &mut Rng) -> SmallStack {
    SmallStack { layers: Vec::new(), ..random_planner(rng) }
}

#[test]
fn drives_that_plan_ahead_add_up() {
    for seed in 0..crate::drawn(500) {
        run(seed, random_planner);
    }
}

#[test]
fn drives_that_plan_ahead_keep_the_contract() {
    for seed in 0..60 {
        contract(seed, random_planner);
    }
}

/// Up to six layers: four, an array and the bus of its members.
#[test]
fn random_arrays_add_up() {
    for seed in 0..crate::drawn(500) {
        run(seed, random_array);
    }
}

/// An array, or a drive that plans ahead, does the same whether it runs to its next completion or goes instant by
/// instant.
#[test]
fn running_others_is_stepping_them() {
    for seed in 0..crate::drawn(300) {
        for draw in [random_array, random_planner, bare_planner] {
            let of = |by_steps| records_of(draw(&mut Seed(seed).stream("array")), seed, by_steps);
            assert_eq!(of(false), of(true), "seed {seed}");
        }
    }
}

/// The records of a run, by `run` or instant by instant; on a bare drive if `bare`.
fn records(seed: u64, bare: bool, by_steps: bool) -> (Vec<String>, Instant) {
    let mut stack = random_stack(&mut Seed(seed).stream("steps"));
    if bare {
        stack.layers.clear();
    }
    records_of(stack, seed, by_steps)
}

pub fn records_of(stack: SmallStack, seed: u64, by_steps: bool) -> (Vec<String>, Instant) {
    let (records, engine) = ran(&stack, seed, by_steps);
    (records, engine.now())
}

fn ran(stack: &SmallStack, seed: u64, by_steps: bool) -> (Vec<String>, Engine<Loop, Box<dyn Device>>) {
    let mut rng = Seed(seed).stream("loop");
    let options = Options::random(&mut rng);
    let device = stack.build();
    let limits = device.limits(0);
    let (free, next, sectors, fua) = ((0..options.depth).collect(), 0, limits.sectors, limits.fua);
    let source = Loop { options, sectors, fua, rng, issued: 0, free, next, not_before: Instant::ZERO, done: 0 };
    let mut engine = Engine::new(source, device);
    let mut records = Vec::new();
    let mut keep = |record: &Record| records.push(format!("{record:?}"));
    if by_steps {
        let requests = u64::from(options.requests);
        engine.step(Instant::ZERO, &mut keep).expect("time passes");
        let left = |engine: &Engine<Loop, _>| u64::from(engine.source().done) + engine.failures() < requests;
        while let Some(next) = engine.poll_timeout().filter(|_| left(&engine)) {
            engine.step(next, &mut keep).expect("time passes");
        }
    } else {
        engine.run(Instant::FAR, &mut keep).expect("nothing stuck");
    }
    (records, engine)
}

/// The stack with another value of one of the settings that [`SettingUse`] knows.
fn with_another(stack: &SmallStack, rng: &mut Rng) -> SmallStack {
    let mut other = stack.clone();
    let Discipline { max_wait, .. } = stack.drive.firmware.queue;
    let (queue, destage) = (&mut other.drive.firmware.queue, &mut other.drive.firmware.destage);
    match rng.below(8) {
        0 => *queue = Discipline { max_wait, ..random_discipline(rng) },
        1 => queue.nearest = rng.below(12) as u32,
        2 => queue.window = rng.below(12) as u32,
        3 => *destage = Discipline { max_wait: destage.max_wait, ..random_discipline(rng) },
        4 => destage.nearest = rng.below(12) as u32,
        _ => other.layers.iter_mut().for_each(|layer| {
            let Layer::Driver(driver) = layer else { return };
            match rng.below(4) {
                0 => driver.depth = 1 + rng.below(64) as u32,
                1 => driver.retries = rng.below(4) as u32,
                2 if driver.timeout.is_some() => driver.timeout = Some(Span::from_millis(10 + rng.below(2000))),
                _ => driver.scheduler = SchedulerSpec::Order(Discipline { max_wait, ..random_discipline(rng) }),
            }
        }),
    }
    other
}

/// How many of the `seeds` give two stacks that would run alike, and whether they all do, if a run asked what `told` makes of what
/// it says.
fn alike(seeds: Range<u64>, told: fn(SettingUse) -> SettingUse) -> (u32, bool) {
    let (mut count, mut all) = (0, true);
    for seed in seeds {
        let rng = &mut Seed(seed).stream("alike");
        let stack = [random_stack, random_array, random_planner][rng.below(3) as usize](rng);
        let other = with_another(&stack, rng);
        let (records, engine) = ran(&stack, seed, false);
        let asked = told(engine.into_parts().1.setting_use(Instant::FAR));
        if other.to_stack() == stack.to_stack() || !stack.to_stack().runs_alike(&other.to_stack(), &asked) {
            continue;
        }
        count += 1;
        // Studies compare stacks only where these are equal.
        assert!(other.to_stack().normalize_all() == stack.to_stack().normalize_all(), "seed {seed}: {asked:?}");
        // And find a run by these.
        let open = stack.to_stack().unused_settings(&asked);
        let beside = [&stack, &other].map(|stack| stack.to_stack().used_settings(&open));
        assert!(beside[0] == beside[1], "seed {seed}: {asked:?}");
        let same = ran(&other, seed, false).0 == records;
        if told(SettingUse::ALL) == SettingUse::ALL {
            assert!(same, "seed {seed}: {asked:?}\n{stack:?}\n{other:?}");
        }
        all &= same;
    }
    (count, all)
}

#[test]
fn what_a_run_did_not_ask_changes_nothing() {
    let (count, _) = alike(0..1500, |asked| asked);
    assert!(count > 200, "only {count} of 1500 pairs would run alike");
    // If nothing had been asked, all would.
    assert!(!alike(0..100, |_| SettingUse::NOTHING).1, "no setting changes anything");
}

/// A drive that runs to its next completion, and serves a lone read in one go, does the same as instant by instant.
#[test]
fn running_is_stepping() {
    for seed in 0..crate::drawn(1000) {
        let bare = seed % 4 > 0;
        let (run, stepped) = (records(seed, bare, false), records(seed, bare, true));
        let differ = run.0.iter().zip(&stepped.0).find(|(a, b)| a != b);
        assert_eq!((differ, run.0.len(), run.1), (None, stepped.0.len(), stepped.1), "seed {seed}");
    }
}

/// Random stacks under the whole contract; a case is named for the seed that found it.
fn contract(seed: u64, draw: fn(&mut Rng) -> SmallStack) {
    let stack = draw(&mut Seed(seed).stream("stack"));
    if let Err(violation) = check_conformance(&|| stack.build(), stack.drive.cut_sector, seed) {
        panic!("seed {seed}: {violation:?}\n{stack:?}");
    }
}

#[test]
fn seed_1_a_sector_finished_after_the_cut_is_dated_to_it() {
    contract(1, random_stack);
}

#[test]
fn seed_1659_a_split_keeps_physical_sectors_whole() {
    for seed in [1659, 4789, 4851, 5822] {
        contract(seed, random_stack);
    }
}

/// The most steps of a run of 200 requests; the busiest of ten thousand stacks with faults took 35,673.
const EVENTS: u32 = 500_000;

/// An array with a cache in memory above it, in half of the cases with memory that fills at once. Members fail at any
/// time, more than the array can spare, and some return.
fn comes_to_an_end(seed: u64) {
    let mut rng = Seed(seed).stream("faults");
    let mut stack = random_array(&mut rng);
    let write_back = AcceleratorSpec {
        size: if rng.draw_chance(50) { 1 << 14 } else { 1 << 24 },
        hit: Span::from_micros(5),
        write_back: true,
        drops_flushes: rng.draw_chance(30),
        dirty_share: 500,
        dirty_age: Span::from_millis(200),
        idle: Span::from_millis(2),
        read_ahead: 0,
    };
    if rng.draw_chance(80) {
        stack.layers.insert(0, Layer::Accelerator(write_back));
    }
    // Reads of a weak place fail within the limit, and an ATA queue fails with them.
    stack.drive.weak = (0..rng.below(4)).map(|at| WeakBlocks { lba: at * 700, sectors: 64, retries: 9 }).collect();
    stack.drive.firmware.recovery_limit = rng.draw_chance(70).then(|| Span::from_millis(40));
    let mut options = Options::random(&mut rng);
    options.read_percent = options.read_percent.min(70);
    // When, whether a drive is replaced and not lost, and which.
    let events: Vec<(Instant, bool, u32)> = (0..8)
        .map(|_| {
            let at = Instant::from_nanos(1 << (10 + rng.below(22)));
            (at, !rng.draw_chance(75), rng.below(4) as u32)
        })
        .collect();
    println!("seed {seed}: {options:?} {events:?}\n{stack:?}");
    let device = stack.build();
    let limits = device.limits(0);
    let (free, next, sectors, fua) = ((0..options.depth).collect(), 0, limits.sectors, limits.fua);
    let source = Loop { options, sectors, fua, rng, issued: 0, free, next, not_before: Instant::ZERO, done: 0 };
    let mut engine = Engine::new(source, device);
    let mut events = events;
    events.sort_unstable();
    engine.step(Instant::ZERO, &mut |_| ()).expect("time passes");
    let mut steps = 0;
    while let Some(now) = engine.poll_timeout() {
        if engine.is_over() {
            break;
        }
        while let Some(&(at, replaces, member)) = events.first().filter(|event| event.0 <= now) {
            engine.step(at.max(engine.now()), &mut |_| ()).expect("time passes");
            // A member that does not exist, or is not lost, changes nothing.
            let setting = if replaces { ArraySetting::Replace(member) } else { ArraySetting::Lose(member) };
            let _ = engine.control(&Control::Set(LayerSetting::Array(setting)));
            events.remove(0);
        }
        let now = engine.poll_timeout().unwrap_or(now).max(engine.now());
        engine.step(now, &mut |_| ()).expect("time passes");
        steps += 1;
        assert!(steps < EVENTS, "seed {seed}: no end");
    }
    assert!(engine.is_over(), "seed {seed}: silent before its end");
    // What is left in memory ends as well.
    let mut now = engine.now();
    let device = engine.device_mut();
    device.control(now, &Control::PowerOff).expect("a power-off is never refused");
    while let Some(next) = device.poll_timeout() {
        (now, steps) = (next, steps + 1);
        device.handle_timeout(now);
        assert!(steps < EVENTS, "seed {seed}: it never switches off");
    }
}

#[test]
fn every_stack_with_faults_comes_to_an_end() {
    for seed in 0..crate::drawn(1000) {
        comes_to_an_end(seed);
    }
}
