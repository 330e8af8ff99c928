//! Iometer's results.csv: old and new columns, repeated blocks, rows that do not fit their caption.

use crate::shared_files;
use seekwise_formats::iometer::results::{self, IometerTest, ResultSubject};

/// A file as of 2003 to 2008: `MBps` counts MiB, no histogram, a processor's row with too few commas.
const OLD: &str = "'Test Type,Test Description\r
0,nightly\r
'Version\r
2006.07.27 \r
'Time Stamp\r
2007-01-02 03:04:05:678\r
'Access specifications\r
'Access specification name,default assignment\r
File Server; old,0\r
'size,% of size,% reads,% random,delay,burst,align,reply\r
512,10,80,100,0,1,0,0,\r
4096,90,80,100,0,1,0,0,\r
'End access specifications\r
'Results\r
'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,MBps,Read MBps,Write MBps,Average Response Time,Average Read Response Time,Average Write Response Time,Read I/Os,Queue Depth,% CPU Utilization,CPU Effectiveness\r
ALL,All,File Server; old,1,1,2,100.5,80.5,20,2,1.5,0.5,9.95,9,12,4830,32,0.8,125.6\r
PROCESSOR,CPU 0,,,,,,,,0.8\r
DISK,PHYSICALDRIVE:1 ,,,,,50.25,,,1.#QNAN,,,,,,,,,\r
'Time Stamp\r
2007-01-02 03:14:05:000\r
";

/// A file of 1.1: two specifications in one run, then aborted.
const NEW: &str = "'Test Type,Test Description
0,
'Version
1.1.0
'Time Stamp
start
'Access specifications
'Access specification name,default assignment
A,0
'size,% of size,% reads,% random,delay,burst,align,reply
4096,100,100,0,0,1,0,0,
'End access specifications
'Results
'Target Type,Target Name,IOps,MBps (Decimal),MiBps (Binary),Read MBps (Decimal),0 to 50 uS,2 to 4.7 s, >= 10 s
ALL,All,10,4.194304,4,1,7,2,0
'Time Stamp
middle
'Access specifications
'Access specification name,default assignment
B,0
'End access specifications
'Results
'TimeStamp,Target Type,Target Name,IOps
12:00,WORKER,Worker 1,11
Aborted test
";

fn parse(text: &str) -> (Vec<IometerTest>, Vec<String>) {
    let (tests, warnings) = results::parse("r.csv", text.as_bytes()).unwrap();
    (tests, warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn old_files_count_mib_and_lack_columns() {
    let (tests, warnings) = parse(OLD);
    assert_eq!(tests.len(), 1);
    let test = &tests[0];
    assert_eq!((test.description.as_str(), test.version.as_str()), ("nightly", "2006.07.27"));
    assert_eq!(test.started.as_deref(), Some("2007-01-02 03:04:05:678"));
    assert_eq!(test.ended.as_deref(), Some("2007-01-02 03:14:05:000"));
    assert_eq!((test.specs[0].name.as_str(), test.specs[0].lines.len()), ("File Server; old", 2));
    let all = &test.rows[0];
    assert_eq!(all.bytes_per_second.total, Some(2.0 * 1_048_576.0));
    assert_eq!(all.bytes_per_second.read, Some(1.5 * 1_048_576.0));
    assert_eq!((all.iops.total, all.mean_ms.write, all.max_ms.total), (Some(100.5), Some(12.0), None));
    assert_eq!((all.disks, all.queue_depth, all.ios.read), (Some(2), Some(32), Some(4830.0)));
    assert_eq!(all.cpu_effectiveness, Some(125.6));
    assert!(all.histogram.is_empty());
    assert_eq!((&test.rows[1].subject, test.rows[1].iops.total), (&ResultSubject::Processor, None));
    assert_eq!((&test.rows[2].subject, test.rows[2].iops.total), (&ResultSubject::Disk, Some(50.25)));
    assert_eq!(
        warnings,
        [
            "r.csv:17: this processor's row does not match the caption; its figures are ignored",
            "r.csv:18: not a number: mbps"
        ]
    );
}

#[test]
fn new_files_have_both_units_and_a_histogram() {
    let (tests, warnings) = parse(NEW);
    assert_eq!(tests.len(), 2);
    let all = &tests[0].rows[0];
    assert_eq!(all.bytes_per_second.total, Some(4.0 * 1_048_576.0));
    assert_eq!(all.bytes_per_second.read, Some(1_000_000.0));
    assert_eq!(all.histogram, [(0, 7), (2_000_000, 2), (10_000_000, 0)]);
    assert_eq!((tests[0].started.as_deref(), tests[0].ended.as_deref()), (Some("start"), Some("middle")));
    assert_eq!((tests[1].specs[0].name.as_str(), tests[1].started.as_deref()), ("B", Some("middle")));
    assert_eq!(tests[1].rows[0].time_stamp.as_deref(), Some("12:00"));
    assert_eq!(warnings, ["r.csv:25: `Aborted test` is ignored"]);
}

#[test]
fn runs_are_appended() {
    let (tests, _) = parse(&(OLD.to_owned() + NEW + OLD));
    let descriptions: Vec<&str> = tests.iter().map(|test| test.description.as_str()).collect();
    assert_eq!(descriptions, ["nightly", "", "", "nightly"]);
}

#[test]
fn other_files_are_refused() {
    assert!(results::parse("r.csv", b"a,b\n1,2\n").is_err());
    assert!(results::parse("r.csv", b"").is_err());
}

/// The masked results of an Iometer fork: real heads, specifications and captions; each row is cut to its first six
/// fields with `ROW ` before and a verdict behind, which this test takes off.
#[test]
fn real_heads_and_captions_are_read() {
    for path in shared_files::files("wild/iometer/results-golden", &[".txt"]) {
        let masked = std::fs::read_to_string(&path).unwrap();
        let bare =
            |line: &str| line.strip_prefix("ROW ").unwrap_or(line).split(" ERR=").next().unwrap_or("").to_owned();
        let text: Vec<String> = masked.lines().map(bare).collect();
        let (tests, _) = parse(&text.join("\n"));
        assert_eq!(tests.len(), 1, "{}", path.display());
        let test = &tests[0];
        assert_eq!(
            (test.version.as_str(), test.started.as_deref(), test.ended.as_deref()),
            ("1.1.0", Some("<TS>"), Some("<TS>"))
        );
        assert_eq!((test.specs[0].lines[0].size, test.specs[0].lines[0].share), (65_536, 100));
        let rows_of = |subject: ResultSubject| test.rows.iter().filter(|row| row.subject == subject).count() as u64;
        let all = &test.rows[0];
        assert_eq!(
            (all.workers, all.disks),
            (Some(rows_of(ResultSubject::Worker)), Some(rows_of(ResultSubject::Disk))),
            "{}",
            path.display()
        );
        assert_eq!((all.managers, rows_of(ResultSubject::Processor)), (Some(rows_of(ResultSubject::Manager)), 32));
        assert!(all.spec == test.specs[0].name && all.iops.total.is_none());
    }
}
