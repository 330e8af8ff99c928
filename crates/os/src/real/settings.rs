//! Changes settings of a device for one run: its scheduler, its write cache, its depth. Each is written to `/sys`, read
//! back, and restored when the run is over. Before any changes, the former values are written to a file, so that
//! [`restore`] can restore them after a killed run. A restart of the machine removes the file, as it resets the
//! settings.
//!
//! Source: Linux, Documentation/ABI/stable/sysfs-block (`queue/scheduler`, `queue/nr_requests`, `queue/write_cache`),
//! Documentation/ABI/testing/sysfs-class-scsi_disk (`cache_type`), Documentation/scsi (`queue_depth`).

mod record;

use std::fs;
use std::path::{Path, PathBuf};

use crate::kernel::debris::note_folders;
use crate::system::{BlockDevice, DeviceNumber, SystemRoot};
use record::SettingsRecord;
pub use record::{RestoreResult, restore};

/// The keys, without `real.`, and their values.
pub const KEYS: [(&str, &str); 3] = [
    ("scheduler", "a kernel scheduler, such as none, mq-deadline, bfq"),
    ("write_cache", "on or off: the drive's own; or unflushed: it stays on, and the kernel sends no flushes"),
    ("queue_depth", "requests that the device has at once, from 1"),
];

/// Settings to be changed; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSettings {
    scheduler: Option<String>,
    write_cache: Option<WriteCacheSetting>,
    queue_depth: Option<u32>,
}

/// Setting of a write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteCacheSetting {
    On,
    Off,
    /// The drive's cache stays on, and the kernel sends no flushes.
    Unflushed,
}

impl DeviceSettings {
    /// Parses a value; an error says what was expected. `key` is without `real.`.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let Some((key, takes)) = KEYS.iter().find(|(name, _)| *name == key) else {
            let known: Vec<String> = KEYS.iter().map(|(name, _)| format!("real.{name}")).collect();
            return Err(format!("`real.{key}` is no setting of a device; expected {}", known.join(", ")));
        };
        let wrong = || format!("`real.{key}` = `{value}`; expected {takes}");
        match *key {
            "scheduler" if !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') => {
                self.scheduler = Some(value.to_owned());
            }
            "write_cache" => {
                self.write_cache = Some(match value {
                    "on" | "true" => WriteCacheSetting::On,
                    "off" | "false" => WriteCacheSetting::Off,
                    "unflushed" => WriteCacheSetting::Unflushed,
                    _ => return Err(wrong()),
                });
            }
            "queue_depth" => {
                let depth = value.parse().ok().filter(|&depth| depth > 0);
                self.queue_depth = Some(depth.ok_or_else(wrong)?);
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }

    /// Whether nothing is to be set.
    pub fn is_empty(&self) -> bool {
        *self == DeviceSettings::default()
    }

    /// Applies the settings to the disk that `path` names or lies on, until the guard is dropped.
    pub fn apply(&self, path: &Path) -> Result<SettingsGuard, String> {
        self.apply_in(path, &SystemRoot::this_machine(), &note_folders())
    }

    fn apply_in(&self, path: &Path, system: &SystemRoot, folders: &[PathBuf]) -> Result<SettingsGuard, String> {
        if self.is_empty() {
            return Ok(SettingsGuard { record: None });
        }
        let shown = path.display();
        let node = find_disk(path, system).map_err(|why| format!("{shown}: {why}"))?;
        let changes = self.required_changes(&node).map_err(|why| format!("{} ({shown}): {why}", node.name))?;
        let record = SettingsRecord::new(&node, changes, system);
        let path = record.write(folders)?;
        // From here on the settings are restored, also if a change fails.
        let guard = SettingsGuard { record: Some(path) };
        record.apply_changes()?;
        Ok(guard)
    }

    /// Returns the changes to be made. A new scheduler gives the device another number of requests, which is restored
    /// too.
    fn required_changes(&self, node: &BlockDevice) -> Result<Vec<SysfsChange>, String> {
        let mut changes = Vec::new();
        if let Some(wanted) = &self.scheduler {
            let path = node.attribute_path("queue/scheduler").ok_or("the kernel has no scheduler for it")?;
            let words = fs::read_to_string(&path).map_err(|error| format!("queue/scheduler: {error}"))?;
            let known: Vec<&str> = words.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
            if !known.contains(&wanted.as_str()) {
                return Err(format!("`real.scheduler` = `{wanted}`; expected one of {}", known.join(", ")));
            }
            changes.push(SysfsChange::new(path, Some(wanted.clone()))?);
            if let Some(path) = node.attribute_path("queue/nr_requests").filter(|_| self.queue_depth.is_none()) {
                changes.push(SysfsChange::new(path, None)?);
            }
        }
        if let Some(wanted) = self.write_cache {
            let (path, word) = write_cache_file(node, wanted)?;
            changes.push(SysfsChange::new(path, Some(word.to_owned()))?);
        }
        if let Some(depth) = self.queue_depth {
            let path = node.attribute_path("device/queue_depth").or_else(|| node.attribute_path("queue/nr_requests"));
            changes.push(SysfsChange::new(path.ok_or("the kernel tells no depth of it")?, Some(depth.to_string()))?);
        }
        Ok(changes)
    }
}

