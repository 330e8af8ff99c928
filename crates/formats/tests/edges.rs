//! Edges of small rules of formats, each against the rule's own words: places where a planted fault failed no other test.

use seekwise_disk::block::Op;
use seekwise_drives::profile;
use seekwise_formats::expression::quantities;
use seekwise_formats::fio::{self, FioContext};
use seekwise_formats::fio_json::SampleSummary;
use seekwise_formats::trace::{self, TraceReadOptions};

const DRIVE: &str = include_str!("../../drives/profiles/barracuda-7200.7.toml");

#[test]
fn a_flush_has_no_time_since_it_was_due() {
    let known = quantities();
    let has = |name: &str| known.iter().any(|known| known == name);
    assert!(has("read.since_due_ms.p99") && has("write.since_due_ms.mean"));
    assert!(has("flush.response_ms.p99") && !has("flush.since_due_ms.p99"));
}

#[test]
fn a_deviation_is_that_of_n_less_one() {
    let summary = SampleSummary::from_samples(&[1.0, 2.0, 6.0]);
    assert_eq!((summary.min, summary.max, summary.mean, summary.count), (1.0, 6.0, 3.0, 3));
    // (4 + 1 + 9) / 2.
    assert!((summary.stddev - 7.0_f64.sqrt()).abs() < 1e-12, "{}", summary.stddev);
}

/// The faults of a job with this engine.
fn faults_of_engine(engine: &str) -> String {
    let text = format!("[a]\nioengine={engine}\nfilename=/dev/sda\nsize=1g\nrw=read\n");
    let job = fio::parse("a.fio", &text, &FioContext::bare()).and_then(|file| file.job(1 << 30));
    job.map_or_else(|faults| format!("{faults:?}"), |_| "it runs".to_owned())
}

#[test]
fn an_engine_that_is_a_file_is_an_external_one_however_it_is_named() {
    let external = faults_of_engine("external");
    assert!(external != "it runs" && external != faults_of_engine("nonsense"), "{external}");
    let same = |engine: &str| faults_of_engine(engine).replace(engine, "external");
    for engine in ["external:/lib/mine.so", "mine.so", "folder/mine"] {
        assert_eq!(
            same(engine).contains("unknown"),
            external.contains("unknown"),
            "{engine}: {}",
            faults_of_engine(engine)
        );
    }
    assert_eq!(faults_of_engine("libaio"), "it runs");
}

#[test]
fn a_write_cache_without_segments_is_warned_of() {
    let warnings = |cached: bool| {
        let mut drive = profile::parse("a.toml", DRIVE).unwrap();
        drive.set("cache.segments", "0").unwrap();
        drive.set("cache.write_back", if cached { "true" } else { "false" }).unwrap();
        format!("{:?}", drive.warnings())
    };
    assert!(warnings(true).contains("without segments, no writes are cached"), "{}", warnings(true));
    assert!(!warnings(false).contains("without segments"), "{}", warnings(false));
}

#[test]
fn a_write_of_no_bytes_is_a_flush_and_sectors_are_those_that_were_counted() {
    let text = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n\
                0.1 a 1 sda W 8 4096 0.1 0.7\n0.2 a 1 sda W 0 0 0.1 0.7\n0.3 a 1 sda R 16 512 0.1 0.7\n";
    let part = ("a".to_owned(), Box::new(std::io::Cursor::new(text.as_bytes().to_vec())) as Box<_>);
    let mut reader = trace::open(vec![part], &TraceReadOptions::default()).unwrap();
    let mut seen = Vec::new();
    while let Some(entry) = reader.read().unwrap() {
        seen.push((entry.op, entry.lba, entry.sectors));
    }
    assert_eq!(seen, [(Op::Write, 8, 8), (Op::Flush, 0, 0), (Op::Read, 16, 1)]);
}
