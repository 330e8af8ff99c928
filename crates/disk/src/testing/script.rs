//! Random scripts: what is done to a device, and when. A script depends only on the device's limits and a random
//! stream, never on the device's answers.

use alloc::vec::Vec;

use crate::block::{Flags, Limits, Op};
use crate::rng::Rng;
use crate::time::{Instant, Span};

/// An action on a device.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptAction {
    /// A request; the run chooses the tag and the stamp.
    Submit {
        op: Op,
        flags: Flags,
        lba: u64,
        sectors: u32,
    },
    /// Abort the n-th request in flight, or an unknown tag if there is none.
    Abort(usize),
    Reset,
    Cut,
    Off,
    On,
}

/// An action with its instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedAction {
    pub(super) at: Instant,
    pub(super) act: ScriptAction,
}

/// Writes a script.
pub(super) struct ScriptAuthor<'a> {
    limits: Limits,
    rng: &'a mut Rng,
    /// Draws the later kinds of flags, so that older seeds still give the same requests.
    marks: Rng,
    now: Instant,
    /// Where requests cluster, so that they meet in a buffer and overlap.
    spots: [u64; 3],
    last_end: u64,
    steps: Vec<TimedAction>,
}

impl ScriptAuthor<'_> {
    /// A script of about `length` steps for a device of these `limits`; it ends with the power on. `marks` draws the
    /// requests' orders and priorities.
    pub(super) fn write_script(limits: Limits, rng: &mut Rng, marks: Rng, length: usize) -> Vec<TimedAction> {
        let spots = core::array::from_fn(|_| rng.below(limits.sectors));
        let mut author = ScriptAuthor { limits, rng, marks, now: Instant::ZERO, spots, last_end: 0, steps: Vec::new() };
        while author.steps.len() < length {
            author.pass_time();
            author.add_random_action();
        }
        author.add_flush_and_cut();
        author.steps
    }

    fn push_action(&mut self, act: ScriptAction) {
        self.steps.push(TimedAction { at: self.now, act });
    }

    /// Lets pass from zero to some hundred milliseconds, each order of magnitude equally likely.
    fn pass_time(&mut self) {
        let most = [1, 1, 20_000, 500_000, 5_000_000, 20_000_000, 200_000_000][self.rng.below(7) as usize];
        self.now += Span::from_nanos(self.rng.below(most));
    }

    fn add_random_action(&mut self) {
        match self.rng.below(100) {
            0..=2 => self.add_flush_and_cut(),
            3 => self.add_cut(),
            4 => {
                self.push_action(ScriptAction::Off);
                self.pass_time();
                self.push_action(ScriptAction::On);
            }
            5 => self.push_action(ScriptAction::Reset),
            6..=9 => {
                let nth = self.rng.below(64) as usize;
                self.push_action(ScriptAction::Abort(nth));
            }
            _ => self.add_request(),
        }
    }

    fn add_flush_and_cut(&mut self) {
        self.push_action(ScriptAction::Submit { op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0 });
        self.pass_time();
        self.pass_time();
        self.add_cut();
    }

    fn add_cut(&mut self) {
        self.push_action(ScriptAction::Cut);
        self.pass_time();
        self.push_action(ScriptAction::On);
    }

    /// Adds a flag to one request in six.
    fn with_random_mark(&mut self, flags: Flags) -> Flags {
        let mark = match self.marks.below(24) {
            0 => Flags::ORDERED,
            1 => Flags::HEAD_OF_QUEUE,
            2 | 3 => Flags::PRIORITY,
            _ => Flags::NONE,
        };
        flags.with(mark)
    }

    fn add_request(&mut self) {
        let op = match self.rng.below(40) {
            0..=15 => Op::Read,
            16..=33 => Op::Write,
            34 => Op::WriteZeroes,
            35 => Op::Trim,
            _ => Op::Flush,
        };
        if op == Op::Flush {
            let flags = self.with_random_mark(Flags::NONE);
            return self.push_action(ScriptAction::Submit { op, flags, lba: 0, sectors: 0 });
        }
        let flags = if self.rng.draw_chance(10) { Flags::FUA } else { Flags::NONE };
        let flags = self.with_random_mark(flags);
        let most = [1, 8, 64, 300][self.rng.below(4) as usize];
        let mut sectors = 1 + self.rng.below(most) as u32;
        let mut lba = match self.rng.below(10) {
            0..=3 => self.last_end,
            4..=8 => self.spots[self.rng.below(3) as usize] + self.rng.below(128),
            _ => self.rng.below(self.limits.sectors),
        };
        if self.rng.draw_chance(70) {
            let unit = self.limits.physical / 512;
            sectors = sectors.next_multiple_of(unit);
            lba -= lba % u64::from(unit);
        }
        sectors = sectors.min(self.limits.max_transfer);
        if !self.rng.draw_chance(3) {
            lba = lba.min(self.limits.sectors - u64::from(sectors));
        }
        self.last_end = lba + u64::from(sectors);
        self.push_action(ScriptAction::Submit { op, flags, lba, sectors });
    }
}
