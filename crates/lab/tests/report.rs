//! The report from outside: what a stranger's file names can and cannot do to the page, and that both sides of the page
//! agree on its data. `SEEKWISE_UPDATE=1` writes the page's list of parts from the model's.

use seekwise_disk::record::Part;
use seekwise_lab::report::review::{BriefAnswer, BriefCase, BriefLine, Chapter, ReviewReport};
use seekwise_lab::report::{Report, ReportArray, ReportMember, render_html};
use serde_json::Value;

#[path = "../examples/sample_report/sample.rs"]
mod sample;

const TYPES: &str = include_str!("../../../web/src/report.ts");

/// The data of a page, read back as a browser would: up to the first end of the script element.
fn data(page: &str) -> Value {
    let opening = r#"<script type="application/json" id="report-data">"#;
    let (_, rest) = page.split_once(opening).expect("the page has its data");
    let (json, _) = rest.split_once("</script").expect("the element ends");
    serde_json::from_str(json).expect("the data is JSON")
}

#[test]
fn data_comes_back_as_it_went_in() {
    for report in [sample::study(), sample::compare(), sample::run()] {
        // Through text as well, so that both sides have passed the same reader of decimal numbers.
        let json = serde_json::to_string(&report).expect("a report is plain data");
        let expected: Value = serde_json::from_str(&json).expect("and JSON");
        assert!(data(&render_html(&report)) == expected, "{} came back changed", report.title);
    }
}

#[test]
fn hostile_names_change_no_element_of_the_page() {
    let hostile = "</script></noscript></title><img src=x onerror=alert(1)><!--\u{2028}&amp;";
    let mut report = sample::study();
    for cell in &mut report.cells {
        cell.id = hostile.to_owned();
        cell.levels[1] = hostile.to_owned();
        cell.flags = vec![hostile.to_owned()];
    }
    report.factors[1].levels[0] = hostile.to_owned();
    report.title = hostile.to_owned();
    report.verdicts[0].headline = hostile.to_owned();
    report.stack[0].name = hostile.to_owned();
    report.command = "/*report-data*/<!--report-plain-->".to_owned();
    let page = render_html(&report);
    let plain = render_html(&Report::default());
    for tag in ["<script", "</script", "<noscript", "</noscript", "</title", "<img", "<!--"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert_eq!(data(&page)["title"], hostile);
}

#[test]
fn large_seeds_survive() {
    let report = Report { seed: u64::MAX, ..Report::default() };
    assert_eq!(data(&render_html(&report))["seed"], "18446744073709551615");
}

#[test]
fn figures_that_are_not_numbers_become_null() {
    let mut report = sample::run();
    report.cells[0].iops.low = f64::NAN;
    assert_eq!(data(&render_html(&report))["cells"][0]["iops"]["low"], Value::Null);
}

#[test]
fn page_types_name_every_field() {
    let mut missing = Vec::new();
    let mut report = sample::study();
    report.cells.truncate(1);
    report.cells[0].array = Some(ReportArray { members: vec![ReportMember::default()], ..ReportArray::default() });
    collect_missing(&serde_json::to_value(&report).expect("plain data"), &mut missing);
    assert!(missing.is_empty(), "web/src/report.ts does not know {missing:?}");
}

fn collect_missing(value: &Value, missing: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_part = Part::ALL.iter().any(|part| part.name() == name);
                if !is_part && !TYPES.contains(&format!("  {name}: ")) {
                    missing.push(name.clone());
                }
                collect_missing(field, missing);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_missing(item, missing)),
        _ => {}
    }
}

#[test]
fn page_types_name_every_field_of_a_review() {
    let chapter = Chapter { why: Some(String::new()), ..Chapter::default() };
    let brief = BriefAnswer {
        lines: vec![BriefLine { cases: vec![BriefCase::default()], ..BriefLine::default() }],
        ..BriefAnswer::default()
    };
    let review = ReviewReport { chapters: vec![chapter], brief, ..ReviewReport::default() };
    let mut missing = Vec::new();
    collect_missing(&serde_json::to_value(&review).expect("plain data"), &mut missing);
    assert!(missing.is_empty(), "web/src/report.ts does not know {missing:?}");
}

#[test]
fn anatomy_names_the_parts_of_the_model() {
    let report = serde_json::to_string(&sample::run().cells[0].anatomy_ms).expect("plain data");
    let offsets: Vec<_> = Part::ALL.iter().map(|part| report.find(&format!("\"{}\":", part.name()))).collect();
    assert!(offsets.iter().all(Option::is_some) && offsets.is_sorted(), "{report}");
    assert_eq!(report.matches(':').count(), Part::COUNT);
}

/// The page's list of parts.
fn page_parts() -> String {
    let rows = Part::ALL.map(|part| format!("  [{:?}, {:?}],\n", part.name(), part.meaning()));
    format!(
        "// The parts of a response, in the order in which a request meets them, and what each is. A test of crates/lab writes\n\
         // this file from `Part` in crates/disk/src/parts.rs (SEEKWISE_UPDATE=1) and compares the two.\n\n\
         export const PARTS = [\n{}] as const;\n\n\
         export type Part = (typeof PARTS)[number][0];\n",
        rows.concat()
    )
}

#[test]
fn the_page_lists_the_parts_of_the_model() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/parts.ts");
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        std::fs::write(path, page_parts()).expect("the page's sources can be written");
    }
    let listed = std::fs::read_to_string(path).expect("the page has a list of parts");
    assert_eq!(listed, page_parts(), "SEEKWISE_UPDATE=1 writes it, then `cargo xtask page`");
}

#[test]
fn the_page_has_colours_for_each_part() {
    let colours = include_str!("../../../web/src/style/colours.css");
    let themes = colours.matches("--on-side:").count();
    for part in Part::ALL.map(Part::name) {
        for colour in [format!("--part-{part}:"), format!("--on-{part}:")] {
            assert_eq!(colours.matches(&colour).count(), themes, "{colour} in each theme");
        }
        let patch = format!(".part-{part} {{\n  --patch: var(--part-{part});");
        assert!(include_str!("../../../web/src/style/figures.css").contains(&patch), "{patch}");
    }
}

#[test]
fn sample_anatomy_adds_up() {
    for cell in sample::study().cells {
        let Value::Object(parts) = serde_json::to_value(cell.anatomy_ms).expect("plain data") else { panic!("a map") };
        let sum: f64 = parts.values().filter_map(Value::as_f64).sum();
        assert!((sum / cell.response_ms.mean - 1.0).abs() < 1e-9, "{}: {sum}", cell.id);
    }
}
