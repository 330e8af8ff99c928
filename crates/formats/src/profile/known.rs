//! A cache of parsed profiles: the cells of a study name the same few drives, and each is parsed once in a process. An entry is
//! found by the file's name, which messages and figures carry, and its text.

use std::sync::Arc;

use super::{DriveFile, parse};
use crate::diagnostic::Diagnostic;
use crate::kept::RecentCache;

/// A file's name, its text, and the parsed drive.
struct KnownText(String, String, Arc<DriveFile>);

/// The most recently used profiles, as many as there are mechanisms (`mechanism`). The longest built-in text has 11 KB.
static KNOWN: RecentCache<KnownText> = RecentCache::new(16);

/// Parses like [`parse`], but takes a text that was parsed before from the cache. An error is not cached.
pub fn parse_cached(file: &str, text: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    let known = KNOWN.find(|it| it.has_key(file, text), |it| Arc::clone(&it.2));
    if let Some(drive) = known {
        return Ok(DriveFile::clone(&drive));
    }
    let drive = parse(file, text)?;
    KNOWN.add(KnownText(file.to_owned(), text.to_owned(), Arc::new(drive.clone())));
    Ok(drive)
}

impl KnownText {
    fn has_key(&self, file: &str, text: &str) -> bool {
        self.0 == file && self.1 == text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives;

    #[test]
    fn a_text_is_known_under_its_name() {
        let text = drives::find_text("cheetah-10k.7").unwrap();
        let known = KnownText("one.toml".to_owned(), text.to_owned(), Arc::new(parse("one.toml", text).unwrap()));
        assert!(known.has_key("one.toml", text));
        assert!(!known.has_key("other.toml", text), "figures name their file");
        assert!(!known.has_key("one.toml", &format!("{text}\n")), "another text says something else");
        for file in ["one.toml", "other.toml", "one.toml"] {
            assert_eq!(parse_cached(file, text).unwrap(), parse(file, text).unwrap());
        }
    }

    #[test]
    fn what_is_set_in_a_drive_is_not_kept() {
        let text = drives::find_text("raptor-wd740gd").unwrap();
        parse_cached("copy.toml", text).unwrap().set("cache.segments", "3").unwrap();
        assert_eq!(parse_cached("copy.toml", text).unwrap(), parse("copy.toml", text).unwrap());
    }
}
