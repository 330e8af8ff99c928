//! The page: a report put into the built template.
//!
//! The template is `crates/lab/dist/report.html`, built from `web/` and committed; it has three places to fill. Names come
//! from files that strangers write, so everything is made harmless before it is put in: the data as JSON without a
//! character that could end a script, the rest as escaped text. The page itself only ever sets text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::{Report, noscript};

const TEMPLATE: &str = include_str!("../../dist/report.html");

/// The places of the template to fill, in the order of the template. Each occurs exactly once.
const TITLE: &str = "<title>Seekwise report</title>";
const PLAIN: &str = "<!--report-plain-->";
const DATA: &str = "/*report-data*/";

/// The report as one self-contained HTML file: no network, no other file.
pub fn render_html(report: &Report) -> String {
    write_to_string(|to| write_html(report, to))
}

/// Writes the report as HTML piece by piece: a page of many cells has megabytes.
pub fn write_html(report: &Report, to: &mut dyn Write) -> io::Result<()> {
    write_filled(to, &report.title, &noscript::plain_html(report), report)
}

/// Collects the output of `write` as text.
pub(super) fn write_to_string(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory takes all that is written");
    String::from_utf8(bytes).expect("a page is text")
}

/// The template with a title, its plain form and its data.
pub(super) fn write_filled(to: &mut dyn Write, title: &str, plain: &str, data: &impl Serialize) -> io::Result<()> {
    let title = |to: &mut dyn Write| write!(to, "<title>{}</title>", escape_text(title));
    let plain = |to: &mut dyn Write| to.write_all(plain.as_bytes());
    fill_template(to, TEMPLATE, &[(TITLE, &title), (PLAIN, &plain), (DATA, &|to| write_json(to, data))])
}

/// Writes what stands in a place.
type Fill<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

/// Copies the template with each place replaced, only forward: text that was put in is never searched again.
fn fill_template(to: &mut dyn Write, template: &str, fills: &[(&str, Fill<'_>)]) -> io::Result<()> {
    let mut rest = template;
    for (place, write) in fills {
        let (before, after) = rest.split_once(place).expect("the built template has each place once, in this order");
        to.write_all(before.as_bytes())?;
        write(to)?;
        rest = after;
    }
    to.write_all(rest.as_bytes())
}

/// The report as JSON that cannot leave a script element: `<`, `>`, `&` and the two line separators of JavaScript
/// become `\u` escapes. Outside strings JSON has none of them, so the value is the same.
fn write_json(to: &mut dyn Write, report: &impl Serialize) -> io::Result<()> {
    // A report has only text keys and plain values: what fails is the writing.
    report.serialize(&mut Serializer::with_formatter(to, HarmlessStrings)).map_err(io::Error::from)
}

/// Writes strings with those escapes.
struct HarmlessStrings;

impl Formatter for HarmlessStrings {
    fn write_string_fragment<W: io::Write + ?Sized>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for part in fragment.split_inclusive(is_harmful) {
            let ends = part.char_indices().next_back().filter(|&(_, last)| is_harmful(last));
            writer.write_all(&part.as_bytes()[..ends.map_or(part.len(), |(at, _)| at)])?;
            if let Some((_, last)) = ends {
                write!(writer, "\\u{:04x}", u32::from(last))?;
            }
        }
        Ok(())
    }
}

fn is_harmful(c: char) -> bool {
    matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')
}

/// Text that can stand between tags or in a quoted attribute.
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
