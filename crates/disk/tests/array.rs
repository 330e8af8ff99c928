//! Arrays by hand and by swarm: the cost of each level, a member lost at any instant, the rebuild, the write hole.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, Limits, Op, Queuing, Request, Status,
};
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::host::ports::Ports;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{
    ClientHabits, DurabilityChecker, DurabilityLaw, ImageSector, Layer, PowerFailure, Promise, SectorImage, SmallDrive,
    SmallStack, TestClient, UnrecoverableBlock, VolumeMembers, random_profile,
};
use seekwise_disk::time::{Instant, Span};

fn spec(level: RaidLevel, members: u32) -> ArraySpec {
    ArraySpec {
        members,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 16,
        depth: 64,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: ParityWrite::Fewest,
        rebuild_rate: 1_000_000_000,
        rebuild_run: 256,
        lost: 0,
        bitmap: None,
    }
}

fn array(spec: &ArraySpec, drive: &SmallDrive) -> LayeredDevice<Array> {
    let member = |index: u32| SmallDrive { phase: u64::from(index) << 61, ..drive.clone() }.drive();
    let members = (0..spec.members).map(|index| Box::new(member(index)) as Box<dyn Device>);
    Array::build_above(spec.clone(), Box::new(Ports::new(members.collect())))
}

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

/// Runs one request from `now` to its end.
fn serve(device: &mut dyn Device, now: Instant, request: Request) -> Completion {
    device.submit(now, request).expect("room");
    device.proceed(Instant::FAR).expect("an answer")
}

fn set(device: &mut dyn Device, now: Instant, setting: ArraySetting) {
    device.control(now, &Control::Set(LayerSetting::Array(setting))).expect("a setting of the array");
}

/// How many commands a request became.
fn commands(spec: &ArraySpec, request: Request) -> u32 {
    serve(&mut array(spec, &SmallDrive::default()), Instant::ZERO, request).effort.commands.into()
}

#[test]
fn each_level_sends_the_commands_it_must() {
    let (read, write) = (|lba, sectors| request(0, Op::Read, lba, sectors), |lba, n| request(0, Op::Write, lba, n));
    let of = |level, members, what| commands(&spec(level, members), what);
    assert_eq!(of(RaidLevel::Raid0, 2, read(0, 128)), 2, "chunks that follow one another on a member go as one");
    assert_eq!(of(RaidLevel::Raid0, 3, write(8, 16)), 2);
    assert_eq!((of(RaidLevel::Raid1, 2, read(0, 64)), of(RaidLevel::Raid1, 2, write(0, 64))), (1, 2));
    assert_eq!((of(RaidLevel::Raid10, 4, read(0, 32)), of(RaidLevel::Raid10, 4, write(0, 32))), (2, 4));
    assert_eq!(of(RaidLevel::Raid5, 5, write(0, 8)), 4, "two reads, two writes");
    assert_eq!(of(RaidLevel::Raid5, 3, write(0, 8)), 3, "one read to reconstruct, two writes");
    assert_eq!(of(RaidLevel::Raid5, 5, write(0, 64)), 5, "a whole row: no read");
    assert_eq!(of(RaidLevel::Raid5, 5, write(0, 640)), 5, "whole rows: one command a member");
    assert_eq!(of(RaidLevel::Raid6, 6, write(0, 8)), 6, "three reads either way, three writes");
    let degraded = ArraySpec { lost: 1, ..spec(RaidLevel::Raid5, 4) };
    assert_eq!(commands(&degraded, read(0, 16)), 3, "a lost chunk: all others of its row");
    assert_eq!(commands(&degraded, read(16, 16)), 1);
    assert_eq!(commands(&degraded, write(0, 8)), 3, "to a lost chunk: two reads, and parity");
}

#[test]
fn two_drives_stripe_twice_as_fast() {
    let rate = |spec: &ArraySpec| {
        let mut device = array(spec, &SmallDrive::default().with_buffer(4, 256));
        let mut now = Instant::ZERO;
        for index in 0..40 {
            now = serve(&mut device, now, request(0, Op::Read, index * 128, 128)).finished;
        }
        40.0 * 128.0 / now.nanos() as f64
    };
    let one = ArraySpec { members: 1, ..spec(RaidLevel::Raid0, 1) };
    let gain = rate(&spec(RaidLevel::Raid0, 2)) / rate(&one);
    assert!((1.8..2.1).contains(&gain), "{gain}");
}

