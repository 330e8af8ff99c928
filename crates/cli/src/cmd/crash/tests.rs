//! Tests of the text and JSON of `seekwise crash` on a session written by hand, whose numbers can be counted: no disk is served and
//! nothing is mounted. The expected outputs are the files in `tests/`.

#![allow(clippy::disallowed_methods, reason = "SEEKWISE_UPDATE writes texts beside the test")]

use clap::Parser;
use seekwise::crash::{
    ByteDifference, ChainLink, Completion, CrashCase, CrashFinding, CrashVerdict, History, HistoryEvent, HistoryMark,
    InstantReason, Landing, LandingKind, LostWrite, MemberRole, MinimalSet, NameChange, NoticedChange, Op,
    RecoveryLevel, Request, SessionWrites, StandingState, Status, TrackRun, UnflushedName, UnflushedPages,
};
use seekwise::power_cut::BlamedLevel;

use super::*;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: args::CrashArgs,
}

/// The options and the plan of a command line.
fn args_and_plan(more: &[&str]) -> (args::CrashArgs, CrashPlan) {
    let words = ["crash", "--on", "barracuda-7200.7", "--workload", "work", "--check", "check"];
    let args = Words::try_parse_from(words.iter().chain(more)).map_err(|why| why.to_string()).unwrap().args;
    let Ok(plan) = CrashPlan::from_args(&args, &Files::default()) else { panic!("it can be planned") };
    (args, plan)
}

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn write(stamp: u64, lba: u64, sectors: u32) -> Request {
    Request { op: Op::Write, lba, sectors, stamp, ..Request::NONE }
}

fn over(request: Request, from: u64, to: u64) -> HistoryEvent {
    let status = Status::Done;
    HistoryEvent::Over(request, Completion { status, submitted: ms(from), finished: ms(to), ..Completion::NONE })
}

fn landing(stamp: u64, lba: u64, sectors: u32, from: u64, to: u64) -> Landing {
    let (from, to) = (ms(from), ms(to));
    let run = TrackRun { sector: lba, sectors, from, to };
    let (role, kind) = (MemberRole::Copy(0), LandingKind::Landed);
    Landing { member: 0, role, lba, sectors, stamp, number: 0, from, to, kind, sector: lba, run }
}

/// Ten to a hundred and ten milliseconds: three writes, of which a flush covers the first; two promises.
fn history() -> History {
    let flush = Request { op: Op::Flush, stamp: 3, ..Request::NONE };
    let (first, second, third) = (write(1, 0, 8), write(2, 100, 16), write(4, 200, 8));
    History {
        events: vec![
            HistoryEvent::Taken(ms(20), first),
            over(first, 20, 21),
            HistoryEvent::Taken(ms(30), flush),
            HistoryEvent::Landed(landing(1, 0, 8, 32, 36)),
            over(flush, 30, 40),
            HistoryEvent::Taken(ms(50), second),
            over(second, 50, 52),
            HistoryEvent::Taken(ms(90), third),
        ],
        marks: vec![
            (ms(10), HistoryMark::Begin),
            (ms(45), HistoryMark::Said("one".to_owned())),
            (ms(60), HistoryMark::Said("two".to_owned())),
            (ms(110), HistoryMark::End),
        ],
        ..History::default()
    }
}

fn finding(verdict: CrashVerdict, words: &str) -> CrashFinding {
    CrashFinding { verdict, words: words.to_owned() }
}

fn trial(at: u64, why: InstantReason, order: Option<u32>, state: usize, found: CrashFinding) -> CrashTrial {
    let promises = history().promises_until(ms(at)).count();
    let case = CrashCase { at: ms(at), why, order, promises, due: promises };
    CrashTrial { case, state, finding: found, readable: None }
}

fn lost(report: &CrashResults, stamp: u64, parts: &[(u64, u64)]) -> LostWrite {
    let write = *report.writes.accepted_by(Instant::FAR).find(|write| write.stamp == stamp).unwrap();
    LostWrite { write, parts: parts.to_vec() }
}

fn noticed(change: &str) -> NoticedChange {
    NoticedChange { change: change.to_owned(), finding: finding(CrashVerdict::Corrupt, "bad") }
}

