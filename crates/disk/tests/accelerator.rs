//! The cache in host memory, by hand: what ends in memory, what goes down and when, what a cut leaves.

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

/// Does not write in the background within the time of a test.
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

/// The cache, the time, and what the medium holds.
struct Scene {
    device: LayeredDevice<Accelerator>,
    now: Instant,
    image: SectorImage,
    landed: Vec<(u64, u64)>,
    told: Vec<Landing>,
    stamp: u64,
}

impl Scene {
    fn new(spec: AcceleratorSpec, small: &SmallDrive) -> Scene {
        let mut device = Accelerator::build_above(spec, Box::new(small.drive()));
        device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
        let (now, image) = (Instant::ZERO, SectorImage::new());
        Scene { device, now, image, landed: Vec::new(), told: Vec::new(), stamp: 0 }
    }

    fn submit(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> u64 {
        self.stamp += 1;
        let tag = self.stamp as u32;
        let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp: self.stamp };
        self.device.submit(self.now, request).expect("room");
        self.stamp
    }

    /// Runs until the next answer.
    fn answer(&mut self) -> Completion {
        let completion = self.device.proceed(Instant::FAR).expect("an answer");
        self.now = completion.finished;
        assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
        self.listen();
        completion
    }

    fn listen(&mut self) {
        while let Some(landing) = self.device.poll_landing() {
            self.image.apply_landing(&landing);
            self.told.push(landing);
            if landing.kind == LandingKind::Landed {
                self.landed.push((landing.lba, landing.stamp));
            }
        }
    }

    /// Serves one request alone, and returns how long it took.
    fn takes(&mut self, op: Op, flags: Flags, lba: u64, sectors: u32) -> Span {
        self.submit(op, flags, lba, sectors);
        let done = self.answer();
        assert_eq!(done.status, Status::Done);
        done.finished.since(done.submitted)
    }

    fn write(&mut self, lba: u64) -> Span {
        self.takes(Op::Write, Flags::NONE, lba, 8)
    }

    fn read(&mut self, lba: u64) -> Span {
        self.takes(Op::Read, Flags::NONE, lba, 8)
    }

    fn flush(&mut self) -> Span {
        self.takes(Op::Flush, Flags::NONE, 0, 0)
    }

    fn control(&mut self, control: &Control) {
        self.device.control(self.now, control).expect("a control that it knows");
        self.listen();
    }

    /// Lets `span` pass.
    fn rest(&mut self, span: Span) {
        self.now += span;
        self.device.handle_timeout(self.now);
        self.listen();
    }

    /// Sectors of the write with this stamp that landed, and that never will, by what was told so far.
    fn fate(&self, stamp: u64) -> (u32, u32) {
        let sum = |kind: LandingKind| {
            let told = self.told.iter().filter(|landing| (landing.stamp, landing.kind) == (stamp, kind));
            told.map(|landing| landing.sectors).sum::<u32>()
        };
        (sum(LandingKind::Landed), sum(LandingKind::Discarded))
    }

    fn holds(&self, lba: u64) -> Option<u64> {
        match self.image.get(0, lba) {
            Some(ImageSector::Stamp(stamp)) => Some(stamp),
            _ => None,
        }
    }
}

#[test]
fn what_is_there_takes_a_look_and_a_copy() {
    let mut scene = Scene::new(LAZY, &drive());
    assert_eq!(scene.write(800), HIT);
    assert_eq!(scene.read(800), HIT, "what was written");
    assert!(scene.read(2_000) > HIT, "from the drive");
    assert_eq!(scene.read(2_000), HIT, "kept");
    assert!(scene.takes(Op::Read, Flags::NONE, 2_004, 8) > HIT, "half of it is not there");
    scene.submit(Op::Read, Flags::NONE, 800, 8);
    let effort = scene.answer().effort;
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
    assert_eq!((scene.holds(800), scene.holds(804), scene.holds(1_600)), (Some(kept), Some(kept), None));
    scene.control(&Control::PowerOn);
    assert!(scene.read(800) > HIT, "memory holds nothing any more");
}

#[test]
fn a_dropped_flush_is_a_lie() {
    let mut scene = Scene::new(AcceleratorSpec { drops_flushes: true, ..LAZY }, &drive());
    scene.write(800);
    assert_eq!(scene.flush(), HIT);
    assert_eq!(scene.takes(Op::Write, Flags::FUA, 1_600, 8), HIT, "the mark is forgotten with it");
    scene.control(&Control::PowerCut);
    assert_eq!((scene.holds(800), scene.holds(1_600)), (None, None));
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
    assert_eq!(scene.answer().status, Status::PowerLost, "nothing new is taken");
    scene.rest(Span::from_secs(1));
    assert_eq!([800, 1_600, 2_400].map(|lba| scene.holds(lba)), stamps.map(Some));
}

