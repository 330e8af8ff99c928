//! Arrays (`host/array.rs`): the commands of each level, the loss of a member at any instant, the rebuild, and the write
//! hole. Expected values are worked out by hand, or are laws that hold for random arrays.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, LandingKind, Limits, MemberRole, Op, Queuing, Request,
    Status,
};
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::host::array::layout::{ArrayVolume, Chunk, RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::driver::{Driver, DriverSpec, FlushPolicy};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::host::ports::Ports;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{
    ClientHabits, DurabilityChecker, DurabilityLaw, ImageSector, Layer, PowerFailure, Promise, SectorImage, SmallDrive,
    SmallStack, TestClient, UnrecoverableBlock, VolumeMembers, random_profile, random_sync_policy,
};
use seekwise_disk::time::{Instant, Span};

pub(crate) fn spec(level: RaidLevel, members: u32) -> ArraySpec {
    ArraySpec {
        members,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 16,
        depth: 64,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: None,
    }
}

pub(crate) fn array(spec: &ArraySpec, drive: &SmallDrive) -> LayeredDevice<Array> {
    let member = |index: u32| SmallDrive { phase: u64::from(index) << 61, ..drive.clone() }.drive();
    let members = (0..spec.members).map(|index| Box::new(member(index)) as Box<dyn Device>);
    Array::build_above(spec.clone(), Box::new(Ports::new(members.collect())))
}

pub(crate) fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

/// Submits a request at `now`, and runs the device to its completion.
pub(crate) fn run_request(device: &mut dyn Device, now: Instant, request: Request) -> Completion {
    device.submit(now, request).expect("room");
    device.proceed(Instant::FAR).expect("an answer")
}

pub(crate) fn change_setting(device: &mut dyn Device, now: Instant, setting: ArraySetting) {
    device.control(now, &Control::Set(LayerSetting::Array(setting))).expect("a setting of the array");
}

/// The number of commands to drives that a request becomes.
fn command_count(spec: &ArraySpec, request: Request) -> u32 {
    run_request(&mut array(spec, &SmallDrive::default()), Instant::ZERO, request).effort.commands.into()
}

#[test]
fn a_driver_above_an_array_flushes_while_its_members_cache_writes() {
    let spec_of_driver = DriverSpec { flush: FlushPolicy::Cached, ..DriverSpec::default() };
    let caching = SmallDrive::default().with_buffer(8, 64).with_write_back(6);
    for (at_first, later) in [(true, false), (false, true)] {
        let array = array(&spec(RaidLevel::Raid1, 2), &caching);
        let mut device = Driver::build_above(spec_of_driver, Box::new(array));
        for (caches, flushes) in [(at_first, 2 * u64::from(at_first)), (later, 2)] {
            device.control(Instant::ZERO, &Control::Set(LayerSetting::WriteBack(caches))).expect("a setting of drives");
            run_request(&mut device, Instant::ZERO, request(0, Op::Flush, 0, 0));
            assert_eq!(device.drive_log().flushes, flushes, "{at_first}, then {caches}");
        }
    }
}

/// Only the second member has dirty data when the caches are switched off. The array states its cache, so that a flush still goes down.
#[test]
fn an_array_states_its_cache_while_any_member_has_dirty_data() {
    let caching = SmallDrive::default().with_buffer(8, 64).with_write_back(6);
    let mut device = array(&spec(RaidLevel::Raid0, 2), &caching);
    let second_chunk = u64::from(spec(RaidLevel::Raid0, 2).chunk);
    let written = run_request(&mut device, Instant::ZERO, request(0, Op::Write, second_chunk, 8));
    device.control(written.finished, &Control::Set(LayerSetting::WriteBack(false))).expect("a setting of drives");
    assert!(device.limits(0).volatile_cache);
    run_request(&mut device, written.finished, request(1, Op::Flush, 0, 0));
    assert!(!device.limits(0).volatile_cache);
}

#[test]
fn each_level_sends_the_commands_it_must() {
    let read = |lba, sectors| request(0, Op::Read, lba, sectors);
    let write = |lba, sectors| request(0, Op::Write, lba, sectors);
    let count = |level, members, request| command_count(&spec(level, members), request);
    assert_eq!(count(RaidLevel::Raid0, 2, read(0, 128)), 2, "chunks that follow one another on a member go as one");
    assert_eq!(count(RaidLevel::Raid0, 3, write(8, 16)), 2);
    assert_eq!((count(RaidLevel::Raid1, 2, read(0, 64)), count(RaidLevel::Raid1, 2, write(0, 64))), (1, 2));
    assert_eq!((count(RaidLevel::Raid10, 4, read(0, 32)), count(RaidLevel::Raid10, 4, write(0, 32))), (2, 4));
    assert_eq!(count(RaidLevel::Raid5, 5, write(0, 8)), 4, "two reads, two writes");
    assert_eq!(count(RaidLevel::Raid5, 3, write(0, 8)), 3, "one read to reconstruct, two writes");
    assert_eq!(count(RaidLevel::Raid5, 5, write(0, 64)), 5, "a whole row: no read");
    assert_eq!(count(RaidLevel::Raid5, 5, write(0, 640)), 5, "whole rows: one command a member");
    assert_eq!(count(RaidLevel::Raid6, 6, write(0, 8)), 6, "three reads either way, three writes");
    let degraded = ArraySpec { lost: 1, ..spec(RaidLevel::Raid5, 4) };
    assert_eq!(command_count(&degraded, read(0, 16)), 3, "a lost chunk: all others of its row");
    assert_eq!(command_count(&degraded, read(16, 16)), 1);
    assert_eq!(command_count(&degraded, write(0, 8)), 3, "to a lost chunk: two reads, and parity");
}

#[test]
fn two_drives_stripe_twice_as_fast() {
    let sectors_per_ns = |spec: &ArraySpec| {
        let mut device = array(spec, &SmallDrive::default().with_buffer(4, 256));
        let mut now = Instant::ZERO;
        for index in 0..40 {
            now = run_request(&mut device, now, request(0, Op::Read, index * 128, 128)).finished;
        }
        40.0 * 128.0 / now.nanos() as f64
    };
    let gain = sectors_per_ns(&spec(RaidLevel::Raid0, 2)) / sectors_per_ns(&spec(RaidLevel::Raid0, 1));
    assert!((1.8..2.1).contains(&gain), "{gain}");
}

/// A small array of random drives, with nothing above it.
fn random_array_stack(level: RaidLevel, rng: &mut Rng) -> SmallStack {
    let mut drive = random_profile(rng);
    (drive.weak, drive.firmware.recovery_limit) = (Vec::new(), None);
    let members = level.least_members() + if level == RaidLevel::Raid10 { 0 } else { rng.below(2) as u32 };
    let chunk = [8, 16, 64][rng.below(3) as usize];
    let sync_policy = random_sync_policy(&mut Seed(drive.phase).stream("sync policy"));
    SmallStack { drive, layers: vec![Layer::Array(ArraySpec { chunk, sync_policy, ..spec(level, members) })] }
}

/// A random client of a random array.
struct Case {
    client: TestClient,
    stack: SmallStack,
}

impl Case {
    fn new(level: RaidLevel, seed: u64) -> Case {
        let rng = &mut Seed(seed).stream("lost");
        let stack = random_array_stack(level, rng);
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

    /// The members without those in `lost`.
    fn members<'a>(&self, image: &'a SectorImage, written: &'a [Request], lost: u64) -> VolumeMembers<'a> {
        let sectors = self.stack.drive.geometry().expect("a layout").sectors();
        VolumeMembers { image, volume: self.spec().volumes(sectors)[0], lost, writes: written }
    }

    /// The law of durability that the content of the array breaks without the members in `lost`.
    fn law_broken_without(&mut self, lost: u64) -> Option<DurabilityLaw> {
        let image = self.client.image.clone();
        let written = self.client.written.clone();
        let blocks = self.members(&image, &written, lost).read_written_blocks();
        self.client.checker.judge_image(&blocks, PowerFailure::Cut).err().map(|breach| breach.law)
    }

    fn lose(&mut self, member: u32) {
        self.client.control(&Control::Set(LayerSetting::Array(ArraySetting::Lose(member))));
    }
}

/// Runs a client that loses `losses` members, each at a random instant, and ends with a flush. Returns the law of durability
/// that the result breaks.
fn law_broken_by_losses(level: RaidLevel, losses: u32, seed: u64) -> Option<DurabilityLaw> {
    let mut case = Case::new(level, seed);
    let rng = &mut Seed(seed).stream("instants");
    let mut lost = 0;
    for _ in 0..losses {
        case.client.work_until(case.client.now() + Span::from_micros(rng.below(150_000)));
        let member = rng.below(u64::from(case.spec().members)) as u32;
        case.lose(member);
        lost |= 1 << member;
    }
    case.client.work_until(case.client.now() + Span::from_millis(100));
    case.client.flush_and_wait();
    case.law_broken_without(lost)
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
            assert_eq!(law_broken_by_losses(level, count, seed), None, "{level:?}, {count} lost, seed {seed}");
        }
    }
    let lost =
        (0..60).filter(|&seed| law_broken_by_losses(RaidLevel::Raid0, 1, seed) == Some(DurabilityLaw::Durable)).count();
    // Some lose nothing durable: no flush had covered their data before the loss, and no flush succeeds after it.
    assert!(lost > 30, "RAID 0 lost data in {lost} of 60");
}

