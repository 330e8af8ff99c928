//! The text of docs/published.md: counts, tables and cases, all from the list of cases and their simulated figures. It runs nothing
//! and reads no file.

use std::fmt::{self, Display, Write};

use seekwise_reproduce::published::{CaseRole, MissCause, PublishedCase, PublishedList, PublishedSet};

/// A case and its simulated figure.
#[derive(Clone, Copy)]
pub struct JudgedCase<'a> {
    pub case: &'a PublishedCase,
    pub simulated: f64,
}

impl JudgedCase<'_> {
    fn holds(&self) -> bool {
        self.case.is_within_tolerance(self.simulated)
    }
}

/// The number of cases that hold, and of all.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    held: usize,
    all: usize,
}

impl Display for Held {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all == 0 { to.write_str("—") } else { write!(to, "{} of {}", self.held, self.all) }
    }
}

/// Counts the cases of a role that hold.
fn count_held(cases: &[JudgedCase<'_>], role: CaseRole) -> Held {
    count_with(cases, role, |judged| judged.holds())
}

/// Counts the tried cases that held on the day of their first comparison.
fn count_held_first(cases: &[JudgedCase<'_>]) -> Held {
    count_with(cases, CaseRole::Tried, |judged| judged.case.held_first)
}

fn count_with(cases: &[JudgedCase<'_>], role: CaseRole, holds: impl Fn(&JudgedCase<'_>) -> bool) -> Held {
    let mut in_role = cases.iter().filter(|judged| judged.case.role == role);
    let all = in_role.clone().count();
    Held { held: in_role.by_ref().filter(|judged| holds(judged)).count(), all }
}

/// The page's opening: the headline, and the tables by work, by cause and by drive.
pub fn opening(list: &PublishedList, cases: &[JudgedCase<'_>]) -> String {
    let (tried, fitted) = (count_held(cases, CaseRole::Tried), count_held(cases, CaseRole::Fitted));
    let tolerances = cases.iter().map(|judged| judged.case.within);
    format!(
        "**Tried: {tried} figures hold**, {} on the day of their first comparison. No parameter of a drive was set on them.\n\n\
         **Fitted: {fitted} figures hold.** A parameter was set on each, so they show what the model can express, not what it \
         predicts.\n\n\
         ## Where to trust it\n\n\
         Each figure has a tolerance of its own, which the tables below give: {} to {} %. Work that can be trusted most stands first.\n\n{}\n\
         ## Why figures miss\n\n{}\n\
         ## Which figures were fitted, and which were predicted since when\n\n{}",
        count_held_first(cases).held,
        tolerances.clone().fold(f64::INFINITY, f64::min),
        tolerances.fold(0.0, f64::max),
        table_by_work(cases),
        table_by_cause(cases),
        table_by_drive(list, cases),
    )
}

/// The kinds of work that the page counts apart.
const WORK: [&str; 6] = [
    "random reads: rates",
    "random reads: response times",
    "random writes: rates",
    "random writes: response times",
    "sequential reads and writes",
    "flushes and synced writes, also beside reads",
];

/// The kind of a case's work, by its job and figure.
fn work_of(case: &PublishedCase) -> &'static str {
    let has = |option: &str| case.job.lines().any(|line| line.starts_with(option));
    let is_time = case.figure.trim_start_matches("write.").starts_with('p');
    let index = if has("fsync=") || has("fdatasync=") || has("sync=1") {
        5
    } else if has("rw=randread") {
        usize::from(is_time)
    } else if has("rw=randwrite") {
        2 + usize::from(is_time)
    } else {
        4
    };
    WORK[index]
}

/// The cases by kind of work, those whose tried cases hold most often first.
fn table_by_work(cases: &[JudgedCase<'_>]) -> String {
    let mut rows: Vec<(Held, String)> = WORK
        .iter()
        .map(|work| {
            let of_work: Vec<_> = cases.iter().filter(|judged| work_of(judged.case) == *work).copied().collect();
            let tried = count_held(&of_work, CaseRole::Tried);
            let (half, fitted) = (median_deviation(&of_work), count_held(&of_work, CaseRole::Fitted));
            (tried, format!("| {work} | {tried} | {half} | {fitted} |\n"))
        })
        .collect();
    rows.sort_by_key(|(tried, _)| std::cmp::Reverse(1000 * tried.held / tried.all.max(1)));
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    let head =
        "| work | tried figures that hold | half of the tried figures are off by at most | fitted figures that hold |";
    format!("{head}\n|---|---|---|---|\n{rows}")
}

/// The median of the tried figures' deviations, whichever their sign.
fn median_deviation(cases: &[JudgedCase<'_>]) -> String {
    let tried = cases.iter().filter(|judged| judged.case.role == CaseRole::Tried);
    let mut off: Vec<f64> = tried.map(|judged| judged.case.deviation_percent(judged.simulated).abs()).collect();
    off.sort_by(f64::total_cmp);
    if off.is_empty() { "—".to_owned() } else { format!("{:.1} %", off[(off.len() - 1) / 2]) }
}

/// The cases by probable cause of their miss, with the denominators of both roles.
fn table_by_cause(cases: &[JudgedCase<'_>]) -> String {
    let (tried, fitted) = (count_held(cases, CaseRole::Tried), count_held(cases, CaseRole::Fitted));
    let mut text = format!(
        "| probable cause | tried, of {} | fitted, of {} |\n|---|---|---|\n| none: the figure holds | {} | {} |\n",
        tried.all, fitted.all, tried.held, fitted.held
    );
    let missed_in = |role: CaseRole, is_counted: &dyn Fn(MissCause) -> bool| {
        let missed = cases.iter().filter(|judged| judged.case.role == role && !judged.holds());
        missed.filter(|judged| judged.case.cause.is_some_and(is_counted)).count()
    };
    for (unpublished, title) in [(true, "the source leaves out a condition"), (false, "the model is wrong")] {
        let total = |role| missed_in(role, &|cause| cause.is_unpublished_condition() == unpublished);
        let _ = writeln!(text, "| **{title}** | {} | {} |", total(CaseRole::Tried), total(CaseRole::Fitted));
        for cause in MissCause::ALL.into_iter().filter(|cause| cause.is_unpublished_condition() == unpublished) {
            let of_cause = |role| missed_in(role, &|other| other == cause);
            let _ = writeln!(
                text,
                "| · {} | {} | {} |",
                cause.words(),
                of_cause(CaseRole::Tried),
                of_cause(CaseRole::Fitted)
            );
        }
    }
    text
}

/// The first and last day on which tried cases were first compared.
fn days(cases: &[JudgedCase<'_>]) -> String {
    let tried = cases.iter().filter(|judged| judged.case.role == CaseRole::Tried).map(|judged| judged.case.since);
    match (tried.clone().min(), tried.max()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(day), _) => day.to_string(),
        _ => "—".to_owned(),
    }
}

/// The drives: the source, the figures that were fitted and tried, how many hold, and since when they are compared.
fn table_by_drive(list: &PublishedList, cases: &[JudgedCase<'_>]) -> String {
    let mut text =
        "| drive | measured by | fitted | of these hold | tried | of these hold | held at first | first compared |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for drive in &list.drive {
        let of_drive = cases_of(drive, cases);
        let fitted = if drive.fitted.is_empty() { "nothing" } else { &drive.fitted };
        let _ = writeln!(
            text,
            "| [{name}](#{}) | {} | {fitted} | {} | {} | {} | {} | {} |",
            drive.name.replace('.', ""),
            drive.by,
            count_held(&of_drive, CaseRole::Fitted),
            drive.tried,
            count_held(&of_drive, CaseRole::Tried),
            count_held_first(&of_drive),
            days(&of_drive),
            name = drive.name,
        );
    }
    text
}

fn cases_of<'a>(drive: &PublishedSet, cases: &[JudgedCase<'a>]) -> Vec<JudgedCase<'a>> {
    cases.iter().filter(|judged| judged.case.drive == drive.name).copied().collect()
}

/// The sections of all drives: who measured it, and its cases.
pub fn sections(list: &PublishedList, cases: &[JudgedCase<'_>]) -> String {
    list.drive.iter().map(|drive| section(drive, &cases_of(drive, cases))).collect()
}

fn section(drive: &PublishedSet, cases: &[JudgedCase<'_>]) -> String {
    let mut text = format!(
        "\n## {}\n\n{}\n\n| case | measured | simulated | deviation | tolerance | result | role | first compared |\n\
         |---|---|---|---|---|---|---|---|\n",
        drive.name, drive.source
    );
    for judged in cases {
        let case = judged.case;
        let unpublished = case.cause.is_some_and(MissCause::is_unpublished_condition);
        let result = match judged.holds() {
            true => "holds".to_owned(),
            false if unpublished => format!("**does not hold**, conditions unknown: {}", case.because),
            false => format!("**does not hold**: {}", case.because),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:+.1} % | {} % | {result} | {} | {}, {} |",
            case.what,
            case.measured,
            judged.simulated,
            case.deviation_percent(judged.simulated),
            case.within,
            if case.role == CaseRole::Fitted { "fitted" } else { "tried" },
            case.since,
            if case.held_first { "held" } else { "did not hold" },
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use seekwise_reproduce::published::parse_published;

    use super::*;

    const LIST: &str = "[[drive]]\nname = 'd-7200.7'\nby = 'N. N.'\nfitted = 'one rate'\ntried = 'the rest'\nsource = 'long'\n\
        [[case]]\ndrive = 'd-7200.7'\nwhat = 'reads'\njob = 'rw=randread'\nrole = 'fitted'\nsince = 2026-11-20\n\
        held_first = false\nwhy = 'w'\nfigure = 'iops'\nmeasured = 100\nwithin = 5\nholds = true\n\
        [[case]]\ndrive = 'd-7200.7'\nwhat = 'deep reads'\njob = 'rw=randread'\nrole = 'tried'\nsince = 2026-11-21\n\
        held_first = true\nwhy = 'w'\nfigure = 'iops'\nmeasured = 100\nwithin = 5\nholds = false\ncause = 'queue'\n\
        because = 'slow'\nalso = [\n{ figure = 'p50', measured = 100, within = 5, held_first = false, holds = true },\n\
        { figure = 'p99', measured = 100, within = 5, held_first = false, holds = false, cause = 'place', because = 'far' },\n\
        { figure = 'p90', measured = 100, within = 5, held_first = false, holds = false },\n]\n";

    fn page(simulated: [f64; 5]) -> String {
        let list = parse_published(LIST).unwrap();
        assert_eq!(list.case.len(), simulated.len());
        let judged = list.case.iter().zip(simulated).map(|(case, simulated)| JudgedCase { case, simulated });
        let cases: Vec<_> = judged.collect();
        opening(&list, &cases) + &sections(&list, &cases)
    }

    #[track_caller]
    fn assert_has(page: &str, lines: &[&str]) {
        for line in lines {
            assert!(page.lines().any(|other| other.starts_with(line)), "`{line}` is not in\n{page}");
        }
    }

    #[test]
    fn tried_and_fitted_figures_are_counted_apart_everywhere() {
        let lines = page([100.0, 50.0, 100.0, 50.0, 50.0]);
        assert_has(
            &lines,
            &[
                "**Tried: 1 of 4 figures hold**, 1 on the day of their first comparison.",
                "**Fitted: 1 of 1 figures hold.**",
                "| random reads: rates | 0 of 1 | 50.0 % | 1 of 1 |",
                "| random reads: response times | 1 of 3 | 50.0 % | — |",
                "| probable cause | tried, of 4 | fitted, of 1 |",
                "| none: the figure holds | 1 | 1 |",
                "| **the source leaves out a condition** | 1 | 0 |",
                "| **the model is wrong** | 2 | 0 |",
                "| [d-7200.7](#d-72007) | N. N. | one rate | 1 of 1 | the rest | 1 of 4 | 1 of 4 | 2026-11-21 |",
                "| deep reads: median | 100 | 100.00 | +0.0 % | 5 % | holds | tried | 2026-11-21, did not hold |",
                "| deep reads: p99 | 100 | 50.00 | -50.0 % | 5 % | **does not hold**, conditions unknown: far |",
                "| deep reads: p90 | 100 | 50.00 | -50.0 % | 5 % | **does not hold**: slow | tried |",
            ],
        );
    }

    /// A fitted figure moves no count of tried ones, and the other way round.
    #[test]
    fn a_figure_moves_the_counts_of_its_own_role_alone() {
        let (fitted_misses, tried_miss) =
            (page([50.0, 100.0, 100.0, 100.0, 100.0]), page([100.0, 50.0, 50.0, 50.0, 50.0]));
        assert_has(&fitted_misses, &["**Tried: 4 of 4 figures hold**", "**Fitted: 0 of 1 figures hold.**"]);
        assert_has(&tried_miss, &["**Tried: 0 of 4 figures hold**", "**Fitted: 1 of 1 figures hold.**"]);
    }
}
