//! The shell of pages without a script (a fit's, a rebuild's): one style, light and dark, from 360 px on; figures with captions, and tables
//! that scroll sideways on a phone. The colours are those of the report page (`web/src/style/colours.css`).

use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1c2024;--soft:#5b646d;--rule:#dfe3e6;--wash:#f3f5f6;--side-0:#0072b2;--side-1:#d55e00;\
--side-2:#00855f;--side-3:#b0578d;--side-4:#b87d00;--side-5:#3c8fc4;--side-6:#555d66}\
@media screen and (prefers-color-scheme:dark){:root{--paper:#15181b;--ink:#e8eaec;--soft:#a3adb6;--rule:#343b42;--wash:#1d2226;\
--side-0:#56b4e9;--side-1:#f08a4b;--side-2:#3ecf9f;--side-3:#e29bc6;--side-4:#f0b840;--side-5:#9fb8ff;--side-6:#b5bdc5}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}\
h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.15rem;margin-top:2rem}\
.head{font-size:1.25rem;border-left:.3rem solid var(--side-1);padding-left:.8rem}\
.table{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}\
td,th{padding:.2rem .7rem;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}th{color:var(--soft);font-weight:600}\
td:first-child,th:first-child{text-align:left}\
figure{margin:1.5rem 0;overflow-x:auto}svg{width:100%;min-width:32rem;height:auto}svg text{fill:currentColor}\
figcaption{color:var(--soft);font-size:.9rem}code{background:var(--wash);padding:.1rem .3rem;overflow-wrap:anywhere}\
details{margin:1rem 0}summary{cursor:pointer}";

/// A page with its first sentence, which answers; `body` is HTML.
pub(crate) fn render_page(title: &str, answer: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>{title}</title><style>{STYLE}</style>\n<h1>{title}</h1>\n\
         <p class=\"head\">{answer}</p>\n{body}</html>\n",
        title = escape_html(title),
        answer = escape_html(answer),
    )
}

pub(crate) fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Adds a heading and a table, if there are rows.
pub(crate) fn write_section(
    html: &mut String,
    heading: &str,
    heads: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return;
    }
    let cells = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        cells.fold(String::new(), |row, cell| row + &format!("<{tag}>{}</{tag}>", escape_html(cell)))
    };
    let _ = writeln!(
        html,
        "<h2>{}</h2>\n<div class=\"table\"><table><tr>{}</tr>",
        escape_html(heading),
        cells("th", &mut heads.iter().copied())
    );
    for row in rows {
        let _ = writeln!(html, "<tr>{}</tr>", cells("td", &mut row.iter().map(String::as_str)));
    }
    html.push_str("</table></div>\n");
}

/// The width of a picture in SVG units; text is 13 units high.
pub(crate) const WIDTH: f64 = 860.0;

/// The colour of a line of the ground, and of a side by its number.
pub(crate) const RULE: &str = "var(--rule)";
pub(crate) const SIDES: [&str; 7] = [
    "var(--side-0)",
    "var(--side-1)",
    "var(--side-2)",
    "var(--side-3)",
    "var(--side-4)",
    "var(--side-5)",
    "var(--side-6)",
];

/// A picture with its caption below.
pub(crate) fn figure_html(height: f64, body: &str, caption: &str) -> String {
    let words = escape_html(caption);
    format!(
        "<figure><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{words}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"13\">{body}</svg><figcaption>{words}</figcaption></figure>\n"
    )
}

pub(crate) fn draw_text(body: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let words = escape_html(words);
    let _ = write!(body, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

pub(crate) fn draw_line(body: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: &str, width: f64) {
    let _ = write!(
        body,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
    );
}

/// A dot, or a ring.
pub(crate) fn draw_dot(body: &mut String, (x, y): (f64, f64), colour: &str, filled: bool) {
    let fill = if filled { colour } else { "var(--paper)" };
    let _ = write!(
        body,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
    );
}

/// A line through points.
pub(crate) fn draw_path(body: &mut String, points: &[(f64, f64)], stroke: &str) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = write!(
        body,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\" stroke-linejoin=\"round\"/>",
        points.join(" ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_no_markup() {
        let mut text = String::new();
        write_section(&mut text, "<b>", &["a"], [vec!["1 < 2 & \"x\"".to_owned()]]);
        assert!(text.contains("&lt;b&gt;") && text.contains("1 &lt; 2 &amp; &quot;x&quot;"), "{text}");
        let empty = text.clone();
        write_section(&mut text, "none", &["a"], []);
        assert_eq!(text, empty);
        assert!(render_page("<t>", "a & b", "").contains("<title>&lt;t&gt;</title>"));
    }
}