/// Random drives, members, users and policies; `SEEKWISE_REBUILDS=10000` draws so many.
#[test]
fn a_rebuilt_member_holds_all_that_was_written() {
    let asked =
        std::env::var("SEEKWISE_REBUILDS").ok().map(|count| count.parse::<u64>().expect("a number of rebuilds"));
    for seed in 0..asked.unwrap_or(80) / 4 {
        for level in [RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6] {
            let mut case = Case::new(level, seed);
            case.client.keep_landings();
            case.client.work_until(Instant::ZERO + Span::from_millis(50));
            case.lose(1);
            // Of some arrays two drives are lost, and rebuilt together.
            let second = (level == RaidLevel::Raid6 && seed % 2 == 1).then_some(2);
            second.into_iter().for_each(|member| case.lose(member));
            case.client.work_until(case.client.now() + Span::from_millis(50));
            let landings_before = case.client.landings.len();
            for member in second.into_iter().chain([1]) {
                case.client.control(&Control::Set(LayerSetting::Array(ArraySetting::Replace(member))));
            }
            case.client.work_until(case.client.now() + Span::from_millis(300));
            assert!(case.finish_rebuild(), "{level:?}, seed {seed}: the rebuild did not end");
            let taken = last_writes_to(&case.client.landings, &case.volume(), 1);
            let mut copy_numbers: Vec<u64> = vec![0; case.volume().end() as usize];
            let mut stamps_by_sector: Vec<Vec<u64>> = vec![Vec::new(); case.volume().end() as usize];
            let on_new_drive = case.client.landings[landings_before..]
                .iter()
                .filter(|landing| landing.member == 1 && landing.number > 0);
            // Copies of the rebuild have stamp 0. Some are reported as discarded: a later write replaced them in the buffer.
            let counts = |landing: &&Landing| match landing.kind {
                LandingKind::Taken => false,
                LandingKind::Landed => true,
                _ => landing.stamp == 0,
            };
            for landing in on_new_drive.filter(counts) {
                for sector in landing.sector..landing.sector + u64::from(landing.sectors) {
                    stamps_by_sector[sector as usize].push(landing.stamp);
                    if landing.stamp == 0 {
                        copy_numbers[sector as usize] = landing.number;
                    }
                }
            }
            let first = case.volume().first as usize;
            for (sector, stamps) in stamps_by_sector.iter().enumerate().skip(first) {
                let copies = stamps.iter().filter(|&&stamp| stamp == 0).count();
                // The runs that had begun when the second drive joined are begun again for both.
                let copies = if second.is_some() { copies.min(1) } else { copies };
                assert_eq!(copies, 1, "{level:?}, seed {seed}: sector {sector} of the new drive: {stamps:?}");
                // A write that was taken after the copy was is on the new drive too: after the copy, or before it if the copy waited for it.
                if let Some(write) = taken[sector].filter(|write| write.number > copy_numbers[sector]) {
                    let is_there = stamps.contains(&write.stamp);
                    assert!(is_there, "{level:?}, seed {seed}: sector {sector} lacks {}: {stamps:?}", write.stamp);
                }
                let after_copy = stamps.iter().skip_while(|&&stamp| stamp > 0).skip(1);
                let on_other_drive = case.client.image.get(0, sector as u64);
                if let (RaidLevel::Raid1 | RaidLevel::Raid10, Some(&last)) = (level, after_copy.last()) {
                    assert_eq!(
                        Some(ImageSector::Stamp(last)),
                        on_other_drive,
                        "seed {seed}: sector {sector} and its copy"
                    );
                }
            }
        }
    }
}

