//! A driver above a scripted device that takes all commands at once, each for as long as the script says, and obeys resets
//! and aborts at once: to the nanosecond what goes down when, and what is answered. Commands that fail, hang or come late;
//! requests that are merged, split, plugged, ordered.
//!
//! A time-out is 100 ms here, with two retries: a command that always hangs goes down three times.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Queuing, Request, Status};
use seekwise_disk::host::driver::{Driver, DriverSpec, Plug, PowerOffPolicy, SchedulerSpec};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::time::{Instant, Span};

use super::{PLAIN, answers, read, request, write};

/// What happened at the device, and at which millisecond.
type Events = Rc<RefCell<Vec<(u64, String)>>>;

/// How a command goes: after so many nanoseconds it ends like this; or it hangs.
type Course = Option<(u64, Status)>;

const MS: u64 = 1_000_000;

/// By first sector: how the first command there goes, the second, and so on; those not named are done in 10 ms.
type Script = HashMap<u64, Vec<Course>>;

/// When a command ends, how, when it came, and what it is.
type UnderWay = (Instant, Status, Instant, Request);

struct Scripted {
    queuing: Queuing,
    physical: u32,
    script: Script,
    under_way: Vec<UnderWay>,
    ready: VecDeque<Completion>,
    events: Events,
}

impl Scripted {
    fn note(&self, now: Instant, what: String) {
        assert_eq!(now.nanos() % MS, 0, "{what}: a whole millisecond");
        self.events.borrow_mut().push((now.nanos() / MS, what));
    }

    /// Ends those that `ends` names, in the order in which they came.
    fn end(&mut self, now: Instant, status: Option<Status>, ends: impl Fn(&UnderWay) -> bool) {
        let (over, left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.under_way).into_iter().partition(ends);
        self.under_way = left;
        for (_, own, submitted, request) in over {
            let mut parts = Parts::NONE;
            parts.add(Part::Transfer, now.since(submitted));
            let (tag, effort) = (request.tag, Effort { commands: 1, ..Effort::NONE });
            let status = status.unwrap_or(own);
            self.ready.push_back(Completion { tag, status, submitted, finished: now, parts, effort });
        }
    }
}

