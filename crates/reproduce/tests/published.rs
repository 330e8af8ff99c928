//! Simulates the published measurements of `crates/reproduce/published.toml` and compares them, case by case.
//!
//! A case marked as holding must be within its tolerance, and a case marked as not holding must not; `docs/published.md` must have
//! the simulated figures to the last digit. `SEEKWISE_UPDATE=1` writes the page, and `holds` of each case, instead of comparing them;
//! causes and reasons are written by hand. Drives that are not built in have their profiles in `validation/published`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seekwise_lab::catalogue;
use seekwise_lab::fit::data::FitData;
use seekwise_lab::fit::sources::{FileArgument, parse_data};
use seekwise_lab::inputs::InputCache;
use seekwise_lab::workers::Workers;
use seekwise_reproduce::published::{CaseRole, PublishedCase, PublishedList, PublishedSet, parse_published};

use page::JudgedCase;

mod page;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The simulated figure of a case; a drive that is not built in has its profile in `validation/published`.
fn simulate(case: &PublishedCase, cache: &Arc<InputCache>) -> f64 {
    let read = |name: &str| fs::read_to_string(workspace().join(format!("validation/published/{name}.toml")));
    case.simulate(&[], &read, cache).unwrap_or_else(|fault| panic!("{}: {fault}", case.what))
}

/// The page with other texts between the marks of its blocks.
fn with_blocks(page: &str, blocks: &[(&str, String)]) -> String {
    blocks.iter().fold(page.to_owned(), |page, (name, block)| {
        let start = format!("<!-- {name} -->\n");
        let (before, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no <!-- {name} -->"));
        let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("no end of {name}"));
        format!("{before}{start}{block}<!-- end -->{after}")
    })
}

/// The lines in which the page differs from what it should be.
fn compare_pages(committed: &str, renewed: &str) -> Option<String> {
    let lines_without = |page: &str, other: &str| -> Vec<String> {
        page.lines().filter(|line| !other.lines().any(|other| other == *line)).map(str::to_owned).collect()
    };
    (committed != renewed).then(|| {
        format!(
            "docs/published.md is stale; SEEKWISE_UPDATE=1 writes it.\n- {}\n+ {}",
            lines_without(committed, renewed).join("\n- "),
            lines_without(renewed, committed).join("\n+ ")
        )
    })
}

/// The list of cases with other values of `holds`, in the order of the figures; none if it has another number of them.
fn with_holds(text: &str, holds: &[bool]) -> Option<String> {
    let mut values = holds.iter();
    let mut with_value = |line: &str| match line.split_once("holds = ") {
        Some((before, after)) if !line.starts_with('#') => {
            let rest = after.strip_prefix("true").or_else(|| after.strip_prefix("false"))?;
            Some(format!("{before}holds = {}{rest}\n", values.next()?))
        }
        _ => Some(format!("{line}\n")),
    };
    let renewed = text.lines().map(&mut with_value).collect::<Option<String>>()?;
    values.next().is_none().then_some(renewed)
}

/// Checks that the entry of a case is complete; the error says what is missing.
fn check_entry(list: &PublishedList, case: &PublishedCase) -> Result<(), &'static str> {
    let checks = [
        (!case.why.is_empty(), "give the reason of its tolerance in `why`"),
        (case.holds == case.because.is_empty(), "give `because` if and only if it does not hold"),
        (case.holds == case.cause.is_none(), "give `cause` if and only if it does not hold"),
        (list.drive.iter().any(|drive| drive.name == case.drive), "its drive has no source"),
    ];
    checks.into_iter().try_for_each(|(right, fault)| if right { Ok(()) } else { Err(fault) })
}

/// Checks that a drive says which figures were fitted exactly if some were.
fn check_drive(list: &PublishedList, drive: &PublishedSet) -> Result<(), &'static str> {
    let mut cases = list.case.iter().filter(|case| case.drive == drive.name);
    let has_fitted = cases.any(|case| case.role == CaseRole::Fitted);
    (has_fitted != drive.fitted.is_empty()).then_some(()).ok_or("give `fitted` if and only if a case was")
}