/// Five cuts and one other order; the second cut lost half of the second write and the third write.
fn report() -> CrashReport {
    let history = history();
    let writes = SessionWrites::from_history(&history, true);
    let gone = || finding(CrashVerdict::LostPromised, "record two is not there.");
    let mut unreadable = trial(95, InstantReason::Drawn, None, 3, finding(CrashVerdict::Corrupt, "a hole"));
    unreadable.readable = Some(CrashVerdict::Consistent);
    let tried = vec![
        trial(40, InstantReason::Flushed, None, 0, finding(CrashVerdict::Consistent, "")),
        trial(34, InstantReason::Landing, None, 1, finding(CrashVerdict::LostAllowed, "older")),
        trial(61, InstantReason::Promised, None, 2, gone()),
        unreadable,
        trial(100, InstantReason::Drawn, None, 0, finding(CrashVerdict::Consistent, "")),
        trial(61, InstantReason::Promised, Some(4), 2, gone()),
    ];
    let image = MediumImage::without_writes(&writes, ms(61), []);
    let outcome = CrashResults {
        tried,
        checked: 4,
        disk_broke: 0,
        partial: 2,
        broken_by: Vec::new(),
        writes,
        first: [(CrashVerdict::LostPromised, (2, image))].into(),
        media: Vec::new(),
    };
    let left = vec![lost(&outcome, 2, &[(108, 116)]), lost(&outcome, 4, &[(200, 208)])];
    let shrunk = ShrinkResult::To { lost: MinimalSet { left, trials: 7, complete: true }, of: 3, finding: gone() };
    let proof = CheckProof {
        empty: Some(finding(CrashVerdict::LostPromised, "nothing")),
        removed: Some(noticed("without b")),
        altered: Some(noticed("a byte of a")),
        unnoticed: vec!["/c".to_owned()],
        early: vec![noticed("early a"), noticed("early b")],
    };
    let case = outcome.tried[2].clone();
    let history = Arc::new(history);
    let mut recorded = SessionRecord { history, receipt: Default::default(), pages: Default::default(), sent: None };
    recorded.receipt.flushes = 9;
    let purposes = [(2, "the journal".to_owned())].into();
    // Bytes of a program that a terminal would obey.
    let difference = ByteDifference { offset: 55_300, count: 3, stands: b"\x1b[2".to_vec(), lost: b"<b>".to_vec() };
    let standing = StandingData { difference, state: StandingState::Earlier, file: Some(("/a".to_owned(), 4)) };
    let standing = [(2, standing)].into();
    CrashReport {
        version: None,
        recorded,
        proof,
        outcome,
        worst: Some(WorstMedium { tried: case, shrunk, lost: [1, 2].into(), purposes, standing, received_later: None }),
        unflushed: None,
        recoveries: None,
        kept: None,
    }
}

/// Asserts that the text equals the file of that name; SEEKWISE_UPDATE=1 writes the file.
fn assert_equals_file(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cmd/crash/tests").join(name);
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{name}");
}

fn text_of(more: &[&str], report: &CrashReport) -> String {
    let (args, plan) = args_and_plan(more);
    text::format_report(&args, &plan, report, 120)
}

#[test]
fn a_session_by_hand_is_told_with_its_own_figures() {
    assert_equals_file("lost.txt", &text_of(&[], &report()));
}

#[test]
fn lost_writes_that_are_not_the_cause_and_what_came_too_late_are_told() {
    let mut report = report();
    let file = UnflushedPages { file: "a".into(), length: 4096, ranges: vec![(0, 4096)], named: true, first: None };
    let ranges = vec![(0, 10), (20, 30), (40, 50), (60, 70), (80, 90)];
    let first = Some(ByteDifference { offset: 0, count: 10, stands: Vec::new(), lost: b"one\ntwo\n\0\0".to_vec() });
    let parts = UnflushedPages { file: "d/b".into(), length: 100, ranges, named: false, first };
    let empty = UnflushedPages { file: "e".into(), length: 0, ranges: Vec::new(), named: false, first: None };
    let name = |name: &str, change| UnflushedName { name: name.into(), change };
    let names = vec![
        name("d/b", NameChange::Missing { stands_as: "d/b.tmp".into() }),
        name("c", NameChange::Earlier { stands_as: "c.new".into() }),
        name("d/new", NameChange::Absent { folder: true }),
        name("old", NameChange::Remains),
    ];
    let mut files = vec![file.clone(), parts, empty];
    files.extend((0..11).map(|at| UnflushedPages { file: format!("n{at}").into(), ..file.clone() }));
    report.unflushed = Some(UnflushedState { files, names: names.clone() });
    report.recorded.pages.left_out = 3;
    let found = finding(CrashVerdict::LostPromised, "record two is not there.");
    report.worst.as_mut().unwrap().shrunk = ShrinkResult::NotLost { of: 3, finding: found };
    report.worst.as_mut().unwrap().received_later =
        Some((ms(86), UnflushedState { files: vec![file], names: names[3..].to_vec() }));
    report.outcome.disk_broke = 2;
    let (level, setting, value) = ("drive".to_owned(), "cache.flush".to_owned(), "ignore".to_owned());
    report.outcome.broken_by = vec![BlamedLevel { level, setting, value }];
    assert_equals_file("late.txt", &text_of(&[], &report));
}

