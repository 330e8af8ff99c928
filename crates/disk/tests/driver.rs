//! The policies of a driver (`host/driver.rs`): merging, the orders of its schedulers, flushes, forced writes, power-off and
//! time-outs. Expected values are worked out by hand.

use seekwise_disk::block::setting::{DriverSetting, LayerSetting};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, LandingKind, Op, Queuing, Request, Status,
};
use seekwise_disk::drive::profile::CacheSpec;
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::host::driver::deadline::DeadlineSpec;
use seekwise_disk::host::driver::fair::FairSpec;
use seekwise_disk::host::driver::{
    Driver, DriverSpec, FlushPolicy, ForcedWritePolicy, Plug, PowerOffPolicy, SchedulerSpec,
};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Part;
use seekwise_disk::testing::{SmallDrive, check_conformance};
use seekwise_disk::time::{Instant, Span};

mod flushes;
mod scripted;

const PLAIN: DriverSpec = DriverSpec::plain(256, 1, Discipline::plain(Policy::Fcfs), 64);

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    let stamp = u64::from(tag) + 1;
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp }
}

fn read(tag: u32, lba: u64) -> Request {
    request(tag, Op::Read, lba, 8)
}

fn write(tag: u32, lba: u64) -> Request {
    request(tag, Op::Write, lba, 8)
}

fn caching_drive() -> SmallDrive {
    SmallDrive::default().with_buffer(8, 64).with_write_back(6)
}

/// A driver above a drive, with landings on.
fn driver(spec: DriverSpec, small: &SmallDrive) -> LayeredDevice<Driver> {
    let mut driver = Driver::build_above(spec, Box::new(small.drive()));
    driver.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    driver
}

/// Submits requests at time 0.
fn submit(device: &mut dyn Device, requests: &[Request]) {
    for &request in requests {
        device.submit(Instant::ZERO, request).expect("room");
    }
}

fn completions(device: &mut dyn Device) -> Vec<Completion> {
    std::iter::from_fn(|| device.proceed(Instant::FAR)).collect()
}

fn tags(done: &[Completion]) -> Vec<u32> {
    done.iter().map(|completion| completion.tag).collect()
}

#[test]
fn requests_at_the_highest_numbers_are_past_the_end() {
    for (lba, sectors) in [(u64::MAX - 3, 8), (u64::MAX - 100, 1_000), (u64::MAX - 2_000, 1_000), (u64::MAX, 1)] {
        for merge in [false, true] {
            let mut device = driver(DriverSpec { merge, ..PLAIN }, &SmallDrive::default());
            submit(&mut device, &[request(0, Op::Write, lba, sectors), request(1, Op::Read, lba, sectors)]);
            let done = completions(&mut device);
            let statuses: Vec<Status> = done.iter().map(|completion| completion.status).collect();
            assert_eq!(statuses, [Status::OutOfRange; 2], "{sectors} at {lba}");
        }
    }
}

#[test]
fn waiting_requests_of_adjacent_blocks_become_one_command() {
    let mut device = driver(DriverSpec { merge: true, ..PLAIN }, &SmallDrive::default());
    // 0 goes down at once. 2 joins 1 at its end, 3 at its start. 4 overlaps, 5 is a write, 6 is a forced write: none of them joins.
    let forced = Request { flags: Flags::FUA, ..write(6, 2_008) };
    submit(&mut device, &[read(0, 0), read(1, 1_008), read(2, 1_016), read(3, 1_000), read(4, 1_004)]);
    submit(&mut device, &[write(5, 2_000), forced]);
    let done = completions(&mut device);
    assert_eq!(tags(&done), [0, 3, 1, 2, 4, 5, 6], "by address within the command");
    assert!(done[1..4].iter().all(|completion| completion.finished == done[1].finished));
    let commands: Vec<u16> = done.iter().map(|completion| completion.effort.commands).collect();
    assert_eq!(commands, [1, 1, 0, 0, 1, 1, 1], "one command was sent for the three");
}

#[test]
fn a_command_grows_to_the_largest_transfer() {
    let mut device = driver(DriverSpec { merge: true, max_transfer: 16, ..PLAIN }, &SmallDrive::default());
    submit(&mut device, &[read(0, 4_000), read(1, 0), read(2, 8), read(3, 16), read(4, 24)]);
    let commands: u16 = completions(&mut device).iter().map(|completion| completion.effort.commands).sum();
    assert_eq!(commands, 3);
}

