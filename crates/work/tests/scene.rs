//! Laws of scenes: programs end in their order, on every file system, equally each time, and their requests to the
//! drive match their figures.

use std::collections::VecDeque;

use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Queuing, Request, Status};
use seekwise_disk::engine::Engine;
use seekwise_disk::engine::computing::ComputeSource;
use seekwise_disk::record::{DriveLog, Effort, Part, Parts, Record};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::call::OpenMode;
use seekwise_work::files::note::{FileNote, FileNotes};
use seekwise_work::files::pagecache::PageCacheSpec;
use seekwise_work::files::program::{
    BootSpec, CopySpec, DatabaseSpec, DefragmentSpec, DocumentSpec, FileSet, PlaybackSpec, ProgramSpec, RecordsSpec,
    RegistrySpec, ScanSpec, ScratchSpec, UnpackSpec,
};
use seekwise_work::files::scene::{Operation, ProgramError, ProgramPlan, Scene, SceneSpec, VolumePlan};
use seekwise_work::files::system::{SystemFamily, SystemSpec};
use seekwise_work::files::volume::{Aging, Alignment, Ext4Spec, Fat32Spec, FatDriver, NtfsSpec, VolumeFormat};

const LIMITS: Limits = Limits {
    sectors: 64 << 21,
    logical: 512,
    physical: 512,
    max_transfer: 1024,
    optimal_transfer: 0,
    depth: 256,
    fua: true,
    volatile_cache: true,
    queuing: Queuing::None,
    computes: false,
};

/// A device that serves one request after another, a millisecond each.
#[derive(Default)]
struct SteadyDevice {
    /// For each request: when it ends, when it was submitted, and its tag.
    waiting: VecDeque<(Instant, Instant, u32)>,
    done: VecDeque<Completion>,
}

impl Device for SteadyDevice {
    fn limits(&self, _: u8) -> Limits {
        LIMITS
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let free = self.waiting.back().map_or(now, |last| last.0.max(now));
        self.waiting.push_back((free + Span::from_millis(1), now, request.tag));
        Ok(now)
    }
    fn control(&mut self, _: Instant, _: &Control) -> Result<(), ControlError> {
        Ok(())
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.0)
    }
    fn handle_timeout(&mut self, now: Instant) {
        while let Some(&(finished, submitted, tag)) = self.waiting.front()
            && finished <= now
        {
            self.waiting.pop_front();
            let mut parts = Parts::default();
            parts.add(Part::Seek, finished.since(submitted));
            let (status, effort) = (Status::Done, Effort::default());
            self.done.push_back(Completion { tag, status, submitted, finished, parts, effort });
        }
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

const FAT32: VolumeFormat = VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Nt });
const NTFS: VolumeFormat = VolumeFormat::Ntfs(NtfsSpec { cluster: 4096 });

fn file_set(files: u32, bytes: u64) -> FileSet {
    FileSet { files, bytes, spread: 0, directory: 50 }
}

fn volume_plan(format: VolumeFormat) -> VolumePlan {
    VolumePlan { unit: 0, bytes: 8 << 30, format, aging: Aging::NONE, files: file_set(0, 0) }
}

fn scene_spec(family: SystemFamily, format: VolumeFormat, doing: impl IntoIterator<Item = ProgramSpec>) -> SceneSpec {
    let plan = |(at, doing): (usize, ProgramSpec)| ProgramPlan {
        name: format!("program {at}"),
        doing,
        after: Vec::new(),
        cold: false,
        sync: false,
        background: false,
    };
    SceneSpec {
        name: "scene".to_owned(),
        system: SystemSpec { family, largest: 1024, cache: None },
        alignment: Alignment::Mebibytes,
        beside: vec![],
        volumes: vec![volume_plan(format), volume_plan(format)],
        volume_names: vec!["c".to_owned(), "d".to_owned()],
        programs: doing.into_iter().enumerate().map(plan).collect(),
        runtime: None,
    }
}

/// A run: the scene at its end, the time of the end, and the requests to the drive.
struct SceneRun {
    scene: Scene,
    end: Instant,
    records: Vec<Record>,
}

impl SceneRun {
    fn operations(&self) -> &[Operation] {
        self.scene.operations()
    }

    fn count_requests(&self, op: Op) -> usize {
        self.records.iter().filter(|record| record.request.op == op).count()
    }
}

