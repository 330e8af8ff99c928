//! A driver above a scripted device: which commands it sends and when, and its completions, to the nanosecond. The device
//! takes all commands at once, each for the time in its script, and obeys resets and aborts at once. Commands fail, hang or
//! end late; requests are merged, split, plugged and ordered.
//!
//! A time-out is 100 ms, with two retries: a command that always hangs is sent three times.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Queuing, Request, Status};
use seekwise_disk::host::driver::{Driver, DriverSpec, Plug, PowerOffPolicy, SchedulerSpec};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::time::{Instant, Span};

use super::{PLAIN, completions, read, request, write};

/// Events at the device, each with its instant in milliseconds.
type Events = Rc<RefCell<Vec<(u64, String)>>>;

/// The course of a command: the nanoseconds until it ends, and its status; `None` if it hangs.
pub(super) type Course = Option<(u64, Status)>;

const MS: u64 = 1_000_000;

/// By first sector: the courses of the first command there, the second, and so on. All others are done in 10 ms.
type Script = HashMap<u64, Vec<Course>>;

/// A command in flight.
struct InFlight {
    /// When it ends; `FAR` if it hangs.
    end: Instant,
    status: Status,
    submitted: Instant,
    request: Request,
}

struct ScriptedDevice {
    queuing: Queuing,
    physical: u32,
    script: Script,
    in_flight: Vec<InFlight>,
    ready: VecDeque<Completion>,
    events: Events,
}

impl ScriptedDevice {
    fn record_event(&self, now: Instant, event: String) {
        assert_eq!(now.nanos() % MS, 0, "{event}: a whole millisecond");
        self.events.borrow_mut().push((now.nanos() / MS, event));
    }

    /// Ends the commands for which `ends` is true, in the order in which they came: with `status`, or with that of the script.
    fn end_commands(&mut self, now: Instant, status: Option<Status>, ends: impl Fn(&InFlight) -> bool) {
        let (ended, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.in_flight).into_iter().partition(ends);
        self.in_flight = left;
        for InFlight { status: scripted_status, submitted, request, .. } in ended {
            let mut parts = Parts::NONE;
            parts.add(Part::Transfer, now.since(submitted));
            let (tag, effort) = (request.tag, Effort { commands: 1, ..Effort::NONE });
            let status = status.unwrap_or(scripted_status);
            self.ready.push_back(Completion { tag, status, submitted, finished: now, parts, effort });
        }
    }
}

impl Device for ScriptedDevice {
    fn limits(&self, _: u8) -> Limits {
        Limits {
            sectors: 1 << 20,
            logical: 512,
            physical: self.physical,
            max_transfer: 4096,
            optimal_transfer: 0,
            depth: 32,
            fua: true,
            volatile_cache: true,
            queuing: self.queuing,
            computes: false,
        }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.record_event(now, format!("{}+{}", request.lba, request.sectors));
        let courses = self.script.entry(request.lba).or_default();
        let course = if courses.is_empty() { Some((10 * MS, Status::Done)) } else { courses.remove(0) };
        let (end, status) =
            course.map_or((Instant::FAR, Status::Done), |(ns, status)| (now + Span::from_nanos(ns), status));
        self.in_flight.push(InFlight { end, status, submitted: now, request });
        Ok(self.poll_timeout().unwrap_or(Instant::FAR))
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        match *control {
            Control::Reset => {
                self.record_event(now, "reset".to_owned());
                self.end_commands(now, Some(Status::Aborted), |_| true);
            }
            Control::PowerCut => self.end_commands(now, Some(Status::PowerLost), |_| true),
            Control::Abort(tag) => {
                let aborted = self.in_flight.iter().find(|it| it.request.tag == tag).ok_or(ControlError::UnknownTag)?;
                self.record_event(now, format!("abort {}", aborted.request.lba));
                self.end_commands(now, Some(Status::Aborted), |it| it.request.tag == tag);
            }
            _ => {}
        }
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.iter().map(|it| it.end).min().filter(|&at| at != Instant::FAR)
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.end_commands(now, None, |it| it.end <= now);
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
    fn setting_use(&self, _: Instant) -> SettingUse {
        SettingUse::NOTHING
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}
}

/// A driver above a scripted device.
pub(super) struct Scene {
    pub(super) driver: LayeredDevice<Driver>,
    events: Events,
}

pub(super) const DONE: Status = Status::Done;
const HANGS: Course = None;

/// Ends without an error after this time.
pub(super) const fn done_after_ms(ms: u64) -> Course {
    Some((ms * MS, DONE))
}

impl Scene {
    pub(super) fn new(spec: DriverSpec, queuing: Queuing, script: &[(u64, &[Course])]) -> Scene {
        let events = Events::default();
        let script = script.iter().map(|(lba, courses)| (*lba, courses.to_vec())).collect();
        let (in_flight, ready) = (Vec::new(), VecDeque::new());
        let physical = 4096;
        let below = ScriptedDevice { queuing, physical, script, in_flight, ready, events: events.clone() };
        Scene { driver: Driver::build_above(spec, Box::new(below)), events }
    }

