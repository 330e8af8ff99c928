//! Virtual time against stepping: a client that proceeds, and polls only when told that there may be a completion, sees
//! the same completions at the same instants as one that calls at every timeout and always polls. Random stacks, with
//! and without landings, because layers do different work with them.

use seekwise_model::block::{Completion, Control, Device, DeviceProgress, Flags, Op, Request};
use seekwise_model::rng::{Rng, Seed};
use seekwise_model::testing::{SmallStack, random_array, random_stack};
use seekwise_model::time::{Instant, Span};

/// How time passes for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passing {
    Proceeding,
    Stepping,
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
        while self.passing == Passing::Proceeding {
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
        match self.device.submit(now, request) {
            Ok(next) => self.told(now, next),
            Err(_) => self.heard.refused.push(request.tag),
        }
    }
}

/// Requests in bursts and one by one, some at the instants of other completions; then waits for all.
fn heard(stack: &SmallStack, seed: u64, passing: Passing, landings: bool) -> Heard {
    let mut client = Client { device: stack.build(), passing, heard: Heard::default() };
    if landings {
        let wanted = Control::Set { key: "landings", value: "on" };
        client.device.control(Instant::ZERO, &wanted).expect("landings");
    }
    let rng = &mut Seed(seed).stream("client");
    let sectors = client.device.limits(0).sectors;
    let mut now = Instant::ZERO;
    for tag in 0..120 {
        client.submit(now, draw(rng, tag, sectors));
        let pause = if rng.percent(60) { 0 } else { 10u64.pow(rng.below(9) as u32) };
        let end = client.heard.completions.last().map_or(now, |last| last.finished);
        now = if rng.percent(20) { end.max(now) } else { now + Span::from_nanos(pause) };
        client.pass(now);
        while client.device.poll_landing().is_some() {}
    }
    client.pass(now + Span::from_secs(100));
    client.heard
}

fn draw(rng: &mut Rng, tag: u32, sectors: u64) -> Request {
    let unit = 8;
    let op = [Op::Read, Op::Read, Op::Read, Op::Write, Op::Write, Op::Flush][rng.below(6) as usize];
    let flags = if op == Op::Write && rng.percent(10) { Flags::FUA } else { Flags::NONE };
    let (lba, length) = (rng.below(sectors / unit) * unit, unit * (1 + rng.below(10)));
    let length = if op == Op::Flush { 0 } else { length.min(sectors - lba) as u32 };
    let stamp = u64::from(tag) + 1;
    Request { tag, unit: 0, origin: (tag % 3) as u16, op, flags, lba, sectors: length, stamp }
}

fn compare(stack: &SmallStack, seed: u64) -> usize {
    let all = [true, false].map(|landings| {
        let [proceeding, stepping] =
            [Passing::Proceeding, Passing::Stepping].map(|passing| heard(stack, seed, passing, landings));
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
fn above_arrays_too() {
    let answered: usize = (0..100).map(|seed| compare(&random_array(&mut Seed(seed).stream("array")), seed)).sum();
    assert!(answered > 3_000, "{answered} answers");
}
