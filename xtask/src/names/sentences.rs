//! Counts the sentences of comments by their beginnings. Blocks of code, tables, headings and the marks of lists are no
//! part of a sentence.

use std::collections::BTreeMap;

/// The counts of sentences.
#[derive(Default)]
pub struct Sentences {
    /// All sentences.
    pub count: usize,
    /// Sentences that begin with What.
    pub what: usize,
    /// Sentences that begin with a pronoun, or with The same, Of, One.
    pub pronoun: usize,
    /// The places and beginnings of those sentences.
    pub places: Vec<String>,
}

/// Words whose meaning a reader must look for before.
const PRONOUNS: [&str; 15] =
    ["It", "They", "He", "She", "This", "That", "These", "Those", "Its", "Their", "Them", "Such", "Of", "One", "Ones"];

/// Counts the sentences of all sources.
pub fn count(sources: &BTreeMap<String, String>) -> Sentences {
    let mut sentences = Sentences::default();
    for (file, text) in sources {
        for (line, block) in blocks(text) {
            for sentence in split_sentences(&block) {
                sentences.add(file, line, sentence);
            }
        }
    }
    sentences
}

impl Sentences {
    fn add(&mut self, file: &str, line: usize, sentence: &str) {
        self.count += 1;
        let first = sentence.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or("");
        let is_pronoun = PRONOUNS.contains(&first) || sentence.starts_with("The same");
        self.what += usize::from(first == "What");
        self.pronoun += usize::from(is_pronoun);
        if first == "What" || is_pronoun {
            self.places.push(format!("{file}:{line}: {}", sentence.chars().take(100).collect::<String>()));
        }
    }
}

/// Comments of a text as blocks of running words, each with its first line; a module of tests ends the text.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let (mut blocks, mut open, mut mark, mut is_code) = (Vec::new(), false, "", false);
    let until = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    for (number, line) in text[..until].lines().enumerate() {
        let line = line.trim_start();
        let own_mark = ["///", "//!", "//"].into_iter().find(|mark| line.starts_with(mark)).unwrap_or("");
        if own_mark != mark {
            (open, mark, is_code) = (false, own_mark, false);
        }
        let words = line[own_mark.len()..].trim();
        if own_mark.is_empty() || is_code && !words.starts_with("```") {
            continue;
        }
        if words.starts_with("```") {
            (is_code, open) = (!is_code, false);
            continue;
        }
        if words.is_empty() || words.starts_with('|') || words.starts_with('#') {
            open = false;
            continue;
        }
        let bare = without_mark(words);
        if bare.len() < words.len() || !open {
            blocks.push((number + 1, bare.to_owned()));
            open = true;
        } else if let Some((_, block)) = blocks.last_mut() {
            *block += " ";
            *block += words;
        }
    }
    blocks
}

/// An item of a list without its mark.
fn without_mark(words: &str) -> &str {
    let numbered = words.split_once(". ").filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()));
    numbered
        .map(|(_, rest)| rest)
        .or_else(|| words.strip_prefix("- "))
        .or_else(|| words.strip_prefix("* "))
        .unwrap_or(words)
}

/// The sentences of a block. A sentence ends with `.`, `!` or `?` before a space, outside of backticks.
fn split_sentences(block: &str) -> Vec<&str> {
    let (mut sentences, mut start, mut is_quoted) = (Vec::new(), 0, false);
    let bytes = block.as_bytes();
    for (at, byte) in block.bytes().enumerate() {
        is_quoted ^= byte == b'`';
        let ends = b".!?".contains(&byte) && bytes.get(at + 1).is_none_or(|next| *next == b' ');
        if ends && !is_quoted {
            sentences.push(block[start..=at].trim());
            start = at + 1;
        }
    }
    sentences.push(block[start..].trim());
    sentences.retain(|sentence| sentence.len() > 3);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_their_stops_and_not_inside_code() {
        assert_eq!(split_sentences("One `a. b` here. Two! Three"), ["One `a. b` here.", "Two!", "Three"]);
    }

    #[test]
    fn blocks_leave_out_code_tables_and_headings() {
        let text = "//! # Head\n//! Words that\n//! go on.\n//!\n//! | a |\n//! - item\n//! ```\n//! What code\n//! ```\nfn f() {} // beside\n";
        let words: Vec<String> = blocks(text).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["Words that go on.", "item"]);
    }
}
