//! Laws of the system between programs and drives: the requests of calls, their order, and when calls return.

use std::collections::VecDeque;

use seekwise_disk::block::{Completion, Flags, Op, Request, Status};
use seekwise_disk::record::{Effort, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::call::{Call, CallResult, File, OpenMode};
use seekwise_work::files::pagecache::PageCacheSpec;
use seekwise_work::files::system::{System, SystemFamily, SystemSpec};
use seekwise_work::files::volume::{
    Aging, Ext4Spec, Fat32Spec, FatDriver, FileName, IoPlan, NtfsSpec, Partition, ROOT, SectorRole, SyncScope, Volume,
    VolumeError, VolumeFormat, VolumeSpec,
};

const PARTITION: Partition = Partition { first: 2048, sectors: 8 << 21 };
const KIB: u64 = 1024;
const MIB: u64 = 1 << 20;

fn volume_format(family: SystemFamily) -> VolumeFormat {
    match family {
        SystemFamily::Windows98 => VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Windows98 }),
        SystemFamily::WindowsNt => VolumeFormat::Ntfs(NtfsSpec { cluster: 4096 }),
        SystemFamily::Linux => VolumeFormat::Ext4(Ext4Spec::default()),
    }
}

const FAT_ON_NT: VolumeFormat = VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Nt });

fn system_spec(family: SystemFamily) -> SystemSpec {
    SystemSpec { family, largest: 1024, cache: None }
}

/// A system with a page cache of 64 MiB that takes no processor time.
fn cached_system_spec(family: SystemFamily) -> SystemSpec {
    let cache = match family {
        SystemFamily::Windows98 => PageCacheSpec::windows_98(64 * MIB),
        SystemFamily::WindowsNt => PageCacheSpec::windows_nt(64 * MIB),
        SystemFamily::Linux => PageCacheSpec::linux(64 * MIB),
    };
    SystemSpec { cache: Some(PageCacheSpec { call: Span::ZERO, copy: 1 << 50, ..cache }), ..system_spec(family) }
}

/// When a request was issued, the request, and its role.
type Issued = (Instant, Request, Option<SectorRole>);

/// A system on a device that accepts everything and serves one request after another, a millisecond each; computing
/// goes on beside it.
struct Rig {
    system: System,
    now: Instant,
    /// Requests in flight, each with its end.
    in_flight: Vec<(Instant, Request)>,
    /// When the device is free.
    free: Instant,
    /// Requests issued since the log was taken.
    log: Vec<Issued>,
    returned: VecDeque<CallResult>,
    /// All requests fail.
    fails: bool,
    /// The origin that is served at once, beside the others.
    preferred: Option<u16>,
}

impl Rig {
    /// A system with a mounted volume and files of these sizes.
    fn new(format: VolumeFormat, spec: SystemSpec, sizes: &[u64]) -> (Rig, Vec<File>) {
        let made = VolumeSpec { partition: PARTITION, format, aging: Aging::NONE, history: false, seed: Seed(1) };
        let mut volume = Volume::format(&made).expect("fits");
        let place = |&bytes: &u64| volume.place_initial_file(ROOT, FileName::SHORT, bytes).expect("room");
        let files = sizes.iter().map(place).map(|id| File { volume: 0, id }).collect();
        volume.begin_run();
        volume.mount(&mut IoPlan::new());
        let system = System::new(vec![volume], spec, 4);
        let (log, returned, in_flight, now) = (Vec::new(), VecDeque::new(), Vec::new(), Instant::ZERO);
        (Rig { system, now, in_flight, free: now, log, returned, fails: false, preferred: None }, files)
    }

    fn uncached(family: SystemFamily, sizes: &[u64]) -> (Rig, Vec<File>) {
        Rig::new(volume_format(family), system_spec(family), sizes)
    }

    fn cached(family: SystemFamily, sizes: &[u64]) -> (Rig, Vec<File>) {
        Rig::new(volume_format(family), cached_system_spec(family), sizes)
    }

    /// Takes the log; returns the KiB of each request of this operation for file data.
    fn take_data_kib(&mut self, op: Op) -> Vec<u64> {
        let is_data = |role: &Option<SectorRole>| matches!(role, Some(SectorRole::Data { .. }));
        let all = self.log.drain(..).filter(|(_, request, role)| request.op == op && is_data(role));
        all.map(|(_, request, _)| u64::from(request.sectors) / 2).collect()
    }

    /// Collects returned calls, and issues all requests.
    fn issue_ready(&mut self) {
        loop {
            while let Some(returned) = self.system.poll_returned() {
                self.returned.push_back(returned);
            }
            let Some(request) = self.system.poll_request(self.now) else { return };
            assert!(self.in_flight.iter().all(|(_, other)| other.tag != request.tag), "tags are unique");
            let role = self.system.request_step(request.tag).map(|(_, step)| step.role);
            self.log.push((self.now, request, role));
            let end = if request.op == Op::Compute {
                self.now + Span::from_micros(request.sectors.into())
            } else if self.preferred == Some(request.origin) {
                self.now + Span::from_millis(1)
            } else {
                self.free = self.free.max(self.now) + Span::from_millis(1);
                self.free
            };
            self.in_flight.push((end, request));
        }
    }