#[test]
fn a_disk_that_broke_its_promises_without_harm_is_told_with_a_slower_speed() {
    let mut report = report();
    report.outcome.tried.retain(|tried| tried.state == 0);
    report.outcome.disk_broke = 1;
    let found = finding(CrashVerdict::Consistent, "");
    report.worst.as_mut().unwrap().shrunk = ShrinkResult::NotAgain(found);
    report.proof = CheckProof { empty: None, removed: None, altered: None, unnoticed: Vec::new(), early: Vec::new() };
    assert_equals_file("slower.txt", &text_of(&["--speed", "0.5", "--set", "driver.flush=drop"], &report));
}

/// The report with cuts of three recoveries: one failed, one was lost with its second cut.
fn report_with_recoveries() -> CrashReport {
    let mut report = report();
    let worst = report.worst.take().unwrap();
    report.outcome.first.clear();
    report.outcome.tried.retain(|tried| tried.state == 0);
    let writes = Arc::new(report.outcome.writes.clone());
    let link = |at: u64, why| {
        let case = CrashCase { at: ms(at), why, order: None, promises: 1, due: 1 };
        let image = MediumImage::without_writes(&writes, ms(at), []);
        ChainLink { history: Arc::clone(&report.recorded.history), writes: Arc::clone(&writes), case, image }
    };
    let (first, second) = (link(45, InstantReason::Promised), link(61, InstantReason::Flushed));
    let lost = trial(61, InstantReason::Flushed, None, 5, finding(CrashVerdict::LostPromised, "it is gone"));
    let failed = trial(45, InstantReason::Promised, None, 0, finding(CrashVerdict::Corrupt, "ended with exit code 3"));
    let level = RecoveryLevel {
        recoveries: 3,
        failed: 1,
        took: Span::from_nanos(500_000_000),
        tried: vec![lost.clone(), trial(70, InstantReason::Drawn, None, 0, finding(CrashVerdict::Consistent, ""))],
        checked: 1,
        disk_broke: 0,
    };
    let lost = BadChain { links: vec![first.clone(), second], trial: lost, recovery_failed: false };
    let failed = BadChain { links: vec![first], trial: failed, recovery_failed: true };
    let first = [(CrashVerdict::LostPromised, lost), (CrashVerdict::Corrupt, failed)].into();
    let results = RecoveryResults { levels: vec![level], first, found_after: Some(9) };
    CrashReport { recoveries: Some(RecoveryReport { results, worst: Some(worst) }), ..report }
}

#[test]
fn a_chain_of_cuts_is_told_with_each_of_them() {
    let report = report_with_recoveries();
    let more = ["--recover", "open", "--depth", "2", "--recovery-cuts", "7"];
    assert_equals_file("chain.txt", &text_of(&more, &report));
    let (args, plan) = args_and_plan(&more);
    let value = text::report_json(&args, &plan, &report);
    assert_equals_file("chain.json", &serde_json::to_string_pretty(&value["recovery"]).unwrap());
}

#[test]
fn json_of_a_session_by_hand_has_its_own_figures() {
    let (args, plan) = args_and_plan(&["--may-lose", "2s"]);
    let mut value = text::report_json(&args, &plan, &report());
    for key in ["version", "build"] {
        value.as_object_mut().unwrap().remove(key);
    }
    assert_equals_file("lost.json", &serde_json::to_string_pretty(&value).unwrap());
}

/// The cut is at 61 ms. Of the report's writes 2 and 4 are the fewest; 4 came after the cut, and is shown in its place.
#[test]
fn the_timeline_has_the_cut_between_its_events() {
    let report = report();
    let session = timeline::CutSession::of_workload(&report, report.worst.as_ref().unwrap());
    assert_eq!(session.heading(), "Around the cut at 0.061000 s");
    let rows = session.rows();
    let at =
        |words: &str| rows.iter().position(|row| row[0].contains(words)).unwrap_or_else(|| panic!("{words}: {rows:?}"));
    let order = ["flush", "promise: one", "promise: two", "the power fails"].map(at);
    assert!(order.is_sorted(), "{rows:?}");
    assert_eq!(rows[at("the power fails")][1..], ["0.061000", "+0.000"]);
    assert!(rows[at("promise: two")][2] == "-1.000" && rows[at("write 2 ")][0].contains("LOST"), "{rows:?}");
    assert!(rows[at("write 1 ")][0].ends_with("lost, although it was flushed or forced"), "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row[0] == "the power fails").count(), 1);
}

/// The chain ends in a cut of a recovery at 61 ms, whose history is that of the report.
#[test]
fn the_timeline_of_a_chain_is_that_of_its_last_recovery() {
    let report = report_with_recoveries();
    let session = timeline::CutSession::of_worst_chain(report.recoveries.as_ref().unwrap()).unwrap();
    assert_eq!(session.heading(), "Around the cut at 0.061000 s of the recovery from the cut at 0.045000 s");
    let rows = session.rows();
    let has = |words: &str| rows.iter().any(|row| row[0].contains(words));
    assert!(has("the recovery begins") && has("the recovery prints: two") && has("write 2 "), "{rows:?}");
    assert!(has("LOST") && has("the power fails") && !has("promise:"), "{rows:?}");
}
