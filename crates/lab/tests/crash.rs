//! The crash laboratory without software: media computed from one run, compared with real cuts; the writes that
//! standards allow to be lost; the instants; a failure made smaller. No clock, no file.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use seekwise_disk::block::{
    Completion, Control, CutSector, Device, Flags, Landing, LandingKind, Op, Request, SECTOR, Status,
};
use seekwise_disk::durability::image::{LostWrite, MediumImage};
use seekwise_disk::durability::writes::{SessionWrite, SessionWrites};
use seekwise_disk::engine::Engine;
use seekwise_disk::history::{History, HistoryEvent, HistoryMark, WriteData};
use seekwise_disk::record::{Effort, Parts, Record};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::testing;
use seekwise_disk::time::{Instant, Span};
use seekwise_disk::witness::{WatchedDevice, Witness};
use seekwise_lab::crash::instants::{InstantReason, InstantWeights, choose_instants, landing_time};
use seekwise_lab::crash::orders::draw_lost_writes;
use seekwise_lab::crash::proof::{CheckProof, EarlyChange, MediumChanges, validate_check};
use seekwise_lab::crash::trial::{
    CrashResults, CrashTrial, ShrinkResult, TrialOptions, first_passing_flush, shrink_losses,
};
use seekwise_lab::crash::verdict::{CheckOutput, CrashVerdict};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_os::bytes::Bytes;
use seekwise_run::work::Work;
use seekwise_work::workload::{Job, Workload};

/// The content of a write: its number in each sector.
fn data(request: &Request) -> WriteData {
    let sector: Vec<u8> = request.stamp.to_le_bytes().repeat(SECTOR as usize / 8);
    WriteData::from(sector.repeat(request.sectors as usize))
}

/// Records everything that passes, as a disk at work does.
#[derive(Default)]
struct Writing(History);

impl Witness for Writing {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        let data = (request.op == Op::Write).then(|| data(request));
        self.0.record_request(now, request, data.as_ref());
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.0.events.push(HistoryEvent::Over(*request, *completion));
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.0.events.push(HistoryEvent::Landed(*landing));
    }
    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

/// The bytes of a disk, as a disk at work keeps them.
#[derive(Default)]
struct Keeping(Bytes);