impl Device for Scripted {
    fn limits(&self, _: u8) -> Limits {
        Limits {
            sectors: 1 << 20,
            logical: 512,
            physical: self.physical,
            max_transfer: 4096,
            depth: 32,
            fua: true,
            volatile_cache: true,
            queuing: self.queuing,
            computes: false,
        }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.note(now, format!("{}+{}", request.lba, request.sectors));
        let courses = self.script.entry(request.lba).or_default();
        let course = if courses.is_empty() { Some((10 * MS, Status::Done)) } else { courses.remove(0) };
        let (end, status) =
            course.map_or((Instant::FAR, Status::Done), |(ns, status)| (now + Span::from_nanos(ns), status));
        self.under_way.push((end, status, now, request));
        Ok(self.poll_timeout().unwrap_or(Instant::FAR))
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        match *control {
            Control::Reset => {
                self.note(now, "reset".to_owned());
                self.end(now, Some(Status::Aborted), |_| true);
            }
            Control::PowerCut => self.end(now, Some(Status::PowerLost), |_| true),
            Control::Abort(tag) => {
                let under = self.under_way.iter().find(|it| it.3.tag == tag).ok_or(ControlError::UnknownTag)?;
                self.note(now, format!("abort {}", under.3.lba));
                self.end(now, Some(Status::Aborted), |it| it.3.tag == tag);
            }
            _ => {}
        }
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.under_way.iter().map(|it| it.0).min().filter(|&at| at != Instant::FAR)
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.end(now, None, |it| it.0 <= now);
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
struct Scene {
    driver: LayeredDevice<Driver>,
    events: Events,
}

const DONE: Status = Status::Done;
const HANGS: Course = None;

/// Ends well after so many milliseconds.
const fn takes(ms: u64) -> Course {
    Some((ms * MS, DONE))
}

impl Scene {
    fn new(spec: DriverSpec, queuing: Queuing, script: &[(u64, &[Course])]) -> Scene {
        let events = Events::default();
        let script = script.iter().map(|(lba, courses)| (*lba, courses.to_vec())).collect();
        let (under_way, ready) = (Vec::new(), VecDeque::new());
        let physical = 4096;
        let below = Scripted { queuing, physical, script, under_way, ready, events: events.clone() };
        Scene { driver: Driver::build_above(spec, Box::new(below)), events }
    }

    fn submit(&mut self, ms: u64, requests: &[Request]) {
        let now = Instant::from_nanos(ms * MS);
        for &request in requests {
            self.driver.submit(now, request).expect("room");
        }
    }

    /// All answers: tag, status, millisecond, and how much of that was the driver's; and how many commands it took.
    fn answers(&mut self) -> Vec<(u32, Status, u64, u64, u16)> {
        let done = answers(&mut self.driver);
        for answer in &done {
            assert_eq!(answer.parts.total(), answer.finished.since(answer.submitted), "{answer:?}");
        }
        let ms = |span: Span| span.nanos() / MS;
        let row = |it: &Completion| {
            let driver = ms(it.parts.get(Part::Driver));
            (it.tag, it.status, ms(it.finished.since(Instant::ZERO)), driver, it.effort.commands)
        };
        done.iter().map(row).collect()
    }

    fn events(&self) -> Vec<(u64, String)> {
        self.events.borrow().clone()
    }
}

fn events(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(ms, what)| (*ms, (*what).to_owned())).collect()
}

/// Four commands at once, 100 ms, twice again.
fn timed() -> DriverSpec {
    DriverSpec { depth: 4, timeout: Some(Span::from_millis(100)), retries: 2, ..PLAIN }
}

#[test]
fn a_command_that_hangs_is_aborted_alone_above_scsi_and_fails_the_third_time() {
    for queuing in [Queuing::Scsi, Queuing::None] {
        let mut scene = Scene::new(timed(), queuing, &[(0, &[HANGS, HANGS, HANGS]), (800, &[takes(95)])]);
        scene.submit(0, &[read(0, 0), read(1, 800)]);
        scene.submit(20, &[read(2, 1600)]);
        assert_eq!(
            scene.answers(),
            [(2, DONE, 30, 0, 1), (1, DONE, 95, 0, 1), (0, Status::Aborted, 300, 200, 3)],
            "{queuing:?}: two tries of 100 ms are lost"
        );
        assert_eq!(
            scene.events(),
            events(&[
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
fn a_reset_above_an_ata_queue_aborts_all_and_charges_the_one_that_hung() {
    for queuing in [Queuing::Ncq, Queuing::Tcq] {
        // The second came 50 ms later and would need 80: two resets of the first catch it, and none is counted for it.
        let hangs = [HANGS, HANGS, takes(10)];
        let mut scene = Scene::new(timed(), queuing, &[(0, &hangs), (800, &[takes(80), HANGS, takes(60)])]);
        scene.submit(0, &[read(0, 0)]);
        scene.submit(50, &[read(1, 800)]);
        assert_eq!(scene.answers(), [(0, DONE, 210, 200, 3), (1, DONE, 260, 150, 3)], "{queuing:?}");
        assert_eq!(
            scene.events(),
            events(&[
                (0, "0+8"),
                (50, "800+8"),
                (100, "reset"),
                (100, "0+8"),
                (100, "800+8"),
                // Both time out at this instant: one reset serves both.
                (200, "reset"),
                (200, "0+8"),
                (200, "800+8"),
            ])
        );
    }
}

#[test]
fn what_a_reset_of_others_aborts_has_tries_of_its_own() {
    // The first fails at 300 ms. The second goes down at 50, and again at 100, 200 and 300: of these it hangs itself
    // from 300 on, so that its own third time-out is at 600.
    let courses = [takes(200), takes(200), takes(200), HANGS, HANGS, HANGS];
    let mut scene = Scene::new(timed(), Queuing::Ncq, &[(0, &[HANGS, HANGS, HANGS]), (800, &courses)]);
    scene.submit(0, &[read(0, 0)]);
    scene.submit(50, &[read(1, 800)]);
    // At 200 and at 300 both were overdue; whoever is looked at first causes the reset, and it alone is charged.
    let answers = scene.answers();
    assert_eq!(answers[0], (0, Status::Aborted, 300, 200, 3));
    assert_eq!((answers[1].0, answers[1].1), (1, Status::Aborted));
    let resets: Vec<u64> = scene.events().iter().filter(|it| it.1 == "reset").map(|it| it.0).collect();
    assert_eq!(resets, [100, 200, 300, 400, 500, 600], "three of the first, three of its own");
    assert_eq!(answers[1].2, 600);
}

#[test]
fn a_command_that_ends_at_its_time_out_is_done_and_a_nanosecond_later_it_is_aborted() {
    for (late, status, finished, commands) in [(0, DONE, 100, 1), (1, Status::Aborted, 100, 1)] {
        let spec = DriverSpec { retries: 0, ..timed() };
        let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[Some((100 * MS + late, DONE))])]);
        scene.submit(0, &[read(0, 0)]);
        assert_eq!(scene.answers(), [(0, status, finished, 0, commands)], "{late} ns late");
        assert_eq!(scene.events().len(), 1 + late as usize, "aborted only where it is late");
    }
}

#[test]
fn each_command_has_its_own_time_out_also_under_a_tag_that_was_used_before() {
    // Depth 1: the second goes down when the first is back, at 20 ms, under the same tag.
    let spec = DriverSpec { depth: 1, retries: 1, ..timed() };
    let mut scene = Scene::new(spec, Queuing::Ncq, &[(0, &[takes(20)]), (800, &[HANGS, takes(99)])]);
    scene.submit(0, &[read(0, 0), read(1, 800)]);
    assert_eq!(scene.answers(), [(0, DONE, 20, 0, 1), (1, DONE, 219, 120, 2)]);
    assert_eq!(scene.events(), events(&[(0, "0+8"), (20, "800+8"), (120, "reset"), (120, "800+8")]));
}

#[test]
fn retries_are_counted_to_the_last() {
    for retries in 0..4u64 {
        let spec = DriverSpec { retries: retries as u32, ..timed() };
        let courses = |hangs: u64| [vec![HANGS; hangs as usize], vec![takes(7)]].concat();
        let mut well = Scene::new(spec, Queuing::Scsi, &[(0, &courses(retries))]);
        well.submit(0, &[read(0, 0)]);
        assert_eq!(well.answers(), [(0, DONE, 100 * retries + 7, 100 * retries, retries as u16 + 1)]);
        let mut ill = Scene::new(spec, Queuing::Scsi, &[(0, &courses(retries + 1))]);
        ill.submit(0, &[read(0, 0)]);
        assert_eq!(ill.answers(), [(0, Status::Aborted, 100 * (retries + 1), 100 * retries, retries as u16 + 1)]);
    }
}

#[test]
fn without_time_outs_what_is_aborted_below_is_sent_again_until_it_is_done() {
    let aborted = Some((5 * MS, Status::Aborted));
    let spec = DriverSpec { timeout: None, retries: 0, ..timed() };
    let mut scene = Scene::new(spec, Queuing::Ncq, &[(0, &[aborted; 6])]);
    scene.submit(0, &[read(0, 0)]);
    assert_eq!(scene.answers(), [(0, DONE, 40, 30, 7)]);
    // With them too: no time-out was its own.
    let mut scene = Scene::new(DriverSpec { retries: 0, ..timed() }, Queuing::Ncq, &[(0, &[aborted; 6])]);
    scene.submit(0, &[read(0, 0)]);
    assert_eq!(scene.answers(), [(0, DONE, 40, 30, 7)]);
}

#[test]
fn merged_requests_that_time_out_go_down_again_one_by_one() {
    let spec = DriverSpec { merge: true, depth: 1, retries: 1, ..timed() };
    for op in [Op::Read, Op::Write] {
        let script: &[(u64, &[Course])] = &[(0, &[HANGS, takes(20)]), (8, &[takes(30)])];
        let mut scene = Scene::new(spec, Queuing::Scsi, script);
        scene.submit(0, &[request(0, op, 5_000, 8), request(1, op, 8, 8), request(2, op, 0, 8)]);
        // The merged command went down at 10 ms and was aborted at 110: its effort is the first one's by address. The
        // second waits until that one is back.
        assert_eq!(
            scene.answers(),
            [(0, DONE, 10, 0, 1), (2, DONE, 130, 110, 2), (1, DONE, 160, 130, 1)],
            "{op:?}: each at its own end"
        );
        assert_eq!(
            scene.events(),
            events(&[(0, "5000+8"), (10, "0+16"), (110, "abort 0"), (110, "0+8"), (130, "8+8")])
        );
    }
}

#[test]
fn merged_requests_share_tries_that_they_made_together() {
    // Once together, then each alone: one hangs again and fails at its second time-out.
    let spec = DriverSpec { merge: true, depth: 1, retries: 1, ..timed() };
    let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[HANGS, takes(20)]), (8, &[HANGS])]);
    scene.submit(0, &[read(0, 5_000), read(1, 0), read(2, 8)]);
    assert_eq!(scene.answers(), [(0, DONE, 10, 0, 1), (1, DONE, 130, 110, 2), (2, Status::Aborted, 230, 130, 1)]);
}

