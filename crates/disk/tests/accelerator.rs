//! The cache in host memory (`host/accelerator.rs`): requests that end in memory, writes in the background, and the data that
//! a cut leaves. Expected values are worked out by hand.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, Limits, Op, Request, Status,
};
use seekwise_disk::host::accelerator::{Accelerator, AcceleratorSpec, TRIES};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::queue::Policy;
use seekwise_disk::record::{DriveLog, Effort, Parts};
use seekwise_disk::testing::{ImageSector, SectorImage, SmallDrive};
use seekwise_disk::time::{Instant, Span};

const HIT: Span = Span::from_micros(5);

/// A cache that does not write in the background within the time of a test.
const LAZY: AcceleratorSpec = AcceleratorSpec {
    size: 1 << 20,
    hit: HIT,
    write_back: true,
    drops_flushes: false,
    dirty_share: 1000,
    dirty_age: Span::from_secs(1000),
    idle: Span::from_secs(1000),
    read_ahead: 0,
};

fn drive() -> SmallDrive {
    SmallDrive::default().with_buffer(4, 64)
}

/// A cache above a drive, the present instant, and the content of the medium.
struct Scene {
    device: LayeredDevice<Accelerator>,
    now: Instant,
    image: SectorImage,
    /// All landings so far.
    landings: Vec<Landing>,
    /// The stamp of the last request.
    stamp: u64,
}

impl Scene {
    fn new(spec: AcceleratorSpec, small: &SmallDrive) -> Scene {
        let mut device = Accelerator::build_above(spec, Box::new(small.drive()));
        device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
        let (now, image) = (Instant::ZERO, SectorImage::new());
        Scene { device, now, image, landings: Vec::new(), stamp: 0 }
    }

    fn submit(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> u64 {
        self.stamp += 1;
        let tag = self.stamp as u32;
        let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: self.stamp };
        self.device.submit(self.now, request).expect("room");
        self.stamp
    }

    /// Runs until the next completion.
    fn next_completion(&mut self) -> Completion {
        let completion = self.device.proceed(Instant::FAR).expect("a completion");
        self.now = completion.finished;
        assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
        self.collect_landings();
        completion
    }

    fn collect_landings(&mut self) {
        while let Some(landing) = self.device.poll_landing() {
            self.image.apply_landing(&landing);
            self.landings.push(landing);
        }
    }