fn run_scene_on(spec: &SceneSpec, limits: Limits) -> SceneRun {
    let mut records = Vec::new();
    let scene = Scene::new(spec, &limits, Seed(7)).expect("fits");
    let mut engine = Engine::new(ComputeSource::new(scene, &limits), SteadyDevice::default());
    engine.run(Instant::FAR, &mut |record: &Record| records.push(*record)).expect("comes to its end");
    let end = engine.now();
    let scene = engine.into_parts().0.into_source();
    assert_eq!(scene.program_errors().next(), None, "{:?}", spec.volumes[0].format);
    SceneRun { scene, end, records }
}

fn run_scene(spec: &SceneSpec) -> SceneRun {
    run_scene_on(spec, LIMITS)
}

const MS: Span = Span::from_millis(1);

fn copy_spec(files: FileSet) -> CopySpec {
    CopySpec {
        from: 0,
        to: 1,
        set: files,
        block: 32 << 10,
        buffers: 0,
        handle: OpenMode::Cached,
        moves: false,
        sync: false,
        file_time: Span::ZERO,
    }
}

fn database_spec() -> DatabaseSpec {
    DatabaseSpec {
        volume: 0,
        log: 1,
        bytes: 64 << 20,
        log_bytes: 16 << 20,
        page: 8192,
        log_block: 8192,
        clients: 8,
        commits: 200,
        reads: 4,
        hits: 50,
        writes: 2,
        record: 600,
        group: true,
        checkpoint: Some(Span::from_millis(500)),
        spread: 90,
        data_handle: OpenMode::Cached,
        log_handle: OpenMode::Cached,
        time: MS,
        pause: Span::ZERO,
    }
}

/// Programs of each kind, each with its number of operations.
fn all_programs() -> Vec<(ProgramSpec, usize)> {
    [file_set_programs(), few_file_programs()].concat()
}

/// Programs that copy, read and write sets of files.
fn file_set_programs() -> Vec<(ProgramSpec, usize)> {
    let (handle, file_time) = (OpenMode::Cached, MS);
    let pair = CopySpec { buffers: 4, moves: true, sync: true, ..copy_spec(file_set(20, 5 << 20)) };
    vec![
        (ProgramSpec::Copy(copy_spec(file_set(20, 5 << 20))), 20),
        (ProgramSpec::Copy(pair), 20),
        (
            ProgramSpec::Scan(ScanSpec {
                volume: 0,
                set: file_set(30, 3 << 20),
                block: 64 << 10,
                head: 4096,
                whole: 50,
                handle,
                file_time,
                mebibyte_time: MS,
            }),
            30,
        ),
        (
            ProgramSpec::Unpack(UnpackSpec {
                volume: 0,
                set: file_set(30, 3 << 20),
                packed: 30,
                block: 32 << 10,
                handle,
                sync: false,
                file_time,
                mebibyte_time: MS,
            }),
            30,
        ),
    ]
}

/// Programs that use a few files again and again, or start a system.
fn few_file_programs() -> Vec<(ProgramSpec, usize)> {
    let (handle, time) = (OpenMode::Cached, MS);
    let files = file_set(50, 20 << 20);
    let boot = |ahead| {
        let spec = BootSpec { volume: 0, set: files, phases: 3, reads: 40, most: 32 << 10, ahead, time };
        (ProgramSpec::Boot(spec), 3)
    };
    vec![
        boot(0),
        boot(8),
        (
            ProgramSpec::Registry(RegistrySpec {
                volume: 0,
                hives: 3,
                hive: 1 << 20,
                flushes: 20,
                pages: 4,
                handle: OpenMode::Direct,
                time,
            }),
            20,
        ),
        (
            ProgramSpec::Document(DocumentSpec {
                volume: 0,
                bytes: 100_000,
                block: 4096,
                saves: 5,
                handle,
                sync: true,
                sync_directory: false,
                time,
                pause: Span::from_secs(1),
            }),
            5,
        ),
        (ProgramSpec::Records(records_spec(1)), 50),
        (ProgramSpec::Records(records_spec(10)), 5),
        (
            ProgramSpec::Scratch(ScratchSpec {
                volume: 0,
                bytes: 64 << 20,
                strokes: 5,
                run: 1 << 20,
                block: 128 << 10,
                tiles: 10,
                tile: 128 << 10,
                handle: OpenMode::Direct,
                time,
            }),
            5,
        ),
        (ProgramSpec::Database(database_spec()), 200),
    ]
}

