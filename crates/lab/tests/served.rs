//! What a power cut leaves of a served array that lacks a drive: what its bytes then read as, compared with what the
//! drives really received, sector by sector; and a served disk by hand. It waits for its clients, never for the clock.

#[cfg(unix)]
#[path = "../../os/tests/served/mod.rs"]
mod server;

use crate::really::{Found, Log, cut_before, merging, pick, random_changes, random_job, random_stack, small_writes};
use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, SECTOR};
use seekwise_disk::history::WriteData;
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::testing;
use seekwise_disk::time::Instant;
use seekwise_disk::witness::{WatchedDevice, Witness};
use seekwise_os::bytes::Bytes;
use seekwise_os::live::content::DiskContent;
#[cfg(unix)]
use seekwise_os::live::{CutPlan, LiveDisk};
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::sim;
use seekwise_run::work::Work;
use seekwise_work::workload::{Job, Pattern};
#[cfg(unix)]
use server::Server;

/// A disk at work, and what it did.
struct AtWork {
    log: Log,
    content: DiskContent,
    last: u64,
    /// Not reported yet: all of an instant are reported at once, as a disk does.
    landings: Vec<Landing>,
    /// How often it began again.
    begun: u32,
}

/// The content of a write: its number in each sector.
fn data(request: &Request) -> Vec<u8> {
    let sector: Vec<u8> = request.stamp.to_le_bytes().repeat(SECTOR as usize / 8);
    sector.repeat(request.sectors as usize)
}

/// True if two writes, by their stamps, were under way at the same time.
fn at_once(log: &Log, one: u64, other: u64) -> bool {
    let [Some(one), Some(other)] = [one, other].map(|stamp| log.lives.get(&stamp)) else { return false };
    let end = |life: &crate::really::Life| life.ended.map_or(usize::MAX, |ended| ended.1);
    one.begun < end(other) && other.begun < end(one)
}

impl AtWork {
    /// With a judge of cuts or, as a canary, without one: by first copies, whatever is lost.
    fn new(stack: &Stack, judged: bool) -> AtWork {
        let lost = stack.array().map_or(0, |array| array.lost);
        let content = DiskContent::new(Bytes::default()).without_drives(lost);
        let content = if judged { content.with_cut_history(stack) } else { content };
        AtWork { log: Log::of(stack), content, last: 0, landings: Vec::new(), begun: 0 }
    }
}

impl AtWork {
    fn tell_landings(&mut self) {
        self.content.apply_landings(&std::mem::take(&mut self.landings)).unwrap();
    }

    fn cut(&mut self, at: Instant) {
        self.tell_landings();
        self.content.apply_cut(at).unwrap();
    }
}

impl Witness for AtWork {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        self.tell_landings();
        self.log.note_submission(now, request);
        self.last = self.last.max(request.stamp);
        let data = (request.op == Op::Write).then(|| data(request));
        self.content.record_request(now, request, data.map(WriteData::from));
    }
    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.tell_landings();
        self.log.note_completion(request, completion);
        let before = self.content.history_bytes();
        self.content.record_completion(request, completion, self.last).unwrap();
        self.begun += u32::from(self.content.history_bytes() < before);
    }
    fn note_landing(&mut self, landing: &Landing) {
        self.log.note_landing(landing);
        self.landings.push(*landing);
    }
    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        self.tell_landings();
        self.log.note_change(now, setting);
        self.content.record_setting(now, setting);
    }
    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        false
    }
}

#[derive(Debug, Default)]
struct Seen {
    cuts: u32,
    /// With a drive missing.
    degraded: u32,
    /// In which something acknowledged is older than it was, or cannot be recovered.
    lossy: u32,
    unreadable: u32,
    /// Cuts of a history that did not begin with the run.
    begun: u32,
    whole: u32,
    refused: u32,
    /// What is read is not what the drives have.
    wrong: u32,
}

/// The content of a sector as read: the number of a write, 0 for none; `None` if it is unreadable.
fn read(content: &DiskContent, sector: u64) -> Option<u64> {
    let data = content.bytes().read(sector, 1).ok()?.unwrap();
    Some(u64::from_le_bytes(data[..8].try_into().unwrap()))
}

