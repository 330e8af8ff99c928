//! The page as an HTML file: a report put into the built template.
//!
//! The template is `crates/lab/dist/report.html`, built from `web/` and committed. It has three placeholders: the title, the plain form
//! and the data. Names come from files that strangers write, so everything is escaped before it is put in: the data become JSON without
//! a character that could end a script, the rest HTML text. The page's own scripts set text and never HTML.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::{Report, noscript};

const TEMPLATE: &str = include_str!("../../dist/report.html");

/// Placeholders of the template, in its order. Each occurs exactly once.
const TITLE: &str = "<title>Seekwise report</title>";
const PLAIN: &str = "<!--report-plain-->";
const DATA: &str = "/*report-data*/";

/// The report as one self-contained HTML file: no network, no other file.
pub fn render_html(report: &Report) -> String {
    write_to_string(|out| write_html(report, out))
}

/// Writes the report as HTML piece by piece: a page of many cells has megabytes.
pub fn write_html(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write_page(out, &report.title, &noscript::plain_html(report), report)
}

/// Collects the output of `write` as text.
pub(super) fn write_to_string(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory takes all that is written");
    String::from_utf8(bytes).expect("a page is text")
}

/// Writes the template with its placeholders replaced by a title, the plain form and the data.
pub(super) fn write_page(out: &mut dyn Write, title: &str, plain_html: &str, data: &impl Serialize) -> io::Result<()> {
    let title = |out: &mut dyn Write| write!(out, "<title>{}</title>", escape_text(title));
    let plain = |out: &mut dyn Write| out.write_all(plain_html.as_bytes());
    fill_template(out, TEMPLATE, &[(TITLE, &title), (PLAIN, &plain), (DATA, &|out| write_json(out, data))])
}

/// Writes the text that replaces a placeholder.
type Replacement<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Copies the template with each placeholder replaced. It only moves forward: text that was put in is never searched again.
fn fill_template(out: &mut dyn Write, template: &str, replacements: &[(&str, Replacement<'_>)]) -> io::Result<()> {
    let mut rest = template;
    for (placeholder, write_replacement) in replacements {
        let (before, after) =
            rest.split_once(placeholder).expect("the built template has each placeholder once, in this order");
        out.write_all(before.as_bytes())?;
        write_replacement(out)?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

/// The report as JSON that cannot leave a script element: `<`, `>`, `&` and the two line separators of JavaScript
/// become `\u` escapes. Outside strings JSON has none of them, so the value is the same.
fn write_json(out: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    // A report has only text keys and plain values, so the only possible error is that of writing.
    report.serialize(&mut Serializer::with_formatter(out, HarmlessStrings)).map_err(io::Error::from)
}

/// Writes JSON strings with the characters of [`is_harmful`] escaped.
struct HarmlessStrings;

impl Formatter for HarmlessStrings {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(is_harmful) {
            let harmful = part.char_indices().next_back().filter(|&(_, last)| is_harmful(last));
            writer.write_all(&part.as_bytes()[..harmful.map_or(part.len(), |(offset, _)| offset)])?;
            if let Some((_, character)) = harmful {
                write!(writer, "\\u{:04x}", u32::from(character))?;
            }
        }
        Ok(())
    }
}

/// True for a character that could end a script element or a line of JavaScript.
fn is_harmful(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Escapes text for a place between tags or in a quoted attribute.
pub(super) fn escape_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_has_each_place_once_and_in_order() {
        let places = [TITLE, PLAIN, DATA];
        for place in places {
            assert_eq!(TEMPLATE.matches(place).count(), 1, "{place}");
        }
        let offsets = places.map(|place| TEMPLATE.find(place));
        assert!(offsets.is_sorted(), "{offsets:?}");
        let data = format!(r#"<script type="application/json" id="report-data">{DATA}</script>"#);
        assert_eq!(TEMPLATE.matches(&data).count(), 1);
    }

    #[test]
    fn template_asks_for_nothing_from_outside() {
        for tag in ["<link", "src=\"http", "src=\"/", "src=\"./", "href=\"http", "@import"] {
            assert!(!TEMPLATE.contains(tag), "the page loads something: {tag}");
        }
        assert!(TEMPLATE.contains("default-src 'none'"), "the page forbids itself the network");
    }

    #[test]
    fn a_filled_place_is_not_searched_again() {
        let text = |text: &'static str| move |to: &mut dyn Write| to.write_all(text.as_bytes());
        let filled =
            write_to_string(|to| fill_template(to, "a [1] b [2] c", &[("[1]", &text("[2]")), ("[2]", &text("x"))]));
        assert_eq!(filled, "a [2] b x c");
    }

    #[test]
    fn json_without_a_way_out() {
        let name = "</script><img onerror=alert(1)>&\u{2028}\u{2029}";
        let report = Report { title: name.to_owned(), ..Report::default() };
        let json = write_to_string(|to| write_json(to, &report));
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        let back: serde_json::Value = serde_json::from_str(&json).expect("still JSON");
        assert_eq!(back["title"], name);
    }

    #[test]
    fn text_without_a_way_out() {
        assert_eq!(escape_text(r#"<a href="x" id='y'>&"#), "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
    }
}