    /// Advances to the next instant at which something is due; false if nothing is due by `until`.
    fn step_until(&mut self, until: Instant) -> bool {
        self.issue_ready();
        let done = self.in_flight.iter().map(|request| request.0).min().unwrap_or(Instant::FAR);
        let next = done.min(self.system.poll_timeout().unwrap_or(Instant::FAR));
        if next > until || next == Instant::FAR {
            return false;
        }
        assert!(next >= self.now);
        self.now = next;
        self.system.handle_timeout(next);
        while let Some(index) = self.in_flight.iter().position(|request| request.0 <= next) {
            let (finished, request) = self.in_flight.remove(index);
            let status = if self.fails { Status::PowerLost } else { Status::Done };
            let (parts, effort) = (Parts::default(), Effort::default());
            let completion = Completion { tag: request.tag, status, submitted: finished, finished, parts, effort };
            self.system.complete_request(next, &completion);
        }
        self.issue_ready();
        true
    }

    fn begin_call(&mut self, thread: u16, call: Call) {
        self.system.begin_call(self.now, thread, call);
        self.issue_ready();
    }

    /// Runs a call until it has returned.
    fn run_call(&mut self, call: Call) -> CallResult {
        self.begin_call(0, call);
        loop {
            if let Some(returned) = self.returned.pop_front() {
                return returned;
            }
            assert!(self.step_until(Instant::FAR), "the call returns");
        }
    }

    /// Runs until a second of the virtual clock.
    fn run_until_second(&mut self, seconds: u64) {
        let until = Instant::from_nanos(seconds * 1_000_000_000);
        while self.step_until(until) {}
        self.now = until;
    }

    /// Takes the log; returns the operation, KiB and FUA of each request, without computing.
    fn take_issued(&mut self) -> Vec<(Op, u64, bool)> {
        let all = self.log.drain(..).filter(|(_, request, _)| request.op != Op::Compute);
        all.map(|(_, r, _)| (r.op, u64::from(r.sectors) / 2, r.flags.has(Flags::FUA))).collect()
    }
}

fn read_call(file: File, from: u64, bytes: u64) -> Call {
    Call::Read { file, from, bytes, handle: OpenMode::Cached }
}

fn write_call(file: File, from: u64, bytes: u64, handle: OpenMode) -> Call {
    Call::Write { file, from, bytes, handle }
}

const ALL: [SystemFamily; 3] = [SystemFamily::Windows98, SystemFamily::WindowsNt, SystemFamily::Linux];

#[test]
fn without_a_cache_calls_reach_the_drive_at_once() {
    for family in ALL {
        let (mut rig, files) = Rig::uncached(family, &[MIB, 2 * MIB]);
        for at in 0..32 {
            assert_eq!(rig.run_call(read_call(files[0], at * 32 * KIB, 32 * KIB)).bytes, 32 * KIB);
            rig.run_call(write_call(files[1], at * 32 * KIB, 32 * KIB, OpenMode::Cached));
        }
        let issued = rig.take_issued();
        let count = |what: Op| issued.iter().filter(|one| **one == (what, 32, false)).count();
        assert_eq!((count(Op::Read), count(Op::Write)), (32, 32), "{family:?}");
        // One at a time: the thread waits for each.
        assert_eq!(rig.now, Instant::from_nanos(64_000_000) + Span::from_millis(issued.len() as u64 - 64));
    }
}

#[test]
fn a_read_ends_with_the_file() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[100 * KIB]);
    assert_eq!(rig.run_call(read_call(files[0], 96 * KIB, 32 * KIB)).bytes, 4 * KIB);
    assert_eq!(rig.run_call(read_call(files[0], 100 * KIB, 32 * KIB)).bytes, 0);
    assert_eq!(rig.take_issued(), [(Op::Read, 4, false)]);
}

#[test]
fn a_step_longer_than_a_request_is_several() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[2 * MIB]);
    rig.begin_call(0, Call::Read { file: files[0], from: 0, bytes: 1300 * KIB, handle: OpenMode::Direct });
    assert_eq!(rig.take_issued(), [(Op::Read, 512, false), (Op::Read, 512, false), (Op::Read, 276, false)]);
    assert!(rig.returned.is_empty());
    while rig.step_until(Instant::FAR) {}
    assert_eq!(rig.returned.len(), 1);
}