/// Cuts the power of the same run a few times, and compares what is read then with what the drives received.
fn cuts(stack: &Stack, job: &Job, case: u64, judged: bool, rng: &mut Rng, seen: &mut Seen) {
    let work = Work::from(job.clone());
    let Ok(run) = sim::run_source(stack, work.make_source(Seed(case)), RunCutoff::NEVER, Seed(case), &mut |_| ())
    else {
        return;
    };
    for _ in 0..8 {
        let at = Instant::from_nanos(rng.below(run.figures.end.nanos() + 50_000_000));
        let mut disk = AtWork::new(stack, judged);
        cut_before(stack, job, case, at, &mut disk);
        let gone = !disk.content.missing_drives().is_empty();
        if judged && let Some(why) = disk.content.cut_refusal() {
            assert!(why.contains("not judged"), "{why}");
            seen.refused += 1;
            continue;
        }
        disk.cut(at);
        seen.cuts += 1;
        seen.degraded += u32::from(gone);
        seen.begun += u32::from(disk.begun > 0 && gone);
        seen.whole += u32::from(disk.log.landings.iter().any(|landing| landing.kind == LandingKind::Whole));
        let found = Found::of(stack, &disk.log);
        let writes = disk.log.lives.values().filter(|life| life.request.op == Op::Write);
        let sectors: std::collections::BTreeSet<u64> =
            writes.flat_map(|life| life.request.lba..life.request.end()).collect();
        let (mut older, mut unreadable, mut wrong) = (false, false, false);
        for &sector in &sectors {
            let real = match found.stamp(sector) {
                Ok(stamp) if !found.is_torn(sector) => Some(stamp.unwrap_or(0)),
                _ => None,
            };
            let is = read(&disk.content, sector);
            let last = disk.log.lives.values().rfind(|life| {
                life.ended.is_some()
                    && !life.failed
                    && (life.request.lba..life.request.end()).contains(&sector)
                    && life.request.op == Op::Write
            });
            older |= is.is_none_or(|is| last.is_some_and(|last| is < last.request.stamp));
            unreadable |= is.is_none();
            // Of two concurrent writes to one sector either may be the last: no device promises an order.
            if let (Some(is), Some(real)) = (is, real)
                && is != real
                && at_once(&disk.log, is, real)
            {
                continue;
            }
            wrong |= is != real;
            let said =
                || format!("case {case} at {at:?}, sector {sector}: {is:?}, really {real:?}\n{:?}", stack.layers);
            assert!(is == real || !judged, "{}\n{:?}", said(), stack.changes);
        }
        seen.lossy += u32::from(older && gone);
        seen.unreadable += u32::from(unreadable && gone);
        seen.wrong += u32::from(wrong);
    }
}

/// Arrays that lack a drive from the start or lose one, with or without a replacement.
fn swarm(cases: u64, judged: bool) -> Seen {
    let mut seen = Seen::default();
    for case in 0..cases {
        let mut rng = Seed(case).stream("served");
        let (stack, job) = match rng.draw_chance(60) {
            true => {
                let level = pick(&mut rng, &[RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6]);
                let lost = pick(&mut rng, &[0, 0, 1, 2]);
                let stack = merging(&mut rng, level, lost);
                let stack = random_changes(&mut rng, stack);
                let lasting = !stack.changes.is_empty();
                let mut job = small_writes(&mut rng, stack.sectors(), lasting);
                if rng.draw_chance(60) {
                    // One after another, with flushes: the history begins again.
                    job = random_job(&mut rng, stack.sectors());
                }
                (stack, job)
            }
            false => {
                let stack = random_stack(&mut rng);
                let stack = random_changes(&mut rng, stack);
                let job = random_job(&mut rng, stack.sectors());
                (stack, job)
            }
        };
        let mut job = job;
        if let Pattern::Fio(fio) = &mut job.workers[0].pattern
            && stack.accelerators().next().is_some()
        {
            // Memory takes a hundred times what a drive does.
            fio.requests = Some(2000);
            job.workers[0].time_based = false;
        }
        if stack.array().is_some() {
            cuts(&stack, &job, case, judged, &mut rng, &mut seen);
        }
    }
    println!("{seen:?}");
    seen
}

#[test]
fn what_a_served_array_reads_after_a_cut_is_what_its_drives_received() {
    let seen = swarm(200, true);
    assert!(seen.degraded > 100 && seen.lossy > 20 && seen.unreadable > 3, "too little seen");
    assert!(seen.begun > 20 && seen.whole > 5, "too little seen");
}

#[test]
fn first_copies_alone_are_wrong_where_a_drive_is_lost() {
    let seen = swarm(30, false);
    assert!(seen.wrong > 0, "it shows nothing");
}

/// Three drives of a RAID 5 of small chunks, the write cache off, without the first.
fn three() -> Stack {
    Stack::bare(testing::SmallDrive::default().profile()).with_layer(testing::Layer::Array(spec(RaidLevel::Raid5, 1)))
}

fn spec(level: RaidLevel, lost: u64) -> ArraySpec {
    ArraySpec {
        members: level.least_members(),
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 16,
        depth: 32,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::First,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost,
        bitmap: None,
    }
}

