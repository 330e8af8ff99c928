//! Finds the known word that a misspelled one means.

/// The known word that `word` means, if one is close enough: one with the same letters and digits, regardless of case and
/// punctuation; otherwise the only one that ends in its parts (`rpm`: `drive.mechanics.rpm`); otherwise one at an edit distance of
/// 1; otherwise the only one that contains its parts or starts with it; otherwise one at an edit distance of up to a third of its
/// length. Digits must match: `raid-7` does not mean `raid-5`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let misspelt_end = || nearest_ending(word, &known);
    meant_word(word, known.iter().copied())
        .or_else(|| nearest_by_edits(word, &known, 1))
        .or_else(|| find_containing(word, &known))
        .or_else(|| nearest_by_edits(word, &known, edit_limit(word)))
        .or_else(misspelt_end)
}

/// The known word that differs from `word` only in case and punctuation, or else the only one that ends in its parts.
pub(crate) fn meant_word<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let same = known.iter().copied().find(|known| is_same(known, word));
    same.or_else(|| only_word(&endings(word, &known)))
}

/// Whether two words differ only in case and punctuation.
pub fn is_same(word: &str, other: &str) -> bool {
    !letters(word).is_empty() && letters(word) == letters(other)
}

/// The known words that end in the last part of `word` and have its other parts before that, in the same order. Parts are
/// separated by dots; if no word matches, by any punctuation.
pub fn endings<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let by = |split: fn(&str) -> Vec<String>| {
        let sought = split(word);
        let fits = |known: &&&str| {
            let parts = split(known);
            !sought.is_empty() && parts.last() == sought.last() && is_subsequence(&sought, &parts)
        };
        known.iter().filter(fits).copied().collect::<Vec<_>>()
    };
    let dotted = by(|word| word.split('.').map(letters).collect());
    if dotted.is_empty() { by(split_parts) } else { dotted }
}

/// Too many words start with fewer letters.
const LEAST: usize = 3;

/// The only known word that has all parts of `word` in the same order, or starts with it.
fn find_containing<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (sought, begin) = (split_parts(word), letters(word));
    let begins = |known: &str| {
        let cut = |rest: &str| {
            begin.ends_with(|c: char| c.is_ascii_digit()) && rest.starts_with(|c: char| c.is_ascii_digit())
        };
        letters(known).strip_prefix(&begin).is_some_and(|rest| !cut(rest))
    };
    let fits = |known: &&&str| begin.len() >= LEAST && (begins(known) || is_subsequence(&sought, &split_parts(known)));
    only_word(&known.iter().filter(fits).copied().collect::<Vec<_>>())
}

/// The known words that begin with `word`; none if one of them is the word, or if they are too many to choose from.
pub(crate) fn words_beginning_with<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 12;
    let begin = letters(word);
    if begin.len() < LEAST || known.iter().any(|known| letters(known) == begin) {
        return Vec::new();
    }
    let found: Vec<&str> = known.iter().filter(|known| letters(known).starts_with(&begin)).copied().collect();
    if found.len() > MOST { Vec::new() } else { found }
}

/// The largest edit distance: a third of the length of a word, and at most 1 for words of up to four letters.
fn edit_limit(word: &str) -> usize {
    let length = letters(word).len();
    if length <= 4 { 1 } else { (length / 3).max(2) }
}

/// The known word at the smallest edit distance, up to `limit`.
fn nearest_by_edits<'a>(word: &str, known: &[&'a str], limit: usize) -> Option<&'a str> {
    let sought = letters(word);
    let distances = known.iter().map(|&known| (strsim::damerau_levenshtein(&sought, &letters(known)), known));
    let near = distances.filter(|&(distance, known)| distance <= limit && sorted_digits(known) == sorted_digits(word));
    near.min().map(|(_, known)| known)
}

/// The only known word whose last part, after its last dot, is at the smallest edit distance.
fn nearest_ending<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let last = |known: &&'a str| known.rsplit('.').next().unwrap_or_default();
    let ends: Vec<&str> = known.iter().map(last).collect();
    let near = nearest_by_edits(word, &ends, edit_limit(word))?;
    only_word(&known.iter().filter(|known| last(known) == near).copied().collect::<Vec<_>>())
}

fn only_word<'a>(words: &[&'a str]) -> Option<&'a str> {
    let first = *words.first()?;
    words.iter().all(|word| *word == first).then_some(first)
}

fn is_subsequence(few: &[String], many: &[String]) -> bool {
    let mut many = many.iter();
    !few.is_empty() && few.iter().all(|part| many.any(|other| other == part))
}

/// The part of a word that counts: letters and digits, in lower case.
fn letters(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The digits, sorted.
fn sorted_digits(word: &str) -> Vec<char> {
    let mut digits: Vec<char> = word.chars().filter(char::is_ascii_digit).collect();
    digits.sort_unstable();
    digits
}

/// A word's parts, in lower case.
fn split_parts(word: &str) -> Vec<String> {
    let parts = word.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_does_nothing_else() {
        let levels = ["raid-0", "raid-1", "raid-10", "raid-5", "raid-6"];
        for (word, expected) in [
            ("raid10", Some("raid-10")),
            ("RAID 5", Some("raid-5")),
            ("raid_1", Some("raid-1")),
            ("riad-6", Some("raid-6")),
            ("raid-7", None),
            ("raid50", None),
            ("raid", None),
        ] {
            assert_eq!(nearest(word, levels), expected, "{word}");
        }
        assert_eq!(nearest("cfq", ["fcfs", "sstf", "look", "clook"]), None);
        assert_eq!(nearest("p95", ["p50", "p90", "p99"]), None);
        assert_eq!(nearest("exos-x81", ["exos-x18"]), Some("exos-x18"), "two digits in the other order");
    }

    #[test]
    fn parts_of_a_word_are_enough_where_one_word_has_them() {
        let keys = ["drive.mechanics.rpm", "drive.cache.segments", "driver.depth", "array.depth", "array.chunk_kib"];
        for (word, expected) in [
            ("rpm", Some("drive.mechanics.rpm")),
            ("drive.rpm", Some("drive.mechanics.rpm")),
            ("Cache.Segments", Some("drive.cache.segments")),
            ("chunk", Some("array.chunk_kib")),
            ("driver.deph", Some("driver.depth")),
            ("depth", None),
            ("segmets", Some("drive.cache.segments")),
            ("dpeth", None),
        ] {
            assert_eq!(nearest(word, keys), expected, "{word}");
        }
        assert_eq!(endings("depth", &keys), ["driver.depth", "array.depth"]);
        assert_eq!(nearest("mq-deadline", ["linux-none", "linux-mq-deadline"]), Some("linux-mq-deadline"));
        assert_eq!(nearest("wd140", ["wd140edfz", "exos-x18"]), Some("wd140edfz"));
        let recipes = ["sqlite-wal-full", "sqlite-wal-off", "lmdb-sync"];
        assert_eq!(words_beginning_with("sqlite", &recipes), ["sqlite-wal-full", "sqlite-wal-off"]);
        assert!(words_beginning_with("SQLite-WAL-off", &recipes).is_empty(), "it is the word");
        assert!(words_beginning_with("s", &recipes).is_empty() && words_beginning_with("", &recipes).is_empty());
    }
}
