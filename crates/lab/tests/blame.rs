//! A level blamed for a broken promise did break it: with its settings made honest, nothing is lost any more; and a
//! stack without blame loses nothing. Over random stacks with liars at every level, from one run each.

use std::collections::{BTreeMap, BTreeSet};

use crate::really::{merging, pick, random_changes, random_job, random_stack, small_writes};
use seekwise_disk::block::Control;
use seekwise_disk::block::assurance::Assurance;
use seekwise_disk::block::setting::{ArraySetting, DriverSetting, LayerSetting};
use seekwise_disk::drive::profile::Faults;
use seekwise_disk::durability::view::CutArray;
use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::host::array::layout::RaidLevel;
use seekwise_disk::host::driver::{DriverSpec, FlushPolicy, ForcedWritePolicy, PowerOffPolicy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::{Layer, SettingChange, Stack};
use seekwise_disk::time::{Instant, Span};
use seekwise_lab::cut::blame::BlamedLevel;
use seekwise_lab::cut::{CutReport, CutTime, judge_cuts};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::work::Work;
use seekwise_work::workload::{Job, Pattern};

fn drivers(stack: &mut Stack) -> impl Iterator<Item = &mut DriverSpec> {
    stack.layers.iter_mut().filter_map(|layer| if let Layer::Driver(spec) = layer { Some(spec) } else { None })
}

fn accelerators(stack: &mut Stack) -> impl Iterator<Item = &mut AcceleratorSpec> {
    stack.layers.iter_mut().filter_map(|layer| if let Layer::Accelerator(spec) = layer { Some(spec) } else { None })
}

/// Liars at any level, some from a later time of the run on.
fn corrupted(mut stack: Stack, rng: &mut Rng) -> Stack {
    for spec in drivers(&mut stack) {
        spec.flush = pick(rng, &[spec.flush, spec.flush, spec.flush, FlushPolicy::Drop, FlushPolicy::Never]);
        spec.write_through = pick(rng, &[spec.write_through, spec.write_through, ForcedWritePolicy::Ignore]);
        let (orderly, pause) = (PowerOffPolicy::Orderly, PowerOffPolicy::Pause(Span::from_millis(1)));
        spec.power_off = pick(rng, &[orderly, orderly, PowerOffPolicy::AtOnce, pause]);
    }
    for spec in accelerators(&mut stack) {
        spec.write_back = rng.draw_chance(70);
    }
    let (cache, faults) = (&mut stack.profile.cache, &mut stack.profile.faults);
    if rng.draw_chance(60) && cache.segments > 1 && cache.dirty_segments > 0 {
        // Some data are at risk, and the drive is in no hurry.
        (cache.write_back, cache.destage_idle) = (true, Span::from_secs(1));
    }
    faults.forgets_on_power_off = rng.draw_chance(30);
    let driver = |setting| LayerSetting::Driver { number: 1, setting };
    for (level, setting) in [
        ("driver", driver(DriverSetting::Flush(FlushPolicy::Drop))),
        ("accelerator", LayerSetting::Accelerator { number: 1, drops_flushes: true }),
        ("driver", driver(DriverSetting::WriteThrough(ForcedWritePolicy::Ignore))),
    ] {
        if rng.draw_chance(15) && stack.layer_names().iter().any(|name| name == level) {
            let at = Instant::ZERO + Span::from_millis(rng.below(1_000));
            stack.changes.push(SettingChange { at, control: Control::Set(setting) });
        }
    }
    stack.changes.sort_by_key(|change| change.at);
    stack
}

/// The dotted key of a change that can be blamed.
fn blamed_key(change: &SettingChange) -> &'static str {
    match change.control {
        Control::Set(LayerSetting::Driver { setting: DriverSetting::Flush(_), .. }) => "driver.flush",
        Control::Set(LayerSetting::Driver { setting: DriverSetting::WriteThrough(_), .. }) => "driver.write_through",
        Control::Set(LayerSetting::Accelerator { .. }) => "accelerator.flush",
        Control::Set(LayerSetting::Array(ArraySetting::Lose(_))) => "array.lose",
        _ => "",
    }
}