/// Writes the whole first row, then its chunk on a drive that is present, and cuts the power at `at` or when nothing is
/// left to do. Returns what is read of that chunk, and of the one on the lost drive; and when the second write ended.
fn row_cut(at: Option<Instant>) -> ([Option<u64>; 2], Instant) {
    let stack = three();
    let volume = stack.volumes()[0];
    let lost = (0..2).find(|column| volume.data_member(0, *column, 0) == 0).unwrap_or(0);
    let (there, lost) = (u64::from(1 - lost) * 16, u64::from(lost) * 16);
    let mut disk = AtWork::new(&stack, true);
    let mut device = WatchedDevice::new(stack.build(Seed(1)), &mut disk);
    let mut now = Instant::ZERO;
    let cut = at.unwrap_or(Instant::FAR);
    for (stamp, lba, sectors) in [(1, 0, 32), (2, there, 16)] {
        let (tag, unit, origin, op, flags) = (0, 0, 0, Op::Write, Flags::NONE);
        device.submit(now, Request { tag, unit, origin, op, flags, lba, sectors, stamp }).unwrap();
        let mut is_over = device.poll_completion().is_some();
        while let Some(next) = device.poll_timeout().filter(|next| !is_over && *next <= cut) {
            device.handle_timeout(next);
            now = next;
            is_over = device.poll_completion().is_some();
        }
        if !is_over {
            break;
        }
    }
    let over = now;
    let cut = at.unwrap_or(over);
    device.handle_timeout(cut);
    device.control(cut, &Control::PowerCut).unwrap();
    while device.poll_completion().is_some() {}
    drop(device);
    disk.cut(cut);
    ([there, lost].map(|sector| read(&disk.content, sector)), over)
}

#[test]
fn a_write_under_way_can_take_with_it_what_only_its_row_gives_back() {
    let (after, over) = row_cut(None);
    assert_eq!(after, [Some(2), Some(1)], "what is over is there, also what parity gives back");
    let seen: std::collections::BTreeSet<[Option<u64>; 2]> =
        (0..200).map(|step| row_cut(Some(Instant::from_nanos(over.nanos() / 200 * step))).0).collect();
    // Neither of the drives has the second write, both have; and one has, and nothing agrees.
    for wanted in [[Some(1), Some(1)], [Some(2), None]] {
        assert!(seen.contains(&wanted), "{wanted:?} of {seen:?}");
    }
}

/// A served disk, of drives that destage only when they must, and its judge.
#[cfg(unix)]
fn serve(name: &str, level: RaidLevel, plan: Option<CutPlan>) -> Server {
    let stack = Stack::bare(server::drive().profile()).with_layer(testing::Layer::Array(spec(level, 0)));
    Server::begin(&format!("judged-{name}"), stack.sectors() * SECTOR, move || {
        LiveDisk::new(stack.build(Seed(1)), Bytes::default(), 1.0, plan).with_cut_history(&stack)
    })
}

#[cfg(unix)]
#[test]
fn the_copy_that_is_left_says_what_a_cut_leaves_of_a_mirror() {
    let server = serve("mirror", RaidLevel::Raid1, None);
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 8192), 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(client.write(0, 0, 2, 4096), 0);
    assert!(server.order("set array.lose=0").contains("from"));
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(2), Ok(1)));
    let said = server.order("cut");
    assert!(said.starts_with("power cut at"), "{said}");
    server.order("on");
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(1), Ok(1)), "the second drive had it cached");
    // Flushed without the first drive; and once more without a flush.
    assert_eq!(client.write(0, 0, 3, 4096), 0);
    assert_eq!(client.flush(), 0);
    assert!(server.order("status").contains("; 0 bytes kept for cuts"), "{}", server.order("status"));
    assert_eq!(client.write(0, 4096, 4, 4096), 0);
    assert!(server.order("cut").starts_with("power cut at"));
    server.order("on");
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(3), Ok(1)));
    // Half a rebuild.
    assert!(server.order("set array.replace=0").contains("from"));
    assert!(server.order("cut").starts_with("power cut at"));
    server.order("on");
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(3), Ok(1)));
    let said = server.order("cut");
    assert!(said.contains("being rebuilt") && server.order("status").starts_with("power on"), "{said}");
    while server.order("status").contains("without drives") {
        assert_eq!(client.flush(), 0);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(client.write(0, 0, 5, 4096), 0);
    assert!(server.order("cut").starts_with("power cut at"));
    server.order("on");
    assert_eq!((client.read(0, 4096), client.read(4096, 4096)), (Ok(3), Ok(1)));
    server.end();
}

#[cfg(unix)]
#[test]
fn what_was_flushed_is_read_back_from_parity_and_a_planned_cut_comes() {
    let server = serve("parity", RaidLevel::Raid5, Some(CutPlan::Write(4)));
    let mut client = server.client();
    assert_eq!(client.write(0, 0, 1, 65_536), 0);
    assert!(server.order("set array.lose=1").contains("from"));
    assert_eq!(client.write(0, 65_536, 2, 8192), 0);
    assert_eq!(client.flush(), 0);
    assert_eq!(client.write(0, 81_920, 3, 4096), 0);
    assert_ne!(client.write(0, 131_072, 4, 4096), 0, "the power fails before the fourth");
    assert!(server.order("status").starts_with("power off"));
    server.order("on");
    assert_eq!((client.read(0, 65_536), client.read(65_536, 8192)), (Ok(1), Ok(2)));
    assert_eq!((client.read(81_920, 4096), client.read(131_072, 4096)), (Ok(0), Ok(0)), "cached");
    // One too many: there is nothing left to judge.
    server.order("set array.lose=2");
    assert!(server.order("cut").contains("too many drives"));
    server.end();
}
