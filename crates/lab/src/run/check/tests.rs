//! A record whose figures agree, and each of its figures changed by hand.

use super::super::blank::record_with;
use super::super::{CommitRecord, GroupRecord, Response};
use super::*;
use seekwise_disk::parts::Part;

/// Three reads of 4, 6 and 8 ms and one write of 2 ms in two seconds, 4096 bytes each; three flushes of 1 ms.
fn sound() -> RunRecord {
    let kind = |ios: u64, mean: f64, most: f64| {
        let (iops, bytes) = (ios as f64 / 2.0, 4096.0 * ios as f64 / 2.0);
        format!(
            r#"{{"ios":{ios},"iops":{iops},"bytes_per_s":{bytes},"response_ms":{{"mean":{mean},"p50":{mean},"p90":{most},
            "p95":{most},"p99":{most},"p99_9":{most},"p99_99":{most},"max":{most}}},"anatomy_ms":{{"rotation":{mean}}}}}"#
        )
    };
    let (all, read, write, flush) = (kind(4, 5.0, 8.0), kind(3, 6.0, 8.0), kind(1, 2.0, 2.0), kind(3, 1.0, 1.0));
    let text = format!(
        r#"{{"target":"d","job":"j","seed":1,"stream_hash":"0","elapsed_s":2.0,"all":{all},"read":{read},"write":{write},
        "flush":{flush},"array":{{"reads":3,"read_bytes":12288,"writes":1,"written_bytes":4096,"read_per_byte_read":1.0,
        "read_per_byte_written":1.0,"written_per_byte_written":2.0,"read_modify_writes":0,"reconstruct_writes":1,
        "members":[{{"member":0,"reads":3,"read_bytes":12288,"writes":1,"written_bytes":4096,"flushes":3,"modify_reads":0,
        "modify_read_bytes":0,"reconstruct_reads":0,"reconstruct_read_bytes":0,"sync_read_bytes":0,"sync_written_bytes":0,
        "bitmap_written_bytes":0,"busy_percent":100.0}},{{"member":1,"reads":1,"read_bytes":4096,"writes":1,
        "written_bytes":4096,"flushes":3,"modify_reads":0,"modify_read_bytes":0,"reconstruct_reads":1,
        "reconstruct_read_bytes":4096,"sync_read_bytes":0,"sync_written_bytes":0,"bitmap_written_bytes":0,
        "busy_percent":50.0}}]}},"cpu":{{"percent":20.0,"ios_per_cpu_second":10.0,"iops_per_percent":0.1,"mb_per_s_per_percent":0.0004096}},
        "anatomy_ms":{{"rotation":5.0}},"warnings":[]}}"#
    );
    let mut record = record_with(&text);
    record.histogram = [(2_000_000, 1), (4_000_000, 1), (6_000_000, 1), (8_000_000, 1)].into_iter().collect();
    record
}

/// A change of a record.
type Change = fn(&mut RunRecord);

/// What is wrong after a change.
fn fault(change: impl FnOnce(&mut RunRecord)) -> String {
    let mut record = sound();
    change(&mut record);
    record.check_figures().expect_err("a changed figure contradicts another")
}

fn response(of: &mut KindRecord) -> &mut Response {
    of.response_ms.as_mut().unwrap()
}

#[test]
fn figures_that_agree_are_sound() {
    assert_eq!(sound().check_figures(), Ok(()));
    // Without what older folders do not have.
    let mut older = sound();
    older.histogram = Vec::<(u64, u64)>::new().into_iter().collect();
    older.cpu.as_mut().unwrap().iops_per_percent = 0.0;
    older.cpu.as_mut().unwrap().mb_per_s_per_percent = 0.0;
    older.all.response_ms.as_mut().unwrap().p95 = None;
    assert_eq!(older.check_figures(), Ok(()));
    // A group that is the whole job.
    let mut grouped = sound();
    grouped.groups =
        vec![GroupRecord { name: "g".to_owned(), all: grouped.all.clone(), histogram: grouped.histogram.clone() }];
    assert_eq!(grouped.check_figures(), Ok(()));
}

#[test]
fn a_rate_is_the_requests_over_the_time() {
    for kind in [0, 1, 2, 3] {
        let change = |record: &mut RunRecord| {
            let views = [&mut record.all, &mut record.read, &mut record.write, &mut record.flush];
            views.into_iter().nth(kind).unwrap().iops *= 1.0 + 1e-6;
        };
        let name = ["all", "read", "write", "flush"][kind];
        assert!(fault(change).starts_with(&format!("`{name}.iops` is ")), "{}", fault(change));
    }
    assert!(fault(|record| record.elapsed_s = 2.01).starts_with("`all.iops` is 2; expected 1.99"));
}

