//! Finds of a session written by hand: their media against those that the checker writes, and damaged files.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use seekwise_disk::block::{Completion, Op, Request, Status};
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{History, HistoryEvent};
use seekwise_os::image_checker::ImageChecker;
use seekwise_os::kernel::{FILE_SYSTEMS, FileSystemKind, GroupParent, ProgramBounds, ShellProgram};
use seekwise_os::session::SessionRecord;

use super::*;
use crate::setup::build_stack;

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Four writes, one every 10 ms from 10 ms on: the second overlaps the first, the third is of zeroes, the last comes after the cut.
fn history() -> History {
    let mut history = History::default();
    for (stamp, lba, sectors) in [(1, 10, 8), (2, 14, 8), (3, 100, 4), (4, 10, 1)] {
        let request = Request { op: Op::Write, lba, sectors, stamp, ..Request::NONE };
        let data = match stamp {
            3 => WriteData::Zeroes { bytes: 2048, allocated: false },
            _ => WriteData::Bytes(vec![stamp as u8; sectors as usize * 512]),
        };
        history.record_request(ms(10 * stamp), &request, Some(&data));
        let over = Completion { status: Status::Done, finished: ms(10 * stamp + 1), ..Completion::NONE };
        history.events.push(HistoryEvent::Over(request, over));
    }
    history
}

fn origin() -> FindOrigin {
    let words = ["0.2", "seekwise crash", "work on a disk", "corrupt", "it is gone"].map(str::to_owned);
    let [made_by, command, title, verdict, words] = words;
    let (fs, earlier_cuts, cut) = (Some("ext4".to_owned()), vec![ms(5)], ms(35));
    FindOrigin { made_by, command, title, fs, verdict, words, promises: 2, earlier_cuts, cut }
}

