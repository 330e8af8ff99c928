//! Virtual time ([`Device::proceed_into`], [`Device::run_alone`]) against stepping. A client that proceeds, and polls only when
//! the device says that there may be a completion, gets equal completions as one that calls at every timeout and always polls.
//! The stacks are random, with landings on and off, because layers then do different work.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, DeviceProgress, Flags, Op, Request};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{SmallStack, random_array, random_profile, random_stack};
use seekwise_disk::time::{Instant, Rate, Span};

/// How a client lets time pass for its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeMode {
    Proceeding,
    Stepping,
    /// As `Proceeding`; requests that can run alone do.
    RunningAlone,
}

/// The tags of refused requests, and the completions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answers {
    refused: Vec<u32>,
    completions: Vec<Completion>,
}

/// A device and what its client has got from it.
struct Client {
    device: Box<dyn Device>,
    mode: TimeMode,
    answers: Answers,
    /// A request that runs alone unless another comes at its instant, with that instant.
    held_alone: Option<(Instant, Request)>,
    /// Requests that ran alone.
    ran_alone: usize,
}

impl Client {
    /// Polls all completions.
    fn drain(&mut self) {
        self.answers.completions.extend(std::iter::from_fn(|| self.device.poll_completion()));
    }

    /// Polls, if the next call that the device named at `now` is due: then it may have a completion. Otherwise checks that it has
    /// none, and that its timeout is `next`.
    fn poll_if_due(&mut self, now: Instant, next: Instant) {
        if self.mode == TimeMode::Stepping || next <= now {
            return self.drain();
        }
        assert_eq!(self.device.poll_completion(), None, "at {now:?} no completion was due before {next:?}");
        assert_eq!(self.device.poll_timeout().unwrap_or(Instant::FAR), next, "named at {now:?}");
    }

    /// Runs everything that happens up to `until`.
    fn run_until(&mut self, until: Instant) {
        let mut answer = Completion::NONE;
        if let Some((at, request)) = self.held_alone.take() {
            match self.device.run_alone(at, &request, until, &mut answer) {
                true => {
                    self.ran_alone += 1;
                    self.answers.completions.push(answer);
                }
                false => self.submit_now(at, request),
            }
        }
        while self.mode != TimeMode::Stepping {
            let DeviceProgress { answered, next } = self.device.proceed_into(until, &mut answer);
            if !answered {
                return self.poll_if_due(until, next);
            }
            self.answers.completions.push(answer);
            self.poll_if_due(answer.finished, next);
        }
        while let Some(next) = self.device.poll_timeout().filter(|&next| next <= until) {
            self.device.handle_timeout(next);
            self.drain();
        }
    }

    /// Submits a request, or holds it if it can run alone.
    fn submit(&mut self, now: Instant, request: Request) {
        if let Some((at, held)) = self.held_alone.take() {
            self.submit_now(at, held);
        } else if self.mode == TimeMode::RunningAlone && self.device.can_run_alone(&request) {
            self.held_alone = Some((now, request));
            return;
        }
        self.submit_now(now, request);
    }

    fn submit_now(&mut self, now: Instant, request: Request) {
        match self.device.submit(now, request) {
            Ok(next) => self.poll_if_due(now, next),
            Err(_) => self.answers.refused.push(request.tag),
        }
    }
}

/// The arrival of requests.
#[derive(Clone, Copy)]
struct ArrivalPattern {
    /// The percentage of requests without a pause before them.
    burst_percent: u32,
    /// The shortest other pause, as a power of ten of nanoseconds.
    min_pause_power: u32,
}

const CROWDED: ArrivalPattern = ArrivalPattern { burst_percent: 60, min_pause_power: 0 };
const SPARSE: ArrivalPattern = ArrivalPattern { burst_percent: 20, min_pause_power: 7 };

/// Runs a client that submits requests in bursts and one by one, some at the instants of completions, and then waits for all.
fn run_client(
    device: Box<dyn Device>,
    seed: u64,
    ArrivalPattern { burst_percent, min_pause_power }: ArrivalPattern,
    mode: TimeMode,
    landings: bool,
) -> Client {
    let mut client = Client { device, mode, answers: Answers::default(), held_alone: None, ran_alone: 0 };
    if landings {
        let report_landings = Control::Set(LayerSetting::Landings(true));
        client.device.control(Instant::ZERO, &report_landings).expect("landings");
    }
    let rng = &mut Seed(seed).stream("client");
    let sectors = client.device.limits(0).sectors;
    let mut now = Instant::ZERO;
    for tag in 0..120 {
        client.submit(now, draw_request(rng, tag, sectors));
        let pause_ns = match rng.draw_chance(burst_percent) {
            true => 0,
            false => 10u64.pow(min_pause_power + rng.below(9 - u64::from(min_pause_power)) as u32),
        };
        let end = client.answers.completions.last().map_or(now, |last| last.finished);
        now = if rng.draw_chance(20) { end.max(now) } else { now + Span::from_nanos(pause_ns) };
        client.run_until(now);
        while client.device.poll_landing().is_some() {}
    }
    client.run_until(now + Span::from_secs(100));
    client
}