#[test]
fn an_error_of_a_merged_command_is_that_of_each_request_in_it() {
    let spec = DriverSpec { merge: true, depth: 1, ..timed() };
    let failed = Some((25 * MS, Status::MediumError));
    let mut scene = Scene::new(spec, Queuing::Scsi, &[(0, &[failed])]);
    scene.submit(0, &[read(0, 5_000), read(1, 8), read(2, 0), read(3, 16)]);
    let error = Status::MediumError;
    assert_eq!(
        scene.answers(),
        [(0, DONE, 10, 0, 1), (2, error, 35, 10, 1), (1, error, 35, 10, 0), (3, error, 35, 10, 0)],
        "by address, one command, charged to the first"
    );
}

#[test]
fn a_split_request_ends_with_its_last_part_and_its_first_error() {
    let spec = DriverSpec { max_transfer: 8, ..timed() };
    let failed = |ms, status| Some((ms * MS, status));
    let whole = request(0, Op::Read, 0, 24);
    type Case = ([Course; 3], (Status, u64, u64, u16));
    let cases: [Case; 6] = [
        ([takes(30), takes(10), takes(20)], (DONE, 30, 0, 3)),
        // The record's parts are those of the last command; what was before it is the driver's.
        ([takes(30), failed(10, Status::MediumError), takes(20)], (Status::MediumError, 30, 0, 3)),
        ([failed(30, Status::OutOfRange), failed(10, Status::MediumError), takes(20)], (Status::MediumError, 30, 0, 3)),
        ([takes(10), takes(20), failed(30, Status::MediumError)], (Status::MediumError, 30, 0, 3)),
        // A part that hangs is sent again, and the others are not; the tenth millisecond after that ends it.
        ([takes(30), HANGS, takes(20)], (DONE, 110, 100, 4)),
        // It is not where the request has failed already.
        ([takes(30), HANGS, failed(20, Status::MediumError)], (Status::MediumError, 100, 0, 3)),
    ];
    for ([first, second, third], (status, finished, driver, commands)) in cases {
        let script: &[(u64, &[Course])] = &[(0, &[first]), (8, &[second]), (16, &[third])];
        let mut scene = Scene::new(spec, Queuing::Scsi, script);
        scene.submit(0, &[whole]);
        assert_eq!(scene.answers(), [(0, status, finished, driver, commands)], "{script:?}");
    }
}