#[test]
fn writing_through_forces_the_medium_as_each_system_does() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Windows98, &[MIB]);
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::WriteThrough));
    assert!(rig.take_issued().iter().all(|one| !one.2 && one.0 != Op::Flush));

    // In place: the data alone. If the file grows: its entry and tables too, all by FUA, no flush.
    let (mut rig, files) = Rig::new(FAT_ON_NT, system_spec(SystemFamily::WindowsNt), &[MIB]);
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::WriteThrough));
    assert_eq!(rig.take_issued(), [(Op::Write, 4, true)]);
    rig.run_call(write_call(files[0], MIB, 4 * KIB, OpenMode::WriteThrough));
    let issued = rig.take_issued();
    assert!(issued.iter().all(|one| one.0 == Op::Read || one.2), "{issued:?}");
    assert!(issued.iter().filter(|one| one.0 == Op::Write).count() >= 4, "data, entry, two tables: {issued:?}");

    // Linux in place: data, then a flush, because there is nothing to commit but times.
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[MIB]);
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::WriteThrough));
    assert_eq!(rig.take_issued(), [(Op::Write, 4, false), (Op::Flush, 0, false)]);
}

#[test]
fn phases_follow_one_another() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[MIB]);
    rig.run_call(write_call(files[0], MIB, 4 * KIB, OpenMode::Cached));
    rig.take_issued();
    rig.run_call(Call::Sync(files[0], SyncScope::All));
    // Descriptor and blocks; when they are there, the flush; when that is over, the commit block.
    let all: Vec<_> = rig.log.iter().filter(|one| one.1.op != Op::Read).map(|one| (one.2, one.0)).collect();
    let roles: Vec<_> = all.iter().map(|one| one.0).collect();
    assert_eq!(roles, [Some(SectorRole::JournalBlocks), Some(SectorRole::Barrier), Some(SectorRole::JournalCommit)]);
    assert!(all.windows(2).all(|pair| pair[1].1 == pair[0].1 + Span::from_millis(1)));
}

#[test]
fn a_step_waits_for_one_that_it_overlaps() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[MIB]);
    rig.begin_call(0, write_call(files[0], 0, 64 * KIB, OpenMode::Direct));
    rig.begin_call(1, read_call(files[0], 32 * KIB, 4 * KIB));
    rig.begin_call(2, read_call(files[0], 64 * KIB, 4 * KIB));
    rig.begin_call(3, write_call(files[0], 68 * KIB, 4 * KIB, OpenMode::Direct));
    assert_eq!(rig.take_issued().len(), 3, "the read inside the write waits");
    rig.step_until(Instant::FAR);
    assert_eq!(rig.take_issued(), [(Op::Read, 4, false)]);
    while rig.step_until(Instant::FAR) {}
    let order: Vec<u16> = rig.returned.iter().map(|returned| returned.thread).collect();
    assert_eq!(order[..4], [0, 2, 3, 1]);
}

#[test]
fn a_log_goes_out_after_the_writes_before_it() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[MIB, MIB]);
    rig.run_call(Call::Close(files[0]));
    rig.begin_call(0, write_call(files[0], MIB, 64 * KIB, OpenMode::Direct));
    rig.begin_call(1, Call::Sync(files[0], SyncScope::All));
    while rig.step_until(Instant::FAR) {}
    let data = rig.log.iter().position(|one| matches!(one.2, Some(SectorRole::Data { .. }))).expect("data");
    let journal = rig.log.iter().position(|one| one.2 == Some(SectorRole::JournalBlocks)).expect("journal");
    let done = rig.log[data].0 + Span::from_millis(1);
    assert!(rig.log[journal].0 >= done, "the journal waits for data");
}

#[test]
fn computing_is_whole_microseconds_and_loses_nothing() {
    let (mut rig, _) = Rig::uncached(SystemFamily::Linux, &[]);
    for _ in 0..10 {
        rig.run_call(Call::Compute(Span::from_nanos(1_700)));
    }
    assert_eq!(rig.now, Instant::from_nanos(17_000));
    let at = Instant::from_nanos(5_000_000);
    assert_eq!(rig.run_call(Call::Wait(at)).at, at);
    assert_eq!(rig.run_call(Call::Wait(Instant::ZERO)).at, at);
}

#[test]
fn what_is_refused_or_fails_is_told() {
    let (mut rig, files) = Rig::uncached(SystemFamily::Linux, &[MIB]);
    assert_eq!(rig.run_call(write_call(files[0], 0, 9 << 30, OpenMode::Direct)).refused, Some(VolumeError::Full));
    rig.fails = true;
    let returned = rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::Direct));
    assert!(returned.failed && returned.refused.is_none());
}

#[test]
fn volumes_write_back_by_themselves() {
    for family in ALL {
        let (mut rig, _) = Rig::uncached(family, &[]);
        let returned = rig.run_call(Call::Create { directory: File { volume: 0, id: ROOT }, name: FileName::SHORT });
        assert!(returned.file.is_some());
        rig.run_until_second(60);
        let origin = rig.system.system_origin();
        assert!(rig.log.iter().any(|one| one.1.origin == origin && one.1.op == Op::Write), "{family:?}");
        assert_eq!(rig.system.poll_timeout(), None);
    }
}

