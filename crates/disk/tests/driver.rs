//! What a driver's policies do, by hand: merging, the schedulers' orders, flushes, write-through, power-off, time-outs.

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

fn cached() -> SmallDrive {
    SmallDrive::default().with_buffer(8, 64).with_write_back(6)
}

fn driver(spec: DriverSpec, small: &SmallDrive) -> LayeredDevice<Driver> {
    let mut driver = Driver::build_above(spec, Box::new(small.drive()));
    driver.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("landings");
    driver
}

fn submit(device: &mut dyn Device, requests: &[Request]) {
    for &request in requests {
        device.submit(Instant::ZERO, request).expect("room");
    }
}

fn answers(device: &mut dyn Device) -> Vec<Completion> {
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
            let done = answers(&mut device);
            let outcomes: Vec<Status> = done.iter().map(|completion| completion.status).collect();
            assert_eq!(outcomes, [Status::OutOfRange; 2], "{sectors} at {lba}");
        }
    }
}

#[test]
fn neighbours_that_wait_become_one_command() {
    let mut device = driver(DriverSpec { merge: true, ..PLAIN }, &SmallDrive::default());
    // The first is below at once; 2 joins behind 1, 3 before it; 4 overlaps, 5 is a write, 6 wants the medium.
    let forced = Request { flags: Flags::FUA, ..write(6, 2_008) };
    submit(&mut device, &[read(0, 0), read(1, 1_008), read(2, 1_016), read(3, 1_000), read(4, 1_004)]);
    submit(&mut device, &[write(5, 2_000), forced]);
    let done = answers(&mut device);
    assert_eq!(tags(&done), [0, 3, 1, 2, 4, 5, 6], "by place within the command");
    assert!(done[1..4].iter().all(|completion| completion.finished == done[1].finished));
    let commands: Vec<u16> = done.iter().map(|completion| completion.effort.commands).collect();
    assert_eq!(commands, [1, 1, 0, 0, 1, 1, 1], "one command was sent for the three");
}

#[test]
fn a_command_grows_to_the_largest_transfer() {
    let mut device = driver(DriverSpec { merge: true, max_transfer: 16, ..PLAIN }, &SmallDrive::default());
    submit(&mut device, &[read(0, 4_000), read(1, 0), read(2, 8), read(3, 16), read(4, 24)]);
    let commands: u16 = answers(&mut device).iter().map(|completion| completion.effort.commands).sum();
    assert_eq!(commands, 3);
}

#[test]
fn landings_of_merged_writes_keep_their_stamps() {
    let mut device = driver(DriverSpec { merge: true, ..PLAIN }, &SmallDrive::default());
    submit(&mut device, &[write(0, 4_000), write(1, 108), write(2, 100), write(3, 116)]);
    answers(&mut device);
    let landed = std::iter::from_fn(|| device.poll_landing()).filter(|landing| landing.kind == LandingKind::Landed);
    let sectors = landed.flat_map(|run| (run.lba..run.end()).map(move |lba| (lba, run.stamp)));
    let mut landed: Vec<(u64, u64)> = sectors.collect();
    landed.sort_unstable();
    let written = [(100, 3), (108, 2), (116, 4), (4_000, 1)];
    let expected = written.into_iter().flat_map(|(lba, stamp)| (lba..lba + 8).map(move |lba| (lba, stamp)));
    assert_eq!(landed, expected.collect::<Vec<_>>());
}

/// The drive counts what reaches it. The driver asks at each flush whether the drive caches.
#[test]
fn flushes_go_to_a_drive_that_caches_writes() {
    let reached = |flush, cached| {
        let mut device = driver(DriverSpec { flush, ..PLAIN }, &self::cached());
        device.control(Instant::ZERO, &Control::Set(LayerSetting::WriteBack(cached))).expect("a known key");
        submit(
            &mut device,
            &[write(0, 800), request(1, Op::Flush, 0, 0), write(2, 1_600), request(3, Op::Flush, 0, 0)],
        );
        assert_eq!(answers(&mut device).len(), 4);
        device.drive_log().flushes
    };
    for (flush, counts) in [(FlushPolicy::Forward, (2, 2)), (FlushPolicy::Cached, (2, 0)), (FlushPolicy::Drop, (0, 0))]
    {
        assert_eq!((reached(flush, true), reached(flush, false)), counts, "{flush:?}");
    }
}