    pub(super) fn submit(&mut self, ms: u64, requests: &[Request]) {
        let now = Instant::from_nanos(ms * MS);
        for &request in requests {
            self.driver.submit(now, request).expect("room");
        }
    }

    /// All completions: tag, status, end and time in the driver in milliseconds, number of commands.
    pub(super) fn completions(&mut self) -> Vec<(u32, Status, u64, u64, u16)> {
        let done = completions(&mut self.driver);
        for completion in &done {
            assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted), "{completion:?}");
        }
        let ms = |span: Span| span.nanos() / MS;
        let columns = |it: &Completion| {
            let driver = ms(it.parts.get(Part::Driver));
            (it.tag, it.status, ms(it.finished.since(Instant::ZERO)), driver, it.effort.commands)
        };
        done.iter().map(columns).collect()
    }

    pub(super) fn events(&self) -> Vec<(u64, String)> {
        self.events.borrow().clone()
    }
}

pub(super) fn expected_events(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(ms, event)| (*ms, (*event).to_owned())).collect()
}

/// A driver that sends four commands at once, with a time-out of 100 ms and two retries.
fn spec_with_timeout() -> DriverSpec {
    DriverSpec { depth: 4, timeout: Some(Span::from_millis(100)), retries: 2, ..PLAIN }
}

#[test]
fn a_command_that_hangs_is_aborted_alone_above_scsi_and_fails_the_third_time() {
    for queuing in [Queuing::Scsi, Queuing::None] {
        let mut scene =
            Scene::new(spec_with_timeout(), queuing, &[(0, &[HANGS, HANGS, HANGS]), (800, &[done_after_ms(95)])]);
        scene.submit(0, &[read(0, 0), read(1, 800)]);
        scene.submit(20, &[read(2, 1600)]);
        assert_eq!(
            scene.completions(),
            [(2, DONE, 30, 0, 1), (1, DONE, 95, 0, 1), (0, Status::Aborted, 300, 200, 3)],
            "{queuing:?}: two attempts of 100 ms are lost"
        );
        assert_eq!(
            scene.events(),
            expected_events(&[
                (0, "0+8"),
                (0, "800+8"),
                (20, "1600+8"),
                (100, "abort 0"),
                (100, "0+8"),
                (200, "abort 0"),
                (200, "0+8"),
                (300, "abort 0"),
            ])
        );
    }
}

#[test]
fn a_reset_above_an_ata_queue_aborts_all_and_counts_for_the_command_that_hung() {
    for queuing in [Queuing::Ncq, Queuing::Tcq] {
        // The second comes 50 ms later and takes 80 ms: two resets for the first abort it, and none counts as its time-out.
        let hangs = [HANGS, HANGS, done_after_ms(10)];
        let mut scene = Scene::new(
            spec_with_timeout(),
            queuing,
            &[(0, &hangs), (800, &[done_after_ms(80), HANGS, done_after_ms(60)])],
        );
        scene.submit(0, &[read(0, 0)]);
        scene.submit(50, &[read(1, 800)]);
        assert_eq!(scene.completions(), [(0, DONE, 210, 200, 3), (1, DONE, 260, 150, 3)], "{queuing:?}");
        assert_eq!(
            scene.events(),
            expected_events(&[
                (0, "0+8"),
                (50, "800+8"),
                (100, "reset"),
                (100, "0+8"),
                (100, "800+8"),
                // Both time out at this instant: a single reset serves both.
                (200, "reset"),
                (200, "0+8"),
                (200, "800+8"),
            ])
        );
    }
}