/// Copies a file in calls of 32 KiB.
fn copy_file(rig: &mut Rig, from: File, bytes: u64, handle: OpenMode) -> File {
    let create = Call::Create { directory: File { volume: 0, id: ROOT }, name: FileName::SHORT };
    let to = rig.run_call(create).file.expect("room");
    for at in (0..bytes).step_by(32 << 10) {
        let got = rig.run_call(Call::Read { file: from, from: at, bytes: 32 * KIB, handle }).bytes;
        rig.run_call(write_call(to, at, got, OpenMode::Cached));
    }
    rig.run_call(Call::Close(to));
    to
}

#[test]
fn a_copy_reads_as_each_system_reads_ahead() {
    for (family, handle, expected) in [
        // Two reads start it, three under NT; from then on 64 KiB a granule.
        (SystemFamily::Windows98, OpenMode::Cached, [[32; 2].as_slice(), &[64; 15]].concat()),
        (SystemFamily::WindowsNt, OpenMode::Cached, [[32; 3].as_slice(), &[64], &[32], &[64; 13]].concat()),
        // With the sequential hint: from the first read on, 128 KiB ahead.
        (SystemFamily::WindowsNt, OpenMode::Sequential, [[32].as_slice(), &[64; 3], &[32], &[64; 12]].concat()),
        // Eight pages are needed: 16 at first, then 32 each.
        (SystemFamily::Linux, OpenMode::Cached, [[64].as_slice(), &[128; 7], &[64]].concat()),
        (SystemFamily::Linux, OpenMode::Sequential, [[64].as_slice(), &[128], &[256; 3], &[64]].concat()),
    ] {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        copy_file(&mut rig, files[0], MIB, handle);
        assert_eq!(rig.take_data_kib(Op::Read), expected, "{family:?} {handle:?}");
    }
}

/// Whatever the length of its calls, a file that is read from front to end is read in that order, each page once:
/// read-ahead does not delay the demand.
#[test]
fn a_file_is_read_in_order_whatever_the_block() {
    for family in ALL {
        for handle in [OpenMode::Cached, OpenMode::Sequential] {
            for block in [4, 32, 64, 96, 128, 256, 320, 1024, 3000].map(|kib| kib * KIB) {
                let (mut rig, files) = Rig::cached(family, &[8 * MIB]);
                for from in (0..8 * MIB).step_by(block as usize) {
                    rig.run_call(Call::Read { file: files[0], from, bytes: block, handle });
                }
                let mut at = 0;
                for (_, request, role) in rig.log.iter().filter(|one| one.1.op == Op::Read) {
                    if let Some(SectorRole::Data { from, .. }) = *role {
                        assert_eq!(from, at, "{family:?} {handle:?} {block}");
                        at += u64::from(request.sectors) * 512;
                    }
                }
                assert_eq!(at, 8 * MIB, "{family:?} {handle:?} {block}");
            }
        }
    }
}

#[test]
fn dirty_pages_go_out_as_each_system_writes_back() {
    // Windows 98: everything after 2 s. Windows NT: an eighth a second after 3 s. Linux: at 30 s, in one piece.
    for (family, first, writes) in
        [(SystemFamily::Windows98, 2, 16), (SystemFamily::WindowsNt, 3, 2), (SystemFamily::Linux, 30, 2)]
    {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        copy_file(&mut rig, files[0], MIB, OpenMode::Cached);
        rig.run_until_second(first);
        assert_eq!(rig.take_data_kib(Op::Write), [], "{family:?}");
        rig.run_until_second(first + 1);
        let kib = rig.take_data_kib(Op::Write);
        assert_eq!(kib.len(), writes, "{family:?} {kib:?}");
        rig.run_until_second(200);
        let rest = rig.take_data_kib(Op::Write);
        assert_eq!(kib.iter().chain(&rest).sum::<u64>(), 1024, "{family:?}");
        assert_eq!(rig.system.page_cache().expect("one").dirty_and_writing_pages(), (0, 0));
        assert_eq!(rig.system.poll_timeout(), None, "{family:?}: it rests");
    }
}

#[test]
fn what_is_in_memory_is_not_read() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        rig.system.preload_pages(files[0], 0, 512 * KIB);
        rig.run_call(read_call(files[0], 0, 384 * KIB));
        assert_eq!(rig.take_data_kib(Op::Read), [], "{family:?}");
        rig.run_call(read_call(files[0], 384 * KIB, 640 * KIB));
        let kib = rig.take_data_kib(Op::Read);
        assert_eq!(kib.iter().sum::<u64>(), 512, "{family:?}: {kib:?}");
        rig.run_call(read_call(files[0], 0, MIB));
        assert_eq!(rig.take_data_kib(Op::Read), [], "{family:?}");
        rig.run_call(Call::DropCaches);
        rig.run_call(read_call(files[0], 0, MIB));
        assert_eq!(rig.take_data_kib(Op::Read).iter().sum::<u64>(), 1024, "{family:?}");
    }
}

