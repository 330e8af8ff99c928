//! Reading Rust source well enough for rules: comments and strings blanked, functions by their braces, test modules
//! left out. It is no parser: what a macro makes it does not see.

/// A function and its length.
#[derive(Debug, PartialEq)]
pub struct Function {
    pub name: String,
    /// The line of `fn`, from 1.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// The source with comments, strings and characters as blanks; line breaks stay.
pub fn code(text: &str) -> String {
    let bytes: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = blank_end(&bytes, at);
        if end > at {
            out.extend(bytes[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment, string or character that begins at `at` ends; `at` itself if none begins.
fn blank_end(text: &[char], at: usize) -> usize {
    let next = text.get(at + 1).copied().unwrap_or('\0');
    let in_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    match text[at] {
        '/' if next == '/' => find(text, at, |i| text[i] == '\n'),
        '/' if next == '*' => comment_end(text, at),
        '"' => string_end(text, at),
        'r' if !in_word && (next == '"' || next == '#') => raw_end(text, at + 1).unwrap_or(at),
        'b' if !in_word && next == 'r' => raw_end(text, at + 2).unwrap_or(at),
        '\'' => character_end(text, at),
        _ => at,
    }
}

fn find(text: &[char], from: usize, stop: impl Fn(usize) -> bool) -> usize {
    (from..text.len()).find(|&i| stop(i)).unwrap_or(text.len())
}

/// Block comments nest.
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

/// A raw string whose hashes begin at `at`; `None` if it is a raw identifier.
fn raw_end(text: &[char], at: usize) -> Option<usize> {
    let hashes = text[at..].iter().take_while(|&&c| c == '#').count();
    let open = at + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let closes = |i: usize| text[i] == '"' && text[i + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
    Some((find(text, open + 1, closes) + 1 + hashes).min(text.len()))
}

/// `'x'`, `'\n'`, `'\u{1f}'`; a lifetime is no character.
fn character_end(text: &[char], at: usize) -> usize {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some('\\'), _) => find(text, at + 3, |i| text[i] == '\'') + 1,
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

/// The code with what stands under `#[cfg(test)]` blanked.
pub fn without_tests(code: &str) -> String {
    let mut out = code.to_owned();
    while let Some(start) = out.find("#[cfg(test)]") {
        let end = item_end(&out, start);
        let blank: String = out[start..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        out.replace_range(start..end, &blank);
    }
    out
}

/// Where the item that begins at `start` ends: behind its closing brace, or its semicolon.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == '}' || c == ';') {
            return start + at + 1;
        }
    }
    code.len()
}

/// All functions with a body, nested ones too.
pub fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let begins = at == 0 || !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name: String = code[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !begins || name.is_empty() {
            continue;
        }
        if let Some(open) = body(code, at) {
            let line = code[..at].matches('\n').count() + 1;
            let lines = code[at..item_end(code, open)].matches('\n').count() + 1;
            found.push(Function { name, line, lines });
        }
    }
    found
}

/// Where the body of the function at `start` opens; `None` for a signature alone. A semicolon inside brackets is an
/// array's.
fn body(code: &str, start: usize) -> Option<usize> {
    let mut brackets = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '[' | '(' => brackets += 1,
            ']' | ')' => brackets -= 1,
            '{' => return Some(start + at),
            ';' if brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The identifiers of a text, with their lines from 1.
pub fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(line, text)| {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .map(move |w| (line + 1, w))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_and_comments_are_no_code() {
        let text = "a // {\nb /* { /* } */ */ c \"{\\\"\" 'x' '\\'' r#\"}\"# <'a> d";
        let code = code(text);
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c", "<'a>", "d"]);
        assert_eq!(code.len(), text.len());
    }

    #[test]
    fn a_function_ends_at_its_brace() {
        let found = functions("fn one() {\n  {\n  }\n}\ntrait T { fn none(); }\nfn two(a: [u8; 2]) { }\n");
        let named: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(named, [("one", 1, 4), ("two", 6, 1)]);
    }

    #[test]
    fn tests_are_left_out() {
        let code = without_tests("use a;\n#[cfg(test)]\nmod tests {\n f64 {}\n}\nuse b;\n#[cfg(test)]\nmod t;\nc");
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["use", "a;", "use", "b;", "c"]);
    }
}
