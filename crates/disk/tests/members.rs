//! Counts of an array's members (`host/array/member_load.rs`): exact bytes for each level, worked out by hand, and a probe below the
//! array that counts the commands independently.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use seekwise_disk::block::array_load::{ArrayLoad, MemberCounts, MovedSectors};
use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Request, SECTOR, Status,
};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, BitmapSpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::driver::{Driver, DriverSpec};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::host::ports::Ports;
use seekwise_disk::parts::{DriveLog, Effort};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};

/// Sectors in a chunk of the arrays here.
const CHUNK: u32 = 16;

fn spec(level: RaidLevel, members: u32) -> ArraySpec {
    ArraySpec {
        members,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: CHUNK,
        depth: 64,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: ParityWrite::Fewest,
        // A page a member: a write seldom finds what it needs in memory.
        stripe_cache: 1,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: None,
    }
}

/// What a probe saw of one unit.
#[derive(Clone, Default, Debug)]
struct ProbedUnit {
    reads: MovedSectors,
    writes: MovedSectors,
    flushes: u64,
    /// Sums of the times of reads and of writes.
    times: [Span; 2],
    /// From the submission to the completion of each command.
    stretches: Vec<(Instant, Instant)>,
}

impl ProbedUnit {
    /// Time with at least one command in flight.
    fn busy(&self) -> Span {
        let mut stretches = self.stretches.clone();
        stretches.sort_unstable();
        let (mut busy, mut counted_until) = (Span::ZERO, Instant::ZERO);
        for (from, until) in stretches {
            busy += until.saturating_since(from.max(counted_until));
            counted_until = counted_until.max(until);
        }
        busy
    }
}

type ProbedUnits = Rc<RefCell<BTreeMap<u8, ProbedUnit>>>;

/// A device that counts the commands on their way to the units below.
struct Probe {
    below: Box<dyn Device>,
    in_flight: BTreeMap<u32, (Instant, Request)>,
    units: ProbedUnits,
}

impl Device for Probe {
    fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let next = self.below.submit(now, request)?;
        self.in_flight.insert(request.tag, (now, request));
        Ok(next)
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.below.control(now, control)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.below.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.below.handle_timeout(now);
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        let completion = self.below.poll_completion()?;
        let (submitted, request) = self.in_flight.remove(&completion.tag).expect("a command in flight");
        let mut units = self.units.borrow_mut();
        let unit = units.entry(request.unit).or_default();
        unit.stretches.push((submitted, completion.finished));
        if completion.status == Status::Done {
            let one = MovedSectors { commands: 1, sectors: request.sectors.into() };
            match request.op {
                Op::Read => {
                    unit.reads = unit.reads.plus(one);
                    unit.times[0] += completion.finished.since(submitted);
                }
                Op::Write => {
                    unit.writes = unit.writes.plus(one);
                    unit.times[1] += completion.finished.since(submitted);
                }
                _ => unit.flushes += 1,
            }
        }
        Some(completion)
    }
    fn drive_log(&self) -> DriveLog {
        self.below.drive_log()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }
    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(report_stamp);
    }
}

/// An array with a probe between it and its drives.
fn probed_array(spec: &ArraySpec, drive: &SmallDrive) -> (LayeredDevice<Array>, ProbedUnits) {
    let member = |index: u32| SmallDrive { phase: u64::from(index) << 61, ..drive.clone() }.drive();
    let members = (0..spec.members).map(|index| Box::new(member(index)) as Box<dyn Device>);
    let units = ProbedUnits::default();
    let below = Box::new(Ports::new(members.collect()));
    let probe = Probe { below, in_flight: BTreeMap::new(), units: units.clone() };
    (Array::build_above(spec.clone(), Box::new(probe)), units)
}

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