/// For each sector of a member the last write of its block that was taken, unless the sector has parity.
fn last_writes_to(landings: &[Landing], volume: &ArrayVolume, member: u32) -> Vec<Option<Landing>> {
    let mut by_block: BTreeMap<u64, Landing> = BTreeMap::new();
    let is_write = |landing: &&Landing| landing.kind == LandingKind::Taken && landing.role == MemberRole::Every;
    for landing in landings.iter().filter(is_write) {
        by_block.extend((landing.lba..landing.end()).map(|block| (block, *landing)));
    }
    let write_to = |sector| match volume.block_at(member, sector) {
        Some((Chunk::Data { .. }, block)) => by_block.get(&block).copied(),
        _ => None,
    };
    (0..volume.end()).map(write_to).collect()
}

impl Case {
    /// Flushes, and waits until the rebuild has ended and its copies have left the cache; false if it does not end. In pieces of 4 KiB, each of
    /// which costs a turn, it takes more than a minute.
    fn finish_rebuild(&mut self) -> bool {
        self.client.flush_and_wait();
        let ended = |case: &Case| case.client.device.drive_log().syncs.ended > 0;
        for _ in 0..60 {
            if !ended(self) {
                self.client.idle_for(Span::from_secs(30));
            }
        }
        let has_ended = ended(self);
        self.client.idle_for(Span::from_secs(60));
        has_ended
    }

