//! Cuts computed from one run, compared with real cuts: the same run, cut at the same instant, judged by counting
//! sectors from what a client saw and what the medium received.

use std::collections::{BTreeMap, BTreeSet};

use crate::really::{
    Found, Gone, Life, Log, cut_really, merging, random_changes, random_job, random_stack, small_writes,
};
use seekwise_disk::block::assurance::Assurance;
use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Control, Flags, LandingKind, Op, SECTOR};
use seekwise_disk::durability::loss::{ClassLoss, CutLoss};
use seekwise_disk::durability::stripes::WriteHoles;
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::host::array::layout::RaidLevel;
use seekwise_disk::host::driver::{DriverSpec, PowerOffPolicy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::{SettingChange, Stack};
use seekwise_disk::testing;
use seekwise_disk::time::{Instant, Span};
use seekwise_lab::cut::{CutTime, judge_cuts};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_lab::run::CutRecord;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::sim;
use seekwise_run::work::Work;
use seekwise_work::workload::{Job, Pattern};

/// Counts sector by sector.
fn count(log: &Log, at: Instant, found: &Found) -> CutLoss {
    let is_write = |life: &&Life| matches!(life.request.op, Op::Write | Op::WriteZeroes) && !life.failed;
    let mut written: BTreeMap<u64, Result<Option<u64>, Gone>> = BTreeMap::new();
    // The last acknowledged write of each sector.
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
    let mut lost = [ClassLoss::default(); 4];
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
    CutLoss {
        at,
        lost,
        torn: torn.len() as u64,
        torn_acknowledged: torn.iter().filter(|sector| held(sector).is_some()).count() as u64,
        torn_promised: torn.iter().filter(|sector| held(sector).is_some_and(is_promised)).count() as u64,
        partial,
        in_flight,
        survived,
        holes: WriteHoles::default(),
    }
}

/// What is not reported of a drive that saves its buffer: its unacknowledged writes.
fn told(cut: CutLoss, terms: DriveTerms) -> CutLoss {
    if terms.saves { CutLoss { partial: 0, in_flight: 0, survived: 0, ..cut } } else { cut }
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
    /// Rows that lost a drive, and those of them without promised data; rebuilds that ended.
    hidden: u32,
    given_up: u32,
    whole: u32,
}

impl Seen {
    fn count(&mut self, cut: &CutLoss, terms: DriveTerms) {
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

fn is_replacement(change: &SettingChange) -> bool {
    matches!(change.control, Control::Set(LayerSetting::Array(ArraySetting::Replace(_))))
}

/// Compares the judgement of a run with cuts of the same device at the same instants.
fn agree(stack: &Stack, job: &Job, case: u64, rng: &mut Rng, seen: &mut Seen) {
    let (terms, faults) = (DriveTerms::from_stack(stack), stack.profile.faults);
    let work = Work::from(job.clone());
    let Ok(run) = sim::run_source(stack, work.make_source(Seed(case)), RunCutoff::NEVER, Seed(case), &mut |_| ())
    else {
        return;
    };
    // Some of them after the end, while an idle drive destages, or a new one is filled.
    let filled = stack.changes.iter().any(is_replacement);
    let last = run.figures.end.nanos() + if filled { 1_000_000_000 } else { 100_000_000 };
    let instants: Vec<Instant> = (0..12).map(|_| Instant::from_nanos(rng.below(last))).collect();
    let report = judge_cuts(RunCutoff::NEVER, stack, &work, case, &CutTime::At(instants), &|_, _| ()).unwrap();
    for (index, judged) in report.each.iter().enumerate() {
        let log = cut_really(stack, job, case, judged.at);
        let found = Found::of(stack, &log);
        let counted = count(&log, judged.at, &found);
        // Above a RAID 6 two parities can disagree; the checker looks at the first.
        let rows = found.volumes.first().is_some_and(|volume| volume.level == RaidLevel::Raid5) && found.lost == 0;
        if rows && index < 6 && !terms.saves {
            assert_eq!(judged.holes.sectors, found.holes(), "case {case}, at {:?}", judged.at);
            seen.holes += u32::from(judged.holes.rows > 0);
            seen.closed += u32::from(judged.holes.rows == 0);
        }
        let judged = &CutLoss { holes: WriteHoles::default(), ..*judged };
        let context =
            || format!("case {case}, {terms:?}, {faults:?}: {job:?}\n{:?}\n{:?}", stack.layers, stack.changes);
        assert_eq!(told(*judged, terms), told(counted, terms), "{}", context());
        let hidden = found.lost != 0 && found.volumes.iter().any(|volume| volume.parities() > 0);
        let honest = stack.promise_breakers().iter().all(|breaker| breaker.breaks == Assurance::Rows);
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
    for case in 0..crate::drawn(300) {
        let mut rng = Seed(case).stream("case");
        let mut stack = random_stack(&mut rng);
        if rng.draw_chance(30) {
            stack = random_changes(&mut rng, stack);
        }
        let mut job = random_job(&mut rng, stack.sectors());
        if let Pattern::Fio(fio) = &mut job.workers[0].pattern
            && stack.accelerators().next().is_some()
        {
            // Memory takes a hundred times what a drive does, and the judge keeps everything at risk.
            fio.requests = Some(2000);
            job.workers[0].time_based = false;
        }
        agree(&stack, &job, case, &mut rng, &mut seen);
    }
    println!("{seen:?}");
    let least = |all: u64| crate::drawn(all) as u32 - 1;
    let Seen { judged, lossy, torn, destroyed, partial, survived, saved, lies_found, holes, closed, .. } = seen;
    assert!(judged > least(1500) && lossy > least(200) && torn > least(20) && destroyed > least(5), "too little seen");
    assert!(holes > least(5) && closed > least(5), "too little seen");
    assert!(
        partial > least(50) && survived > least(20) && saved > least(50) && lies_found > least(20),
        "too little seen"
    );
    assert!(seen.hidden > least(50) && seen.given_up > least(2), "too little seen");
}

/// Judges a layer above an array, and an array with lost drives, in each arrangement by itself.
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
    let change =
        |at: u64, setting| SettingChange { at: Instant::ZERO + Span::from_millis(at), control: Control::Set(setting) };
    let (gone, new) = (LayerSetting::Array(ArraySetting::Lose(0)), LayerSetting::Array(ArraySetting::Replace(0)));
    let lose = [change(100, gone)];
    let replace = [change(50, gone), change(60, new)];
    let switch = [change(60, LayerSetting::WriteBack(false)), change(150, LayerSetting::WriteBack(true))];
    type Arranged<'a> = (&'a str, RaidLevel, u64, bool, &'a [SettingChange]);
    let arranged: &[Arranged<'_>] = &[
        ("merging above RAID 5", RaidLevel::Raid5, 0, false, &[]),
        ("memory above RAID 5", RaidLevel::Raid5, 0, true, &[]),
        ("memory above RAID 1", RaidLevel::Raid1, 0, true, &[]),
        ("RAID 5 that lost a drive", RaidLevel::Raid5, 1, false, &[]),
        ("RAID 6 that lost a drive", RaidLevel::Raid6, 2, false, &[]),
        ("RAID 6 that lost two", RaidLevel::Raid6, 3, false, &[]),
        ("RAID 10 that lost a drive", RaidLevel::Raid10, 4, false, &[]),
        ("memory above a RAID 5 that lost a drive", RaidLevel::Raid5, 2, true, &[]),
        ("RAID 5 that loses one", RaidLevel::Raid5, 0, false, &lose),
        ("RAID 1 that loses one", RaidLevel::Raid1, 0, false, &lose),
        ("RAID 10 with a new drive", RaidLevel::Raid10, 0, false, &replace),
        ("RAID 5 with a new drive", RaidLevel::Raid5, 0, false, &replace),
        ("RAID 1 with a new drive below memory", RaidLevel::Raid1, 0, true, &replace),
        ("RAID 5 whose cache is switched", RaidLevel::Raid5, 0, false, &switch),
    ];
    for (name, level, lost, cached, changes) in arranged {
        let mut seen = Seen::default();
        let lost_later = changes.iter().any(|change| change.control == Control::Set(gone));
        let (loses, replaces) = (*lost != 0 || lost_later, changes.iter().any(is_replacement));
        for case in 0..10 {
            let mut rng = Seed(case).stream(name);
            let mut stack = merging(&mut rng, *level, *lost);
            if *cached {
                stack = stack.with_layer(testing::Layer::Accelerator(memory));
            }
            stack.changes = changes.to_vec();
            let job = small_writes(&mut rng, stack.sectors(), replaces);
            agree(&stack, &job, case, &mut rng, &mut seen);
        }
        println!("{name}: {seen:?}");
        assert!(seen.judged == 120 && seen.lossy > 5, "{name}: too little seen");
        let parity = matches!(level, RaidLevel::Raid5 | RaidLevel::Raid6);
        assert!(!(parity && loses) || seen.hidden > 5, "{name}: too little seen");
        // On a RAID 1 as small as these, a rebuild and the writes take turns.
        assert!(!replaces || seen.whole > 2, "{name}: too little seen");
    }
}

/// A driver's power-off, compared with cuts at the same instants of the same runs.
#[test]
fn a_power_off_is_a_cut_when_the_driver_makes_it_one() {
    let mut rng = Seed(3).stream("pause");
    let mut drive = testing::random_profile(&mut rng);
    (drive.cache.segments, drive.cache.segment_sectors, drive.cache.dirty_segments) = (8, 64, 8);
    (drive.cache.write_back, drive.cache.destage_idle) = (true, Span::from_millis(5));
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=200\n";
    let job =
        jobs::load_job("j.fio", drive.profile().geometry.sectors(), &Inputs::from_today(&|_| Ok(text.to_owned())), &[])
            .unwrap()
            .job;
    let of = |power_off, when: &CutTime| {
        let driver = DriverSpec { power_off, ..DriverSpec::default() };
        let stack = Stack::bare(drive.profile()).with_layer(testing::Layer::Driver(driver));
        let report = judge_cuts(RunCutoff::NEVER, &stack, &job, 1, when, &|_, _| ()).unwrap();
        let lost = report.each.iter().map(|cut| (cut.at, cut.lost[0], cut.torn, cut.partial)).collect::<Vec<_>>();
        (lost, report.promise_kept)
    };
    let after = |ms| of(PowerOffPolicy::Orderly, &CutTime::After { cuts: 20, pause: Span::from_millis(ms) }).0;
    let (at_once, kept) = of(PowerOffPolicy::AtOnce, &CutTime::Off(20));
    assert_eq!((at_once, kept), (after(0), false), "switching off in order promises all");
    // The drive is cut while it writes.
    let (paused, _) = of(PowerOffPolicy::Pause(Span::from_millis(20)), &CutTime::Off(20));
    let lost = |cuts: &[(Instant, ClassLoss, u64, u64)]| cuts.iter().map(|cut| cut.1.writes).sum::<u64>();
    assert_eq!(paused, after(20));
    assert!(lost(&paused) > 0 && lost(&paused) < lost(&after(0)), "{paused:?}");
    let (orderly, kept) = of(PowerOffPolicy::Orderly, &CutTime::Off(20));
    assert_eq!((lost(&orderly), kept), (0, true));
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let mut rng = Seed(3).stream("array");
    let stack = merging(&mut rng, RaidLevel::Raid5, 0);
    let text = "[j]\nioengine=libaio\ndirect=1\nsize=1m\nrw=randwrite\nbs=4k\nnumber_ios=20\n";
    let job = jobs::load_job("j.fio", stack.sectors(), &Inputs::from_today(&|_| Ok(text.to_owned())), &[]).unwrap().job;
    let why = |stack: &Stack| {
        judge_cuts(RunCutoff::NEVER, stack, &job, 1, &CutTime::Random(3), &|_, _| ())
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(why(&stack), None);
    let change = |setting| SettingChange { at: Instant::ZERO, control: Control::Set(LayerSetting::Array(setting)) };
    let lose = |members: &[u32]| members.iter().map(|&it| change(ArraySetting::Lose(it))).collect::<Vec<_>>();
    assert_eq!(why(&Stack { changes: lose(&[0]), ..stack.clone() }), None);
    let dead = why(&Stack { changes: lose(&[0, 1]), ..stack.clone() });
    assert!(dead.unwrap().contains("a volume loses too many drives"));
    let mut saving = Stack { changes: lose(&[0]), ..stack.clone() };
    saving.profile.protected = true;
    assert!(why(&saving).unwrap().contains("a buffer outlives a cut"));
    let mut lying = Stack { changes: [lose(&[0]), vec![change(ArraySetting::Replace(0))]].concat(), ..stack };
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
    let job =
        jobs::load_job("j.fio", stack.profile.geometry.sectors(), &Inputs::from_today(&|_| Ok(text.to_owned())), &[])
            .unwrap()
            .job;
    let after = |ms| {
        let when = CutTime::After { cuts: 5, pause: Span::from_millis(ms) };
        judge_cuts(RunCutoff::NEVER, &stack, &job, 1, &when, &|_, _| ()).unwrap()
    };
    let (at_once, later) = (after(0), after(2_000));
    assert_eq!((at_once.cuts, at_once.acknowledged_lost.cuts_with_loss), (5, 5));
    assert_eq!((later.cuts, later.acknowledged_lost.cuts_with_loss), (5, 0));
    assert_eq!(later.writes, 1000);
}

/// The counts of a report are those of its cuts: their sum over the number of cuts, be it twenty or one.
#[test]
fn a_mean_of_cuts_is_their_sum_over_their_number() {
    let array = merging(&mut Seed(3).stream("array"), RaidLevel::Raid5, 0);
    let alone = Stack::bare(array.profile.clone());
    let text = "[j]\nioengine=libaio\ndirect=1\niodepth=8\nsize=256k\nrw=randwrite\nbs=4k\nnumber_ios=200\n";
    for stack in [&array, &alone] {
        let job =
            jobs::load_job("j.fio", stack.sectors(), &Inputs::from_today(&|_| Ok(text.to_owned())), &[]).unwrap().job;
        let report = |when: &CutTime| judge_cuts(RunCutoff::NEVER, stack, &job, 1, when, &|_, _| ()).unwrap();
        let several = report(&CutTime::Random(20));
        let busiest = several.each.iter().max_by_key(|cut| (cut.in_flight, cut.holes.rows)).unwrap();
        let one = report(&CutTime::At(vec![busiest.at]));
        assert_eq!((several.cuts, one.cuts), (20, 1));
        assert!(one.each[0].in_flight > 0, "{:?}", one.each);
        for report in [&several, &one] {
            let mean =
                |of: fn(&CutLoss) -> u64| report.each.iter().map(of).sum::<u64>() as f64 / f64::from(report.cuts);
            let with = |of: fn(&CutLoss) -> u64| report.each.iter().filter(|cut| of(cut) > 0).count() as u64;
            assert_eq!(report.in_flight.writes_mean, mean(|cut| cut.in_flight));
            assert_eq!(report.in_flight.survived_mean, mean(|cut| cut.survived));
            assert_eq!(report.acknowledged_lost.writes_mean, mean(|cut| cut.lost[0].writes));
            assert_eq!(report.acknowledged_lost.bytes_mean, mean(|cut| cut.lost[0].bytes));
            let kept = CutRecord::from_report(report);
            assert_eq!((kept.cuts, kept.torn_cuts), (report.cuts, with(|cut| cut.torn)));
            // Without parity there are no holes, and a record says so.
            match report.stripes {
                Some(stripes) => {
                    assert_eq!(stripes.inconsistent_mean, mean(|cut| cut.holes.rows));
                    assert_eq!(stripes.bytes_mean, mean(|cut| cut.holes.sectors) * SECTOR as f64);
                    assert_eq!([stripes.cuts, kept.hole_cuts], [with(|cut| cut.holes.rows); 2]);
                }
                None => assert_eq!(kept.hole_cuts, 0),
            }
            assert_eq!(report.stripes.is_some(), std::ptr::eq(stack, &array));
        }
    }
}
