//! Files copied or moved between two partitions of a simulated drive: the volumes' plans go through a source to the
//! drive, and after a cut a mount looks at the medium.

use std::collections::{BTreeMap, VecDeque};

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{
    Accounting, Completion, Control, Device, Flags, LandingKind, Op, Request, Source, SourcePoll,
};
use seekwise_disk::engine::Engine;
use seekwise_disk::host::driver::{Driver, DriverSpec, FlushPolicy};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::volume::{
    Aging, Alignment, DataSectors, FileId, FileLedger, FileName, InitialFile, IoPlan, IssueMoment, PlanStep, PlanWait,
    ROOT, SectorState, SyncScope, Volume, VolumeFormat, VolumeSpec, WrittenExtent, lay_out_partitions,
};

use super::{FAT32, NTFS, ext4_format};

/// The largest request in sectors.
const MOST: u64 = 128;
/// Bytes that the program reads and writes at a time.
const CHUNK: u64 = 64 << 10;

/// A plan that is being issued.
#[derive(Default)]
struct PlanLane {
    /// The steps left.
    steps: VecDeque<PlanStep>,
    phase: u32,
    wait: PlanWait,
    requests_in_flight: u32,
}

impl PlanLane {
    fn is_idle(&self) -> bool {
        self.steps.is_empty() && self.requests_in_flight == 0
    }

    fn begin_plan(&mut self, plan: &IoPlan) {
        assert!(self.is_idle());
        (self.steps, self.wait) = (plan.steps().iter().copied().collect(), plan.wait);
        self.phase = 0;
    }
}

#[derive(Clone, Copy)]
struct LaneRequest {
    lane: usize,
    op: Op,
    lba: u64,
    end: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Open,
    Copy(u64),
    Close,
    Delete,
    Next,
}

/// The work of a program on each file.
#[derive(Clone, Copy, PartialEq)]
enum Job {
    /// Copies it and leaves the rest to the system.
    Copy,
    /// Copies it, flushes the copy, then deletes the original, on a volume that writes changes at once, as Windows does
    /// on removable sticks.
    Move,
}

/// A program, and the two volumes' own work beside it. Reads and writes use no cache.
struct Program {
    job: Job,
    volumes: [Volume; 2],
    files: Vec<FileId>,
    copies: Vec<FileId>,
    /// The index of the file.
    at: usize,
    stage: Stage,
    /// The program's plan, and those of the two volumes.
    lanes: [PlanLane; 3],
    /// By tag.
    in_flight: Vec<Option<LaneRequest>>,
    stamp: u64,
    ledgers: [FileLedger; 2],
    /// When each file was done, as the program sees it.
    done: Vec<Instant>,
}

impl Program {
    fn new(format: VolumeFormat, job: Job, count: usize, bytes: u64) -> Program {
        let seed = Seed(7);
        let parts = lay_out_partitions(DRIVE, Alignment::Mebibytes, &[600 << 20, 600 << 20]).expect("fit");
        let mut volumes = [0, 1].map(|i| {
            let spec = VolumeSpec { partition: parts[i], format, aging: Aging::NONE, history: true, seed };
            Volume::format(&spec).expect("fits")
        });
        let place = |_| volumes[0].place_initial_file(ROOT, FileName::long(20), bytes).expect("room");
        let files: Vec<FileId> = (0..count).map(place).collect();
        let mut ledgers = [FileLedger::default(), FileLedger::default()];
        files.iter().for_each(|&file| ledgers[0].add_initial_file(file, InitialFile::new(&volumes[0], file)));
        for volume in &mut volumes {
            volume.begin_run();
            volume.mount(&mut IoPlan::new());
        }
        Program {
            job,
            volumes,
            files,
            copies: Vec::new(),
            at: 0,
            stage: Stage::Open,
            lanes: Default::default(),
            in_flight: vec![None; 64],
            stamp: 0,
            ledgers,
            done: Vec::new(),
        }
    }

    /// Begins the program's next plan.
    fn begin_next_plan(&mut self, now: Instant) {
        let mut plan = IoPlan::new();
        let [from, to] = &mut self.volumes;
        let file = self.files[self.at];
        self.stage = match self.stage {
            Stage::Open => {
                from.open(file, &mut plan);
                self.copies.push(to.create_file(now, ROOT, FileName::long(20), &mut plan).expect("room"));
                Stage::Copy(0)
            }
            Stage::Copy(at) if at < from.file_bytes(file) => {
                let bytes = CHUNK.min(from.file_bytes(file) - at);
                from.read(file, at, bytes, &mut plan);
                plan.begin_phase();
                to.write(now, self.copies[self.at], at, bytes, Flags::NONE, &mut plan).expect("room");
                Stage::Copy(at + bytes)
            }
            Stage::Copy(_) => {
                to.close(now, self.copies[self.at], &mut plan);
                Stage::Close
            }
            Stage::Close if self.job == Job::Move => {
                to.fsync(now, self.copies[self.at], SyncScope::All, &mut plan);
                Stage::Delete
            }
            Stage::Close => Stage::Next,
            Stage::Delete => {
                from.delete(now, file, &mut plan);
                from.sync(now, &mut plan);
                Stage::Next
            }
            Stage::Next => {
                self.done.push(now);
                self.at += 1;
                Stage::Open
            }
        };
        self.lanes[0].begin_plan(&plan);
        self.record_changes();
    }