    /// The array's volume.
    fn volume(&self) -> ArrayVolume {
        let (image, written) = (SectorImage::new(), Vec::new());
        self.members(&image, &written, 0).volume
    }
}

/// The write hole: a cut between the writes of data and parity leaves a row in which the later loss of a drive destroys data
/// that were not being written.
#[test]
fn a_cut_between_data_and_parity_leaves_a_hole() {
    let (mut cuts_with_hole, mut cuts_without) = (0, 0);
    for cut in 0..120 {
        let stack = SmallStack { drive: SmallDrive::default(), layers: vec![Layer::Array(spec(RaidLevel::Raid5, 4))] };
        let mut device = stack.build();
        let mut image = SectorImage::new();
        device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
        let first = request(0, Op::Write, 0, 48);
        let second = request(1, Op::Write, 0, 8);
        let now = run_request(&mut *device, Instant::ZERO, first).finished;
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
        let complete = VolumeMembers { image: &image, volume, lost: 0, writes: &written };
        // A direct read of each block returns the old or the new data: no law is broken.
        let read = |lba| complete.read_block(lba).expect("no member is lost");
        assert!((0..8).all(|lba| read(lba) == Some(ImageSector::Stamp(1)) || read(lba) == Some(ImageSector::Stamp(2))));
        assert!((8..48).all(|lba| read(lba) == Some(ImageSector::Stamp(1))));
        // Blocks 16 to 24 are on another drive than the last write, in its row.
        let lost = 1 << volume.data_member(0, 1, 0);
        let degraded = VolumeMembers { lost, ..complete };
        if (16..24).any(|lba| degraded.read_block(lba) == Err(UnrecoverableBlock)) {
            cuts_with_hole += 1;
        } else if complete.blocks_in_write_holes().next().is_none() {
            cuts_without += 1;
        }
    }
    assert!(cuts_with_hole > 0 && cuts_without > 0, "{cuts_with_hole} cuts with a hole, {cuts_without} without");
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
    let mut now = run_request(&mut device, Instant::ZERO, request(0, Op::Write, 0, 64)).finished;
    now = run_request(&mut device, now, request(0, Op::Write, fast, 64)).finished;
    change_setting(&mut device, now, ArraySetting::Lose(1));
    let lost = run_request(&mut device, now, request(0, Op::Read, 0, 64));
    assert_eq!(lost.status, Status::MediumError);
    let kept = run_request(&mut device, lost.finished, request(0, Op::Read, fast, 64));
    assert_eq!(kept.status, Status::Done);
    let both = run_request(&mut device, kept.finished, request(0, Op::Write, fast - 8, 16));
    assert_eq!(both.status, Status::MediumError, "half of it is lost");
}

