//! Rebuilds and checks of arrays (`host/array/sync.rs`): what they read and write, how fast they go, when they wait for users, and
//! what breaks them off. The rules are those of Linux's md (`drivers/md/md.c`, `md_do_sync`); expected values follow from
//! them by hand.

use std::collections::BTreeSet;

use seekwise_disk::block::setting::{ArraySetting, LayerSetting};
use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Request, Status};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{
    Array, ArraySpec, BesideUsers, SyncKind, SyncPieces, SyncPolicy, SyncProgress, SyncSpeed,
};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::parts::{DriveLog, Effort, Part, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};

use crate::array::{array, array_of_scripted_members, change_setting, request, run_request, spec};

/// A check or the rebuild of member 1, which is lost first.
const SYNCS: [SyncKind; 2] = [SyncKind::Rebuild, SyncKind::Check];

/// Every level with redundancy, with a number of members.
const LEVELS: [(RaidLevel, u32); 4] =
    [(RaidLevel::Raid1, 2), (RaidLevel::Raid10, 4), (RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)];

/// A mebibyte in sectors.
const MIB: u64 = 2048;

/// Members of [`PlainMembers::SECTORS`]. Each serves one command at a time, in order, at 100 MiB/s; a command that does not follow
/// the one before it takes 5 ms longer. A write is acknowledged when at most 4 MiB of writes are left in the cache.
struct PlainMembers {
    /// By member: when it will be idle, and the sector after its last command.
    heads: Vec<(Instant, u64)>,
    /// In the order in which they finish.
    in_flight: Vec<Completion>,
    ready: Vec<Completion>,
    powered: bool,
}

impl PlainMembers {
    const SECTORS: u64 = 512 * MIB;
    const POSITIONING: Span = Span::from_millis(5);
    /// 100 MiB a second.
    const MIB_TIME: Span = Span::from_millis(10);
    /// The time to write what the cache holds.
    const CACHE_TIME: Span = Span::from_millis(40);

    fn array(spec: &ArraySpec) -> LayeredDevice<Array> {
        let heads = vec![(Instant::ZERO, 0); spec.members as usize];
        let members = PlainMembers { heads, in_flight: Vec::new(), ready: Vec::new(), powered: true };
        Array::build_above(spec.clone(), Box::new(members))
    }
}

impl Device for PlainMembers {
    fn limits(&self, _: u8) -> Limits {
        Limits { sectors: PlainMembers::SECTORS, depth: 32, ..SmallDrive::default().drive().limits(0) }
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let (idle_at, end) = &mut self.heads[usize::from(request.unit)];
        let positioning = if request.lba == *end { Span::ZERO } else { PlainMembers::POSITIONING };
        let transfer = Span::from_nanos(PlainMembers::MIB_TIME.nanos() * u64::from(request.sectors) / MIB);
        (*idle_at, *end) = (now.max(*idle_at) + positioning + transfer, request.end());
        let cached = if request.op == Op::Write { PlainMembers::CACHE_TIME } else { Span::ZERO };
        let finished = if self.powered { now + idle_at.since(now).saturating_sub(cached) } else { now };
        let (mut parts, effort) = (Parts::NONE, Effort { commands: 1, ..Effort::NONE });
        parts.add(Part::Transfer, finished.since(now));
        let status = if self.powered { Status::Done } else { Status::PowerLost };
        let place = self.in_flight.partition_point(|other| other.finished <= finished);
        self.in_flight.insert(place, Completion { tag: request.tag, status, submitted: now, finished, parts, effort });
        Ok(self.in_flight[0].finished)
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        match control {
            Control::PowerCut => {
                self.powered = false;
                for mut cut in self.in_flight.drain(..) {
                    let mut parts = Parts::NONE;
                    parts.add(Part::Transfer, now.since(cut.submitted));
                    (cut.finished, cut.status, cut.parts) = (now, Status::PowerLost, parts);
                    self.ready.push(cut);
                }
                self.heads.iter_mut().for_each(|head| head.0 = now);
            }
            Control::PowerOn => self.powered = true,
            _ => {}
        }
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.in_flight.first().map(|it| it.finished)
    }
    fn handle_timeout(&mut self, now: Instant) {
        let over = self.in_flight.partition_point(|it| it.finished <= now);
        self.ready.extend(self.in_flight.drain(..over));
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        (!self.ready.is_empty()).then(|| self.ready.remove(0))
    }
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}
}