/// The page is written again while it is on its way to the medium: the new data follow the old.
#[test]
fn no_update_is_lost_while_its_page_is_written_out() {
    let mut scene = Scene::new(LAZY, &drive().with_queue(4, Policy::Fcfs));
    scene.write(800);
    let old = scene.stamp;
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let new = scene.submit(Op::Write, Flags::NONE, 800, 8);
    assert_eq!(scene.answer().tag as u64, new, "it does not wait for the page");
    assert_eq!(scene.answer().tag as u64, old + 1, "the flush is for what was before it");
    assert_eq!(scene.holds(800), Some(old));
    assert_eq!(scene.read(800), HIT);
    scene.flush();
    assert_eq!((scene.holds(800), scene.landed.len()), (Some(new), 2));
}

#[test]
fn neighbours_leave_in_one_command_under_their_own_stamps() {
    let mut scene = Scene::new(LAZY, &drive());
    for index in [3, 0, 2, 1] {
        scene.write(800 + index * 8);
    }
    scene.write(4_000);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let effort = scene.answer().effort;
    assert_eq!(effort.commands, 3, "two runs and the flush");
    assert_eq!([800, 808, 816, 824].map(|lba| scene.holds(lba)), [2, 4, 3, 1].map(Some));
}

#[test]
fn data_go_down_when_idle_old_or_too_many() {
    let after = |spec: AcceleratorSpec, busy: bool| {
        let mut scene = Scene::new(spec, &drive());
        scene.write(800);
        scene.write(4_000);
        for step in 0..10 {
            scene.rest(Span::from_millis(100));
            if busy {
                scene.read(1_000 + step * 200);
            }
            if scene.holds(800).is_some() {
                return Some(step);
            }
        }
        None
    };
    assert_eq!(after(LAZY, false), None);
    assert_eq!(after(AcceleratorSpec { idle: Span::from_millis(250), ..LAZY }, false), Some(2));
    assert_eq!(after(AcceleratorSpec { idle: Span::from_millis(250), ..LAZY }, true), None, "never idle for so long");
    assert_eq!(after(AcceleratorSpec { dirty_age: Span::from_millis(500), ..LAZY }, true), Some(4));
    assert_eq!(after(AcceleratorSpec { dirty_share: 0, ..LAZY }, true), Some(0));
}

#[test]
fn a_full_cache_waits_for_the_medium() {
    let mut scene = Scene::new(AcceleratorSpec { size: 2 * 4096, ..LAZY }, &drive());
    assert_eq!((scene.write(800), scene.write(1_600)), (HIT, HIT));
    assert!(scene.write(2_400) > Span::from_millis(1));
    assert_eq!(scene.write(2_400), HIT, "in its place");
    // Longer than the cache: past it, after the dirty data of its place.
    assert!(scene.takes(Op::Write, Flags::NONE, 2_400, 24) > Span::from_millis(1));
    assert_eq!(scene.holds(2_400), Some(scene.stamp));
}

#[test]
fn a_forced_write_is_on_the_medium_behind_older_data_of_its_place() {
    let mut scene = Scene::new(LAZY, &drive());
    scene.write(800);
    let first = scene.stamp;
    scene.takes(Op::Write, Flags::FUA, 804, 8);
    let forced = scene.stamp;
    assert_eq!((scene.holds(800), scene.holds(804)), (Some(first), Some(forced)));
    assert_eq!(scene.read(804), HIT);
    scene.control(&Control::PowerCut);
    assert_eq!(scene.holds(811), Some(forced));
}

#[test]
fn a_sequential_reader_finds_what_was_read_ahead() {
    let hits = |read_ahead| {
        let mut scene = Scene::new(AcceleratorSpec { read_ahead, ..LAZY }, &SmallDrive::default());
        let step = |index: u64| {
            scene.rest(Span::from_millis(30));
            scene.read(index * 8) == HIT
        };
        (0..40).map(step).filter(|&hit| hit).count()
    };
    assert_eq!(hits(0), 0);
    assert!(hits(64) >= 36, "{}", hits(64));
}

#[test]
fn without_write_back_a_write_takes_what_it_took() {
    let mut bare = Scene::new(AcceleratorSpec { write_back: false, ..LAZY }, &drive());
    assert!(bare.write(800) > HIT && bare.holds(800) == Some(1));
    assert_eq!(bare.read(800), HIT);
    assert!(!bare.device.limits(0).volatile_cache);
}

/// Fails or aborts every write and counts them; everything else succeeds.
struct Failing {
    status: Status,
    writes: Rc<Cell<u32>>,
    ready: VecDeque<Completion>,
}