#[test]
fn a_flush_of_a_lost_volume_fails() {
    // The status of a flush during which members are lost, and of the next one.
    let flush_statuses = |level, members, lost: &[u32]| {
        let mut device = array(&spec(level, members), &SmallDrive::default().with_buffer(4, 256).with_write_back(4));
        let now = run_request(&mut device, Instant::ZERO, request(0, Op::Write, 0, 64)).finished;
        device.submit(now, request(1, Op::Flush, 0, 0)).expect("room");
        lost.iter().for_each(|&member| change_setting(&mut device, now, ArraySetting::Lose(member)));
        let flush = device.proceed(Instant::FAR).expect("an answer");
        let next = run_request(&mut device, flush.finished, request(1, Op::Flush, 0, 0));
        assert!(next.status == Status::Done || next.finished > flush.finished, "an error takes time");
        (flush.status, next.status)
    };
    let (error, done) = (Status::MediumError, Status::Done);
    assert_eq!(flush_statuses(RaidLevel::Raid0, 2, &[1]), (error, error));
    assert_eq!(flush_statuses(RaidLevel::Raid5, 3, &[0, 2]), (error, error));
    assert_eq!(flush_statuses(RaidLevel::Raid5, 3, &[0]), (done, done), "the level survives the loss of one");
    assert_eq!(flush_statuses(RaidLevel::Raid1, 2, &[0]), (done, done));
}

#[test]
fn parity_is_counted_for_the_processor() {
    let parity_sectors = |spec: &ArraySpec, request| {
        run_request(&mut array(spec, &SmallDrive::default()), Instant::ZERO, request).effort.parity
    };
    let (write, read) = (|sectors| request(0, Op::Write, 0, sectors), request(0, Op::Read, 0, 8));
    assert_eq!(
        (parity_sectors(&spec(RaidLevel::Raid0, 2), write(64)), parity_sectors(&spec(RaidLevel::Raid1, 2), write(64))),
        (0, 0)
    );
    assert_eq!(parity_sectors(&spec(RaidLevel::Raid5, 5), write(8)), 24, "the old data, the new, the old parity");
    assert_eq!(parity_sectors(&spec(RaidLevel::Raid5, 3), write(8)), 16, "reconstructed from both");
    assert_eq!(parity_sectors(&spec(RaidLevel::Raid5, 5), write(640)), 640, "whole rows");
    let five = spec(RaidLevel::Raid5, 5);
    assert_eq!(
        (parity_sectors(&five, read), parity_sectors(&ArraySpec { lost: 1, ..five.clone() }, read)),
        (0, 32),
        "read from the others"
    );
    assert_eq!(parity_sectors(&ArraySpec { lost: 1 << 4, ..five }, write(8)), 32, "md computes lost parity, too");
}

/// A sector of a member: the member, and its sector.
pub(crate) type MemberSector = (u32, u64);

/// A command to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordedCommand {
    pub member: u32,
    pub writes: bool,
    /// The first sector, and the first after the last.
    pub sectors: (u64, u64),
}

/// The members of an array, as the device below it. Each command takes [`COMMAND_TIME`], however many there are. Some sectors
/// cannot be read.
struct ScriptedMembers {
    sectors: u64,
    unreadable: Vec<MemberSector>,
    /// All reads and writes so far.
    commands: Rc<RefCell<Vec<RecordedCommand>>>,
    in_flight: VecDeque<Completion>,
    ready: VecDeque<Completion>,
}

pub(crate) const COMMAND_TIME: Span = Span::from_millis(1);

