//! Flushes that share commands, above the scripted device: which commands go down when, and what each request waits for. A
//! flush is the command `0+0`; commands take 10 ms unless a script says otherwise.

use seekwise_disk::block::{Completion, Control, Device, Flags, Op, Queuing, Request, Status};
use seekwise_disk::host::driver::{Driver, DriverSpec, ForcedWritePolicy};
use seekwise_disk::host::layer::{HostLayer, HostLayerContext, LayeredDevice, NextTurn};
use seekwise_disk::queue::Policy;
use seekwise_disk::record::Part;
use seekwise_disk::testing::{SmallDrive, check_conformance};
use seekwise_disk::time::{Instant, Span};

use super::scripted::{DONE, Scene, done_after_ms, expected_events};
use super::{PLAIN, caching_drive, request, write};

const SHARING: DriverSpec =
    DriverSpec { share_flushes: true, write_through: ForcedWritePolicy::Flush, depth: 4, ..PLAIN };

fn flush(tag: u32) -> Request {
    request(tag, Op::Flush, 0, 0)
}

fn forced(tag: u32, lba: u64) -> Request {
    Request { flags: Flags::FUA, ..write(tag, lba) }
}

/// Tags, ends and driver's time in milliseconds, and numbers of commands.
fn outcomes(scene: &mut Scene) -> Vec<(u32, u64, u64, u16)> {
    let done = scene.completions().into_iter();
    done.map(|(tag, status, end, driver, commands)| {
        assert_eq!(status, DONE, "{tag}");
        (tag, end, driver, commands)
    })
    .collect()
}

#[test]
fn flushes_that_come_during_one_share_the_next() {
    let submitted = |share_flushes| {
        let mut scene = Scene::new(DriverSpec { share_flushes, ..SHARING }, Queuing::Ncq, &[]);
        (0..4).for_each(|tag| scene.submit(u64::from(tag), &[flush(tag)]));
        (outcomes(&mut scene), scene.events().len())
    };
    // The wait for the flush below is part *flush*, none of it the driver's; the command is charged once.
    assert_eq!(submitted(true), (vec![(0, 10, 0, 1), (1, 20, 0, 1), (2, 20, 0, 0), (3, 20, 0, 0)], 2));
    assert_eq!(submitted(false).1, 4);
}

/// The flushes 3 and 4 come after the command that serves 0 has begun, but before it goes down, when the write has ended.
#[test]
fn a_flush_waits_for_the_drive_and_serves_those_before_it() {
    let mut scene = Scene::new(SHARING, Queuing::Ncq, &[]);
    scene.submit(0, &[write(1, 800)]);
    scene.submit(1, &[flush(0)]);
    scene.submit(2, &[write(2, 1_600), flush(3)]);
    scene.submit(11, &[flush(4), write(5, 2_400)]);
    let done = outcomes(&mut scene);
    let events = [(0, "800+8"), (10, "0+0"), (20, "1600+8"), (30, "0+0"), (40, "2400+8")];
    assert_eq!(
        scene.events(),
        expected_events(&events),
        "a write goes between two flushes, and no flush is passed over"
    );
    let expected = [(1, 10, 0, 1), (0, 20, 9, 1), (2, 30, 18, 1), (3, 40, 10, 1), (4, 40, 10, 0), (5, 50, 20, 1)];
    assert_eq!(done, expected);
}

#[test]
fn a_flush_above_a_scsi_drive_goes_down_beside_other_commands() {
    let mut scene = Scene::new(SHARING, Queuing::Scsi, &[]);
    scene.submit(0, &[write(0, 800), flush(1)]);
    scene.submit(5, &[flush(2), write(3, 1_600), flush(4)]);
    assert_eq!(outcomes(&mut scene), [(0, 10, 0, 1), (1, 10, 0, 1), (3, 15, 0, 1), (2, 20, 0, 1), (4, 20, 0, 0)]);
}

#[test]
fn forced_writes_in_flight_together_share_a_flush() {
    let script: &[(u64, &[_])] = &[(800, &[done_after_ms(30)])];
    let mut scene = Scene::new(SHARING, Queuing::Ncq, script);
    scene.submit(0, &[forced(0, 800), forced(1, 1_600), forced(2, 2_400)]);
    assert_eq!(outcomes(&mut scene), [(1, 40, 20, 2), (2, 40, 20, 1), (0, 40, 0, 1)]);
}

/// The second write takes 8 s. Above a SCSI drive its neighbour's flush need not wait for an idle drive.
#[test]
fn a_flush_waits_at_most_five_seconds_for_forced_data() {
    let script: &[(u64, &[_])] = &[(1_600, &[done_after_ms(8_000)])];
    let mut scene = Scene::new(SHARING, Queuing::Scsi, script);
    scene.submit(0, &[forced(0, 800), forced(1, 1_600)]);
    assert_eq!(outcomes(&mut scene), [(0, 5_020, 5_000, 2), (1, 8_010, 0, 2)]);
}