/// The stack with this setting made honest, all through the run.
fn honest(mut stack: Stack, blamed: &BlamedLevel) -> Stack {
    let (level, key) = blamed.setting.split_once('.').unwrap();
    let names = stack.layer_names();
    stack.changes.retain(|change| blamed_key(change) != blamed.setting);
    let faults = &mut stack.profile.faults;
    match (level, key) {
        ("drive", "faults.early_flush") => faults.early_flush = false,
        ("drive", "faults.ignores_fua") => faults.ignores_fua = false,
        ("drive", "faults.caches_when_off") => faults.caches_when_off = false,
        ("drive", "faults.forgets_on_power_off") => faults.forgets_on_power_off = false,
        _ => {}
    }
    for (layer, _) in stack.layers.iter_mut().zip(names).filter(|(_, name)| name == level) {
        match (layer, key) {
            (Layer::Driver(spec), "flush") => spec.flush = FlushPolicy::Forward,
            (Layer::Driver(spec), "write_through") => spec.write_through = ForcedWritePolicy::Flush,
            (Layer::Driver(spec), "power_off") => spec.power_off = PowerOffPolicy::Orderly,
            (Layer::Accelerator(spec), "flush") => spec.drops_flushes = false,
            (Layer::Array(spec), "lose") => {
                spec.lost = 0;
                let replaces =
                    |control: Control| matches!(control, Control::Set(LayerSetting::Array(ArraySetting::Replace(_))));
                stack.changes.retain(|change| !replaces(change.control));
            }
            (layer, key) => panic!("nobody knows how a {} is honest about {key}", layer.kind()),
        }
    }
    stack
}

/// What cuts of a run lose, or a few orderly power-offs; `None` if the run is not judged.
fn cut(stack: &Stack, job: &Job, case: u64, off: bool) -> Option<CutReport> {
    let when = if off { CutTime::Off(2) } else { CutTime::Random(20) };
    judge_cuts(RunCutoff::NEVER, stack, &Work::from(job.clone()), case, &when, &|_, _| ()).ok()
}

#[derive(Debug, Default)]
struct Seen {
    kept: u32,
    broken: u32,
    /// Several rounds until no level was left to blame.
    again: u32,
    by: BTreeMap<String, u32>,
}

/// Makes blamed levels honest until none is left, and checks that nothing is lost then.
fn until_honest(stack: &Stack, job: &Job, case: u64, off: bool, seen: &mut Seen) {
    let mut stack = stack.clone();
    for round in 0..8 {
        let Some(report) = cut(&stack, job, case, off) else { return };
        let who = &report.broken_by;
        let told = || format!("case {case}, off {off}: {:?}\n{job:?}\n{stack:?}", stack.promise_breakers());
        assert_eq!(report.promised_lost.writes > 0, !who.is_empty(), "{who:?}, {}", told());
        if stack.promise_breakers().is_empty() {
            assert_eq!(report.promised_lost.writes, 0, "{}", told());
        }
        if who.is_empty() {
            (seen.kept, seen.again) = (seen.kept + u32::from(round == 0), seen.again + u32::from(round > 1));
            return;
        }
        seen.broken += u32::from(round == 0);
        for blamed in who {
            *seen.by.entry(blamed.setting.clone()).or_default() += 1;
        }
        let clean = who.iter().fold(stack.clone(), honest);
        let settings: BTreeSet<&str> = who.iter().map(|blamed| blamed.setting.as_str()).collect();
        let still = clean.promise_breakers().into_iter().find(|it| settings.contains(it.setting.as_str()));
        assert_eq!(still, None, "{}", told());
        stack = clean;
    }
    panic!("case {case}: somebody is blamed again and again: {stack:?}");
}

#[test]
fn whoever_is_blamed_did_it() {
    let mut seen = Seen::default();
    for case in 0..crate::drawn(1_500) {
        let mut rng = Seed(case).stream("blame");
        let mut stack = random_stack(&mut rng);
        if rng.draw_chance(30) {
            stack = random_changes(&mut rng, stack);
        }
        stack = corrupted(stack, &mut rng);
        if CutArray::from_stack(&stack).is_err() {
            continue;
        }
        let mut job = random_job(&mut rng, stack.sectors());
        if let Pattern::Fio(fio) = &mut job.workers[0].pattern {
            fio.requests = Some(400);
            fio.syncs.fsync = fio.syncs.fsync.max(pick(&mut rng, &[0, 1, 8, 16]));
            job.workers[0].time_based = false;
        }
        until_honest(&stack, &job, case, case % 4 == 3, &mut seen);
    }
    println!("{seen:?}");
    let least = |all: u64| crate::drawn(all) as u32 - 1;
    assert!(seen.kept > least(500) && seen.broken > least(200) && seen.again > least(5), "too little seen: {seen:?}");
    assert!(seen.by.len() >= 9, "not every kind of liar was caught: {seen:?}");
}