fn control(device: &mut dyn Device, now: Instant, setting: ArraySetting) -> Result<(), ControlError> {
    device.control(now, &Control::Set(LayerSetting::Array(setting)))
}

fn start_sync(device: &mut dyn Device, now: Instant, kind: SyncKind) {
    match kind {
        SyncKind::Rebuild => {
            change_setting(device, now, ArraySetting::Lose(1));
            change_setting(device, now, ArraySetting::Replace(1));
        }
        SyncKind::Check => change_setting(device, now, ArraySetting::Check(true)),
    }
}

fn at_ms(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

/// Users that each wait for their request before the next one.
struct Users {
    count: u32,
    op: Op,
    sectors: u32,
    /// Their blocks begin here, at random, in this many of the array's.
    within: (u64, u64),
}

impl Users {
    /// Works until `end`; returns how many requests ended, and how long each took.
    fn work_until(&self, device: &mut LayeredDevice<Array>, end: Instant) -> Vec<Span> {
        let mut rng = Seed(u64::from(self.count)).stream("users");
        let mut times = Vec::new();
        let mut submit = |device: &mut LayeredDevice<Array>, now, tag| {
            let (from, blocks) = self.within;
            let lba = from + rng.below(blocks / u64::from(self.sectors)) * u64::from(self.sectors);
            device.submit(now, request(tag, self.op, lba, self.sectors)).expect("room");
        };
        (0..self.count).for_each(|tag| submit(device, Instant::ZERO, tag));
        while let Some(now) = device.poll_timeout().filter(|&now| now <= end) {
            device.handle_timeout(now);
            while let Some(done) = device.poll_completion() {
                assert_eq!(done.status, Status::Done);
                times.push(done.finished.since(done.submitted));
                submit(device, now, done.tag);
            }
        }
        times
    }
}

/// Lets the array work alone until `end`.
fn idle_until(device: &mut LayeredDevice<Array>, end: Instant) -> SyncProgress {
    device.handle_timeout(end);
    device.layer().sync_progress()
}

fn plain_spec(level: RaidLevel, members: u32, sync_speed: SyncSpeed) -> ArraySpec {
    ArraySpec { chunk: 1024, sync_speed, ..spec(level, members) }
}

#[test]
fn alone_a_sync_goes_as_fast_as_the_members() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let sync_speed = SyncSpeed { max_kib_s: 1 << 20, ..SyncSpeed::LINUX };
            let mut device = PlainMembers::array(&plain_spec(level, members, sync_speed));
            start_sync(&mut device, Instant::ZERO, kind);
            let progress = idle_until(&mut device, at_ms(60_000));
            let mib = device.layer().volumes()[0].sectors / MIB;
            let ended = progress.ended.expect("it ends").nanos();
            let at_least = PlainMembers::MIB_TIME.times(mib).nanos();
            // A rebuild ends a run later on the new drive.
            assert!((at_least..at_least / 50 * 51).contains(&ended), "{level:?}, {kind:?}: {ended} for {mib} MiB");
            let expected = SyncProgress {
                kind,
                began: Some(Instant::ZERO),
                ended: progress.ended,
                sectors: mib * MIB,
                ..SyncProgress::default()
            };
            assert_eq!(progress, expected, "{level:?}");
            assert_eq!(device.layer().lost_members(), 0);
        }
    }
}

/// md counts seconds from one: `max` KiB are done in the first, and so on. It never has more than that done.
#[test]
fn a_sync_keeps_to_its_highest_speed() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let sync_speed = SyncSpeed { min_kib_s: 100, max_kib_s: 20_000 };
            let mut device = PlainMembers::array(&plain_spec(level, members, sync_speed));
            start_sync(&mut device, Instant::ZERO, kind);
            // A check of RAID 10 counts the blocks of the array.
            let counted = match (level, kind) {
                (RaidLevel::Raid10, SyncKind::Check) => u64::from(members / 2),
                _ => 1,
            };
            for second in 1..20 {
                let progress = idle_until(&mut device, at_ms(1000 * second - 1));
                let done = progress.sectors / 2 * counted;
                let most_in_flight = 32 * 1024;
                assert!(done <= 20_000 * second + most_in_flight, "{level:?}, {kind:?}: {done} KiB after {second} s");
                assert!(done >= 20_000 * (second - 1), "{level:?}, {kind:?}: {done} KiB after {second} s");
                assert_eq!(progress.drains, 0);
            }
            assert!(device.layer().sync_progress().sleeps > 19);
        }
    }
}