/// Requests of three and ten parts above a driver of four commands: the second has one part in the driver at first, so the read behind
/// them, which any order by place would put first, waits until it has room. With room for all it is first.
#[test]
fn parts_of_a_split_request_take_room() {
    let served = |capacity: u32| {
        let by_place = DriverSpec::plain(capacity, 1, Discipline::plain(Policy::Sstf), 8);
        let mut device = driver(by_place, &SmallDrive::default());
        submit(&mut device, &[request(0, Op::Read, 4_000, 24), request(1, Op::Read, 5_000, 80), read(2, 4_024)]);
        let done = completions(&mut device);
        for answer in &done {
            assert_eq!(answer.parts.total(), answer.finished.since(answer.submitted), "{answer:?}");
            assert_eq!(answer.parts.get(Part::Flush), Span::ZERO, "no flush is about");
        }
        tags(&done)
    };
    assert_eq!(served(256), [0, 2, 1]);
    assert_eq!(served(4), [0, 1, 2]);
}

#[test]
fn landings_of_merged_writes_keep_their_stamps() {
    let mut device = driver(DriverSpec { merge: true, ..PLAIN }, &SmallDrive::default());
    submit(&mut device, &[write(0, 4_000), write(1, 108), write(2, 100), write(3, 116)]);
    completions(&mut device);
    let landed = std::iter::from_fn(|| device.poll_landing()).filter(|landing| landing.kind == LandingKind::Landed);
    let sectors = landed.flat_map(|run| (run.lba..run.end()).map(move |lba| (lba, run.stamp)));
    let mut landed: Vec<(u64, u64)> = sectors.collect();
    landed.sort_unstable();
    let written = [(100, 3), (108, 2), (116, 4), (4_000, 1)];
    let expected = written.into_iter().flat_map(|(lba, stamp)| (lba..lba + 8).map(move |lba| (lba, stamp)));
    assert_eq!(landed, expected.collect::<Vec<_>>());
}

/// Returned are the flushes that the drive counts. The driver asks at each flush whether the drive caches.
#[test]
fn flushes_go_to_a_drive_that_caches_writes() {
    let flushes_at_drive = |flush, cached| {
        let mut device = driver(DriverSpec { flush, ..PLAIN }, &caching_drive());
        device.control(Instant::ZERO, &Control::Set(LayerSetting::WriteBack(cached))).expect("a known key");
        submit(
            &mut device,
            &[write(0, 800), request(1, Op::Flush, 0, 0), write(2, 1_600), request(3, Op::Flush, 0, 0)],
        );
        assert_eq!(completions(&mut device).len(), 4);
        device.drive_log().flushes
    };
    for (flush, counts) in [(FlushPolicy::Forward, (2, 2)), (FlushPolicy::Cached, (2, 0)), (FlushPolicy::Drop, (0, 0))]
    {
        assert_eq!((flushes_at_drive(flush, true), flushes_at_drive(flush, false)), counts, "{flush:?}");
    }
}

#[test]
fn a_flush_covers_what_the_cache_held_when_it_was_switched_off() {
    let mut device = driver(DriverSpec { flush: FlushPolicy::Cached, ..PLAIN }, &caching_drive());
    submit(&mut device, &[write(0, 2_000)]);
    let written = device.proceed(Instant::FAR).expect("written").finished;
    device.control(written, &Control::Set(LayerSetting::WriteBack(false))).expect("a known key");
    let mut flush = |tag, now| {
        device.submit(now, request(tag, Op::Flush, 0, 0)).expect("room");
        device.proceed(Instant::FAR).expect("flushed").finished
    };
    let first = flush(1, written);
    assert!(first > written, "the data are not on the medium yet");
    assert_eq!(flush(2, first), first, "nothing is volatile any more");
}

