//! Jobs whose requests once differed from fio's, each for another reason. The name of each test is the rule that holds.

use super::draw::Drawn;
use super::{Outcome, compare, fio_version};

/// A job of one section on files of these numbers of bytes.
fn job_of(files: &[u64], options: &str) -> Drawn {
    let names: Vec<String> = (0..files.len()).map(|file| format!("f{file}")).collect();
    let text = format!("[j0]\nfilename={}\n{options}\nwrite_iolog=log0\n", names.join(":"));
    let (timed, files_exist) = (options.contains("time_based"), options.contains("zonemode=zbd"));
    Drawn { text, threads: 1, files: files.to_vec(), timed, files_exist, log_repeats: true }
}

/// Checks that the job's requests are those of fio, which must issue some.
#[track_caller]
fn check_against_fio(files: &[u64], options: &str) {
    if fio_version().as_deref() != Some("fio-3.33") {
        return println!("skipped: there is no fio 3.33 on the path");
    }
    match compare(&job_of(files, options)) {
        Outcome::Equal { requests, .. } => assert!(requests > 0, "fio issues nothing: {options}"),
        Outcome::Differs(reason) | Outcome::NotFios(reason) | Outcome::Refused(reason) => panic!("{reason}: {options}"),
    }
}

const KIB: u64 = 1 << 10;

#[test]
fn a_wait_leaves_the_count_of_what_is_handed_over() {
    check_against_fio(
        &[300 * KIB],
        "ioengine=libaio\niodepth=8\niodepth_batch=3\niodepth_low=3\nrw=rw\nbs=4k\nsize=300k\nfdatasync=8",
    );
}

#[test]
fn the_count_lasts_over_passes() {
    let engine = "ioengine=null\niodepth=16\niodepth_batch=16\niodepth_batch_complete_min=16";
    check_against_fio(&[1024 * KIB], &format!("{engine}\nrw=write\nbs=4k\nsize=1m\nloops=2\nfsync=8"));
}

#[test]
fn a_group_goes_back_whole_before_the_next() {
    for (depth, batch) in [(2, 1), (8, 3), (16, 5)] {
        let engine = format!("ioengine=null\niodepth={depth}\niodepth_batch={batch}");
        check_against_fio(&[300 * KIB], &format!("{engine}\nrw=randrw\nbs=4k\nsize=300k\nfsync=3"));
    }
}

#[test]
fn a_refused_sync_takes_its_place_in_the_depth() {
    let engine = "ioengine=libaio\niodepth=8\niodepth_batch=8\niodepth_batch_complete_min=5\niodepth_low=2";
    check_against_fio(&[300 * KIB], &format!("{engine}\nrw=randrw\nbs=4k\nsize=300k\nfsync=7"));
}

#[test]
fn a_sync_of_a_range_is_refused_as_others_are() {
    let engine = "ioengine=libaio\niodepth=32\niodepth_batch=20";
    check_against_fio(
        &[4096 * KIB],
        &format!("{engine}\nrw=randwrite\nbs=16k\nsize=4m\nsync_file_range=write:16\nfsync=32"),
    );
}

#[test]
fn emptying_a_zone_hands_over_what_is_queued() {
    let engine = "ioengine=libaio\niodepth=8\niodepth_batch_complete_min=8\niodepth_batch=7\niodepth_low=1";
    let zones = "zonemode=zbd\nzonesize=64k\nzonecapacity=60k\nmax_open_zones=3";
    check_against_fio(&[2048 * KIB], &format!("{engine}\nrw=rw\nbs=4k\nsize=2m\n{zones}\nfsync=3\nio_size=4m"));
}

#[test]
fn pauses_count_what_fio_has_seen_done() {
    for kind in ["complete", "issue"] {
        let pause = format!("thinktime=20\nthinktime_blocks=13\nthinktime_blocks_type={kind}");
        let engine = "ioengine=libaio\niodepth=8\niodepth_batch_complete_min=4";
        check_against_fio(&[1024 * KIB], &format!("{engine}\nrw=randrw\nbs=4k\nsize=1m\nfsync=5\n{pause}"));
    }
}

#[test]
fn a_number_of_requests_counts_queued_syncs() {
    let engine = "ioengine=null\niodepth=16\niodepth_batch=16\niodepth_batch_complete_min=16";
    for number in 100..108 {
        check_against_fio(
            &[1024 * KIB],
            &format!("{engine}\nrw=randwrite\nbs=4k\nsize=1m\nfsync=2\nnumber_ios={number}"),
        );
    }
}

#[test]
fn each_pass_of_trims_and_writes_doubles_the_number() {
    check_against_fio(&[1024 * KIB], "ioengine=null\nrw=randtrimwrite\nbs=512\nsize=1m\nnumber_ios=144\nloops=2");
}

#[test]
fn a_pair_may_move_the_bytes_of_the_whole_job() {
    let engine = "ioengine=null\niodepth=8\niodepth_batch=8\niodepth_batch_complete_min=8";
    check_against_fio(
        &[300 * KIB],
        &format!("{engine}\nrw=randtrimwrite\nbs=4k\nsize=300k\nnorandommap\nio_size=2m\nend_fsync=1"),
    );
}

#[test]
fn what_is_offered_again_takes_a_place_among_those_read_back() {
    let engine = "ioengine=null\niodepth=4\niodepth_batch_complete_max=2";
    let verified = "verify=null\nverify_backlog=10\nverify_backlog_batch=7";
    check_against_fio(&[1024 * KIB], &format!("{engine}\nrw=write\nbs=4k\nsize=1m\nfsync=7\n{verified}"));
    // Data that a write overlaps is not read back any more, even if the write is put off.
    check_against_fio(
        &[1024 * KIB],
        &format!("{engine}\nrw=randwrite\nnorandommap\nbs=4k\nsize=1m\nio_size=3m\n{verified}"),
    );
}

#[test]
fn nothing_is_read_back_before_fio_has_seen_a_write_done() {
    let engine = "ioengine=libaio\niodepth=16\niodepth_batch_complete_min=7\niodepth_batch_complete_max=11";
    check_against_fio(
        &[1024 * KIB],
        &format!("{engine}\nrw=randwrite\nnorandommap\nbs=4k\nsize=1m\nverify=null\nverify_backlog=8"),
    );
}

#[test]
fn a_job_by_time_reads_back_where_a_pass_ends() {
    // The files' ends end a pass, and sizes that do not fit.
    for (files, size) in [(vec![64 * KIB; 2], 128), (vec![61 * KIB], 61)] {
        let time = "time_based=1\nruntime=1\nthinktime=1000";
        check_against_fio(&files, &format!("ioengine=psync\nrw=write\nbs=4k\nsize={size}k\nverify=null\n{time}"));
    }
}

#[test]
fn a_place_is_not_marked_where_a_place_in_sequence_failed_before() {
    let half = "percentage_random=50\nbs=4k\nsize=299k\nloops=3";
    check_against_fio(&[299 * KIB], &format!("ioengine=null\nrw=randwrite\n{half}"));
    check_against_fio(&[299 * KIB], &format!("ioengine=null\nrw=randwrite\nfdatasync=1\n{half}"));
    check_against_fio(
        &[299 * KIB],
        &format!("ioengine=libaio\niodepth=4\niodepth_batch_complete_min=4\nrw=randwrite\n{half}"),
    );
}
