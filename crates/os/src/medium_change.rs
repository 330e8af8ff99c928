//! Changes of a medium that a user's check must notice, or it checks nothing: a removed or shortened file, an altered
//! byte. Each is drawn from the bytes that a workload changed, and made in a mounted file system, or in the file of a
//! bare disk.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use seekwise_disk::rng::Rng;

use crate::kernel::pages::{NameChange, UnflushedName};
use crate::outputs::open_update;

/// Bytes of a file, or of the bare disk, that a workload changed.
#[derive(Clone, Debug)]
pub struct ChangedBytes {
    /// Below the mount; `None` for the bare disk.
    pub file: Option<PathBuf>,
    /// Ranges of bytes, each with its end; in order.
    pub ranges: Vec<(u64, u64)>,
}

/// A change of a medium.
#[derive(Clone, Debug)]
pub enum MediumChange {
    /// A byte other than zero is replaced by one of its kind: the first letter or digit in this range, or else the
    /// first such byte.
    Altered {
        /// Below the mount; `None` for the bare disk.
        file: Option<PathBuf>,
        from: u64,
        to: u64,
    },
    /// The file is removed.
    Removed { file: PathBuf },
    /// A text ends before its last line, another file before the last of `parts` parts.
    Shortened { file: PathBuf, parts: u64 },
    /// Files get the names that their folders were to have, and deleted ones lose theirs.
    Named(Vec<UnflushedName>),
}

impl fmt::Display for MediumChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediumChange::Altered { file: Some(file), from, .. } => {
                write!(f, "a byte of /{} altered, at or after byte {from}", file.display())
            }
            MediumChange::Altered { file: None, from, .. } => {
                write!(f, "a byte of the disk altered, at or after byte {from}")
            }
            MediumChange::Removed { file } => write!(f, "/{} removed", file.display()),
            MediumChange::Shortened { file, .. } => write!(f, "/{} without its last record", file.display()),
            MediumChange::Named(names) => write!(f, "{} names as they were to be", names.len()),
        }
    }
}

/// Returns the changed pages that seem to hold records: half of their bytes other than zero are letters and digits. If
/// there are none, returns all pages that are not zero. Of each page it is the part from its first byte other than zero to its
/// last: a short record in a page of zeroes is as likely to be drawn as a full one. `root` is a mount, or the file of a bare disk.
pub fn find_records(changed: &[ChangedBytes], root: &Path) -> Vec<ChangedBytes> {
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for bytes in changed {
        let Ok(Some(file)) = open_to_change(&bytes.path_below(root)) else { continue };
        let without_ranges = || ChangedBytes { ranges: Vec::new(), ..bytes.clone() };
        let (mut text, mut other) = (without_ranges(), without_ranges());
        for (from, to) in bytes.ranges.iter().flat_map(|range| split_pages(*range)) {
            let mut page = vec![0; (to - from) as usize];
            if file.read_exact_at(&mut page, from).is_err() {
                continue;
            }
            let count = |matches: fn(&u8) -> bool| page.iter().filter(|byte| matches(byte)).count();
            let (alphanumeric, nonzero) = (count(u8::is_ascii_alphanumeric), count(|&byte| byte != 0));
            let first = page.iter().position(|&byte| byte != 0);
            if let (Some(first), Some(last)) = (first, page.iter().rposition(|&byte| byte != 0)) {
                let class = if 2 * alphanumeric >= nonzero { &mut text } else { &mut other };
                class.ranges.push((from + first as u64, from + last as u64 + 1));
            }
        }
        texts.push(text);
        others.push(other);
    }
    if texts.iter().all(|bytes| bytes.ranges.is_empty()) { others } else { texts }
}

/// Splits a range into pages.
fn split_pages((from, to): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    const PAGE: u64 = 4096;
    let edges = (from / PAGE + 1..=to.saturating_sub(1) / PAGE).map(|page| page * PAGE);
    let begins = [from].into_iter().chain(edges.clone());
    begins.zip(edges.chain([to])).filter(|(from, to)| from < to)
}

impl ChangedBytes {
    fn path_below(&self, root: &Path) -> PathBuf {
        self.file.as_ref().map_or_else(|| root.to_owned(), |file| root.join(file))
    }