fn records_spec(transaction: u32) -> RecordsSpec {
    RecordsSpec {
        volume: 0,
        tables: 3,
        table: 4 << 20,
        index: 1 << 20,
        records: 50,
        transaction,
        reads: 2,
        writes: 5,
        flushes: 5,
        bytes: 512,
        handle: OpenMode::Cached,
        time: MS,
    }
}

/// Each file system by a system that has it, with a small page cache.
fn systems_with_caches() -> [(SystemFamily, VolumeFormat, PageCacheSpec); 4] {
    [
        (SystemFamily::WindowsNt, FAT32, PageCacheSpec::windows_nt(4 << 20)),
        (SystemFamily::WindowsNt, NTFS, PageCacheSpec::windows_nt(4 << 20)),
        (
            SystemFamily::Windows98,
            VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Windows98 }),
            PageCacheSpec::windows_98(4 << 20),
        ),
        (SystemFamily::Linux, VolumeFormat::Ext4(Ext4Spec::default()), PageCacheSpec::linux(4 << 20)),
    ]
}

/// Scenes of each program on each system, alone and beside the next one of the list, with a page cache and without: the
/// name of the scene, and its requests and operations as text.
pub fn golden_lines() -> Vec<(String, Vec<String>)> {
    let programs: Vec<ProgramSpec> = all_programs().into_iter().map(|(program, _)| program).collect();
    let mut all = Vec::new();
    for (family, format, cache) in systems_with_caches() {
        for (at, program) in programs.iter().enumerate() {
            let beside = programs[(at + 1) % programs.len()];
            for (how, doing, cache) in [
                ("alone", vec![*program], None),
                ("cached", vec![*program], Some(cache)),
                ("beside", vec![*program, beside], Some(cache)),
            ] {
                let mut spec = scene_spec(family, format, doing);
                spec.system.cache = cache;
                spec.volumes[0].aging = Aging { fragments: 250, gap_kib: 1024 };
                let ran = run_scene(&spec);
                let mut lines: Vec<String> = ran.records.iter().map(|record| format!("{record:?}")).collect();
                lines.extend(ran.operations().iter().map(|operation| format!("{operation:?}")));
                all.push((format!("{family:?}, program {at} {how} on {}", format_name(&format)), lines));
            }
        }
    }
    all
}

fn format_name(format: &VolumeFormat) -> String {
    format!("{format:?}").chars().take_while(|letter| letter.is_alphanumeric()).collect()
}

#[test]
fn every_program_comes_to_its_end_on_every_file_system_the_same_each_time() {
    for (family, format, cache) in systems_with_caches() {
        for (doing, count) in all_programs() {
            for cache in [None, Some(cache)] {
                let mut spec = scene_spec(family, format, [doing]);
                spec.system.cache = cache;
                let (first, again) = (run_scene(&spec), run_scene(&spec));
                assert_eq!(first.operations().len(), count, "{family:?} {doing:?}");
                assert_eq!(first.operations(), again.operations());
                let asked = |ran: &SceneRun| -> Vec<_> {
                    ran.records.iter().map(|record| (record.worker, record.request, record.completion)).collect()
                };
                assert!(first.end == again.end && asked(&first) == asked(&again));
            }
        }
    }
}

#[test]
fn a_copy_reads_and_writes_by_turns() {
    let ran =
        run_scene(&scene_spec(SystemFamily::WindowsNt, NTFS, [ProgramSpec::Copy(copy_spec(file_set(1, 128 << 10)))]));
    let blocks = ran.records.iter().filter(|record| record.request.sectors == 64);
    let ops: Vec<Op> = blocks.map(|record| record.request.op).collect();
    assert_eq!(ops, [Op::Read, Op::Write].repeat(4));
    let [operation] = ran.operations() else { panic!("one file") };
    // A request at a time, a millisecond each, none of them the system's own.
    let own = ran.records.iter().filter(|record| record.worker == 0).count() as u64;
    assert_eq!(operation.ended.since(operation.began), Span::from_millis(own));
}