impl Witness for Keeping {
    fn note_submission(&mut self, _: Instant, request: &Request) {
        if request.op == Op::Write {
            self.0.accept_write(request, data(request));
        }
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        if request.op == Op::Write && completion.status != Status::Done {
            self.0.drop_failed_write(request.stamp);
        }
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.0.apply_landing(landing).unwrap();
    }
    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

fn random_job(rng: &mut Rng, sectors: u64) -> Job {
    let mut text =
        "[j]\nioengine=libaio\ndirect=1\nnorandommap\ntime_based\nruntime=1\nsize=512k\nrw=randwrite\n".to_owned();
    text += pick(rng, &["bs=4k\n", "bs=512\n", "bsrange=512-32k\n"]);
    text += pick(rng, &["", "fsync=1\n", "fsync=16\n", "sync=1\n"]);
    text += pick(rng, &["", "thinktime=3000\n"]);
    text += &format!("iodepth={}\n", pick(rng, &[1, 4, 32]));
    match jobs::load_job("j.fio", sectors, &Inputs::from_today(&|_| Ok(text.clone())), &[]).unwrap().job {
        Work::Job(job) => job,
        _ => unreachable!("a job of workers"),
    }
}

/// A drive and the layers above it. It may lie, and a cut treats the sector under the head in one of the three ways.
fn random_stack(rng: &mut Rng) -> Stack {
    let mut layered = if rng.draw_chance(30) { testing::random_array(rng) } else { testing::random_stack(rng) };
    if (1..=layered.drive.cache.segments).contains(&layered.drive.cache.dirty_segments) {
        layered.drive.faults.early_flush = rng.draw_chance(20);
        layered.drive.faults.ignores_fua = layered.drive.link.fua && rng.draw_chance(20);
    }
    let mut stack = layered.to_stack();
    stack.profile.cut_sector = pick(rng, &[CutSector::Finished, CutSector::Old, CutSector::Unreadable]);
    stack
}

/// Runs the job until `until`; then the content of the caches lands, or the power is cut.
fn run<W: Witness>(stack: &Stack, job: &Job, seed: u64, until: Instant, cut: bool, witness: &mut W) {
    let device = WatchedDevice::new(stack.build(Seed(seed)), witness);
    let job = Workload::new(job, &device.limits(0), Seed(seed)).unwrap();
    let mut engine = Engine::new(job, device);
    engine.run(until, &mut |_: &Record| ()).unwrap();
    let device = engine.device_mut();
    device.handle_timeout(until);
    if cut {
        device.control(until, &Control::PowerCut).unwrap();
    }
    // Requests under way come back, even if only because they lost their power.
    while let Some(next) = device.poll_timeout().filter(|next| *next < until + Span::from_secs(20)) {
        while device.poll_completion().is_some() {}
        device.handle_timeout(next);
    }
    while device.poll_completion().is_some() {}
}

/// What a check sees of a medium: the number in each sector, and what is unreadable.
fn seen(image: &MediumImage, history: &History, writes: &SessionWrites) -> BTreeMap<u64, Option<u64>> {
    let mut seen = BTreeMap::new();
    for (lba, part) in image.written_pieces(history, writes) {
        let mut bytes = vec![0; part.bytes() as usize];
        part.copy_to(&mut bytes);
        for (sector, bytes) in (lba..).zip(bytes.chunks_exact(SECTOR as usize)) {
            seen.insert(sector, Some(u64::from_le_bytes(bytes[..8].try_into().unwrap())));
        }
    }
    for sector in image.torn_sectors().iter().flat_map(|run| run.0..run.1) {
        seen.insert(sector, None);
    }
    seen
}

/// The same for a disk that was cut.
fn found(bytes: &Bytes, sectors: u64) -> BTreeMap<u64, Option<u64>> {
    let read = |sector| match bytes.read(sector, 1) {
        Ok(data) => Some(u64::from_le_bytes(data.unwrap()[..8].try_into().unwrap())),
        Err(_) => None,
    };
    (0..sectors).map(|sector| (sector, read(sector))).filter(|(_, held)| *held != Some(0)).collect()
}

/// As many cuts, and nothing else out of the ordinary.
fn options(cuts: usize) -> TrialOptions {
    let (weights, may_lose) = (InstantWeights::Mixed, Span::ZERO);
    TrialOptions { cuts, orders: 0, seed: Seed(1), workers: 2, weights, may_lose, keeps_media: false }
}

#[test]
fn media_worked_out_from_one_run_are_those_of_real_cuts() {
    let (mut compared, mut partly, mut torn) = (0, 0, 0);
    for case in 0..60 {
        let mut rng = Seed(case).stream("test");
        let stack = random_stack(&mut rng);
        // One run and the bytes of a live disk do not show two things: writes under way in a buffer that survives a
        // cut, and what a mirror's lost first drive would have had.
        if stack.profile.saves_buffer() || stack.array().is_some_and(|array| array.lost != 0) {
            continue;
        }
        let job = random_job(&mut rng, stack.sectors());
        let end = Instant::ZERO + Span::from_secs(1);
        let mut writing = Writing::default();
        run(&stack, &job, case, end, false, &mut writing);
        let mut history = writing.0;
        history.marks = vec![(Instant::ZERO, HistoryMark::Begin), (end, HistoryMark::End)];
        let trials = TrialOptions { seed: Seed(case), workers: 1, ..options(12) };
        // With one worker, media come in the order of their indexes.
        let writes = SessionWrites::from_history(&history, true);
        let media = std::sync::Mutex::new(Vec::new());
        let check = |_: usize, image: &MediumImage, _: &[&str]| {
            media.lock().unwrap().push(seen(image, &history, &writes));
            Ok(CheckOutput { code: Some(0), died: None, printed: String::new(), unmountable: None, fault: None })
        };
        let Ok(outcome) = trials.run(&history, &stack, &check, &|| ()) else { continue };
        let media = media.into_inner().unwrap();
        let sectors = writes.accepted_by(end).map(|write| write.run.1).max().unwrap();
        for tried in &outcome.tried {
            let mut keeping = Keeping::default();
            run(&stack, &job, case, tried.case.at, true, &mut keeping);
            keeping.0.apply_cut();
            let real = found(&keeping.0, sectors);
            let held = real.values().flatten().count();
            let differs = || {
                let sectors: BTreeSet<u64> = real.keys().chain(media[tried.state].keys()).copied().collect();
                sectors.into_iter().find(|sector| real.get(sector) != media[tried.state].get(sector)).map(|sector| {
                    format!("sector {sector}: {:?}, really {:?}", media[tried.state].get(&sector), real.get(&sector))
                })
            };
            assert!(
                media[tried.state] == real,
                "case {case} at {:?}: {:?}\n{:?}",
                tried.case.at,
                differs(),
                stack.layers
            );
            compared += 1;
            torn += usize::from(real.values().any(Option::is_none));
            partly += usize::from(held > 0);
        }
    }
    assert!(compared > 300 && partly > 200 && torn > 0, "{compared} compared, {partly} not empty, {torn} torn");
}

/// A history by hand.
#[derive(Default)]
struct Made {
    history: History,
    stamp: u64,
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

impl Made {
    fn take(&mut self, when: u64, op: Op, flags: Flags, (lba, sectors): (u64, u32)) -> Request {
        self.stamp += 1;
        let (tag, unit, origin, stamp) = (self.stamp as u32, 0, 0, self.stamp);
        let request = Request { tag, unit, origin, op, flags, lba, sectors, stamp };
        let data = (op == Op::Write).then(|| data(&request));
        self.history.record_request(at(when), &request, data.as_ref());
        request
    }