    /// Changed bytes.
    fn size(&self) -> u64 {
        self.ranges.iter().map(|(from, to)| to - from).sum()
    }
}

/// Bytes in which one that can be altered is looked for.
const SEARCHED: u64 = 1 << 20;

/// Draws `count` alterations: half of them choose a file, then a byte of it, so that a large file hides no small one;
/// the others choose among all bytes.
pub fn draw_alterations(changed: &[ChangedBytes], count: usize, rng: &mut Rng) -> Vec<MediumChange> {
    let files: Vec<&ChangedBytes> = changed.iter().filter(|file| file.size() > 0).collect();
    let all_bytes: u64 = files.iter().map(|file| file.size()).sum();
    let mut drawn = Vec::new();
    for number in 0..if all_bytes == 0 { 0 } else { count } {
        // `offset` counts changed bytes from the first one of `candidates`.
        let (mut offset, candidates) = match number % 2 {
            0 => {
                let index = rng.below(files.len() as u64) as usize;
                (rng.below(files[index].size()), &files[index..=index])
            }
            _ => (rng.below(all_bytes), &files[..]),
        };
        for (file, (from, to)) in candidates.iter().flat_map(|file| file.ranges.iter().map(move |range| (file, *range)))
        {
            if offset < to - from {
                drawn.push(MediumChange::Altered {
                    file: file.file.clone(),
                    from: from + offset,
                    to: to.min(from + offset + SEARCHED),
                });
                break;
            }
            offset -= to - from;
        }
    }
    drawn
}

/// Returns changes that take one of `records` records away from some of these files: each alone removed, if there are
/// several, and each shortened.
pub fn list_removals(changed: &[ChangedBytes], records: u64) -> Vec<MediumChange> {
    /// Files that are tried, at most.
    const MAX_TRIED: usize = 64;
    let files: Vec<&PathBuf> = changed.iter().filter_map(|it| it.file.as_ref()).collect();
    let step = files.len().div_ceil(MAX_TRIED).max(1);
    let sample = || files.iter().step_by(step).map(|file| (*file).clone());
    let removed = sample().filter(|_| files.len() > 1).map(|file| MediumChange::Removed { file });
    removed.chain(sample().map(|file| MediumChange::Shortened { file, parts: records.max(1) })).collect()
}

impl MediumChange {
    /// Names the file that it changes, or the disk.
    pub fn describe_place(&self) -> String {
        match self {
            MediumChange::Altered { file: Some(file), .. }
            | MediumChange::Removed { file }
            | MediumChange::Shortened { file, .. } => format!("/{}", file.display()),
            MediumChange::Altered { file: None, .. } => "the disk".to_owned(),
            MediumChange::Named(_) => "names".to_owned(),
        }
    }

    /// Makes the change below a mount, or in the file of a bare disk. False if it does not apply.
    pub fn make(&self, root: &Path) -> io::Result<bool> {
        match self {
            MediumChange::Altered { file, from, to } => {
                let path = file.as_ref().map_or_else(|| root.to_owned(), |file| root.join(file));
                alter_byte(&path, *from, *to)
            }
            MediumChange::Removed { file } => match fs::remove_file(root.join(file)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                done => done.map(|()| true),
            },
            MediumChange::Shortened { file, parts } => shorten_file(&root.join(file), *parts),
            MediumChange::Named(names) => match change_names(root, names) {
                Err(error) if is_other_tree(&error) => Ok(false),
                given => given.map(|()| !names.is_empty()),
            },
        }
    }
}

