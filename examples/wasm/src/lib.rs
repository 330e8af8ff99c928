//! The library as WebAssembly, without generated JavaScript: a module with two exported functions. `cell(n)` plans and
//! runs the n-th of fifty cells of a study and returns a hash of its record; `compare()` compares two settings of a job
//! in memory and returns a hash of the JSON. `tests/equal.rs` compares these hashes with those of the same code run
//! natively.

use std::io::ErrorKind;

use seekwise::compare::Comparison;
use seekwise::{Files, Setup};
use seekwise_lab::digest::sha256;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{Cell, prepare_cell};
use seekwise_lab::run::measure_run;
use seekwise_lab::study::cell_record;
use serde_json::{Value, json};

/// The number of cells.
pub const CELLS: u32 = 50;

const DRIVES: [&str; 5] =
    ["barracuda-7200.7-ncq", "cheetah-15k.4", "atlas-10k-v-300", "exos-x18", "travelstar-5k250-160"];

const JOBS: [&str; 5] = ["random-read", "file-server", "oltp-4k", "flushed-writes", "copy"];

/// The settings of the n-th cell: each job on each drive, alone and on a mirror of two drives below a driver that sorts
/// requests.
fn settings(n: u32) -> Vec<(String, String)> {
    let n = n as usize % CELLS as usize;
    let (drive, job, has_layers) = (DRIVES[n % 5], JOBS[n / 5 % 5], n / 25 == 1);
    let mut settings = vec![("drive", drive), ("job", job), ("job.runtime", "5s")];
    if has_layers {
        settings.extend([("driver.queue.policy", "look"), ("array", "raid-1"), ("array.drives", "2")]);
    }
    settings.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// A hash of an answer, or of its error.
pub fn hash(answer: Result<String, String>) -> u64 {
    let text = answer.unwrap_or_else(|fault| fault);
    u64::from_str_radix(&sha256(text.as_bytes())[..16], 16).expect("digits of a hash")
}

/// Runs the n-th cell; returns its record as JSON.
pub fn run_cell(n: u32) -> Result<String, String> {
    let find_no_file = |_: &str| Err(ErrorKind::NotFound.into());
    let cell = Cell { levels: Vec::new(), settings: settings(n) };
    let prepared =
        prepare_cell("example", &cell, &Inputs::from_today(&find_no_file)).map_err(|faults| format!("{faults:?}"))?;
    let seed = 1 + u64::from(n);
    let measured = measure_run(&prepared.target, &prepared.job, seed, |_| {}).map_err(|error| error.to_string())?;
    serde_json::to_string(&cell_record(&prepared, &measured, seed)).map_err(|error| error.to_string())
}

/// The job whose settings are compared.
const JOB: &str = "[a]\nioengine=libaio\ndirect=1\nrw=randread\nsize=1g\niodepth=8\ntime_based\nruntime=2\n";

/// Compares two settings of a job; returns the answer as JSON. The job and the results stay in memory.
pub fn run_comparison() -> Result<String, String> {
    let files = Files::default().with_text("mine.fio", JOB);
    let setup = Setup::new("mine.fio", "barracuda-7200.7-ncq").with_files(files);
    let mut comparison = Comparison::new(setup, "drive.firmware.depth", ["1", "8"]);
    comparison.runs = 3;
    let mut answer = comparison.run(&()).map_err(|error| error.to_string())?.summary();
    round_numbers(&mut answer);
    Ok(answer.to_string())
}

/// Rounds numbers to nine digits, since logarithms of two libraries differ in the last bit.
fn round_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => *value = json!(format!("{:.8e}", number.as_f64().unwrap_or(0.0))),
        Value::Array(values) => values.iter_mut().for_each(round_numbers),
        Value::Object(values) => values.values_mut().for_each(round_numbers),
        _ => {}
    }
}

/// The hash of the n-th cell's record, for a page.
#[allow(unsafe_code, reason = "the name is this module's own")]
#[unsafe(no_mangle)]
pub extern "C" fn cell(n: u32) -> u64 {
    hash(run_cell(n))
}

/// The hash of the comparison's answer, for a page.
#[allow(unsafe_code, reason = "the name is this module's own")]
#[unsafe(no_mangle)]
pub extern "C" fn compare() -> u64 {
    hash(run_comparison())
}