/// Between two addresses the arm reverses at every seek; at rising addresses it never does.
#[test]
fn a_drive_counts_its_seeks_and_reversals() {
    let seeks_and_reversals = |lbas: &[u64]| {
        let mut device = driver(PLAIN, &SmallDrive::default());
        for (tag, &lba) in (0..).zip(lbas) {
            submit(&mut device, &[read(tag, lba)]);
        }
        completions(&mut device);
        let log = device.drive_log();
        (log.seeks, log.reversals)
    };
    assert_eq!(seeks_and_reversals(&[0, 4_000, 0, 4_000, 0]), (4, 3));
    assert_eq!(seeks_and_reversals(&[0, 1_000, 2_000, 3_000, 4_000]), (4, 0));
    assert_eq!(seeks_and_reversals(&[0, 8, 16, 24]), (0, 0));
}

#[test]
fn a_plug_waits_for_more_commands_or_for_its_time() {
    let wait = Span::from_millis(3);
    let spec = DriverSpec { plug: Some(Plug { commands: 3, wait }), ..PLAIN };
    let first_finished = |mut device: LayeredDevice<Driver>, requests: &[Request]| {
        submit(&mut device, requests);
        completions(&mut device)[0].finished
    };
    let unplugged = first_finished(driver(PLAIN, &SmallDrive::default()), &[read(0, 0)]);
    let plugged = first_finished(driver(spec, &SmallDrive::default()), &[read(0, 0)]);
    assert!(plugged >= Instant::ZERO + wait && plugged > unplugged);
    let three = [read(0, 0), read(1, 400), read(2, 800)];
    let with_three = first_finished(driver(spec, &SmallDrive::default()), &three);
    assert_eq!(with_three, unplugged, "the third ends the wait");
}

#[test]
fn deadline_prefers_reads_and_lets_writes_in_after_two_batches() {
    let deadline = DeadlineSpec { fifo_batch: 2, ..DeadlineSpec::LINUX };
    let spec = DriverSpec { scheduler: SchedulerSpec::Deadline(deadline), ..PLAIN };
    let mut device = driver(spec, &SmallDrive::default());
    let writes: Vec<Request> = (0..2).map(|index| write(100 + index, 3_000 + 100 * u64::from(index))).collect();
    let reads: Vec<Request> = (0..8).map(|tag| read(tag, 200 * u64::from(tag))).collect();
    submit(&mut device, &[&reads[..1], &writes[..], &reads[1..]].concat());
    let order = tags(&completions(&mut device));
    // The first batch began before there was a write. Two more batches of reads pass the writes over, then these have one.
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 100, 101, 6, 7]);
}

#[test]
fn deadline_serves_expired_requests() {
    // How many requests complete before the oldest of those below the sweep.
    let served_before = |read_expire| {
        let spec = DeadlineSpec { fifo_batch: 1, read_expire, ..DeadlineSpec::LINUX };
        let mut device =
            driver(DriverSpec { scheduler: SchedulerSpec::Deadline(spec), ..PLAIN }, &SmallDrive::default());
        // Request 1 lies behind the sweep, which begins at request 0; the others lie ahead of it.
        let others: Vec<Request> = (2..40).map(|tag| read(tag, 1_000 + 100 * u64::from(tag))).collect();
        submit(&mut device, &[&[read(0, 1_100), read(1, 0)], &others[..]].concat());
        tags(&completions(&mut device)).iter().position(|&tag| tag == 1).expect("answered")
    };
    assert!(served_before(Span::from_millis(30)) < 8, "after 30 ms");
    assert_eq!(served_before(Span::from_secs(10)), 39, "when the sweep begins again");
}

/// A program has many reads at high addresses, another reads block after block at low ones. Returns how many requests
/// complete before the last of the second program.
fn served_before_sequential_program(scheduler: SchedulerSpec) -> usize {
    let mut device = driver(DriverSpec { scheduler, ..PLAIN }, &SmallDrive::default());
    let many: Vec<Request> = (0..60).map(|index| read(100 + index, 2_000 + 40 * u64::from(index))).collect();
    submit(&mut device, &many);
    device.submit(Instant::ZERO, Request { origin: 1, ..read(0, 0) }).expect("room");
    let mut order = Vec::new();
    while let Some(done) = device.proceed(Instant::FAR) {
        order.push(done.tag);
        let next = done.tag + 1;
        if next < 20 {
            let request = Request { origin: 1, ..read(next, 8 * u64::from(next)) };
            device.submit(done.finished, request).expect("room");
        }
    }
    order.iter().position(|&tag| tag == 19).expect("answered")
}