/// A small array of any drive, directly below its client.
fn any(level: RaidLevel, rng: &mut Rng) -> SmallStack {
    let mut drive = random_profile(rng);
    (drive.weak, drive.firmware.recovery_limit) = (Vec::new(), None);
    let members = level.least_members() + if level == RaidLevel::Raid10 { 0 } else { rng.below(2) as u32 };
    let chunk = [8, 16, 64][rng.below(3) as usize];
    SmallStack { drive, layers: vec![Layer::Array(ArraySpec { chunk, ..spec(level, members) })] }
}

struct Case {
    client: TestClient,
    stack: SmallStack,
}

impl Case {
    fn new(level: RaidLevel, seed: u64) -> Case {
        let rng = &mut Seed(seed).stream("lost");
        let stack = any(level, rng);
        let device = stack.build();
        let limits = device.limits(0);
        let habits = ClientHabits::random(&limits, rng);
        let promise = Promise { heads: 5, ..Promise::from_limits(&limits, stack.drive.cut_sector) };
        let client = TestClient::new(device, DurabilityChecker::new(promise), habits, Seed(seed).stream("client"));
        Case { client, stack }
    }

    fn spec(&self) -> &ArraySpec {
        match &self.stack.layers[0] {
            Layer::Array(spec) => spec,
            _ => unreachable!("built with an array"),
        }
    }

    /// The members, less `lost`.
    fn members<'a>(&self, image: &'a SectorImage, written: &'a [Request], lost: u64) -> VolumeMembers<'a> {
        let sectors = self.stack.drive.geometry().expect("a layout").sectors();
        VolumeMembers { image, volume: self.spec().volumes(sectors)[0], lost, writes: written }
    }

    /// What a client finds of its durable writes without the `lost` members.
    fn verdict(&mut self, lost: u64) -> Option<DurabilityLaw> {
        let image = self.client.image.clone();
        let written = self.client.written.clone();
        let blocks = self.members(&image, &written, lost).read_written_blocks();
        self.client.checker.judge_image(&blocks, PowerFailure::Cut).err().map(|breach| breach.law)
    }

    fn lose(&mut self, member: u32) {
        self.client.control(&Control::Set(LayerSetting::Array(ArraySetting::Lose(member))));
    }
}

/// Works, loses members at any instant, goes on, flushes. Returns the broken law, if any.
fn lose_at_any_instant(level: RaidLevel, count: u32, seed: u64) -> Option<DurabilityLaw> {
    let mut case = Case::new(level, seed);
    let rng = &mut Seed(seed).stream("instants");
    let mut lost = 0;
    for _ in 0..count {
        case.client.work_until(case.client.now() + Span::from_micros(rng.below(150_000)));
        let member = rng.below(u64::from(case.spec().members)) as u32;
        case.lose(member);
        lost |= 1 << member;
    }
    case.client.work_until(case.client.now() + Span::from_millis(100));
    case.client.flush_and_wait();
    case.verdict(lost)
}

#[test]
fn a_lost_member_costs_redundant_levels_nothing_and_raid_0_its_data() {
    for seed in 0..60 {
        for (level, count) in [
            (RaidLevel::Raid1, 1),
            (RaidLevel::Raid10, 1),
            (RaidLevel::Raid5, 1),
            (RaidLevel::Raid6, 1),
            (RaidLevel::Raid6, 2),
        ] {
            assert_eq!(lose_at_any_instant(level, count, seed), None, "{level:?}, {count} lost, seed {seed}");
        }
    }
    let lost =
        (0..60).filter(|&seed| lose_at_any_instant(RaidLevel::Raid0, 1, seed) == Some(DurabilityLaw::Durable)).count();
    // What no flush had covered before the loss was not promised, and no flush succeeds after it.
    assert!(lost > 30, "RAID 0 lost data in {lost} of 60");
}