    fn end(&mut self, when: u64, request: Request) {
        let (tag, status, submitted, finished) = (request.tag, Status::Done, at(0), at(when));
        let (parts, effort) = (Parts::default(), Effort::default());
        self.history
            .events
            .push(HistoryEvent::Over(request, Completion { tag, status, submitted, finished, parts, effort }));
    }
}

/// Writes 1 to 6 of a sector each, and flushes: 1 is covered, 2 ended after the flush was submitted, 3 is forced, 4 is
/// acknowledged, 5 is under way, 6 comes later.
fn made() -> History {
    let mut made = Made::default();
    let one = made.take(0, Op::Write, Flags::NONE, (0, 16));
    let two = made.take(5, Op::Write, Flags::NONE, (16, 16));
    made.end(10, one);
    let flush = made.take(20, Op::Flush, Flags::NONE, (0, 0));
    made.end(25, two);
    let three = made.take(30, Op::Write, Flags::FUA, (32, 16));
    made.end(40, flush);
    made.end(50, three);
    let four = made.take(60, Op::Write, Flags::NONE, (8, 16));
    made.end(70, four);
    made.take(80, Op::Write, Flags::NONE, (48, 16));
    made.take(200, Op::Write, Flags::NONE, (64, 16));
    made.history.marks =
        vec![(at(0), HistoryMark::Begin), (at(45), HistoryMark::Said("one".into())), (at(100), HistoryMark::End)];
    made.history
}

#[test]
fn a_flush_covers_what_was_acknowledged_before_it_was_asked_for() {
    let history = made();
    let writes = SessionWrites::from_history(&history, true);
    let open = |when| writes.losable_at(at(when)).map(|write| write.run.0).collect::<Vec<_>>();
    assert_eq!(open(39), [0, 16, 32]);
    assert_eq!(open(40), [16, 32], "the flush has ended");
    assert_eq!(open(100), [16, 8, 48], "forced is forced; what comes later is not there yet");
    let safe = SessionWrites::from_history(&history, false);
    assert_eq!(safe.losable_at(at(100)).map(|write| write.run.0).collect::<Vec<_>>(), [48], "nothing is cached");
}

#[test]
fn orders_lose_what_may_be_lost_in_whole_sectors_and_nothing_else() {
    let history = made();
    let writes = SessionWrites::from_history(&history, true);
    let mut chance = Seed(3).stream("test");
    let mut draws: Vec<Vec<LostWrite>> = Vec::new();
    for number in 0..200 {
        let lost = draw_lost_writes(&writes, at(100), number, 8, &mut chance);
        for it in &lost {
            assert!([16, 8, 48].contains(&it.write.run.0), "{it:?}");
            for part in &it.parts {
                assert!(it.write.run.0 <= part.0 && part.0 < part.1 && part.1 <= it.write.run.1, "{it:?}");
                assert!(part.0 % 8 == 0 && part.1 % 8 == 0, "a physical sector is whole: {it:?}");
            }
        }
        let image = seen(&MediumImage::without_writes(&writes, at(100), &lost), &history, &writes);
        assert!((0..8).all(|sector| image[&sector] == Some(1)), "covered by a flush");
        assert!((32..48).all(|sector| image[&sector] == Some(4)), "forced, the fourth request");
        assert!(!image.contains_key(&64), "nobody had written that yet");
        draws.push(lost);
    }
    assert_eq!(draws[0].len(), 3, "the first loses all");
    assert_eq!((draws[1].len(), draws[2].len()), (1, 2));
    draws.sort_by_key(|lost| format!("{lost:?}"));
    draws.dedup();
    assert!(draws.len() > 12, "{} different", draws.len());
    let parts = |lost: &LostWrite| lost.parts[0] != lost.write.run;
    assert!(draws.iter().flatten().any(parts), "some are written in part");
}

#[test]
fn what_is_lost_of_a_medium_is_what_it_was_made_without() {
    let history = made();
    let writes = SessionWrites::from_history(&history, true);
    let of = |stamp: u64| *writes.get(stamp).unwrap();
    let lost = [LostWrite { write: of(2), parts: vec![(24, 32)] }, LostWrite { write: of(6), parts: vec![(48, 64)] }];
    let image = MediumImage::without_writes(&writes, at(100), &lost);
    assert_eq!(image.lost_writes(&writes, at(100)), lost);
    // What a later write hides is not lost: the fifth request wrote the second's first half.
    let hidden = [LostWrite { write: of(2), parts: vec![(16, 24)] }];
    assert_eq!(MediumImage::without_writes(&writes, at(100), &hidden).lost_writes(&writes, at(100)), []);
}

#[test]
fn instants_are_different_in_order_and_on_both_sides_of_flushes() {
    let history = made();
    let chosen = choose_instants(&history, (at(0), at(100)), 40, InstantWeights::Mixed, Seed(1));
    assert!(chosen.len() == 40 && chosen.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(chosen.contains(&(at(40), InstantReason::Flushed)) && chosen.contains(&(at(39), InstantReason::Unflushed)));
    assert!(chosen.iter().all(|(when, _)| *when <= at(100)));
    assert_eq!(chosen, choose_instants(&history, (at(0), at(100)), 40, InstantWeights::Mixed, Seed(1)));
    assert_ne!(chosen, choose_instants(&history, (at(0), at(100)), 40, InstantWeights::Mixed, Seed(2)));
    assert_eq!(
        choose_instants(&history, (at(0), at(5)), 40, InstantWeights::Mixed, Seed(1)).len(),
        6,
        "no more than there are"
    );
}

/// A landing of many sectors in a session that is idle otherwise.
#[test]
fn a_quarter_of_the_cuts_falls_within_landings_and_none_if_time_alone_decides() {
    let mut made = Made::default();
    let one = made.take(0, Op::Write, Flags::NONE, (0, 32));
    made.end(10, one);
    let landing = Landing::new((0, 32), 1, (at(1000), at(1320)), LandingKind::Landed);
    made.history.events.push(HistoryEvent::Landed(landing));
    let span = (at(0), at(1_000_000));
    let reasons = |weights| {
        let chosen = choose_instants(&made.history, span, 300, weights, Seed(1));
        let landing = |it: &&(Instant, InstantReason)| it.1 == InstantReason::Landing;
        let within = chosen.iter().filter(landing);
        assert!(within.clone().all(|(when, _)| at(1000) < *when && *when < at(1320)), "its ends tear nothing");
        (chosen.len(), within.count())
    };
    let (all, within) = reasons(InstantWeights::Mixed);
    assert!(all == 300 && (55..=75).contains(&within), "{within} of {all}: a quarter, less what was drawn twice");
    assert_eq!(reasons(InstantWeights::Time), (300, 0));
    assert_eq!(landing_time(&made.history, span).nanos(), 319);
}

/// Twenty records on a small drive, each of so many sectors and flushed after; each is promised when its flush has ended. `lies` says
/// what the drive does with flushes.
fn session(lies: bool, sectors: u32) -> (Stack, History) {
    let mut drive = testing::SmallDrive::default().with_buffer(4, 32).with_write_back(4);
    drive.cache.destage_idle = Span::from_millis(200);
    drive.faults.early_flush = lies;
    let stack = Stack::bare(drive.profile());
    let mut writing = Writing::default();
    let mut marks = vec![(Instant::ZERO, HistoryMark::Begin)];
    let mut now = at(1000);
    {
        let mut device = WatchedDevice::new(stack.build(Seed(1)), &mut writing);
        for record in 0..20u64 {
            for (op, lba, sectors) in [(Op::Write, record * 16, sectors), (Op::Flush, 0, 0)] {
                let stamp = 1 + record * 2 + u64::from(op == Op::Flush);
                let request = Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp };
                device.submit(now, request).unwrap();
                now = device.proceed(Instant::FAR).unwrap().finished;
            }
            marks.push((now, HistoryMark::Said(format!("record {record}"))));
            // The next comes a moment after the promise.
            now += Span::from_nanos(1000);
        }
        marks.push((now, HistoryMark::End));
        while let Some(next) = device.poll_timeout().filter(|next| *next < now + Span::from_secs(5)) {
            device.handle_timeout(next);
        }
    }
    (stack, History { marks, ..writing.0 })
}

/// Which records are on a medium, whole: that of each stamp.
fn kept(image: &MediumImage, history: &History, sectors: u64) -> BTreeSet<u64> {
    let writes = SessionWrites::from_history(history, true);
    let there = seen(image, history, &writes);
    let whole = |record: &u64| (0..sectors).all(|it| there.get(&(record * 16 + it)) == Some(&Some(1 + record * 2)));
    (0..20).filter(whole).collect()
}

fn answer(code: i32, printed: String) -> io::Result<CheckOutput> {
    Ok(CheckOutput { code: Some(code), died: None, printed, unmountable: None, fault: None })
}

/// A check that says that each promised record must be there.
fn records(lies: bool) -> (CrashResults, Option<ShrinkResult>) {
    let (stack, history) = session(lies, 8);
    let check = |_: usize, image: &MediumImage, promises: &[&str]| -> io::Result<CheckOutput> {
        let there = kept(image, &history, 8);
        let gone = (0..promises.len() as u64).filter(|record| !there.contains(record)).count();
        answer(if gone > 0 { 11 } else { 0 }, format!("{gone} are gone"))
    };
    let trials = TrialOptions { orders: 3, workers: 3, ..options(100) };
    let outcome = trials.run(&history, &stack, &check, &|| ()).unwrap();
    let shrunk = outcome.first.last_key_value().map(|(_, (state, image))| {
        let tried = outcome.tried.iter().find(|tried| tried.state == *state).unwrap();
        let promises: Vec<&str> = history.promises_until(Instant::FAR).collect();
        shrink_losses(&outcome.writes, &promises, tried, image, &check).unwrap()
    });
    (outcome, shrunk)
}

/// A page of sixteen sectors that a cut leaves in part is found by a check that looks for one, at one cut in ten or more.
#[test]
fn a_tenth_of_the_cuts_tears_a_page() {
    let (stack, history) = session(false, 16);
    let writes = SessionWrites::from_history(&history, true);
    let check = |_: usize, image: &MediumImage, _: &[&str]| {
        let there = seen(image, &history, &writes);
        let part = |page: u64| (1..16).contains(&(0..16).filter(|it| there.contains_key(&(page * 16 + it))).count());
        answer(if (0..20).any(part) { 1 } else { 0 }, String::new())
    };
    let outcome = options(300).run(&history, &stack, &check, &|| ()).unwrap();
    let torn = outcome.tried.iter().filter(|tried| tried.is_bad()).count();
    assert!(torn >= 30, "{torn} of 300 cuts tear a page");
    assert!(outcome.partial as usize >= torn, "{} writes are there in part", outcome.partial);
    let ends = |it: &&CrashTrial| it.case.why == InstantReason::Flushed;
    assert!(!outcome.tried.iter().filter(ends).any(CrashTrial::is_bad), "a flush is over when its sectors are there");
}

/// Nothing is flushed and nothing comes to the disk while the workload runs: all that it promised is lost.
#[test]
fn a_program_that_flushes_nothing_loses_all_that_it_promised() {
    let (stack, mut history) = session(false, 8);
    // The same writes come when the workload is over.
    let end = Instant::ZERO + Span::from_millis(900);
    let shift = |at: Instant| at + Span::from_secs(1);
    for event in &mut history.events {
        match event {
            HistoryEvent::Taken(at, _) => *at = shift(*at),
            HistoryEvent::Over(_, over) => {
                (over.submitted, over.finished) = (shift(over.submitted), shift(over.finished));
            }
            HistoryEvent::Landed(landing) => {
                (landing.from, landing.to) = (shift(landing.from), shift(landing.to));
                (landing.run.from, landing.run.to) = (shift(landing.run.from), shift(landing.run.to));
            }
            HistoryEvent::Changed(..) => {}
        }
    }
    history.marks.iter_mut().filter(|it| it.1 == HistoryMark::End).for_each(|it| it.0 = end);
    // All of them at the very end: hardly a cut at any time would come after them.
    let said = history.marks.len() - 2;
    for place in 0..said {
        history.marks[1 + place].0 = at(end.nanos() - (said - place) as u64);
    }
    let first = history.marks[1].0;
    let check = |_: usize, image: &MediumImage, promises: &[&str]| {
        let lost = promises.len() - kept(image, &history, 8).len().min(promises.len());
        answer(if lost > 0 { 11 } else { 0 }, format!("{lost} of {} are lost", promises.len()))
    };
    let outcome = options(60).run(&history, &stack, &check, &|| ()).unwrap();
    assert_eq!(outcome.tried.len(), 60);
    for tried in &outcome.tried {
        let all = format!("{0} of {0} are lost", tried.case.promises);
        assert_eq!((tried.is_bad(), &tried.finding.words), (tried.case.at >= first, &all), "{:?}", tried.case);
    }
    let after = outcome.tried.iter().filter(|tried| tried.case.why == InstantReason::Promised).count();
    assert!(after == 15 && outcome.disk_broke == 0, "{after} cuts just after a promise");
}

/// A lying drive loses records at once; a program that promises only to keep those that are old is judged by them.
#[test]
fn promises_younger_than_a_program_vouches_for_may_be_lost() {
    let (stack, history) = session(true, 8);
    let check = |_: usize, image: &MediumImage, promises: &[&str]| {
        let there = kept(image, &history, 8);
        answer(if (0..promises.len() as u64).all(|it| there.contains(&it)) { 0 } else { 11 }, String::new())
    };
    let run = |may_lose| TrialOptions { may_lose, ..options(200) }.run(&history, &stack, &check, &|| ());
    let counts = |outcome: &CrashResults| {
        let of = |verdict| outcome.tried.iter().filter(|tried| tried.finding.verdict == verdict).count();
        (of(CrashVerdict::LostAllowed), of(CrashVerdict::LostPromised))
    };
    let (strict, some) = (run(Span::ZERO).unwrap(), run(Span::from_millis(20)).unwrap());
    let ((none, lost), (allowed, still)) = (counts(&strict), counts(&some));
    assert_eq!((none, allowed + still), (0, lost), "the same cuts lose something");
    assert!(allowed > 0 && still > 0, "{allowed} lost only young promises, {still} an older one");
    for tried in &some.tried {
        let due = history.promises_until(Instant::from_nanos(tried.case.at.nanos().saturating_sub(20_000_000))).count();
        assert_eq!(tried.case.due, due.min(tried.case.promises), "{:?}", tried.case);
    }
    let never = run(Span::from_secs(100)).unwrap_err();
    assert!(never.contains("no promise grew old enough to count"), "{never}");
}

/// What a check answers: whole, empty, with a record missing, with one altered. It is bad at one of them, or at none.
fn prove_check(
    history: &History,
    check: impl Fn(&BTreeSet<u64>, &[&str], bool) -> i32,
    alterations: usize,
) -> Result<CheckProof, String> {
    let writes = SessionWrites::from_history(history, true);
    let alterations = vec![("/file".to_owned(), "another byte"); alterations];
    let changes = MediumChanges { removals: vec![], alterations, early: vec![] };
    let look = |image: &MediumImage, promises: &[&str], change: Option<&&str>| {
        answer(check(&kept(image, history, 8), promises, change.is_some()), String::new()).map(Some)
    };
    validate_check(history, &writes, &changes, &look)
}

#[test]
fn a_check_that_answers_wrongly_about_known_media_is_no_judge() {
    let (_, history) = session(false, 8);
    let numbers =
        |promises: &[&str]| promises.iter().map(|it| it["record ".len()..].parse().unwrap()).collect::<Vec<u64>>();
    let there = |kept: &BTreeSet<u64>, promises: &[&str]| numbers(promises).iter().all(|it| kept.contains(it));
    let code = |good: bool| if good { 0 } else { 11 };
    let right = |kept: &BTreeSet<u64>, promises: &[&str], altered: bool| code(!altered && there(kept, promises));
    let proof = prove_check(&history, right, 3).unwrap();
    assert_eq!(proof.empty.unwrap().verdict, CrashVerdict::LostPromised);
    assert_eq!(proof.removed.unwrap().change, "the medium as it was one promise before the last");
    assert_eq!(proof.altered.unwrap().change, "another byte");
    // Without anything to alter it may judge what is missing.
    assert_eq!(prove_check(&history, right, 0).unwrap().altered, None);
    // One record may be lost, and not two.
    let one = |kept: &BTreeSet<u64>, promises: &[&str], altered: bool| {
        let lost = numbers(promises).iter().filter(|it| !kept.contains(it)).count();
        if altered || lost > 1 { 11 } else { 10 * lost as i32 }
    };
    assert_eq!(
        prove_check(&history, one, 3).unwrap().removed.unwrap().change,
        "the medium as it was 2 promises before the last"
    );
    // A check that asks for no record beyond those that it knows notices one that is missing on an earlier medium.
    let known = |kept: &BTreeSet<u64>, promises: &[&str], altered: bool| {
        code(!altered && numbers(promises).iter().all(|it| *it >= 20 || kept.contains(it)))
    };
    assert_eq!(
        prove_check(&history, known, 3).unwrap().removed.unwrap().change,
        "the medium as it was one promise before the last"
    );
    type Wrong<'a> = (&'a dyn Fn(&BTreeSet<u64>, &[&str], bool) -> i32, &'a str);
    let wrong: [Wrong<'_>; 8] = [
        (&|_, _, _| 11, "the check fails on the whole medium"),
        (
            &|kept, promises, altered| if kept.is_empty() { 11 } else { right(kept, promises, altered) },
            "when nothing was promised",
        ),
        (
            &|_, _, _| 0,
            "the check passes on the medium from before the workload, on which all of the 20 promises are lost",
        ),
        (
            &|kept, promises, altered| code(!altered && (promises.is_empty() || !kept.is_empty())),
            "a promised record is missing",
        ),
        (&|kept, promises, _| code(there(kept, promises)), "the check does not notice altered data"),
        // "Lost, but allowed" of everything, of one record, of altered ones.
        (
            &|kept, promises, altered| if right(kept, promises, altered) == 0 { 0 } else { 10 },
            "all of the 20 promises are lost: lost, but allowed",
        ),
        (
            &|kept, promises, altered| match right(kept, promises, altered) {
                0 => 0,
                _ if kept.is_empty() || altered => 11,
                _ => 10,
            },
            "a promised record is missing",
        ),
        (
            &|kept, promises, altered| if altered { 10 } else { right(kept, promises, altered) },
            "the check does not notice altered data",
        ),
    ];
    for (check, said) in wrong {
        let error = prove_check(&history, check, 3).unwrap_err();
        assert!(error.contains(said) && error.contains("expected exit code"), "{said}: {error}");
    }
}

/// A change of the file of a record, for checks that answer by what is whole.
#[derive(Clone, Copy)]
struct Without(u64);

impl std::fmt::Display for Without {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "/r{} removed", self.0)
    }
}

