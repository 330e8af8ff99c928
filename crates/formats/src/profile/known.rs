//! Profiles that were read: the cells of a study name the same few drives, and each is read once in a process. Kept by the file's
//! name, which messages and figures carry, and its text. Reads nothing itself.

use std::sync::{Arc, Mutex, PoisonError};

use super::{DriveFile, parse};
use crate::diagnostic::Diagnostic;

/// The last texts, the last one at the end, each with its file's name and what it says.
#[derive(Default)]
struct KnownTexts(Vec<(String, String, Arc<DriveFile>)>);

static KNOWN: Mutex<KnownTexts> = Mutex::new(KnownTexts(Vec::new()));

/// How many are kept, as many as mechanisms are (`mechanism`). The longest built-in text has 11 KB.
const KEPT: usize = 16;

/// As [`parse`]; a text that was read before is not read again. An error is not kept.
pub fn read(file: &str, text: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = lock().find(file, text);
    if let Some(drive) = known {
        return Ok(DriveFile::clone(&drive));
    }
    let drive = parse(file, text)?;
    lock().add(file, text, &drive);
    Ok(drive)
}

impl KnownTexts {
    fn find(&mut self, file: &str, text: &str) -> Option<Arc<DriveFile>> {
        let place = self.0.iter().rposition(|it| it.0 == file && it.1 == text)?;
        let found = self.0.remove(place);
        let drive = Arc::clone(&found.2);
        self.0.push(found);
        Some(drive)
    }

    fn add(&mut self, file: &str, text: &str, drive: &DriveFile) {
        if self.0.len() == KEPT {
            self.0.remove(0);
        }
        self.0.push((file.to_owned(), text.to_owned(), Arc::new(drive.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives;

    #[test]
    fn a_text_is_known_under_its_name() {
        let text = drives::text("cheetah-10k.7").unwrap();
        let mut known = KnownTexts::default();
        assert!(known.find("one.toml", text).is_none());
        known.add("one.toml", text, &parse("one.toml", text).unwrap());
        assert_eq!(*known.find("one.toml", text).unwrap(), parse("one.toml", text).unwrap());
        assert!(known.find("other.toml", text).is_none(), "figures name their file");
        assert!(known.find("one.toml", &format!("{text}\n")).is_none(), "another text says something else");
    }

    #[test]
    fn the_one_that_was_not_asked_for_longest_gives_way() {
        let drive = drives::load("cheetah-10k.7").unwrap();
        let mut known = KnownTexts::default();
        for number in 0..KEPT {
            known.add(&number.to_string(), "", &drive);
        }
        assert!(known.find("0", "").is_some());
        known.add("new", "", &drive);
        assert!(known.find("0", "").is_some() && known.find("1", "").is_none() && known.find("new", "").is_some());
    }

    #[test]
    fn what_is_set_in_a_drive_is_not_kept() {
        let text = drives::text("raptor-wd740gd").unwrap();
        read("copy.toml", text).unwrap().set("cache.segments", "3").unwrap();
        assert_eq!(read("copy.toml", text).unwrap(), parse("copy.toml", text).unwrap());
    }
}
