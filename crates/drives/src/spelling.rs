//! Finds the known word that a misspelled one means.

/// The known word that `word` means, if one is close enough. The first of these rules that yields a word decides:
///
/// 1. the letters and digits are the same, regardless of case and punctuation;
/// 2. exactly one known word ends in the parts of `word` (`rpm`: `drive.mechanics.rpm`);
/// 3. the edit distance is 1;
/// 4. exactly one known word contains the parts of `word`, or starts with it;
/// 5. the edit distance is at most a third of the length;
/// 6. the last part of exactly one known word is that near.
///
/// By edit distance, digits must match: `raid-7` does not mean `raid-5`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    same_or_only_ending(word, known.iter().copied())
        .or_else(|| nearest_by_edits(word, &known, 1))
        .or_else(|| find_containing(word, &known))
        .or_else(|| nearest_by_edits(word, &known, allowed_edits(word)))
        .or_else(|| nearest_ending(word, &known))
}

/// The known word that differs from `word` only in case and punctuation, or else the only one that ends in its parts.
pub(crate) fn same_or_only_ending<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    let same = known.iter().copied().find(|known| is_same(known, word));
    same.or_else(|| only_distinct_word(&words_ending_in(word, &known)))
}

/// True if two words differ at most in case and punctuation.
pub fn is_same(word: &str, other: &str) -> bool {
    !compared_letters(word).is_empty() && compared_letters(word) == compared_letters(other)
}

/// The known words that end in the last part of `word` and have its other parts before that, in the same order. Parts are
/// separated by dots; if no word matches, by any punctuation.
pub fn words_ending_in<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let ending_by = |split: fn(&str) -> Vec<String>| {
        let sought = split(word);
        let fits = |known: &&&str| {
            let parts = split(known);
            !sought.is_empty() && parts.last() == sought.last() && is_subsequence(&sought, &parts)
        };
        known.iter().filter(fits).copied().collect::<Vec<_>>()
    };
    let dotted = ending_by(|word| word.split('.').map(compared_letters).collect());
    if dotted.is_empty() { ending_by(split_parts) } else { dotted }
}

/// Least length of a beginning that is looked up: too many words start with fewer letters.
const LEAST_LETTERS: usize = 3;

/// The only known word that has all parts of `word` in the same order, or starts with it.
fn find_containing<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let (sought, prefix) = (split_parts(word), compared_letters(word));
    let has_prefix = |known: &str| {
        let splits_number = |rest: &str| {
            prefix.ends_with(|c: char| c.is_ascii_digit()) && rest.starts_with(|c: char| c.is_ascii_digit())
        };
        compared_letters(known).strip_prefix(&prefix).is_some_and(|rest| !splits_number(rest))
    };
    let fits = |known: &&&str| {
        prefix.len() >= LEAST_LETTERS && (has_prefix(known) || is_subsequence(&sought, &split_parts(known)))
    };
    only_distinct_word(&known.iter().filter(fits).copied().collect::<Vec<_>>())
}

/// The known words that begin with `word`; none if one of them is the word, or if they are too many to choose from.
pub(crate) fn words_beginning_with<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    const MOST: usize = 12;
    let prefix = compared_letters(word);
    if prefix.len() < LEAST_LETTERS || known.iter().any(|known| compared_letters(known) == prefix) {
        return Vec::new();
    }
    let found: Vec<&str> = known.iter().filter(|known| compared_letters(known).starts_with(&prefix)).copied().collect();
    if found.len() > MOST { Vec::new() } else { found }
}

/// The largest accepted edit distance: a third of the length of a word, and at most 1 for words of up to four letters.
fn allowed_edits(word: &str) -> usize {
    let length = compared_letters(word).len();
    if length <= 4 { 1 } else { (length / 3).max(2) }
}

/// The known word at the smallest edit distance, up to `limit`; its digits are those of `word`, in any order.
fn nearest_by_edits<'a>(word: &str, known: &[&'a str], limit: usize) -> Option<&'a str> {
    let sought = compared_letters(word);
    let distances = known.iter().map(|&known| (strsim::damerau_levenshtein(&sought, &compared_letters(known)), known));
    let near = distances.filter(|&(distance, known)| distance <= limit && sorted_digits(known) == sorted_digits(word));
    near.min().map(|(_, known)| known)
}

/// The only known word whose last part, after its last dot, is at the smallest edit distance.
fn nearest_ending<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let last = |known: &&'a str| known.rsplit('.').next().unwrap_or_default();
    let ends: Vec<&str> = known.iter().map(last).collect();
    let near = nearest_by_edits(word, &ends, allowed_edits(word))?;
    only_distinct_word(&known.iter().filter(|known| last(known) == near).copied().collect::<Vec<_>>())
}

fn only_distinct_word<'a>(words: &[&'a str]) -> Option<&'a str> {
    let first = *words.first()?;
    words.iter().all(|word| *word == first).then_some(first)
}

fn is_subsequence(few: &[String], many: &[String]) -> bool {
    let mut many = many.iter();
    !few.is_empty() && few.iter().all(|part| many.any(|other| other == part))
}

/// The letters and digits of a word, in lower case: all that is compared.
fn compared_letters(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The digits of a word, sorted.
fn sorted_digits(word: &str) -> Vec<char> {
    let mut digits: Vec<char> = word.chars().filter(char::is_ascii_digit).collect();
    digits.sort_unstable();
    digits
}

/// The runs of letters and digits in a word, in lower case.
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
        assert_eq!(words_ending_in("depth", &keys), ["driver.depth", "array.depth"]);
        assert_eq!(nearest("mq-deadline", ["linux-none", "linux-mq-deadline"]), Some("linux-mq-deadline"));
        assert_eq!(nearest("wd140", ["wd140edfz", "exos-x18"]), Some("wd140edfz"));
        let recipes = ["sqlite-wal-full", "sqlite-wal-off", "lmdb-sync"];
        assert_eq!(words_beginning_with("sqlite", &recipes), ["sqlite-wal-full", "sqlite-wal-off"]);
        assert!(words_beginning_with("SQLite-WAL-off", &recipes).is_empty(), "it is the word");
        assert!(words_beginning_with("s", &recipes).is_empty() && words_beginning_with("", &recipes).is_empty());
    }
}
