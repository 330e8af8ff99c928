//! Keys of stacks, jobs, drives, studies and scenes: their ranges and meanings, words that lead to them, and their values in built-in
//! drives and presets. Nothing is set here.

use seekwise_formats::keys::explain_word;
use seekwise_lab::catalogue;

use crate::error::Error;

/// All keys by section, and the error about one that is none of them.
pub use seekwise_formats::keys::{KeyEntry, KeySection, sections, unknown_key};

/// Constants for keys: of a drive in its own file, and of a job.
pub use seekwise_drives::key_names::{figure, job};

/// Values of keys, with unit, kind and source.
pub use seekwise_drives::figure::{Figure, FigureOrigin, FigureValue};

/// Layers of a stack, their presets, and stacks as files.
pub use seekwise_drives::stack::{HostPreset, StackFile, hosts, layers};

/// Words of the field, and words that differ only in their spelling.
pub use seekwise_drives::limits::terms::{Term, find as find_term};
pub use seekwise_drives::spelling::{is_same, nearest};

/// Finds the section of that name, the key of that name, the keys to which a word of the field leads, or else the keys
/// whose text has all words; without a word, all keys.
pub fn find_keys(asked: &str) -> Vec<KeySection> {
    let all = sections();
    if asked.is_empty() {
        return all;
    }
    if let Some(section) = all.iter().find(|section| is_same(section.name, asked)) {
        return vec![section.clone()];
    }
    let exact = |entry: &KeyEntry| is_same(&entry.key, asked);
    let is_key = all.iter().any(|section| section.keys.iter().any(exact));
    if let Some(led) = (!is_key).then(|| explain_word(asked)).flatten() {
        return led;
    }
    let words: Vec<String> = asked.split_whitespace().map(str::to_lowercase).collect();
    let about = |entry: &KeyEntry| {
        let text = format!("{} {} {} {}", entry.key, entry.also.join(" "), entry.takes, entry.meaning).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let kept = |mut section: KeySection| {
        section.keys.retain(|entry| if is_key { exact(entry) } else { about(entry) });
        (!section.keys.is_empty()).then_some(section)
    };
    all.into_iter().filter_map(kept).collect()
}

/// Presets or built-in drives with a figure of this key.
pub fn named_figures(key: &str) -> Result<Vec<(String, Figure)>, Error> {
    let Some((layer, path)) = key.split_once('.') else { return Ok(Vec::new()) };
    let mut having = Vec::new();
    if layer == "drive" {
        for name in catalogue::names() {
            having.extend(catalogue::load_drive(name)?.figure(path).map(|figure| (name.to_owned(), figure.clone())));
        }
    }
    for host in hosts()?.iter().filter(|host| host.layer == layer) {
        having.extend(host.figures.iter().find(|f| f.key == path).map(|figure| (host.name.clone(), figure.clone())));
    }
    Ok(having)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(asked: &str) -> Vec<String> {
        find_keys(asked).into_iter().flat_map(|section| section.keys).map(|entry| entry.key).collect()
    }

    #[test]
    fn keys_are_found_by_layer_by_name_and_by_what_they_have_to_do_with() {
        assert!(found("bus").contains(&"bus.rate_mb_s".to_owned()));
        assert_eq!(found("DRIVE.cache.segments"), ["drive.cache.segments"]);
        assert!(found("rpm").contains(&"drive.mechanics.rpm".to_owned()));
        assert!(found("write cache").contains(&"drive.cache.write_back".to_owned()));
        assert!(found("nr_requests").contains(&"driver.capacity".to_owned()));
        assert!(found("zzz").is_empty());
        assert_eq!(found("short stroke"), ["job.span"]);
        assert!(found("fsync").starts_with(&["driver.flush".to_owned(), "drive.cache.write_back".to_owned()]));
        assert!(found("").len() > 150);
    }
}
