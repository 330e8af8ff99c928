//! Reads Rust source well enough for rules: comments and strings are blanked, functions end at their braces, test
//! modules are left out. This is no parser: it does not see what a macro makes.

/// A function and its length.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// The source with blanks in place of comments, strings and characters; line breaks stay.
pub fn code_only(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut index = 0;
    while index < letters.len() {
        let end = blank_end(&letters, index);
        if end > index {
            code.extend(letters[index..end].iter().map(|&letter| if letter == '\n' { '\n' } else { ' ' }));
            index = end;
        } else {
            code.push(letters[index]);
            index += 1;
        }
    }
    code
}

/// The index behind the comment, string or character that begins at `at`; `at` itself if none begins there.
fn blank_end(text: &[char], at: usize) -> usize {
    let next = text.get(at + 1).copied().unwrap_or('\0');
    let in_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    match text[at] {
        '/' if next == '/' => find_from(text, at, |i| text[i] == '\n'),
        '/' if next == '*' => comment_end(text, at),
        '"' => string_end(text, at),
        'r' if !in_word && (next == '"' || next == '#') => raw_end(text, at + 1).unwrap_or(at),
        'b' if !in_word && next == 'r' => raw_end(text, at + 2).unwrap_or(at),
        '\'' => character_end(text, at),
        _ => at,
    }
}

fn find_from(text: &[char], from: usize, stop: impl Fn(usize) -> bool) -> usize {
    (from..text.len()).find(|&i| stop(i)).unwrap_or(text.len())
}

/// The index behind a block comment; block comments nest.
fn comment_end(text: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i + 1 < text.len() {
        match (text[i], text[i + 1]) {
            ('/', '*') => (depth, i) = (depth + 1, i + 2),
            ('*', '/') => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    text.len()
}

fn string_end(text: &[char], at: usize) -> usize {
    let mut i = at + 1;
    while i < text.len() && text[i] != '"' {
        i += if text[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(text.len())
}

/// The index behind a raw string whose hashes begin at `at`; `None` if it is a raw identifier.
fn raw_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at..].iter().take_while(|&&c| c == '#').count();
    let open = at + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes = |i: usize| text[i] == '"' && text[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
    Some((find_from(text, open + 1, closes) + 1 + hashes).min(text.len()))
}

/// The index behind a character (`'x'`, `'\n'`, `'\u{1f}'`); a lifetime is none.
fn character_end(text: &[char], at: usize) -> usize {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some('\\'), _) => find_from(text, at + 3, |i| text[i] == '\'') + 1,
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// The code with blanks in place of items under `#[cfg(test)]`.
pub fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(start) = out.find("#[cfg(test)]") {
        let end = item_end(&out, start);
        let blank: String = out[start..end].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    out
}

/// The index behind the item that begins at `start`: behind its closing brace, or its semicolon.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (offset, letter) in code[start..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (letter == '}' || letter == ';') {
            return start + offset + 1;
        }
    }
    code.len()
}

/// All functions with a body, nested ones too.
pub fn find_functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("fn ") {
        let is_keyword =
            start == 0 || !code[..start].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let name: String =
            code[start + 3..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        if !is_keyword || name.is_empty() {
            continue;
        }
        if let Some(open) = body_start(code, start) {
            let line = code[..start].matches('\n').count() + 1;
            let lines = code[start..item_end(code, open)].matches('\n').count() + 1;
            found.push(Function { name, line, lines });
        }
    }
    found
}

/// The index of the brace that opens the body of the function at `start`; `None` for a signature alone. A semicolon
/// inside brackets is an array's.
fn body_start(code: &str, start: usize) -> Option<usize> {
    let mut brackets = 0;
    for (offset, letter) in code[start..].char_indices() {
        match letter {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets -= 1,
            '{' => return Some(start + offset),
            ';' if brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The identifiers of a text, with their lines from 1.
pub fn identifiers(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(line, text)| {
        text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .filter(|word| !word.is_empty())
            .map(move |word| (line + 1, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let text = "a // {\nb /* { /* } */ */ c \"{\\\"\" 'x' '\\'' r#\"}\"# <'a> d";
        let blanked = code_only(text);
        assert_eq!(blanked.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c", "<'a>", "d"]);
        assert_eq!(blanked.len(), text.len());
    }

    #[test]
    fn a_function_ends_at_its_brace() {
        let found = find_functions("fn one() {\n  {\n  }\n}\ntrait T { fn none(); }\nfn two(a: [u8; 2]) { }\n");
        let named: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(named, [("one", 1, 4), ("two", 6, 1)]);
    }

    #[test]
    fn tests_are_left_out() {
        let code = without_tests("use a;\n#[cfg(test)]\nmod tests {\n f64 {}\n}\nuse b;\n#[cfg(test)]\nmod t;\nc");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["use", "a;", "use", "b;", "c"]);
    }
}