#[test]
fn writes_of_an_aborted_command_are_sent_as_they_were() {
    let mut scene = Scene::new(timed(), Queuing::Ncq, &[(0, &[HANGS]), (64, &[HANGS])]);
    scene.submit(0, &[request(0, Op::Write, 0, 16), write(1, 64)]);
    assert_eq!(scene.answers(), [(0, DONE, 110, 100, 2), (1, DONE, 110, 100, 2)]);
    let sent: Vec<String> = scene.events().into_iter().map(|it| it.1).collect();
    assert_eq!(sent, ["0+16", "64+8", "reset", "0+16", "64+8"]);
}

#[test]
fn a_driver_says_how_long_a_command_took_and_that_one_came_back_aborted() {
    let mut scene = Scene::new(timed(), Queuing::Scsi, &[(0, &[takes(60)]), (8, &[HANGS])]);
    scene.submit(0, &[read(0, 0), read(1, 16)]);
    let at = |ms: u64| Instant::from_nanos(ms * MS);
    let asked = scene.driver.setting_use(at(5));
    assert_eq!((asked.below, asked.longest, asked.again), (2, Span::from_millis(5), false));
    scene.driver.handle_timeout(at(60));
    scene.submit(70, &[read(2, 8)]);
    assert_eq!(scene.driver.setting_use(at(80)).longest, Span::from_millis(60));
    scene.driver.handle_timeout(at(169));
    assert!(!scene.driver.setting_use(at(169)).again);
    scene.driver.handle_timeout(at(170));
    let asked = scene.driver.setting_use(at(170));
    assert_eq!((asked.below, asked.longest, asked.again), (2, Span::from_millis(100), true));
}