#[test]
fn a_reader_is_ahead_of_its_writer_by_no_more_than_its_buffers() {
    let ahead = |buffers| {
        let ran = run_scene(&scene_spec(
            SystemFamily::WindowsNt,
            NTFS,
            [ProgramSpec::Copy(CopySpec { buffers, ..copy_spec(file_set(1, 1 << 20)) })],
        ));
        let (mut ahead, mut most) = (0i32, 0);
        for record in ran.records.iter().filter(|record| record.request.sectors == 64) {
            ahead += if record.request.op == Op::Read { 1 } else { -1 };
            most = most.max(ahead);
        }
        assert_eq!(ahead, 0, "all that was read is written");
        most
    };
    // One thread reads a block and writes it; with one buffer none is read before the last is written. With more, a
    // reader is one block further, no more: the drive serves the two in turn.
    assert_eq!((ahead(0), ahead(1), ahead(3)), (1, 1, 2));
}

#[test]
fn a_move_leaves_nothing_behind() {
    let count = |moves: bool| {
        let ran = run_scene(&scene_spec(
            SystemFamily::WindowsNt,
            FAT32,
            [ProgramSpec::Copy(CopySpec { moves, ..copy_spec(file_set(10, 1 << 20)) })],
        ));
        (ran.scene.system().volume(0).file_count(), ran.scene.system().volume(1).file_count())
    };
    // The root and a directory on each.
    assert_eq!((count(false), count(true)), ((12, 12), (2, 12)));
}

#[test]
fn one_program_waits_for_another() {
    let scan = all_programs()[2].0;
    let mut spec = scene_spec(SystemFamily::WindowsNt, NTFS, [scan, scan]);
    spec.programs[0].after = vec![1];
    spec.programs[0].cold = true;
    let ran = run_scene(&spec);
    let order: Vec<u16> = ran.operations().iter().map(|operation| operation.program).collect();
    assert_eq!(order, [[1; 30], [0; 30]].concat());
    spec.programs[0].after.clear();
    let both = run_scene(&spec);
    assert!(both.operations()[..30].iter().any(|operation| operation.program == 0), "at once");
}

/// A document that is saved is another file each time, and the one before is gone.
#[test]
fn a_walk_over_a_volume_finds_what_is_there_when_it_comes_by() {
    let document =
        few_file_programs().into_iter().find(|one| matches!(one.0, ProgramSpec::Document(_))).expect("one of each").0;
    let walk = ScanSpec {
        volume: 0,
        set: file_set(0, 0),
        block: 64 << 10,
        head: 4096,
        whole: 100,
        handle: OpenMode::Cached,
        file_time: MS,
        mebibyte_time: Span::ZERO,
    };
    let shifts = DefragmentSpec { volume: 0, set: file_set(0, 0), file_time: MS, chunk_time: MS };
    let walked = |walk: ProgramSpec, after: Vec<usize>| {
        let mut spec = scene_spec(SystemFamily::WindowsNt, FAT32, [document, walk]);
        spec.volumes[0].files = file_set(20, 4 << 20);
        spec.volumes[0].aging = Aging { fragments: 400, gap_kib: 64 };
        spec.programs[1].after = after;
        run_scene(&spec).operations().iter().filter(|one| one.program == 1).count()
    };
    let of_twenty = |count: usize| (15..=22).contains(&count);
    assert!(of_twenty(walked(ProgramSpec::Scan(walk), vec![])) && of_twenty(walked(ProgramSpec::Scan(walk), vec![0])));
    assert!(of_twenty(walked(ProgramSpec::Defragment(shifts), vec![0])));
}

#[test]
fn whoever_writes_pauses_before_each_save_but_the_first() {
    let one = few_file_programs()
        .into_iter()
        .find_map(|one| if let ProgramSpec::Document(it) = one.0 { Some(it) } else { None });
    let spec = DocumentSpec { saves: 5, pause: Span::from_secs(7), ..one.expect("one of each") };
    let ran = run_scene(&scene_spec(SystemFamily::WindowsNt, NTFS, [ProgramSpec::Document(spec)]));
    let saves = ran.operations();
    let pauses: Vec<Span> = saves.windows(2).map(|pair| pair[1].began.since(pair[0].ended)).collect();
    assert_eq!((saves.len(), pauses), (5, vec![Span::from_secs(7); 4]));
}

