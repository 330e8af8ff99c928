//! Random scripts for the check of the contract: actions on a device, with their instants. A script depends only on the
//! device's limits and random streams, never on the device's answers.

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
    PowerCut,
    /// An orderly power-off.
    PowerOff,
    PowerOn,
}

/// An action with its instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedAction {
    pub(super) at: Instant,
    pub(super) action: ScriptAction,
}

/// Writes a script.
pub(super) struct ScriptAuthor<'a> {
    limits: Limits,
    rng: &'a mut Rng,
    /// Draws orders and priorities: a stream of its own, so that older seeds give equal requests.
    flags_rng: Rng,
    now: Instant,
    /// Sectors near which requests cluster, so that they meet in a buffer and overlap.
    hot_spots: [u64; 3],
    /// The end of the last request.
    last_end: u64,
    steps: Vec<TimedAction>,
}

impl ScriptAuthor<'_> {
    /// A script of at least `steps` steps for a device of these `limits`; it ends with the power on. `flags_rng` draws the
    /// requests' orders and priorities.
    pub(super) fn write_script(limits: Limits, rng: &mut Rng, flags_rng: Rng, steps: usize) -> Vec<TimedAction> {
        let hot_spots = core::array::from_fn(|_| rng.below(limits.sectors));
        let (now, last_end) = (Instant::ZERO, 0);
        let mut author = ScriptAuthor { limits, rng, flags_rng, now, hot_spots, last_end, steps: Vec::new() };
        while author.steps.len() < steps {
            author.advance_time();
            author.add_random_action();
        }
        author.add_flush_and_cut();
        author.steps
    }

    /// Adds an action at the present instant.
    fn push_action(&mut self, action: ScriptAction) {
        self.steps.push(TimedAction { at: self.now, action });
    }

    /// Advances the present instant by a random time, from nothing to 0.2 seconds.
    fn advance_time(&mut self) {
        let limit_ns = [1, 1, 20_000, 500_000, 5_000_000, 20_000_000, 200_000_000][self.rng.below(7) as usize];
        self.now += Span::from_nanos(self.rng.below(limit_ns));
    }

    fn add_random_action(&mut self) {
        match self.rng.below(100) {
            0..=2 => self.add_flush_and_cut(),
            3 => self.add_power_cut(),
            4 => {
                self.push_action(ScriptAction::PowerOff);
                self.advance_time();
                self.push_action(ScriptAction::PowerOn);
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
        self.advance_time();
        self.advance_time();
        self.add_power_cut();
    }

    fn add_power_cut(&mut self) {
        self.push_action(ScriptAction::PowerCut);
        self.advance_time();
        self.push_action(ScriptAction::PowerOn);
    }

    /// Adds an order or a priority to the flags of one request in six.
    fn with_random_flag(&mut self, flags: Flags) -> Flags {
        let added = match self.flags_rng.below(24) {
            0 => Flags::ORDERED,
            1 => Flags::HEAD_OF_QUEUE,
            2 | 3 => Flags::PRIORITY,
            _ => Flags::NONE,
        };
        flags.with(added)
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
            let flags = self.with_random_flag(Flags::NONE);
            return self.push_action(ScriptAction::Submit { op, flags, lba: 0, sectors: 0 });
        }
        let fua = if self.rng.draw_chance(10) { Flags::FUA } else { Flags::NONE };
        let flags = self.with_random_flag(fua);
        let max_sectors = [1, 8, 64, 300][self.rng.below(4) as usize];
        let mut sectors = 1 + self.rng.below(max_sectors) as u32;
        let mut lba = match self.rng.below(10) {
            0..=3 => self.last_end,
            4..=8 => self.hot_spots[self.rng.below(3) as usize] + self.rng.below(128),
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
