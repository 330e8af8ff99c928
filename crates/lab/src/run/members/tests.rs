//! The work of members as a record keeps it: of runs of whole stacks, and its sentences.

use super::super::{RunRecord, measure_run};
use super::*;
use crate::inputs::Inputs;
use crate::plan::{self, Cell};
use crate::study::cell_record;

/// The record of a job of direct requests on an array of this level, without a driver above it.
fn record(level: &str, drives: u32, options: &str) -> RunRecord {
    let job = format!("[j]\nioengine=libaio\ndirect=1\nsize=4g\n{}\n", options.replace(' ', "\n"));
    let text = |name: &str| match name {
        "j.fio" => Ok(job.clone()),
        name => Err(std::io::Error::other(format!("no file {name}"))),
    };
    let mut settings = vec![("job", "j.fio".to_owned()), ("drive", "barracuda-7200.7-ncq".to_owned())];
    if level != "none" {
        settings.extend([("array", level.to_owned()), ("array.drives", drives.to_string())]);
    }
    let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let cell = Cell { levels: Vec::new(), settings };
    let prepared = plan::prepare_cell("members", &cell, &Inputs::from_today(&text)).expect("a valid job");
    let measured = measure_run(&prepared.target, &prepared.job, 1, |_| ()).expect("it runs");
    let record = cell_record(&prepared, &measured, 1);
    assert_eq!(record.check_figures(), Ok(()));
    record
}

fn array(record: &RunRecord) -> &ArrayRecord {
    record.array.as_deref().expect("an array")
}

/// Bytes read for each byte read, and read and written for each byte written.
fn ratios(record: &RunRecord) -> [Option<f64>; 3] {
    let array = array(record);
    [array.read_per_byte_read, array.read_per_byte_written, array.written_per_byte_written]
}

#[test]
fn a_run_says_what_its_members_did_for_each_byte() {
    let writes = "rw=randwrite bs=4k number_ios=150";
    for (level, drives, read, written) in
        [("raid-0", 2, 0.0, 1.0), ("raid-1", 2, 0.0, 2.0), ("raid-10", 4, 0.0, 2.0), ("raid-5", 5, 2.0, 2.0)]
    {
        let record = record(level, drives, writes);
        assert_eq!(ratios(&record), [None, Some(read), Some(written)], "{level}");
        let array = array(&record);
        assert_eq!((array.writes, array.written_bytes), (150, 150 * 4096));
        let modified = if level == "raid-5" { record.write.ios } else { 0 };
        assert_eq!((array.read_modify_writes, array.reconstruct_writes), (modified, 0), "{level}");
        assert_eq!(array.members.len(), drives as usize);
        for member in &array.members {
            assert!(member.busy_percent > 1.0 && member.busy_percent < 100.0, "{level}: {member:?}");
        }
    }
    let reads = record("raid-1", 2, "rw=randread bs=4k number_ios=150");
    assert_eq!(ratios(&reads), [Some(1.0), None, None]);
    assert_eq!(array(&reads).reads_before_writes_sentence(0), None);
    assert_eq!(array(&reads).bytes_sentence(), "For each byte read: 1.00 bytes read at the members.");
    let alone = record("none", 1, "rw=randread bs=4k number_ios=20");
    assert!(alone.array.is_none() && !serde_json::to_string(&alone).unwrap().contains("\"array\""));
}

#[test]
fn a_ramp_is_not_counted() {
    let record = record("raid-5", 5, "rw=randwrite bs=4k iodepth=8 time_based=1 ramp_time=2 runtime=3");
    let (array, written) = (array(&record), record.write.bytes_per_s * record.elapsed_s);
    // What is in flight at both ends, and what an end within a slot misplaces.
    let is_near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.03;
    assert!(is_near(array.written_bytes as f64, written), "{} of {written}", array.written_bytes);
    assert!(
        is_near(array.read_per_byte_written.unwrap(), 2.0) && is_near(array.written_per_byte_written.unwrap(), 2.0)
    );
    assert!(array.members.iter().all(|member| (50.0..=100.0).contains(&member.busy_percent)), "{:?}", array.members);
}

/// All sectors of the job are on the first member.
#[test]
fn a_member_that_always_has_a_command_is_fully_busy() {
    let record = record("linear", 2, "rw=randread bs=4k iodepth=4 time_based=1 ramp_time=1 runtime=2");
    let busy: Vec<f64> = array(&record).members.iter().map(|member| member.busy_percent).collect();
    assert_eq!(busy, [100.0, 0.0]);
}

#[test]
fn the_sentences_name_what_writes_read_first() {
    let member = |modify_reads, reconstruct_reads| MemberRecord {
        reads: modify_reads + reconstruct_reads,
        modify_reads,
        modify_read_bytes: 4096 * modify_reads,
        reconstruct_reads,
        reconstruct_read_bytes: 4096 * reconstruct_reads,
        read_bytes: 4096 * (modify_reads + reconstruct_reads),
        writes: 100,
        written_bytes: 100 * 4096,
        ..MemberRecord::default()
    };
    let of = |members: Vec<MemberRecord>, by_job: (u64, u64)| {
        let mut record = ArrayRecord {
            writes: 100,
            written_bytes: 100 * 4096,
            read_modify_writes: by_job.0,
            reconstruct_writes: by_job.1,
            members,
            ..ArrayRecord::default()
        };
        record.set_ratios();
        record
    };
    let modify = of(vec![member(100, 0), member(100, 0)], (100, 0));
    assert_eq!(
        modify.reads_before_writes_sentence(100).unwrap(),
        "Before it could write, the array read old data and parity in 100.0 % of the writes (read-modify-write): 2.00 reads \
         at the members for each write."
    );
    assert_eq!(
        modify.bytes_sentence(),
        "For each byte written: 2.00 bytes read and 2.00 bytes written at the members."
    );
    let both = of(vec![member(50, 0), member(0, 25)], (25, 25));
    assert_eq!(
        both.reads_before_writes_sentence(100).unwrap(),
        "Before it could write, the array read old data and parity in 25.0 % of the writes (read-modify-write) and the rest \
         of the row in 25.0 % of the writes (reconstruct-write): 0.75 reads at the members for each write."
    );
    let cached = of(vec![member(0, 50)], (0, 0));
    assert_eq!(
        cached.reads_before_writes_sentence(1000).unwrap(),
        "Before it could write, the array read the rest of the row (reconstruct-write): 0.50 reads at the members for each \
         write."
    );
    assert_eq!(of(vec![member(0, 0)], (0, 0)).reads_before_writes_sentence(100), None);
    let mean = ArrayRecord::mean(&[Some(&modify), Some(&both)]).unwrap();
    assert_eq!((mean.members[0].modify_reads, mean.members[1].reconstruct_reads), (75, 13));
    assert_eq!(mean.written_per_byte_written, Some(2.0));
    assert_eq!(ArrayRecord::mean(&[Some(&modify), None]), None);
}