#[test]
fn a_rebuilt_member_holds_all_that_was_written() {
    for seed in 0..20 {
        for level in [RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6] {
            let mut case = Case::new(level, seed);
            case.client.keep_landings();
            case.client.work_until(Instant::ZERO + Span::from_millis(50));
            case.lose(1);
            case.client.work_until(case.client.now() + Span::from_millis(50));
            let from = case.client.landings.len();
            case.client.control(&Control::Set(LayerSetting::Array(ArraySetting::Replace(1))));
            case.client.work_until(case.client.now() + Span::from_millis(300));
            case.client.flush_and_wait();
            case.client.idle_for(Span::from_secs(60));
            let mut sectors: Vec<Vec<u64>> = vec![Vec::new(); case.members_end() as usize];
            let new = case.client.landings[from..].iter().filter(|landing| landing.member == 1 && landing.number > 0);
            // A copy that a later write replaced in the buffer is reported as discarded.
            let came = |landing: &&Landing| landing.stamp == 0 || landing.kind == LandingKind::Landed;
            for landing in new.filter(|landing| landing.kind != LandingKind::Taken).filter(came) {
                for sector in landing.sector..landing.sector + u64::from(landing.sectors) {
                    sectors[sector as usize].push(landing.stamp);
                }
            }
            for (sector, stamps) in sectors.iter().enumerate() {
                let copies = stamps.iter().filter(|&&stamp| stamp == 0).count();
                assert_eq!(copies, 1, "{level:?}, seed {seed}: sector {sector} of the new drive: {stamps:?}");
                let after = stamps.iter().skip_while(|&&stamp| stamp > 0).skip(1);
                let twin = case.client.image.get(0, sector as u64);
                if let (RaidLevel::Raid1 | RaidLevel::Raid10, Some(&last)) = (level, after.last()) {
                    assert_eq!(Some(ImageSector::Stamp(last)), twin, "seed {seed}: sector {sector} and its copy");
                }
            }
        }
    }
}

impl Case {
    fn members_end(&self) -> u64 {
        let (image, written) = (SectorImage::new(), Vec::new());
        self.members(&image, &written, 0).volume.end()
    }
}

/// The write hole: a cut between data and parity leaves a row in which a later loss destroys data that nobody wrote.
#[test]
fn a_cut_between_data_and_parity_leaves_a_hole() {
    let (mut holes, mut whole) = (0, 0);
    for cut in 0..120 {
        let stack = SmallStack { drive: SmallDrive::default(), layers: vec![Layer::Array(spec(RaidLevel::Raid5, 4))] };
        let mut device = stack.build();
        let mut image = SectorImage::new();
        device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
        let first = request(0, Op::Write, 0, 48);
        let second = request(1, Op::Write, 0, 8);
        let now = serve(&mut *device, Instant::ZERO, first).finished;
        device.submit(now, second).expect("room");
        let at = now + Span::from_micros(cut * 400);
        device.handle_timeout(at);
        device.control(at, &Control::PowerCut).expect("known");
        while let Some(landing) = device.poll_landing() {
            image.apply_landing(&landing);
        }
        let written = [first, second];
        let sectors = SmallDrive::default().geometry().expect("a layout").sectors();
        let volume = spec(RaidLevel::Raid5, 4).volumes(sectors)[0];
        let all = VolumeMembers { image: &image, volume, lost: 0, writes: &written };
        // Read directly, each block holds the old or the new data: no law is broken.
        let read = |lba| all.read_block(lba).expect("nothing is lost");
        assert!((0..8).all(|lba| read(lba) == Some(ImageSector::Stamp(1)) || read(lba) == Some(ImageSector::Stamp(2))));
        assert!((8..48).all(|lba| read(lba) == Some(ImageSector::Stamp(1))));
        // Blocks 16 to 24 lie beside what was written, on another drive.
        let lost = 1 << volume.data_member(0, 1, 0);
        let without = VolumeMembers { lost, ..all };
        let gone = (16..24).filter(|&lba| without.read_block(lba) == Err(UnrecoverableBlock)).count();
        let agree = without.volume.capacity() > 0 && all_holes(&image, volume, &written).is_empty();
        match gone {
            0 => whole += u32::from(agree),
            _ => holes += 1,
        }
    }
    assert!(holes > 0 && whole > 0, "{holes} cuts with a hole, {whole} without");
}

fn all_holes(
    image: &SectorImage,
    volume: seekwise_disk::host::array::layout::ArrayVolume,
    written: &[Request],
) -> Vec<u64> {
    VolumeMembers { image, volume, lost: 0, writes: written }.blocks_in_write_holes().collect()
}

#[test]
fn a_lost_member_takes_the_first_volume_of_a_matrix_and_leaves_the_second() {
    let shares = vec![
        VolumeShare { level: RaidLevel::Raid0, permille: 500 },
        VolumeShare { level: RaidLevel::Raid1, permille: 500 },
    ];
    let mut device = array(&ArraySpec { shares, ..spec(RaidLevel::Raid0, 2) }, &SmallDrive::default());
    let (fast, safe) = (device.layer().volumes()[0].capacity(), device.layer().volumes()[1].capacity());
    assert_eq!(device.limits(0).sectors, fast + safe);
    let mut now = serve(&mut device, Instant::ZERO, request(0, Op::Write, 0, 64)).finished;
    now = serve(&mut device, now, request(0, Op::Write, fast, 64)).finished;
    set(&mut device, now, ArraySetting::Lose(1));
    let lost = serve(&mut device, now, request(0, Op::Read, 0, 64));
    assert_eq!(lost.status, Status::MediumError);
    let kept = serve(&mut device, lost.finished, request(0, Op::Read, fast, 64));
    assert_eq!(kept.status, Status::Done);
    let both = serve(&mut device, kept.finished, request(0, Op::Write, fast - 8, 16));
    assert_eq!(both.status, Status::MediumError, "half of it is lost");
}

