//! Random stacks under random closed loops: laws that hold in every run. Each seed gives a stack, the options of a loop and a
//! run. A failure prints the seed and the options; a seed that failed once stays as a named case.
//!
//! The checks of a record do not know how long a part should take, only that the parts leave no gap. Other tests check times.

use std::ops::Range;

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::block::{
    Accounting, Completion, Control, Device, Flags, LandingKind, Limits, Op, Request, Source, SourcePoll, Status,
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

/// The requests of a closed loop.
#[derive(Clone, Copy, Debug)]
struct LoopOptions {
    requests: u32,
    depth: u32,
    read_percent: u32,
    sequential_percent: u32,
    flush_percent: u32,
    fua_percent: u32,
    max_sectors: u32,
    /// The time from a completion to the next request.
    think_time: Span,
}

impl LoopOptions {
    fn random(rng: &mut Rng) -> LoopOptions {
        let mut pick = |choices: &[u32]| choices[rng.below(choices.len() as u64) as usize];
        LoopOptions {
            requests: 200,
            depth: pick(&[1, 2, 8, 64]),
            read_percent: pick(&[0, 50, 70, 100]),
            sequential_percent: pick(&[0, 50, 100]),
            flush_percent: pick(&[0, 0, 5, 30]),
            fua_percent: pick(&[0, 0, 20]),
            max_sectors: pick(&[1, 8, 64, 256]),
            think_time: Span::from_micros(u64::from(pick(&[0, 0, 100, 30_000]))),
        }
    }
}

/// A source that issues a new request for each that completes.
struct RandomLoop {
    options: LoopOptions,
    /// Sectors of the device.
    sectors: u64,
    /// The device supports forced unit access.
    fua: bool,
    rng: Rng,
    /// Requests issued so far.
    issued: u32,
    free_tags: Vec<u32>,
    /// The end of the last request.
    last_end: u64,
    /// The earliest instant of the next request.
    next_issue: Instant,
    /// Requests that completed without an error.
    done: u32,
}

impl RandomLoop {
    fn new(options: LoopOptions, limits: &Limits, rng: Rng) -> RandomLoop {
        let (sectors, fua, free_tags) = (limits.sectors, limits.fua, (0..options.depth).collect());
        let (issued, last_end, next_issue, done) = (0, 0, Instant::ZERO, 0);
        RandomLoop { options, sectors, fua, rng, issued, free_tags, last_end, next_issue, done }
    }
}

impl Source for RandomLoop {
    fn next(&mut self, now: Instant) -> SourcePoll {
        if self.issued == self.options.requests {
            return SourcePoll::Done;
        }
        if now < self.next_issue {
            return SourcePoll::At(self.next_issue);
        }
        let Some(tag) = self.free_tags.pop() else {
            return SourcePoll::Completion;
        };
        self.issued += 1;
        let LoopOptions { read_percent, flush_percent, fua_percent, max_sectors, .. } = self.options;
        if self.rng.draw_chance(flush_percent) {
            return SourcePoll::Request(blank_request(tag, Op::Flush));
        }
        let op = if self.rng.draw_chance(read_percent) { Op::Read } else { Op::Write };
        let sectors = 1 + self.rng.below(u64::from(max_sectors));
        let continues =
            self.rng.draw_chance(self.options.sequential_percent) && self.last_end + sectors <= self.sectors;
        let lba = if continues { self.last_end } else { self.rng.below(self.sectors - sectors) };
        self.last_end = lba + sectors;
        let forced = self.fua && op == Op::Write && self.rng.draw_chance(fua_percent);
        let flags = if forced { Flags::FUA } else { Flags::NONE };
        SourcePoll::Request(Request { lba, sectors: sectors as u32, flags, ..blank_request(tag, op) })
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.free_tags.push(completion.tag);
        self.done += u32::from(completion.status == Status::Done);
        self.next_issue = now + self.options.think_time;
        Accounting::In { worker: 0, intended: completion.submitted, served: None }
    }
}

fn blank_request(tag: u32, op: Op) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 }
}

