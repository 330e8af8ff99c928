//! Copies of running devices ([`Device::fork`]): on random stacks and arrays, with random calls, a copy answers each later call as the
//! original does, though either is called without the other in between. Canaries are copies without the state, or without one call.

use seekwise_disk::block::setting::{ArraySetting, DriverSetting, FlushPolicy, LayerSetting};
use seekwise_disk::block::{Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Request};
use seekwise_disk::drive::movement::MovementLog;
use seekwise_disk::flash::{Flash, FlashSpec};
use seekwise_disk::parts::DriveLog;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::testing::{SmallStack, random_array, random_stack, random_tall_stack};
use seekwise_disk::time::{Instant, Span};

/// Calls of a device.
const CALLS: usize = 150;

/// A call of a device.
#[derive(Clone, Copy, Debug)]
enum Call {
    Submit(Request),
    Control(Control),
    /// Step to the instant.
    Step,
    /// Run on in virtual time to the instant.
    Proceed,
}

/// Everything that a device answers to a call.
#[derive(Debug, PartialEq)]
struct Answers {
    accepted: Option<Result<Instant, Request>>,
    applied: Option<Result<(), ControlError>>,
    completions: Vec<Completion>,
    landings: Vec<Landing>,
    next: Option<Instant>,
    unsettled: Vec<u64>,
    limits: Limits,
    log: DriveLog,
}

fn call(device: &mut Box<dyn Device>, now: Instant, call: Call) -> Answers {
    let mut completions = Vec::new();
    if matches!(call, Call::Proceed) {
        completions.extend(std::iter::from_fn(|| device.proceed(now)));
    }
    device.handle_timeout(now);
    completions.extend(std::iter::from_fn(|| device.poll_completion()));
    let accepted = if let Call::Submit(request) = call { Some(device.submit(now, request)) } else { None };
    let applied = if let Call::Control(control) = call { Some(device.control(now, &control)) } else { None };
    completions.extend(std::iter::from_fn(|| device.poll_completion()));
    let landings = std::iter::from_fn(|| device.poll_landing()).collect();
    let mut unsettled = Vec::new();
    device.report_unsettled(&mut |stamp| unsettled.push(stamp));
    let (next, limits, log) = (device.poll_timeout(), device.limits(0), device.drive_log());
    Answers { accepted, applied, completions, landings, next, unsettled, limits, log }
}

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn draw_control(rng: &mut Rng, last_tag: u32) -> Control {
    let member = rng.below(3) as u32;
    let driver = LayerSetting::Driver { number: 1, setting: DriverSetting::Flush(FlushPolicy::Drop) };
    pick(
        rng,
        &[
            Control::PowerCut,
            Control::PowerOff,
            Control::PowerOn,
            Control::PowerOn,
            Control::PowerOn,
            Control::Reset,
            Control::Abort(last_tag),
            Control::Abort(last_tag),
            Control::Set(LayerSetting::Landings(true)),
            Control::Set(LayerSetting::WriteBack(false)),
            Control::Set(LayerSetting::WriteBack(true)),
            Control::Set(driver),
            Control::Set(LayerSetting::Array(ArraySetting::Lose(member))),
            Control::Set(LayerSetting::Array(ArraySetting::Replace(member))),
            Control::Set(LayerSetting::Array(ArraySetting::Check(true))),
        ],
    )
}

fn draw_request(rng: &mut Rng, tag: u32, sectors: u64) -> Request {
    let op = pick(rng, &[Op::Read, Op::Read, Op::Write, Op::Write, Op::Write, Op::Flush]);
    let flags = if op == Op::Write && rng.draw_chance(10) { Flags::FUA } else { Flags::NONE };
    let lba = rng.below(sectors / 8) * 8;
    let length = if op == Op::Flush { 0 } else { (8 << rng.below(4)).min(sectors - lba) as u32 };
    Request { tag, unit: 0, origin: (tag % 3) as u16, op, flags, lba, sectors: length, stamp: u64::from(tag) }
}

/// The calls that a seed draws for a device of this size, each with the time since the last.
fn draw_calls(seed: u64, sectors: u64) -> Vec<(Span, Call)> {
    let rng = &mut Seed(seed).stream("caller");
    let landings = (Span::ZERO, Call::Control(Control::Set(LayerSetting::Landings(true))));
    let later = (1..CALLS as u32).map(|tag| {
        let pause = if rng.draw_chance(40) { Span::ZERO } else { Span::from_nanos(10u64.pow(5 + rng.below(4) as u32)) };
        let call = match rng.below(40) {
            0 => Call::Control(draw_control(rng, tag - 1)),
            1 => Call::Control(Control::PowerOn),
            2..24 => Call::Submit(draw_request(rng, tag, sectors)),
            24..32 => Call::Proceed,
            _ => Call::Step,
        };
        (pause, call)
    });
    std::iter::once(landings).chain(later).collect()
}