    /// Submits a request, and returns its response time.
    fn time_request(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> Span {
        self.submit(op, flags, lba, sectors);
        let done = self.next_completion();
        assert_eq!(done.status, Status::Done);
        done.finished.since(done.submitted)
    }

    fn write(&mut self, lba: u64) -> Span {
        self.time_request(Op::Write, Flags::NONE, lba, 8)
    }

    fn read(&mut self, lba: u64) -> Span {
        self.time_request(Op::Read, Flags::NONE, lba, 8)
    }

    fn flush(&mut self) -> Span {
        self.time_request(Op::Flush, Flags::NONE, 0, 0)
    }

    fn control(&mut self, control: &Control) {
        self.device.control(self.now, control).expect("a control that it knows");
        self.collect_landings();
    }

    /// Advances time by `span` without a request.
    fn idle_for(&mut self, span: Span) {
        self.now += span;
        self.device.handle_timeout(self.now);
        self.collect_landings();
    }

    /// How many sectors of the write with this stamp were reported as landed, and how many as discarded.
    fn landed_and_discarded(&self, stamp: u64) -> (u32, u32) {
        let sum = |kind: LandingKind| {
            let reported = self.landings.iter().filter(|landing| (landing.stamp, landing.kind) == (stamp, kind));
            reported.map(|landing| landing.sectors).sum::<u32>()
        };
        (sum(LandingKind::Landed), sum(LandingKind::Discarded))
    }

    /// The stamp of the write that the medium holds in a block.
    fn stamp_on_medium(&self, lba: u64) -> Option<u64> {
        match self.image.get(0, lba) {
            Some(ImageSector::Stamp(stamp)) => Some(stamp),
            _ => None,
        }
    }
}

#[test]
fn a_hit_takes_the_time_of_a_hit_and_a_miss_that_of_the_drive() {
    let mut scene = Scene::new(LAZY, &drive());
    assert_eq!(scene.write(800), HIT);
    assert_eq!(scene.read(800), HIT, "written");
    assert!(scene.read(2_000) > HIT, "from the drive");
    assert_eq!(scene.read(2_000), HIT, "kept after a read");
    assert!(scene.time_request(Op::Read, Flags::NONE, 2_004, 8) > HIT, "half of it is not there");
    scene.submit(Op::Read, Flags::NONE, 800, 8);
    let effort = scene.next_completion().effort;
    assert_eq!((effort.copied, effort.commands, effort.interrupts), (8, 0, 0));
}

#[test]
fn a_cut_loses_what_no_flush_covered() {
    let mut scene = Scene::new(LAZY, &drive());
    let kept = scene.stamp + 1;
    scene.write(800);
    assert!(scene.flush() > HIT, "it waits for the platter");
    scene.write(1_600);
    scene.write(804);
    scene.control(&Control::PowerCut);
    assert_eq!(
        (scene.stamp_on_medium(800), scene.stamp_on_medium(804), scene.stamp_on_medium(1_600)),
        (Some(kept), Some(kept), None)
    );
    scene.control(&Control::PowerOn);
    assert!(scene.read(800) > HIT, "memory holds nothing any more");
}

#[test]
fn a_dropped_flush_is_a_lie() {
    let mut scene = Scene::new(AcceleratorSpec { drops_flushes: true, ..LAZY }, &drive());
    scene.write(800);
    assert_eq!(scene.flush(), HIT);
    assert_eq!(scene.time_request(Op::Write, Flags::FUA, 1_600, 8), HIT, "the mark is forgotten with it");
    scene.control(&Control::PowerCut);
    assert_eq!((scene.stamp_on_medium(800), scene.stamp_on_medium(1_600)), (None, None));
}

#[test]
fn an_orderly_power_off_writes_out_first() {
    let mut scene = Scene::new(AcceleratorSpec { drops_flushes: true, ..LAZY }, &drive());
    let stamps = [800, 1_600, 2_400].map(|lba| {
        scene.write(lba);
        scene.stamp
    });
    scene.control(&Control::PowerOff);
    scene.submit(Op::Write, Flags::NONE, 3_200, 8);
    assert_eq!(scene.next_completion().status, Status::PowerLost, "no new data are accepted");
    scene.idle_for(Span::from_secs(1));
    assert_eq!([800, 1_600, 2_400].map(|lba| scene.stamp_on_medium(lba)), stamps.map(Some));
}

/// The page is written again while it is on its way to the medium: the new data follow the old.
#[test]
fn no_update_is_lost_while_its_page_is_written_out() {
    let mut scene = Scene::new(LAZY, &drive().with_queue(4, Policy::Fcfs));
    scene.write(800);
    let old = scene.stamp;
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let new = scene.submit(Op::Write, Flags::NONE, 800, 8);
    assert_eq!(scene.next_completion().tag as u64, new, "it does not wait for the page");
    assert_eq!(scene.next_completion().tag as u64, old + 1, "the flush covers writes before it");
    assert_eq!(scene.stamp_on_medium(800), Some(old));
    assert_eq!(scene.read(800), HIT);
    scene.flush();
    let landed = scene.landings.iter().filter(|landing| landing.kind == LandingKind::Landed).count();
    assert_eq!((scene.stamp_on_medium(800), landed), (Some(new), 2));
}

#[test]
fn neighbours_leave_in_one_command_under_their_own_stamps() {
    let mut scene = Scene::new(LAZY, &drive());
    for index in [3, 0, 2, 1] {
        scene.write(800 + index * 8);
    }
    scene.write(4_000);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let effort = scene.next_completion().effort;
    assert_eq!(effort.commands, 3, "two runs and the flush");
    assert_eq!([800, 808, 816, 824].map(|lba| scene.stamp_on_medium(lba)), [2, 4, 3, 1].map(Some));
}

#[test]
fn data_go_down_when_idle_old_or_too_many() {
    // The first step of 100 ms after which the first write is on the medium.
    let first_step = |spec: AcceleratorSpec, busy: bool| {
        let mut scene = Scene::new(spec, &drive());
        scene.write(800);
        scene.write(4_000);
        for step in 0..10 {
            scene.idle_for(Span::from_millis(100));
            if busy {
                scene.read(1_000 + step * 200);
            }
            if scene.stamp_on_medium(800).is_some() {
                return Some(step);
            }
        }
        None
    };
    assert_eq!(first_step(LAZY, false), None);
    assert_eq!(first_step(AcceleratorSpec { idle: Span::from_millis(250), ..LAZY }, false), Some(2));
    assert_eq!(
        first_step(AcceleratorSpec { idle: Span::from_millis(250), ..LAZY }, true),
        None,
        "never idle for so long"
    );
    assert_eq!(first_step(AcceleratorSpec { dirty_age: Span::from_millis(500), ..LAZY }, true), Some(4));
    assert_eq!(first_step(AcceleratorSpec { dirty_share: 0, ..LAZY }, true), Some(0));
}

#[test]
fn a_full_cache_waits_for_the_medium() {
    let mut scene = Scene::new(AcceleratorSpec { size: 2 * 4096, ..LAZY }, &drive());
    assert_eq!((scene.write(800), scene.write(1_600)), (HIT, HIT));
    assert!(scene.write(2_400) > Span::from_millis(1));
    assert_eq!(scene.write(2_400), HIT, "in its place");
    // A write that is longer than the cache goes to the drive, after older dirty data of its blocks.
    assert!(scene.time_request(Op::Write, Flags::NONE, 2_400, 24) > Span::from_millis(1));
    assert_eq!(scene.stamp_on_medium(2_400), Some(scene.stamp));
}

#[test]
fn a_forced_write_is_on_the_medium_after_older_data_of_its_blocks() {
    let mut scene = Scene::new(LAZY, &drive());
    scene.write(800);
    let first = scene.stamp;
    scene.time_request(Op::Write, Flags::FUA, 804, 8);
    let forced = scene.stamp;
    assert_eq!((scene.stamp_on_medium(800), scene.stamp_on_medium(804)), (Some(first), Some(forced)));
    assert_eq!(scene.read(804), HIT);
    scene.control(&Control::PowerCut);
    assert_eq!(scene.stamp_on_medium(811), Some(forced));
}

#[test]
fn a_sequential_reader_finds_what_was_read_ahead() {
    let count_hits = |read_ahead| {
        let mut scene = Scene::new(AcceleratorSpec { read_ahead, ..LAZY }, &SmallDrive::default());
        let step = |index: u64| {
            scene.idle_for(Span::from_millis(30));
            scene.read(index * 8) == HIT
        };
        (0..40).map(step).filter(|&hit| hit).count()
    };
    assert_eq!(count_hits(0), 0);
    assert!(count_hits(64) >= 36, "{}", count_hits(64));
}

#[test]
fn without_write_back_a_write_waits_for_the_drive() {
    let mut bare = Scene::new(AcceleratorSpec { write_back: false, ..LAZY }, &drive());
    assert!(bare.write(800) > HIT && bare.stamp_on_medium(800) == Some(1));
    assert_eq!(bare.read(800), HIT);
    assert!(!bare.device.limits(0).volatile_cache);
}

/// A device that ends every write with `status`, and counts them; everything else succeeds.
struct FailingDevice {
    status: Status,
    writes: Rc<Cell<u32>>,
    ready: VecDeque<Completion>,
}

impl Device for FailingDevice {
    fn limits(&self, _: u8) -> Limits {
        drive().drive().limits(0)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let status = if request.op == Op::Write { self.status } else { Status::Done };
        self.writes.set(self.writes.get() + u32::from(request.op == Op::Write));
        let (tag, parts, effort) = (request.tag, Parts::default(), Effort::default());
        self.ready.push_back(Completion { tag, status, submitted: now, finished: now, parts, effort });
        Ok(now)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}
}

/// A cache above a device that ends every write with `status`, and the count of writes that reach the device.
fn scene_above_failing(spec: AcceleratorSpec, status: Status) -> (Scene, Rc<Cell<u32>>) {
    let mut scene = Scene::new(spec, &drive());
    let writes = Rc::new(Cell::new(0));
    scene.device = Accelerator::build_above(
        spec,
        Box::new(FailingDevice { status, writes: writes.clone(), ready: VecDeque::new() }),
    );
    scene.device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    (scene, writes)
}

#[test]
fn data_that_cannot_be_written_are_given_up_and_the_next_flush_fails() {
    let (mut scene, attempts) = scene_above_failing(LAZY, Status::MediumError);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!((scene.next_completion().status, attempts.get()), (Status::MediumError, u32::from(TRIES)));
    assert_eq!(scene.read(800), HIT, "memory still has it");
    assert_eq!(scene.stamp_on_medium(800), None);
    scene.flush();
    assert_eq!(attempts.get(), u32::from(TRIES), "reported once, and not written again");
}

#[test]
fn writes_end_above_a_device_that_aborts_them_all() {
    let (mut scene, attempts) = scene_above_failing(LAZY, Status::Aborted);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!((scene.next_completion().status, attempts.get()), (Status::MediumError, 200));
}

#[test]
fn where_flushes_are_dropped_the_next_write_fails() {
    let spec = AcceleratorSpec { drops_flushes: true, idle: Span::from_millis(1), ..LAZY };
    let (mut scene, _) = scene_above_failing(spec, Status::MediumError);
    scene.write(800);
    scene.idle_for(Span::from_millis(2));
    scene.flush();
    scene.submit(Op::Write, Flags::NONE, 1_600, 8);
    assert_eq!(scene.next_completion().status, Status::MediumError);
    scene.write(1_600);
}

/// There are more writes than memory holds, so that each waits for room.
#[test]
fn writes_that_wait_for_room_end_above_a_failing_device() {
    let (mut scene, _) = scene_above_failing(AcceleratorSpec { size: 1 << 14, ..LAZY }, Status::MediumError);
    for lba in 0..40 {
        scene.submit(Op::Write, Flags::NONE, lba * 64, 8);
        assert_eq!(scene.next_completion().status, Status::Done);
    }
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!(scene.next_completion().status, Status::MediumError);
    scene.control(&Control::PowerOff);
    assert_eq!(scene.device.poll_timeout(), None);
}

/// A device whose writes take a millisecond each. A write ends with the next status of `outcomes`, and with this many of its
/// sectors on the medium; after the last of them, all writes succeed. Other requests succeed at once.
struct PartlyFailing {
    outcomes: VecDeque<(Status, u32)>,
    in_flight: VecDeque<(Instant, Request)>,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
}

impl PartlyFailing {
    fn finish(&mut self, at: Instant, tag: u32, status: Status) {
        let (parts, effort) = (Parts::default(), Effort::default());
        self.ready.push_back(Completion { tag, status, submitted: at, finished: at, parts, effort });
    }
}

impl Device for PartlyFailing {
    fn limits(&self, _: u8) -> Limits {
        drive().with_queue(4, Policy::Fcfs).drive().limits(0)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        if request.op != Op::Write {
            self.finish(now, request.tag, Status::Done);
            return Ok(now);
        }
        self.in_flight.push_back((now + Span::from_millis(1), request));
        Ok(self.in_flight[0].0)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.front().map(|in_flight| in_flight.0)
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, request)) = self.in_flight.front().filter(|in_flight| in_flight.0 <= now) {
            self.in_flight.pop_front();
            let (status, sectors) = self.outcomes.pop_front().unwrap_or((Status::Done, request.sectors));
            if sectors > 0 {
                let run = (request.lba, sectors);
                self.landings.push_back(Landing::new(run, request.stamp, (at, at), LandingKind::Landed));
            }
            self.finish(at, request.tag, status);
        }
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_front()
    }
    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.in_flight.iter().for_each(|(_, request)| tell(request.stamp));
        self.landings.iter().for_each(|landing| tell(landing.stamp));
    }
}