/// Returns the file that switches a cache, and its value. The kernel's belief about a cache (`queue/write_cache`)
/// switches none.
fn write_cache_file(node: &BlockDevice, wanted: WriteCacheSetting) -> Result<(PathBuf, &'static str), String> {
    if wanted == WriteCacheSetting::Unflushed {
        let path = node.attribute_path("queue/write_cache").ok_or("the kernel does not say whether it flushes it")?;
        return Ok((path, "write through"));
    }
    let scsi = node.attribute_path("device/scsi_disk").and_then(|folder| fs::read_dir(folder).ok()?.flatten().next());
    let path = scsi.map(|entry| entry.path().join("cache_type")).or_else(|| node.attribute_path("cache_type"));
    let path = path.ok_or(
        "its write cache cannot be switched through /sys; expected a SCSI or SATA disk, or `unflushed`, which leaves the cache on",
    )?;
    Ok((path, if wanted == WriteCacheSetting::On { "write back" } else { "write through" }))
}

/// Returns the disk that a path names or lies on.
fn find_disk(path: &Path, system: &SystemRoot) -> Result<BlockDevice, String> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path).map_err(|error| error.to_string())?;
    let number =
        system.device_number(path).map_err(|error| error.to_string())?.unwrap_or(DeviceNumber::new(meta.dev()));
    system
        .find_device(number)
        .ok_or_else(|| "lies on no block device that the kernel tells of (/sys/dev/block)".to_owned())
}

/// A change of a file of `/sys`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SysfsChange {
    path: PathBuf,
    /// The former value.
    before: String,
    /// The value to write; `None` if only the former one is kept, because another change affects it.
    during: Option<String>,
}

impl SysfsChange {
    fn new(path: PathBuf, during: Option<String>) -> Result<SysfsChange, String> {
        let before = read_setting(&path)?;
        Ok(SysfsChange { path, before, during })
    }
}

/// Reads a setting; of several words the one in brackets is set.
fn read_setting(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word);
    Ok(chosen.unwrap_or(text.trim()).to_owned())
}

/// Writes a value and reads it back.
#[expect(clippy::disallowed_methods, reason = "a setting of the kernel's is no file")]
fn write_setting(path: &Path, wanted: &str) -> Result<(), String> {
    fs::write(path, wanted).map_err(|error| format!("{} = {wanted}: {error}", path.display()))?;
    match read_setting(path)? {
        actual if actual == wanted => Ok(()),
        actual => Err(format!("{} = {wanted}: the kernel took it and says {actual}", path.display())),
    }
}

/// Settings of a run, restored when dropped.
#[derive(Debug)]
pub struct SettingsGuard {
    /// The file with the former values; `None` if nothing was changed.
    record: Option<PathBuf>,
}

impl SettingsGuard {
    /// The file with the former values, for [`restore_settings`]; `None` if nothing was changed.
    pub fn record_path(&self) -> Option<&Path> {
        self.record.as_deref()
    }

    /// Restores the settings; the error says which could not be.
    pub fn restore(mut self) -> Result<(), String> {
        self.record.take().map_or(Ok(()), |record| restore_settings(&record))
    }
}

impl Drop for SettingsGuard {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            // The file stays if this fails: `restore` says why.
            let _ = restore_settings(&record);
        }
    }
}

/// Restores all settings that this program has changed, for a signal in the middle of a run.
pub fn restore_own_settings() {
    let is_own = |record: &PathBuf| record::is_of_this_process(record, &SystemRoot::this_machine());
    record::find_records(&note_folders()).iter().filter(|record| is_own(record)).for_each(|record| {
        // The file stays if this fails: `restore` says why.
        let _ = restore_settings(record);
    });
}

/// Restores the settings in this file, of this program's own run; does nothing if the file is gone.
pub fn restore_settings(record: &Path) -> Result<(), String> {
    if !record.exists() {
        return Ok(());
    }
    record::restore_record_file(record).map(|_| ())
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
