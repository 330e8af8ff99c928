//! The writes of a session as whoever issued them saw them: when each was taken, and from when on the standards say that it must be
//! on the medium. What the drive really did is not looked at here.
//!
//! A write must be there from the end of a flush on that was issued after the write was acknowledged (ATA's FLUSH CACHE, SCSI's
//! SYNCHRONIZE CACHE), from its own end on where it was marked FUA, or where the drive says that its cache is not volatile.

use std::collections::BTreeMap;

use seekwise_model::block::{Flags, Op, Status};
use seekwise_model::history::{Event, History};
use seekwise_model::time::Instant;

use crate::cut::runs::Run;

/// A write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Its number.
    pub stamp: u64,
    /// Its sectors.
    pub run: Run,
    /// When the disk took it.
    pub taken: Instant,
    /// When it was acknowledged; never is far.
    pub over: Instant,
    /// From when on it must be on the medium; never is far.
    pub durable: Instant,
}

/// All of them, by number: in the order in which they were taken.
#[derive(Clone, Debug, Default)]
pub struct Writes(BTreeMap<u64, Write>);

impl Writes {
    /// Those of a history, of a disk that acknowledges what a cut can lose (`volatile`) or not.
    pub fn of(history: &History, volatile: bool) -> Writes {
        let mut all: BTreeMap<u64, Write> = BTreeMap::new();
        // Acknowledged and not covered yet; and by flush, those of them that it covers.
        let (mut open, mut covered): (Vec<u64>, BTreeMap<u64, Vec<u64>>) = Default::default();
        for event in &history.events {
            match event {
                Event::Taken(at, request) if request.op == Op::Write => {
                    let run = (request.lba, request.end());
                    let write =
                        Write { stamp: request.stamp, run, taken: *at, over: Instant::FAR, durable: Instant::FAR };
                    all.insert(request.stamp, write);
                }
                Event::Taken(_, request) if request.op == Op::Flush => {
                    drop(covered.insert(request.stamp, open.clone()))
                }
                Event::Over(request, over) if over.status == Status::Done => match request.op {
                    Op::Write => {
                        let write = all.get_mut(&request.stamp).expect("it was taken before");
                        write.over = over.finished;
                        match request.flags.has(Flags::FUA) || !volatile {
                            true => write.durable = over.finished,
                            false => open.push(request.stamp),
                        }
                    }
                    Op::Flush => {
                        let these = covered.remove(&request.stamp).unwrap_or_default();
                        open.retain(|stamp| these.binary_search(stamp).is_err() && !these.contains(stamp));
                        for stamp in these {
                            let write = all.get_mut(&stamp).expect("it was taken before");
                            write.durable = write.durable.min(over.finished);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        Writes(all)
    }

    /// The write of this number.
    pub fn get(&self, stamp: u64) -> Option<&Write> {
        self.0.get(&stamp)
    }

    /// Those taken by `at`.
    pub fn taken(&self, at: Instant) -> impl Iterator<Item = &Write> {
        self.0.values().filter(move |write| write.taken <= at)
    }

    /// Those of them that the standards allow to be lost at `at`.
    pub fn open(&self, at: Instant) -> impl Iterator<Item = &Write> {
        self.taken(at).filter(move |write| write.durable > at)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// None.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
