//! Choices that are not final: a drive gives up the command that it chose for a nearer one that comes in time.

use super::*;

/// Two far reads wait behind a first one. A third read at `lba`, near the first, comes `delay_us` after its completion. Returns
/// the tag of the read that completes second. `revise_us`: how long a choice can be revised.
fn next_after_first(policy: Policy, lba: u64, revise_us: u64, delay_us: u64) -> u32 {
    let mut small = drive_with_queue(Queuing::Ncq, 16, policy);
    small.firmware.revise = Span::from_micros(revise_us);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, instant_us(500), &[read(1, 40), read(2, 7_000)]);
    let (mut done, mut third_read_at) = (Vec::new(), None);
    while let Some(next) = drive.poll_timeout() {
        match third_read_at.take_if(|at| *at < next) {
            Some(at) => submit(&mut drive, at, &[read(3, lba)]),
            None => drive.handle_timeout(next),
        }
        while let Some(completion) = drive.poll_completion() {
            if completion.tag == 0 {
                third_read_at = Some(completion.finished + Span::from_micros(delay_us));
            }
            done.push(completion);
        }
    }
    assert_eq!(done.len(), 4);
    done[1].tag
}

#[test]
fn a_choice_is_revised_for_a_nearer_one_while_it_is_not_final() {
    let by_distance = |revise_us, delay_us| next_after_first(Policy::Sstf, 4_100, revise_us, delay_us);
    assert_eq!([by_distance(0, 100), by_distance(300, 100), by_distance(300, 400)], [2, 3, 2]);
    // By positioning time, the third read is next where it is nearer than the rest of the way to the chosen one; in order of
    // arrival it never is.
    let lbas = || (4_008..4_200).step_by(8);
    let times_next = |revise_us, delay_us| {
        lbas().filter(|&lba| next_after_first(Policy::Sptf, lba, revise_us, delay_us) == 3).count()
    };
    let counts = [times_next(0, 100), times_next(300, 100), times_next(300, 400)];
    assert!(counts[1] > 0 && counts[1] < lbas().count() && counts[0] == 0 && counts[2] == 0, "{counts:?}");
    assert!(lbas().all(|lba| next_after_first(Policy::Fcfs, lba, 300, 100) == 1));
}

/// If no nearer command comes, the arm has moved since the choice.
#[test]
fn a_choice_that_is_not_revised_costs_nothing() {
    for seed in 0..8 {
        let results = |revise| {
            let mut rng = Seed(seed).stream("places");
            let mut small = drive_with_queue(Queuing::Ncq, 16, Policy::Sptf).with_buffer(4, 64).with_write_back(2);
            small.firmware.revise = revise;
            let draw_request = |rng: &mut Rng, tag| match tag > 0 && rng.draw_chance(30) {
                true => write(tag, 8 * rng.below(900)),
                false => read(tag, 8 * rng.below(900)),
            };
            let requests: Vec<Request> = (0..12).map(|tag| draw_request(&mut rng, tag)).collect();
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, &requests[..1]);
            submit(&mut drive, instant_us(1_100), &requests[1..]);
            completions(&mut drive).iter().map(|done| (done.tag, done.finished, done.parts)).collect::<Vec<_>>()
        };
        assert_eq!(results(Span::from_micros(1_000)), results(Span::ZERO), "seed {seed}");
    }
}

#[test]
fn drives_that_revise_keep_the_contract() {
    for (revise, policy) in [(100, Policy::Sptf), (20_000, Policy::Sptf), (500, Policy::Look), (500, Policy::Sstf)] {
        for seed in 0..6 {
            let mut small = SmallDrive::default().with_buffer(6, 32).with_write_back(4).with_queue(8, policy);
            small.firmware.revise = Span::from_micros(revise);
            let build_device = || -> Box<dyn Device> { Box::new(small.drive()) };
            check_conformance(&build_device, small.cut_sector, seed).expect("the contract");
        }
    }
}
