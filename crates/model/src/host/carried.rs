//! Landings on their way up. If a command carries several writes, this room reports them under each write's own stamp,
//! for layers that merge writes or hold them back. It works only if landings are asked for, and changes nothing of what
//! a layer does.
//!
//! A command carries the largest stamp of its writes. A drive reports the fate of each sector once; then its entry is
//! dropped. An array numbers the command and writes to several places: the number identifies what it accepted, until
//! nothing of the commands with that stamp can land any more ([`Device::unsettled`]).
//!
//! [`Device::unsettled`]: crate::block::Device::unsettled

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::block::{Landing, LandingKind, MemberRole};
use crate::time::Instant;

/// The fewest runs that are worth scanning for ones to forget.
const MANY: usize = 64;

/// Sectors of a write that went down under a command's stamp.
#[derive(Clone, Copy)]
struct Run {
    carried: u64,
    own: u64,
    lba: u64,
    end: u64,
    /// An array has reported a landing of them.
    said: bool,
}

/// Landings that go up, and writes below, or in a write cache there, under another stamp than their own.
#[derive(Default)]
pub struct CarriedWrites {
    wanted: bool,
    /// In the order in which they went down: runs that no array accepted and no landing has reported yet.
    sent: Vec<Run>,
    /// Runs that an array has accepted, by its number and their first sector.
    taken: BTreeMap<(u64, u64), Run>,
    /// How many of `taken` trigger the next scan for ones to forget.
    enough: usize,
    told: VecDeque<Landing>,
}

impl CarriedWrites {
    /// With nothing below; `wanted` if landings are asked for.
    pub(super) fn new(wanted: bool) -> CarriedWrites {
        CarriedWrites { wanted, enough: MANY, ..CarriedWrites::default() }
    }

    /// True if landings are asked for.
    #[inline]
    pub(super) fn are_wanted(&self) -> bool {
        self.wanted
    }

    /// Notes that `lba..end` of the write `own` goes down under the stamp `carried`.
    pub(super) fn note(&mut self, carried: u64, own: u64, lba: u64, end: u64) {
        if !self.wanted {
            return;
        }
        match self.sent.last_mut() {
            Some(last) if (last.carried, last.own, last.end) == (carried, own, lba) => last.end = end,
            _ => self.sent.push(Run { carried, own, lba, end, said: false }),
        }
    }

    /// Forgets everything: nothing below is outstanding.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.taken.clear();
    }

    /// True if the arrays' runs have more than doubled: time to ask which can still land.
    pub(super) fn are_many(&self) -> bool {
        self.taken.len() > self.enough
    }

    /// Only commands with these stamps can still land. Of the others, keeps the runs that no landing has reported.
    pub(super) fn keep(&mut self, unsettled: &BTreeSet<u64>) {
        self.taken.retain(|_, run| !run.said || unsettled.contains(&run.carried));
        self.enough = MANY.max(2 * self.taken.len());
    }

    /// Reports the stamps that are kept here.
    pub(super) fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.sent.iter().chain(self.taken.values()).for_each(|run| tell(run.own));
        self.told.iter().for_each(|landing| tell(landing.stamp));
    }

    /// Removes the unreported rest of `lba..end`, whose command came back undone.
    pub(super) fn withdraw(&mut self, carried: u64, lba: u64, end: u64) {
        let other = |run: &Run| run.carried != carried || run.end <= lba || run.lba >= end;
        self.sent.retain(other);
        self.taken.retain(|_, run| other(run));
    }

    /// Reports that `lba`, sent under the stamp `carried`, was superseded before it reached the medium; does nothing if
    /// it did reach it.
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

    /// Reports everything as lost that is below and unreported.
    pub(super) fn lose(&mut self, now: Instant) {
        let taken = core::mem::take(&mut self.taken).into_values().filter(|run| !run.said);
        for run in core::mem::take(&mut self.sent).into_iter().chain(taken) {
            self.discard(now, run.lba, run.end, run.own);
        }
    }

    /// Reports that `lba..end` of the write with this stamp will never reach the medium.
    pub(super) fn discard(&mut self, now: Instant, lba: u64, end: u64, stamp: u64) {
        if !self.wanted {
            return;
        }
        let (sectors, kind) = ((end - lba) as u32, LandingKind::Discarded);
        if let Some(last) = self.told.back_mut() {
            let on = last.kind == kind && last.role == MemberRole::Every && last.stamp == stamp;
            if on && (last.from, last.to, last.end()) == (now, now, lba) {
                last.sectors += sectors;
                last.run.sectors += sectors;
                return;
            }
        }
        self.tell(Landing { role: MemberRole::Every, ..Landing::new((lba, sectors), stamp, (now, now), kind) });
    }

    /// The next landing to report.
    pub(super) fn poll(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Reports a landing in addresses and stamps of the requests from above.
    pub(super) fn tell(&mut self, landing: Landing) {
        self.told.push_back(landing);
    }

    /// Translates a landing from below, part by part. Parity belongs to no single write, and a rebuild's writes do not
    /// come from above.
    pub(super) fn translate(&mut self, landing: Landing) {
        let Landing { number, stamp: carried, kind, .. } = landing;
        if landing.sectors == 0 || !matches!(landing.role, MemberRole::Copy(_) | MemberRole::Every) {
            return self.tell(landing);
        }
        // The array had not accepted it before this.
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

    /// The first run that overlaps `lba..end`: of what an array accepted under `number`, or of what went to a drive
    /// under `carried`.
    fn next(&self, number: u64, carried: u64, lba: u64, end: u64) -> Option<Run> {
        if number > 0 {
            let before = self.taken.range((number, 0)..=(number, lba)).next_back().filter(|(_, run)| run.end > lba);
            return before.or_else(|| self.taken.range((number, lba)..(number, end)).next()).map(|(_, &run)| run);
        }
        let meets = |run: &&Run| run.carried == carried && run.end > lba && run.lba < end;
        self.sent.iter().filter(meets).min_by_key(|run| run.lba.max(lba)).copied()
    }

    /// Marks `lba..stop`, which lies within one run, as reported.
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
