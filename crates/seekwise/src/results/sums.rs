//! Sums of a result folder's texts, line by line, in its file `sums.txt`: a line that was changed after it was written
//! is found and named.
//!
//! The file has a line for each line of the texts beside it: `FILE:LINE SUM`. Records carry their own sums
//! ([`seal`](crate::seal)), for each is written when its run is over. Sums find accidents and edits by hand. They are
//! no signature: whoever changes a line can write its sum anew.

use std::io;
use std::path::Path;

use super::FolderError;
use crate::foreign;
use crate::reading::Files;
use crate::seal::text_sum;
use crate::system::outputs::write_whole;

/// The file's name.
pub(crate) const SUMS: &str = "sums.txt";

/// The lines of `sums.txt` for a text of this name.
fn text_sums<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let sum_line = move |(index, line): (usize, &str)| format!("{name}:{} {}\n", index + 1, text_sum(line));
    text.split_inclusive('\n').enumerate().map(sum_line)
}

/// The text of `sums.txt` for these texts (name, text).
pub(crate) fn sums_text(texts: &[(&str, &str)]) -> String {
    texts.iter().flat_map(|(name, text)| text_sums(name, text)).collect()
}

/// Writes the sums of these texts (name, text), which lie in `folder`.
pub(crate) fn write_sums(folder: &Path, texts: &[(&str, &str)]) -> Result<(), FolderError> {
    let sums = sums_text(texts);
    let path = folder.join(SUMS);
    write_whole(&path, sums.as_bytes(), true).map_err(|error| FolderError::Io(path, error))
}

/// Checks these texts (name, text), which lie in `folder`, against their sums. Returns false if there are no sums: a
/// process that is killed while it begins leaves none.
pub fn check_sums(files: &Files, folder: &Path, texts: &[(&str, &str)]) -> Result<bool, FolderError> {
    let path = folder.join(SUMS);
    let kept_sums = match foreign::read_regular_text(files, &path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(FolderError::Io(path, error)),
    };
    let mut sums = kept_sums.split_inclusive('\n').enumerate();
    let changed_error = |name: &str, line: usize, why: String| Err(FolderError::Changed(folder.join(name), line, why));
    for (name, text) in texts {
        let mut last_line = 0;
        for (index, expected) in text_sums(name, text).enumerate() {
            last_line = index + 1;
            let Some((sum_index, found)) = sums.next() else {
                return changed_error(name, last_line, format!("{SUMS} ends before this line's sum"));
            };
            if found == expected {
                continue;
            }
            let line_name = format!("{name}:{last_line} ");
            let (found, expected) = (found.trim_end(), expected.trim_end());
            let Some(kept_sum) = found.strip_prefix(&line_name) else {
                let why = format!(
                    "`{found}`; expected the sum of {name}:{last_line}: a line was added or removed there or here"
                );
                return changed_error(SUMS, sum_index + 1, why);
            };
            let actual_sum = expected.strip_prefix(&line_name).unwrap_or(expected);
            let why = format!(
                "this line was changed after it was written: its sum is {actual_sum}, but {SUMS}:{} has {kept_sum}",
                sum_index + 1
            );
            return changed_error(name, last_line, why);
        }
        // No line of the text may be missing at its end.
        let mut later_sums = sums.clone();
        if let Some((sum_index, next)) = later_sums.next()
            && next.starts_with(&format!("{name}:"))
        {
            return changed_error(
                name,
                last_line + 1,
                format!("a line is missing whose sum is {SUMS}:{}", sum_index + 1),
            );
        }
    }
    match sums.next() {
        Some((sum_index, more)) => {
            changed_error(SUMS, sum_index + 1, format!("`{}` is the sum of no line", more.trim_end()))
        }
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
