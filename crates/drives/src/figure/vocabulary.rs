//! The words that an error about an unknown key or value may suggest: the keys of the layers, the values that they take, and the
//! names of presets. Each reader passes in the vocabulary of its file or setting.

use super::key::{KeyDomain, ProfileKey};
use super::units::{self, convert_quantity};
use crate::diagnostic::{Diagnostic, UNKNOWN_KEY};
use crate::limits::terms;
use crate::spelling::{is_same, nearest, same_or_only_ending, words_ending_in};

/// The words that are allowed in a file or a setting.
#[derive(Default)]
pub struct Vocabulary {
    /// Dotted keys of figures.
    pub figures: Vec<(String, &'static ProfileKey)>,
    /// Keys that are not figures.
    pub plain: Vec<&'static str>,
    /// Presets: the layer's key, and the preset's name.
    pub presets: Vec<(&'static str, String)>,
}

/// An empty vocabulary, for texts that are part of the program.
pub static NO_WORDS: Vocabulary = Vocabulary { figures: Vec::new(), plain: Vec::new(), presets: Vec::new() };

impl Vocabulary {
    /// The vocabulary of one layer's figures.
    pub(crate) fn of_layer(layer: &'static str, keys: &'static [ProfileKey]) -> Vocabulary {
        let figures = keys.iter().map(|key| (format!("{layer}.{}", key.path), key)).collect();
        Vocabulary { figures, ..Vocabulary::default() }
    }

    /// An error about an unknown key; suggests the key that was meant, of any layer, or the setting if the word is a value.
    pub fn unknown_key(&self, file: &str, line: usize, key: &str) -> Diagnostic {
        let names = self.figures.iter().map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.chain(self.plain.iter().map(|name| -> &str { name })).collect();
        let synonyms = self.figures.iter().filter(|(_, known)| known.also.iter().any(|word| is_same(word, key)));
        let synonyms: Vec<String> = synonyms.map(|(name, _)| name.clone()).collect();
        let unknown = Diagnostic::at(file, line, UNKNOWN_KEY).with_key(key);
        // The written explanation of a field's term is better than a key that merely ends in the term.
        let is_key = names.iter().any(|name| is_same(name, key));
        if !is_key && terms::is_term(key) {
            return unknown.explain_limit(key);
        }
        let suggest = |nearest: String| Diagnostic { nearest: Some(nearest), ..unknown.clone() };
        if let Some(name) = same_or_only_ending(key, names.iter().copied()) {
            return suggest(name.to_owned());
        }
        let ending_in_key: Vec<String> = words_ending_in(key, &names).into_iter().map(str::to_owned).collect();
        for found in [ending_in_key, synonyms, self.settings_with_value(key)] {
            match &found[..] {
                [] => {}
                [only] if !sata_caution(only).is_empty() => {
                    return suggest(only.clone()).with_expected(format!("KEY=VALUE{}", sata_caution(only)));
                }
                [only] => return suggest(only.clone()),
                several => return unknown.with_expected(format!("one of {}", several.join(", "))),
            }
        }
        unknown.suggest_nearest(key, names).explain_limit(key)
    }

    /// Completes an error about a `word` that `key` does not take: the accepted values, and the word or number that was meant.
    pub(crate) fn explain_refusal(&self, key: &ProfileKey, word: &str, wrong: Diagnostic) -> Diagnostic {
        let accepts = &key.accepts;
        if let Some(number) = convert_quantity(word, key.unit).filter(|_| accepts.is_number()) {
            // The word is a number with a unit, such as 7.2k, but the key takes a plain number.
            let expected = format!("{} as a number: {}", units::name(key.unit), number_text(number, accepts));
            return wrong.with_expected(expected);
        }
        let is_word = matches!(accepts, KeyDomain::Word(_));
        let nearest = match is_word {
            true => self.find_meant_value(word, accepts.accepted_words()),
            // A word where a number is expected may be a key of its own: `segments=adaptive`.
            false => self.find_meant_key(word),
        };
        let caution = nearest.as_deref().map_or("", sata_caution);
        let refused = Diagnostic { nearest, ..wrong.with_expected(format!("{accepts}{caution}")) };
        if is_word { refused.explain_limit(word) } else { refused }
    }

    /// The word or setting that was meant by `word`, where one of `known` is expected. A word that is a value of another key or
    /// layer means that setting, not a misspelt known word.
    pub fn find_meant_value<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        let known: Vec<&str> = known.into_iter().collect();
        if let Some(found) = same_or_only_ending(word, known.iter().copied()) {
            return Some(found.to_owned());
        }
        match &self.settings_with_value(word)[..] {
            [] => nearest(word, known).map(str::to_owned),
            [only] => Some(only.clone()),
            _ => None,
        }
    }

    /// The key that was meant by `word`.
    fn find_meant_key(&self, word: &str) -> Option<String> {
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic());
        let names = self.figures.iter().map(|(name, _)| name.as_str());
        same_or_only_ending(word, names).filter(|_| is_word).map(str::to_owned)
    }

    /// The settings whose value is `word`: `driver=linux-mq-deadline`.
    fn settings_with_value(&self, word: &str) -> Vec<String> {
        let setting = |key: &str, value: &str| format!("{key}={value}");
        if let Some(found) = same_or_only_ending(word, self.presets.iter().map(|preset| preset.1.as_str())) {
            let layers = self.presets.iter().filter(|preset| preset.1 == found);
            return layers.map(|(layer, name)| setting(layer, name)).collect();
        }
        let words =
            self.figures.iter().flat_map(|(path, key)| key.accepts.accepted_words().map(move |word| (path, word)));
        words.filter(|(_, known)| is_same(known, word)).map(|(path, known)| setting(path, known)).collect()
    }
}

/// A number as a key takes it: whole, if it counts.
fn number_text(amount: f64, accepts: &KeyDomain) -> String {
    if matches!(accepts, KeyDomain::Whole(..)) { format!("{amount:.0}") } else { amount.to_string() }
}

/// A caution about a suggested word or setting: SATA's modes are often called by their generation.
fn sata_caution(offered: &str) -> &'static str {
    match offered.trim_start_matches("controller.mode=").starts_with("sata-") {
        true => " (SATA's modes go by their Gb/s: SATA II is sata-3, SATA III is sata-6)",
        false => "",
    }
}
