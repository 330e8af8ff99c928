//! Finds sections of a page with a conclusion but without an assertion. A sentence with a word of comparison is a
//! conclusion if its section runs commands; that section then needs an assertion. Questions, definitions (words in
//! emphasis or quotes) and code conclude nothing.

use super::HOLDS;

/// Words of comparison.
const WORDS: [&str; 10] =
    ["faster", "slower", "shorter", "longer", "better", "worse", "fewer", "twice", "halves", "doubles"];

/// A part of a page, from one heading to the next.
#[derive(Default)]
struct Section {
    /// The first line with a conclusion, from 0.
    conclusion_line: Option<usize>,
    has_commands: bool,
    has_assertion: bool,
}

impl Section {
    fn fault(&self) -> Option<String> {
        let index = self.conclusion_line.filter(|_| self.has_commands && !self.has_assertion)?;
        Some(format!("line {}: a conclusion without a `{HOLDS} … -->` in its section", index + 1))
    }
}

/// A message for each section that concludes without an assertion.
pub fn unasserted_conclusions(text: &str) -> Vec<String> {
    let (mut faults, mut section, mut block) = (Vec::new(), Section::default(), "");
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        if let Some(mark) = line.trim().strip_prefix("```") {
            block = mark;
            section.has_commands |= mark == "sh";
        } else if !block.is_empty() {
            // Code concludes nothing.
        } else if line.starts_with('#') {
            faults.extend(std::mem::take(&mut section).fault());
        } else if line.trim_start().starts_with("<!--") {
            section.has_assertion |= line.contains(HOLDS);
        } else if section.conclusion_line.is_none() && is_conclusion(&lines, index) {
            section.conclusion_line = Some(index);
        }
    }
    faults.extend(section.fault());
    faults
}

/// Whether the line has a word of comparison in a sentence that is no question.
fn is_conclusion(lines: &[&str], index: usize) -> bool {
    let lines_to_end = lines[index..].iter().take_while(|line| !line.is_empty() && !line.starts_with("```"));
    let rest: String = lines_to_end.copied().collect::<Vec<_>>().join(" ");
    let line = without_marked_parts(lines[index]);
    let has_word = |word: &str| line.split(|letter: char| !letter.is_alphanumeric()).any(|part| part == word);
    let Some(word) = WORDS.into_iter().find(|word| has_word(word)) else { return false };
    let from = rest.find(word).unwrap_or_default();
    rest[from..].find(['.', ':', '?']).is_none_or(|end| !rest[from + end..].starts_with('?'))
}

/// A line without its parts in emphasis, quotes or code.
fn without_marked_parts(line: &str) -> String {
    let mut inside = None;
    let is_outside = |letter: &char| match (inside, *letter) {
        (Some(mark), letter) if letter == mark => {
            inside = None;
            false
        }
        (None, mark @ ('*' | '`' | '"')) => {
            inside = Some(mark);
            false
        }
        (inside, _) => inside.is_none(),
    };
    line.chars().filter(is_outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_needs_an_assertion() {
        let section = |prose: &str| unasserted_conclusions(&format!("# A\n\n```sh\nx compare\n```\n\n{prose}\n"));
        let said = section("So commits are slower\nby half.");
        assert_eq!(said, ["line 7: a conclusion without a `<!-- holds: … -->` in its section"]);
        for fine in [
            "Is it slower, or does\nit only look so?",
            "There are two verdicts: *faster*, *slower*.",
            "The answer says \"slower\".",
            "So it is slower.\n<!-- holds: ratio.high < 1 -->",
            "# B\n\nThat is slower, without a command.",
        ] {
            assert_eq!(section(fine), Vec::<String>::new(), "{fine}");
        }
        assert_eq!(
            unasserted_conclusions("# A\n```sh\nx\n```\n<!-- holds: a < 1 -->\n# B\n```sh\nx\n```\nslower\n").len(),
            1
        );
    }
}