/// Opens a file to be written; `None` if there is none, if it is no regular file, or if it has other names too.
fn open_to_change(path: &Path) -> io::Result<Option<File>> {
    use io::ErrorKind::{InvalidInput, IsADirectory, NotFound};
    match open_update(path) {
        Err(error) if matches!(error.kind(), InvalidInput | IsADirectory | NotFound) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Makes these changes of names. Files that move get temporary names first, for each new name may still be that of
/// another file.
#[expect(clippy::disallowed_methods, reason = "a medium of ours, mounted")]
fn change_names(root: &Path, names: &[UnflushedName]) -> io::Result<()> {
    let mut moves: Vec<(&Path, &Path)> = Vec::new();
    for change in names {
        if let NameChange::Missing { stands_as } | NameChange::Earlier { stands_as } = &change.change {
            moves.push((stands_as, &change.name));
        }
    }
    // From the last to the first: a file leaves its folder before the folder moves.
    moves.sort();
    let temporary_name = |number: usize| root.join(format!(".seekwise-moves-{number}"));
    for (number, (stands_as, _)) in moves.iter().enumerate().rev() {
        fs::rename(root.join(stands_as), temporary_name(number))?;
    }
    let remaining = names.iter().filter(|change| change.change == NameChange::Remains);
    for path in remaining.rev().map(|change| root.join(&change.name)) {
        match fs::remove_file(&path) {
            // A folder that is not empty holds names that are not listed.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => drop(fs::remove_dir(&path)),
            removed => removed?,
        }
    }
    let mut targets: Vec<(&Path, Option<usize>)> = moves.iter().enumerate().map(|it| (it.1.1, Some(it.0))).collect();
    let folders = names.iter().filter(|change| change.change == NameChange::Absent { folder: true });
    targets.extend(folders.map(|change| (&*change.name, None)));
    targets.sort();
    for (name, move_number) in targets {
        let target = root.join(name);
        match move_number {
            Some(number) => {
                fs::create_dir_all(target.parent().unwrap_or(root))?;
                fs::rename(temporary_name(number), &target)?;
            }
            None => fs::create_dir_all(&target)?,
        }
    }
    Ok(())
}

/// True for an error that a tree gives which differs from what the names say.
fn is_other_tree(error: &io::Error) -> bool {
    use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), AlreadyExists | DirectoryNotEmpty | IsADirectory | NotADirectory | NotFound)
}

/// Replaces the first letter or digit in this range, else the first byte other than zero; false if there is neither.
fn alter_byte(path: &Path, from: u64, to: u64) -> io::Result<bool> {
    let Some(file) = open_to_change(path)? else { return Ok(false) };
    let end = to.min(file.metadata()?.len());
    let mut bytes = vec![0; end.saturating_sub(from) as usize];
    file.read_exact_at(&mut bytes, from)?;
    let index = bytes.iter().position(u8::is_ascii_alphanumeric).or_else(|| bytes.iter().position(|&byte| byte != 0));
    let Some(index) = index else { return Ok(false) };
    let replacement = match bytes[index] {
        b'9' | b'z' | b'Z' => bytes[index] - 1,
        byte if byte.is_ascii_alphanumeric() => byte + 1,
        byte => !byte,
    };
    file.write_all_at(&[replacement], from + index as u64)?;
    Ok(true)
}