#[test]
fn a_command_aborted_by_a_reset_for_another_keeps_its_attempts() {
    // The first fails at 300 ms. The second is sent at 50 ms, and again at 100, 200 and 300. Only from 300 on it hangs itself, so
    // that its own third time-out is at 600.
    let courses = [done_after_ms(200), done_after_ms(200), done_after_ms(200), HANGS, HANGS, HANGS];
    let mut scene = Scene::new(spec_with_timeout(), Queuing::Ncq, &[(0, &[HANGS, HANGS, HANGS]), (800, &courses)]);
    scene.submit(0, &[read(0, 0)]);
    scene.submit(50, &[read(1, 800)]);
    // At 200 and at 300 ms both are overdue. The first causes the reset, which counts for it alone.
    let answers = scene.completions();
    assert_eq!(answers[0], (0, Status::Aborted, 300, 200, 3));
    assert_eq!((answers[1].0, answers[1].1), (1, Status::Aborted));
    let resets: Vec<u64> = scene.events().iter().filter(|it| it.1 == "reset").map(|it| it.0).collect();
    assert_eq!(resets, [100, 200, 300, 400, 500, 600], "three for the first, three for the second");
    assert_eq!(answers[1].2, 600);
}

#[test]
fn a_command_that_ends_at_its_time_out_is_done_and_a_nanosecond_later_it_is_aborted() {
    for (late_ns, status, finished, commands) in [(0, DONE, 100, 1), (1, Status::Aborted, 100, 1)] {
        let spec = DriverSpec { retries: 0, ..spec_with_timeout() };
        let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[Some((100 * MS + late_ns, DONE))])]);
        scene.submit(0, &[read(0, 0)]);
        assert_eq!(scene.completions(), [(0, status, finished, 0, commands)], "{late_ns} ns late");
        assert_eq!(scene.events().len(), 1 + late_ns as usize, "aborted only if it is late");
    }
}

#[test]
fn a_command_under_a_former_tag_has_its_own_time_out() {
    // With a depth of 1 the second is sent when the first is back, at 20 ms, under an equal tag.
    let spec = DriverSpec { depth: 1, retries: 1, ..spec_with_timeout() };
    let mut scene = Scene::new(spec, Queuing::Ncq, &[(0, &[done_after_ms(20)]), (800, &[HANGS, done_after_ms(99)])]);
    scene.submit(0, &[read(0, 0), read(1, 800)]);
    assert_eq!(scene.completions(), [(0, DONE, 20, 0, 1), (1, DONE, 219, 120, 2)]);
    assert_eq!(scene.events(), expected_events(&[(0, "0+8"), (20, "800+8"), (120, "reset"), (120, "800+8")]));
}

#[test]
fn retries_are_counted_to_the_last() {
    for retries in 0..4u64 {
        let spec = DriverSpec { retries: retries as u32, ..spec_with_timeout() };
        let courses = |hangs: u64| [vec![HANGS; hangs as usize], vec![done_after_ms(7)]].concat();
        let mut succeeding = Scene::new(spec, Queuing::Scsi, &[(0, &courses(retries))]);
        succeeding.submit(0, &[read(0, 0)]);
        assert_eq!(succeeding.completions(), [(0, DONE, 100 * retries + 7, 100 * retries, retries as u16 + 1)]);
        let mut failing = Scene::new(spec, Queuing::Scsi, &[(0, &courses(retries + 1))]);
        failing.submit(0, &[read(0, 0)]);
        assert_eq!(
            failing.completions(),
            [(0, Status::Aborted, 100 * (retries + 1), 100 * retries, retries as u16 + 1)]
        );
    }
}

#[test]
fn a_command_that_the_device_aborts_is_sent_again_until_it_is_done() {
    let aborted = Some((5 * MS, Status::Aborted));
    let spec = DriverSpec { timeout: None, retries: 0, ..spec_with_timeout() };
    let mut scene = Scene::new(spec, Queuing::Ncq, &[(0, &[aborted; 6])]);
    scene.submit(0, &[read(0, 0)]);
    assert_eq!(scene.completions(), [(0, DONE, 40, 30, 7)]);
    // A driver with time-outs does so, too: none of the aborts is a time-out.
    let mut scene = Scene::new(DriverSpec { retries: 0, ..spec_with_timeout() }, Queuing::Ncq, &[(0, &[aborted; 6])]);
    scene.submit(0, &[read(0, 0)]);
    assert_eq!(scene.completions(), [(0, DONE, 40, 30, 7)]);
}