fn draw_request(rng: &mut Rng, tag: u32, sectors: u64) -> Request {
    let unit = 8;
    let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush][rng.below(6) as usize];
    let flags = if op == Op::Write && rng.draw_chance(10) { Flags::FUA } else { Flags::NONE };
    let (lba, length) = (rng.below(sectors / unit) * unit, unit * (1 + rng.below(10)));
    let length = if op == Op::Flush { 0 } else { length.min(sectors - lba) as u32 };
    let stamp = u64::from(tag) + 1;
    Request { tag, unit: 0, origin: (tag % 3) as u16, op, flags, lba, sectors: length, stamp }
}

/// Checks that a client gets equal answers by proceeding and by stepping, with landings on and off. Returns the number of
/// completions.
fn compare_proceeding_with_stepping(stack: &SmallStack, seed: u64) -> usize {
    let [with_landings, without] = [true, false].map(|landings| {
        let [proceeding, stepping] = [TimeMode::Proceeding, TimeMode::Stepping]
            .map(|mode| run_client(stack.build(), seed, CROWDED, mode, landings).answers);
        assert_eq!(proceeding, stepping, "seed {seed}, landings {landings}: {stack:?}");
        stepping
    });
    assert_eq!(with_landings, without, "seed {seed}, with landings and without: {stack:?}");
    without.completions.len()
}

#[test]
fn proceeding_and_stepping_give_equal_answers() {
    let completions: usize = (0..300)
        .map(|seed| compare_proceeding_with_stepping(&random_stack(&mut Seed(seed).stream("stack")), seed))
        .sum();
    assert!(completions > 9_000, "{completions} completions");
}

#[test]
fn requests_that_run_alone_get_the_answers_of_others() {
    let (mut ran_alone, mut completions) = (0, 0);
    for seed in 0..crate::reduced_draws(600) {
        let drive = random_profile(&mut Seed(seed).stream("drive"));
        let [stepping, running_alone] = [TimeMode::Stepping, TimeMode::RunningAlone]
            .map(|mode| run_client(Box::new(drive.drive()), seed, SPARSE, mode, false));
        assert_eq!(stepping.answers, running_alone.answers, "seed {seed}: {drive:?}");
        assert_eq!(stepping.device.drive_log(), running_alone.device.drive_log(), "seed {seed}: {drive:?}");
        ran_alone += running_alone.ran_alone;
        completions += stepping.answers.completions.len();
    }
    assert!(
        ran_alone > crate::reduced_draws(1_000) as usize && completions > crate::reduced_draws(20_000) as usize,
        "{ran_alone} of {completions} ran alone"
    );
}

#[test]
fn proceeding_and_stepping_give_equal_answers_on_arrays() {
    let completions: usize = (0..crate::reduced_draws(100))
        .map(|seed| compare_proceeding_with_stepping(&random_array(&mut Seed(seed).stream("array")), seed))
        .sum();
    assert!(completions > crate::reduced_draws(2_500) as usize, "{completions} completions");
}

/// An overflow of time panics in every build, with the model's own message: it does not depend on the compiler's checks.
#[test]
fn an_overflow_of_time_panics() {
    let (last, longest) = (Instant::from_nanos(u64::MAX), Span::from_nanos(u64::MAX));
    let one = Span::from_nanos(1);
    let cases: [fn(Instant, Span, Span) -> u64; 10] = [
        |last, _, one| (last + one).nanos(),
        |mut last, _, one| {
            last += one;
            last.nanos()
        },
        |last, _, _| Instant::ZERO.since(last).nanos(),
        |_, longest, one| (longest + one).nanos(),
        |_, mut longest, one| {
            longest += one;
            longest.nanos()
        },
        |_, longest, one| (one - longest).nanos(),
        |_, longest, _| longest.times(2).nanos(),
        |_, longest, _| Span::from_micros(longest.nanos()).nanos(),
        |_, longest, _| Span::from_secs(longest.nanos()).nanos(),
        |_, longest, _| Rate::new(1).transfer_time(longest.nanos()).nanos(),
    ];
    for (number, case) in cases.into_iter().enumerate() {
        let panic = std::panic::catch_unwind(|| case(last, longest, one)).expect_err("it overflows");
        let message = panic.downcast_ref::<&str>().copied().unwrap_or("another message");
        assert!(message.starts_with("time overflows"), "case {number}: {message}");
    }
    assert_eq!(cases[0](Instant::ZERO, longest, longest), u64::MAX, "the last nanosecond does not overflow");
}
