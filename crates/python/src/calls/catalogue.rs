//! The built-in lists as tables: drives, patterns with jobs and scenes, keys, studies. They hold what the commands of the
//! same names list.

use pyo3::prelude::*;
use seekwise::Error;
use seekwise::drives::{DriveSummary, drive_summaries, load_drive, matching};
use seekwise::jobs::{JOBS, SCENES, built_in_patterns};
use seekwise::keys::{find_keys, unknown_key};
use seekwise::study::{BUILT_IN, REVIEWS, Review, parse};
use seekwise::study_plan::study_cells;

use crate::boundary::fault;
use crate::tables::columns::named_column;
use crate::tables::table::{Column, Table};

/// A row of texts: the name, and what it is.
type Texts = Vec<String>;

/// The modelled drives, or those that `words` mean.
#[pyfunction]
pub fn drives(py: Python<'_>, words: &str) -> PyResult<Table> {
    let list = || -> Result<Table, Error> {
        let mut drives = drive_summaries()?;
        if !words.is_empty() {
            let meant = matching(words);
            drives.retain(|drive| drive.name == words || meant.contains(&drive.name.as_str()));
            if drives.is_empty() {
                // Its error names the nearest drive.
                load_drive(words)?;
            }
        }
        let text = |value: &dyn Fn(&DriveSummary) -> String| Column::Text(drives.iter().map(value).collect());
        let count = |value: &dyn Fn(&DriveSummary) -> i64| Column::Count(drives.iter().map(value).collect());
        let figure = |value: &dyn Fn(&DriveSummary) -> f64| {
            Column::Figure(drives.iter().map(|drive| Some(value(drive))).collect())
        };
        Ok(Table::of_columns(vec![
            named_column("name", "", "for on=", text(&|drive| drive.name.clone())),
            named_column("title", "", "maker and model", text(&|drive| drive.title.clone())),
            named_column(
                "year",
                "",
                "of the model",
                Column::OptionalCount(drives.iter().map(|drive| drive.year.map(i64::from)).collect()),
            ),
            named_column("interface", "", "", text(&|drive| drive.interface.clone())),
            named_column("capacity_gb", "GB", "of 10^9 bytes", figure(&|drive| drive.capacity_gb)),
            named_column("rpm", "1/min", "", figure(&|drive| drive.rpm)),
            named_column("heads", "", "surfaces", count(&|drive| i64::from(drive.heads))),
            named_column("cache_kib", "KiB", "usable buffer", count(&|drive| drive.cache_kib as i64)),
            named_column("depth", "commands", "held at once", count(&|drive| i64::from(drive.depth))),
            named_column("average_seek_ms", "ms", "of reads, by the model", figure(&|drive| drive.average_seek_ms)),
            named_column("outer_mb_s", "MB/s", "of the outermost zone", figure(&|drive| drive.outer_mb_s)),
            named_column("studies", "", "that measured it", text(&|drive| drive.studies.join(", "))),
        ]))
    };
    list().map_err(|error| fault::to_exception(py, &error))
}

/// The built-in patterns, fio jobs and scenes.
#[pyfunction]
pub fn patterns() -> Table {
    let mut rows: Vec<[String; 3]> = Vec::new();
    for pattern in built_in_patterns() {
        let sizes =
            pattern.spec.lines.iter().map(|line| {
                format!("{} B {} %, {} % reads, {} % random", line.size, line.share, line.reads, line.random)
            });
        rows.push([pattern.name, "pattern".to_owned(), sizes.collect::<Vec<_>>().join("; ")]);
    }
    rows.extend(JOBS.iter().map(|job| [job.name.to_owned(), "fio job".to_owned(), job.purpose.to_owned()]));
    rows.extend(SCENES.iter().map(|scene| [scene.name.to_owned(), "scene".to_owned(), scene.purpose.to_owned()]));
    let [names, kinds, purposes] = [0, 1, 2].map(|index| rows.iter().map(|row| row[index].clone()).collect());
    text_table([("name", "the job's", names), ("kind", "", kinds), ("what", "what it does", purposes)])
}

/// The keys of settings, or those that `words` mean.
#[pyfunction]
pub fn keys(py: Python<'_>, words: &str) -> PyResult<Table> {
    let found = find_keys(words);
    if found.is_empty() {
        return Err(fault::to_exception(py, &unknown_key("keys", 0, words).into()));
    }
    let entries: Vec<_> =
        found.iter().flat_map(|section| section.keys.iter().map(move |entry| (section, entry))).collect();
    let column = |value: &dyn Fn(usize) -> String| -> Texts { (0..entries.len()).map(value).collect() };
    Ok(text_table([
        ("key", "for set=", column(&|row| entries[row].1.key.clone())),
        ("section", "", column(&|row| entries[row].0.name.to_owned())),
        ("takes", "values, or their range", column(&|row| entries[row].1.takes.clone())),
        ("unit", "of the value", column(&|row| entries[row].1.unit.to_owned())),
        ("default", "", column(&|row| entries[row].1.otherwise.to_owned())),
        ("meaning", "", column(&|row| entries[row].1.meaning.to_owned())),
    ]))
}

/// The built-in studies, and the reviews that join them.
#[pyfunction]
pub fn studies(py: Python<'_>) -> PyResult<Table> {
    let list = || -> Result<Table, Error> {
        let (mut texts, mut runs): (Vec<[String; 4]>, Vec<i64>) = (Vec::new(), Vec::new());
        let mut parts: Vec<(String, &str)> = Vec::new();
        for &(name, text) in REVIEWS {
            let review = Review::parse(name, text)?;
            parts.extend(review.part.iter().map(|part| (part.study.clone(), name)));
            let mut review_runs = 0;
            for part in &review.part {
                let built_in = BUILT_IN.iter().find(|(known, _)| *known == part.study);
                let &(part_name, part_text) =
                    built_in.ok_or_else(|| Error::new(format!("{name}: no study `{}`", part.study)))?;
                review_runs += run_count(part_name, part_text)?;
            }
            texts.push([name.to_owned(), review.title, review.question, String::new()]);
            runs.push(review_runs);
        }
        for &(name, text) in BUILT_IN {
            let study = parse(name, text)?;
            let review = parts.iter().find(|(part, _)| part == name).map_or("", |(_, review)| review);
            texts.push([name.to_owned(), study.title, study.question, review.to_owned()]);
            runs.push(run_count(name, text)?);
        }
        let column = |index: usize| Column::Text(texts.iter().map(|row| row[index].clone()).collect());
        Ok(Table::of_columns(vec![
            named_column("name", "", "for study()", column(0)),
            named_column("title", "", "", column(1)),
            named_column("question", "", "", column(2)),
            named_column("runs", "runs", "of the whole plan", Column::Count(runs)),
            named_column("review", "", "of which it is a part", column(3)),
        ]))
    };
    list().map_err(|error| fault::to_exception(py, &error))
}

/// The runs of a study's whole plan.
fn run_count(name: &str, text: &str) -> Result<i64, Error> {
    let study = parse(name, text)?;
    Ok(study_cells(&study).len() as i64 * i64::from(study.runs))
}

/// A table of texts: each column with its name, its meaning and its values.
fn text_table<const N: usize>(columns: [(&str, &str, Texts); N]) -> Table {
    Table::of_columns(columns.map(|(name, meaning, texts)| named_column(name, "", meaning, Column::Text(texts))).into())
}