#[test]
fn merged_requests_that_time_out_are_sent_again_one_by_one() {
    let spec = DriverSpec { merge: true, depth: 1, retries: 1, ..spec_with_timeout() };
    for op in [Op::Read, Op::Write] {
        let script: &[(u64, &[Course])] = &[(0, &[HANGS, done_after_ms(20)]), (8, &[done_after_ms(30)])];
        let mut scene = Scene::new(spec, Queuing::Scsi, script);
        scene.submit(0, &[request(0, op, 5_000, 8), request(1, op, 8, 8), request(2, op, 0, 8)]);
        // The merged command is sent at 10 ms and aborted at 110. The command counts for the first request by address; the
        // second waits until that one is back.
        assert_eq!(
            scene.completions(),
            [(0, DONE, 10, 0, 1), (2, DONE, 130, 110, 2), (1, DONE, 160, 130, 1)],
            "{op:?}: each at its own end"
        );
        assert_eq!(
            scene.events(),
            expected_events(&[(0, "5000+8"), (10, "0+16"), (110, "abort 0"), (110, "0+8"), (130, "8+8")])
        );
    }
}

#[test]
fn merged_requests_share_the_attempts_of_their_command() {
    // The requests are sent together once, then each alone. Request 2 hangs again, and fails at its second time-out.
    let spec = DriverSpec { merge: true, depth: 1, retries: 1, ..spec_with_timeout() };
    let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[HANGS, done_after_ms(20)]), (8, &[HANGS])]);
    scene.submit(0, &[read(0, 5_000), read(1, 0), read(2, 8)]);
    assert_eq!(scene.completions(), [(0, DONE, 10, 0, 1), (1, DONE, 130, 110, 2), (2, Status::Aborted, 230, 130, 1)]);
}

#[test]
fn an_error_of_a_merged_command_is_that_of_each_request_in_it() {
    let spec = DriverSpec { merge: true, depth: 1, ..spec_with_timeout() };
    let failed = Some((25 * MS, Status::MediumError));
    let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[failed])]);
    scene.submit(0, &[read(0, 5_000), read(1, 8), read(2, 0), read(3, 16)]);
    let error = Status::MediumError;
    assert_eq!(
        scene.completions(),
        [(0, DONE, 10, 0, 1), (2, error, 35, 10, 1), (1, error, 35, 10, 0), (3, error, 35, 10, 0)],
        "by address; the command counts for the first"
    );
}

#[test]
fn a_split_request_ends_with_its_last_part_and_its_first_error() {
    let spec = DriverSpec { max_transfer: 8, ..spec_with_timeout() };
    let failed = |ms, status| Some((ms * MS, status));
    let whole = request(0, Op::Read, 0, 24);
    // The courses of three parts; status, end and time in the driver in milliseconds, number of commands.
    type Case = ([Course; 3], (Status, u64, u64, u16));
    let cases: [Case; 6] = [
        ([done_after_ms(30), done_after_ms(10), done_after_ms(20)], (DONE, 30, 0, 3)),
        // The parts of the record are those of the last command; the time before it counts for the driver.
        ([done_after_ms(30), failed(10, Status::MediumError), done_after_ms(20)], (Status::MediumError, 30, 0, 3)),
        (
            [failed(30, Status::OutOfRange), failed(10, Status::MediumError), done_after_ms(20)],
            (Status::MediumError, 30, 0, 3),
        ),
        ([done_after_ms(10), done_after_ms(20), failed(30, Status::MediumError)], (Status::MediumError, 30, 0, 3)),
        // A part that hangs is sent again alone, after 100 ms, and takes 10 ms then.
        ([done_after_ms(30), HANGS, done_after_ms(20)], (DONE, 110, 100, 4)),
        // If the request has failed already, no part is sent again.
        ([done_after_ms(30), HANGS, failed(20, Status::MediumError)], (Status::MediumError, 100, 0, 3)),
    ];
    for ([first, second, third], (status, finished_ms, driver_ms, commands)) in cases {
        let script: &[(u64, &[Course])] = &[(0, &[first]), (8, &[second]), (16, &[third])];
        let mut scene = Scene::new(spec, Queuing::Scsi, script);
        scene.submit(0, &[whole]);
        assert_eq!(scene.completions(), [(0, status, finished_ms, driver_ms, commands)], "{script:?}");
    }
}

