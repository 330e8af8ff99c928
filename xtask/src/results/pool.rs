//! Runs the pieces, as many at once as there are cores, and makes rows of what they leave. What is hashed is kept in a
//! file a row, with the command, so that two builds' figures can be compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::figures;
use super::plan::{Piece, Take};
use super::table::Row;

/// Runs all pieces in a folder that keeps what they leave: their rows, and why others have none.
pub fn run(program: &Path, pieces: &[Piece], kept: &Path) -> (Vec<Row>, Vec<String>) {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new((Vec::new(), Vec::new())));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let made = one(program, piece, &kept.join("runs"), &kept.join("rows"));
            let mut rows = rows.lock().expect("no run panics");
            match made {
                Ok(made) => rows.0.extend(made),
                Err(why) => rows.1.push(format!("{}: {why}", piece.name)),
            }
        }
    };
    std::thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(work))));
    let (rows, mut faults) = rows.into_inner().expect("no run panics");
    faults.sort_unstable();
    (rows, faults)
}

/// Runs one piece, keeps its figures and makes its rows.
fn one(program: &Path, piece: &Piece, runs: &Path, kept: &Path) -> Result<Vec<Row>, String> {
    let own = runs.join(&piece.name);
    fs::create_dir_all(&own).map_err(|why| format!("{}: {why}", own.display()))?;
    for (name, text) in &piece.files {
        fs::write(own.join(name), text).map_err(|why| format!("{name}: {why}"))?;
    }
    let folder = piece.folder.as_ref().unwrap_or(&own);
    let mut command = Command::new(program);
    command.args(&piece.words).envs(piece.variables.iter().map(|(name, value)| (name, value))).current_dir(folder);
    let output = command.output().map_err(|why| format!("{}: {why}", program.display()))?;
    let line = format!("cd {} && {} {}\n", folder.display(), program.display(), piece.words.join(" "));
    let contents = figures(piece, &output, &own).map_err(|why| format!("{why}\n  {}", line.trim_end()))?;
    let row = |(name, figures): (String, Vec<u8>)| {
        let path = kept.join(format!("{name}.txt"));
        let written = fs::create_dir_all(path.parent().unwrap_or(kept)).and_then(|()| fs::write(&path, &figures));
        written.map_err(|why| format!("{}: {why}", path.display()))?;
        Ok(Row { hash: figures::hash(&figures), name })
    };
    fs::write(own.join("command"), &line).map_err(|why| format!("{}: {why}", own.display()))?;
    contents.into_iter().map(row).collect()
}

/// Why a file is refused: the line and the key of its first error, without the sentence.
fn refusal(errors: &str) -> String {
    let first = errors.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("");
    let line = first.split(": ").next().and_then(|place| place.rsplit_once(':')).map_or("", |place| place.1);
    let key = first.split('`').nth(1).unwrap_or("");
    format!("refused {line} {key}\n")
}

/// What is hashed, by row.
fn figures(piece: &Piece, output: &Output, own: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let said = || String::from_utf8_lossy(&output.stdout).into_owned();
    let code = output.status.code();
    let refused = code == Some(2) && output.stdout.is_empty();
    if refused && piece.may_refuse {
        return Ok(vec![(piece.name.clone(), refusal(&String::from_utf8_lossy(&output.stderr)).into_bytes())]);
    }
    // 1: the answer is no, such as a claim that does not hold.
    let Some(code @ (0 | 1)) = code else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("ended with {}: {}", output.status, errors.trim_end()));
    };
    let end = format!("exit {code}\n");
    let single = |figures: Vec<u8>| Ok(vec![(piece.name.clone(), figures)]);
    match piece.take {
        Take::Answer => single((end + &figures::of_json(&said())?).into_bytes()),
        Take::Text => single((end + &said()).into_bytes()),
        Take::Parquet(name) => single(figures::parquet(&read(&own.join(name))?)?.to_vec()),
        Take::Logs(ending) => single(logs(own, ending)?),
        Take::Study => study(&piece.name, &said(), &read(&own.join("out/results.jsonl"))?),
    }
}

/// A study's rows: its records, what it concludes, and each claim.
fn study(name: &str, said: &str, records: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut answer: Value = serde_json::from_str(said).map_err(|why| format!("no JSON: {why}"))?;
    let claims = answer.as_object_mut().and_then(|fields| fields.remove("claims"));
    let mut rows = vec![
        (format!("{name}/records"), figures::of_json(&String::from_utf8_lossy(records))?.into_bytes()),
        (format!("{name}/verdicts"), (figures::kept(answer).to_string() + "\n").into_bytes()),
    ];
    let claims = claims.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
    for claim in claims {
        let id = claim["id"].as_str().ok_or("a claim without an id")?;
        rows.push((format!("{name}/claim/{id}"), (figures::kept(claim.clone()).to_string() + "\n").into_bytes()));
    }
    Ok(rows)
}

/// All logs of a run, one behind the other, each with its name.
fn logs(own: &Path, ending: &str) -> Result<Vec<u8>, String> {
    let entries = fs::read_dir(own).map_err(|why| format!("{}: {why}", own.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == ending));
    paths.sort();
    let mut all = Vec::new();
    for path in &paths {
        all.extend(path.file_name().unwrap_or_default().as_encoded_bytes());
        all.push(b'\n');
        all.extend(read(path)?);
    }
    if all.is_empty() { Err(format!("no log that ends in .{ending}")) } else { Ok(all) }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_known_by_its_line_and_key() {
        assert_eq!(refusal("error: a/b.fio:3: `ioengine`: no such engine\nerror: more\n"), "refused 3 ioengine\n");
        assert_ne!(refusal("error: b.fio:4: `ioengine`: x\n"), refusal("error: b.fio:3: `ioengine`: x\n"));
        assert_eq!(refusal(""), "refused  \n");
    }

    #[test]
    fn a_study_has_rows_of_its_records_its_verdicts_and_each_claim() {
        let said =
            r#"{"title": "x", "comparisons": [{"outcome": "faster"}], "claims": [{"id": "Q1", "reproduced": true}]}"#;
        let rows = study("study/a", said, b"{\"cell\":0,\"cell_hash\":\"1\"}\n").unwrap();
        let rows: Vec<(&str, &str)> =
            rows.iter().map(|(name, figures)| (name.as_str(), std::str::from_utf8(figures).unwrap())).collect();
        let expected = [
            ("study/a/records", "{\"cell\":0}\n"),
            ("study/a/verdicts", "{\"comparisons\":[{\"outcome\":\"faster\"}]}\n"),
            ("study/a/claim/Q1", "{\"id\":\"Q1\",\"reproduced\":true}\n"),
        ];
        assert_eq!(rows, expected);
        assert!(study("study/a", said, b"").is_err(), "no records");
    }
}