#[test]
fn a_flush_of_a_lost_volume_fails() {
    let of = |level, members, lost: &[u32]| {
        let mut device = array(&spec(level, members), &SmallDrive::default().with_buffer(4, 256).with_write_back(4));
        let now = serve(&mut device, Instant::ZERO, request(0, Op::Write, 0, 64)).finished;
        device.submit(now, request(1, Op::Flush, 0, 0)).expect("room");
        lost.iter().for_each(|&member| set(&mut device, now, ArraySetting::Lose(member)));
        let flush = device.proceed(Instant::FAR).expect("an answer");
        let after = serve(&mut device, flush.finished, request(1, Op::Flush, 0, 0));
        assert!(after.status == Status::Done || after.finished > flush.finished, "an error takes time");
        (flush.status, after.status)
    };
    let (fails, works) = (Status::MediumError, Status::Done);
    assert_eq!(of(RaidLevel::Raid0, 2, &[1]), (fails, fails), "under way, and afterwards");
    assert_eq!(of(RaidLevel::Raid5, 3, &[0, 2]), (fails, fails));
    assert_eq!(of(RaidLevel::Raid5, 3, &[0]), (works, works), "one lost can be borne");
    assert_eq!(of(RaidLevel::Raid1, 2, &[0]), (works, works));
}

#[test]
fn parity_is_counted_for_the_processor() {
    let of =
        |spec: &ArraySpec, what| serve(&mut array(spec, &SmallDrive::default()), Instant::ZERO, what).effort.parity;
    let (write, read) = (|n| request(0, Op::Write, 0, n), request(0, Op::Read, 0, 8));
    assert_eq!((of(&spec(RaidLevel::Raid0, 2), write(64)), of(&spec(RaidLevel::Raid1, 2), write(64))), (0, 0));
    assert_eq!(of(&spec(RaidLevel::Raid5, 5), write(8)), 24, "the old data, the new, the old parity");
    assert_eq!(of(&spec(RaidLevel::Raid5, 3), write(8)), 16, "reconstructed from both");
    assert_eq!(of(&spec(RaidLevel::Raid5, 5), write(640)), 640, "whole rows");
    let five = spec(RaidLevel::Raid5, 5);
    assert_eq!((of(&five, read), of(&ArraySpec { lost: 1, ..five.clone() }, read)), (0, 32), "read from the others");
    assert_eq!(of(&ArraySpec { lost: 1 << 4, ..five }, write(8)), 0, "no parity to keep up");
}

#[test]
fn copies_are_read_as_the_balance_says() {
    // Two far places read by turns: nearest keeps one drive at each.
    let total = |balance| {
        let mut device = array(&ArraySpec { balance, ..spec(RaidLevel::Raid1, 2) }, &SmallDrive::default());
        let mut now = Instant::ZERO;
        for turn in 0..20 {
            let lba = if turn % 2 == 0 { 0 } else { 7000 };
            now = serve(&mut device, now, request(0, Op::Read, lba + turn, 1)).finished;
        }
        now
    };
    let (nearest, first) = (total(ReadBalance::Nearest), total(ReadBalance::First));
    assert!(nearest < first, "{nearest:?} against {first:?}");
}

#[test]
fn a_rebuild_keeps_to_its_rate_and_ends() {
    let drive = SmallDrive::default().with_buffer(4, 256);
    let spec = ArraySpec { rebuild_rate: 1_000_000, ..spec(RaidLevel::Raid5, 3) };
    let mut device = array(&spec, &drive);
    let bytes = device.layer().volumes()[0].sectors * 512;
    set(&mut device, Instant::ZERO, ArraySetting::Lose(2));
    assert_eq!(device.layer().lost_members(), 4);
    set(&mut device, Instant::ZERO, ArraySetting::Replace(2));
    while let Some(next) = device.poll_timeout() {
        device.handle_timeout(next);
    }
    let progress = device.layer().rebuild_progress();
    let took = progress.ended.expect("it ends").nanos() as f64 / 1e9;
    let least = bytes as f64 / 1e6;
    assert!(took >= least * 0.9 && took < least * 1.3, "{took} s for {least} s at the rate");
    assert_eq!((progress.sectors * 512, progress.unread, device.layer().lost_members()), (bytes, 0, 0));
}