/// A record of an early promise is taken away: a check of the newest one alone notices that at its promise, and no more at the end.
#[test]
fn a_check_that_looks_at_the_newest_record_alone_is_no_judge() {
    let (_, history) = session(false, 8);
    let writes = SessionWrites::from_history(&history, true);
    let said: Vec<Instant> =
        history.marks.iter().filter(|it| matches!(it.1, HistoryMark::Said(_))).map(|it| it.0).collect();
    let at = |record: u64, change| EarlyChange { at: said[record as usize], promises: record as usize + 1, change };
    let prove_with = |good: &dyn Fn(&BTreeSet<u64>, &[u64]) -> bool| {
        let look = |image: &MediumImage, promises: &[&str], change: Option<&Without>| {
            let mut there = kept(image, &history, 8);
            if let Some(change) = change {
                there.remove(&change.0);
            }
            let promised: Vec<u64> = promises.iter().map(|it| it["record ".len()..].parse().unwrap()).collect();
            answer(if good(&there, &promised) { 0 } else { 11 }, String::new()).map(Some)
        };
        // Nobody looked at the second of them when it was new.
        let early = vec![at(3, Without(3)), at(4, Without(77)), at(9, Without(9))];
        let alterations = [19, 3, 77].map(|it| (format!("/r{it}"), Without(it))).to_vec();
        validate_check(&history, &writes, &MediumChanges { removals: vec![Without(19)], alterations, early }, &look)
    };
    let proof = prove_with(&|there, promised| promised.iter().all(|it| there.contains(it))).unwrap();
    let early: Vec<&str> = proof.early.iter().map(|it| it.change.as_str()).collect();
    assert_eq!(early, ["/r3 removed", "/r9 removed"]);
    assert_eq!(proof.unnoticed, ["/r77"], "named, for it could hold something");
    let newest = prove_with(&|there, promised| promised.last().is_none_or(|it| there.contains(it))).unwrap_err();
    assert!(
        newest.contains("forgets an earlier promise: it notices /r3 removed as long as there are 4 promises"),
        "{newest}"
    );
    // It counts lines, and passes with a lost file: the promise that was added does not save it.
    let counts = prove_with(&|there, promised| promised.len() < 21 && (promised.is_empty() || !there.is_empty()));
    assert!(counts.unwrap_err().contains("a promised record is missing"));
}

