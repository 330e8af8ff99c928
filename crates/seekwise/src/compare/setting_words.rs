//! A varied setting in plain words: the name of a side, and the question of a comparison. Nothing is looked up in the results.

use seekwise_formats::keys::{KeyEntry, sections};
use seekwise_lab::catalogue;

/// The key of the drive.
const DRIVE: &str = "drive";

/// A key in plain words.
pub struct SettingWords {
    key: String,
    entry: Option<KeyEntry>,
}

impl SettingWords {
    /// The words for a key.
    pub fn new(key: &str) -> SettingWords {
        let mut keys = sections().into_iter().flat_map(|section| section.keys);
        SettingWords { key: key.to_owned(), entry: keys.find(|entry| entry.key == key) }
    }

    /// True if the values are drives.
    pub fn is_drive(&self) -> bool {
        self.key == DRIVE
    }

    /// True if the values are jobs.
    pub fn is_job(&self) -> bool {
        self.key == super::JOB
    }

    /// The unit of a value; empty for counts and words.
    fn unit(&self) -> &'static str {
        self.entry.as_ref().map_or("", |entry| entry.unit)
    }

    /// The last word of the key without its unit: `depth` of `drive.firmware.depth`, `chunk` of `array.chunk_kib`.
    pub fn name(&self) -> String {
        let last = self.key.rsplit('.').next().unwrap_or(&self.key);
        let unit = format!("_{}", self.unit().to_lowercase().replace('/', "_"));
        last.strip_suffix(&unit).unwrap_or(last).replace('_', " ")
    }

    /// A side: `depth 32`, `chunk 64 KiB`, `write back off`; a drive or a job by its name alone.
    pub fn side(&self, value: &str) -> String {
        if self.is_drive() || self.is_job() {
            return value.to_owned();
        }
        let (name, unit) = (self.name(), self.unit());
        let value = match value {
            "true" => "on",
            "false" => "off",
            other => other,
        };
        match unit.is_empty() || unit == name || value.parse::<f64>().is_err() {
            true => format!("{name} {value}"),
            false => format!("{name} {value} {unit}"),
        }
    }

    /// The effect of the setting in a few words with its unit, then the key: `commands that the drive can queue (drive.firmware.depth)`.
    pub fn meaning(&self) -> String {
        let Some(entry) = &self.entry else { return self.key.clone() };
        let short = entry.meaning.split([':', ';', '(']).next().unwrap_or_default().trim();
        let unit = if entry.unit.is_empty() { String::new() } else { format!(", {}", entry.unit) };
        format!("{short}{unit} ({})", self.key)
    }

    /// The question whether `job` is faster; `place` is the target, if it is the same on all sides.
    pub fn question(&self, job: &str, place: Option<&str>, values: &[String]) -> String {
        let on = place.map_or(String::new(), |place| format!(" on {place}"));
        let sides: Vec<String> = values.iter().map(|value| self.side(value)).collect();
        match &sides[..] {
            [base, other] if self.is_job() => format!("Is {other} faster than {base}{on}?"),
            _ if self.is_job() => format!("Which job is fastest{on}: {}?", list_words(&sides)),
            [base, other] if self.is_drive() => format!("Is {job}{on} faster on {other} than on {base}?"),
            _ if self.is_drive() => format!("On which drive is {job}{on} fastest: {}?", list_words(&sides)),
            [base, other] => format!("Is {job}{on} faster with {other} than with {base}?"),
            _ => format!("With which {} is {job}{on} fastest?", self.name()),
        }
    }
}

/// The title of a built-in drive, such as `Seagate Exos X18 ST18000NM000J 18 TB`; `None` for other names.
pub fn drive_title(name: &str) -> Option<String> {
    let is_built_in = catalogue::names().any(|built_in| built_in == name);
    is_built_in.then(|| catalogue::load_drive(name).ok().map(|drive| drive.title)).flatten()
}

/// `a`, `a or b`, `a, b or c`.
fn list_words(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_questions_are_plain_words() {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let question = |key: &str, place: Option<&str>, sides: &[&str]| {
            SettingWords::new(key).question("random-read", place, &values(sides))
        };
        assert_eq!(
            question("drive.firmware.depth", Some("exos-x18"), &["1", "32"]),
            "Is random-read on exos-x18 faster with depth 32 than with depth 1?"
        );
        assert_eq!(
            question("drive.cache.write_back", Some("exos-x18"), &["true", "false"]),
            "Is random-read on exos-x18 faster with write back off than with write back on?"
        );
        assert_eq!(
            question("array.chunk_kib", Some("exos-x18"), &["64", "512"]),
            "Is random-read on exos-x18 faster with chunk 512 KiB than with chunk 64 KiB?"
        );
        assert_eq!(
            question("drive", None, &["exos-x18", "wd140edfz", "mine.toml"]),
            "On which drive is random-read fastest: exos-x18, wd140edfz or mine.toml?"
        );
        assert_eq!(question("job", Some("exos-x18"), &["a.fio", "b.fio"]), "Is b.fio faster than a.fio on exos-x18?");
        assert_eq!(SettingWords::new("drive.mechanics.rpm").side("7200"), "rpm 7200");
        assert_eq!(SettingWords::new("job.depth").meaning(), "requests in flight per worker (job.depth)");
        assert_eq!(SettingWords::new("array.chunk_kib").meaning(), "chunk size, KiB (array.chunk_kib)");
    }

    #[test]
    fn built_in_drives_have_titles() {
        assert_eq!(drive_title("exos-x18").as_deref(), Some("Seagate Exos X18 ST18000NM000J 18 TB"));
        assert_eq!(drive_title("mine.toml"), None);
    }
}