/// Runs requests one after another, and returns the end and their effort.
fn run_in_sequence(device: &mut dyn Device, requests: impl Iterator<Item = (Op, u64, u32)>) -> (Instant, Effort) {
    let (mut now, mut effort) = (Instant::ZERO, Effort::NONE);
    for (op, lba, sectors) in requests {
        device.submit(now, request(0, op, lba, sectors)).expect("room");
        let completion = device.proceed(Instant::FAR).expect("an answer");
        assert_eq!(completion.status, Status::Done);
        now = completion.finished;
        effort.add(&completion.effort);
    }
    (now, effort)
}

fn load_of(device: &dyn Device, now: Instant) -> ArrayLoad {
    device.array_load(now).expect("an array")
}

/// The counts of all members together.
fn sum_of_members(load: &ArrayLoad) -> MemberCounts {
    load.members.iter().fold(MemberCounts::default(), |sum, member| sum.plus(&member.totals()))
}

/// Bytes read and bytes written at the members for each byte of the requests, times a thousand; and how many of the bytes read were
/// old data and parity, and how many the rest of rows.
fn permille(load: &ArrayLoad) -> (u64, u64, u64, u64) {
    let (counts, requests) = (sum_of_members(load), load.requests.totals());
    let sectors = requests.reads().plus(requests.writes()).sectors;
    let share = |moved: MovedSectors| moved.sectors * 1000 / sectors;
    (share(counts.reads()), share(counts.writes()), share(counts.modify_reads), share(counts.reconstruct_reads))
}

/// Writes of 4 KiB at random, one after another.
fn random_writes(device: &dyn Device) -> impl Iterator<Item = (Op, u64, u32)> + use<> {
    let (mut rng, places) = (Seed(7).stream("writes"), device.limits(0).sectors / 8);
    (0..60).map(move |_| (Op::Write, rng.below(places) * 8, 8))
}

#[test]
fn each_level_moves_the_bytes_that_it_must() {
    let written = |spec: &ArraySpec| {
        let mut device = probed_array(spec, &SmallDrive::default()).0;
        let writes = random_writes(&device);
        let (end, effort) = run_in_sequence(&mut device, writes);
        let load = load_of(&device, end);
        assert_eq!(load.requests.totals().user_writes, MovedSectors { commands: 60, sectors: 480 });
        let counts = sum_of_members(&load);
        let before = (u64::from(effort.modify_reads), u64::from(effort.reconstruct_reads));
        assert_eq!(before, (counts.modify_reads.commands, counts.reconstruct_reads.commands));
        assert_eq!(u64::from(effort.commands), counts.reads().plus(counts.writes()).commands);
        permille(&load)
    };
    let of_level = |level, members| written(&spec(level, members));
    assert_eq!(of_level(RaidLevel::Raid0, 3), (0, 1000, 0, 0));
    assert_eq!(of_level(RaidLevel::Raid1, 2), (0, 2000, 0, 0));
    assert_eq!(of_level(RaidLevel::Raid1, 3), (0, 3000, 0, 0));
    assert_eq!(of_level(RaidLevel::Raid10, 4), (0, 2000, 0, 0));
    assert_eq!(of_level(RaidLevel::Raid5, 5), (2000, 2000, 2000, 0), "read-modify-write");
    assert_eq!(of_level(RaidLevel::Raid5, 3), (1000, 2000, 0, 1000), "reconstruct-write");
    assert_eq!(of_level(RaidLevel::Raid6, 8), (3000, 3000, 3000, 0));
    let degraded = written(&ArraySpec { lost: 1 << 4, ..spec(RaidLevel::Raid1, 5) });
    assert_eq!(degraded, (0, 4000, 0, 0), "the lost copy is not written");
}

