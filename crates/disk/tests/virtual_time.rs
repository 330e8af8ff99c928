//! Virtual time against stepping: a client that proceeds, and polls only when told that there may be a completion, sees
//! the same completions at the same instants as one that calls at every timeout and always polls. Random stacks, with
//! and without landings, because layers do different work with them.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, DeviceProgress, Flags, Op, Request};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{SmallStack, random_array, random_profile, random_stack};
use seekwise_disk::time::{Instant, Rate, Span};

/// How time passes for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    Proceeding,
    Stepping,
    /// Proceeding, and what goes alone does.
    Alone,
}

/// What was refused, and what was answered.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    refused: Vec<u32>,
    completions: Vec<Completion>,
}

struct Client {
    device: Box<dyn Device>,
    passing: Passing,
    heard: Heard,
    /// What goes alone unless another comes at the same instant, and when it came.
    lone: Option<(Instant, Request)>,
    went_alone: usize,
}

impl Client {
    fn drain(&mut self) {
        self.heard.completions.extend(std::iter::from_fn(|| self.device.poll_completion()));
    }

    /// The device returned at `now` that its next call is `next`.
    fn told(&mut self, now: Instant, next: Instant) {
        if self.passing == Passing::Stepping || next <= now {
            return self.drain();
        }
        assert_eq!(self.device.poll_completion(), None, "at {now:?} nothing was to be had before {next:?}");
        assert_eq!(self.device.poll_timeout().unwrap_or(Instant::FAR), next, "told at {now:?}");
    }

    /// Runs everything that happens before `until`.
    fn pass(&mut self, until: Instant) {
        let mut answer = Completion::NONE;
        if let Some((came, request)) = self.lone.take() {
            match self.device.run_alone(came, &request, until, &mut answer) {
                true => {
                    self.went_alone += 1;
                    self.heard.completions.push(answer);
                }
                false => self.hand_over(came, request),
            }
        }
        while self.passing != Passing::Stepping {
            let DeviceProgress { answered, next } = self.device.proceed_into(until, &mut answer);
            if !answered {
                return self.told(until, next);
            }
            self.heard.completions.push(answer);
            self.told(answer.finished, next);
        }
        while let Some(next) = self.device.poll_timeout().filter(|&next| next <= until) {
            self.device.handle_timeout(next);
            self.drain();
        }
    }

    fn submit(&mut self, now: Instant, request: Request) {
        if let Some((came, lone)) = self.lone.take() {
            self.hand_over(came, lone);
        } else if self.passing == Passing::Alone && self.device.can_run_alone(&request) {
            self.lone = Some((now, request));
            return;
        }
        self.hand_over(now, request);
    }

    fn hand_over(&mut self, now: Instant, request: Request) {
        match self.device.submit(now, request) {
            Ok(next) => self.told(now, next),
            Err(_) => self.heard.refused.push(request.tag),
        }
    }
}

/// How requests come: so many per cent with no pause before, the others after at least ten to this power of nanoseconds.
const CROWDED: (u32, u32) = (60, 0);
const SPARSE: (u32, u32) = (20, 7);

/// Requests in bursts and one by one, some at the instants of other completions; then waits for all.
fn heard(
    device: Box<dyn Device>,
    seed: u64,
    (together, least): (u32, u32),
    passing: Passing,
    landings: bool,
) -> Client {
    let mut client = Client { device, passing, heard: Heard::default(), lone: None, went_alone: 0 };
    if landings {
        let wanted = Control::Set(LayerSetting::Landings(true));
        client.device.control(Instant::ZERO, &wanted).expect("landings");
    }
    let rng = &mut Seed(seed).stream("client");
    let sectors = client.device.limits(0).sectors;
    let mut now = Instant::ZERO;
    for tag in 0..120 {
        client.submit(now, draw(rng, tag, sectors));
        let pause =
            if rng.draw_chance(together) { 0 } else { 10u64.pow(least + rng.below(9 - u64::from(least)) as u32) };
        let end = client.heard.completions.last().map_or(now, |last| last.finished);
        now = if rng.draw_chance(20) { end.max(now) } else { now + Span::from_nanos(pause) };
        client.pass(now);
        while client.device.poll_landing().is_some() {}
    }
    client.pass(now + Span::from_secs(100));
    client
}

fn draw(rng: &mut Rng, tag: u32, sectors: u64) -> Request {
    let unit = 8;
    let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush][rng.below(6) as usize];
    let flags = if op == Op::Write && rng.draw_chance(10) { Flags::FUA } else { Flags::NONE };
    let (lba, length) = (rng.below(sectors / unit) * unit, unit * (1 + rng.below(10)));
    let length = if op == Op::Flush { 0 } else { length.min(sectors - lba) as u32 };
    let stamp = u64::from(tag) + 1;
    Request { tag, unit: 0, origin: (tag % 3) as u16, op, flags, lba, sectors: length, stamp }
}

fn compare(stack: &SmallStack, seed: u64) -> usize {
    let all = [true, false].map(|landings| {
        let [proceeding, stepping] = [Passing::Proceeding, Passing::Stepping]
            .map(|passing| heard(stack.build(), seed, CROWDED, passing, landings).heard);
        assert_eq!(proceeding, stepping, "seed {seed}, landings {landings}: {stack:?}");
        stepping
    });
    assert_eq!(all[0], all[1], "seed {seed}, with landings and without: {stack:?}");
    all[0].completions.len()
}

#[test]
fn who_proceeds_meets_what_who_steps_meets() {
    let answered: usize = (0..300).map(|seed| compare(&random_stack(&mut Seed(seed).stream("stack")), seed)).sum();
    assert!(answered > 9_000, "{answered} answers");
}

#[test]
fn what_goes_alone_meets_what_it_meets_otherwise() {
    let (mut alone, mut answered) = (0, 0);
    for seed in 0..crate::drawn(600) {
        let drive = random_profile(&mut Seed(seed).stream("drive"));
        let [stepping, seen_through] = [Passing::Stepping, Passing::Alone]
            .map(|passing| heard(Box::new(drive.drive()), seed, SPARSE, passing, false));
        assert_eq!(stepping.heard, seen_through.heard, "seed {seed}: {drive:?}");
        assert_eq!(stepping.device.drive_log(), seen_through.device.drive_log(), "seed {seed}: {drive:?}");
        (alone, answered) = (alone + seen_through.went_alone, answered + stepping.heard.completions.len());
    }
    assert!(
        alone > crate::drawn(1_000) as usize && answered > crate::drawn(20_000) as usize,
        "{alone} of {answered} went alone"
    );
}

#[test]
fn above_arrays_too() {
    let answered: usize =
        (0..crate::drawn(100)).map(|seed| compare(&random_array(&mut Seed(seed).stream("array")), seed)).sum();
    assert!(answered > crate::drawn(2_500) as usize, "{answered} answers");
}

/// Time that overflows ends the run in every build: these words are the model's own, not those of a compiler that looks.
#[test]
fn time_that_overflows_is_no_time() {
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
        let said = std::panic::catch_unwind(|| case(last, longest, one)).expect_err("it overflows");
        let said = said.downcast_ref::<&str>().copied().unwrap_or("other words");
        assert!(said.starts_with("time overflows"), "case {number}: {said}");
    }
    assert_eq!(cases[0](Instant::ZERO, longest, longest), u64::MAX, "up to the last nanosecond there is time");
}