#[test]
fn a_scene_ends_when_it_is_to_and_with_the_last_that_it_waits_for() {
    let mut spec =
        scene_spec(SystemFamily::WindowsNt, NTFS, [ProgramSpec::Database(database_spec()), all_programs()[2].0]);
    spec.runtime = Some(Span::from_millis(100));
    let ran = run_scene(&spec);
    assert!(ran.end < Instant::ZERO + Span::from_millis(120), "what was on its way ends: {:?}", ran.end);
    spec.runtime = None;
    let whole = run_scene(&spec);
    spec.programs[0].background = true;
    let short = run_scene(&spec);
    assert!(short.end < whole.end);
    assert_eq!(short.operations().iter().filter(|operation| operation.program == 1).count(), 30);
}

#[test]
fn a_program_that_syncs_leaves_nothing_dirty() {
    for (family, format, cache) in systems_with_caches() {
        let left = |sync: bool| {
            let mut spec = scene_spec(family, format, [ProgramSpec::Copy(copy_spec(file_set(5, 400 << 10)))]);
            spec.system.cache = Some(cache);
            spec.programs[0].sync = sync;
            let ran = run_scene(&spec);
            let system = ran.scene.system();
            (system.page_cache().expect("one").dirty_and_writing_pages(), system.volume(1).dirty_page_count() > 0)
        };
        // Few enough pages for no write-back before the end.
        assert_eq!((left(false), left(true)), (((100, 0), true), ((0, 0), false)), "{family:?} {format:?}");
    }
}

/// The second program waits for itself.
#[test]
fn a_scene_at_a_standstill_is_done_and_names_who_waits() {
    let mut spec = scene_spec(
        SystemFamily::WindowsNt,
        NTFS,
        [ProgramSpec::Copy(copy_spec(file_set(2, 1 << 20))), all_programs()[2].0],
    );
    spec.programs[1].after = vec![1];
    let scene = Scene::new(&spec, &LIMITS, Seed(7)).expect("fits");
    let mut engine = Engine::new(ComputeSource::new(scene, &LIMITS), SteadyDevice::default());
    engine.run(Instant::FAR, &mut |_: &Record| {}).expect("every request is answered");
    assert!(engine.is_over());
    let scene = engine.into_parts().0.into_source();
    assert_eq!(scene.program_errors().collect::<Vec<_>>(), [(1, ProgramError::Waits)]);
}

/// A judge of power cuts names operations by these numbers: from 0, the transactions of a database from 1.
#[test]
fn operations_of_a_program_are_numbered_from_its_first() {
    let playback = ProgramSpec::Playback(PlaybackSpec {
        volume: 0,
        span: 1 << 20,
        counts: [9; 4],
        bytes: [18 << 12; 2],
        run: 4,
        handle: OpenMode::Direct,
        time: Span::ZERO,
    });
    for doing in all_programs().into_iter().map(|one| one.0).chain([playback]) {
        let (spec, notes) = (scene_spec(SystemFamily::WindowsNt, NTFS, [doing]), FileNotes::default());
        let scene = Scene::with_notes(&spec, &LIMITS, Seed(7), notes.clone()).expect("fits");
        let mut engine = Engine::new(ComputeSource::new(scene, &LIMITS), SteadyDevice::default());
        engine.run(Instant::FAR, &mut |_: &Record| {}).expect("comes to its end");
        let began = |note| if let FileNote::Began(_, operation) = note { Some(operation.number) } else { None };
        let numbers: Vec<u32> = std::iter::from_fn(|| notes.poll()).filter_map(|(_, note)| began(note)).collect();
        let first = u32::from(matches!(doing, ProgramSpec::Database(_)));
        assert_eq!(numbers.first(), Some(&first), "{doing:?}");
        assert!(numbers.is_sorted_by(|one, next| one < next), "{doing:?}: {numbers:?}");
    }
}

#[test]
fn a_group_commits_with_fewer_flushes_and_each_alone_with_as_many() {
    let flushes = |group: bool| {
        let spec = DatabaseSpec { group, checkpoint: None, ..database_spec() };
        let format = VolumeFormat::Ext4(Ext4Spec::default());
        run_scene(&scene_spec(SystemFamily::Linux, format, [ProgramSpec::Database(spec)])).count_requests(Op::Flush)
    };
    let (together, alone) = (flushes(true), flushes(false));
    assert!(alone >= 200, "{alone}");
    assert!(together < alone / 2, "eight clients: {together} of {alone}");
}