/// The users are far from the sync: on a RAID 1 it waits for those within 64 MiB.
#[test]
fn beside_busy_users_a_sync_has_its_lowest_speed_and_they_have_most_of_theirs() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            for op in [Op::Read, Op::Write] {
                let users = Users { count: 16, op, sectors: 128, within: (100 * MIB, 300 * MIB) };
                let spec = plain_spec(level, members, SyncSpeed::LINUX);
                let mut alone = PlainMembers::array(&spec);
                if kind == SyncKind::Rebuild {
                    change_setting(&mut alone, Instant::ZERO, ArraySetting::Lose(1));
                }
                let rate_alone = users.work_until(&mut alone, at_ms(20_000)).len();
                let mut device = PlainMembers::array(&spec);
                start_sync(&mut device, Instant::ZERO, kind);
                let rate = users.work_until(&mut device, at_ms(20_000)).len();
                let progress = device.layer().sync_progress();
                let context = format!("{level:?}, {kind:?}, {op:?}: {rate} of {rate_alone}, {progress:?}");
                // On RAID 10 they take turns with it.
                let least = if level == RaidLevel::Raid10 { 4 } else { 7 };
                assert!(rate * 10 >= rate_alone * least, "{context}");
                assert!(progress.sectors / 2 >= 19 * 1000, "{context}");
                assert!(progress.ended.is_none(), "{context}");
            }
        }
    }
}

/// The pauses end with the users.
#[test]
fn after_busy_users_a_sync_is_as_fast_as_before() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let mut device = PlainMembers::array(&plain_spec(level, members, SyncSpeed::LINUX));
            start_sync(&mut device, Instant::ZERO, kind);
            let users = Users { count: 16, op: Op::Read, sectors: 128, within: (0, 400 * MIB) };
            users.work_until(&mut device, at_ms(5000));
            // The users' last requests end.
            idle_until(&mut device, at_ms(6000));
            let before = device.layer().sync_progress().sectors;
            let after = idle_until(&mut device, at_ms(7000)).sectors;
            // Of 100 MiB in a second.
            assert!(after - before >= 98 * MIB, "{level:?}, {kind:?}: {} MiB", (after - before) / MIB);
        }
    }
}

/// Each request of the users is a reason to wait: 1 MiB, more than the sync may have in flight. So between two waits 128 KiB are
/// issued, except below the lowest speed.
#[test]
fn beside_large_requests_a_sync_issues_128_kib_at_a_time() {
    for (level, members) in [(RaidLevel::Raid1, 2), (RaidLevel::Raid5, 4)] {
        let sync_speed = SyncSpeed { min_kib_s: 1, max_kib_s: 200_000 };
        let mut device = PlainMembers::array(&plain_spec(level, members, sync_speed));
        start_sync(&mut device, Instant::ZERO, SyncKind::Check);
        let users = Users { count: 8, op: Op::Read, sectors: 4096, within: (100 * MIB, 300 * MIB) };
        users.work_until(&mut device, at_ms(20_000));
        let SyncProgress { sectors, drains, .. } = device.layer().sync_progress();
        assert!(drains > 50 && sectors / 256 <= drains / 2 * 3, "{level:?}: {} KiB, {drains} waits", sectors / 2);
    }
}

/// A sync in pieces of 1 MiB.
fn spec_in_pieces(level: RaidLevel, members: u32, (beside_users, in_flight): (BesideUsers, u32)) -> ArraySpec {
    let sync_speed = SyncSpeed { min_kib_s: 1, max_kib_s: 1 << 20 };
    let sync_policy =
        SyncPolicy::Pieces(SyncPieces { sectors: 2048, in_flight, beside_users, group: 0, as_files: false });
    ArraySpec { sync_policy, ..plain_spec(level, members, sync_speed) }
}

