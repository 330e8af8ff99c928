//! Landings on their way up. Those of commands that carry several writes are told under each write's own stamp: what a
//! layer needs that joins writes or holds them back. Kept only where landings are asked for; it changes nothing of what
//! a layer does.
//!
//! A command carries the largest stamp of its writes. A drive says once what became of a sector; then nothing has to be
//! known of it any more. An array gives the command a number and writes to several places: what it took is known by that,
//! until nothing can land any more of the commands with its stamp ([`Device::unsettled`]).
//!
//! [`Device::unsettled`]: crate::block::Device::unsettled

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::block::{Landing, LandingKind, Role};
use crate::time::Instant;

/// The fewest runs that are looked through to forget some.
const MANY: usize = 64;

/// Sectors of a write that went down under a command's stamp.
#[derive(Clone, Copy)]
struct Run {
    carried: u64,
    own: u64,
    lba: u64,
    end: u64,
    /// An array has said what became of them in some place.
    said: bool,
}

/// What goes up, and what is below or in a write cache there under another stamp than its own.
#[derive(Default)]
pub struct Carried {
    wanted: bool,
    /// In the order in which they went down: those that no array has taken, and of which nothing was said yet.
    sent: Vec<Run>,
    /// Those that an array has taken, by its number and their first sector.
    taken: BTreeMap<(u64, u64), Run>,
    /// So many of those are looked through to forget some.
    enough: usize,
    told: VecDeque<Landing>,
}

impl Carried {
    /// Nothing is below yet, and landings are asked for, or not.
    pub(super) fn new(wanted: bool) -> Carried {
        Carried { wanted, enough: MANY, ..Carried::default() }
    }

    /// Landings are asked for.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// `lba..end` goes down under the stamp `carried` and is `own`'s.
    pub(super) fn note(&mut self, carried: u64, own: u64, lba: u64, end: u64) {
        if !self.wanted {
            return;
        }
        match self.sent.last_mut() {
            Some(last) if (last.carried, last.own, last.end) == (carried, own, lba) => last.end = end,
            _ => self.sent.push(Run { carried, own, lba, end, said: false }),
        }
    }

    /// Nothing below is outstanding any more.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.taken.clear();
    }

    /// An array holds more than twice what it held: it is time to ask what of it can still land.
    pub(super) fn are_many(&self) -> bool {
        self.taken.len() > self.enough
    }

    /// Only commands of these stamps can still land; of the others, those are kept of which nothing was said.
    pub(super) fn keep(&mut self, unsettled: &BTreeSet<u64>) {
        self.taken.retain(|_, run| !run.said || unsettled.contains(&run.carried));
        self.enough = MANY.max(2 * self.taken.len());
    }

    /// The stamps of what is kept here.
    pub(super) fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.sent.iter().chain(self.taken.values()).for_each(|run| tell(run.own));
        self.told.iter().for_each(|landing| tell(landing.stamp));
    }

    /// The command of `lba..end` came back undone: what was not said of it will not be.
    pub(super) fn withdraw(&mut self, carried: u64, lba: u64, end: u64) {
        let other = |run: &Run| run.carried != carried || run.end <= lba || run.lba >= end;
        self.sent.retain(other);
        self.taken.retain(|_, run| other(run));
    }

    /// `lba`, which went down under the stamp `carried`, was superseded before it came to the medium; nothing, if it did.
    pub(super) fn settle(&mut self, now: Instant, carried: u64, lba: u64) {
        let taken = self.taken.iter().find(|(_, run)| run.carried == carried && run.lba <= lba && lba < run.end);
        let found = match taken {
            Some((&(number, _), run)) if !run.said => Some((number, run.own)),
            Some(_) => None,
            None => self.next(0, carried, lba, lba + 1).map(|run| (0, run.own)),
        };
        if let Some((number, own)) = found {
            self.discard(now, lba, lba + 1, own);
            self.say(number, carried, lba, lba + 1);
        }
    }

    /// What is below is lost, and so is what nothing was said of.
    pub(super) fn lose(&mut self, now: Instant) {
        let taken = core::mem::take(&mut self.taken).into_values().filter(|run| !run.said);
        for run in core::mem::take(&mut self.sent).into_iter().chain(taken) {
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
            let on = last.kind == kind && last.role == Role::Every && last.stamp == stamp;
            if on && (last.from, last.to, last.end()) == (now, now, lba) {
                last.sectors += sectors;
                last.run.sectors += sectors;
                return;
            }
        }
        self.tell(Landing { role: Role::Every, ..Landing::new((lba, sectors), stamp, (now, now), kind) });
    }

    /// The next landing that is told.
    pub(super) fn poll(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Tells a landing in places and stamps of what came from above.
    pub(super) fn tell(&mut self, landing: Landing) {
        self.told.push_back(landing);
    }

    /// Tells a landing from below, part by part. Parity is nobody's own, and a rebuild's writes are not from above.
    pub(super) fn translate(&mut self, landing: Landing) {
        let Landing { number, stamp: carried, kind, .. } = landing;
        if landing.sectors == 0 || !matches!(landing.role, Role::Copy(_) | Role::Every) {
            return self.tell(landing);
        }
        // What an array takes was not taken before.
        let known_by = if kind == LandingKind::Taken { 0 } else { number };
        let mut lba = landing.lba;
        while lba < landing.end() {
            let next = self.next(known_by, carried, lba, landing.end());
            let (stop, run) = match next {
                Some(run) if run.lba <= lba => (run.end.min(landing.end()), Some(run)),
                Some(run) => (run.lba, None),
                None => (landing.end(), None),
            };
            let stamp = run.map_or(carried, |run| run.own);
            self.tell(Landing { stamp, ..landing.part(lba - landing.lba, stop - landing.lba) });
            if let Some(run) = run {
                self.say(known_by, carried, lba, stop);
                if kind == LandingKind::Taken {
                    self.taken.insert((number, lba), Run { lba, end: stop, ..run });
                }
            }
            lba = stop;
        }
    }

    /// The first run that touches `lba..end`: of what an array took under `number`, or of what was carried so to a drive.
    fn next(&self, number: u64, carried: u64, lba: u64, end: u64) -> Option<Run> {
        if number > 0 {
            let before = self.taken.range((number, 0)..=(number, lba)).next_back().filter(|(_, run)| run.end > lba);
            return before.or_else(|| self.taken.range((number, lba)..(number, end)).next()).map(|(_, &run)| run);
        }
        let meets = |run: &&Run| run.carried == carried && run.end > lba && run.lba < end;
        self.sent.iter().filter(meets).min_by_key(|run| run.lba.max(lba)).copied()
    }

    /// Something was said of `lba..stop`, which lies within one run.
    fn say(&mut self, number: u64, carried: u64, lba: u64, stop: u64) {
        let within = |run: &Run| run.carried == carried && run.lba <= lba && stop <= run.end;
        let rests = |run: Run| [Run { end: lba, ..run }, Run { lba: stop, ..run }];
        let is_some = |run: &Run| run.lba < run.end;
        if number == 0 {
            let Some(at) = self.sent.iter().position(within) else { return };
            let run = self.sent[at];
            self.sent.splice(at..=at, rests(run).into_iter().filter(is_some));
        } else if let Some(run) = self.next(number, carried, lba, stop).filter(|run| within(run) && !run.said) {
            self.taken.remove(&(number, run.lba));
            let said = Run { lba, end: stop, said: true, ..run };
            let parts = rests(run).into_iter().filter(is_some).chain([said]);
            self.taken.extend(parts.map(|part| ((number, part.lba), part)));
        }
    }
}
