//! The file that keeps a device's former settings during a run. It is written to the disk before any of them changes.
//! Each line has one fact, its words separated by tabs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{SysfsChange, read_setting, write_setting};
use crate::kernel::debris::{create_note, note_folders, split_by_owner};
use crate::system::{BlockDevice, SystemRoot};

const TITLE: &str = "seekwise settings 1";

/// Settings of a run, as the file keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SettingsRecord {
    /// The kernel's name of the disk, and its sequence number since the machine started.
    disk: String,
    sequence: String,
    /// The start of the machine.
    boot: String,
    /// The process of the run, and its start.
    process: String,
    began: String,
    changes: Vec<SysfsChange>,
}

/// Result of restoring the settings of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreResult {
    pub disk: String,
    /// Actions, a sentence each.
    pub said: Vec<String>,
    /// Something could not be restored.
    pub failed: bool,
}

/// Actions in words, and whether one failed.
struct RestoredChanges {
    said: Vec<String>,
    failed: bool,
}

fn read_boot_id(system: &SystemRoot) -> String {
    system.read_text("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Returns the start of a process, in ticks since the machine started: field 22 of its `stat`, the twentieth after the
/// name.
fn process_start(system: &SystemRoot, process: &str) -> Option<String> {
    let stat = system.read_text(&format!("proc/{process}/stat"))?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

impl SettingsRecord {
    pub(super) fn new(node: &BlockDevice, changes: Vec<SysfsChange>, system: &SystemRoot) -> SettingsRecord {
        let process = std::process::id().to_string();
        SettingsRecord {
            disk: node.name.clone(),
            sequence: node.read_attribute("diskseq").unwrap_or_default(),
            boot: read_boot_id(system),
            began: process_start(system, &process).unwrap_or_default(),
            process,
            changes,
        }
    }

    /// Writes the file to the first folder that takes it. An error if there is one for this disk.
    pub(super) fn write(&self, folders: &[PathBuf]) -> Result<PathBuf, String> {
        let mut why = String::new();
        for folder in folders {
            let name = format!("{}.settings", self.disk);
            let path = folder.join(&name);
            match create_note(folder, &name) {
                Ok(mut file) => {
                    let kept = file.write_all(self.to_text().as_bytes()).and_then(|()| file.sync_all());
                    return kept.map(|()| path.clone()).map_err(|error| format!("{}: {error}", path.display()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(format!(
                        "{}: {} is set for another run, or for one that was killed; expected that run to end, or `seekwise restore`",
                        path.display(),
                        self.disk
                    ));
                }
                Err(error) => why.push_str(&format!("{}: {error}; ", folder.display())),
            }
        }
        Err(format!("{why}expected a folder that keeps what the settings of {} were", self.disk))
    }

    /// Makes all changes.
    pub(super) fn apply_changes(&self) -> Result<(), String> {
        let each =
            |change: &SysfsChange| change.during.as_ref().map_or(Ok(()), |during| write_setting(&change.path, during));
        self.changes.iter().try_for_each(each)
    }

    fn to_text(&self) -> String {
        let SettingsRecord { disk, sequence, boot, process, began, changes } = self;
        let mut text = format!("{TITLE}\nboot\t{boot}\nprocess\t{process}\t{began}\ndisk\t{disk}\t{sequence}\n");
        for SysfsChange { path, before, during } in changes {
            let during = during.as_ref().map_or(String::new(), |during| format!("\t{during}"));
            text.push_str(&format!("set\t{}\t{before}{during}\n", path.display()));
        }
        text
    }

    fn parse(text: &str) -> Option<SettingsRecord> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let mut words = |name: &str| -> Option<Vec<String>> {
            let mut words = lines.next()?.split('\t').map(str::to_owned);
            (words.next()? == name).then(|| words.collect())
        };
        let ([boot], [process, began], [disk, sequence]) =
            (words("boot")?.try_into().ok()?, words("process")?.try_into().ok()?, words("disk")?.try_into().ok()?);
        let change = |line: &str| {
            let words: Vec<&str> = line.split('\t').collect();
            let (path, before, during) = match words[..] {
                ["set", path, before] => (path, before, None),
                ["set", path, before, during] => (path, before, Some(during.to_owned())),
                _ => return None,
            };
            // A relative path is refused, and one with `..` in it.
            let fits = Path::new(path).is_absolute() && !path.contains("/../");
            fits.then(|| SysfsChange { path: path.into(), before: before.to_owned(), during })
        };
        let changes: Vec<SysfsChange> = lines.map(change).collect::<Option<_>>()?;
        Some(SettingsRecord { disk, sequence, boot, process, began, changes })
    }

    /// Restores the settings, except those that somebody else has changed meanwhile.
    fn restore_changes(&self) -> RestoredChanges {
        let mut restored = RestoredChanges { said: Vec::new(), failed: false };
        for SysfsChange { path, before, during } in &self.changes {
            let what = path.display();
            let result = read_setting(path).and_then(|actual| match during {
                _ if actual == *before => Ok(None),
                Some(during) if actual != *during => {
                    Ok(Some(format!("{what} was set to {actual} by somebody else, and stays; it was {before} before")))
                }
                _ => write_setting(path, before).map(|()| Some(format!("{what} is {before} again; it was {actual}"))),
            });
            restored.failed |= result.is_err();
            restored.said.extend(result.unwrap_or_else(Some));
        }
        restored
    }
}

fn read_record(record: &Path) -> Result<SettingsRecord, String> {
    let text = fs::read_to_string(record).map_err(|error| format!("{}: {error}", record.display()))?;
    SettingsRecord::parse(&text).ok_or_else(|| {
        format!("{}: is not what this version keeps of settings; expected `{TITLE}` and its lines", record.display())
    })
}

/// Restores the settings of a file, and removes it on success.
pub(super) fn restore_record_file(record: &Path) -> Result<Vec<String>, String> {
    let restored = read_record(record)?.restore_changes();
    if restored.failed {
        return Err(restored.said.join("; "));
    }
    fs::remove_file(record).map_err(|error| format!("{}: {error}", record.display()))?;
    Ok(restored.said)
}

/// Restores the settings that this user's killed runs have left; with `dry_run` it only says what it would do.
pub fn restore(dry_run: bool) -> Vec<RestoreResult> {
    restore_in(&split_by_owner(note_folders()).own, &SystemRoot::this_machine(), dry_run)
}

pub(super) fn restore_in(folders: &[PathBuf], system: &SystemRoot, dry_run: bool) -> Vec<RestoreResult> {
    find_records(folders).iter().map(|record| restore_record(record, system, dry_run)).collect()
}

/// Whether a file belongs to this very process.
pub(super) fn is_of_this_process(record: &Path, system: &SystemRoot) -> bool {
    let process = std::process::id().to_string();
    let own =
        |kept: SettingsRecord| kept.boot == read_boot_id(system) && process_start(system, &process) == Some(kept.began);
    read_record(record).is_ok_and(|kept| kept.process == process && own(kept))
}

/// Returns all such files.
pub(super) fn find_records(folders: &[PathBuf]) -> Vec<PathBuf> {
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut records: Vec<PathBuf> =
        entries.map(|it| it.path()).filter(|it| it.extension().is_some_and(|end| end == "settings")).collect();
    records.sort();
    records
}

fn restore_record(record: &Path, system: &SystemRoot, dry_run: bool) -> RestoreResult {
    let stored = match read_record(record) {
        Ok(stored) => stored,
        Err(why) => {
            let disk = record.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned());
            return RestoreResult { disk, said: vec![why], failed: true };
        }
    };
    let disk = stored.disk.clone();
    if stored.boot == read_boot_id(system)
        && process_start(system, &stored.process).is_some_and(|began| began == stored.began)
    {
        let said = vec![format!("process {} is still at work with it: nothing done", stored.process)];
        return RestoreResult { disk, said, failed: false };
    }
    let now = system.read_text(&format!("sys/block/{disk}/diskseq")).unwrap_or_default();
    let same = stored.boot == read_boot_id(system) && stored.sequence == now;
    if dry_run {
        let would = |change: &SysfsChange| format!("{} would be set to {} again", change.path.display(), change.before);
        let said = if same {
            stored.changes.iter().map(would).collect()
        } else {
            vec!["the note would be removed".to_owned()]
        };
        return RestoreResult { disk, said, failed: false };
    }
    if !same {
        let removed = fs::remove_file(record);
        let said = vec!["what was set is gone with a restart or the disk: nothing to do".to_owned()];
        return RestoreResult { disk, said, failed: removed.is_err() };
    }
    match restore_record_file(record) {
        Ok(said) if said.is_empty() => RestoreResult { disk, said: vec!["all is as it was".to_owned()], failed: false },
        Ok(said) => RestoreResult { disk, said, failed: false },
        Err(why) => RestoreResult { disk, said: vec![why], failed: true },
    }
}