/// Checks that the parts add up to the response time, that completions come in order, and that a flush has no transfer. A read of
/// weak blocks may fail; an ATA queue then aborts its other commands, unless a driver sends them again.
fn check_record(record: &Record, last_finished: Instant, stack: &SmallStack) {
    let Completion { submitted, finished, parts, status, .. } = record.completion;
    let reads_may_fail = !stack.drive.weak.is_empty() && stack.drive.firmware.recovery_limit.is_some();
    let has_driver = stack.layers.iter().any(|layer| matches!(layer, Layer::Driver(_)));
    let fits = match status {
        Status::Done => true,
        Status::MediumError => reads_may_fail && record.request.op == Op::Read,
        Status::Aborted => reads_may_fail && stack.drive.link.queuing.is_ata() && !has_driver,
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

/// Runs a closed loop on the stack of a seed, and checks the run.
fn check_run(seed: u64, draw_stack: fn(&mut Rng) -> SmallStack) {
    let mut rng = Seed(seed).stream("swarm");
    let stack = draw_stack(&mut rng);
    let options = LoopOptions::random(&mut rng);
    // Printed by the test harness when the run fails.
    println!("seed {seed}: {options:?}\n{stack:?}");
    let mut device = stack.build();
    device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    let source = RandomLoop::new(options, &device.limits(0), rng);
    let mut engine = Engine::new(source, device);
    let mut last_finished = Instant::ZERO;
    // Written sectors, each copy counted.
    let mut written = 0u64;
    let block_copies = stack.block_copies();
    let driver_timeout = |layer: &Layer| if let Layer::Driver(driver) = layer { driver.timeout } else { None };
    let shortest_timeout = stack.layers.iter().filter_map(driver_timeout).min();
    let mut may_resend = false;
    let mut check = |record: &Record| {
        check_record(record, last_finished, &stack);
        may_resend |= shortest_timeout.is_some_and(|timeout| record.response_time() >= timeout);
        last_finished = record.completion.finished;
        if record.request.op == Op::Write {
            let copies = (0..block_copies.count())
                .flat_map(|copy| (record.request.lba..record.request.end()).map(move |lba| (copy, lba)));
            written += copies.filter(|&(copy, lba)| block_copies.has_block(copy, lba)).count() as u64;
        }
    };
    engine.run(Instant::FAR, &mut check).expect("nothing stuck");
    let done = u64::from(engine.source().done);
    assert_eq!(done + engine.failures(), u64::from(options.requests), "all complete");
    // A write that is sent again is reported again. The drive also aborts waiting commands when a layer's own read fails.
    may_resend |= !stack.drive.weak.is_empty() && stack.drive.link.queuing.is_ata();
    check_cores(engine.device(), engine.now());
    if engine.failures() == 0 {
        check_landings(&mut engine, &stack, written, may_resend);
    }
}

/// Checks that no core works for longer than all the time, in any part of the run.
fn check_cores(device: &dyn Device, end: Instant) {
    if let Some(cores) = device.core_load(end) {
        assert_eq!((cores.find_overload(), cores.counted_until()), (None, end));
        assert_eq!(cores.work_between(Instant::ZERO, end), cores.total_work(), "each work has its time");
    }
}

/// Flushes the device, and checks that every written sector was reported: as on the medium, or as overwritten in the buffer. If no
/// layer sends writes again, each was reported once. `written`: written sectors, each copy counted.
fn check_landings(
    engine: &mut Engine<RandomLoop, Box<dyn Device>>,
    stack: &SmallStack,
    written: u64,
    may_resend: bool,
) {
    let mut now = engine.now();
    let device = engine.device_mut();
    let mut reported = 0u64;
    device.submit(now, blank_request(0, Op::Flush)).expect("room: nothing is in flight");
    while device.poll_completion().is_none() {
        now = device.poll_timeout().expect("the flush is in flight");
        device.handle_timeout(now);
    }
    while let Some(landing) = device.poll_landing() {
        assert!(landing.from <= landing.to && landing.to <= now, "{landing:?}");
        let has_memory_cache = stack.layers.iter().any(|layer| matches!(layer, Layer::Accelerator(_)));
        let may_discard = stack.drive.cache.write_back || has_memory_cache || may_resend;
        assert!(may_discard || matches!(landing.kind, LandingKind::Landed | LandingKind::Taken), "{landing:?}");
        let counts = landing.kind != LandingKind::Taken;
        stack
            .block_copies()
            .for_each_changed(&landing, |_, part| reported += u64::from(counts) * u64::from(part.sectors));
    }
    assert!(reported == written || reported > written && may_resend, "{reported} sectors reported, {written} written");
}

#[test]
fn runs_on_random_stacks_keep_the_laws() {
    for seed in 0..crate::reduced_draws(1000) {
        check_run(seed, random_stack);
    }
}

/// The drive's queue passes a write over until the driver times out and sends it again.
#[test]
fn seed_11522_a_write_that_a_driver_sends_again_is_reported_again() {
    check_run(11_522, random_stack);
}

/// A read-ahead of the cache in memory meets weak blocks, so that the drive aborts a waiting write.
#[test]
fn seed_11613_a_write_that_a_cache_sends_again_is_reported_again() {
    check_run(11_613, random_stack);
}

/// A random stack whose drive chooses some commands before their turn.
pub fn random_planning_stack(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    stack.drive.firmware.ahead = 1 + rng.below(8) as u32;
    stack
}

/// A random drive that chooses some commands before their turn.
pub fn random_planning_drive(rng: &mut Rng) -> SmallStack {
    SmallStack { layers: Vec::new(), ..random_planning_stack(rng) }
}

#[test]
fn runs_on_drives_that_plan_ahead_keep_the_laws() {
    for seed in 0..crate::reduced_draws(500) {
        check_run(seed, random_planning_stack);
    }
}

#[test]
fn drives_that_plan_ahead_keep_the_contract() {
    for seed in 0..60 {
        check_contract(seed, random_planning_stack);
    }
}

#[test]
fn runs_on_random_arrays_keep_the_laws() {
    for seed in 0..crate::reduced_draws(500) {
        check_run(seed, random_array);
    }
}

/// An array, or a drive that plans ahead, gives equal records whether it runs to its next completion or goes instant by instant.
#[test]
fn arrays_and_planning_drives_give_equal_records_by_steps() {
    for seed in 0..crate::reduced_draws(300) {
        for draw_stack in [random_array, random_planning_stack, random_planning_drive] {
            let records = |by_steps| records_of(draw_stack(&mut Seed(seed).stream("array")), seed, by_steps);
            assert_eq!(records(false), records(true), "seed {seed}");
        }
    }
}

/// The records of a run on the random stack of a seed, or on its drive alone, and the last instant.
fn records_of_seed(seed: u64, drive_alone: bool, by_steps: bool) -> (Vec<String>, Instant) {
    let mut stack = random_stack(&mut Seed(seed).stream("steps"));
    if drive_alone {
        stack.layers.clear();
    }
    records_of(stack, seed, by_steps)
}

/// The records of a closed loop on the stack, as text, and the last instant. `by_steps`: the device goes instant by instant, not to
/// its next completion.
pub fn records_of(stack: SmallStack, seed: u64, by_steps: bool) -> (Vec<String>, Instant) {
    let (records, engine) = run_loop(&stack, seed, by_steps);
    (records, engine.now())
}

/// Runs a closed loop on the stack. Returns its records as text, and the engine.
fn run_loop(stack: &SmallStack, seed: u64, by_steps: bool) -> (Vec<String>, Engine<RandomLoop, Box<dyn Device>>) {
    let mut rng = Seed(seed).stream("loop");
    let options = LoopOptions::random(&mut rng);
    let device = stack.build();
    let source = RandomLoop::new(options, &device.limits(0), rng);
    let mut engine = Engine::new(source, device);
    let mut records = Vec::new();
    let mut add_record = |record: &Record| records.push(format!("{record:?}"));
    if by_steps {
        let requests = u64::from(options.requests);
        engine.step(Instant::ZERO, &mut add_record).expect("time passes");
        let has_more = |engine: &Engine<RandomLoop, _>| u64::from(engine.source().done) + engine.failures() < requests;
        while let Some(next) = engine.poll_timeout().filter(|_| has_more(&engine)) {
            engine.step(next, &mut add_record).expect("time passes");
        }
    } else {
        engine.run(Instant::FAR, &mut add_record).expect("nothing stuck");
    }
    (records, engine)
}

/// The stack with another value of one of the settings that [`SettingUse`] knows.
fn with_other_setting(stack: &SmallStack, rng: &mut Rng) -> SmallStack {
    let mut other = stack.clone();
    let Discipline { max_wait, .. } = stack.drive.firmware.queue;
    let (queue, destage) = (&mut other.drive.firmware.queue, &mut other.drive.firmware.destage);
    match rng.below(8) {
        0 => *queue = Discipline { max_wait, ..random_discipline(rng) },
        1 => (queue.nearest, queue.sample) = (rng.below(12) as u32, 0),
        2 => queue.window = rng.below(12) as u32,
        3 => *destage = Discipline { max_wait: destage.max_wait, ..random_discipline(rng) },
        4 => (destage.nearest, destage.sample) = (rng.below(12) as u32, 0),
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

/// Runs pairs of stacks that differ in a setting. Returns for how many of the `seeds` the use of settings says that both run alike,
/// and whether all of these do. `falsify` changes the use that a run reports.
fn compare_runs_alike(seeds: Range<u64>, falsify: fn(SettingUse) -> SettingUse) -> (u32, bool) {
    let (mut count, mut are_all_equal) = (0, true);
    for seed in seeds {
        let rng = &mut Seed(seed).stream("alike");
        let stack = [random_stack, random_array, random_planning_stack][rng.below(3) as usize](rng);
        let other = with_other_setting(&stack, rng);
        let (records, engine) = run_loop(&stack, seed, false);
        let setting_use = falsify(engine.into_parts().1.setting_use(Instant::FAR));
        if other.to_stack() == stack.to_stack() || !stack.to_stack().runs_alike(&other.to_stack(), &setting_use) {
            continue;
        }
        count += 1;
        // Studies compare only stacks that are equal after `normalize_all`, and find a run by its used settings.
        assert!(other.to_stack().normalize_all() == stack.to_stack().normalize_all(), "seed {seed}: {setting_use:?}");
        let unused = stack.to_stack().unused_settings(&setting_use);
        let used = [&stack, &other].map(|stack| stack.to_stack().used_settings(&unused));
        assert!(used[0] == used[1], "seed {seed}: {setting_use:?}");
        let are_equal = run_loop(&other, seed, false).0 == records;
        if falsify(SettingUse::ALL) == SettingUse::ALL {
            assert!(are_equal, "seed {seed}: {setting_use:?}\n{stack:?}\n{other:?}");
        }
        are_all_equal &= are_equal;
    }
    (count, are_all_equal)
}

#[test]
fn a_setting_that_a_run_did_not_use_changes_nothing() {
    let (count, _) = compare_runs_alike(0..1500, |setting_use| setting_use);
    assert!(count > 200, "only {count} of 1500 pairs would run alike");
    // With no setting reported as used, some pairs must differ.
    assert!(!compare_runs_alike(0..100, |_| SettingUse::NOTHING).1, "no setting changes anything");
}

/// A drive that runs to its next completion, and serves a lone read in a single step, gives the records of one that goes instant by
/// instant.
#[test]
fn stacks_give_equal_records_by_steps() {
    for seed in 0..crate::reduced_draws(1000) {
        let drive_alone = seed % 4 > 0;
        let (records, end) = records_of_seed(seed, drive_alone, false);
        let (stepped_records, stepped_end) = records_of_seed(seed, drive_alone, true);
        let differ = records.iter().zip(&stepped_records).find(|(a, b)| a != b);
        assert_eq!((differ, records.len(), end), (None, stepped_records.len(), stepped_end), "seed {seed}");
    }
}

/// Checks the contract on the stack of a seed.
fn check_contract(seed: u64, draw_stack: fn(&mut Rng) -> SmallStack) {
    let stack = draw_stack(&mut Seed(seed).stream("stack"));
    if let Err(violation) = check_conformance(&|| stack.build(), stack.drive.cut_sector, seed) {
        panic!("seed {seed}: {violation:?}\n{stack:?}");
    }
}

#[test]
fn seed_1_a_sector_finished_after_the_cut_is_dated_to_it() {
    check_contract(1, random_stack);
}

#[test]
fn seed_1659_a_split_keeps_physical_sectors_whole() {
    for seed in [1659, 4789, 4851, 5822] {
        check_contract(seed, random_stack);
    }
}

/// More steps than any run of 200 requests takes: of ten thousand stacks with faults, the busiest took 35,673.
const MAX_STEPS: u32 = 500_000;

/// Runs a loop on an array, in most cases below a cache in memory, whose memory is small in half of the cases. Members are lost at
/// any time, more than the array can spare, and some are replaced. Checks that the run ends.
fn check_that_run_ends(seed: u64) {
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
    // With limited recovery, reads of these blocks fail, and an ATA queue aborts its other commands then.
    stack.drive.weak =
        (0..rng.below(4)).map(|index| WeakBlocks { lba: index * 700, sectors: 64, retries: 9 }).collect();
    stack.drive.firmware.recovery_limit = rng.draw_chance(70).then(|| Span::from_millis(40));
    let mut options = LoopOptions::random(&mut rng);
    options.read_percent = options.read_percent.min(70);
    // When a member is replaced, if true, or lost; and which.
    let mut events: Vec<(Instant, bool, u32)> = (0..8)
        .map(|_| {
            let at = Instant::from_nanos(1 << (10 + rng.below(22)));
            (at, !rng.draw_chance(75), rng.below(4) as u32)
        })
        .collect();
    println!("seed {seed}: {options:?} {events:?}\n{stack:?}");
    let device = stack.build();
    let source = RandomLoop::new(options, &device.limits(0), rng);
    let mut engine = Engine::new(source, device);
    events.sort_unstable();
    engine.step(Instant::ZERO, &mut |_| ()).expect("time passes");
    let mut steps = 0;
    while let Some(now) = engine.poll_timeout() {
        if engine.is_over() {
            break;
        }
        while let Some(&(at, replaces, member)) = events.first().filter(|event| event.0 <= now) {
            engine.step(at.max(engine.now()), &mut |_| ()).expect("time passes");
            // A member that does not exist, or is not lost, changes nothing; nor does a check that is refused.
            let setting = match (replaces, member) {
                (true, 3) => ArraySetting::Check(true),
                (true, _) => ArraySetting::Replace(member),
                (false, _) => ArraySetting::Lose(member),
            };
            let _ = engine.control(&Control::Set(LayerSetting::Array(setting)));
            events.remove(0);
        }
        let now = engine.poll_timeout().unwrap_or(now).max(engine.now());
        engine.step(now, &mut |_| ()).expect("time passes");
        steps += 1;
        assert!(steps < MAX_STEPS, "seed {seed}: no end");
    }
    assert!(engine.is_over(), "seed {seed}: silent before its end");
    // After a power-off, the data in memory come to an end, too.
    let mut now = engine.now();
    let device = engine.device_mut();
    device.control(now, &Control::PowerOff).expect("a power-off is never refused");
    while let Some(next) = device.poll_timeout() {
        (now, steps) = (next, steps + 1);
        device.handle_timeout(now);
        assert!(steps < MAX_STEPS, "seed {seed}: it never switches off");
    }
}

#[test]
fn every_stack_with_faults_comes_to_an_end() {
    for seed in 0..crate::reduced_draws(1000) {
        check_that_run_ends(seed);
    }
}