#[test]
fn pieces_go_as_fast_as_the_members_and_their_highest_speed_allow() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let spec = spec_in_pieces(level, members, (BesideUsers::GoOn, 4));
            let mut device = PlainMembers::array(&spec);
            start_sync(&mut device, Instant::ZERO, kind);
            let mib = device.layer().volumes()[0].sectors / MIB;
            let ended = idle_until(&mut device, at_ms(60_000)).ended.expect("it ends").nanos();
            let at_least = PlainMembers::MIB_TIME.times(mib).nanos();
            assert!((at_least..at_least / 50 * 51).contains(&ended), "{level:?}, {kind:?}: {ended} for {mib} MiB");
            let sync_speed = SyncSpeed { min_kib_s: 1, max_kib_s: 20_480 };
            let mut slow = PlainMembers::array(&ArraySpec { sync_speed, ..spec });
            start_sync(&mut slow, Instant::ZERO, kind);
            for second in 1..20 {
                let done = idle_until(&mut slow, at_ms(1000 * second)).sectors / MIB;
                assert!((20 * second - 4..=20 * second + 1).contains(&done), "{level:?}, {kind:?}: {done} MiB");
            }
        }
    }
}

/// Users that are always there: an idle sync has what it began before they came, and goes on when they end. One with credits goes on
/// slowly, one that goes on whatever they do is faster and costs them more.
#[test]
fn pieces_give_way_to_users_as_their_policy_says() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            // More than members, so that they never all end at once.
            let users = Users { count: 7, op: Op::Read, sectors: 8, within: (100 * MIB, 300 * MIB) };
            let beside = |policy| {
                let mut device = PlainMembers::array(&spec_in_pieces(level, members, (policy, 3)));
                start_sync(&mut device, Instant::ZERO, kind);
                let requests = users.work_until(&mut device, at_ms(3000)).len();
                (device, requests)
            };
            let (mut idle, undisturbed) = beside(BesideUsers::Wait);
            let begun = idle.layer().sync_progress().sectors;
            assert!(begun <= 3 * MIB, "{level:?}, {kind:?}: {begun} sectors beside users");
            idle_until(&mut idle, at_ms(3100));
            let after = idle_until(&mut idle, at_ms(4100)).sectors;
            assert!(after >= 95 * MIB, "{level:?}, {kind:?}: {} MiB in a second alone", after / MIB);
            let [(with_credit, slower), (steady, slowest)] = [BesideUsers::Credit, BesideUsers::GoOn].map(beside);
            let [with_credit, steady] = [with_credit, steady].map(|device| device.layer().sync_progress().sectors);
            let context = format!("{level:?}, {kind:?}: {with_credit} {slower}, {steady} {slowest}, {undisturbed}");
            assert!(begun < with_credit && with_credit < steady, "{context}");
            assert!(slowest < slower && slower < undisturbed, "{context}");
        }
    }
}

/// By hand: of a mebibyte 10 ms of reading and 5 ms to the next group, while another piece is written.
#[test]
fn groups_in_random_order_cost_a_positioning_each() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let spec = spec_in_pieces(level, members, (BesideUsers::GoOn, 4));
            let SyncPolicy::Pieces(pieces) = spec.sync_policy else { unreachable!() };
            let sync_policy = SyncPolicy::Pieces(SyncPieces { group: 2048, ..pieces });
            let mut device = PlainMembers::array(&ArraySpec { sync_policy, ..spec });
            start_sync(&mut device, Instant::ZERO, kind);
            let mib = device.layer().volumes()[0].sectors / MIB;
            let ended = idle_until(&mut device, at_ms(60_000)).ended.expect("it ends").nanos();
            let by_hand = (PlainMembers::MIB_TIME + PlainMembers::POSITIONING).times(mib).nanos();
            assert!(
                (by_hand / 50 * 49..by_hand / 50 * 51).contains(&ended),
                "{level:?}, {kind:?}: {ended} for {mib} MiB"
            );
        }
    }
}

/// By hand, one piece at a time: 10 ms of reading; then on the new drive the way to the data, 10 ms of writing, the flush, the way to the
/// journal, its page, and the flush.
#[test]
fn pieces_as_files_are_flushed_and_recorded_each() {
    for (level, members) in LEVELS {
        let spec = spec_in_pieces(level, members, (BesideUsers::GoOn, 1));
        let SyncPolicy::Pieces(pieces) = spec.sync_policy else { unreachable!() };
        let sync_policy = SyncPolicy::Pieces(SyncPieces { as_files: true, ..pieces });
        let mut device = PlainMembers::array(&ArraySpec { sync_policy, ..spec });
        start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
        let pieces = device.layer().volumes()[0].sectors.div_ceil(MIB);
        let ended = idle_until(&mut device, at_ms(60_000)).ended.expect("it ends").nanos();
        let page = PlainMembers::MIB_TIME.nanos() / 256;
        let by_hand = pieces * (2 * (PlainMembers::MIB_TIME + PlainMembers::POSITIONING).nanos() + page);
        assert!((by_hand / 100 * 99..by_hand / 100 * 101).contains(&ended), "{level:?}: {ended}, by hand {by_hand}");
    }
}