#[test]
fn what_does_not_fit_is_read_again() {
    let small = |bytes| {
        let spec = cached_system_spec(SystemFamily::WindowsNt);
        SystemSpec { cache: spec.cache.map(|cache| PageCacheSpec { bytes, ..cache }), ..spec }
    };
    for (mib, again) in [(8, 0), (3, 4096)] {
        let (mut rig, files) = Rig::new(FAT_ON_NT, small(mib * MIB), &[4 * MIB]);
        for expected in [4096, again] {
            for at in 0..128 {
                rig.run_call(read_call(files[0], at * 32 * KIB, 32 * KIB));
            }
            assert_eq!(rig.take_data_kib(Op::Read).iter().sum::<u64>(), expected, "{mib} MiB");
        }
        assert!(rig.system.page_cache().expect("one").resident_pages() <= mib * MIB / 4096);
    }
}

/// 3 MiB hold the first two files, and of all three what was read last.
#[test]
fn what_was_read_again_stays_in_memory() {
    for family in ALL {
        let spec = cached_system_spec(family);
        let cache = spec.cache.map(|cache| PageCacheSpec { bytes: 3 * MIB, ..cache });
        let sizes = [MIB, 3 * MIB / 2, MIB];
        let (mut rig, files) = Rig::new(volume_format(family), SystemSpec { cache, ..spec }, &sizes);
        for at in [0, 1, 0, 2] {
            rig.run_call(read_call(files[at], 0, sizes[at]));
        }
        rig.take_data_kib(Op::Read);
        rig.run_call(read_call(files[0], 0, MIB));
        assert_eq!(rig.take_data_kib(Op::Read), [], "{family:?}");
        rig.run_call(read_call(files[1], 0, sizes[1]));
        assert!(rig.take_data_kib(Op::Read).iter().sum::<u64>() >= 512, "{family:?}: half a MiB had to go");
    }
}

#[test]
fn a_cache_with_less_room_than_a_read_still_serves_it() {
    for family in ALL {
        let spec = cached_system_spec(family);
        let cache = spec.cache.map(|cache| PageCacheSpec { bytes: 16 * KIB, ..cache });
        let (mut rig, files) = Rig::new(volume_format(family), SystemSpec { cache, ..spec }, &[MIB]);
        assert_eq!(rig.run_call(read_call(files[0], 0, MIB)).bytes, MIB, "{family:?}");
        assert_eq!(rig.run_call(write_call(files[0], 0, MIB, OpenMode::Cached)).bytes, MIB, "{family:?}");
    }
}

#[test]
fn fsync_writes_the_pages_then_what_finds_them() {
    let roles = |rig: &mut Rig| -> Vec<(Option<SectorRole>, bool)> {
        rig.log.drain(..).filter(|one| one.1.op != Op::Read).map(|one| (one.2, one.1.flags.has(Flags::FUA))).collect()
    };
    let data = |file: File, from| Some(SectorRole::Data { file: file.id, from });

    let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[MIB, MIB]);
    rig.run_call(write_call(files[0], 512 * KIB, 4 * KIB, OpenMode::Cached));
    rig.run_call(write_call(files[0], 0, 8 * KIB, OpenMode::Cached));
    rig.run_call(write_call(files[1], 0, 8 * KIB, OpenMode::Cached));
    assert_eq!(roles(&mut rig), [], "nothing before it is asked for");
    rig.run_call(Call::Sync(files[0], SyncScope::All));
    let order = roles(&mut rig);
    assert_eq!(
        order[..2],
        [(data(files[0], 0), false), (data(files[0], 512 * KIB), false)],
        "ascending, this file alone"
    );
    let rest: Vec<_> = order[2..].iter().map(|one| one.0.expect("a step")).collect();
    assert_eq!(rest, [SectorRole::JournalBlocks, SectorRole::Barrier, SectorRole::JournalCommit]);

    let (mut rig, files) = Rig::new(FAT_ON_NT, cached_system_spec(SystemFamily::WindowsNt), &[MIB]);
    rig.run_call(write_call(files[0], 0, 100 * KIB, OpenMode::Cached));
    rig.take_issued();
    rig.run_call(Call::Sync(files[0], SyncScope::All));
    let order = roles(&mut rig);
    assert_eq!(order[..2], [(data(files[0], 0), true), (data(files[0], 64 * KIB), true)], "64 KiB a write, by FUA");
    assert_eq!(order.last(), Some(&(Some(SectorRole::Barrier), false)));
}