/// Removes the last line of a text, or the last of `parts` parts of another file; false if that removes nothing.
fn shorten_file(path: &Path, parts: u64) -> io::Result<bool> {
    /// The longest last line.
    const MAX_LINE: u64 = 64 << 10;
    let Some(file) = open_to_change(path)? else { return Ok(false) };
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_LINE);
    let mut tail = vec![0; (length - from) as usize];
    file.read_exact_at(&mut tail, from)?;
    let line_end = tail.strip_suffix(b"\n").and_then(|rest| rest.iter().rposition(|&byte| byte == b'\n'));
    let left = match line_end {
        Some(end) if std::str::from_utf8(&tail).is_ok() => from + end as u64 + 1,
        _ => length - length / parts.max(1),
    };
    file.set_len(left)?;
    Ok(left < length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::rng::Seed;

    #[test]
    fn a_record_is_altered_removed_or_cut_off_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let make = |change: MediumChange, text: &str| {
            fs::write(&path, text).unwrap();
            let made = change.make(folder.path()).unwrap();
            (made, fs::read_to_string(&path).ok())
        };
        let altered = |from, to| MediumChange::Altered { file: Some("log".into()), from, to };
        // A line stays a line: whoever counts lines sees no difference.
        assert_eq!(make(altered(1, 9), "a\n\nentry 9\n"), (true, Some("a\n\nfntry 9\n".to_owned())));
        assert_eq!(make(altered(0, 3), "9"), (true, Some("8".to_owned())), "it ends before");
        assert_eq!(make(altered(0, 2), "\0\0"), (false, Some("\0\0".to_owned())), "nobody's record");
        let shorter = MediumChange::Shortened { file: "log".into(), parts: 4 };
        assert_eq!(make(shorter.clone(), "one\ntwo\nthree\n"), (true, Some("one\ntwo\n".to_owned())));
        assert_eq!(make(shorter.clone(), "12345678"), (true, Some("123456".to_owned())), "no lines: a fourth");
        assert_eq!(make(shorter, ""), (false, Some(String::new())));
        assert_eq!(make(MediumChange::Removed { file: "log".into() }, "x"), (true, None));
        assert!(!MediumChange::Removed { file: "log".into() }.make(folder.path()).unwrap(), "there is none");
        for (name, text) in [("new", "2"), ("document", "1"), ("deleted", "x")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let of = |name: &str, change| UnflushedName { name: name.into(), change };
        let earlier = of("document", NameChange::Earlier { stands_as: "new".into() });
        let named = MediumChange::Named(vec![earlier, of("deleted", NameChange::Remains)]);
        assert!(named.make(folder.path()).unwrap());
        assert_eq!(fs::read_to_string(folder.path().join("document")).unwrap(), "2");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    /// Each file holds the name that it is to have.
    #[test]
    fn files_that_take_each_others_names_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (name, text) in [("log", "log.1"), ("log.1", "log.2"), ("a", "b"), ("b", "a"), ("f", "made/below/f")] {
            fs::write(root.join(name), text).unwrap();
        }
        let earlier = |name: &str, stands_as: &str| {
            let change = NameChange::Earlier { stands_as: stands_as.into() };
            UnflushedName { name: name.into(), change }
        };
        let missing = |name: &str, stands_as: &str| {
            let change = NameChange::Missing { stands_as: stands_as.into() };
            UnflushedName { name: name.into(), change }
        };
        let empty = UnflushedName { name: "empty".into(), change: NameChange::Absent { folder: true } };
        let names = [
            earlier("a", "b"),
            earlier("b", "a"),
            empty,
            earlier("log.1", "log"),
            missing("log.2", "log.1"),
            missing("made/below/f", "f"),
        ];
        assert!(MediumChange::Named(names.to_vec()).make(root).unwrap());
        for name in ["a", "b", "log.1", "log.2", "made/below/f"] {
            assert_eq!(fs::read_to_string(root.join(name)).unwrap(), name);
        }
        assert!(root.join("empty").is_dir());
        assert_eq!(fs::read_dir(root).unwrap().count(), 6, "nothing else is left");
        let other = MediumChange::Named(vec![missing("x", "no such file")]);
        assert!(!other.make(root).unwrap(), "it is not the tree that the names were told of");
    }

    #[test]
    fn records_are_where_text_is_and_never_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let of = |file: &str, length: usize| ChangedBytes { file: Some(file.into()), ranges: vec![(0, length as u64)] };
        let ranges = |changed: &[ChangedBytes]| -> Vec<Vec<(u64, u64)>> {
            find_records(changed, folder.path()).into_iter().map(|it| it.ranges).collect()
        };
        let binary = [vec![0; 4096], vec![0x81; 4096], vec![0; 4096]].concat();
        fs::write(folder.path().join("binary"), &binary).unwrap();
        assert_eq!(ranges(&[of("binary", binary.len())]), [[(4096, 8192)]]);
        let text = [vec![0; 4096], b"record 1".to_vec()].concat();
        fs::write(folder.path().join("text"), &text).unwrap();
        let both = [of("binary", binary.len()), of("text", text.len()), of("missing", 9)];
        assert_eq!(ranges(&both), [vec![], vec![(4096, 4104)]], "text before all others");
        assert_eq!(split_pages((10, 9000)).collect::<Vec<_>>(), [(10, 4096), (4096, 8192), (8192, 9000)]);
        assert_eq!(split_pages((4096, 8192)).collect::<Vec<_>>(), [(4096, 8192)]);
    }

    #[test]
    fn a_byte_is_a_record_and_half_of_a_text_is_text() {
        let folder = tempfile::tempdir().unwrap();
        let ranges = |contents: &[&[u8]]| -> Vec<Vec<(u64, u64)>> {
            let changed = contents.iter().enumerate().map(|(number, content)| {
                fs::write(folder.path().join(number.to_string()), content).unwrap();
                ChangedBytes { file: Some(number.to_string().into()), ranges: vec![(0, content.len() as u64)] }
            });
            let changed: Vec<ChangedBytes> = changed.collect();
            find_records(&changed, folder.path()).into_iter().map(|it| it.ranges).collect()
        };
        assert_eq!(ranges(&[&[0, 0, 0]]), [Vec::<(u64, u64)>::new()], "nothing was written");
        assert_eq!(ranges(&[b"x"]), [[(0, 1)]]);
        assert_eq!(ranges(&[b"\0x\0y\0"]), [[(1, 4)]]);
        assert_eq!(ranges(&[&[0, 0x81]]), [[(1, 2)]], "no text, but the only thing there is");
        // Where there is any text, nothing else counts.
        assert_eq!(ranges(&[b"x\x81\0\0", b"x\x81\x81"]), [vec![(0, 2)], vec![]]);
    }

    /// As a log or a ring is that was preallocated.
    #[test]
    fn each_draw_alters_a_short_record_in_a_page_of_zeroes() {
        let folder = tempfile::tempdir().unwrap();
        let page = [&[0; 100][..], b"record 17 \x01\x02", &[0; 3984]].concat();
        let changed = ChangedBytes { file: Some("slots".into()), ranges: vec![(0, 4096)] };
        fs::write(folder.path().join("slots"), &page).unwrap();
        let records = find_records(&[changed], folder.path());
        for change in draw_alterations(&records, 32, &mut Seed(1).stream("test")) {
            fs::write(folder.path().join("slots"), &page).unwrap();
            assert!(change.make(folder.path()).unwrap(), "{change}");
            assert_ne!(fs::read(folder.path().join("slots")).unwrap(), page, "{change}");
        }
    }

    /// Four bytes in three files, by either way of drawing: none is left out, wherever a file or a range ends.
    #[test]
    fn each_changed_byte_may_be_altered() {
        let of = |file: &str, ranges: Vec<(u64, u64)>| ChangedBytes { file: Some(file.into()), ranges };
        let changed = [of("a", vec![(7, 8)]), of("b", vec![(0, 1), (4096, 4097)]), of("c", vec![(9, 10)])];
        let drawn = draw_alterations(&changed, 400, &mut Seed(1).stream("test"));
        // First those that choose a file, then those that choose among all bytes.
        for way in [0, 1] {
            let mut places: Vec<(String, u64, u64)> = Vec::new();
            for change in drawn.iter().skip(way).step_by(2) {
                let MediumChange::Altered { file: Some(file), from, to } = change else { panic!("{change:?}") };
                places.push((file.display().to_string(), *from, *to));
            }
            places.sort();
            places.dedup();
            let expected = [("a", 7, 8), ("b", 0, 1), ("b", 4096, 4097), ("c", 9, 10)];
            assert_eq!(places, expected.map(|(file, from, to)| (file.to_owned(), from, to)), "{way}");
        }
    }

    #[test]
    fn a_large_file_hides_no_small_one() {
        let of = |file: &str, ranges: Vec<(u64, u64)>| ChangedBytes { file: Some(file.into()), ranges };
        let changed =
            [of("large", vec![(4096, 1 << 30)]), of("small", vec![(0, 10), (4096, 4106)]), of("none", vec![])];
        let drawn = draw_alterations(&changed, 200, &mut Seed(1).stream("test"));
        let mut counts = [0, 0];
        for change in &drawn {
            let MediumChange::Altered { file: Some(file), from, to } = change else { panic!("{change:?}") };
            let of = changed.iter().find(|it| it.file.as_ref() == Some(file)).unwrap();
            assert!(of.ranges.iter().any(|range| range.0 <= *from && from < to && *to <= range.1), "{change:?}");
            counts[usize::from(file == Path::new("small"))] += 1;
        }
        assert!(drawn.len() == 200 && counts[1] > 25 && counts[0] > 100, "{counts:?}");
        assert!(draw_alterations(&[of("none", vec![])], 5, &mut Seed(1).stream("test")).is_empty());
        let removed = list_removals(&changed, 10);
        assert_eq!(removed.len(), 6, "each of three, alone and shorter");
        assert!(
            matches!(&list_removals(&changed[..1], 10)[..], [MediumChange::Shortened { .. }]),
            "alone it is everything"
        );
    }
}