/// Without power nothing is rebuilt; with it the rebuild begins anew, and takes as long as any.
#[test]
fn a_rebuild_that_a_cut_ended_begins_anew_when_the_power_is_back() {
    let spec = ArraySpec { lost: 1 << 2, rebuild_rate: 1_000_000, ..spec(RaidLevel::Raid5, 3) };
    let mut device = array(&spec, &SmallDrive::default().with_buffer(4, 256));
    set(&mut device, Instant::ZERO, ArraySetting::Replace(2));
    // A byte takes a microsecond.
    let whole = Span::from_micros(device.layer().volumes()[0].sectors * 512);
    let (cut, on) = (Instant::ZERO + Span::from_nanos(whole.nanos() / 2), Instant::ZERO + whole.times(4));
    device.handle_timeout(cut);
    assert!(device.layer().rebuild_progress().sectors > 0);
    device.control(cut, &Control::PowerCut).expect("known");
    device.handle_timeout(on);
    assert_eq!(device.layer().rebuild_progress().sectors, 0);
    device.control(on, &Control::PowerOn).expect("known");
    device.handle_timeout(on + whole.times(2));
    let ended = device.layer().rebuild_progress().ended.expect("it ends");
    assert!(ended.since(on).nanos() >= whole.nanos() / 10 * 9, "{ended:?} after {on:?}");
    assert_eq!(device.layer().lost_members(), 0);
}

// Members that are scripted: which sectors of which of them a request reaches, and what an error of one of them does to it.

/// A command that reached a member: which, whether it writes, the first sector and the one behind the last.
type Reached = (u32, bool, u64, u64);

/// Members that take a millisecond for each command, all of them at once; some sectors of some cannot be read.
struct Members {
    sectors: u64,
    unreadable: Vec<(u32, u64)>,
    reached: Rc<RefCell<Vec<Reached>>>,
    under_way: VecDeque<Completion>,
    ready: VecDeque<Completion>,
}

const TAKES: Span = Span::from_millis(1);

