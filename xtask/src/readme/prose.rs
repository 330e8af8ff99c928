//! Finds sections of a page with a conclusion but without an assertion: a sentence with a word of comparison, in a section that
//! runs commands, needs an assertion in that section. Questions, definitions (words in emphasis or quotes) and code draw none.

use super::HOLDS;

/// Words of comparison.
const WORDS: [&str; 10] =
    ["faster", "slower", "shorter", "longer", "better", "worse", "fewer", "twice", "halves", "doubles"];

/// A part of a page from one heading to the next.
#[derive(Default)]
struct Section {
    /// The first line with a conclusion, from 0.
    concludes: Option<usize>,
    commands: bool,
    holds: bool,
}

impl Section {
    fn fault(&self) -> Option<String> {
        let at = self.concludes.filter(|_| self.commands && !self.holds)?;
        Some(format!("line {}: a conclusion without a `{HOLDS} … -->` in its section", at + 1))
    }
}

/// Sections that conclude without an assertion.
pub fn unfounded(text: &str) -> Vec<String> {
    let (mut faults, mut section, mut block) = (Vec::new(), Section::default(), "");
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if let Some(mark) = line.trim().strip_prefix("```") {
            block = mark;
            section.commands |= mark == "sh";
        } else if !block.is_empty() {
            // Code concludes nothing.
        } else if line.starts_with('#') {
            faults.extend(std::mem::take(&mut section).fault());
        } else if line.trim_start().starts_with("<!--") {
            section.holds |= line.contains(HOLDS);
        } else if section.concludes.is_none() && concludes(&lines, at) {
            section.concludes = Some(at);
        }
    }
    faults.extend(section.fault());
    faults
}

/// True if the line has a word of comparison in a sentence that asks nothing.
fn concludes(lines: &[&str], at: usize) -> bool {
    let rest = lines[at..].iter().take_while(|line| !line.is_empty() && !line.starts_with("```"));
    let rest: String = rest.copied().collect::<Vec<_>>().join(" ");
    let line = plain(lines[at]);
    let said = |word: &str| line.split(|letter: char| !letter.is_alphanumeric()).any(|it| it == word);
    let Some(word) = WORDS.into_iter().find(|word| said(word)) else { return false };
    let from = rest.find(word).unwrap_or_default();
    rest[from..].find(['.', ':', '?']).is_none_or(|end| !rest[from + end..].starts_with('?'))
}

/// A line without its parts in emphasis, quotes or code.
fn plain(line: &str) -> String {
    let mut inside = None;
    let keep = |letter: &char| match (inside, *letter) {
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
    line.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_needs_an_assertion() {
        let section = |prose: &str| unfounded(&format!("# A\n\n```sh\nx compare\n```\n\n{prose}\n"));
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
        assert_eq!(unfounded("# A\n```sh\nx\n```\n<!-- holds: a < 1 -->\n# B\n```sh\nx\n```\nslower\n").len(), 1);
    }
}
