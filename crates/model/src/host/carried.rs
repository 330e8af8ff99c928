//! Landings on their way up. Those of commands that carry several writes are told under each write's own stamp: what a
//! layer needs that joins writes or holds them back. Kept only where landings are asked for; it changes nothing of what
//! a layer does.
//!
//! A command carries the largest stamp of its writes. Above an array this cannot be used: there, landings are places on
//! members.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Landing, LandingKind};
use crate::time::{Instant, Span};

/// Sectors of a write that went down under a command's stamp, of which nothing was said yet.
#[derive(Clone, Copy)]
struct Run {
    carried: u64,
    own: u64,
    lba: u64,
    end: u64,
}

/// What goes up, and what is below or in a write cache there under another stamp than its own.
#[derive(Default)]
pub struct Carried {
    wanted: bool,
    runs: Vec<Run>,
    told: VecDeque<Landing>,
}

impl Carried {
    /// Nothing is below yet, and landings are asked for, or not.
    pub(super) fn new(wanted: bool) -> Carried {
        Carried { wanted, ..Carried::default() }
    }

    /// Landings are asked for.
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// `lba..end` goes down under the stamp `carried` and is `own`'s.
    pub(super) fn note(&mut self, carried: u64, own: u64, lba: u64, end: u64) {
        if !self.wanted {
            return;
        }
        match self.runs.last_mut() {
            Some(last) if (last.carried, last.own, last.end) == (carried, own, lba) => last.end = end,
            _ => self.runs.push(Run { carried, own, lba, end }),
        }
    }

    /// Nothing below is outstanding any more.
    pub(super) fn forget(&mut self) {
        self.runs.clear();
    }

    /// The command of `lba..end` came back undone: what was not said of it will not be.
    pub(super) fn withdraw(&mut self, carried: u64, lba: u64, end: u64) {
        self.runs.retain(|run| run.carried != carried || run.end <= lba || run.lba >= end);
    }

    /// `lba`, which went down under the stamp `carried`, was superseded before it came to the medium; nothing, if it did.
    pub(super) fn settle(&mut self, now: Instant, carried: u64, lba: u64) {
        let within = |run: &&Run| run.carried == carried && run.lba <= lba && lba < run.end;
        if let Some(own) = self.runs.iter().find(within).map(|run| run.own) {
            self.discard(now, lba, lba + 1, own);
            self.said(carried, lba, lba + 1);
        }
    }

    /// What is below is lost, and so is what nothing was said of.
    pub(super) fn lose(&mut self, now: Instant) {
        for run in core::mem::take(&mut self.runs) {
            self.discard(now, run.lba, run.end, run.own);
        }
    }

    /// `lba..end` of the write with this stamp will never reach the medium.
    pub(super) fn discard(&mut self, now: Instant, lba: u64, end: u64, stamp: u64) {
        if !self.wanted {
            return;
        }
        let (sectors, kind) = ((end - lba) as u32, LandingKind::Discarded);
        if let Some(last) = self.told.back_mut() {
            let on = last.kind == kind && last.stamp == stamp && last.to == now && last.from == now;
            if on && last.lba + u64::from(last.sectors) == lba {
                last.sectors += sectors;
                return;
            }
        }
        self.told.push_back(Landing { member: 0, lba, sectors, stamp, from: now, to: now, kind });
    }

    /// The next landing that is told.
    pub(super) fn poll(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Tells a landing from below, part by part.
    pub(super) fn tell(&mut self, landing: Landing) {
        let end = landing.lba + u64::from(landing.sectors);
        let mut lba = landing.lba;
        while lba < end {
            let meets = |run: &&Run| run.carried == landing.stamp && run.end > lba && run.lba < end;
            let next = self.runs.iter().filter(meets).min_by_key(|run| run.lba).copied();
            let (stop, stamp) = match next {
                Some(run) if run.lba <= lba => (run.end.min(end), run.own),
                Some(run) => (run.lba, landing.stamp),
                None => (end, landing.stamp),
            };
            // Of a part, each sector by itself: their instants, rounded, are then those of the whole.
            match stop - lba < u64::from(landing.sectors) {
                true => self.told.extend((lba..stop).map(|lba| part(&landing, lba, lba + 1, stamp))),
                false => self.told.push_back(Landing { stamp, ..landing }),
            }
            self.said(landing.stamp, lba, stop);
            lba = stop;
        }
    }

    /// Something was said of `lba..stop`, which lies within one run or none.
    fn said(&mut self, carried: u64, lba: u64, stop: u64) {
        let within = |run: &Run| run.carried == carried && run.lba <= lba && stop <= run.end;
        let Some(at) = self.runs.iter().position(within) else { return };
        let run = self.runs[at];
        match (run.lba < lba, stop < run.end) {
            (false, false) => drop(self.runs.swap_remove(at)),
            (false, true) => self.runs[at].lba = stop,
            (true, false) => self.runs[at].end = lba,
            (true, true) => {
                self.runs[at].end = lba;
                self.runs.push(Run { lba: stop, ..run });
            }
        }
    }
}

/// The sectors `lba..stop` of a landing; its sectors lie evenly in its time.
fn part(landing: &Landing, lba: u64, stop: u64, stamp: u64) -> Landing {
    let length = landing.to.since(landing.from).nanos();
    let at = |lba: u64| landing.from + Span::from_nanos(length * (lba - landing.lba) / u64::from(landing.sectors));
    Landing { lba, sectors: (stop - lba) as u32, stamp, from: at(lba), to: at(stop), ..*landing }
}
