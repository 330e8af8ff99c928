//! Runs the planned commands, as many at once as there are cores, and hashes their results into rows. The hashed bytes
//! of each row are kept in a file, and the command beside them, so that the figures of two builds can be compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::figures;
use super::plan::{HashedPart, PlannedRun};
use super::table::Row;

/// Runs all commands, and keeps their files in `results_folder`; returns the rows, and an error for each command that
/// failed.
pub fn run_all(program: &Path, runs: &[PlannedRun], results_folder: &Path) -> (Vec<Row>, Vec<String>) {
    let (next, rows_and_faults) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run_and_hash(program, run, &results_folder.join("runs"), &results_folder.join("rows"));
            let mut collected = rows_and_faults.lock().expect("no run panics");
            match result {
                Ok(rows) => collected.0.extend(rows),
                Err(why) => collected.1.push(format!("{}: {why}", run.name)),
            }
        }
    };
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let (rows, mut faults) = rows_and_faults.into_inner().expect("no run panics");
    faults.sort_unstable();
    (rows, faults)
}

/// Runs one command in a folder below `runs_folder`, writes its figures below `rows_folder`, and returns its rows.
fn run_and_hash(program: &Path, run: &PlannedRun, runs_folder: &Path, rows_folder: &Path) -> Result<Vec<Row>, String> {
    let run_folder = runs_folder.join(&run.name);
    fs::create_dir_all(&run_folder).map_err(|why| format!("{}: {why}", run_folder.display()))?;
    for (name, text) in &run.files {
        fs::write(run_folder.join(name), text).map_err(|why| format!("{name}: {why}"))?;
    }
    let folder = run.folder.as_ref().unwrap_or(&run_folder);
    let mut command = Command::new(program);
    command.args(&run.words).envs(run.variables.iter().map(|(name, value)| (name, value))).current_dir(folder);
    let output = command.output().map_err(|why| format!("{}: {why}", program.display()))?;
    let command_line = format!("cd {} && {} {}\n", folder.display(), program.display(), run.words.join(" "));
    let parts =
        hashed_parts(run, &output, &run_folder).map_err(|why| format!("{why}\n  {}", command_line.trim_end()))?;
    let write_row = |(name, figures): (String, Vec<u8>)| {
        let path = rows_folder.join(format!("{name}.txt"));
        let written =
            fs::create_dir_all(path.parent().unwrap_or(rows_folder)).and_then(|()| fs::write(&path, &figures));
        written.map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Row { hash: figures::short_hash(&figures), name })
    };
    fs::write(run_folder.join("command"), &command_line).map_err(|why| format!("{}: {why}", run_folder.display()))?;
    parts.into_iter().map(write_row).collect()
}

/// The place of a refusal: the line and the key of its first error, without the sentence.
fn refusal_place(errors: &str) -> String {
    let first = errors.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("");
    let line = first.split(": ").next().and_then(|place| place.rsplit_once(':')).map_or("", |place| place.1);
    let key = first.split('`').nth(1).unwrap_or("");
    format!("refused {line} {key}\n")
}

/// The bytes that are hashed, by row name.
fn hashed_parts(run: &PlannedRun, output: &Output, run_folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let output_text = || String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code();
    let is_refused = code == Some(2) && output.stdout.is_empty();
    if is_refused && run.may_refuse {
        return Ok(vec![(run.name.clone(), refusal_place(&String::from_utf8_lossy(&output.stderr)).into_bytes())]);
    }
    // Code 1 is a negative answer, such as a claim that does not hold.
    let Some(code @ (0 | 1)) = code else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("ended with {}: {}", output.status, errors.trim_end()));
    };
    let end = format!("exit {code}\n");
    let single = |figures: Vec<u8>| Ok(vec![(run.name.clone(), figures)]);
    match run.hashed_part {
        HashedPart::Answer => single((end + &figures::figures_of_json(&output_text())?).into_bytes()),
        HashedPart::Text => single((end + &output_text()).into_bytes()),
        HashedPart::Parquet(name) => single(figures::parquet_pages(&read(&run_folder.join(name))?)?.to_vec()),
        HashedPart::Logs(ending) => single(concatenate_logs(run_folder, ending)?),
        HashedPart::Study => study_parts(&run.name, &output_text(), &read(&run_folder.join("out/results.jsonl"))?),
    }
}

/// A study's parts: its records, its verdicts, and each claim.
fn study_parts(name: &str, answer_text: &str, records: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut answer: Value = serde_json::from_str(answer_text).map_err(|why| format!("no JSON: {why}"))?;
    let claims = answer.as_object_mut().and_then(|fields| fields.remove("claims"));
    let mut parts = vec![
        (format!("{name}/records"), figures::figures_of_json(&String::from_utf8_lossy(records))?.into_bytes()),
        (format!("{name}/verdicts"), (figures::without_prose(answer).to_string() + "\n").into_bytes()),
    ];
    let claims = claims.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    for claim in claims {
        let id = claim["id"].as_str().ok_or("a claim without an id")?;
        parts.push((
            format!("{name}/claim/{id}"),
            (figures::without_prose(claim.clone()).to_string() + "\n").into_bytes(),
        ));
    }
    Ok(parts)
}

/// All logs of a run one after another, each below its name.
fn concatenate_logs(folder: &Path, extension: &str) -> Result<Vec<u8>, String> {
    let entries = fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == extension));
    paths.sort();
    let mut all = Vec::new();
    for path in &paths {
        all.extend(path.file_name().unwrap_or_default().as_encoded_bytes());
        all.push(b'\n');
        all.extend(read(path)?);
    }
    if all.is_empty() { Err(format!("no log that ends in .{extension}")) } else { Ok(all) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_known_by_its_line_and_key() {
        assert_eq!(
            refusal_place("error: a/b.fio:3: `ioengine`: no such engine\nerror: more\n"),
            "refused 3 ioengine\n"
        );
        assert_ne!(refusal_place("error: b.fio:4: `ioengine`: x\n"), refusal_place("error: b.fio:3: `ioengine`: x\n"));
        assert_eq!(refusal_place(""), "refused  \n");
    }

    #[test]
    fn a_study_has_rows_of_its_records_its_verdicts_and_each_claim() {
        let answer =
            r#"{"title": "x", "comparisons": [{"outcome": "faster"}], "claims": [{"id": "Q1", "reproduced": true}]}"#;
        let parts = study_parts("study/a", answer, b"{\"cell\":0,\"cell_hash\":\"1\"}\n").unwrap();
        let rows: Vec<(&str, &str)> =
            parts.iter().map(|(name, figures)| (name.as_str(), std::str::from_utf8(figures).unwrap())).collect();
        let expected = [
            ("study/a/records", "{\"cell\":0}\n"),
            ("study/a/verdicts", "{\"comparisons\":[{\"outcome\":\"faster\"}]}\n"),
            ("study/a/claim/Q1", "{\"id\":\"Q1\",\"reproduced\":true}\n"),
        ];
        assert_eq!(rows, expected);
        assert!(study_parts("study/a", answer, b"").is_err(), "no records");
    }
}