impl Device for ScriptedMembers {
    fn limits(&self, _: u8) -> Limits {
        Limits { sectors: self.sectors, depth: 64, ..SmallDrive::default().drive().limits(0) }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let (member, writes) = (u32::from(request.unit), request.op == Op::Write);
        let is_in_request =
            |&(other, sector): &MemberSector| other == member && (request.lba..request.end()).contains(&sector);
        let fails = !writes && self.unreadable.iter().any(is_in_request);
        if request.op != Op::Flush {
            let sectors = (request.lba, request.end());
            self.commands.borrow_mut().push(RecordedCommand { member, writes, sectors });
        }
        let (tag, status) = (request.tag, if fails { Status::MediumError } else { Status::Done });
        let (mut parts, effort) = (Parts::NONE, Effort { commands: 1, ..Effort::NONE });
        parts.add(Part::Transfer, COMMAND_TIME);
        self.in_flight.push_back(Completion {
            tag,
            status,
            submitted: now,
            finished: now + COMMAND_TIME,
            parts,
            effort,
        });
        Ok(self.in_flight[0].finished)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.front().map(|it| it.finished)
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(done) = self.in_flight.pop_front() {
            if done.finished > now {
                return self.in_flight.push_front(done);
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

/// The length of a scripted member: ten rows of chunks of 16 sectors, and five sectors that stay unused.
const MEMBER_SECTORS: u64 = 165;

/// An array of such members, and the commands to them.
pub(crate) fn array_of_scripted_members(
    spec: &ArraySpec,
    unreadable: &[MemberSector],
) -> (LayeredDevice<Array>, Rc<RefCell<Vec<RecordedCommand>>>) {
    let commands = Rc::new(RefCell::new(Vec::new()));
    let (in_flight, ready) = Default::default();
    let (sectors, unreadable) = (MEMBER_SECTORS, unreadable.to_vec());
    let members = ScriptedMembers { sectors, unreadable, commands: commands.clone(), in_flight, ready };
    (Array::build_above(spec.clone(), Box::new(members)), commands)
}

/// The commands that a request becomes, sorted, and its completion.
fn commands_of_request(
    spec: &ArraySpec,
    unreadable: &[MemberSector],
    request: Request,
) -> (Vec<RecordedCommand>, Completion) {
    let (mut device, commands) = array_of_scripted_members(spec, unreadable);
    let completion = run_request(&mut device, Instant::ZERO, request);
    assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
    let mut sorted = commands.borrow().clone();
    sorted.sort_unstable();
    (sorted, completion)
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

/// The sector of each copy of block `lba`, in an array with chunks of 16 sectors.
fn copy_sectors(level: RaidLevel, members: u64, lba: u64) -> Vec<MemberSector> {
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
        // Left-symmetric: parity moves one member to the left with each row, and data begin after it.
        RaidLevel::Raid5 | RaidLevel::Raid6 => {
            let parities = if level == RaidLevel::Raid5 { 1 } else { 2 };
            let (row, column) = (chunk / (members - parities), chunk % (members - parities));
            let first = members - 1 - row % members;
            vec![at((first + parities + column) % members, row)]
        }
    }
}

/// The sectors of all reads, or of all writes, among these commands.
fn command_sectors(commands: &[RecordedCommand], writes: bool) -> BTreeSet<MemberSector> {
    let chosen = commands.iter().filter(|command| command.writes == writes);
    let sectors = chosen.flat_map(|&RecordedCommand { member, sectors: (from, end), .. }| {
        (from..end).map(move |sector| (member, sector))
    });
    sectors.collect()
}

/// The number of runs of contiguous sectors.
fn count_runs(sectors: &BTreeSet<MemberSector>) -> usize {
    let begins_run = |&&(member, sector): &&MemberSector| sector == 0 || !sectors.contains(&(member, sector - 1));
    sectors.iter().filter(begins_run).count()
}

#[test]
fn each_request_reaches_the_sectors_that_its_level_defines_and_no_others() {
    for (level, members) in levels() {
        let spec = spec(level, members);
        let capacity = 160 * data_columns(level, members);
        let mut rng = Seed(u64::from(members)).stream("reach");
        for case in 0..300 {
            // Requests end within chunks, at their borders and at the array's end.
            let lba = if case % 10 == 0 { capacity - 1 - rng.below(40) } else { rng.below(capacity) };
            let length = (1 + rng.below(90)).min(capacity - lba);
            let context = format!("{level:?}: {length} from {lba}");
            let blocks = lba..lba + length;
            let (reads, done) = commands_of_request(&spec, &[], request(0, Op::Read, lba, length as u32));
            let read = command_sectors(&reads, false);
            let copies = |block: u64| copy_sectors(level, members.into(), block);
            let read_copies = |block: u64| copies(block).iter().filter(|&copy| read.contains(copy)).count();
            let read_once = blocks.clone().filter(|&block| read_copies(block) == 1).count();
            assert_eq!((read_once as u64, read.len() as u64), (length, length), "{context}: one copy of each block");
            let expected_commands = (count_runs(&read), count_runs(&read));
            assert_eq!((reads.len(), usize::from(done.effort.commands)), expected_commands, "{context}: joined");
            let (writes, _) = commands_of_request(&spec, &[], request(0, Op::Write, lba, length as u32));
            let written = command_sectors(&writes, true);
            let data: BTreeSet<MemberSector> = blocks.flat_map(copies).collect();
            assert!(written.is_superset(&data), "{context}: all copies");
            // Parity is written in each row with written data, at the pages of 8 sectors of the data.
            let parities = match level {
                RaidLevel::Raid5 => 1,
                RaidLevel::Raid6 => 2,
                _ => 0,
            };
            for row in 0..10 {
                let in_row = |sectors: &BTreeSet<MemberSector>| -> BTreeSet<u64> {
                    sectors.iter().map(|&(_, sector)| sector).filter(|sector| sector / 16 == row).collect()
                };
                let parity: BTreeSet<MemberSector> = written.difference(&data).copied().collect();
                let (data_sectors, parity_sectors) = (in_row(&data), in_row(&parity));
                if parities == 0 || data_sectors.is_empty() {
                    assert!(parity_sectors.is_empty(), "{context}: row {row}");
                    continue;
                }
                let pages = data_sectors.iter().flat_map(|sector| (0..8).map(move |nth| sector / 8 * 8 + nth));
                assert_eq!(parity_sectors, pages.collect(), "{context}: row {row}");
                let first = (members - 1 + members - (row % u64::from(members)) as u32) % members;
                let of_row = parity.iter().filter(|&&(_, sector)| sector / 16 == row);
                let parity_members: BTreeSet<u32> = of_row.map(|&(member, _)| member).collect();
                let expected: BTreeSet<u32> = (0..parities).map(|index| (first + index) % members).collect();
                assert_eq!(parity_members, expected, "{context}: row {row}");
            }
        }
    }
}

/// The chunks of data in a row, copies counted once.
fn data_columns(level: RaidLevel, members: u32) -> u64 {
    match level {
        RaidLevel::Linear | RaidLevel::Raid0 => members.into(),
        RaidLevel::Raid1 => 1,
        RaidLevel::Raid10 => u64::from(members) / 2,
        RaidLevel::Raid5 => u64::from(members) - 1,
        RaidLevel::Raid6 => u64::from(members) - 2,
    }
}

#[test]
fn blocks_of_a_lost_member_are_read_from_the_others_of_their_row() {
    for (level, members) in [(RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)] {
        let capacity = 160 * data_columns(level, members);
        let mut rng = Seed(7).stream("degraded");
        for _ in 0..300 {
            let lost = rng.below(members.into()) as u32;
            let (lba, length) = (rng.below(capacity), 1 + rng.below(70));
            let length = length.min(capacity - lba);
            let spec = ArraySpec { lost: 1 << lost, ..spec(level, members) };
            let (reads, done) = commands_of_request(&spec, &[], request(0, Op::Read, lba, length as u32));
            let read = command_sectors(&reads, false);
            assert!(
                done.status == Status::Done && read.iter().all(|&(member, _)| member != lost),
                "{level:?} without {lost}"
            );
            for block in lba..lba + length {
                let (member, sector) = copy_sectors(level, members.into(), block)[0];
                let others = (0..members).filter(|&other| other != lost && read.contains(&(other, sector))).count();
                // With a second parity, one of the other members is not needed.
                let are_enough = others as u64 >= data_columns(level, members);
                assert!(
                    if member == lost { are_enough } else { read.contains(&(member, sector)) },
                    "{level:?}: {block}"
                );
            }
        }
    }
}

#[test]
fn an_error_of_a_member_is_recovered_where_the_level_can_and_reported_once_where_it_cannot() {
    let (done, error) = (Status::Done, Status::MediumError);
    let read = |lba, sectors| request(0, Op::Read, lba, sectors);
    let write = |lba, sectors| request(0, Op::Write, lba, sectors);
    // Level, members, unreadable sectors, request; status, response time in ms, commands. A command takes 1 ms.
    type Case<'a> = (RaidLevel, u32, &'a [MemberSector], Request, (Status, u64, u16));
    let cases: [Case<'_>; 15] = [
        (RaidLevel::Raid0, 3, &[(1, 3)], read(0, 48), (error, 1, 3)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(0, 16), (done, 1, 1)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(19, 1), (error, 1, 1)),
        (RaidLevel::Raid0, 3, &[(1, 3)], read(20, 12), (done, 1, 1)),
        (RaidLevel::Raid0, 3, &[(0, 0), (2, 0)], read(0, 48), (error, 1, 3)),
        // After an error, the other copy of the chunk is read.
        (RaidLevel::Raid1, 2, &[(0, 3)], read(0, 16), (done, 2, 2)),
        (RaidLevel::Raid1, 2, &[(0, 3), (1, 3)], read(0, 16), (error, 2, 2)),
        (RaidLevel::Raid1, 3, &[(0, 3), (1, 4)], read(0, 16), (done, 3, 3)),
        (RaidLevel::Raid10, 4, &[(2, 3)], read(0, 32), (done, 2, 3)),
        // The other three chunks of the row are read; all four commands count.
        (RaidLevel::Raid5, 4, &[(0, 3)], read(0, 16), (done, 2, 4)),
        (RaidLevel::Raid5, 4, &[(0, 3), (1, 3)], read(0, 16), (error, 2, 4)),
        // The unreadable sector of the other member is not needed.
        (RaidLevel::Raid5, 4, &[(0, 3), (1, 20)], read(0, 16), (done, 2, 4)),
        // A write reads old data and old parity first. After an error, it reads the other chunks of the row as well.
        (RaidLevel::Raid5, 5, &[], write(0, 8), (done, 2, 4)),
        (RaidLevel::Raid5, 5, &[(0, 3)], write(0, 8), (done, 3, 7)),
        (RaidLevel::Raid5, 5, &[(0, 3), (1, 3)], write(0, 8), (error, 2, 5)),
    ];
    for (level, members, unreadable, request, expected) in cases {
        let (commands, answer) = commands_of_request(&spec(level, members), unreadable, request);
        let found = (answer.status, answer.finished.nanos() / 1_000_000, answer.effort.commands);
        assert_eq!(found, expected, "{level:?} of {members}, {unreadable:?}, {request:?}: {commands:?}");
        // A read's record has the members' time of its last command, that of a write has that of its reads too. Other time
        // counts for the driver.
        let commands_in_turn = if request.op == Op::Write { expected.1 } else { 1 };
        assert_eq!(answer.parts.get(Part::Transfer), COMMAND_TIME.times(commands_in_turn), "{level:?} {unreadable:?}");
    }
}

/// A write of several copies, or of data and parity, that has begun goes on to its end. Everything else ends with the abort.
#[test]
fn an_abort_leaves_no_copies_and_no_row_half_written() {
    let (done, aborted) = (Status::Done, Status::Aborted);
    let (read, write) = (request(0, Op::Read, 0, 8), request(0, Op::Write, 0, 8));
    // Level, members, request, time of the abort in ms, status.
    for (level, members, request, abort_ms, status) in [
        (RaidLevel::Raid0, 2, write, 0, aborted),
        (RaidLevel::Raid1, 2, read, 0, aborted),
        (RaidLevel::Raid1, 2, write, 0, done),
        (RaidLevel::Raid10, 4, write, 0, done),
        // As md: what a stripe has taken goes on.
        (RaidLevel::Raid5, 5, write, 0, done),
        (RaidLevel::Raid5, 5, write, 1, done),
    ] {
        let (mut device, _) = array_of_scripted_members(&spec(level, members), &[]);
        device.submit(Instant::ZERO, request).expect("room");
        device.control(Instant::ZERO + Span::from_millis(abort_ms), &Control::Abort(0)).expect("in flight");
        let answer = device.proceed(Instant::FAR).expect("an answer");
        assert_eq!(answer.status, status, "{level:?}, {request:?} after {abort_ms} ms");
    }
}

/// The drive takes two commands. The first fails; the second is aborted with it, and waits behind two others again.
#[test]
fn a_command_that_waits_again_after_an_abort_can_be_aborted() {
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
    let aborted = device.poll_completion().expect("at once");
    assert_eq!((aborted.tag, aborted.status, aborted.finished), (1, Status::Aborted, failed.finished));
    for tag in [2, 3] {
        let done = device.proceed(Instant::FAR).expect("an answer");
        assert_eq!((done.tag, done.status), (tag, Status::Done));
    }
    assert_eq!(device.proceed(Instant::FAR), None);
}