#[test]
fn records_in_a_transaction_are_flushed_together() {
    let flushes = |transaction| {
        run_scene(&scene_spec(SystemFamily::WindowsNt, FAT32, [ProgramSpec::Records(records_spec(transaction))]))
            .count_requests(Op::Flush)
    };
    // Five writes of each of 50, each followed by one; of each of 5 transactions, five files.
    assert_eq!((flushes(1), flushes(10)), (250, 25));
}

#[test]
fn a_forced_write_is_followed_by_a_flush_where_there_is_no_fua() {
    let spec = scene_spec(SystemFamily::WindowsNt, FAT32, [ProgramSpec::Records(records_spec(1))]);
    let issued = |fua, volatile_cache| run_scene_on(&spec, Limits { fua, volatile_cache, ..LIMITS }).end;
    let (with, without, uncached) = (issued(true, true), issued(false, true), issued(false, false));
    assert!(without > with, "a flush for each");
    assert_eq!(uncached, with, "nothing to force");
}

#[test]
fn a_defragmenter_leaves_files_in_one_piece() {
    let doing = ProgramSpec::Defragment(DefragmentSpec {
        volume: 0,
        set: file_set(0, 0),
        file_time: Span::ZERO,
        chunk_time: Span::ZERO,
    });
    for format in [FAT32, NTFS] {
        let mut spec = scene_spec(SystemFamily::WindowsNt, format, [doing]);
        spec.volumes[0].aging = Aging { fragments: 400, gap_kib: 1024 };
        spec.volumes[0].files = file_set(40, 40 << 20);
        let pieces = |scene: &Scene| {
            let volume = scene.system().volume(0);
            volume.files().filter(|&id| !volume.is_directory(id) && volume.file_runs(id).len() > 1).count()
        };
        let before = pieces(&Scene::new(&spec, &LIMITS, Seed(7)).expect("fits"));
        let ran = run_scene(&spec);
        assert!(before > 30, "{before}");
        assert_eq!((pieces(&ran.scene), ran.operations().len()), (0, before), "{format:?}");
    }
}

/// The first of two files is longer than any free run: it stays where it is.
#[test]
fn a_defragmenter_goes_on_after_a_file_that_finds_no_room() {
    let (file_time, chunk_time) = (Span::ZERO, Span::ZERO);
    let doing = DefragmentSpec { volume: 0, set: file_set(1, 1 << 20), file_time, chunk_time };
    let mut spec = scene_spec(SystemFamily::WindowsNt, FAT32, [ProgramSpec::Defragment(doing)]);
    let aging = Aging { fragments: 400, gap_kib: 64 };
    spec.volumes[0] = VolumePlan { bytes: 1 << 30, aging, files: file_set(1, 600 << 20), ..volume_plan(FAT32) };
    let ran = run_scene(&spec);
    let volume = ran.scene.system().volume(0);
    let files = volume.files().filter(|&id| !volume.is_directory(id));
    let pieces: Vec<usize> = files.map(|id| volume.file_runs(id).len()).collect();
    assert_eq!((pieces, ran.operations().len()), (vec![4, 1], 1));
}

#[test]
fn a_playback_has_the_counts_that_were_published() {
    let doing = ProgramSpec::Playback(PlaybackSpec {
        volume: 0,
        span: 1 << 30,
        counts: [152, 430, 74, 20],
        bytes: [10_700_000, 9_500_000],
        run: 8,
        handle: OpenMode::Direct,
        time: Span::ZERO,
    });
    let ran = run_scene(&scene_spec(SystemFamily::WindowsNt, NTFS, [doing]));
    let data = |op: Op| {
        let own = ran.records.iter().filter(|record| record.request.op == op && record.request.sectors > 16);
        let sizes: Vec<u64> = own.map(|record| u64::from(record.request.sectors) * 512).collect();
        (sizes.len(), sizes.iter().sum::<u64>())
    };
    let ((reads, read), (writes, written)) = (data(Op::Read), data(Op::Write));
    assert!((582..=590).contains(&reads) && (94..=100).contains(&writes), "{reads} {writes}");
    assert!(read.abs_diff(10_700_000) < 400_000 && written.abs_diff(9_500_000) < 200_000, "{read} {written}");
}