/// A workload that promises nothing: nothing can be lost, but something can be broken.
#[test]
fn without_promises_a_check_must_notice_what_is_altered() {
    let (_, mut history) = session(false, 8);
    history.marks.retain(|(_, mark)| !matches!(mark, HistoryMark::Said(_)));
    let proof = prove_check(&history, |_, _, altered| i32::from(altered), 2).unwrap();
    assert!(proof.empty.is_none() && proof.removed.is_none() && proof.altered.is_some());
    assert!(prove_check(&history, |_, _, _| 0, 2).unwrap_err().contains("does not notice altered data"));
    assert!(prove_check(&history, |_, _, _| 0, 0).unwrap_err().contains("nothing can be lost"));
}

/// Each of many lost records is a reason to fail by itself.
#[test]
fn of_losses_that_each_suffice_the_latest_is_named() {
    let (stack, history) = session(false, 8);
    let check = |_: usize, image: &MediumImage, promises: &[&str]| {
        let there = kept(image, &history, 8);
        answer(if (0..promises.len() as u64).all(|it| there.contains(&it)) { 0 } else { 11 }, String::new())
    };
    let outcome = options(60).run(&history, &stack, &check, &|| ()).unwrap();
    let last = outcome.tried.last().unwrap().clone();
    let whole = |write: &SessionWrite| LostWrite { write: *write, parts: vec![write.run] };
    let all: Vec<LostWrite> = outcome.writes.accepted_by(last.case.at).map(whole).collect();
    let image = MediumImage::without_writes(&outcome.writes, last.case.at, &all);
    let finding = check(0, &image, &["one"]).unwrap().to_finding().unwrap();
    let promises: Vec<&str> = history.promises_until(Instant::FAR).collect();
    let trial = CrashTrial { finding, ..last.clone() };
    let Ok(ShrinkResult::To { lost, of, .. }) = shrink_losses(&outcome.writes, &promises, &trial, &image, &check)
    else {
        panic!("it can be made smaller")
    };
    let latest = 1 + 2 * (last.case.promises as u64 - 1);
    assert_eq!(lost.left.iter().map(|it| it.write.stamp).collect::<Vec<_>>(), [latest]);
    assert!(of == all.len() && of > 10, "{of}");
}