#[test]
fn flushes_of_different_units_share_no_command() {
    let mut scene = Scene::new(SHARING, Queuing::Ncq, &[]);
    let of_unit = |tag, unit| Request { unit, ..flush(tag) };
    scene.submit(0, &[flush(0)]);
    scene.submit(1, &[of_unit(1, 1), of_unit(2, 0), of_unit(3, 1)]);
    assert_eq!(outcomes(&mut scene), [(0, 10, 0, 1), (1, 20, 0, 1), (3, 20, 0, 0), (2, 30, 0, 1)]);
}

#[test]
fn an_abort_of_one_flush_leaves_those_that_share_its_command() {
    for aborted_at in [2, 12] {
        let mut scene = Scene::new(SHARING, Queuing::Scsi, &[]);
        (0..3).for_each(|tag| scene.submit(u64::from(tag), &[flush(tag)]));
        scene.driver.control(Instant::ZERO + Span::from_millis(aborted_at), &Control::Abort(1)).expect("in flight");
        let done = scene.completions();
        let others: Vec<_> = done.iter().filter(|it| it.0 != 1).map(|it| (it.0, it.1, it.2)).collect();
        assert_eq!((others, done.len()), (vec![(0, DONE, 10), (2, DONE, 20)], 3), "aborted at {aborted_at} ms");
    }
}

/// A drive whose cache acknowledges writes while a flush is below.
fn queueing_drive(queuing: Queuing) -> SmallDrive {
    let mut small = caching_drive().with_queue(4, Policy::Fcfs);
    small.link.queuing = queuing;
    small
}

/// The rule that ten checks find broken.
fn broken_rule(build_device: &dyn Fn() -> Box<dyn Device>, small: &SmallDrive) -> Option<u8> {
    let checks = (0..10).map(|seed| check_conformance(build_device, small.cut_sector, seed));
    checks.filter_map(Result::err).next().map(|violation| violation.rule)
}

#[test]
fn a_driver_that_shares_flushes_keeps_the_contract() {
    for queuing in [Queuing::Scsi, Queuing::Ncq, Queuing::Tcq] {
        for write_through in [ForcedWritePolicy::Flush, ForcedWritePolicy::FuaOnScsi] {
            let small = queueing_drive(queuing);
            let spec = DriverSpec { write_through, merge: true, ..SHARING };
            let build_device = || -> Box<dyn Device> { Box::new(Driver::build_above(spec, Box::new(small.drive()))) };
            assert_eq!(broken_rule(&build_device, &small), None, "{queuing:?}, {write_through:?}");
        }
    }
}

/// A canary: a flush that comes while one is below ends with it, though it may cover writes that the other does not.
#[derive(Clone, Default)]
struct LateJoiner {
    flush_below: Option<u32>,
    joined: Vec<u32>,
}

impl HostLayer for LateJoiner {
    type Note = ();
    const PART: Part = Part::Driver;

    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        let request = context.slots[slot].request;
        match (request.op == Op::Flush && request.flags == Flags::NONE, self.flush_below) {
            (true, Some(_)) => self.joined.push(slot),
            (is_flush, _) => {
                self.flush_below = self.flush_below.or(is_flush.then_some(slot));
                context.submit_below(now, request);
            }
        }
        Instant::FAR
    }

    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        let (slot, now, status) = (completion.tag, completion.finished, completion.status);
        context.book_completion(slot, completion);
        context.answer_request(now, slot, status);
        if self.flush_below == Some(slot) {
            self.flush_below = None;
            for joined in std::mem::take(&mut self.joined) {
                match status {
                    Status::Done => context.answer_request(now, joined, status),
                    _ => context.submit_below(now, context.slots[joined].request),
                }
            }
        }
        Instant::FAR
    }

    fn held_slots(&self, _: &HostLayerContext<Self>) -> Vec<u32> {
        self.joined.clone()
    }

    fn withdraw_request(&mut self, _: &mut HostLayerContext<Self>, _: Instant, slot: u32, _: Status) -> bool {
        let joined_before = self.joined.len();
        self.joined.retain(|&joined| joined != slot);
        self.joined.len() < joined_before
    }
}

#[test]
fn a_flush_that_joins_one_below_breaks_rule_4() {
    let small = queueing_drive(Queuing::Scsi);
    let build_device =
        || -> Box<dyn Device> { Box::new(LayeredDevice::new(LateJoiner::default(), 4, Box::new(small.drive()))) };
    assert_eq!(broken_rule(&build_device, &small), Some(4));
}