/// Two spares that are there at the beginning are rebuilt together, in the time of one; one that comes later waits for its turn.
#[test]
fn spares_that_are_there_together_are_rebuilt_together() {
    for (level, members, second) in [(RaidLevel::Raid6, 5, 3), (RaidLevel::Raid10, 4, 2), (RaidLevel::Raid1, 3, 2)] {
        let sync_speed = SyncSpeed { max_kib_s: 1 << 20, ..SyncSpeed::LINUX };
        let ended = |together: bool| {
            let mut device = PlainMembers::array(&plain_spec(level, members, sync_speed));
            for member in [1, second] {
                change_setting(&mut device, Instant::ZERO, ArraySetting::Lose(member));
            }
            change_setting(&mut device, Instant::ZERO, ArraySetting::Replace(1));
            if together {
                change_setting(&mut device, Instant::ZERO, ArraySetting::Replace(second));
                let again = control(&mut device, Instant::ZERO, ArraySetting::Replace(second));
                assert_eq!(again, Err(ControlError::BadValue), "it is in its place already");
            }
            idle_until(&mut device, at_ms(1000));
            let late = control(&mut device, at_ms(1000), ArraySetting::Replace(second));
            assert_eq!(late, Err(ControlError::BadValue), "{level:?}: the rebuild has begun");
            let progress = idle_until(&mut device, at_ms(60_000));
            let left = if together { 0 } else { 1 << second };
            assert_eq!(device.layer().lost_members(), left, "{level:?}");
            progress.ended.expect("it ends").nanos()
        };
        let (both, one) = (ended(true), ended(false));
        // The first runs, on RAID 10 a sixteenth of these small members, are begun again.
        assert!((one / 100 * 99..one / 100 * 107).contains(&both), "{level:?}: {both} ns together, {one} for one");
    }
}

#[test]
fn a_sync_can_be_simulated_from_the_middle() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let mut device =
                PlainMembers::array(&plain_spec(level, members, SyncSpeed { max_kib_s: 1 << 20, ..SyncSpeed::LINUX }));
            start_sync(&mut device, Instant::ZERO, kind);
            let sectors = device.layer().volumes()[0].sectors;
            change_setting(&mut device, Instant::ZERO, ArraySetting::SkipSync(sectors / 2));
            let half = PlainMembers::MIB_TIME.times(sectors / MIB / 2).nanos();
            let ended = idle_until(&mut device, at_ms(60_000)).ended.expect("it ends").nanos();
            // What was under way is up to 32 MiB.
            let most_begun = PlainMembers::MIB_TIME.times(34).nanos();
            assert!((half..half + most_begun).contains(&ended), "{level:?}, {kind:?}: {ended} of {half}");
            let none = control(&mut device, at_ms(60_000), ArraySetting::SkipSync(0));
            assert_eq!(none, Err(ControlError::BadValue), "no sync is under way");
        }
    }
}

/// What a sync has in flight hides as much of the users: 4 KiB at a time, they must read as much before it waits once.
#[test]
fn beside_small_requests_a_sync_waits_as_seldom_as_md() {
    let mut device = PlainMembers::array(&plain_spec(RaidLevel::Raid1, 2, SyncSpeed::LINUX));
    start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
    let user = Users { count: 1, op: Op::Read, sectors: 8, within: (300 * MIB, 100 * MIB) };
    let requests = user.work_until(&mut device, at_ms(4000)).len() as u64;
    let progress = device.layer().sync_progress();
    // Without that it would wait for each 64 sectors.
    assert!(requests > 100 && progress.drains > 0, "{requests} requests, {progress:?}");
    assert!(progress.drains * 64 * 4 < requests * 8, "{requests} requests, {progress:?}");
}

