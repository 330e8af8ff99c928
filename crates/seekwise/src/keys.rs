//! The keys of stacks, jobs, drives, studies and scenes: their ranges and meanings, words of the field that lead to
//! them, and their values in built-in drives and presets. Nothing is set here.

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

/// Finds keys by words of a user: those of the section of that name, else the key of that name, else the keys to which
/// a word of the field leads, else the keys whose texts have all the words. Without a word, all keys.
pub fn find_keys(words: &str) -> Vec<KeySection> {
    let all_sections = sections();
    if words.is_empty() {
        return all_sections;
    }
    if let Some(section) = all_sections.iter().find(|section| is_same(section.name, words)) {
        return vec![section.clone()];
    }
    let has_name = |entry: &KeyEntry| is_same(&entry.key, words);
    let is_key = all_sections.iter().any(|section| section.keys.iter().any(has_name));
    if let Some(explained) = (!is_key).then(|| explain_word(words)).flatten() {
        return explained;
    }
    let lowercase: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let mentions_all_words = |entry: &KeyEntry| {
        let text = format!("{} {} {} {}", entry.key, entry.also.join(" "), entry.takes, entry.meaning).to_lowercase();
        lowercase.iter().all(|word| text.contains(word))
    };
    let with_matches = |mut section: KeySection| {
        section.keys.retain(|entry| if is_key { has_name(entry) } else { mentions_all_words(entry) });
        (!section.keys.is_empty()).then_some(section)
    };
    all_sections.into_iter().filter_map(with_matches).collect()
}

/// The figures that presets and built-in drives have for this key, each with the name of the preset or drive.
pub fn figures_of_key(key: &str) -> Result<Vec<(String, Figure)>, Error> {
    let Some((layer, path)) = key.split_once('.') else { return Ok(Vec::new()) };
    let mut figures = Vec::new();
    if layer == "drive" {
        for name in catalogue::names() {
            figures.extend(catalogue::load_drive(name)?.figure(path).map(|figure| (name.to_owned(), figure.clone())));
        }
    }
    for host in hosts()?.iter().filter(|host| host.layer == layer) {
        figures.extend(
            host.figures.iter().find(|figure| figure.key == path).map(|figure| (host.name.clone(), figure.clone())),
        );
    }
    Ok(figures)
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
