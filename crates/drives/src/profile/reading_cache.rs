//! A cache of profiles and mechanisms. The cells of a study name few drives, so the caller that prepares several cells owns a
//! cache and passes it on. Results do not depend on it.

use std::sync::Arc;

use super::mechanism::CachedMechanism;
use super::{DriveFile, parse};
use crate::diagnostic::Diagnostic;
use crate::recent_cache::RecentCache;

/// The most recently used profiles and mechanisms. Threads may share them.
pub struct ReadingCache {
    profiles: RecentCache<ParsedText>,
    pub(super) mechanisms: RecentCache<CachedMechanism>,
}

/// A parsed profile with the inputs that it depends on.
struct ParsedText {
    /// The file's name, which messages and figures carry.
    file: String,
    text: String,
    drive: Arc<DriveFile>,
}

/// The number of cached drives: no built-in study has as many. The longest built-in text has 11 KB. The largest mechanism has
/// 545,536 cylinders in two tables of four bytes each: 4.4 MB. So a full cache takes 70 MB at most.
const DRIVES: usize = 16;

impl Default for ReadingCache {
    /// An empty cache.
    fn default() -> ReadingCache {
        ReadingCache { profiles: RecentCache::new(DRIVES), mechanisms: RecentCache::new(DRIVES) }
    }
}

impl ReadingCache {
    /// Parses like [`parse`], but takes a text that was parsed before under this name from the cache. An error is not cached.
    pub(crate) fn parse_profile(&self, file: &str, text: &str) -> Result<DriveFile, Vec<Diagnostic>> {
        let is_same = |parsed: &ParsedText| parsed.file == file && parsed.text == text;
        if let Some(drive) = self.profiles.find_and_touch(is_same, |parsed| Arc::clone(&parsed.drive)) {
            return Ok(DriveFile::clone(&drive));
        }
        let drive = parse(file, text)?;
        let (file, text) = (file.to_owned(), text.to_owned());
        self.profiles.add(ParsedText { file, text, drive: Arc::new(drive.clone()) });
        Ok(drive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives;

    #[test]
    fn a_text_is_known_under_its_name() {
        let (cache, text) = (ReadingCache::default(), drives::find_text("cheetah-10k.7").unwrap());
        let mut known = parse("one.toml", text).unwrap();
        known.set("cache.segments", "3").unwrap();
        let (file, drive) = ("one.toml".to_owned(), Arc::new(known.clone()));
        cache.profiles.add(ParsedText { file, text: text.to_owned(), drive });
        assert_eq!(cache.parse_profile("one.toml", text).unwrap(), known);
        assert_eq!(cache.parse_profile("other.toml", text), parse("other.toml", text), "figures name their file");
        let other = format!("{text}\n");
        assert_eq!(
            cache.parse_profile("one.toml", &other),
            parse("one.toml", &other),
            "another text says something else"
        );
    }

    #[test]
    fn what_is_set_in_a_drive_is_not_kept() {
        let (cache, text) = (ReadingCache::default(), drives::find_text("raptor-wd740gd").unwrap());
        let mut drive = cache.parse_profile("copy.toml", text).unwrap();
        drive.set("cache.segments", "3").unwrap();
        let cached = cache
            .profiles
            .find_and_touch(|parsed| parsed.file == "copy.toml", |parsed| DriveFile::clone(&parsed.drive));
        assert_eq!(cached, parse("copy.toml", text).ok());
    }
}