/// A cache above a device whose first writes end with these statuses, and with this many sectors on the medium.
fn scene_above_partly_failing(outcomes: &[(Status, u32)]) -> Scene {
    let mut scene = Scene::new(LAZY, &drive());
    let (in_flight, ready, landings) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
    let below = PartlyFailing { outcomes: outcomes.iter().copied().collect(), in_flight, ready, landings };
    scene.device = Accelerator::build_above(LAZY, Box::new(below));
    scene.device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    scene
}

/// Failed attempts leave sectors on the medium; a cut adds nothing to their reports.
#[test]
fn a_write_that_is_attempted_again_is_not_lost_with_its_first_attempt() {
    let (error, aborted) = ((Status::MediumError, 0), (Status::Aborted, 0));
    let cases = [
        (&[][..], (8, 0)),
        (&[error], (8, 0)),
        (&[aborted, error, aborted], (8, 0)),
        (&[(Status::Aborted, 3)], (3 + 8, 0)),
        (&[error; TRIES as usize], (0, 8)),
    ];
    for (outcomes, expected) in cases {
        let mut scene = scene_above_partly_failing(outcomes);
        scene.write(800);
        scene.submit(Op::Flush, Flags::NONE, 0, 0);
        scene.next_completion();
        assert_eq!(scene.landed_and_discarded(1), expected, "{outcomes:?}");
        scene.control(&Control::PowerCut);
        assert_eq!(scene.landed_and_discarded(1), expected, "{outcomes:?}: after a cut");
    }
}

/// A page is written again while it is being written out, and the device aborts its run. Three sectors of the first write
/// are on the medium then; the other five never will be.
#[test]
fn landed_sectors_of_an_aborted_run_are_reported_before_the_others() {
    let mut scene = scene_above_partly_failing(&[(Status::Aborted, 3)]);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let again = scene.submit(Op::Write, Flags::NONE, 800, 8);
    assert_eq!(u64::from(scene.next_completion().tag), again, "in memory at once");
    assert_eq!(scene.next_completion().status, Status::Done, "the flush");
    assert_eq!((scene.landed_and_discarded(1), scene.landed_and_discarded(again)), ((3, 5), (8, 0)));
}