/// Between two places the heads reverse at every seek; upwards they never do.
#[test]
fn a_drive_counts_its_seeks_and_their_turns() {
    let log = |places: &[u64]| {
        let mut device = driver(PLAIN, &SmallDrive::default());
        for (tag, &lba) in (0..).zip(places) {
            submit(&mut device, &[read(tag, lba)]);
        }
        answers(&mut device);
        let log = device.drive_log();
        (log.seeks, log.reversals)
    };
    assert_eq!(log(&[0, 4_000, 0, 4_000, 0]), (4, 3));
    assert_eq!(log(&[0, 1_000, 2_000, 3_000, 4_000]), (4, 0));
    assert_eq!(log(&[0, 8, 16, 24]), (0, 0));
}

#[test]
fn a_plug_waits_for_company_or_for_its_time() {
    let wait = Span::from_millis(3);
    let spec = DriverSpec { plug: Some(Plug { commands: 3, wait }), ..PLAIN };
    let alone = driver(spec, &SmallDrive::default());
    let first = |mut device: LayeredDevice<Driver>, requests: &[Request]| {
        submit(&mut device, requests);
        answers(&mut device)[0].finished
    };
    let plain = first(driver(PLAIN, &SmallDrive::default()), &[read(0, 0)]);
    let held = first(alone, &[read(0, 0)]);
    assert!(held >= Instant::ZERO + wait && held > plain);
    let three = [read(0, 0), read(1, 400), read(2, 800)];
    assert_eq!(first(driver(spec, &SmallDrive::default()), &three), plain, "the third pulls the plug");
}

#[test]
fn deadline_prefers_reads_and_lets_writes_in_after_two_batches() {
    let spec = DeadlineSpec { fifo_batch: 2, ..DeadlineSpec::LINUX };
    let spec = DriverSpec { scheduler: SchedulerSpec::Deadline(spec), ..PLAIN };
    let mut device = driver(spec, &SmallDrive::default());
    let writes: Vec<Request> = (0..2).map(|i| write(100 + i, 3_000 + 100 * u64::from(i))).collect();
    let reads: Vec<Request> = (0..8).map(|i| read(i, 200 * u64::from(i))).collect();
    submit(&mut device, &[&reads[..1], &writes[..], &reads[1..]].concat());
    let order = tags(&answers(&mut device));
    // The first batch began before there was a write; two more pass the writes over, and the third is theirs.
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 100, 101, 6, 7]);
}

#[test]
fn deadline_serves_what_has_expired() {
    let stuck = |read_expire| {
        let spec = DeadlineSpec { fifo_batch: 1, read_expire, ..DeadlineSpec::LINUX };
        let mut device =
            driver(DriverSpec { scheduler: SchedulerSpec::Deadline(spec), ..PLAIN }, &SmallDrive::default());
        // The oldest lies behind the sweep, the others ahead of it.
        let others: Vec<Request> = (2..40).map(|i| read(i, 1_000 + 100 * u64::from(i))).collect();
        submit(&mut device, &[&[read(0, 1_100), read(1, 0)], &others[..]].concat());
        tags(&answers(&mut device)).iter().position(|&tag| tag == 1).expect("answered")
    };
    assert!(stuck(Span::from_millis(30)) < 8, "after 30 ms");
    assert_eq!(stuck(Span::from_secs(10)), 39, "when the sweep comes round");
}

/// Tags in order of completion: one program with many reads far up, one that reads block after block at the beginning.
fn two_programs(scheduler: SchedulerSpec) -> usize {
    let mut device = driver(DriverSpec { scheduler, ..PLAIN }, &SmallDrive::default());
    let many: Vec<Request> = (0..60).map(|i| read(100 + i, 2_000 + 40 * u64::from(i))).collect();
    submit(&mut device, &many);
    device.submit(Instant::ZERO, Request { origin: 1, ..read(0, 0) }).expect("room");
    let mut order = Vec::new();
    while let Some(done) = device.proceed(Instant::FAR) {
        order.push(done.tag);
        let next = done.tag + 1;
        if next < 20 {
            let more = Request { origin: 1, ..read(next, 8 * u64::from(next)) };
            device.submit(done.finished, more).expect("room");
        }
    }
    order.iter().position(|&tag| tag == 19).expect("answered")
}

