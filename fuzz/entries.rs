//! What is fuzzed, for the fuzz targets and for the smoke test on stable: each entry takes any bytes and must return.
//!
//! A new parser is one function here, one line in [`ALL`], one file in `fuzz_targets` and its `[[bin]]`.
#![allow(dead_code, reason = "each fuzz target uses one entry")]

use seekwise_formats::{fio_json as json, iometer};

/// Takes any bytes and returns.
pub(crate) type Entry = fn(&[u8]);

/// All entries by name.
pub(crate) const ALL: [(&str, Entry); 3] = [("icf", icf), ("results_csv", results_csv), ("fio_json", fio_json)];

/// An Iometer configuration, and the job it makes on a small, a common and the largest drive.
pub(crate) fn icf(data: &[u8]) {
    let Ok((config, _)) = iometer::icf::parse("fuzz.icf", data) else {
        return;
    };
    for sectors in [0, 1000, 312_581_808, u64::MAX] {
        if let Ok((job, _)) = config.job(sectors) {
            assert!(!job.workers.is_empty(), "a job without work must be an error");
        }
    }
}

/// Iometer's results.
pub(crate) fn results_csv(data: &[u8]) {
    if let Ok((tests, _)) = iometer::results::parse("fuzz.csv", data) {
        assert!(tests.iter().all(|test| !test.rows.is_empty()), "a test without rows must not be kept");
    }
}

/// fio's JSON; what was read must survive writing and reading.
pub(crate) fn fio_json(data: &[u8]) {
    let Ok(outputs) = json::read(data) else {
        return;
    };
    for output in outputs {
        let again = json::read(json::write(&output).as_bytes()).expect("what we write we read");
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].jobs.len(), output.jobs.len());
    }
}