#[test]
fn whole_rows_and_reads_need_no_more_than_their_bytes() {
    let row = 4 * CHUNK;
    for (op, expected) in [(Op::Write, (0, 1250, 0, 0)), (Op::Read, (1000, 0, 0, 0))] {
        let mut device = probed_array(&spec(RaidLevel::Raid5, 5), &SmallDrive::default()).0;
        let rows = (0..20).map(move |index| (op, u64::from(index * row), row));
        let (end, effort) = run_in_sequence(&mut device, rows);
        let load = load_of(&device, end);
        assert_eq!(permille(&load), expected);
        assert_eq!((effort.modify_reads, effort.reconstruct_reads), (0, 0));
        let by_member =
            load.members.iter().map(|member| member.totals()).map(|counts| counts.reads().plus(counts.writes()));
        let sectors: Vec<u64> = by_member.map(|moved| moved.sectors).collect();
        match op {
            Op::Write => assert_eq!(sectors, [u64::from(20 * CHUNK); 5], "each member has a chunk of each row"),
            _ => assert_eq!(sectors, [u64::from(16 * CHUNK); 5], "parity takes turns, and is not read"),
        }
    }
    let degraded = ArraySpec { lost: 1, ..spec(RaidLevel::Raid5, 4) };
    let mut device = probed_array(&degraded, &SmallDrive::default()).0;
    let (end, _) = run_in_sequence(&mut device, std::iter::once((Op::Read, 0, CHUNK)));
    assert_eq!(permille(&load_of(&device, end)), (3000, 0, 0, 0), "a lost chunk: all others of its row");
}

/// A mirror of which one member is read: the first is busy all the time, the second never.
#[test]
fn a_member_that_always_has_a_command_is_busy_all_the_time() {
    let mirror = ArraySpec { balance: ReadBalance::First, ..spec(RaidLevel::Raid1, 2) };
    let (mut device, units) = probed_array(&mirror, &SmallDrive::default());
    let (end, _) = run_in_sequence(&mut device, (0..40).map(|index| (Op::Read, index * 97, 8)));
    let load = load_of(&device, end);
    let busy = |member: usize| load.members[member].totals().busy;
    assert_eq!([busy(0), busy(1)], [end.since(Instant::ZERO), Span::ZERO]);
    assert_eq!(busy(0), units.borrow()[&0].busy());
    let within = load.members[0].counts_between(Instant::from_nanos(12_345_678), Instant::from_nanos(98_765_432));
    assert_eq!(within.busy, Span::from_nanos(98_765_432 - 12_345_678), "of any span");
    // A command in flight counts too, and idle time after the last one does not.
    device.submit(end, request(0, Op::Read, 5_000, 8)).expect("room");
    let later = end + Span::from_micros(10);
    device.handle_timeout(later);
    assert_eq!(load_of(&device, later).members[0].totals().busy, later.since(Instant::ZERO));
    let done = device.proceed(Instant::FAR).expect("an answer").finished;
    let idle = done + Span::from_millis(50);
    assert_eq!(load_of(&device, idle).members[0].totals().busy, done.since(Instant::ZERO));
}

/// A random request of a few blocks, or a flush.
fn random_request(rng: &mut Rng, tag: u32, limits: &Limits) -> Request {
    let op = [Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Flush][rng.below(6) as usize];
    let sectors = if op == Op::Flush { 0 } else { 1 + rng.below(3 * u64::from(CHUNK)) as u32 };
    request(tag, op, rng.below(limits.sectors - u64::from(sectors)), sectors)
}

/// Random work on an array, a few requests at a time, with one loss, a new drive in its place, and a cut. Returns the end.
fn work_with_troubles(device: &mut dyn Device, rng: &mut Rng) -> Instant {
    let (limits, mut now, mut in_flight) = (device.limits(0), Instant::ZERO, 0);
    for turn in 0..400 {
        match turn {
            100 => drop(device.control(now, &Control::Set(LayerSetting::Array(ArraySetting::Lose(0))))),
            150 => drop(device.control(now, &Control::Set(LayerSetting::Array(ArraySetting::Replace(0))))),
            300 => device.control(now, &Control::PowerCut).expect("a cut"),
            310 => device.control(now, &Control::PowerOn).expect("power"),
            _ => {}
        }
        while device.poll_completion().is_some() {
            in_flight -= 1;
        }
        if in_flight < 6 {
            device.submit(now, random_request(rng, turn, &limits)).expect("room for six");
            in_flight += 1;
        }
        now += Span::from_millis(2);
        device.handle_timeout(now);
        while device.poll_completion().is_some() {
            in_flight -= 1;
        }
    }
    // Until nothing is in flight, neither of requests nor of the rebuild.
    now += Span::from_secs(200);
    device.handle_timeout(now);
    now
}