#[test]
fn a_large_request_is_split_between_physical_sectors_where_a_command_reaches_one() {
    // First sector, length, the largest command; eight sectors are a physical one.
    let cases: [(u64, u32, u32, &[&str]); 7] = [
        (0, 20, 20, &["0+20"]),
        (0, 21, 20, &["0+16", "16+5"]),
        (3, 50, 20, &["3+13", "16+16", "32+16", "48+5"]),
        (8, 16, 8, &["8+8", "16+8"]),
        (4, 16, 8, &["4+4", "8+8", "16+4"]),
        // Too small to reach the next one from everywhere; what is left fits into a command, and is not split.
        (3, 8, 4, &["3+4", "7+4"]),
        (0, 8, 4, &["0+4", "4+4"]),
    ];
    for (lba, sectors, max_transfer, pieces) in cases {
        let mut scene = Scene::new(DriverSpec { max_transfer, depth: 32, ..timed() }, Queuing::Ncq, &[]);
        scene.submit(0, &[request(0, Op::Read, lba, sectors)]);
        assert_eq!(scene.answers(), [(0, DONE, 10, 0, pieces.len() as u16)]);
        let sent: Vec<String> = scene.events().into_iter().map(|it| it.1).collect();
        assert_eq!(sent, pieces, "{sectors} from {lba}, at most {max_transfer}");
    }
}