#[test]
fn a_commit_follows_the_data_of_all_files() {
    let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[4 * MIB, MIB]);
    rig.run_call(write_call(files[0], 0, 4 * MIB, OpenMode::Cached));
    rig.run_until_second(29);
    rig.run_call(write_call(files[1], 0, 4 * KIB, OpenMode::Cached));
    while rig.log.iter().all(|one| !matches!(one.2, Some(SectorRole::Data { .. }))) {
        assert!(rig.step_until(Instant::FAR));
    }
    rig.log.clear();
    let last = rig.free;
    rig.preferred = Some(0);
    rig.run_call(Call::Sync(files[1], SyncScope::All));
    let journal = rig.log.iter().find(|one| one.2 == Some(SectorRole::JournalBlocks)).expect("a commit");
    assert!(journal.0 >= last, "{journal:?}");
}

#[test]
fn fsync_waits_for_pages_that_are_on_their_way() {
    let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[4 * MIB]);
    rig.run_call(write_call(files[0], 0, 4 * MIB, OpenMode::Cached));
    rig.run_until_second(29);
    while rig.log.iter().all(|one| !matches!(one.2, Some(SectorRole::Data { .. }))) {
        assert!(rig.step_until(Instant::FAR));
    }
    assert_eq!(rig.take_data_kib(Op::Write).iter().sum::<u64>(), 4096);
    let last = rig.free;
    assert!(rig.now < last);
    assert!(rig.run_call(Call::Sync(files[0], SyncScope::All)).at >= last);
}

/// `file_write_and_wait_range` waits for one file; `ext4_fsync_journal` waits for a commit that may hold its changes.
#[test]
fn a_sync_waits_for_its_own_file_and_for_commits() {
    let sync_beside = |first: SyncScope, file: usize| {
        let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[MIB, MIB]);
        for &file in &files {
            rig.run_call(write_call(file, 0, 4 * KIB, OpenMode::Cached));
        }
        rig.take_issued();
        rig.begin_call(0, Call::Sync(files[0], first));
        rig.begin_call(1, Call::Sync(files[file], SyncScope::Data));
        let at_once = rig.take_issued().len();
        while rig.returned.len() < 2 {
            assert!(rig.step_until(Instant::FAR));
        }
        (at_once, rig.take_issued().iter().filter(|issued| issued.0 == Op::Flush).count())
    };
    assert_eq!(sync_beside(SyncScope::Data, 1), (2, 2), "both write at once");
    assert_eq!(sync_beside(SyncScope::Data, 0), (1, 2), "the second flush covers data that the first call writes");
    assert_eq!(sync_beside(SyncScope::All, 1), (1, 2), "the commit's flush, and that of the sync after it");
}

#[test]
fn writing_through_the_cache_forces_the_medium() {
    let (mut rig, files) = Rig::new(FAT_ON_NT, cached_system_spec(SystemFamily::WindowsNt), &[MIB]);
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::WriteThrough));
    assert_eq!(rig.take_issued(), [(Op::Write, 4, true)]);
    rig.run_call(read_call(files[0], 0, 4 * KIB));
    assert_eq!(rig.take_issued(), [], "it is in the cache too");
    let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[MIB]);
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::WriteThrough));
    assert_eq!(rig.take_issued(), [(Op::Write, 4, false), (Op::Flush, 0, false)]);
}

#[test]
fn a_page_that_is_changed_in_part_is_read_first() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        rig.run_call(write_call(files[0], 6 * KIB, 12 * KIB, OpenMode::Cached));
        assert_eq!(rig.take_data_kib(Op::Read), [4, 4], "{family:?}: the first and the last");
        rig.run_call(write_call(files[0], 100 * KIB, 8 * KIB, OpenMode::Cached));
        rig.run_call(write_call(files[0], 7 * KIB, KIB, OpenMode::Cached));
        // Beyond the end there is nothing to read.
        rig.run_call(write_call(files[0], MIB, KIB, OpenMode::Cached));
        assert_eq!(rig.take_data_kib(Op::Read), [], "{family:?}");
    }
}

/// The page before it and the page behind it are on their way; its own is in memory.
#[test]
fn a_page_that_is_changed_in_part_is_the_only_one_waited_for() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        rig.system.preload_pages(files[0], 40 * KIB, 4 * KIB);
        rig.begin_call(1, read_call(files[0], 36 * KIB, 4 * KIB));
        rig.begin_call(2, read_call(files[0], 44 * KIB, 4 * KIB));
        rig.begin_call(0, write_call(files[0], 41 * KIB, KIB, OpenMode::Cached));
        rig.begin_call(3, write_call(files[0], 45 * KIB, KIB, OpenMode::Cached));
        let threads = |rig: &Rig| rig.returned.iter().map(|returned| returned.thread).collect::<Vec<_>>();
        assert_eq!((threads(&rig), rig.now), (vec![0], Instant::ZERO), "{family:?}");
        while rig.returned.len() < 4 {
            assert!(rig.step_until(Instant::FAR), "{family:?}: the others return");
        }
        assert_eq!(threads(&rig), [0, 1, 2, 3], "{family:?}");
        assert_eq!(rig.returned[3].at, rig.returned[2].at, "{family:?}: with the page that it changes");
    }
}