/// Calls `test` with a folder, a bench of the session on a disk of 64 KiB of ones, and the medium that lacks these parts of its writes.
fn with_bench(lost: &[(u64, SectorRun)], test: impl FnOnce(&Path, &CheckBench<'_>, &MediumImage)) {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base");
    std::fs::write(&base, vec![0xff; 64 << 10]).unwrap();
    let system = FileSystemKind::find_by_name(FILE_SYSTEMS[0], "").unwrap();
    let (groups, stop) = (GroupParent::default(), AtomicBool::new(false));
    let bounds = ProgramBounds { limit: std::time::Duration::from_secs(30), stop: None };
    let program = ShellProgram { command: "", environment: Vec::new(), groups: &groups, bounds };
    let checker = ImageChecker::new(1, Some((base.as_path(), &system)), program, folder.path()).unwrap();
    let history = Arc::new(history());
    let writes = SessionWrites::from_history(&history, true);
    let recorded = SessionRecord { history, receipt: Default::default(), pages: Default::default(), sent: None };
    let (stack, ..) = build_stack(&crate::Files::default(), "barracuda-7200.7", &[]).unwrap();
    let lost: Vec<LostWrite> = lost
        .iter()
        .map(|(stamp, part)| LostWrite { write: *writes.get(*stamp).unwrap(), parts: vec![*part] })
        .collect();
    let image = MediumImage::without_writes(&writes, ms(35), &lost);
    test(folder.path(), &CheckBench::new(&checker, &recorded, &stack, &stop), &image);
}

/// The bytes of a find's medium with these writes put back.
fn medium(folder: &Path, find: &KeptFind, restored: &[u64]) -> Vec<u8> {
    let path = folder.join("medium");
    let file = seekwise_os::outputs::create_private(&path).unwrap();
    find.disk_content(&restored.iter().copied().collect()).fill_file(&file).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    bytes
}

#[test]
fn the_medium_of_a_kept_find_is_the_one_that_was_checked() {
    with_bench(&[(1, (10, 12)), (3, (101, 103))], |folder, bench, image| {
        let (checked, path) = (folder.join("checked"), folder.join("find"));
        bench.write_image(&checked, image).unwrap();
        let mut find = KeptFind::new(bench, image, origin()).unwrap();
        let lost = image.lost_writes(bench.writes(), ms(35));
        find.explain(&lost[1..], &[(3, "nobody's".to_owned())].into());
        find.write(&path, false).unwrap();
        assert!(find.write(&path, false).is_err(), "no other file is replaced");
        let find = KeptFind::read(&path).unwrap();
        let checked = std::fs::read(&checked).unwrap();
        assert_eq!(medium(folder, &find, &[]), checked);
        // By hand: sectors 12 to 14 are the first write's, 14 to 22 the second's; of the zeroes the first and last sector are there.
        let mut expected = vec![0xff; 64 << 10];
        for (from, end, byte) in [(12, 14, 1), (14, 22, 2), (100, 101, 0), (103, 104, 0)] {
            expected[from * 512..end * 512].fill(byte);
        }
        assert_eq!(checked, expected);
        expected[10 * 512..12 * 512].fill(1);
        assert_eq!(medium(folder, &find, &[1]), expected, "the first write is put back below the second");
        expected[101 * 512..103 * 512].fill(0);
        assert_eq!(medium(folder, &find, &[1, 3]), expected);
        assert_eq!(find.lost_writes().iter().map(|write| write.stamp).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(
            (find.index.writes.len(), find.index.words.as_str(), find.index.cut_ns),
            (3, "it is gone", 35_000_000)
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    });
}

#[test]
fn unreadable_sectors_are_readable_where_a_write_is_put_back() {
    with_bench(&[(1, (10, 14))], |folder, bench, image| {
        let mut find = KeptFind::new(bench, image, origin()).unwrap();
        find.index.unreadable = vec![(12, 13), (60, 61)];
        let (cut, restored) = (medium(folder, &find, &[]), medium(folder, &find, &[1]));
        let sectors = |bytes: &[u8]| [12, 60].map(|sector| bytes[sector * 512]);
        assert_eq!((sectors(&cut), sectors(&restored)), ([0xbd, 0xbd], [1, 0xbd]));
    });
}

/// Bytes of a find with this index in place of its own, under a right sum.
fn with_index(bytes: &[u8], change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let body = &bytes[HEAD.len()..bytes.len() - SUM_BYTES];
    let end = body.iter().position(|byte| *byte == b'\n').unwrap();
    let mut index: serde_json::Value = serde_json::from_slice(&body[..end]).unwrap();
    change(&mut index);
    let sealed = [HEAD.as_bytes(), index.to_string().as_bytes(), &body[end..]].concat();
    [&sealed[..], sha256(&sealed).as_bytes(), b"\n"].concat()
}

#[test]
fn a_damaged_find_is_an_error_that_says_so() {
    with_bench(&[(1, (10, 12))], |folder, bench, image| {
        let path = folder.join("find");
        KeptFind::new(bench, image, origin()).unwrap().write(&path, false).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(KeptFind::parse(&bytes).is_ok());
        assert!(KeptFind::parse(&with_index(&bytes, |_| ())).is_ok(), "the canary: its sum is right");
        for at in (0..bytes.len()).step_by(97) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(KeptFind::parse(&changed).is_err(), "byte {at}");
            assert!(KeptFind::parse(&bytes[..at]).is_err(), "cut short to {at}");
        }
        let why = |bytes: &[u8]| KeptFind::parse(bytes).map(drop).unwrap_err();
        assert!(
            why(b"something else")
                .contains("does not begin as a find does; expected a file that `seekwise crash --keep`")
        );
        assert!(why(&bytes[..bytes.len() - 1]).contains("was changed or cut short after it was written"));
        // Whoever makes a find can also make its sum.
        for (key, value, said) in [
            ("writes/0/lba", 1_u64 << 60, "write 1 is misplaced"),
            ("writes/1/stamp", 1, "write 1 is misplaced"),
            ("writes/0/lost/0/1", 99, "lost parts of write 1: sectors 10 to 99 are misplaced"),
            ("base/0/0", 1 << 40, "a part at byte 1099511627776 is misplaced"),
            ("base/0/1", 100, "its data are not as long as its index says"),
            ("disk_bytes", u64::MAX, "a disk of 18446744073709551615 bytes; expected at most"),
            ("writes/0/lost/0/0", 11, "the medium made of the find has content"),
        ] {
            let changed = with_index(&bytes, |index| *index.pointer_mut(&format!("/{key}")).unwrap() = value.into());
            assert!(why(&changed).contains(said), "{key}: {}", why(&changed));
        }
        assert!(why(&with_index(&bytes, |index| index["more"] = 1.into())).contains("unknown field `more`"));
        let (end, sectors) = (1_u64 << 62, 1_u64 << 53);
        let huge = with_index(&bytes, |index| {
            (index["disk_bytes"], index["unreadable"]) = (end.into(), serde_json::json!(vec![(0, sectors); 4096]));
        });
        assert!(why(&huge).contains("sectors cannot be read; expected at most"), "{}", why(&huge));
        let unreadable = serde_json::json!([[0, 1_u64 << 40]]);
        assert!(why(&with_index(&bytes, |index| index["unreadable"] = unreadable)).contains("are misplaced"));
    });
}