#[test]
fn fair_queuing_gives_a_program_its_turn_and_waits_for_it() {
    let fair = FairSpec { max_budget: 160, ..FairSpec::LINUX };
    let last = two_programs(SchedulerSpec::Fair(fair));
    let sorted = two_programs(SchedulerSpec::Order(Discipline::plain(Policy::CLook)));
    assert!(last < 60, "its twenty blocks come within a turn of its own: {last}");
    assert!(sorted > last, "{sorted}");
    let hasty = FairSpec { slice_idle: Span::ZERO, seeky_idle: Span::ZERO, ..fair };
    assert!(two_programs(SchedulerSpec::Fair(hasty)) > last, "without idling its turn ends with each block");
}

#[test]
fn flushes_go_down_or_not() {
    let flush = request(1, Op::Flush, 0, 0);
    let held_back = |spec: DriverSpec| {
        let mut device = driver(spec, &cached());
        submit(&mut device, &[write(0, 2_000)]);
        let written = device.proceed(Instant::FAR).expect("written").finished;
        device.submit(written, flush).expect("room");
        let done = device.proceed(Instant::FAR).expect("flushed");
        device.control(done.finished, &Control::PowerCut).expect("cut");
        let kept = std::iter::from_fn(|| device.poll_landing()).all(|landing| landing.kind == LandingKind::Landed);
        (done.effort.commands, kept)
    };
    assert_eq!(held_back(PLAIN), (1, true));
    for flush in [FlushPolicy::Drop, FlushPolicy::Never] {
        assert_eq!(held_back(DriverSpec { flush, ..PLAIN }), (0, false), "{flush:?}");
    }
}

/// A write under way, a flush, a read and another flush: each waits for its own reason.
#[test]
fn what_comes_after_a_barrier_waits_behind_it() {
    let mut small = cached();
    small.link.queuing = Queuing::None;
    let mut device = driver(PLAIN, &small);
    let flush = |tag| request(tag, Op::Flush, 0, 0);
    submit(&mut device, &[write(0, 2_000), flush(1), read(2, 800), read(3, 900), flush(4)]);
    let done = answers(&mut device);
    assert_eq!(tags(&done), [0, 1, 2, 3, 4]);
    let waited = |tag: usize, part| done[tag].parts.get(part);
    for answer in &done {
        assert_eq!(answer.parts.total(), answer.finished.since(answer.submitted), "{answer:?}");
    }
    let since = |tag: usize| done[tag].finished.since(Instant::ZERO);
    assert_eq!(waited(1, Part::Driver), since(0), "a barrier waits for others, and then for the medium");
    assert!(waited(1, Part::Flush) > Span::ZERO);
    assert_eq!((waited(2, Part::Flush), waited(2, Part::Driver)), (since(1), Span::ZERO));
    assert_eq!((waited(3, Part::Flush), waited(3, Part::Driver)), (since(1), since(2) - since(1)), "then for its turn");
    assert_eq!((waited(4, Part::Flush), waited(4, Part::Driver)), (since(1), since(3) - since(1)));
}

#[test]
fn a_driver_that_drops_flushes_breaks_rule_4_and_only_above_a_cache() {
    let spec = DriverSpec { flush: FlushPolicy::Drop, ..PLAIN };
    let broken = |small: &SmallDrive| {
        let make = || -> Box<dyn Device> { Box::new(Driver::build_above(spec, Box::new(small.drive()))) };
        (0..10).find_map(|seed| check_conformance(&make, small.cut_sector, seed).err()).map(|violation| violation.rule)
    };
    let mut cached = cached();
    cached.link.fua = false;
    assert_eq!(broken(&cached), Some(4));
    assert_eq!(broken(&SmallDrive { cache: CacheSpec::NONE, ..cached }), None);
}