#[test]
fn a_plug_is_pulled_by_its_number_of_commands_its_time_or_a_barrier() {
    let plug = Some(Plug { commands: 3, wait: Span::from_millis(3) });
    let spec = DriverSpec { plug, merge: true, timeout: None, ..timed() };
    let flush = request(9, Op::Flush, 0, 0);
    // Requests and when they come; when the first command goes down, and how many do then.
    type Case<'a> = (&'a [(u64, Request)], (u64, usize));
    let cases: [Case<'_>; 6] = [
        (&[(0, read(0, 0)), (2, read(1, 100))], (3, 2)),
        (&[(0, read(0, 0)), (1, read(1, 100)), (2, read(2, 200))], (2, 3)),
        // Two of them are one command.
        (&[(0, read(0, 0)), (1, read(1, 8)), (2, read(2, 200))], (3, 2)),
        (&[(0, read(0, 0)), (1, read(1, 8)), (2, read(2, 200)), (2, read(3, 300))], (2, 3)),
        (&[(0, read(0, 0)), (1, flush)], (1, 1)),
        // What comes while a command is below is not held back: at 3 ms the first went down, at 5 the second.
        (&[(0, read(0, 0)), (5, read(1, 100))], (3, 1)),
    ];
    for (requests, (first, count)) in cases {
        let mut scene = Scene::new(spec, Queuing::Ncq, &[]);
        for &(ms, request) in requests {
            scene.driver.handle_timeout(Instant::from_nanos(ms * MS));
            scene.submit(ms, &[request]);
        }
        scene.answers();
        let events = scene.events();
        assert_eq!(events[0].0, first, "{requests:?}: {events:?}");
        assert_eq!(events.iter().filter(|it| it.0 == first).count(), count, "{requests:?}: {events:?}");
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
    let spec = DriverSpec { depth: 1, scheduler, timeout: None, ..timed() };
    let marked = |tag, lba, flags| Request { flags, ..read(tag, lba) };
    let order = |queuing, requests: &[Request]| -> Vec<u32> {
        let mut scene = Scene::new(spec, queuing, &[]);
        scene.submit(0, requests);
        scene.answers().iter().map(|answer| answer.0).collect()
    };
    let plain = [read(0, 100), read(1, 900), read(2, 800), read(3, 300), read(4, 200)];
    assert_eq!(order(Queuing::Scsi, &plain), [0, 4, 3, 2, 1], "upwards from the first");
    let mut ordered = plain;
    ordered[2] = marked(2, 800, Flags::ORDERED);
    assert_eq!(order(Queuing::Scsi, &ordered), [0, 1, 2, 4, 3], "1 before it, 3 and 4 after it");
    assert_eq!(order(Queuing::Ncq, &ordered), [0, 4, 3, 2, 1], "ATA has no such flag");
    let mut urgent = plain;
    urgent[2] = marked(2, 800, Flags::HEAD_OF_QUEUE);
    assert_eq!(order(Queuing::Scsi, &urgent), [0, 2, 4, 3, 1], "next, and the sweep goes on from where it was");
    assert_eq!(order(Queuing::Ncq, &urgent), [0, 4, 3, 2, 1]);
    let both = [
        read(0, 100),
        read(1, 900),
        marked(2, 800, Flags::ORDERED),
        read(3, 300),
        marked(4, 200, Flags::HEAD_OF_QUEUE),
    ];
    assert_eq!(order(Queuing::Scsi, &both), [0, 4, 1, 2, 3], "before the barrier too");
}

#[test]
fn a_power_off_after_a_pause_cuts_at_its_instant() {
    let pause = |ms| DriverSpec { power_off: PowerOffPolicy::Pause(Span::from_millis(ms)), timeout: None, ..timed() };
    for (ms, status) in [(9, Status::PowerLost), (10, DONE), (11, DONE)] {
        let mut scene = Scene::new(pause(ms), Queuing::Ncq, &[]);
        scene.submit(0, &[read(0, 0)]);
        scene.driver.control(Instant::ZERO, &Control::PowerOff).expect("off");
        assert_eq!(scene.driver.poll_timeout(), Some(Instant::from_nanos(ms.min(10) * MS)));
        scene.submit(0, &[read(1, 100)]);
        let answers = scene.answers();
        assert_eq!(answers[0], (1, Status::PowerLost, 0, 0, 0), "no request is taken during the pause");
        assert_eq!((answers[1].0, answers[1].1, answers[1].2), (0, status, ms.min(10)), "a pause of {ms} ms");
    }
}
