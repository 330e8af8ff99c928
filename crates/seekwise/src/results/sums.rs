//! Sums of what a result folder keeps, line by line: a line that was changed after it was written is found and named.
//!
//! `sums.txt` has a line for each line of the texts beside it: `FILE:LINE SUM`. A record carries its own
//! ([`seal`](crate::seal)), for it is written when its run is over. Sums find accidents and edits by hand, but they are no
//! signature: whoever changes a line can write its sum anew.

use std::io;
use std::path::Path;

use super::FolderError;
use crate::foreign;
use crate::reading::Files;
use crate::seal::text_sum;
use crate::system::outputs::write_whole;

/// The file of sums.
pub(crate) const SUMS: &str = "sums.txt";

/// The lines of `sums.txt` for a text.
fn text_sums<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let line = move |(index, line): (usize, &str)| format!("{name}:{} {}\n", index + 1, text_sum(line));
    text.split_inclusive('\n').enumerate().map(line)
}

/// Writes the sums of these texts, which lie in `folder` under these names.
pub(crate) fn write_sums(folder: &Path, texts: &[(&str, &str)]) -> Result<(), FolderError> {
    let sums: String = texts.iter().flat_map(|(name, text)| text_sums(name, text)).collect();
    let path = folder.join(SUMS);
    write_whole(&path, sums.as_bytes(), true).map_err(|error| FolderError::Io(path, error))
}

/// Checks these texts, which lie in `folder` under these names, against their sums. Returns whether there are any: a process that
/// is killed while it begins leaves none.
pub fn check_sums(files: &Files, folder: &Path, texts: &[(&str, &str)]) -> Result<bool, FolderError> {
    let path = folder.join(SUMS);
    let kept = match foreign::text(files, &path) {
        Ok(kept) => kept,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(FolderError::Io(path, error)),
    };
    let mut sums = kept.split_inclusive('\n').enumerate();
    let changed = |name: &str, line: usize, why: String| Err(FolderError::Changed(folder.join(name), line, why));
    for (name, text) in texts {
        let mut last = 0;
        for (index, expected) in text_sums(name, text).enumerate() {
            last = index + 1;
            let Some((at, found)) = sums.next() else {
                return changed(name, last, format!("{SUMS} ends before this line's sum"));
            };
            if found == expected {
                continue;
            }
            let place = format!("{name}:{last} ");
            let (found, expected) = (found.trim_end(), expected.trim_end());
            let Some(kept) = found.strip_prefix(&place) else {
                let why =
                    format!("`{found}`; expected the sum of {name}:{last}: a line was added or removed there or here");
                return changed(SUMS, at + 1, why);
            };
            let made = expected.strip_prefix(&place).unwrap_or(expected);
            let why = format!(
                "this line was changed after it was written: its sum is {made}, but {SUMS}:{} has {kept}",
                at + 1
            );
            return changed(name, last, why);
        }
        // No line of the text may be missing at its end.
        let mut rest = sums.clone();
        if let Some((at, next)) = rest.next()
            && next.starts_with(&format!("{name}:"))
        {
            return changed(name, last + 1, format!("a line is missing whose sum is {SUMS}:{}", at + 1));
        }
    }
    match sums.next() {
        Some((at, more)) => changed(SUMS, at + 1, format!("`{}` is the sum of no line", more.trim_end())),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of two lines of `a` and one of `b`, and what lies there instead.
    #[test]
    fn the_line_that_differs_is_named() {
        const AS_WRITTEN: [(&str, &str); 2] = [("a", "one\ntwo\n"), ("b", "three\n")];
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(
            matches!(check_sums(&Files::default(), folder, &AS_WRITTEN), Ok(false)),
            "a folder that was only begun has no sums"
        );
        write_sums(folder, &AS_WRITTEN).unwrap();
        assert!(matches!(check_sums(&Files::default(), folder, &AS_WRITTEN), Ok(true)));
        for (a, b, file, line, said) in [
            ("one\ntwi\n", "three\n", "a", 2, "but sums.txt:2 has "),
            ("one\n", "three\n", "a", 2, "a line is missing whose sum is sums.txt:2"),
            ("one\ntwo\nmore\n", "three\n", SUMS, 3, "expected the sum of a:3: a line was added or removed"),
            ("one\ntwo\n", "three\nfour\n", "b", 2, "sums.txt ends before this line's sum"),
            ("one\ntwo\n", "", "b", 1, "a line is missing whose sum is sums.txt:3"),
        ] {
            let found = check_sums(&Files::default(), folder, &[("a", a), ("b", b)]);
            let Err(FolderError::Changed(path, at, why)) = &found else { panic!("{a}{b}: {found:?}") };
            assert_eq!((path, *at), (&folder.join(file), line), "{why}");
            assert!(why.contains(said), "{why}");
        }
        let found = check_sums(&Files::default(), folder, &AS_WRITTEN[..1]);
        let Err(FolderError::Changed(path, at, why)) = &found else { panic!("{found:?}") };
        assert_eq!((path, *at), (&folder.join(SUMS), 3), "{why}");
        assert!(why.ends_with("is the sum of no line"), "{why}");
    }
}
