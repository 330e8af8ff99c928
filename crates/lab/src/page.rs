//! The shell of pages without a script (of a comparison, a validation, a power cut, a crash, a fit, a rebuild): one style, light and dark,
//! from 360 px on; a question and its answer, figures with captions, and tables that scroll sideways on a phone. No page has a style of
//! its own. The colours are those of the report page (`web/src/style/colours.css`).

use std::fmt::Write;

use crate::plot::palette;

const STYLE: &str = "\
:root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1c2024;--soft:#5b646d;--rule:#dfe3e6;--wash:#f3f5f6;--side-0:#0072b2;--side-1:#d55e00;\
--side-2:#00855f;--side-3:#b0578d;--side-4:#b87d00;--side-5:#3c8fc4;--side-6:#555d66;--good:#00694b;--bad:#a33c00;--even:#47525c}\
@media screen and (prefers-color-scheme:dark){:root{--paper:#15181b;--ink:#e8eaec;--soft:#a3adb6;--rule:#343b42;--wash:#1d2226;\
--side-0:#56b4e9;--side-1:#f08a4b;--side-2:#3ecf9f;--side-3:#e29bc6;--side-4:#f0b840;--side-5:#9fb8ff;--side-6:#b5bdc5;\
--good:#5fd6ad;--bad:#ff9a66;--even:#b9c2ca}}\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--paper)}\
h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}p,li,h2,summary{overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2rem}\
.head{font-size:1.25rem;border-left:.3rem solid var(--side-1);padding-left:.8rem}\
.table{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}\
td,th{padding:.2rem .7rem;border-bottom:1px solid var(--rule);text-align:right;white-space:nowrap}\
th{color:var(--soft);font-weight:600;white-space:normal;vertical-align:bottom}\
td:first-child,th:first-child{text-align:left;white-space:normal;min-width:7rem}\
figure{margin:1.5rem 0;overflow-x:auto}svg{width:100%;min-width:32rem;height:auto}svg text{fill:currentColor}.chart svg{min-width:46rem}\
figcaption{color:var(--soft);font-size:.9rem}code{background:var(--wash);padding:.1rem .3rem;overflow-wrap:anywhere}\
details{margin:1rem 0}summary{cursor:pointer}";

/// A page: a question, its answer in a sentence, then pictures, paragraphs and tables in the order in which they are added.
#[derive(Clone, Debug)]
pub struct Page {
    question: String,
    answer: String,
    body: String,
}

impl Page {
    /// A page with its question and the answer.
    pub fn new(question: impl Into<String>, answer: impl Into<String>) -> Page {
        Page { question: question.into(), answer: answer.into(), body: String::new() }
    }

    /// Adds a picture, which this crate drew as an SVG document, with its caption.
    pub fn add_chart(&mut self, svg: &str, caption: &str) {
        self.body.push_str(&chart_html(svg, caption));
    }

    /// Adds a paragraph; a line break stays one.
    pub fn add_paragraph(&mut self, text: &str) {
        write_paragraph(&mut self.body, text);
    }

    /// Adds a table with its heading, if it has rows.
    pub fn add_table(&mut self, heading: &str, heads: &[String], rows: impl IntoIterator<Item = Vec<String>>) {
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        write_section(&mut self.body, heading, &heads, rows);
    }

    /// Adds the command that makes the page's figures again.
    pub fn add_command(&mut self, command: &str) {
        write_command(&mut self.body, command);
    }

    /// The page as HTML, which needs no other file.
    pub fn render(&self) -> String {
        render_page(&self.question, &self.answer, &self.body)
    }
}

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

/// Adds a paragraph.
pub(crate) fn write_paragraph(html: &mut String, text: &str) {
    let _ = writeln!(html, "<p>{}</p>", escape_html(text).replace('\n', "<br>"));
}

/// Adds the command that makes the page's figures again.
pub(crate) fn write_command(html: &mut String, command: &str) {
    let _ = writeln!(html, "<p><code>{}</code></p>", escape_html(command));
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

/// A picture that `plot` or a room below it drew as an SVG document, with its caption: in the page's colours instead of the light ones.
pub(crate) fn chart_html(svg: &str, caption: &str) -> String {
    let mut svg = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{}\" ", escape_html(caption)), 1);
    for (colour, variable) in palette::variables() {
        svg = svg.replace(&format!("\"{colour}\""), &format!("\"var(--{variable})\""));
    }
    // Axes and other text have the drawing crate's own black.
    svg = svg.replace("\"#000000\"", "\"currentColor\"");
    format!("<figure class=\"chart\">{svg}<figcaption>{}</figcaption></figure>\n", escape_html(caption))
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

    /// The value of a variable in a theme's text, such as `#1c2024`.
    fn variable_value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
        let (_, rest) = text.split_once(&format!("--{name}:"))?;
        rest.split([';', '}']).next().map(str::trim)
    }

    #[test]
    fn pages_pictures_and_the_report_have_the_same_colours() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/style/colours.css");
        let css = std::fs::read_to_string(path).expect("the report page has colours");
        let (report_light, report_dark) = css.split_once("@media screen").unwrap();
        let (light, dark) = STYLE.split_once("@media screen").unwrap();
        for (colour, name) in palette::variables() {
            assert_eq!(variable_value(light, &name), variable_value(report_light, &name), "--{name} in light");
            assert_eq!(variable_value(dark, &name), variable_value(report_dark, &name), "--{name} in dark");
            // Paper is white in a picture, which may lie on any page.
            let drawn = if name == "paper" { "#fdfdfc".to_owned() } else { colour.to_lowercase() };
            assert_eq!(variable_value(light, &name), Some(drawn.as_str()), "--{name} in pictures");
        }
    }

    #[test]
    fn charts_have_no_colour_of_their_own_and_no_fixed_width() {
        let points = [(0.0, 1.0), (1.0, 2.0), (2.0, 1.5)];
        let picture = crate::plot::Picture { title: "Seek", x: "cylinders", y: "ms", points: &points };
        let html = chart_html(&crate::plot::draw_svg(&picture, 640, 360), "a \"caption\"");
        assert!(!html.contains("\"#"), "{html}");
        for part in
            ["fill=\"var(--paper)\"", "stroke=\"var(--side-0)\"", "viewBox=", "a &quot;caption&quot;</figcaption>"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
