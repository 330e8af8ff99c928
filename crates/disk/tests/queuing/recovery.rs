//! Places that are read only after tries or not at all, and what an error does to the queue it happens in.

use super::*;

fn weak(lba: u64, sectors: u32, retries: u32) -> WeakBlocks {
    WeakBlocks { lba, sectors, retries }
}

#[test]
fn a_weak_place_costs_a_revolution_a_try() {
    for (limit, retries) in [(None, 0), (None, 7), (Some(100), 12)] {
        let sound = SmallDrive::default();
        let mut small = SmallDrive { weak: vec![weak(12, 2, retries)], ..sound.clone() };
        small.firmware.recovery_limit = limit.map(Span::from_millis);
        let ask = |small: &SmallDrive, lba: u64| {
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, &[read(0, lba)]);
            answers(&mut drive)[0]
        };
        for lba in [5, 12, 13] {
            let (plain, tried) = (ask(&sound, lba), ask(&small, lba));
            let more = tried.finished.since(plain.finished).nanos();
            assert!(more.abs_diff(u64::from(retries) * REVOLUTION) <= 12, "{more}");
            assert_eq!((tried.parts.get(Part::Rotation) - plain.parts.get(Part::Rotation)).nanos(), more);
            assert_eq!(tried.status, Status::Done);
        }
        assert_eq!(ask(&small, 14), ask(&sound, 14), "beside it");
        assert_eq!(ask(&small, 4), ask(&sound, 4), "before it");
    }
}

#[test]
fn recovery_ends_at_its_limit() {
    let mut small = SmallDrive { weak: vec![weak(10, 1, 3), weak(20, 1, 4)], ..SmallDrive::default() };
    let sound = SmallDrive::default();
    let ask = |small: &SmallDrive| {
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 30)]);
        answers(&mut drive)[0]
    };
    // Seven tries in all are 58.3 ms.
    small.firmware.recovery_limit = Some(Span::from_millis(59));
    assert_eq!(ask(&small).status, Status::Done);
    small.firmware.recovery_limit = Some(Span::from_millis(58));
    let failed = ask(&small);
    assert_eq!(failed.status, Status::MediumError);
    let least = ask(&sound).parts.get(Part::Rotation) + Span::from_nanos(6 * REVOLUTION);
    assert!(failed.parts.get(Part::Rotation).nanos().abs_diff(least.nanos()) < 10, "six tries: {failed:?}");
    // Up to the place that failed, and no further.
    assert!(failed.parts.get(Part::Transfer) < ask(&sound).parts.get(Part::Transfer));
    assert_eq!(failed.parts.total(), failed.finished.since(failed.submitted));
}

#[test]
fn what_was_not_read_is_not_in_the_buffer_and_a_write_makes_it_sound() {
    let mut small = SmallDrive { weak: vec![weak(100, 4, 9)], ..SmallDrive::default() }.with_buffer(4, 512);
    small.firmware.recovery_limit = Some(Span::from_millis(20));
    let mut drive = small.drive();
    let mut now = Instant::ZERO;
    let mut ask = |request: Request| {
        submit(&mut drive, now, &[request]);
        let done = answers(&mut drive)[0];
        now = done.finished + Span::from_millis(100);
        done
    };
    assert_eq!(ask(request(0, Op::Read, 0, 64)).status, Status::Done);
    let ahead = ask(request(0, Op::Read, 64, 36));
    assert_eq!(
        (ahead.status, ahead.parts.get(Part::Transfer)),
        (Status::Done, Span::ZERO),
        "read ahead up to the place"
    );
    for _ in 0..2 {
        assert_eq!(ask(request(0, Op::Read, 90, 20)).status, Status::MediumError, "and not across it");
        assert_eq!(ask(request(0, Op::Read, 103, 1)).status, Status::MediumError);
    }
    assert_eq!(ask(request(0, Op::Write, 101, 2)).status, Status::Done);
    assert_eq!(ask(request(0, Op::Read, 101, 2)).status, Status::Done);
    assert_eq!(ask(request(0, Op::Read, 100, 1)).status, Status::MediumError, "what was not written is weak as before");
    assert_eq!(ask(request(0, Op::Read, 103, 1)).status, Status::MediumError);
    assert_eq!(ask(request(0, Op::Write, 96, 16)).status, Status::Done);
    assert_eq!(ask(request(0, Op::Read, 96, 16)).status, Status::Done);
}

fn failing(kind: Queuing) -> SmallDrive {
    let mut small = queued(kind, 8, Policy::Fcfs);
    small.weak = vec![weak(100, 1, 9)];
    small.firmware.recovery_limit = Some(Span::from_millis(20));
    small
}

#[test]
fn an_error_takes_an_ata_queue_down_and_leaves_a_scsi_queue_alone() {
    for (kind, others) in
        [(Queuing::Tcq, Status::Aborted), (Queuing::Ncq, Status::Aborted), (Queuing::Scsi, Status::Done)]
    {
        let mut drive = failing(kind).drive();
        submit(&mut drive, Instant::ZERO, &[read(0, 0), read(1, 100), read(2, 3_000), write(3, 4_000)]);
        let done = answers(&mut drive);
        assert_eq!(tags(&done)[..2], [0, 1], "{kind:?}");
        let status = |tag: u32| of(&done, tag).status;
        assert_eq!((status(0), status(1)), (Status::Done, Status::MediumError));
        assert_eq!((status(2), status(3)), (others, others), "{kind:?}");
        if others == Status::Aborted {
            assert_eq!(of(&done, 2).finished, of(&done, 1).finished, "at once");
        }
        for completion in &done {
            assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted), "{completion:?}");
        }
    }
}

#[test]
fn the_driver_sends_again_what_went_down_with_another() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let spec = DriverSpec::plain(64, 8, Discipline::plain(Policy::Fcfs), 8);
        let mut driver = Driver::build_above(spec, Box::new(failing(kind).drive()));
        driver.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("known");
        let long = request(2, Op::Read, 96, 24);
        submit(&mut driver, Instant::ZERO, &[read(0, 0), read(1, 100), long, write(3, 4_000), read(4, 5_000)]);
        // Aborted from above: not sent again.
        driver.control(at(10), &Control::Abort(4)).expect("in flight");
        let done = answers(&mut driver);
        let expected = [Status::Done, Status::MediumError, Status::MediumError, Status::Done, Status::Aborted];
        for (tag, status) in expected.into_iter().enumerate() {
            let completion = of(&done, tag as u32);
            assert_eq!(completion.status, status, "{kind:?}, {tag}");
            assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
        }
        let lost = of(&done, 3).parts.get(Part::Driver);
        assert_eq!(lost > Span::from_millis(20), kind != Queuing::Scsi, "{kind:?}: {lost} lost on the first attempt");
        let landed = std::iter::from_fn(|| driver.poll_landing()).filter(|landing| landing.kind == LandingKind::Landed);
        assert_eq!(landed.map(|landing| landing.sectors).sum::<u32>(), 8);
    }
}