impl Device for Members {
    fn limits(&self, _: u8) -> Limits {
        Limits { sectors: self.sectors, depth: 64, ..SmallDrive::default().drive().limits(0) }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let (member, writes) = (u32::from(request.unit), request.op == Op::Write);
        let spoilt = |at: &(u32, u64)| at.0 == member && (request.lba..request.end()).contains(&at.1);
        let fails = !writes && self.unreadable.iter().any(spoilt);
        if request.op != Op::Flush {
            self.reached.borrow_mut().push((member, writes, request.lba, request.end()));
        }
        let (tag, status) = (request.tag, if fails { Status::MediumError } else { Status::Done });
        let (mut parts, effort) = (Parts::NONE, Effort { commands: 1, ..Effort::NONE });
        parts.add(Part::Transfer, TAKES);
        self.under_way.push_back(Completion { tag, status, submitted: now, finished: now + TAKES, parts, effort });
        Ok(self.under_way[0].finished)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.under_way.front().map(|it| it.finished)
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(done) = self.under_way.pop_front() {
            if done.finished > now {
                return self.under_way.push_front(done);
            }
            self.ready.push_back(done);
        }
    }
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

/// Ten rows of chunks of 16 sectors and five sectors that stay unused.
const MEMBER: u64 = 165;

/// An array over such members, and what reaches them.
fn scripted(spec: &ArraySpec, unreadable: &[(u32, u64)]) -> (LayeredDevice<Array>, Rc<RefCell<Vec<Reached>>>) {
    let reached = Rc::new(RefCell::new(Vec::new()));
    let (under_way, ready) = Default::default();
    let members =
        Members { sectors: MEMBER, unreadable: unreadable.to_vec(), reached: reached.clone(), under_way, ready };
    (Array::build_above(spec.clone(), Box::new(members)), reached)
}

/// The commands that a request became, and its answer.
fn reach(spec: &ArraySpec, unreadable: &[(u32, u64)], what: Request) -> (Vec<Reached>, Completion) {
    let (mut device, reached) = scripted(spec, unreadable);
    let done = serve(&mut device, Instant::ZERO, what);
    assert_eq!(done.parts.total(), done.finished.since(done.submitted));
    let mut all = reached.borrow().clone();
    all.sort_unstable();
    (all, done)
}

/// Every level, with a number of members.
fn levels() -> [(RaidLevel, u32); 6] {
    [
        (RaidLevel::Linear, 3),
        (RaidLevel::Raid0, 3),
        (RaidLevel::Raid1, 3),
        (RaidLevel::Raid10, 4),
        (RaidLevel::Raid5, 4),
        (RaidLevel::Raid6, 5),
    ]
}

/// Where block `lba` of an array of chunks of 16 lies: member and sector of each copy.
fn copies(level: RaidLevel, members: u64, lba: u64) -> Vec<(u32, u64)> {
    let (chunk, within) = (lba / 16, lba % 16);
    let at = |member: u64, row: u64| (member as u32, row * 16 + within);
    match level {
        RaidLevel::Linear => vec![((lba / 160) as u32, lba % 160)],
        RaidLevel::Raid0 => vec![at(chunk % members, chunk / members)],
        RaidLevel::Raid1 => (0..members).map(|member| at(member, chunk)).collect(),
        RaidLevel::Raid10 => {
            let (pairs, pair) = (members / 2, chunk % (members / 2));
            [0, 1].map(|copy| at(2 * pair + copy, chunk / pairs)).to_vec()
        }
        // Left-symmetric: parity goes one to the left with each row, and data begin behind it.
        RaidLevel::Raid5 | RaidLevel::Raid6 => {
            let parities = if level == RaidLevel::Raid5 { 1 } else { 2 };
            let (row, column) = (chunk / (members - parities), chunk % (members - parities));
            let first = members - 1 - row % members;
            vec![at((first + parities + column) % members, row)]
        }
    }
}

/// The sectors of runs, one by one.
fn sectors(reached: &[Reached], writes: bool) -> Vec<(u32, u64)> {
    let runs = reached.iter().filter(|run| run.1 == writes);
    runs.flat_map(|&(member, _, from, end)| (from..end).map(move |sector| (member, sector))).collect()
}

/// Runs of sectors that are contiguous on a member.
fn runs(of: &BTreeSet<(u32, u64)>) -> usize {
    of.iter().filter(|(member, sector)| *sector == 0 || !of.contains(&(*member, sector - 1))).count()
}

#[test]
fn each_request_reaches_the_sectors_that_its_level_defines_and_no_others() {
    for (level, members) in levels() {
        let spec = spec(level, members);
        let capacity = 160 * copies_in_all(level, members);
        let mut rng = Seed(u64::from(members)).stream("reach");
        for case in 0..300 {
            // Every border of a chunk comes up: within it, up to it, over it, and the array's end.
            let lba = if case % 10 == 0 { capacity - 1 - rng.below(40) } else { rng.below(capacity) };
            let length = (1 + rng.below(90)).min(capacity - lba);
            let what = format!("{level:?}: {length} from {lba}");
            let blocks = lba..lba + length;
            let (reads, done) = reach(&spec, &[], request(0, Op::Read, lba, length as u32));
            let read: BTreeSet<(u32, u64)> = sectors(&reads, false).into_iter().collect();
            let of = |block: u64| copies(level, members.into(), block);
            let hit = blocks.clone().filter(|&block| of(block).iter().filter(|at| read.contains(at)).count() == 1);
            assert_eq!((hit.count() as u64, read.len() as u64), (length, length), "{what}: one copy of each block");
            assert_eq!((reads.len(), usize::from(done.effort.commands)), (runs(&read), runs(&read)), "{what}: joined");
            let (writes, _) = reach(&spec, &[], request(0, Op::Write, lba, length as u32));
            let written: BTreeSet<(u32, u64)> = sectors(&writes, true).into_iter().collect();
            let data: BTreeSet<(u32, u64)> = blocks.flat_map(of).collect();
            assert!(written.is_superset(&data), "{what}: all copies");
            // Beside them parity: of each row that is written, at the same sectors of the chunk or between them.
            let parities = match level {
                RaidLevel::Raid5 => 1,
                RaidLevel::Raid6 => 2,
                _ => 0,
            };
            for row in 0..10 {
                let in_row = |set: &BTreeSet<(u32, u64)>| -> BTreeSet<u64> {
                    set.iter().map(|at| at.1).filter(|sector| sector / 16 == row).collect()
                };
                let (own, parity) = (in_row(&data), written.difference(&data).copied().collect());
                let parity_sectors = in_row(&parity);
                if parities == 0 || own.is_empty() {
                    assert!(parity_sectors.is_empty(), "{what}: row {row}");
                    continue;
                }
                let hull = *own.first().expect("one")..=*own.last().expect("one");
                assert!(
                    parity_sectors.is_superset(&own) && parity_sectors.iter().all(|at| hull.contains(at)),
                    "{what}"
                );
                let first = (members - 1 + members - (row % u64::from(members)) as u32) % members;
                let holders: BTreeSet<u32> =
                    parity.iter().filter(|at: &&(u32, u64)| at.1 / 16 == row).map(|at| at.0).collect();
                let expected: BTreeSet<u32> = (0..parities).map(|which| (first + which) % members).collect();
                assert_eq!(holders, expected, "{what}: row {row}");
            }
        }
    }
}

/// Chunks of data in a row.
fn copies_in_all(level: RaidLevel, members: u32) -> u64 {
    match level {
        RaidLevel::Linear | RaidLevel::Raid0 => members.into(),
        RaidLevel::Raid1 => 1,
        RaidLevel::Raid10 => u64::from(members) / 2,
        RaidLevel::Raid5 => u64::from(members) - 1,
        RaidLevel::Raid6 => u64::from(members) - 2,
    }
}

#[test]
fn without_a_member_each_block_comes_from_it_or_from_all_others_of_its_row() {
    for (level, members) in [(RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)] {
        let capacity = 160 * copies_in_all(level, members);
        let mut rng = Seed(7).stream("degraded");
        for _ in 0..300 {
            let lost = rng.below(members.into()) as u32;
            let (lba, length) = (rng.below(capacity), 1 + rng.below(70));
            let length = length.min(capacity - lba);
            let spec = ArraySpec { lost: 1 << lost, ..spec(level, members) };
            let (reads, done) = reach(&spec, &[], request(0, Op::Read, lba, length as u32));
            let read: BTreeSet<(u32, u64)> = sectors(&reads, false).into_iter().collect();
            assert!(done.status == Status::Done && read.iter().all(|at| at.0 != lost), "{level:?} without {lost}");
            for block in lba..lba + length {
                let (member, sector) = copies(level, members.into(), block)[0];
                let others = (0..members).filter(|&other| other != lost && read.contains(&(other, sector))).count();
                // As many of the row as it has data: with the second parity one more than that is left.
                let enough = others as u64 >= copies_in_all(level, members);
                assert!(if member == lost { enough } else { read.contains(&(member, sector)) }, "{level:?}: {block}");
            }
        }
    }
}

#[test]
fn an_error_of_one_member_is_made_good_where_the_level_can_and_told_once_where_it_cannot() {
    let (done, error) = (Status::Done, Status::MediumError);
    let read = |lba, sectors| request(0, Op::Read, lba, sectors);
    let write = |lba, sectors| request(0, Op::Write, lba, sectors);
    // Level, members, what cannot be read, the request; status, milliseconds, commands. A command takes one.
    type Case<'a> = (RaidLevel, u32, &'a [(u32, u64)], Request, (Status, u64, u16));
    let cases: [Case<'_>; 15] = [
        (RaidLevel::Raid0, 3, &[(1, 3)], read(0, 48), (error, 1, 3)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(0, 16), (done, 1, 1)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(19, 1), (error, 1, 1)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(20, 12), (done, 1, 1)),
        (RaidLevel::Raid0, 3, &[(0, 0), (2, 0)], read(0, 48), (error, 1, 3)),
        // The copy of the chunks that failed, and then nothing more.
        (RaidLevel::Raid1, 2, &[(0, 3)], read(0, 16), (done, 2, 2)),
        (RaidLevel::Raid1, 2, &[(0, 3), (1, 3)], read(0, 16), (error, 2, 2)),
        (RaidLevel::Raid1, 3, &[(0, 3), (1, 4)], read(0, 16), (done, 3, 3)),
        (RaidLevel::Raid10, 4, &[(2, 3)], read(0, 32), (done, 2, 3)),
        // The other three of the row; all four commands count.
        (RaidLevel::Raid5, 4, &[(0, 3)], read(0, 16), (done, 2, 4)),
        (RaidLevel::Raid5, 4, &[(0, 3), (1, 3)], read(0, 16), (error, 2, 4)),
        // The sectors of the other beside the lost ones were not needed.
        (RaidLevel::Raid5, 4, &[(0, 3), (1, 20)], read(0, 16), (done, 2, 4)),
        // A write that reads old data and old parity first: one more round by the others.
        (RaidLevel::Raid5, 5, &[], write(0, 8), (done, 2, 4)),
        (RaidLevel::Raid5, 5, &[(0, 3)], write(0, 8), (done, 3, 7)),
        (RaidLevel::Raid5, 5, &[(0, 3), (1, 3)], write(0, 8), (error, 2, 5)),
    ];
    for (level, members, unreadable, what, (status, ms, commands)) in cases {
        let (reached, answer) = reach(&spec(level, members), unreadable, what);
        let found = (answer.status, answer.finished.nanos() / 1_000_000, answer.effort.commands);
        assert_eq!(found, (status, ms, commands), "{level:?} of {members}, {unreadable:?}, {what:?}: {reached:?}");
        // A read's record has the time of its last command, a write's that of the reads before it too; the rest is the driver's.
        let members = if what.op == Op::Write { TAKES.times(ms) } else { TAKES };
        assert_eq!(answer.parts.get(Part::Transfer), members, "{level:?} {unreadable:?}");
    }
}

