//! Choices that are not final: a drive gives the command it chose up for a nearer one that comes in time.

use super::*;

/// Two far reads wait behind one; so long after that one is answered a third comes, near it, at `place`. Which is next.
fn next_beside(policy: Policy, place: u64, revise: u64, after: u64) -> u32 {
    let mut small = queued(Queuing::Ncq, 16, policy);
    small.firmware.revise = Span::from_micros(revise);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, at(500), &[read(1, 40), read(2, 7_000)]);
    let (mut done, mut comes) = (Vec::new(), None);
    while let Some(next) = drive.poll_timeout() {
        match comes.take_if(|comes| *comes < next) {
            Some(comes) => submit(&mut drive, comes, &[read(3, place)]),
            None => drive.handle_timeout(next),
        }
        while let Some(completion) = drive.poll_completion() {
            comes = if completion.tag == 0 { Some(completion.finished + Span::from_micros(after)) } else { comes };
            done.push(completion);
        }
    }
    assert_eq!(done.len(), 4);
    done[1].tag
}

#[test]
fn a_choice_is_revised_for_a_nearer_one_while_it_is_not_final() {
    let by_distance = |revise, after| next_beside(Policy::Sstf, 4_100, revise, after);
    assert_eq!([by_distance(0, 100), by_distance(300, 100), by_distance(300, 400)], [2, 3, 2]);
    // By positioning time wherever that is less than what is left of the way; in order of arrival never.
    let places = || (4_008..4_200).step_by(8);
    let nearer = |revise, after| places().filter(|&place| next_beside(Policy::Sptf, place, revise, after) == 3).count();
    let found = [nearer(0, 100), nearer(300, 100), nearer(300, 400)];
    assert!(found[1] > 0 && found[1] < places().count() && found[0] == 0 && found[2] == 0, "{found:?}");
    assert!(places().all(|place| next_beside(Policy::Fcfs, place, 300, 100) == 1));
}

/// As long as nothing comes the arm has been under way since the choice.
#[test]
fn a_choice_that_stays_costs_nothing() {
    for seed in 0..8 {
        let times = |revise| {
            let mut rng = Seed(seed).stream("places");
            let mut small = queued(Queuing::Ncq, 16, Policy::Sptf).with_buffer(4, 64).with_write_back(2);
            small.firmware.revise = revise;
            let places = |rng: &mut Rng, tag| match tag > 0 && rng.draw_chance(30) {
                true => write(tag, 8 * rng.below(900)),
                false => read(tag, 8 * rng.below(900)),
            };
            let requests: Vec<Request> = (0..12).map(|tag| places(&mut rng, tag)).collect();
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, &requests[..1]);
            submit(&mut drive, at(1_100), &requests[1..]);
            answers(&mut drive).iter().map(|done| (done.tag, done.finished, done.parts)).collect::<Vec<_>>()
        };
        assert_eq!(times(Span::from_micros(1_000)), times(Span::ZERO), "seed {seed}");
    }
}

#[test]
fn drives_that_revise_keep_the_contract() {
    for (revise, policy) in [(100, Policy::Sptf), (20_000, Policy::Sptf), (500, Policy::Look), (500, Policy::Sstf)] {
        for seed in 0..6 {
            let mut small = SmallDrive::default().with_buffer(6, 32).with_write_back(4).with_queue(8, policy);
            small.firmware.revise = Span::from_micros(revise);
            let make = || -> Box<dyn Device> { Box::new(small.drive()) };
            check_conformance(&make, small.cut_sector, seed).expect("the contract");
        }
    }
}
