//! Which copy of a mirror is read (`host/array/balance.rs`): by md's rules, measured on Linux 6.1 with two `null_blk` members, and
//! by the others.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use seekwise_disk::block::{Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Request, Status};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::host::ports::Ports;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};

fn spec(level: RaidLevel, members: u32, balance: ReadBalance) -> ArraySpec {
    ArraySpec {
        members,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 64,
        depth: 64,
        queue: Discipline::plain(Policy::Fcfs),
        balance,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: None,
    }
}

/// The reads that members were sent: the member, and the first sector.
type MemberReads = Rc<RefCell<Vec<(u32, u64)>>>;

/// The members of an array, as the device below it. Each serves its commands one after another, [`COMMAND_TIME`] each.
struct QueuedMembers {
    reads: MemberReads,
    /// By member: when it is free.
    free: Vec<Instant>,
    /// In order of their ends.
    in_flight: VecDeque<Completion>,
    ready: VecDeque<Completion>,
}

const COMMAND_TIME: Span = Span::from_millis(1);

impl Device for QueuedMembers {
    fn limits(&self, _: u8) -> Limits {
        Limits { sectors: 64_000, depth: 64, ..SmallDrive::default().drive().limits(0) }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let member = usize::from(request.unit);
        if request.op == Op::Read {
            self.reads.borrow_mut().push((u32::from(request.unit), request.lba));
        }
        let finished = self.free[member].max(now) + COMMAND_TIME;
        self.free[member] = finished;
        let (mut parts, effort) = (Parts::NONE, Effort { commands: 1, ..Effort::NONE });
        parts.add(Part::Transfer, finished.since(now));
        let (tag, status) = (request.tag, Status::Done);
        let at = self.in_flight.partition_point(|other| other.finished <= finished);
        self.in_flight.insert(at, Completion { tag, status, submitted: now, finished, parts, effort });
        Ok(self.in_flight[0].finished)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.front().map(|it| it.finished)
    }
    fn handle_timeout(&mut self, now: Instant) {
        let due = self.in_flight.partition_point(|done| done.finished <= now);
        self.ready.extend(self.in_flight.drain(..due));
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

fn queued_array(spec: &ArraySpec) -> (LayeredDevice<Array>, MemberReads) {
    let reads = MemberReads::default();
    let free = vec![Instant::ZERO; spec.members as usize];
    let (in_flight, ready) = Default::default();
    let members = QueuedMembers { reads: reads.clone(), free, in_flight, ready };
    (Array::build_above(spec.clone(), Box::new(members)), reads)
}

fn read(tag: u32, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba, sectors, stamp: 1 }
}

/// Sends the reads in order, so many at once; returns when the last ended.
fn run_reads(device: &mut dyn Device, depth: usize, reads: impl IntoIterator<Item = (u64, u32)>) -> Instant {
    let (mut now, mut in_flight) = (Instant::ZERO, 0);
    for (tag, (lba, sectors)) in reads.into_iter().enumerate() {
        if in_flight == depth {
            now = device.proceed(Instant::FAR).expect("an answer").finished;
            in_flight -= 1;
        }
        device.submit(now, read(tag as u32, lba, sectors)).expect("room");
        in_flight += 1;
    }
    while in_flight > 0 {
        now = device.proceed(Instant::FAR).expect("an answer").finished;
        in_flight -= 1;
    }
    now
}

/// 200 reads of 128 KiB, one after another, from sector 0 on.
fn pass() -> impl Iterator<Item = (u64, u32)> {
    (0..200).map(|index| (index * 256, 256))
}

/// The members that served reads of these sectors.
fn members_of(reads: &[(u32, u64)]) -> BTreeSet<u32> {
    reads.iter().map(|(member, _)| *member).collect()
}

/// Linux 6.1: at depths 1 and 4 the second member serves no read of a pass; at depth 32 no pass is divided.
#[test]
fn a_sequential_reader_stays_on_one_copy_of_raid_1() {
    for depth in [1, 4, 32] {
        let (mut device, reads) = queued_array(&spec(RaidLevel::Raid1, 2, ReadBalance::Nearest));
        run_reads(&mut device, depth, (0..4).flat_map(|_| pass()));
        // Requests are not divided, so the reads at the members are the passes in order.
        let by_pass: Vec<BTreeSet<u32>> = reads.borrow().chunks(200).map(members_of).collect();
        assert!(by_pass[0] == BTreeSet::from([0]), "depth {depth}");
        assert!(by_pass.iter().all(|members| members.len() == 1), "depth {depth}: {by_pass:?}");
        let (mut device, reads) = queued_array(&spec(RaidLevel::Raid1, 2, ReadBalance::Idle));
        run_reads(&mut device, depth, pass());
        assert_eq!(
            members_of(&reads.borrow()).len(),
            if depth == 1 { 1 } else { 2 },
            "depth {depth}: whichever is idle"
        );
    }
}

/// A drive alone, and a mirror of two of them: equally fast for one reader.
#[test]
fn a_mirror_reads_a_stream_at_the_rate_of_a_drive() {
    let drive = SmallDrive { zones: vec![(600, 100)], ..SmallDrive::default() }
        .with_buffer(4, 1024)
        .with_queue(32, Policy::Fcfs);
    let stream = || (0..400).map(|index| (index * 64, 64));
    for depth in [1, 4, 32] {
        let alone = run_reads(&mut drive.drive(), depth, stream());
        let mirror = |balance| {
            let members = (0..2).map(|_| Box::new(drive.drive()) as Box<dyn Device>).collect();
            let spec = spec(RaidLevel::Raid1, 2, balance);
            let end = run_reads(&mut Array::build_above(spec, Box::new(Ports::new(members))), depth, stream());
            alone.nanos() as f64 / end.nanos() as f64
        };
        let speed_up = mirror(ReadBalance::Nearest);
        assert!((0.99..1.01).contains(&speed_up), "depth {depth}: {speed_up}");
    }
}

/// Two readers, and each has a drive: the second begins while the first is busy, and then continues where it is.
#[test]
fn two_sequential_readers_have_a_copy_each() {
    let (mut device, reads) = queued_array(&spec(RaidLevel::Raid1, 2, ReadBalance::Nearest));
    let both = (0..100).flat_map(|index| [(index * 256, 256), (30_000 + index * 256, 256)]);
    run_reads(&mut device, 8, both);
    let by_place =
        |far: bool| reads.borrow().iter().copied().filter(|(_, lba)| (*lba >= 30_000) == far).collect::<Vec<_>>();
    assert_eq!((members_of(&by_place(false)), members_of(&by_place(true))), (BTreeSet::from([0]), BTreeSet::from([1])));
}

/// If no member is idle, RAID 1 takes the one whose last completed command ended nearest, and of equals the first.
#[test]
fn busy_copies_are_read_where_the_head_is_nearest() {
    let (mut device, reads) = queued_array(&spec(RaidLevel::Raid1, 2, ReadBalance::Nearest));
    // Heads to 1,008 and 40,008: the second read comes while the first member is busy.
    let mut now = run_reads(&mut device, 2, [(1_000, 8), (40_000, 8)]);
    // Both are busy again, at places that continue nothing.
    for (tag, lba) in [(10, 5_000), (11, 9_000), (12, 39_000), (13, 2_000), (14, 20_508)] {
        device.submit(now, read(tag, lba, 8)).expect("room");
    }
    while let Some(next) = device.poll_timeout() {
        now = next;
        device.handle_timeout(now);
    }
    let all: Vec<(u32, u64)> = reads.borrow().clone();
    assert_eq!(all, [(0, 1_000), (1, 40_000), (0, 5_000), (1, 9_000), (1, 39_000), (0, 2_000), (0, 20_508)]);
}

/// md's RAID 10 divides a read into chunks, and has for each the first idle copy, else the nearest: a long read uses all drives.
#[test]
fn raid_10_chooses_for_each_chunk_and_has_no_rule_for_streams() {
    let members_of_chunks = |balance| {
        let (mut device, reads) = queued_array(&spec(RaidLevel::Raid10, 4, balance));
        run_reads(&mut device, 1, [(0, 6 * 64)]);
        let mut reads: Vec<(u32, u64)> = reads.borrow().clone();
        reads.sort_unstable();
        reads
    };
    // Chunks 0, 2 and 4 are on the first pair at sectors 0, 64 and 128 of its drives: the first is idle, then the second, and then
    // both are as near.
    assert_eq!(members_of_chunks(ReadBalance::Nearest), [(0, 0), (0, 128), (1, 64), (2, 0), (2, 128), (3, 64)]);
    // A rule that chooses for a request reads contiguous chunks as one.
    assert_eq!(members_of_chunks(ReadBalance::Idle), [(0, 0), (2, 0)]);
    // A reader of whole chunks, one at a time: the first of each pair is idle every time.
    let (mut device, reads) = queued_array(&spec(RaidLevel::Raid10, 4, ReadBalance::Nearest));
    run_reads(&mut device, 1, (0..100).map(|chunk| (chunk * 64, 64)));
    assert_eq!(members_of(&reads.borrow()), BTreeSet::from([0, 2]));
    let (mut device, reads) = queued_array(&spec(RaidLevel::Raid10, 4, ReadBalance::Nearest));
    run_reads(&mut device, 8, (0..100).map(|chunk| (chunk * 64, 64)));
    assert_eq!(members_of(&reads.borrow()), BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn copies_are_read_as_the_balance_says() {
    // Reads alternate between two far places. With the nearest idle copy each drive stays at one of them; md reads the first
    // idle one, which is always the same.
    let total_time = |balance| {
        let members = (0..2u64).map(|index| {
            Box::new(SmallDrive { phase: index << 61, ..SmallDrive::default() }.drive()) as Box<dyn Device>
        });
        let below = Box::new(Ports::new(members.collect()));
        let mut device = Array::build_above(spec(RaidLevel::Raid1, 2, balance), below);
        let lba = |turn| if turn % 2 == 0 { turn } else { 7000 + turn };
        run_reads(&mut device, 1, (0..20).map(|turn| (lba(turn), 1)))
    };
    let (idle, first) = (total_time(ReadBalance::Idle), total_time(ReadBalance::First));
    assert!(idle < first, "{idle:?} against {first:?}");
    assert_eq!(total_time(ReadBalance::Nearest), first);
}
