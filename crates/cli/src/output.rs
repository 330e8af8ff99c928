//! Text for a terminal, and talk to standard error, which may be closed or full: what is said there is not what was asked for, so
//! that ends nothing.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;

use seekwise::whole::{admit, write_whole};
use seekwise_formats::diagnostic::is_text;
use seekwise_lab::plot::png;

use crate::args::Pictures;
use crate::exit::Failure;

impl Pictures {
    /// Makes sure, before there is work done for them, that they may be written.
    pub fn admit(&self, force: bool) -> Result<(), Failure> {
        let both = [("--svg", "svg", &self.svg), ("--png", "png", &self.png)];
        let both = both.map(|(option, ending, path)| path.as_deref().map(|path| (option, ending, path)));
        let ends = |path: &Path, with: &str| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(with));
        for (given, other) in [(both[0], "png"), (both[1], "svg")] {
            let Some((option, ending, path)) = given else { continue };
            if ends(path, other) {
                let path = path.display();
                let kind = ending.to_uppercase();
                return Err(Failure::new(format!("{option} {path}: {kind} would be in it; expected --{other} {path}")));
            }
        }
        if let [Some((_, _, svg)), Some((_, _, png))] = both
            && svg == png
        {
            return Err(Failure::new(format!("--svg and --png: both name {}; expected two files", svg.display())));
        }
        Ok(both.into_iter().flatten().try_for_each(|(_, _, path)| admit(path, force))?)
    }

    /// Whether any is asked for.
    pub fn any(&self) -> bool {
        self.svg.is_some() || self.png.is_some()
    }

    /// Writes what was let pass, and says where it is; `svg` draws the picture, where one is asked for.
    pub fn write(&self, svg: impl FnOnce() -> String) -> Result<(), Failure> {
        if !self.any() {
            return Ok(());
        }
        let svg = svg();
        if let Some(path) = &self.svg {
            write_picture(path, svg.as_bytes())?;
        }
        self.png.as_deref().map_or(Ok(()), |path| write_picture(path, &png(&svg)))
    }
}

fn write_picture(path: &Path, picture: &[u8]) -> Result<(), Failure> {
    write_whole(path, picture).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    say(format!("Picture: {}", path.display()));
    Ok(())
}

/// `text` with what is no text shown as what it is: names come from files of others.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_text(c) || c == '\n' {
            true => shown.push(c),
            false => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

/// JSON with what is no text in its strings escaped: it reads the same.
pub fn shown_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match is_text(c) || c == '\n' {
            true => shown.push(c),
            false => shown.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    shown
}

/// A cell of CSV: in quotes, and never one that a spreadsheet takes for a formula.
pub fn csv_cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{guard}{}\"", shown(text).replace('\n', " ").replace('"', "\"\""))
}

/// Says a line on standard error, if anybody listens.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", shown(&line.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_shown_and_no_cell_is_a_formula() {
        assert_eq!(shown("a\x1b[31mb\n\u{202e}c"), "a\\u{1b}[31mb\n\\u{202e}c");
        let name = serde_json::json!({ "name": "a\u{9b}31m\u{202e}\u{7f}" });
        let json = shown_json(&name.to_string());
        assert_eq!(json, "{\"name\":\"a\\u009b31m\\u202e\\u007f\"}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), name);
        assert_eq!(csv_cell("=1+\"2\"\n3"), "\"'=1+\"\"2\"\" 3\"");
        assert_eq!(csv_cell("-x"), "\"'-x\"");
        assert_eq!(csv_cell("a-b"), "\"a-b\"");
    }
}