/// Canaries: one liar in a stack of honest levels, and which level is blamed for it.
#[test]
fn one_liar_among_honest_levels_is_blamed_alone() {
    type Lie = fn(&mut Stack);
    let lies: [(&str, bool, Lie); 8] = [
        ("accelerator.flush", false, |stack| accelerators(stack).for_each(|spec| spec.drops_flushes = true)),
        ("driver.flush", false, |stack| drivers(stack).for_each(|spec| spec.flush = FlushPolicy::Drop)),
        ("driver.flush", true, |stack| drivers(stack).for_each(|spec| spec.flush = FlushPolicy::Never)),
        ("driver.power_off", true, |stack| drivers(stack).for_each(|spec| spec.power_off = PowerOffPolicy::AtOnce)),
        ("drive.faults.early_flush", false, |stack| stack.profile.faults.early_flush = true),
        ("drive.faults.forgets_on_power_off", true, |stack| stack.profile.faults.forgets_on_power_off = true),
        ("array.lose", false, |stack| {
            let arrays =
                stack.layers.iter_mut().filter_map(|it| if let Layer::Array(spec) = it { Some(spec) } else { None });
            arrays.for_each(|spec| spec.lost = 2);
        }),
        ("", false, |_| ()),
    ];
    for (setting, off, lie) in lies {
        let mut caught = 0;
        for case in 0..12 {
            let mut rng = Seed(case).stream("one liar");
            let level = if setting == "array.lose" {
                RaidLevel::Raid5
            } else {
                pick(&mut rng, &[RaidLevel::Raid0, RaidLevel::Raid5])
            };
            let mut stack = merging(&mut rng, level, 0);
            stack.profile.faults = Faults::default();
            (stack.profile.protected, stack.profile.cache.flash_sectors) = (false, 0);
            stack.layers.push(Layer::Accelerator(AcceleratorSpec {
                size: 256 << 10,
                hit: Span::from_micros(5),
                write_back: rng.draw_chance(50),
                drops_flushes: false,
                dirty_share: 500,
                dirty_age: Span::from_millis(200),
                idle: Span::from_millis(10),
                read_ahead: 0,
            }));
            lie(&mut stack);
            let mut job = small_writes(&mut rng, stack.sectors(), false);
            if let Pattern::Fio(fio) = &mut job.workers[0].pattern {
                fio.syncs.fsync = 16;
            }
            let report = cut(&stack, &job, case, off).unwrap();
            let who: Vec<&str> = report.broken_by.iter().map(|blamed| blamed.setting.as_str()).collect();
            assert!(who.is_empty() || who == [setting], "{setting}: {who:?}, {stack:?}");
            caught += u32::from(!who.is_empty());
            // It is named before the run, and the others are not.
            let named = stack.promise_breakers();
            assert!(named.iter().all(|breaker| breaker.setting == setting), "{named:?}");
            assert_eq!(named.is_empty(), setting.is_empty());
        }
        assert_eq!(caught == 0, setting.is_empty(), "{setting}: caught {caught} times");
    }
}

/// A level that drops flushes does no harm above devices that lose nothing at a cut.
#[test]
fn what_can_do_no_harm_is_not_named() {
    let mut rng = Seed(1).stream("harmless");
    let mut stack = merging(&mut rng, RaidLevel::Raid0, 0);
    drivers(&mut stack).for_each(|spec| spec.flush = FlushPolicy::Drop);
    (stack.profile.protected, stack.profile.cache.flash_sectors) = (false, 0);
    let of = |stack: &Stack| stack.promise_breakers().iter().map(|it| it.breaks).collect::<Vec<_>>();
    assert_eq!(of(&stack), [Assurance::Fua, Assurance::Flush]);
    let mut saved = stack.clone();
    saved.profile.protected = true;
    assert_eq!(of(&saved), []);
    let mut through = stack.clone();
    through.profile.cache.write_back = false;
    assert_eq!(of(&through), []);
    let at = Instant::ZERO + Span::from_millis(1);
    through.changes = vec![SettingChange { at, control: Control::Set(LayerSetting::WriteBack(true)) }];
    assert_eq!(of(&through), [Assurance::Fua, Assurance::Flush]);
}
