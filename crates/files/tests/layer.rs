//! Times and errors of the file layer: what waits for the drive and what does not, write-back by age and by share, a full volume,
//! and calls that come late.

use seekwise_disk::block::{CutSector, Device};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::drives;
use seekwise_files::blocking::BlockingFiles;
use seekwise_files::layer::Files;
use seekwise_files::operation::{Answer, FileCompletion, FileError, FileOp, Settings, SyncScope, Tear};

fn format(settings: Settings) -> Files<Box<dyn Device>> {
    let profile = drives::load("barracuda-7200.7-ncq").unwrap().profile().unwrap();
    Files::format(Stack::bare(profile).build(Seed(1)), settings).unwrap()
}

fn blocking(settings: Settings) -> BlockingFiles<Box<dyn Device>> {
    BlockingFiles::new(format(settings))
}

/// The time that a call takes.
fn time<T>(
    files: &mut BlockingFiles<Box<dyn Device>>,
    call: impl FnOnce(&mut BlockingFiles<Box<dyn Device>>) -> T,
) -> (T, Span) {
    let begun = files.now();
    let result = call(files);
    (result, files.now().since(begun))
}

/// The contents of a file after a power cut; `None` if it does not exist.
fn contents_after_cut(files: &mut BlockingFiles<Box<dyn Device>>, path: &str) -> Option<Vec<u8>> {
    files.cut_power();
    files.files().recovered_files().into_iter().find(|file| file.path == path)?.contents
}

#[test]
fn memory_is_quick_and_a_sync_takes_revolutions() {
    let mut files = blocking(Settings::default());
    let file = files.create("/log").unwrap();
    let (_, write) = time(&mut files, |files| files.write(file, 0, &[1; 4096]).unwrap());
    let (_, fsync) = time(&mut files, |files| files.fsync(file).unwrap());
    files.write(file, 0, &[2; 4096]).unwrap();
    let (_, fdatasync) = time(&mut files, |files| files.fdatasync(file).unwrap());
    files.write(file, 0, &[3; 4096]).unwrap();
    let (_, fsync_of_times) = time(&mut files, |files| files.fsync(file).unwrap());
    let (read, time_of_read) = time(&mut files, |files| files.read(file, 0, 4096).unwrap());
    let revolution = Span::from_micros(8_333);
    assert_eq!((write, time_of_read, read), (Span::ZERO, Span::ZERO, vec![3; 4096]));
    // Data, journal, and a flush and the commit block after it; fdatasync of written blocks is data and a flush.
    assert!(fsync > revolution.times(2) && fsync_of_times > fdatasync, "{fsync}, {fsync_of_times}, {fdatasync}");
    assert!(fdatasync > Span::from_millis(1), "{fdatasync}");
    assert_eq!(contents_after_cut(&mut files, "/log"), Some(vec![3; 4096]));
}

#[test]
fn write_back_comes_by_age_and_by_share() {
    let slow = Settings { commit_interval: Span::from_secs(1), ..Settings::default() };
    // 10 % of 8 MiB are dirty at once, or nothing is old for 30 s.
    for (settings, bytes, wait, is_written) in
        [(slow, 4096, 20, false), (slow, 4096, 45, true), (Settings { memory: 8 << 20, ..slow }, 1 << 20, 5, true)]
    {
        let mut files = blocking(settings);
        let file = files.create("/f").unwrap();
        files.write(file, 0, &vec![7; bytes]).unwrap();
        files.wait(Span::from_secs(wait));
        let found = contents_after_cut(&mut files, "/f").expect("the journal has committed its name");
        assert_eq!(found, if is_written { vec![7; bytes] } else { Vec::new() }, "{bytes} bytes, {wait} s");
    }
}

#[test]
fn a_cold_read_waits_for_the_drive_and_a_full_volume_refuses() {
    let mut layer = format(Settings { memory: 16 << 20, ..Settings::default() });
    let free = layer.free_bytes();
    layer.place_file("/big", free - (2 << 20)).unwrap();
    assert_eq!(layer.place_file("/big", 1), Err(FileError::Exists));
    let mut files = BlockingFiles::new(layer);
    let big = files.open("/big").unwrap();
    let (_, cold) = time(&mut files, |files| files.read(big, 10 << 30, 4096).unwrap());
    assert!(cold > Span::from_millis(1), "{cold}");
    let file = files.create("/small").unwrap();
    assert_eq!(files.write(file, 0, &vec![1; 4 << 20]), Err(FileError::NoSpace));
    files.remove("/big").unwrap();
    assert_eq!(files.read(big, 0, 1), Err(FileError::NotFound));
    files.write(file, 0, &vec![2; 4 << 20]).unwrap();
    files.fsync(file).unwrap();
    assert_eq!(contents_after_cut(&mut files, "/small"), Some(vec![2; 4 << 20]));
}