#[test]
fn fair_queuing_gives_a_program_its_turn_and_waits_for_it() {
    let fair = FairSpec { max_budget: 160, ..FairSpec::LINUX };
    let fair_count = served_before_sequential_program(SchedulerSpec::Fair(fair));
    let sorted_count = served_before_sequential_program(SchedulerSpec::Order(Discipline::plain(Policy::CLook)));
    assert!(fair_count < 60, "its twenty blocks are read in a turn of its own: {fair_count}");
    assert!(sorted_count > fair_count, "{sorted_count}");
    let without_idling = FairSpec { slice_idle: Span::ZERO, seeky_idle: Span::ZERO, ..fair };
    let count = served_before_sequential_program(SchedulerSpec::Fair(without_idling));
    assert!(count > fair_count, "without idling its turn ends with each block: {count}");
}

#[test]
fn a_flush_is_forwarded_or_dropped_by_policy() {
    let flush = request(1, Op::Flush, 0, 0);
    // The commands that a flush becomes, and whether the written data survive a cut.
    let commands_and_survival = |spec: DriverSpec| {
        let mut device = driver(spec, &caching_drive());
        submit(&mut device, &[write(0, 2_000)]);
        let written = device.proceed(Instant::FAR).expect("written").finished;
        device.submit(written, flush).expect("room");
        let done = device.proceed(Instant::FAR).expect("flushed");
        device.control(done.finished, &Control::PowerCut).expect("cut");
        let survives = std::iter::from_fn(|| device.poll_landing()).all(|landing| landing.kind == LandingKind::Landed);
        (done.effort.commands, survives)
    };
    assert_eq!(commands_and_survival(PLAIN), (1, true));
    for flush in [FlushPolicy::Drop, FlushPolicy::Never] {
        assert_eq!(commands_and_survival(DriverSpec { flush, ..PLAIN }), (0, false), "{flush:?}");
    }
}

/// A write is in flight, then come a flush, two reads and another flush. The parts of each tell how long it waited for others, and
/// how long for a flush.
#[test]
fn requests_after_a_barrier_wait_for_it() {
    let mut small = caching_drive();
    small.link.queuing = Queuing::None;
    let mut device = driver(PLAIN, &small);
    let flush = |tag| request(tag, Op::Flush, 0, 0);
    submit(&mut device, &[write(0, 2_000), flush(1), read(2, 800), read(3, 900), flush(4)]);
    let done = completions(&mut device);
    assert_eq!(tags(&done), [0, 1, 2, 3, 4]);
    let part_of = |tag: usize, part| done[tag].parts.get(part);
    for answer in &done {
        assert_eq!(answer.parts.total(), answer.finished.since(answer.submitted), "{answer:?}");
    }
    let finished = |tag: usize| done[tag].finished.since(Instant::ZERO);
    assert_eq!(part_of(1, Part::Driver), finished(0), "a barrier waits for others, and then for the medium");
    assert!(part_of(1, Part::Flush) > Span::ZERO);
    assert_eq!((part_of(2, Part::Flush), part_of(2, Part::Driver)), (finished(1), Span::ZERO));
    assert_eq!(
        (part_of(3, Part::Flush), part_of(3, Part::Driver)),
        (finished(1), finished(2) - finished(1)),
        "then for its turn"
    );
    assert_eq!((part_of(4, Part::Flush), part_of(4, Part::Driver)), (finished(1), finished(3) - finished(1)));
}

#[test]
fn a_driver_that_drops_flushes_breaks_rule_4_and_only_above_a_cache() {
    let spec = DriverSpec { flush: FlushPolicy::Drop, ..PLAIN };
    let broken_rule = |small: &SmallDrive| {
        let build_device = || -> Box<dyn Device> { Box::new(Driver::build_above(spec, Box::new(small.drive()))) };
        (0..10)
            .find_map(|seed| check_conformance(&build_device, small.cut_sector, seed).err())
            .map(|violation| violation.rule)
    };
    let mut caching = caching_drive();
    caching.link.fua = false;
    assert_eq!(broken_rule(&caching), Some(4));
    assert_eq!(broken_rule(&SmallDrive { cache: CacheSpec::NONE, ..caching }), None);
}

