//! Merging: which waiting command ends where a request begins, or begins where it ends.
//!
//! Reads join reads and writes join writes, of one unit, while the command stays within the largest transfer. Requests
//! with forced unit access, *ordered* or for the head of the queue join nothing, and nothing joins what is below already. Two
//! requests that overlap are no neighbours, so they are never in one command. A command carries the largest stamp of its
//! requests, and a driver that merges says of each landing whose it is (`host/carried.rs`).

use alloc::vec::Vec;

use crate::block::{Flags, Op, Request};

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