/// Copies and rows stay whole: a write of them that has begun goes on to its end, everything else ends with the abort.
#[test]
fn an_abort_leaves_no_copies_and_no_row_half_written() {
    let (done, aborted) = (Status::Done, Status::Aborted);
    let (read, write) = (request(0, Op::Read, 0, 8), request(0, Op::Write, 0, 8));
    // Level, members, the request, milliseconds until the abort, status.
    for (level, members, what, ms, status) in [
        (RaidLevel::Raid0, 2, write, 0, aborted),
        (RaidLevel::Raid1, 2, read, 0, aborted),
        (RaidLevel::Raid1, 2, write, 0, done),
        (RaidLevel::Raid10, 4, write, 0, done),
        // Old data and old parity are read first.
        (RaidLevel::Raid5, 5, write, 0, aborted),
        (RaidLevel::Raid5, 5, write, 1, done),
    ] {
        let (mut device, _) = scripted(&spec(level, members), &[]);
        device.submit(Instant::ZERO, what).expect("room");
        device.control(Instant::ZERO + Span::from_millis(ms), &Control::Abort(0)).expect("in flight");
        let answer = device.proceed(Instant::FAR).expect("an answer");
        assert_eq!(answer.status, status, "{level:?}, {what:?} after {ms} ms");
    }
}

