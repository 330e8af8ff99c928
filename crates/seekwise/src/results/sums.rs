//! Sums of what a result folder keeps, line by line: a line that was changed after it was written is found and named.
//!
//! `sums.txt` has a line for each line of the texts beside it: `FILE:LINE SUM`. A record carries its own, as its last field,
//! for it is written when its run is over. A sum is the first 16 digits of a SHA-256. Sums find accidents and edits by hand,
//! but they are no signature: whoever changes a line can write its sum anew.

use std::io;
use std::path::Path;

use seekwise_lab::digest::sha256;

use super::FolderError;
use crate::foreign;
use seekwise_os::outputs::write_whole;

/// The file of sums.
pub const SUMS: &str = "sums.txt";

/// The text between a record and its sum.
const FIELD: &str = ",\"sum\":\"";

/// The text after the sum.
const END: &str = "\"}";

fn line_sum(bytes: &[u8]) -> String {
    let mut all = sha256(bytes);
    all.truncate(16);
    all
}

/// The lines of `sums.txt` for a text.
fn text_sums<'a>(name: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let line = move |(index, line): (usize, &str)| format!("{name}:{} {}\n", index + 1, line_sum(line.as_bytes()));
    text.split_inclusive('\n').enumerate().map(line)
}

/// Writes the sums of these texts, which lie in `folder` under these names.
pub fn write_sums(folder: &Path, texts: &[(&str, &str)]) -> Result<(), FolderError> {
    let sums: String = texts.iter().flat_map(|(name, text)| text_sums(name, text)).collect();
    let path = folder.join(SUMS);
    write_whole(&path, sums.as_bytes(), true).map_err(|error| FolderError::Io(path, error))
}

/// Checks these texts, which lie in `folder` under these names, against their sums. Returns whether there are any: a folder
/// of an earlier version has none.
pub fn check_sums(folder: &Path, texts: &[(&str, &str)]) -> Result<bool, FolderError> {
    let path = folder.join(SUMS);
    let kept = match foreign::text(&path) {
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

/// The line of a record with its sum.
pub fn seal_record(record: &str) -> String {
    match record.strip_suffix('}') {
        Some(open) => format!("{open}{FIELD}{}{END}\n", line_sum(record.as_bytes())),
        None => format!("{record}\n"),
    }
}

/// Checks a record's line against its sum; unless it `must` have one, a line may be without.
pub fn check_record(line: &str, must: bool) -> Result<(), String> {
    let bare = line.trim_end_matches('\n');
    let parts = bare.strip_suffix(END).and_then(|rest| rest.rsplit_once(FIELD));
    let Some((open, kept)) = parts else {
        let why = "it does not end in its `sum`: this line was changed after it was written".to_owned();
        return if must { Err(why) } else { Ok(()) };
    };
    let made = line_sum(format!("{open}}}").as_bytes());
    match made == kept {
        true => Ok(()),
        false => Err(format!("`sum`: this line was changed after it was written: its sum is {made}; expected {kept}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of `abc` is the first example of FIPS 180-2; that of `{"a":1}` is sha256sum's. Folders of every version
    /// have sums of 16 digits.
    #[test]
    fn a_sum_is_the_first_sixteen_digits() {
        assert_eq!(text_sums("a", "abc").collect::<String>(), "a:1 ba7816bf8f01cfea\n");
        let sealed = "{\"a\":1,\"sum\":\"015abd7f5cc57a2d\"}\n";
        assert_eq!(seal_record("{\"a\":1}"), sealed);
        assert_eq!(check_record(sealed, true), Ok(()));
        assert!(check_record("{\"a\":1}", true).is_err() && check_record("{\"a\":1}", false).is_ok());
    }

    /// Sums of two lines of `a` and one of `b`, and what lies there instead.
    #[test]
    fn the_line_that_differs_is_named() {
        const AS_WRITTEN: [(&str, &str); 2] = [("a", "one\ntwo\n"), ("b", "three\n")];
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(matches!(check_sums(folder, &AS_WRITTEN), Ok(false)), "a folder of before has no sums");
        write_sums(folder, &AS_WRITTEN).unwrap();
        assert!(matches!(check_sums(folder, &AS_WRITTEN), Ok(true)));
        for (a, b, file, line, said) in [
            ("one\ntwi\n", "three\n", "a", 2, "but sums.txt:2 has "),
            ("one\n", "three\n", "a", 2, "a line is missing whose sum is sums.txt:2"),
            ("one\ntwo\nmore\n", "three\n", SUMS, 3, "expected the sum of a:3: a line was added or removed"),
            ("one\ntwo\n", "three\nfour\n", "b", 2, "sums.txt ends before this line's sum"),
            ("one\ntwo\n", "", "b", 1, "a line is missing whose sum is sums.txt:3"),
        ] {
            let found = check_sums(folder, &[("a", a), ("b", b)]);
            let Err(FolderError::Changed(path, at, why)) = &found else { panic!("{a}{b}: {found:?}") };
            assert_eq!((path, *at), (&folder.join(file), line), "{why}");
            assert!(why.contains(said), "{why}");
        }
        let found = check_sums(folder, &AS_WRITTEN[..1]);
        let Err(FolderError::Changed(path, at, why)) = &found else { panic!("{found:?}") };
        assert_eq!((path, *at), (&folder.join(SUMS), 3), "{why}");
        assert!(why.ends_with("is the sum of no line"), "{why}");
    }
}
