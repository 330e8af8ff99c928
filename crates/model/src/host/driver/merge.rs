//! Merging: which waiting command ends where a request begins, or begins where it ends.
//!
//! Reads join reads and writes join writes, of one unit, while the command stays within the largest transfer. Requests
//! with forced unit access, *ordered* or for the head of the queue join nothing, and nothing joins what is below already. Two
//! requests that overlap are no neighbours, so they are never in one command. A command carries the largest stamp of its
//! requests, and a driver that merges says of each landing whose it is ([`Carried`]). Above an
//! array it cannot: there, landings are places on members.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Flags, Landing, Op, Request};
use crate::time::Span;

/// What may be joined: unit, write, place.
type Place = (u8, bool, u64);

/// Where the waiting commands begin and end.
#[derive(Default)]
pub(super) struct Neighbours {
    starts: Vec<(Place, u32)>,
    ends: Vec<(Place, u32)>,
}

/// True for requests that may share a command.
pub(super) fn joins(request: &Request) -> bool {
    let plain = request.flags == Flags::NONE || request.flags == Flags::PRIORITY;
    plain && request.sectors > 0 && matches!(request.op, Op::Read | Op::Write)
}

fn place(request: &Request, lba: u64) -> Place {
    (request.unit, request.op == Op::Write, lba)
}

fn insert(list: &mut Vec<(Place, u32)>, entry: (Place, u32)) {
    let at = list.partition_point(|other| *other < entry);
    list.insert(at, entry);
}

fn remove(list: &mut Vec<(Place, u32)>, entry: (Place, u32)) {
    if let Ok(at) = list.binary_search(&entry) {
        list.remove(at);
    }
}

fn all_at(list: &[(Place, u32)], place: Place) -> impl Iterator<Item = u32> {
    let first = list.partition_point(|other| other.0 < place);
    list[first..].iter().take_while(move |other| other.0 == place).map(|other| other.1)
}

impl Neighbours {
    /// A command waits from now on.
    pub fn insert(&mut self, number: u32, request: &Request) {
        insert(&mut self.starts, (place(request, request.lba), number));
        insert(&mut self.ends, (place(request, request.end()), number));
    }

    /// It does not any more, or it changes.
    pub fn remove(&mut self, number: u32, request: &Request) {
        remove(&mut self.starts, (place(request, request.lba), number));
        remove(&mut self.ends, (place(request, request.end()), number));
    }

    /// Waiting commands that end where `request` begins.
    pub fn before(&self, request: &Request) -> impl Iterator<Item = u32> {
        all_at(&self.ends, place(request, request.lba))
    }

    /// Waiting commands that begin where `request` ends.
    pub fn behind(&self, request: &Request) -> impl Iterator<Item = u32> {
        all_at(&self.starts, place(request, request.end()))
    }
}

/// Sectors that went down under another request's stamp.
#[derive(Clone, Copy)]
struct Run {
    carried: u64,
    own: u64,
    lba: u64,
    end: u64,
    /// Sectors that nothing was said of yet.
    left: u64,
}

/// Landings of merged writes, told under their own stamps. What is kept is what is below or in a write cache.
#[derive(Default)]
pub(super) struct Carried {
    runs: Vec<Run>,
    told: VecDeque<Landing>,
}

impl Carried {
    /// `lba..lba + sectors` goes down under the stamp `carried` and is `own`'s.
    pub fn note(&mut self, carried: u64, own: u64, lba: u64, sectors: u32) {
        let (end, left) = (lba + u64::from(sectors), u64::from(sectors));
        self.runs.push(Run { carried, own, lba, end, left });
    }

    /// Nothing below is outstanding any more.
    pub fn forget(&mut self) {
        self.runs.clear();
    }

    /// The next landing that is told.
    pub fn poll(&mut self) -> Option<Landing> {
        self.told.pop_front()
    }

    /// Tells a landing from below, part by part.
    pub fn tell(&mut self, landing: Landing) {
        let end = landing.lba + u64::from(landing.sectors);
        let mut lba = landing.lba;
        while lba < end {
            let meets = |run: &&mut Run| run.carried == landing.stamp && run.end > lba && run.lba < end;
            let next = self.runs.iter_mut().filter(meets).min_by_key(|run| run.lba);
            let (stop, stamp) = match next {
                Some(run) if run.lba <= lba => {
                    let stop = run.end.min(end);
                    run.left = run.left.saturating_sub(stop - lba);
                    (stop, run.own)
                }
                Some(run) => (run.lba, landing.stamp),
                None => (end, landing.stamp),
            };
            self.told.push_back(part(&landing, lba, stop, stamp));
            lba = stop;
        }
        self.runs.retain(|run| run.left > 0);
    }
}

/// The sectors `lba..stop` of a landing; its sectors lie evenly in its time.
fn part(landing: &Landing, lba: u64, stop: u64, stamp: u64) -> Landing {
    let length = landing.to.since(landing.from).nanos();
    let at = |lba: u64| landing.from + Span::from_nanos(length * (lba - landing.lba) / u64::from(landing.sectors));
    Landing { lba, sectors: (stop - lba) as u32, stamp, from: at(lba), to: at(stop), ..*landing }
}