#[test]
fn reads_and_writes_make_the_whole() {
    let cases: [(Change, &str); 5] = [
        (|record| record.all.bytes_per_s += 1.0, "`all.bytes_per_s` is 8193; expected 8192"),
        (|record| response(&mut record.all).max = 9.0, "`all.response_ms.max` is 9; expected 8"),
        (|record| record.anatomy_ms.set(Part::Rotation, 5.1), "`anatomy_ms.rotation` is 5.1; expected 5"),
        (|record| record.anatomy_ms.set(Part::Seek, 0.1), "`anatomy_ms.seek` is 0.1; expected 0"),
        (|record| record.read.anatomy_ms.set(Part::Seek, 0.1), "`read.response_ms.mean` is 6; expected 6.1"),
    ];
    for (change, key) in cases {
        assert!(fault(change).starts_with(key), "{}", fault(change));
    }
    // Another mean of reads, with its parts and percentiles: the whole's is no longer the mean of both.
    let other = fault(|record| {
        record.read.anatomy_ms.set(Part::Rotation, 6.5);
        (response(&mut record.read).mean, response(&mut record.read).p50) = (6.5, 6.5);
    });
    assert!(other.starts_with("`all.response_ms.mean` is 5; expected 5.375"), "{other}");
    // A write more, with its own rate, and not in the whole.
    let more = fault(|record| (record.write.ios, record.write.iops) = (2, 1.0));
    assert!(more.starts_with("`all.ios` is 4; expected 5"), "{more}");
}

#[test]
fn percentiles_rise_and_the_mean_is_below_the_most() {
    let fields: [fn(&mut Response) -> &mut f64; 7] = [
        |it| &mut it.p50,
        |it| &mut it.p90,
        |it| it.p95.as_mut().unwrap(),
        |it| &mut it.p99,
        |it| &mut it.p99_9,
        |it| &mut it.p99_99,
        |it| &mut it.max,
    ];
    let names = ["p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];
    for (place, field) in fields.into_iter().take(6).enumerate() {
        let said = fault(|record| *field(response(&mut record.flush)) = 1.5);
        let expected =
            format!("`flush.response_ms.{}` is 1.5; expected at most `{}`, 1", names[place], names[place + 1]);
        assert_eq!(said, expected);
    }
    let said = fault(|record| {
        for field in fields {
            *field(response(&mut record.flush)) = 0.9;
        }
    });
    assert_eq!(said, "`flush.response_ms.mean` is 1; expected at most `max`, 0.9");
}

#[test]
fn figures_are_finite_and_nothing_of_nothing() {
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(fault(|record| record.flush.iops = bad).contains("expected a figure from 0 on"));
        assert!(fault(|record| response(&mut record.flush).mean = bad).contains("expected a figure from 0 on"));
        assert!(fault(|record| response(&mut record.flush).max = bad).contains("expected a figure from 0 on"));
        assert!(fault(|record| record.flush.bytes_per_s = bad).contains("expected a figure from 0 on"));
    }
    let nothing = fault(|record| record.flush.ios = 0);
    assert_eq!(nothing, "`flush.iops` is 1.5; expected 0, for `flush.ios` is 0");
}

#[test]
fn a_processor_s_figures_follow_from_its_share() {
    assert!(
        fault(|record| record.cpu.as_mut().unwrap().iops_per_percent = 0.11)
            .starts_with("`cpu.iops_per_percent` is 0.11; expected 0.1")
    );
    let bytes = fault(|record| record.cpu.as_mut().unwrap().mb_per_s_per_percent = 0.0005);
    assert!(bytes.starts_with("`cpu.mb_per_s_per_percent` is 0.0005; expected 0.0004096"), "{bytes}");
    assert!(
        fault(|record| record.cpu.as_mut().unwrap().percent = 10.0)
            .starts_with("`cpu.iops_per_percent` is 0.1; expected 0.2")
    );
    // A kernel's figures are measured by themselves.
    let mut measured = sound();
    measured.place = "real".to_owned();
    measured.cpu.as_mut().unwrap().iops_per_percent = 7.0;
    assert_eq!(measured.check_figures(), Ok(()));
}