/// A promise that is made before its flush: no lost write explains it, and the flush that keeps it is found.
#[test]
fn the_flush_that_would_have_kept_a_promise_is_found() {
    let (stack, mut history) = session(false, 8);
    let ends = |history: &History| history.marks.iter().map(|it| it.0).collect::<Vec<_>>();
    let kept_later = ends(&history);
    // Each record is promised when the one before it was flushed: before it was written.
    let said = history.marks.len() - 2;
    for place in 1..=said {
        history.marks[place].0 = if place == 1 { at(1) } else { kept_later[place - 1] };
    }
    let check = |_: usize, image: &MediumImage, promises: &[&str]| {
        let there = kept(image, &history, 8);
        answer(if (0..promises.len() as u64).all(|it| there.contains(&it)) { 0 } else { 11 }, String::new())
    };
    let outcome = options(60).run(&history, &stack, &check, &|| ()).unwrap();
    let worst = outcome.tried.iter().find(|tried| tried.is_bad() && tried.case.why == InstantReason::Flushed).unwrap();
    let image = MediumImage::without_writes(&outcome.writes, worst.case.at, &[]);
    let promises: Vec<&str> = history.promises_until(Instant::FAR).collect();
    let shrunk = shrink_losses(&outcome.writes, &promises, worst, &image, &check).unwrap();
    assert!(matches!(shrunk, ShrinkResult::NotLost { .. }), "{shrunk:?}");
    // A check that wants records beyond the promised ones passes at a later flush, or at none.
    for more in 0..=said + 1 - worst.case.promises {
        let stricter = |_: usize, image: &MediumImage, promises: &[&str]| {
            let there = kept(image, &history, 8);
            let wanted = (promises.len() + more) as u64;
            answer(if (0..wanted).all(|it| there.contains(&it)) { 0 } else { 11 }, String::new())
        };
        let found = first_passing_flush(&outcome.writes, &history, &promises, worst, &stricter).unwrap();
        let flushed = kept_later[..=said].get(worst.case.promises + more).copied();
        assert_eq!(found, flushed, "{more} more: {:?}", worst.case);
    }
}