#[test]
fn writers_are_held_up_while_too_much_is_dirty() {
    for (family, limit) in [(SystemFamily::Windows98, 32), (SystemFamily::WindowsNt, 16), (SystemFamily::Linux, 12)] {
        let (mut rig, files) = Rig::cached(family, &[64 * MIB]);
        // A hundredth of 64 MiB is no whole number of pages; a piece of 256 KiB may be added.
        let most = (limit + 1) * MIB / 4096;
        for at in 0..256 {
            rig.run_call(write_call(files[0], at * 256 * KIB, 256 * KIB, OpenMode::Cached));
            let (dirty, writing) = rig.system.page_cache().expect("one").dirty_and_writing_pages();
            assert!(dirty + writing <= most, "{family:?}: {dirty} + {writing}");
            if at * 256 * KIB < limit * MIB / 2 {
                assert_eq!(rig.now, Instant::ZERO, "{family:?}: below half of it nobody waits");
            }
        }
        // Everything above the limit was written: at a millisecond for each request of at most 512 KiB. What is in flight
        // at the end counts too: under Linux four chunks of 4 MiB.
        let written: u64 = rig.take_data_kib(Op::Write).iter().sum();
        assert!(written >= (64 - limit - 1) * 1024, "{family:?}: {written} KiB");
        let in_flight = if family == SystemFamily::Linux { 32 } else { 8 };
        assert!(rig.now.nanos() / 1_000_000 >= written / 512 - in_flight, "{family:?}");
    }
}

#[test]
fn two_threads_read_a_page_once() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        for at in 0..16 {
            (0..4).for_each(|thread| rig.begin_call(thread, read_call(files[0], at * 64 * KIB, 64 * KIB)));
            while rig.returned.len() < 4 {
                assert!(rig.step_until(Instant::FAR));
            }
            let order: Vec<u16> = rig.returned.drain(..).map(|returned| returned.thread).collect();
            assert_eq!(order, [0, 1, 2, 3], "{family:?}: at one instant, by thread");
        }
        assert_eq!(rig.take_data_kib(Op::Read).iter().sum::<u64>(), 1024, "{family:?}");
    }
}

#[test]
fn a_deleted_file_is_not_written_back() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB]);
        rig.run_call(write_call(files[0], 0, MIB, OpenMode::Cached));
        rig.run_call(Call::Delete(files[0]));
        rig.run_until_second(100);
        assert_eq!(rig.take_data_kib(Op::Write), [], "{family:?}");
        assert_eq!(rig.system.page_cache().expect("one").resident_pages(), 0);
    }
}

#[test]
fn a_volume_is_synced_whole() {
    for family in ALL {
        let (mut rig, files) = Rig::cached(family, &[MIB, MIB]);
        for &file in &files {
            rig.run_call(write_call(file, 0, 256 * KIB, OpenMode::Cached));
        }
        rig.run_call(Call::SyncVolume(0));
        assert_eq!(rig.take_data_kib(Op::Write).iter().sum::<u64>(), 512, "{family:?}");
        assert_eq!(
            (rig.system.page_cache().expect("one").dirty_and_writing_pages(), rig.system.volume(0).dirty_page_count()),
            ((0, 0), 0)
        );
    }
}

#[test]
fn a_write_back_that_failed_is_told_once() {
    let (mut rig, files) = Rig::cached(SystemFamily::Linux, &[MIB]);
    rig.run_call(write_call(files[0], 0, 64 * KIB, OpenMode::Cached));
    rig.fails = true;
    rig.run_until_second(50);
    rig.fails = false;
    assert!(rig.run_call(Call::Sync(files[0], SyncScope::All)).failed);
    assert!(!rig.run_call(Call::Sync(files[0], SyncScope::All)).failed);
}

#[test]
fn past_the_cache_is_after_it() {
    let (mut rig, files) = Rig::cached(SystemFamily::WindowsNt, &[MIB]);
    rig.run_call(write_call(files[0], 0, 64 * KIB, OpenMode::Cached));
    rig.run_call(Call::Read { file: files[0], from: 0, bytes: 4 * KIB, handle: OpenMode::Direct });
    assert_eq!(
        rig.take_issued().iter().map(|one| (one.0, one.1)).collect::<Vec<_>>(),
        [(Op::Write, 64), (Op::Read, 4)]
    );
    rig.run_call(write_call(files[0], 0, 4 * KIB, OpenMode::Direct));
    rig.take_issued();
    rig.run_call(read_call(files[0], 0, 8 * KIB));
    assert_eq!(rig.take_data_kib(Op::Read), [4], "what was written past it is not in it");
}