#[test]
fn a_flush_stands_in_for_forced_unit_access() {
    let mut small = caching_drive();
    small.link.fua = false;
    let spec = DriverSpec { write_through: ForcedWritePolicy::Flush, ..PLAIN };
    let mut device = driver(spec, &small);
    assert!(device.limits(0).fua && !small.drive().limits(0).fua);
    submit(&mut device, &[Request { flags: Flags::FUA, ..write(0, 2_000) }]);
    let done = completions(&mut device);
    assert_eq!((tags(&done), done[0].effort.commands), (vec![0], 2));
    assert_eq!(done[0].parts.total(), done[0].finished.since(done[0].submitted));
    let landing = device.poll_landing().expect("on the medium");
    assert!(landing.kind == LandingKind::Landed && landing.to <= done[0].finished);
}

#[test]
fn the_driver_decides_whether_a_power_off_loses_data() {
    let lost_runs = |power_off| {
        let mut device = driver(DriverSpec { power_off, ..PLAIN }, &caching_drive());
        submit(&mut device, &[write(0, 2_000), write(1, 500)]);
        let done = [(); 2].map(|()| device.proceed(Instant::FAR).expect("written").finished);
        device.control(done[1], &Control::PowerOff).expect("off");
        while let Some(next) = device.poll_timeout() {
            device.handle_timeout(next);
        }
        std::iter::from_fn(|| device.poll_landing()).filter(|landing| landing.kind != LandingKind::Landed).count()
    };
    assert_eq!(lost_runs(PowerOffPolicy::Orderly), 0);
    assert!(lost_runs(PowerOffPolicy::AtOnce) > 0, "as `via-ide` does");
    assert_eq!(lost_runs(PowerOffPolicy::Pause(Span::from_secs(2))), 0, "as the patched Windows 98 does");
    assert!(lost_runs(PowerOffPolicy::Pause(Span::from_nanos(1))) > 0, "too short a pause");
}

#[test]
fn a_command_that_takes_too_long_is_sent_again_and_fails_at_last() {
    for kind in [Queuing::Ncq, Queuing::Scsi] {
        let mut small = SmallDrive::default().with_queue(4, Policy::Fcfs);
        small.link.queuing = kind;
        // The drive retries the block for 30 revolutions, 250 ms. A shorter time-out ends each attempt before that.
        small.weak = vec![WeakBlocks { lba: 0, sectors: 1, retries: 30 }];
        let spec =
            |timeout_ms| DriverSpec { depth: 4, timeout: Some(Span::from_millis(timeout_ms)), retries: 2, ..PLAIN };
        let outcome = |timeout_ms: u64| {
            let mut device = driver(spec(timeout_ms), &small);
            submit(&mut device, &[read(1, 1_000), read(0, 0)]);
            let done = completions(&mut device);
            let [first, second] = [0, 1].map(|tag| done.iter().find(|done| done.tag == tag).expect("answered"));
            (first.status, first.effort.commands, second.status)
        };
        assert_eq!(outcome(100), (Status::Aborted, 3, Status::Done), "{kind:?}: twice again");
        assert_eq!(outcome(1_000), (Status::Done, 1, Status::Done), "{kind:?}");
    }
}

#[test]
fn settings_change_while_it_runs() {
    let mut device = driver(DriverSpec { depth: 4, ..PLAIN }, &caching_drive().with_queue(4, Policy::Fcfs));
    let mut set = |setting| device.control(Instant::ZERO, &Control::Set(setting));
    let of_driver = |setting| LayerSetting::Driver { number: 1, setting };
    assert_eq!(set(of_driver(DriverSetting::Flush(FlushPolicy::Drop))), Ok(()));
    assert_eq!(set(of_driver(DriverSetting::Depth(2))), Ok(()));
    for depth in [0, 5] {
        assert_eq!(set(of_driver(DriverSetting::Depth(depth))), Err(ControlError::BadValue));
    }
    let second = LayerSetting::Driver { number: 2, setting: DriverSetting::Flush(FlushPolicy::Forward) };
    assert_eq!(set(second), Err(ControlError::UnknownKey));
    assert_eq!(set(LayerSetting::WriteBack(false)), Ok(()), "passed on");
    submit(&mut device, &[request(0, Op::Flush, 0, 0)]);
    assert_eq!(completions(&mut device)[0].finished, Instant::ZERO);
}