#[test]
fn a_cut_file_is_extended_with_zeros_and_both_are_durable_once_synced() {
    const PAGES: usize = 4;
    let mut files = blocking(Settings::default());
    let file = files.create("/f").unwrap();
    files.write(file, 0, &[7; 4096 * PAGES]).unwrap();
    files.fsync(file).unwrap();
    // Within a page: its rest becomes zeros on the drive before the length is committed.
    files.set_len(file, 5000).unwrap();
    assert_eq!(contents_after_cut(&mut files, "/f"), Some(vec![7; 4096 * PAGES]), "not committed yet");
    files.power_on();
    let file = files.open("/f").unwrap();
    let (_, cut) = time(&mut files, |files| files.set_len(file, 5000).unwrap());
    assert!(cut > Span::from_millis(1), "it reads the page: {cut}");
    files.set_len(file, 4096 * PAGES as u64).unwrap();
    files.wait(Span::from_secs(6));
    let mut expected = vec![0; 4096 * PAGES];
    expected[..5000].fill(7);
    assert_eq!(files.read(file, 0, u64::MAX), Ok(expected.clone()));
    // Blocks that it had before are allocated again for a write of the last page; those between hold nothing of the old file.
    files.write(file, 4096 * 3, &[9; 4096]).unwrap();
    files.fsync(file).unwrap();
    expected[4096 * 3..].fill(9);
    assert_eq!(contents_after_cut(&mut files, "/f"), Some(expected));
    files.power_on();
    let file = files.open("/f").unwrap();
    files.set_len(file, 0).unwrap();
    files.set_len(file, 3).unwrap();
    files.fdatasync(file).unwrap();
    assert_eq!(contents_after_cut(&mut files, "/f"), Some(vec![0; 3]));
}

#[test]
fn direct_reads_and_writes_pass_the_page_cache() {
    let mut files = blocking(Settings::default());
    let file = files.create("/f").unwrap();
    files.write(file, 0, &[1; 8192]).unwrap();
    let read = FileOp::ReadDirect { file, from: 4096, bytes: 4096 };
    for wait in [Span::ZERO, Span::from_secs(1)] {
        files.wait(wait);
        let (bytes, direct) = time(&mut files, |files| files.run(read));
        assert_eq!(bytes, Ok(Answer::Bytes(vec![1; 4096])));
        assert!(direct > Span::from_micros(50), "{direct}");
    }
    let (written, direct) =
        time(&mut files, |files| files.run(FileOp::WriteDirect { file, from: 4096, data: &[2; 4096] }));
    assert_eq!(written, Ok(Answer::Written(4096)));
    assert!(direct > Span::from_micros(50), "{direct}");
    files.fsync(file).unwrap();
    let contents = contents_after_cut(&mut files, "/f").unwrap();
    assert_eq!((contents[4095], contents[4096], contents[8191]), (1, 2, 2));
}

#[test]
fn a_length_that_has_no_room_is_refused() {
    let mut files = blocking(Settings::default());
    let file = files.create("/f").unwrap();
    let free = files.files().free_bytes();
    assert_eq!(files.set_len(file, free + 4097), Err(FileError::NoSpace));
    assert_eq!((files.set_len(file, u64::MAX), files.file_len(file)), (Err(FileError::TooLarge), Ok(0)));
    // Each of two files has room for itself. The first that is written takes it, so the other loses its data.
    let other = files.create("/g").unwrap();
    for file in [file, other] {
        files.set_len(file, free / 4 * 3).unwrap();
        files.write(file, 0, b"x").unwrap();
    }
    assert_eq!((files.fsync(file), files.fsync(other)), (Ok(()), Err(FileError::Device)));
}