/// The time of a request of one sector at this block, after the first two runs of a rebuild began. Each member has the commands
/// of the runs before it.
fn time_beside_runs(level: RaidLevel, members: u32, op: Op, lba: u64) -> Span {
    let mut device = PlainMembers::array(&plain_spec(level, members, SyncSpeed::LINUX));
    start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
    idle_until(&mut device, at_ms(1));
    let done = run_request(&mut device, at_ms(1), request(0, op, lba, 1));
    done.finished.since(done.submitted)
}

#[test]
fn a_sync_excludes_users_as_its_level_does() {
    let (unit, read, write) = (64 * MIB, Op::Read, Op::Write);
    let at = |level, members, op, lba| time_beside_runs(level, members, op, lba).nanos() / 1_000_000;
    // Runs of 1,280 and 704 KiB take 19 ms to read. A request then takes 5 ms; a write alone is cached at once.
    let raid_1 = |op, lba| at(RaidLevel::Raid1, 2, op, lba);
    assert_eq!(
        (raid_1(write, unit - 1), raid_1(write, unit)),
        (18, 0),
        "a write within the same 64 MiB waits for them"
    );
    assert_eq!(raid_1(read, unit - 1), 23, "a read waits for the member alone");
    // Runs of 1,280 KiB, 32 MiB of them: everybody waits, on other drives too.
    for (op, time) in [(read, 316), (write, 311)] {
        assert_eq!(at(RaidLevel::Raid10, 4, op, 700 * MIB), time, "{op:?}");
    }
    // 512 KiB of each member, twice. A request to the stripes of the first run waits until that is read. A sector is a part
    // of a page, which is read first, behind the runs.
    let raid_5 = |op, lba| at(RaidLevel::Raid5, 3, op, lba);
    assert_eq!((raid_5(write, 0), raid_5(write, 4 * MIB), raid_5(read, 8)), (19, 14, 19));
}

/// Users of RAID 10 that are always there: the sync has a block of 64 KiB each time that all of them had a request.
#[test]
fn a_sync_of_raid_10_and_its_users_take_turns() {
    let spec = plain_spec(RaidLevel::Raid10, 4, SyncSpeed { min_kib_s: 200_000, max_kib_s: 200_000 });
    let mut device = PlainMembers::array(&spec);
    start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
    let users = Users { count: 8, op: Op::Read, sectors: 8, within: (0, 800 * MIB) };
    let requests = users.work_until(&mut device, at_ms(20_000)).len() as u64;
    let blocks = device.layer().sync_progress().sectors / 128;
    // The first run is 32 MiB: no user had come.
    let turns = blocks - 512;
    assert!((turns * 8..=turns * 9 + 8).contains(&requests), "{requests} requests, {turns} turns");
}

#[test]
fn a_rebuild_reads_the_first_mirror_or_all_other_members_and_a_check_reads_all() {
    for (level, members, sources) in [
        (RaidLevel::Raid1, 2, vec![1]),
        (RaidLevel::Raid1, 4, vec![1]),
        (RaidLevel::Raid10, 4, vec![1]),
        (RaidLevel::Raid5, 4, vec![1, 2, 3]),
        // One of them would not be needed.
        (RaidLevel::Raid6, 5, vec![1, 2, 3, 4]),
    ] {
        for kind in SYNCS {
            let (lost, setting) = match kind {
                SyncKind::Rebuild => (1, ArraySetting::Replace(0)),
                SyncKind::Check => (0, ArraySetting::Check(true)),
            };
            let (mut device, commands) = array_of_scripted_members(&ArraySpec { lost, ..spec(level, members) }, &[]);
            change_setting(&mut device, Instant::ZERO, setting);
            assert_eq!(idle_until(&mut device, at_ms(1000)).sectors, 160, "{level:?} of {members}");
            let commands = commands.borrow();
            let members_of = |writes: bool| -> Vec<u32> {
                let chosen = commands.iter().filter(|command| command.writes == writes);
                let sectors = chosen.clone().map(|command| command.sectors.1 - command.sectors.0).sum::<u64>();
                let members: BTreeSet<u32> = chosen.map(|command| command.member).collect();
                assert_eq!(sectors, 160 * members.len() as u64, "{level:?} of {members:?}: each sector once");
                members.into_iter().collect()
            };
            let (read, written) = match kind {
                SyncKind::Rebuild => (sources.clone(), vec![0]),
                SyncKind::Check => ((0..members).collect(), vec![]),
            };
            assert_eq!((members_of(false), members_of(true)), (read, written), "{level:?} of {members}, {kind:?}");
        }
    }
}