#[test]
fn cases_hold_as_marked_and_the_page_has_their_figures() {
    let (list_path, page_path) =
        (workspace().join("crates/reproduce/published.toml"), workspace().join("docs/published.md"));
    let text = fs::read_to_string(&list_path).expect("the cases");
    let mut list = parse_published(&text).expect("cases");
    let cache = Arc::default();
    let simulated: Vec<f64> = Workers::Shared.map(&list.case, |case| simulate(case, &cache));
    let page = fs::read_to_string(&page_path).expect("the page");
    let is_update = std::env::var_os("SEEKWISE_UPDATE").is_some();
    if is_update {
        let holds: Vec<bool> =
            list.case.iter().zip(&simulated).map(|(case, figure)| case.is_within_tolerance(*figure)).collect();
        let renewed = with_holds(&text, &holds).expect("a line with `holds` for each figure");
        list = parse_published(&renewed).expect("cases");
        fs::write(&list_path, renewed).expect("the cases are written");
    }
    let judged = list.case.iter().zip(&simulated).map(|(case, &simulated)| JudgedCase { case, simulated });
    let judged: Vec<JudgedCase<'_>> = judged.collect();
    let blocks = [("opening", page::opening(&list, &judged)), ("cases", page::sections(&list, &judged))];
    let renewed = with_blocks(&page, &blocks);
    let mut wrong: Vec<String> = judged.iter().filter_map(mismatch).collect();
    let name = |case: &PublishedCase| format!("{}, {}", case.drive, case.what);
    let entries = list.case.iter().map(|case| (name(case), check_entry(&list, case)));
    let drives = list.drive.iter().map(|drive| (drive.name.clone(), check_drive(&list, drive)));
    wrong.extend(
        entries.chain(drives).filter_map(|(name, checked)| checked.err().map(|fault| format!("{name}: {fault}"))),
    );
    if is_update {
        fs::write(&page_path, renewed).expect("the page is written");
    } else {
        wrong.extend(compare_pages(&page, &renewed));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fault of a case whose simulated figure contradicts its `holds`.
fn mismatch(judged: &JudgedCase<'_>) -> Option<String> {
    let JudgedCase { case, simulated } = judged;
    (case.is_within_tolerance(*simulated) != case.holds).then(|| {
        format!(
            "{}, {}: {simulated:.3} against {} ({:+.1} %), but crates/reproduce/published.toml has holds = {}",
            case.drive,
            case.what,
            case.measured,
            case.deviation_percent(*simulated),
            case.holds
        )
    })
}

#[test]
fn an_update_writes_holds_of_each_figure_in_its_place() {
    let text = "# `holds = false` has a reason\nheld_first = true\nholds = true\nalso = [\n    { held_first = true, holds = false },\n]\n";
    let renewed =
        text.replace("\nholds = true", "\nholds = false").replace("true, holds = false", "true, holds = true");
    assert_eq!(with_holds(text, &[false, true]), Some(renewed));
    assert_eq!([with_holds(text, &[true]), with_holds(text, &[true; 3])], [None, None]);
}

/// `seekwise fit` accepts the list: cases of the drive with all of their figures.
#[test]
fn a_fit_reads_the_list() {
    let text = fs::read_to_string(workspace().join("crates/reproduce/published.toml")).expect("the cases");
    let argument = FileArgument::parse("published.toml").expect("a file");
    let (name, profile) = ("exos-x18", catalogue::find_text("exos-x18").expect("built in"));
    let drive = catalogue::load_drive(name).expect("built in");
    let (data, _) = parse_data(&[argument], &[text], 0.0, &drive, profile).expect("points");
    let FitData::Points(points) = &data[0] else { panic!("points") };
    assert_eq!(points.len(), 2);
}
