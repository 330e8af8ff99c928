//! Weak blocks, which are read only after retries or not at all, and the effect of a read error on the queue of a drive.

use super::*;

fn weak_blocks(lba: u64, sectors: u32, retries: u32) -> WeakBlocks {
    WeakBlocks { lba, sectors, retries }
}

#[test]
fn weak_blocks_cost_a_revolution_for_each_retry() {
    for (limit_ms, retries) in [(None, 0), (None, 7), (Some(100), 12)] {
        let sound = SmallDrive::default();
        let mut small = SmallDrive { weak: vec![weak_blocks(12, 2, retries)], ..sound.clone() };
        small.firmware.recovery_limit = limit_ms.map(Span::from_millis);
        let run_request = |small: &SmallDrive, lba: u64| {
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, &[read(0, lba)]);
            completions(&mut drive)[0]
        };
        for lba in [5, 12, 13] {
            let (plain, retried) = (run_request(&sound, lba), run_request(&small, lba));
            let added_ns = retried.finished.since(plain.finished).nanos();
            assert!(added_ns.abs_diff(u64::from(retries) * REVOLUTION) <= 12, "{added_ns}");
            assert_eq!((retried.parts.get(Part::Rotation) - plain.parts.get(Part::Rotation)).nanos(), added_ns);
            assert_eq!(retried.status, Status::Done);
        }
        assert_eq!(run_request(&small, 14), run_request(&sound, 14), "after the weak blocks");
        assert_eq!(run_request(&small, 4), run_request(&sound, 4), "before the weak blocks");
    }
}

#[test]
fn recovery_ends_at_its_limit() {
    let mut small = SmallDrive { weak: vec![weak_blocks(10, 1, 3), weak_blocks(20, 1, 4)], ..SmallDrive::default() };
    let sound = SmallDrive::default();
    let run_request = |small: &SmallDrive| {
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 30)]);
        completions(&mut drive)[0]
    };
    // Seven retries in all take 58.3 ms.
    small.firmware.recovery_limit = Some(Span::from_millis(59));
    assert_eq!(run_request(&small).status, Status::Done);
    small.firmware.recovery_limit = Some(Span::from_millis(58));
    let failed = run_request(&small);
    assert_eq!(failed.status, Status::MediumError);
    let with_six_retries = run_request(&sound).parts.get(Part::Rotation) + Span::from_nanos(6 * REVOLUTION);
    let rotation = failed.parts.get(Part::Rotation);
    assert!(rotation.nanos().abs_diff(with_six_retries.nanos()) < 10, "six retries: {failed:?}");
    // The read ends at the block that failed.
    assert!(failed.parts.get(Part::Transfer) < run_request(&sound).parts.get(Part::Transfer));
    assert_eq!(failed.parts.total(), failed.finished.since(failed.submitted));
}

#[test]
fn blocks_that_cannot_be_read_are_not_in_the_buffer_until_they_are_written() {
    let mut small = SmallDrive { weak: vec![weak_blocks(100, 4, 9)], ..SmallDrive::default() }.with_buffer(4, 512);
    small.firmware.recovery_limit = Some(Span::from_millis(20));
    let mut drive = small.drive();
    let mut now = Instant::ZERO;
    let mut run_request = |request: Request| {
        submit(&mut drive, now, &[request]);
        let done = completions(&mut drive)[0];
        now = done.finished + Span::from_millis(100);
        done
    };
    assert_eq!(run_request(request(0, Op::Read, 0, 64)).status, Status::Done);
    let ahead = run_request(request(0, Op::Read, 64, 36));
    assert_eq!(
        (ahead.status, ahead.parts.get(Part::Transfer)),
        (Status::Done, Span::ZERO),
        "read ahead up to the weak blocks"
    );
    for _ in 0..2 {
        assert_eq!(run_request(request(0, Op::Read, 90, 20)).status, Status::MediumError, "not across them");
        assert_eq!(run_request(request(0, Op::Read, 103, 1)).status, Status::MediumError);
    }
    assert_eq!(run_request(request(0, Op::Write, 101, 2)).status, Status::Done);
    assert_eq!(run_request(request(0, Op::Read, 101, 2)).status, Status::Done);
    assert_eq!(
        run_request(request(0, Op::Read, 100, 1)).status,
        Status::MediumError,
        "blocks that were not written stay weak"
    );
    assert_eq!(run_request(request(0, Op::Read, 103, 1)).status, Status::MediumError);
    assert_eq!(run_request(request(0, Op::Write, 96, 16)).status, Status::Done);
    assert_eq!(run_request(request(0, Op::Read, 96, 16)).status, Status::Done);
}

/// A drive that cannot read block 100.
fn drive_with_unreadable_block(kind: Queuing) -> SmallDrive {
    let mut small = drive_with_queue(kind, 8, Policy::Fcfs);
    small.weak = vec![weak_blocks(100, 1, 9)];
    small.firmware.recovery_limit = Some(Span::from_millis(20));
    small
}

#[test]
fn an_error_aborts_an_ata_queue_and_leaves_a_scsi_queue_alone() {
    for (kind, others) in
        [(Queuing::Tcq, Status::Aborted), (Queuing::Ncq, Status::Aborted), (Queuing::Scsi, Status::Done)]
    {
        let mut drive = drive_with_unreadable_block(kind).drive();
        submit(&mut drive, Instant::ZERO, &[read(0, 0), read(1, 100), read(2, 3_000), write(3, 4_000)]);
        let done = completions(&mut drive);
        assert_eq!(tags(&done)[..2], [0, 1], "{kind:?}");
        let status = |tag: u32| completion_of(&done, tag).status;
        assert_eq!((status(0), status(1)), (Status::Done, Status::MediumError));
        assert_eq!((status(2), status(3)), (others, others), "{kind:?}");
        if others == Status::Aborted {
            assert_eq!(completion_of(&done, 2).finished, completion_of(&done, 1).finished, "at once");
        }
        for completion in &done {
            assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted), "{completion:?}");
        }
    }
}

#[test]
fn the_driver_sends_commands_again_that_an_error_of_another_aborted() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let spec = DriverSpec::plain(64, 8, Discipline::plain(Policy::Fcfs), 8);
        let mut driver = Driver::build_above(spec, Box::new(drive_with_unreadable_block(kind).drive()));
        driver.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("known");
        let long = request(2, Op::Read, 96, 24);
        submit(&mut driver, Instant::ZERO, &[read(0, 0), read(1, 100), long, write(3, 4_000), read(4, 5_000)]);
        // A command that its client aborts is not sent again.
        driver.control(instant_us(10), &Control::Abort(4)).expect("in flight");
        let done = completions(&mut driver);
        let expected = [Status::Done, Status::MediumError, Status::MediumError, Status::Done, Status::Aborted];
        for (tag, status) in expected.into_iter().enumerate() {
            let completion = completion_of(&done, tag as u32);
            assert_eq!(completion.status, status, "{kind:?}, {tag}");
            assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
        }
        let first_attempt = completion_of(&done, 3).parts.get(Part::Driver);
        assert_eq!(first_attempt > Span::from_millis(20), kind != Queuing::Scsi, "{kind:?}: {first_attempt}");
        let landed = std::iter::from_fn(|| driver.poll_landing()).filter(|landing| landing.kind == LandingKind::Landed);
        assert_eq!(landed.map(|landing| landing.sectors).sum::<u32>(), 8);
    }
}