/// The number of the first call that `copy` answers otherwise than `original`; the calls before `start` are past.
fn first_difference(
    original: &mut Box<dyn Device>,
    copy: &mut Box<dyn Device>,
    (mut now, start): (Instant, usize),
    calls: &[(Span, Call)],
) -> Option<usize> {
    let (mut expected, end) = (Vec::new(), now);
    for &(pause, next) in &calls[start..] {
        now += pause;
        expected.push(call(original, now, next));
    }
    // The copy is called after the original has reached the end.
    now = end;
    let differs = |(&(pause, next), expected): (&(Span, Call), &Answers)| {
        now += pause;
        call(copy, now, next) != *expected
    };
    calls[start..].iter().zip(&expected).position(differs).map(|place| start + place)
}

/// Copies a stack at a drawn point of its calls, and compares what follows. Returns how many completions the calls had.
fn compare_copy(build: &dyn Fn() -> Box<dyn Device>, seed: u64) -> usize {
    let mut original = build();
    let calls = draw_calls(seed, original.limits(0).sectors);
    let start = Seed(seed).stream("point").below(CALLS as u64 - 20) as usize;
    let (mut now, mut completions) = (Instant::ZERO, 0);
    for &(pause, next) in &calls[..start] {
        now += pause;
        completions += call(&mut original, now, next).completions.len();
    }
    let mut copy = original.fork().expect("every modelled device can be copied");
    let mut copy_of_copy = copy.fork().expect("and its copy");
    let place = (now, start);
    assert_eq!(first_difference(&mut original, &mut copy, place, &calls), None, "seed {seed}, copied at {start}");
    let mut replayed = build();
    let mut now = Instant::ZERO;
    for &(pause, next) in &calls[..start] {
        now += pause;
        call(&mut replayed, now, next);
    }
    let difference = first_difference(&mut replayed, &mut copy_of_copy, place, &calls);
    assert_eq!(difference, None, "seed {seed}, a copy that ended changed its copy");
    completions
}

fn compare_stacks(name: &str, draws: u64, draw_stack: fn(&mut Rng) -> SmallStack) {
    let compare = |seed| {
        let stack = draw_stack(&mut Seed(seed).stream(name));
        compare_copy(&|| stack.build(), seed)
    };
    let draws = crate::reduced_draws(draws);
    let completions: usize = (0..draws).map(compare).sum();
    assert!(completions as u64 > 15 * draws, "{completions} completions before copies of {draws} {name}s");
}

#[test]
fn copies_of_stacks_answer_as_their_originals() {
    compare_stacks("stack", 1_000, random_stack);
}

#[test]
fn copies_of_tall_stacks_answer_as_their_originals() {
    compare_stacks("tall-stack", 500, random_tall_stack);
}

#[test]
fn copies_of_arrays_answer_as_their_originals() {
    compare_stacks("array", 500, random_array);
}

const STICK: FlashSpec = FlashSpec {
    sectors: 100_000,
    largest: 256,
    read: Span::from_micros(200),
    write: Span::from_micros(900),
    read_rate: 20_000_000,
    write_rate: 8_000_000,
};

#[test]
fn copies_of_flash_sticks_and_of_devices_beside_a_stack_answer_as_their_originals() {
    let drive = random_stack(&mut Seed(1).stream("stack")).drive.profile();
    let mixed = Stack { beside: vec![STICK], ..Stack::bare(drive) };
    for seed in 0..crate::reduced_draws(100) {
        compare_copy(&|| Box::new(Flash::new(STICK)), seed);
        compare_copy(&|| mixed.build(Seed(seed)), seed);
    }
}

/// Half of the calls are past. A copy that lost its state, or one of those calls, must be found out.
#[test]
fn the_comparison_finds_copies_that_lost_something() {
    let mut found = [0, 0];
    for seed in 0..20 {
        let stack = random_array(&mut Seed(seed).stream("array"));
        let calls = draw_calls(seed, stack.build().limits(0).sectors);
        let start = CALLS / 2;
        let run = |left_out: Option<usize>| {
            let (mut device, mut now, mut last_accepted) = (stack.build(), Instant::ZERO, None);
            for (number, &(pause, next)) in calls[..start].iter().enumerate() {
                now += pause;
                if Some(number) != left_out && matches!(call(&mut device, now, next).accepted, Some(Ok(_))) {
                    last_accepted = Some(number);
                }
            }
            (device, now, last_accepted)
        };
        let (original, now, last_accepted) = run(None);
        for (canary, found) in [stack.build(), run(last_accepted).0].iter_mut().zip(&mut found) {
            let mut original = original.fork().expect("a copy");
            *found += usize::from(first_difference(&mut original, canary, (now, start), &calls).is_some());
        }
    }
    assert!(found[0] == 20 && found[1] >= 15, "{found:?} of 20");
}

/// A drive that records its arm's movements does not get those of its copy.
#[test]
fn a_copy_records_no_movements() {
    let stack = Stack::bare(random_stack(&mut Seed(1).stream("stack")).drive.profile());
    let log = MovementLog::default();
    let device = stack.build_logged(Seed(1), &log);
    let mut copy = device.fork().expect("a copy");
    let read = Request { op: Op::Read, lba: 64, sectors: 8, tag: 1, stamp: 1, ..Request::NONE };
    copy.submit(Instant::ZERO, read).expect("room");
    assert!(copy.proceed(Instant::FAR).is_some() && log.borrow().is_empty());
}