#[test]
fn copying_costs_the_processor_once() {
    let mut spec = cached_system_spec(SystemFamily::Linux);
    let cache = spec.cache.as_mut().expect("one");
    (cache.call, cache.copy) = (Span::from_micros(2), 512_000_000);
    let (mut rig, files) = Rig::new(volume_format(SystemFamily::Linux), spec, &[MIB]);
    rig.system.preload_pages(files[0], 0, MIB);
    rig.run_call(read_call(files[0], 0, 64 * KIB));
    // 65,536 bytes at 512 MB/s are 128 µs; two for the call.
    assert_eq!(rig.now, Instant::from_nanos(130_000));
    rig.run_call(Call::Read { file: files[0], from: 0, bytes: 64 * KIB, handle: OpenMode::Direct });
    assert_eq!(rig.now, Instant::from_nanos(1_132_000), "past the cache nothing is copied");
}

/// Lets four threads read, write and sync at random; returns the requests and the results.
fn run_random_calls(family: SystemFamily, seed: u64) -> (Vec<Issued>, Vec<CallResult>) {
    let mut spec = cached_system_spec(family);
    spec.cache = spec.cache.map(|cache| PageCacheSpec { bytes: 2 * MIB, call: Span::from_micros(1), ..cache });
    let (mut rig, files) = Rig::new(volume_format(family), spec, &[MIB; 6]);
    let mut chance = Seed(seed).numbered_stream("calls", 0);
    let (mut all, mut idle) = (Vec::new(), vec![0, 1, 2, 3]);
    for _ in 0..1_500 {
        let thread: u16 = idle.remove(0);
        let (file, from, bytes) = (files[chance.below(6) as usize], chance.below(MIB), 1 + chance.below(200 * KIB));
        let handle = [OpenMode::Cached, OpenMode::Sequential, OpenMode::WriteThrough, OpenMode::Direct]
            [chance.below(4) as usize];
        let (from, bytes) = if handle == OpenMode::Direct { (from / 4096 * 4096, 8192) } else { (from, bytes) };
        let call = match chance.below(12) {
            0..5 => Call::Read { file, from, bytes, handle },
            5..9 => write_call(file, from, bytes, handle),
            9 => Call::Sync(file, SyncScope::All),
            10 => Call::DropCaches,
            _ => Call::Wait(rig.now + Span::from_millis(chance.below(900))),
        };
        rig.begin_call(thread, call);
        while idle.is_empty() {
            while let Some(returned) = rig.returned.pop_front() {
                assert!(!returned.failed && returned.refused.is_none());
                all.push(returned);
                idle.push(returned.thread);
            }
            assert!(!idle.is_empty() || rig.step_until(Instant::FAR), "a call returns");
        }
    }
    while rig.step_until(Instant::FAR) {}
    all.extend(rig.returned.drain(..));
    assert_eq!(rig.system.page_cache().expect("one").dirty_and_writing_pages(), (0, 0), "all goes out");
    (rig.log, all)
}

#[test]
fn any_calls_return_and_the_same_calls_do_the_same() {
    for family in ALL {
        for seed in 0..4 {
            let (log, returned) = run_random_calls(family, seed);
            assert_eq!(returned.len(), 1_500, "{family:?} {seed}");
            assert!(returned.windows(2).all(|pair| pair[0].at <= pair[1].at));
            assert_eq!((log, returned), run_random_calls(family, seed), "{family:?} {seed}");
        }
    }
}

/// A thread stops reading and writing a file that another thread deletes.
#[test]
fn a_file_deleted_in_the_middle_of_a_call_ends_it() {
    for family in ALL {
        for handle in [OpenMode::Cached, OpenMode::Sequential, OpenMode::WriteThrough] {
            for steps in 0..24 {
                let (mut rig, files) = Rig::cached(family, &[4 * MIB]);
                rig.begin_call(0, Call::Read { file: files[0], from: 0, bytes: 4 * MIB, handle });
                rig.begin_call(1, write_call(files[0], 100, 2 * MIB, handle));
                (0..steps).for_each(|_| assert!(rig.step_until(Instant::FAR)));
                rig.begin_call(2, Call::Delete(files[0]));
                rig.run_until_second(100);
                let mut threads: Vec<u16> = rig.returned.drain(..).map(|returned| returned.thread).collect();
                threads.sort_unstable();
                assert_eq!(threads, [0, 1, 2], "{family:?} {handle:?} {steps}");
                let resident = rig.system.page_cache().expect("one").resident_pages();
                assert_eq!(resident, 0, "{family:?} {handle:?} {steps}: pages of no file");
            }
        }
    }
}