#[test]
fn a_flush_stands_in_for_forced_unit_access() {
    let mut small = cached();
    small.link.fua = false;
    let spec = DriverSpec { write_through: ForcedWritePolicy::Flush, ..PLAIN };
    let mut device = driver(spec, &small);
    assert!(device.limits(0).fua && !small.drive().limits(0).fua);
    submit(&mut device, &[Request { flags: Flags::FUA, ..write(0, 2_000) }]);
    let done = answers(&mut device);
    assert_eq!((tags(&done), done[0].effort.commands), (vec![0], 2));
    assert_eq!(done[0].parts.total(), done[0].finished.since(done[0].submitted));
    let landing = device.poll_landing().expect("on the medium");
    assert!(landing.kind == LandingKind::Landed && landing.to <= done[0].finished);
}

#[test]
fn what_a_power_off_loses_goes_by_the_driver() {
    let lost = |power_off| {
        let mut device = driver(DriverSpec { power_off, ..PLAIN }, &cached());
        submit(&mut device, &[write(0, 2_000), write(1, 500)]);
        let done = [(); 2].map(|()| device.proceed(Instant::FAR).expect("written").finished);
        device.control(done[1], &Control::PowerOff).expect("off");
        while let Some(next) = device.poll_timeout() {
            device.handle_timeout(next);
        }
        std::iter::from_fn(|| device.poll_landing()).filter(|landing| landing.kind != LandingKind::Landed).count()
    };
    assert_eq!(lost(PowerOffPolicy::Orderly), 0);
    assert!(lost(PowerOffPolicy::AtOnce) > 0, "via-ide's fault");
    assert_eq!(lost(PowerOffPolicy::Pause(Span::from_secs(2))), 0, "the pause of the patched Windows 98");
    assert!(lost(PowerOffPolicy::Pause(Span::from_nanos(1))) > 0, "too short a pause");
}

#[test]
fn a_command_that_takes_too_long_is_sent_again_and_fails_at_last() {
    for kind in [Queuing::Ncq, Queuing::Scsi] {
        let mut small = SmallDrive::default().with_queue(4, Policy::Fcfs);
        small.link.queuing = kind;
        // 30 revolutions, 250 ms; then as long as the time-out is short of that, in vain.
        small.weak = vec![WeakBlocks { lba: 0, sectors: 1, retries: 30 }];
        let spec = |ms| DriverSpec { depth: 4, timeout: Some(Span::from_millis(ms)), retries: 2, ..PLAIN };
        let outcome = |ms: u64| {
            let mut device = driver(spec(ms), &small);
            submit(&mut device, &[read(1, 1_000), read(0, 0)]);
            let done = answers(&mut device);
            let of = |tag: u32| done.iter().find(|done| done.tag == tag).expect("answered");
            (of(0).status, of(0).effort.commands, of(1).status)
        };
        assert_eq!(outcome(100), (Status::Aborted, 3, Status::Done), "{kind:?}: twice again");
        assert_eq!(outcome(1_000), (Status::Done, 1, Status::Done), "{kind:?}");
    }
}

#[test]
fn settings_change_while_it_runs() {
    let mut device = driver(DriverSpec { depth: 4, ..PLAIN }, &cached().with_queue(4, Policy::Fcfs));
    let mut set = |setting| device.control(Instant::ZERO, &Control::Set(setting));
    let own = |setting| LayerSetting::Driver { number: 1, setting };
    assert_eq!(set(own(DriverSetting::Flush(FlushPolicy::Drop))), Ok(()));
    assert_eq!(set(own(DriverSetting::Depth(2))), Ok(()));
    for depth in [0, 5] {
        assert_eq!(set(own(DriverSetting::Depth(depth))), Err(ControlError::BadValue));
    }
    let second = LayerSetting::Driver { number: 2, setting: DriverSetting::Flush(FlushPolicy::Forward) };
    assert_eq!(set(second), Err(ControlError::UnknownKey));
    assert_eq!(set(LayerSetting::WriteBack(false)), Ok(()), "passed on");
    submit(&mut device, &[request(0, Op::Flush, 0, 0)]);
    assert_eq!(answers(&mut device)[0].finished, Instant::ZERO);
}