/// Ten runs of a row each. Of the other members each row takes as many as it needs, and they take turns.
#[test]
fn a_rebuild_reads_the_other_members_equally_often() {
    for (level, members, needed) in [
        (RaidLevel::Raid1, 2, 1),
        (RaidLevel::Raid1, 3, 1),
        (RaidLevel::Raid1, 4, 1),
        (RaidLevel::Raid5, 4, 3),
        (RaidLevel::Raid6, 5, 3),
    ] {
        let spec = ArraySpec { lost: 1, rebuild_run: 16, ..spec(level, members) };
        let (mut device, reached) = scripted(&spec, &[]);
        set(&mut device, Instant::ZERO, ArraySetting::Replace(0));
        device.handle_timeout(Instant::ZERO + Span::from_secs(1));
        assert_eq!(device.layer().rebuild_progress().sectors, 160, "{level:?} of {members}");
        let reads: Vec<(u32, u64)> = reached.borrow().iter().filter(|run| !run.1).map(|run| (run.0, run.2)).collect();
        assert_eq!(reads.len(), 10 * needed, "{level:?} of {members}");
        // In as many rows as there are others.
        let end = u64::from(members - 1) * 16;
        let times = |member: u32| reads.iter().filter(|read| read.0 == member && read.1 < end).count();
        assert!((1..members).all(|member| times(member) == needed), "{level:?} of {members}: {reads:?}");
    }
}

/// A drive that takes two commands: the first fails, the second goes down with it and waits behind two others again.
#[test]
fn what_went_down_with_another_can_be_aborted_while_it_waits_again() {
    let mut drive = SmallDrive::default().with_queue(2, Policy::Fcfs);
    drive.link.queuing = Queuing::Ncq;
    drive.weak = vec![WeakBlocks { lba: 100, sectors: 1, retries: 9 }];
    drive.firmware.recovery_limit = Some(Span::from_millis(20));
    let mut device = array(&spec(RaidLevel::Raid0, 1), &drive);
    for (tag, lba) in (0..).zip([100, 3_000, 4_000, 5_000]) {
        device.submit(Instant::ZERO, request(tag, Op::Read, lba, 8)).expect("room");
    }
    let failed = device.proceed(Instant::FAR).expect("an answer");
    assert_eq!((failed.tag, failed.status), (0, Status::MediumError));
    device.control(failed.finished, &Control::Abort(1)).expect("in flight");
    let gone = device.poll_completion().expect("at once");
    assert_eq!((gone.tag, gone.status, gone.finished), (1, Status::Aborted, failed.finished));
    for tag in [2, 3] {
        let done = device.proceed(Instant::FAR).expect("an answer");
        assert_eq!((done.tag, done.status), (tag, Status::Done));
    }
    assert_eq!(device.proceed(Instant::FAR), None);
}