#[test]
fn a_drive_that_keeps_its_word_loses_nothing_and_one_that_lies_is_caught() {
    let (honest, shrunk) = records(false);
    assert!(!honest.tried.iter().any(CrashTrial::is_bad) && shrunk.is_none() && honest.disk_broke == 0);
    assert_eq!(honest.tried.len(), 400);
    assert!(honest.checked < 400 && honest.checked > 60, "{} different", honest.checked);
    let (liar, shrunk) = records(true);
    let bad = liar.tried.iter().filter(|tried| tried.is_bad() && tried.case.order.is_none()).count();
    assert!(bad > 20 && liar.disk_broke as usize >= bad, "{bad} bad, the disk lied at {}", liar.disk_broke);
    // The standards know no liar: no order that they allow loses flushed data.
    assert!(!liar.tried.iter().any(|tried| tried.is_bad() && tried.case.order.is_some()));
    let Some(ShrinkResult::To { lost, finding, .. }) = shrunk else { panic!("{shrunk:?}") };
    assert_eq!((lost.left.len(), lost.complete, finding.verdict), (1, true, CrashVerdict::LostPromised));
    assert!(lost.left[0].write.durable < Instant::FAR, "it was flushed, as far as anybody knew");
    let (again, _) = records(true);
    let verdicts = |outcome: &CrashResults| outcome.tried.iter().map(|tried| tried.finding.clone()).collect::<Vec<_>>();
    assert_eq!(verdicts(&liar), verdicts(&again));
}

#[test]
fn a_check_that_cannot_run_ends_it() {
    let history = made();
    let stack = Stack::bare(testing::SmallDrive::default().profile());
    let broken = |_: usize, _: &MediumImage, _: &[&str]| Err(io::Error::other("no disk space"));
    assert_eq!(options(10).run(&history, &stack, &broken, &|| ()).unwrap_err(), "no disk space");
}