impl Device for Failing {
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

/// The cache above a device that cannot be written, and the count of its attempts.
fn failing(spec: AcceleratorSpec, status: Status) -> (Scene, Rc<Cell<u32>>) {
    let mut scene = Scene::new(spec, &drive());
    let writes = Rc::new(Cell::new(0));
    scene.device =
        Accelerator::build_above(spec, Box::new(Failing { status, writes: writes.clone(), ready: VecDeque::new() }));
    scene.device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    (scene, writes)
}

#[test]
fn what_cannot_be_written_out_is_given_up_and_the_next_flush_says_so() {
    let (mut scene, tries) = failing(LAZY, Status::MediumError);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!((scene.answer().status, tries.get()), (Status::MediumError, u32::from(TRIES)));
    assert_eq!(scene.read(800), HIT, "memory still has it");
    assert_eq!(scene.holds(800), None);
    scene.flush();
    assert_eq!(tries.get(), u32::from(TRIES), "told once, and not tried again");
}

#[test]
fn a_device_that_only_aborts_comes_to_an_end_as_well() {
    let (mut scene, tries) = failing(LAZY, Status::Aborted);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!((scene.answer().status, tries.get()), (Status::MediumError, 200));
}

#[test]
fn where_flushes_are_dropped_the_next_write_says_so() {
    let spec = AcceleratorSpec { drops_flushes: true, idle: Span::from_millis(1), ..LAZY };
    let (mut scene, _) = failing(spec, Status::MediumError);
    scene.write(800);
    scene.rest(Span::from_millis(2));
    scene.flush();
    scene.submit(Op::Write, Flags::NONE, 1_600, 8);
    assert_eq!(scene.answer().status, Status::MediumError);
    scene.write(1_600);
}

/// More writes than memory holds: each waits for room, and room comes.
#[test]
fn writes_that_wait_for_room_end_above_a_failing_device() {
    let (mut scene, _) = failing(AcceleratorSpec { size: 1 << 14, ..LAZY }, Status::MediumError);
    for lba in 0..40 {
        scene.submit(Op::Write, Flags::NONE, lba * 64, 8);
        assert_eq!(scene.answer().status, Status::Done);
    }
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    assert_eq!(scene.answer().status, Status::MediumError);
    scene.control(&Control::PowerOff);
    assert_eq!(scene.device.poll_timeout(), None);
}

/// Each write takes a millisecond and ends as the next of `outcomes` says, with so many of its sectors on the medium;
/// then all succeed. Everything else is done at once.
struct Clumsy {
    outcomes: VecDeque<(Status, u32)>,
    flying: VecDeque<(Instant, Request)>,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
}

impl Clumsy {
    fn finish(&mut self, at: Instant, tag: u32, status: Status) {
        let (parts, effort) = (Parts::default(), Effort::default());
        self.ready.push_back(Completion { tag, status, submitted: at, finished: at, parts, effort });
    }
}

impl Device for Clumsy {
    fn limits(&self, _: u8) -> Limits {
        drive().with_queue(4, Policy::Fcfs).drive().limits(0)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        if request.op != Op::Write {
            self.finish(now, request.tag, Status::Done);
            return Ok(now);
        }
        self.flying.push_back((now + Span::from_millis(1), request));
        Ok(self.flying[0].0)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.flying.front().map(|flying| flying.0)
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(at, request)) = self.flying.front().filter(|flying| flying.0 <= now) {
            self.flying.pop_front();
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
        self.flying.iter().for_each(|(_, request)| tell(request.stamp));
        self.landings.iter().for_each(|landing| tell(landing.stamp));
    }
}

fn clumsy(outcomes: &[(Status, u32)]) -> Scene {
    let mut scene = Scene::new(LAZY, &drive());
    let (flying, ready, landings) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
    let below = Clumsy { outcomes: outcomes.iter().copied().collect(), flying, ready, landings };
    scene.device = Accelerator::build_above(LAZY, Box::new(below));
    scene.device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    scene
}

/// Attempts count by what they left: a cut has nothing to add, whatever went wrong before.
#[test]
fn what_was_tried_again_is_not_lost_with_its_first_attempt() {
    let (error, aborted) = ((Status::MediumError, 0), (Status::Aborted, 0));
    let cases = [
        (&[][..], (8, 0)),
        (&[error], (8, 0)),
        (&[aborted, error, aborted], (8, 0)),
        (&[(Status::Aborted, 3)], (3 + 8, 0)),
        (&[error; TRIES as usize], (0, 8)),
    ];
    for (outcomes, fate) in cases {
        let mut scene = clumsy(outcomes);
        scene.write(800);
        scene.submit(Op::Flush, Flags::NONE, 0, 0);
        scene.answer();
        assert_eq!(scene.fate(1), fate, "{outcomes:?}");
        scene.control(&Control::PowerCut);
        assert_eq!(scene.fate(1), fate, "{outcomes:?}: after a cut");
    }
}

/// A page is written again on its way, and the run comes back: three sectors of the first write are on the medium by
/// then, the other five will never get there.
#[test]
fn what_landed_of_a_run_that_came_back_is_told_before_what_did_not() {
    let mut scene = clumsy(&[(Status::Aborted, 3)]);
    scene.write(800);
    scene.submit(Op::Flush, Flags::NONE, 0, 0);
    let again = scene.submit(Op::Write, Flags::NONE, 800, 8);
    assert_eq!(u64::from(scene.answer().tag), again, "in memory at once");
    assert_eq!(scene.answer().status, Status::Done, "the flush");
    assert_eq!((scene.fate(1), scene.fate(again)), ((3, 5), (8, 0)));
}