    /// Passes the volumes' changes on to their ledgers.
    fn record_changes(&mut self) {
        for (volume, ledger) in self.volumes.iter_mut().zip(&mut self.ledgers) {
            ledger.add_changes(&volume.take_changes());
        }
    }

    /// Begins the work that is due on a volume, if its lane is free.
    fn begin_due_work(&mut self, volume: usize, now: Instant) {
        let is_due = self.volumes[volume].poll_timeout().is_some_and(|due| due <= now);
        if is_due && self.lanes[1 + volume].is_idle() {
            let mut plan = IoPlan::new();
            self.volumes[volume].handle_timeout(now, &mut plan);
            self.lanes[1 + volume].begin_plan(&plan);
            self.record_changes();
        }
    }

    /// Takes the next request of a lane, if it may be issued.
    fn take_request(&mut self, index: usize) -> Option<Request> {
        let lane = &self.lanes[index];
        let step = *lane.steps.front()?;
        let conflicts = |other: &LaneRequest| {
            let writes = other.op != Op::Read || step.op != Op::Read;
            writes && other.lba < step.lba + step.sectors && step.lba < other.end
        };
        let mut others = self.in_flight.iter().flatten();
        let waits =
            lane.wait != PlanWait::Nothing && others.clone().any(|other| other.lane != index && other.op != Op::Read);
        if (lane.requests_in_flight > 0 && step.phase > lane.phase) || waits || others.any(conflicts) {
            return None;
        }
        let tag = self.in_flight.iter().position(Option::is_none)?;
        let sectors = step.sectors.min(MOST);
        let lane = &mut self.lanes[index];
        (lane.phase, lane.requests_in_flight) = (step.phase, lane.requests_in_flight + 1);
        let left = lane.steps.front_mut().expect("just seen");
        (left.lba, left.sectors) = (step.lba + sectors, step.sectors - sectors);
        if left.sectors == 0 {
            lane.steps.pop_front();
        }
        self.stamp += 1;
        if step.op == Op::Write {
            let second = step.lba >= self.volumes[1].partition().first;
            self.ledgers[usize::from(second)].add_write(self.stamp, &step, step.lba, sectors);
        }
        let end = step.lba + sectors;
        self.in_flight[tag] = Some(LaneRequest { lane: index, op: step.op, lba: step.lba, end });
        let (tag, flags, sectors) = (tag as u32, step.flags, sectors as u32);
        Some(Request { tag, unit: 0, origin: 0, op: step.op, flags, lba: step.lba, sectors, stamp: 0 })
    }
}

impl Source for Program {
    fn next(&mut self, now: Instant) -> SourcePoll {
        loop {
            (0..2).for_each(|volume| self.begin_due_work(volume, now));
            if let Some(request) = (0..3).find_map(|lane| self.take_request(lane)) {
                return SourcePoll::Request(request);
            }
            if self.at == self.files.len() || !self.lanes[0].is_idle() {
                break;
            }
            self.begin_next_plan(now);
        }
        let due = (0..2).filter(|&i| self.lanes[1 + i].is_idle()).filter_map(|i| self.volumes[i].poll_timeout()).min();
        match due {
            Some(due) => SourcePoll::At(due),
            None if self.lanes.iter().all(PlanLane::is_idle) => SourcePoll::Done,
            None => SourcePoll::Completion,
        }
    }

    fn complete(&mut self, _: Instant, completion: &Completion) -> Accounting {
        let request = self.in_flight[completion.tag as usize].take().expect("in flight");
        self.lanes[request.lane].requests_in_flight -= 1;
        Accounting::In { worker: 0, intended: completion.submitted, served: None }
    }
}

/// Sectors of the drive: 2 heads of 3,000 cylinders of 512.
const DRIVE: u64 = 2 * 3_000 * 512;

/// A drive with a buffer that holds dirty data for a while, below a driver.
fn buffered_drive(flush: FlushPolicy) -> LayeredDevice<Driver> {
    let mut small =
        SmallDrive { zones: vec![(3_000, 512)], ..SmallDrive::default() }.with_buffer(64, 256).with_write_back(60);
    small.cache.destage_idle = Span::from_millis(500);
    let plain = DriverSpec::plain(256, 1, Discipline::plain(Policy::Fcfs), MOST as u32);
    let mut driver = Driver::build_above(DriverSpec { flush, ..plain }, Box::new(small.drive()));
    driver.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    driver
}