#[test]
fn writes_of_an_aborted_command_are_sent_as_they_were() {
    let mut scene = Scene::new(spec_with_timeout(), Queuing::Ncq, &[(0, &[HANGS]), (64, &[HANGS])]);
    scene.submit(0, &[request(0, Op::Write, 0, 16), write(1, 64)]);
    assert_eq!(scene.completions(), [(0, DONE, 110, 100, 2), (1, DONE, 110, 100, 2)]);
    let sent: Vec<String> = scene.events().into_iter().map(|it| it.1).collect();
    assert_eq!(sent, ["0+16", "64+8", "reset", "0+16", "64+8"]);
}

#[test]
fn a_driver_reports_its_longest_command_and_whether_one_was_sent_again() {
    let mut scene = Scene::new(spec_with_timeout(), Queuing::Scsi, &[(0, &[done_after_ms(60)]), (8, &[HANGS])]);
    scene.submit(0, &[read(0, 0), read(1, 16)]);
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let used = scene.driver.setting_use(at(5));
    assert_eq!((used.below, used.longest, used.again), (2, Span::from_millis(5), false));
    scene.driver.handle_timeout(at(60));
    scene.submit(70, &[read(2, 8)]);
    assert_eq!(scene.driver.setting_use(at(80)).longest, Span::from_millis(60));
    scene.driver.handle_timeout(at(169));
    assert!(!scene.driver.setting_use(at(169)).again);
    scene.driver.handle_timeout(at(170));
    let used = scene.driver.setting_use(at(170));
    assert_eq!((used.below, used.longest, used.again), (2, Span::from_millis(100), true));
}

#[test]
fn a_large_request_is_split_between_physical_sectors_where_a_command_reaches_one() {
    // First sector, length, largest command; commands. A physical sector has eight sectors.
    let cases: [(u64, u32, u32, &[&str]); 7] = [
        (0, 20, 20, &["0+20"]),
        (0, 21, 20, &["0+16", "16+5"]),
        (3, 50, 20, &["3+13", "16+16", "32+16", "48+5"]),
        (8, 16, 8, &["8+8", "16+8"]),
        (4, 16, 8, &["4+4", "8+8", "16+4"]),
        // A command of four sectors does not reach the next physical sector from everywhere. The rest fits into a command.
        (3, 8, 4, &["3+4", "7+4"]),
        (0, 8, 4, &["0+4", "4+4"]),
    ];
    for (lba, sectors, max_transfer, pieces) in cases {
        let mut scene = Scene::new(DriverSpec { max_transfer, depth: 32, ..spec_with_timeout() }, Queuing::Ncq, &[]);
        scene.submit(0, &[request(0, Op::Read, lba, sectors)]);
        assert_eq!(scene.completions(), [(0, DONE, 10, 0, pieces.len() as u16)]);
        let sent: Vec<String> = scene.events().into_iter().map(|it| it.1).collect();
        assert_eq!(sent, pieces, "{sectors} from {lba}, at most {max_transfer}");
    }
}