#[test]
fn sectors_that_cannot_be_read_are_counted() {
    for (kind, level, unread) in [
        (SyncKind::Check, RaidLevel::Raid1, 160),
        (SyncKind::Check, RaidLevel::Raid5, 160),
        (SyncKind::Rebuild, RaidLevel::Raid5, 160),
        // The other member of three has them.
        (SyncKind::Rebuild, RaidLevel::Raid1, 0),
        (SyncKind::Rebuild, RaidLevel::Raid6, 0),
    ] {
        let lost = u64::from(kind == SyncKind::Rebuild);
        let members = level.least_members().max(3);
        let (mut device, _) = array_of_scripted_members(&ArraySpec { lost, ..spec(level, members) }, &[(1, 77)]);
        let setting = if lost == 1 { ArraySetting::Replace(0) } else { ArraySetting::Check(true) };
        change_setting(&mut device, Instant::ZERO, setting);
        let progress = idle_until(&mut device, at_ms(1000));
        assert!(progress.ended.is_some(), "{kind:?}, {level:?}");
        assert_eq!((progress.sectors, progress.unread), (160, unread), "{kind:?}, {level:?}");
    }
}

/// Both volumes of a matrix are redundant, or the first is not and is skipped.
#[test]
fn a_check_goes_over_all_volumes_with_redundancy() {
    for (first, sectors_read) in [(RaidLevel::Raid5, 3 * 160), (RaidLevel::Raid0, 3 * 80)] {
        let share = |level| VolumeShare { level, permille: 500 };
        let shares = vec![share(first), share(RaidLevel::Raid1)];
        let (mut device, commands) = array_of_scripted_members(&ArraySpec { shares, ..spec(first, 3) }, &[]);
        change_setting(&mut device, Instant::ZERO, ArraySetting::Check(true));
        let progress = idle_until(&mut device, at_ms(1000));
        assert!(progress.ended.is_some());
        let read: u64 = commands.borrow().iter().map(|command| command.sectors.1 - command.sectors.0).sum();
        assert_eq!(read, sectors_read, "{first:?}");
    }
}

#[test]
fn a_check_is_refused_where_it_makes_no_sense() {
    let refusal = |device: &mut LayeredDevice<Array>| control(device, Instant::ZERO, ArraySetting::Check(true));
    for level in [RaidLevel::Linear, RaidLevel::Raid0] {
        assert_eq!(refusal(&mut PlainMembers::array(&spec(level, 3))), Err(ControlError::BadValue), "{level:?}");
    }
    let degraded = ArraySpec { lost: 1, ..spec(RaidLevel::Raid6, 5) };
    assert_eq!(refusal(&mut PlainMembers::array(&degraded)), Err(ControlError::BadValue));
    let mut device = PlainMembers::array(&spec(RaidLevel::Raid1, 2));
    assert_eq!(refusal(&mut device), Ok(()));
    assert_eq!(refusal(&mut device), Err(ControlError::BadValue), "one is under way");
    assert_eq!(control(&mut device, Instant::ZERO, ArraySetting::Check(false)), Ok(()));
    assert_eq!(refusal(&mut device), Err(ControlError::BadValue), "its runs are under way");
    idle_until(&mut device, at_ms(100));
    assert_eq!(refusal(&mut device), Ok(()));
    device.control(at_ms(100), &Control::PowerCut).expect("known");
    idle_until(&mut device, at_ms(200));
    assert_eq!(refusal(&mut device), Err(ControlError::PoweredOff));
}