/// A histogram's edges are the largest times of their buckets, which are 1/128 wide at most.
#[test]
fn a_histogram_is_that_of_its_requests() {
    let with = |buckets: &[(u64, u64)]| {
        let mut record = sound();
        record.histogram = buckets.iter().copied().collect();
        record.check_figures()
    };
    let said = |buckets: &[(u64, u64)]| with(buckets).unwrap_err();
    assert_eq!(said(&[(2_000_000, 1), (8_000_000, 2)]), "`histogram` counts 3; expected 4, `all.ios`");
    assert!(
        said(&[(4_000_000, 1), (6_000_000, 2), (7_000_000, 1)]).starts_with("`all.response_ms.max` is 8; expected 7")
    );
    // A mean of 5: edges whose mean is 5.039 may belong to it (5.039 · 127/128 = 4.9996), those of 5.040 (5.0006) may not.
    assert_eq!(with(&[(2_000_000, 1), (4_000_000, 1), (6_156_000, 1), (8_000_000, 1)]), Ok(()));
    let above = said(&[(2_000_000, 1), (4_000_000, 1), (6_160_000, 1), (8_000_000, 1)]);
    assert!(above.starts_with("`all.response_ms.mean` is 5; expected 5.0006"), "{above}");
    // Times that occur several times count as often: 20 ms in all.
    assert_eq!(with(&[(2_000_000, 1), (5_000_000, 2), (8_000_000, 1)]), Ok(()));
    assert_eq!(with(&[(1_000_000, 1), (5_500_000, 2), (8_000_000, 1)]), Ok(()));
    assert_eq!(with(&[(4_000_000, 3), (8_000_000, 1)]), Ok(()));
    let more = said(&[(2_000_000, 1), (8_000_000, 3)]);
    assert!(more.starts_with("`all.response_ms.mean` is 5; expected 6.4"), "{more}");
    // No edge lies below its times.
    let below = said(&[(2_000_000, 1), (4_000_000, 1), (5_999_000, 1), (8_000_000, 1)]);
    assert!(below.starts_with("`all.response_ms.mean` is 5; expected 4.96"), "{below}");
}

#[test]
fn a_commit_is_its_parts_and_the_time_between_them() {
    let check = |between_ms: Option<f64>, change: fn(&mut KindRecord)| {
        let mut record = sound();
        let mut figures = record.flush.clone();
        change(&mut figures);
        record.commit = Some(Box::new(CommitRecord { figures, between_ms }));
        record.check_figures()
    };
    assert_eq!([check(None, |_| ()), check(Some(0.0), |_| ())], [Ok(()), Ok(())]);
    assert_eq!(check(Some(0.25), |it| it.anatomy_ms.set(Part::Rotation, 0.75)), Ok(()));
    let fault = check(Some(0.5), |_| ()).unwrap_err();
    assert_eq!(fault, "`commit.response_ms.mean` is 1; expected 1.5, the sum of `anatomy_ms` and `between_ms`");
    assert!(
        check(None, |it| it.iops = 2.0).unwrap_err().starts_with("`commit.iops` is 2; expected 1.5, 3 `commit.ios`")
    );
    // Without parts, as those of a scene.
    assert_eq!(check(None, |it| it.anatomy_ms = Default::default()), Ok(()));
}

#[test]
fn groups_and_phases_are_checked_too() {
    let group = |ios: u64| {
        let mut record = sound();
        let mut all = record.all.clone();
        all.ios = ios;
        record.groups = vec![GroupRecord { name: "g".to_owned(), all, histogram: record.histogram.clone() }];
        record.check_figures().unwrap_err()
    };
    assert_eq!(group(5), "`groups.g.histogram` counts 4; expected 5, `groups.g.all.ios`");
    let halved = fault(|record| {
        let mut all = record.write.clone();
        all.anatomy_ms = Default::default();
        let histogram = [(2_000_000, 1)].into_iter().collect();
        record.groups = vec![GroupRecord { name: "g".to_owned(), all, histogram }];
    });
    assert_eq!(halved, "`all.ios` is 4; expected 1, what all `groups` come to");
    let phase = |change: fn(&mut PhaseRecord)| {
        let mut record = sound();
        let RunRecord { all, read, write, flush, .. } = record.clone();
        let mut phase = PhaseRecord { from_s: 0.0, changed: String::new(), all, read, write, flush };
        change(&mut phase);
        record.phases = vec![phase];
        record.check_figures()
    };
    assert_eq!(phase(|_| ()), Ok(()));
    assert_eq!(phase(|it| it.all.ios = 5).unwrap_err(), "`phases.0.all.ios` is 5; expected 4, reads and writes");
    assert!(phase(|it| it.flush.iops = -1.0).unwrap_err().starts_with("`phases.0.flush.iops` is -1"));
}

#[test]
fn bytes_for_each_byte_follow_from_the_members() {
    let changes: [(Change, &str); 5] = [
        (
            |run| run.array.as_mut().unwrap().read_per_byte_written = Some(0.0),
            "`array.read_per_byte_written` is 0; expected 1,",
        ),
        (|run| run.array.as_mut().unwrap().written_per_byte_written = None, "`array.written_per_byte_written` is null"),
        (
            |run| run.array.as_mut().unwrap().members[0].read_bytes += 512,
            "`array.read_per_byte_read` is 1; expected 1.04",
        ),
        (|run| run.array.as_mut().unwrap().members.truncate(1), "`array.read_per_byte_written` is 1; expected 0,"),
        (|run| run.array.as_mut().unwrap().members[1].busy_percent = 100.1, "`array.members.1.busy_percent` is 100.1"),
    ];
    for (change, expected) in changes {
        let said = fault(change);
        assert!(said.starts_with(expected), "{said}");
    }
    let mut none = sound();
    none.array = None;
    assert_eq!(none.check_figures(), Ok(()), "older folders do not have it");
}