#[test]
fn a_plug_ends_with_its_number_of_commands_its_time_or_a_barrier() {
    let plug = Some(Plug { commands: 3, wait: Span::from_millis(3) });
    let spec = DriverSpec { plug, merge: true, timeout: None, ..spec_with_timeout() };
    let flush = request(9, Op::Flush, 0, 0);
    // Requests with their times in milliseconds; when the first command is sent, and how many are sent then.
    type Case<'a> = (&'a [(u64, Request)], (u64, usize));
    let cases: [Case<'_>; 6] = [
        (&[(0, read(0, 0)), (2, read(1, 100))], (3, 2)),
        (&[(0, read(0, 0)), (1, read(1, 100)), (2, read(2, 200))], (2, 3)),
        // Requests 0 and 1 become a single command.
        (&[(0, read(0, 0)), (1, read(1, 8)), (2, read(2, 200))], (3, 2)),
        (&[(0, read(0, 0)), (1, read(1, 8)), (2, read(2, 200)), (2, read(3, 300))], (2, 3)),
        (&[(0, read(0, 0)), (1, flush)], (1, 1)),
        // The plug holds no request back while a command is in flight: the first is sent at 3 ms, the second at 5.
        (&[(0, read(0, 0)), (5, read(1, 100))], (3, 1)),
    ];
    for (requests, (first_ms, count)) in cases {
        let mut scene = Scene::new(spec, Queuing::Ncq, &[]);
        for &(ms, request) in requests {
            scene.driver.handle_timeout(Instant::from_nanos(ms * MS));
            scene.submit(ms, &[request]);
        }
        scene.completions();
        let events = scene.events();
        assert_eq!(events[0].0, first_ms, "{requests:?}: {events:?}");
        assert_eq!(events.iter().filter(|(ms, _)| *ms == first_ms).count(), count, "{requests:?}: {events:?}");
        if let [_, (5, _)] = requests {
            assert_eq!(events[1].0, 5);
        }
    }
}

#[test]
fn ordered_requests_keep_their_place_above_scsi_and_the_head_of_the_queue_goes_next() {
    use seekwise_disk::block::Flags;
    use seekwise_disk::queue::{Discipline, Policy};
    let scheduler = SchedulerSpec::Order(Discipline::plain(Policy::CLook));
    let spec = DriverSpec { depth: 1, scheduler, timeout: None, ..spec_with_timeout() };
    let flagged = |tag, lba, flags| Request { flags, ..read(tag, lba) };
    let order = |queuing, requests: &[Request]| -> Vec<u32> {
        let mut scene = Scene::new(spec, queuing, &[]);
        scene.submit(0, requests);
        scene.completions().iter().map(|answer| answer.0).collect()
    };
    let plain = [read(0, 100), read(1, 900), read(2, 800), read(3, 300), read(4, 200)];
    assert_eq!(order(Queuing::Scsi, &plain), [0, 4, 3, 2, 1], "upwards from the first");
    let mut ordered = plain;
    ordered[2] = flagged(2, 800, Flags::ORDERED);
    assert_eq!(order(Queuing::Scsi, &ordered), [0, 1, 2, 4, 3], "1 before it, 3 and 4 after it");
    assert_eq!(order(Queuing::Ncq, &ordered), [0, 4, 3, 2, 1], "ATA has no such flag");
    let mut urgent = plain;
    urgent[2] = flagged(2, 800, Flags::HEAD_OF_QUEUE);
    assert_eq!(order(Queuing::Scsi, &urgent), [0, 2, 4, 3, 1], "next, and the sweep continues");
    assert_eq!(order(Queuing::Ncq, &urgent), [0, 4, 3, 2, 1]);
    let both = [
        read(0, 100),
        read(1, 900),
        flagged(2, 800, Flags::ORDERED),
        read(3, 300),
        flagged(4, 200, Flags::HEAD_OF_QUEUE),
    ];
    assert_eq!(order(Queuing::Scsi, &both), [0, 4, 1, 2, 3], "before the barrier too");
}

#[test]
fn a_power_off_after_a_pause_cuts_at_its_instant() {
    let spec = |pause_ms| {
        let power_off = PowerOffPolicy::Pause(Span::from_millis(pause_ms));
        DriverSpec { power_off, timeout: None, ..spec_with_timeout() }
    };
    for (pause_ms, status) in [(9, Status::PowerLost), (10, DONE), (11, DONE)] {
        let mut scene = Scene::new(spec(pause_ms), Queuing::Ncq, &[]);
        scene.submit(0, &[read(0, 0)]);
        scene.driver.control(Instant::ZERO, &Control::PowerOff).expect("off");
        assert_eq!(scene.driver.poll_timeout(), Some(Instant::from_nanos(pause_ms.min(10) * MS)));
        scene.submit(0, &[read(1, 100)]);
        let answers = scene.completions();
        assert_eq!(answers[0], (1, Status::PowerLost, 0, 0, 0), "no request is accepted during the pause");
        assert_eq!(
            (answers[1].0, answers[1].1, answers[1].2),
            (0, status, pause_ms.min(10)),
            "a pause of {pause_ms} ms"
        );
    }
}