#[test]
fn a_check_ends_with_a_stop_a_lost_member_or_the_power() {
    let lose = Control::Set(LayerSetting::Array(ArraySetting::Lose(0)));
    let stop = Control::Set(LayerSetting::Array(ArraySetting::Check(false)));
    for (level, members) in LEVELS {
        for control in [lose, stop, Control::PowerCut, Control::PowerOff] {
            let mut device = PlainMembers::array(&plain_spec(level, members, SyncSpeed::LINUX));
            start_sync(&mut device, Instant::ZERO, SyncKind::Check);
            idle_until(&mut device, at_ms(500));
            device.control(at_ms(500), &control).expect("known");
            let progress = device.layer().sync_progress();
            assert_eq!((progress.broken_off, progress.ended), (Some(at_ms(500)), None), "{level:?}, {control:?}");
            assert!((30 * MIB..51 * MIB).contains(&progress.sectors), "{level:?}, {control:?}: {progress:?}");
            if matches!(control, Control::PowerCut | Control::PowerOff) {
                device.control(at_ms(600), &Control::PowerOn).expect("known");
            }
            // The array works on, and the check does not.
            let done = run_request(&mut device, at_ms(700), request(0, Op::Read, 0, 8));
            assert_eq!((done.status, device.layer().sync_progress()), (Status::Done, progress), "{level:?}");
        }
    }
}

/// The loss of the new drive breaks a rebuild off; the loss of another, that the level survives, does not.
#[test]
fn a_rebuild_survives_what_its_level_survives() {
    for (lost, breaks) in [(1, true), (3, false)] {
        let mut device = PlainMembers::array(&plain_spec(RaidLevel::Raid6, 5, SyncSpeed::LINUX));
        start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
        idle_until(&mut device, at_ms(500));
        change_setting(&mut device, at_ms(500), ArraySetting::Lose(lost));
        let progress = idle_until(&mut device, at_ms(20_000));
        assert_eq!((progress.broken_off.is_some(), progress.ended.is_some()), (breaks, !breaks), "{lost}");
        assert_eq!((device.layer().lost_members(), progress.unread), (1 << lost, 0));
    }
}

/// Without power nothing is rebuilt. With power the rebuild begins anew, and takes its whole time.
#[test]
fn a_rebuild_that_a_cut_ended_begins_anew_when_the_power_is_back() {
    for (level, members) in LEVELS {
        let mut device = PlainMembers::array(&plain_spec(level, members, SyncSpeed::LINUX));
        start_sync(&mut device, Instant::ZERO, SyncKind::Rebuild);
        assert!(idle_until(&mut device, at_ms(3000)).sectors > 250 * MIB);
        device.control(at_ms(3000), &Control::PowerCut).expect("known");
        assert_eq!(idle_until(&mut device, at_ms(9000)).sectors, 0);
        device.control(at_ms(9000), &Control::PowerOn).expect("known");
        let ended = idle_until(&mut device, at_ms(30_000)).ended.expect("it ends");
        let time = ended.since(at_ms(9000)).nanos();
        let whole = PlainMembers::MIB_TIME.times(device.layer().volumes()[0].sectors / MIB).nanos();
        assert!((whole..whole / 20 * 21).contains(&time), "{level:?}: {time}");
        assert_eq!(device.layer().lost_members(), 0);
    }
}

/// A call for each event, or one for all of them.
#[test]
fn a_sync_does_not_depend_on_when_it_is_called() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let sync_speed = SyncSpeed { min_kib_s: 1000, max_kib_s: 50_000 };
            let run = |calls_often: bool| {
                let mut device = PlainMembers::array(&plain_spec(level, members, sync_speed));
                start_sync(&mut device, Instant::ZERO, kind);
                device.submit(Instant::ZERO, request(0, Op::Read, 100 * MIB, 4096)).expect("room");
                while let Some(now) = device.poll_timeout().filter(|&now| calls_often && now <= at_ms(3000)) {
                    device.handle_timeout(now);
                }
                (idle_until(&mut device, at_ms(3000)), device.poll_completion())
            };
            assert_eq!(run(true), run(false), "{level:?}, {kind:?}");
        }
    }
}

/// On mechanical drives, and with users of the array: the copy of each block is right (`array.rs` follows each write).
#[test]
fn users_of_mechanical_drives_are_answered_beside_a_sync() {
    for (level, members) in LEVELS {
        for kind in SYNCS {
            let drive = SmallDrive::default().with_buffer(4, 256);
            let mut device = array(&spec(level, members), &drive);
            start_sync(&mut device, Instant::ZERO, kind);
            let capacity = device.limits(0).sectors;
            let users = Users { count: 4, op: Op::Write, sectors: 8, within: (0, capacity) };
            let times = users.work_until(&mut device, at_ms(30_000));
            let progress = device.layer().sync_progress();
            assert!(progress.ended.is_some() && times.len() > 500, "{level:?}, {kind:?}: {} {progress:?}", times.len());
        }
    }
}