#[test]
fn counts_are_those_of_a_probe_below_the_array() {
    let bitmap = Some(BitmapSpec { chunk: Some(256), delay: Span::from_millis(40) });
    let (mut synced, mut read_before, mut bitmap_pages) = (0, 0, 0);
    for seed in 0..30 {
        let mut rng = Seed(seed).stream("members");
        let (level, members) = [
            (RaidLevel::Raid0, 3),
            (RaidLevel::Raid1, 2),
            (RaidLevel::Raid10, 4),
            (RaidLevel::Raid5, 4),
            (RaidLevel::Raid6, 5),
        ][seed as usize % 5];
        let bitmap = bitmap.filter(|_| level != RaidLevel::Raid0 && seed % 2 == 0);
        let spec = ArraySpec { bitmap, ..spec(level, members) };
        let drive = SmallDrive::default().with_buffer(4, 64).with_write_back(3);
        let (mut device, units) = probed_array(&spec, &drive);
        let end = work_with_troubles(&mut device, &mut rng);
        let load = load_of(&device, end);
        for (member, curve) in load.members.iter().enumerate() {
            let counts = curve.totals();
            let probed = units.borrow().get(&(member as u8)).cloned().unwrap_or_default();
            let both = (counts.reads(), counts.writes(), counts.flushes);
            assert_eq!(both, (probed.reads, probed.writes, probed.flushes), "{level:?}, seed {seed}, member {member}");
            assert_eq!([counts.read_time, counts.write_time], probed.times, "{level:?}, seed {seed}, member {member}");
            assert!(counts.busy == probed.busy() && counts.busy < end.since(Instant::ZERO), "{level:?}, seed {seed}");
            let (from, until) = (Instant::from_nanos(100_000_000), Instant::from_nanos(333_333_333));
            assert!(curve.counts_between(from, until).busy <= until.since(from), "{level:?}, seed {seed}");
            synced += counts.sync_writes.sectors;
            read_before += counts.reads_before_writes().sectors;
            bitmap_pages += counts.bitmap_writes.commands;
        }
    }
    assert!(synced > 1_000 && read_before > 1_000 && bitmap_pages > 10, "{synced} {read_before} {bitmap_pages}");
}

#[test]
fn late_calls_change_no_count() {
    for level in [RaidLevel::Raid1, RaidLevel::Raid5] {
        let mut device = probed_array(&spec(level, 4), &SmallDrive::default()).0;
        let mut again = probed_array(&spec(level, 4), &SmallDrive::default()).0;
        for tag in 0..20 {
            for device in [&mut device, &mut again] {
                device.submit(Instant::ZERO, request(tag, Op::Write, u64::from(tag) * 131, 8)).expect("room");
            }
        }
        while device.proceed(Instant::FAR).is_some() {}
        let late = Instant::ZERO + Span::from_secs(5);
        again.handle_timeout(late);
        while again.poll_completion().is_some() {}
        assert_eq!(load_of(&device, late), load_of(&again, late));
    }
}

/// Nothing but an array has members; layers above it pass its counts on.
#[test]
fn counts_come_up_through_the_layers() {
    assert!(SmallDrive::default().drive().array_load(Instant::ZERO).is_none());
    let array = probed_array(&spec(RaidLevel::Raid1, 2), &SmallDrive::default()).0;
    let mut device = Driver::build_above(DriverSpec::default(), Box::new(array));
    let (end, effort) = run_in_sequence(&mut device, std::iter::once((Op::Write, 0, 8)));
    let bytes: Vec<u64> =
        load_of(&device, end).members.iter().map(|member| member.totals().user_writes.sectors * SECTOR).collect();
    assert_eq!((bytes, effort.commands), (vec![4096; 2], 2));
}