#[test]
fn names_are_found_listed_and_refused() {
    let mut files = blocking(Settings::default());
    files.create_directory("/d").unwrap();
    let file = files.create("/d/a").unwrap();
    files.create("/b").unwrap();
    assert_eq!((files.list("/"), files.file_len(file)), (Ok(vec!["b".into(), "d".into()]), Ok(0)));
    assert_eq!((files.remove("/d"), files.create("/b")), (Err(FileError::NotEmpty), Err(FileError::Exists)));
    assert_eq!(files.rename("/d", "/d/e"), Err(FileError::WithinItself));
    assert_eq!(
        (files.rename("/b", "/d"), files.rename("/d", "/b")),
        (Err(FileError::IsADirectory), Err(FileError::NotADirectory))
    );
    assert_eq!((files.open("/c"), files.create("/..")), (Err(FileError::NotFound), Err(FileError::BadName)));
    let directory = files.open("/d").unwrap();
    assert_eq!((files.read(directory, 0, 1), files.fsync(directory)), (Err(FileError::IsADirectory), Ok(())));
    files.cut_power();
    assert_eq!(files.run(FileOp::SyncAll), Err(FileError::PoweredOff));
    files.power_on();
    assert_eq!((files.list("/d"), files.file_len(file)), (Ok(vec!["a".into()]), Err(FileError::NotFound)));
}

#[test]
fn a_cut_within_a_write_tears_a_sector_or_a_page() {
    const BYTES: usize = 1 << 20;
    for (tear, unit) in [(Tear::Sector, 512), (Tear::Page, 4096)] {
        let (mut torn, mut mixed) = (0, 0);
        for cut in 0..16 {
            let mut profile = drives::load("barracuda-7200.7-ncq").unwrap().profile().unwrap();
            profile.cut_sector = CutSector::Unreadable;
            let layer =
                Files::format(Stack::bare(profile).build(Seed(cut)), Settings { tear, ..Settings::default() }).unwrap();
            let mut files = BlockingFiles::new(layer);
            let file = files.create("/f").unwrap();
            files.write(file, 0, &[1; BYTES]).unwrap();
            files.fsync(file).unwrap();
            files.write(file, 0, &[2; BYTES]).unwrap();
            let now = files.now();
            files.files().submit(now, FileOp::Sync { file, scope: SyncScope::Data });
            files.wait(Span::from_micros(5_000 + 3_037 * cut));
            files.cut_power();
            let found = files.files().recovered_files().remove(0);
            let contents = found.contents.unwrap();
            let units: Vec<u8> = contents
                .chunks(unit)
                .map(|unit| {
                    assert!(unit.iter().all(|byte| *byte == unit[0]), "a part of a unit");
                    unit[0]
                })
                .collect();
            mixed += u32::from(units.contains(&1) && units.contains(&2));
            files.power_on();
            let file = files.open("/f").unwrap();
            for range in found.unreadable {
                torn += 1;
                let page = range.start / 4096 * 4096;
                assert_eq!(
                    (range.start % unit as u64, files.read(file, range.start, 1)),
                    (0, Err(FileError::Unreadable))
                );
                assert_eq!(files.write(file, page, &[3; 100]), Err(FileError::Unreadable));
                files.write(file, page, &[3; 4096]).unwrap();
                assert_eq!(files.read(file, range.start, 1), Ok(vec![3]));
            }
        }
        assert!(torn > 0 && mixed > 3, "{tear:?}: {torn} torn, {mixed} mixed");
    }
}

/// The same operations, stepped by each instant that the layer names, or only by the next operation.
fn run_stepped(is_late: bool) -> Vec<FileCompletion> {
    let mut files = format(Settings { memory: 8 << 20, ..Settings::default() });
    let mut done: Vec<FileCompletion> = Vec::new();
    let mut handles = Vec::new();
    for number in 0..60_u64 {
        let now = Instant::ZERO + Span::from_millis(37 * number);
        while let Some(next) = files.poll_timeout().filter(|next| !is_late && *next <= now) {
            files.handle_timeout(next);
        }
        files.handle_timeout(now);
        let data = vec![number as u8; 300_000];
        let path = format!("/{number}");
        match (number % 3, handles.last()) {
            (0, _) => files.submit(now, FileOp::Create { path: &path }),
            (1, Some(&file)) => files.submit(now, FileOp::Write { file, from: 5 * number, data: &data }),
            (_, _) => files.submit(now, FileOp::SyncAll),
        };
        while let Some(completion) = files.poll_completion() {
            if let Ok(Answer::Opened(handle)) = completion.result {
                handles.push(handle);
            }
            done.push(completion);
        }
    }
    files.handle_timeout(Instant::ZERO + Span::from_secs(60));
    done.extend(core::iter::from_fn(|| files.poll_completion()));
    done
}

#[test]
fn late_calls_change_nothing() {
    let (early, late) = (run_stepped(false), run_stepped(true));
    assert!(early.len() == 60 && early.iter().any(|it| it.finished > it.submitted), "{}", early.len());
    assert_eq!(early, late);
}