/// The sectors on the medium that the run wrote, with their content.
fn written_sectors(device: &mut LayeredDevice<Driver>) -> BTreeMap<u64, SectorState> {
    let mut image = BTreeMap::new();
    while let Some(landing) = device.poll_landing() {
        let held = match landing.kind {
            LandingKind::Landed => SectorState::Stamp(landing.stamp),
            LandingKind::Torn => SectorState::Unreadable,
            _ => continue,
        };
        (landing.lba..landing.lba + u64::from(landing.sectors)).for_each(|lba| {
            image.insert(lba, held);
        });
    }
    image
}

/// All bytes of a file of `bytes` bytes, however old.
fn whole_file(bytes: u64) -> WrittenExtent {
    WrittenExtent { from: 0, to: bytes, since: IssueMoment::default() }
}

/// A run after its power cut: the engine, the content of the medium, and all requests.
struct CutRun {
    engine: Engine<Program, LayeredDevice<Driver>>,
    image: BTreeMap<u64, SectorState>,
    records: Vec<Record>,
}

/// Runs until `end`, then cuts the power.
fn run_until_cut(program: Program, flush: FlushPolicy, end: Instant) -> CutRun {
    let mut records = Vec::new();
    let mut engine = Engine::new(program, buffered_drive(flush));
    engine.run(end, &mut |record: &Record| records.push(*record)).expect("comes to an end");
    engine.control(&Control::PowerCut).expect("on");
    let image = written_sectors(engine.device_mut());
    CutRun { engine, image, records }
}

fn tenths_of_second(tenths: u64) -> Instant {
    Instant::from_nanos(tenths * 100_000_000)
}

#[test]
fn files_are_copied_from_one_partition_to_another() {
    for format in [FAT32, NTFS, ext4_format()] {
        let run = || run_until_cut(Program::new(format, Job::Copy, 30, 100_000), FlushPolicy::Forward, Instant::FAR);
        let CutRun { engine, image, records } = run();
        let program = engine.source();
        assert_eq!((program.done.len(), engine.failures()), (30, 0));
        let data: u64 = records.iter().filter(|r| r.request.op == Op::Read).map(|r| u64::from(r.request.sectors)).sum();
        // 100,000 bytes are 196 sectors; the rest are pages of metadata.
        assert!((30 * 196..30 * 200 + 600).contains(&data), "{data} sectors read");
        let found = program.ledgers[1].mount(|lba| image.get(&lba).copied().unwrap_or(SectorState::Before));
        for &copy in &program.copies {
            let one = found.find_file(copy);
            let data = found.data_sectors(copy, &one, &whole_file(100_000));
            assert_eq!((one.listed, one.bytes), (vec![ROOT], 100_000), "{format:?}");
            assert_eq!(data, DataSectors { fresh: 196, ..DataSectors::default() });
        }
        let again = run();
        assert_eq!((again.engine.now(), &again.image), (engine.now(), &image), "the same each time");
    }
}

/// Moves files and cuts the power at many instants. Returns how many files that the program has moved a mount of both
/// volumes finds in neither place, and how many the program has moved. The first volume is a stick without a cache: all
/// acknowledged writes are on it.
fn count_in_neither_place(format: VolumeFormat, flush: FlushPolicy) -> (u32, usize) {
    let (mut neither, mut moved) = (0, 0);
    for tenth in (1..24).step_by(2) {
        let CutRun { engine, image: drive, records } =
            run_until_cut(Program::new(format, Job::Move, 60, 20_000), flush, tenths_of_second(tenth));
        let mut stick = BTreeMap::new();
        for request in records.iter().map(|record| record.request).filter(|request| request.op == Op::Write) {
            stick.extend((request.lba..request.end()).map(|lba| (lba, SectorState::Stamp(request.stamp))));
        }
        let program = engine.source();
        let on = |image: &BTreeMap<u64, SectorState>, lba: u64| image.get(&lba).copied().unwrap_or(SectorState::Before);
        let (first, second) =
            (program.ledgers[0].mount(|lba| on(&stick, lba)), program.ledgers[1].mount(|lba| on(&drive, lba)));
        for (&file, &copy) in program.files.iter().zip(&program.copies).take(program.done.len()) {
            let (file, found) = (first.find_file(file), second.find_file(copy));
            let is_whole = found.bytes == 20_000 && second.data_sectors(copy, &found, &whole_file(20_000)).fresh == 40;
            neither += u32::from(file.listed.is_empty() && !is_whole);
        }
        moved += program.done.len();
    }
    (neither, moved)
}

#[test]
fn a_moved_file_is_in_neither_place_only_where_flushes_are_lost() {
    for format in [FAT32, NTFS, ext4_format()] {
        let (neither, moved) = count_in_neither_place(format, FlushPolicy::Forward);
        assert!(neither == 0 && moved > 0, "{format:?}: {neither} of {moved} moved with flushes");
        let (neither, moved) = count_in_neither_place(format, FlushPolicy::Never);
        assert!(neither > 0, "{format:?}: {neither} of {moved} moved without");
    }
}
