//! The writes of a session as its client saw them: when each was accepted, and from when on the standards require it to
//! be on the medium. The real state of the drive is not considered.
//!
//! A write must be on the medium from the end of a flush that was issued after the write was acknowledged (ATA's FLUSH
//! CACHE, SCSI's SYNCHRONIZE CACHE). If it was marked FUA, or if the drive reports no volatile cache, it must be there from
//! its own end.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::block::{Flags, Op, Status};
use crate::history::{History, HistoryEvent};
use crate::time::Instant;

use super::runs::SectorRun;

/// A write of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWrite {
    pub stamp: u64,
    pub run: SectorRun,
    /// When the disk accepted it.
    pub taken: Instant,
    /// When it was acknowledged; `FAR` for never.
    pub over: Instant,
    /// From when on it must be on the medium; `FAR` for never.
    pub durable: Instant,
}

/// All writes by stamp: in the order in which they were accepted.
#[derive(Clone, Debug, Default)]
pub struct SessionWrites(BTreeMap<u64, SessionWrite>);

impl SessionWrites {
    /// Reads the writes of a history; `volatile`: the disk acknowledges writes that a cut can lose.
    pub fn from_history(history: &History, volatile: bool) -> SessionWrites {
        let mut all: BTreeMap<u64, SessionWrite> = BTreeMap::new();
        // By stamp: writes acknowledged and not yet covered by a flush.
        let mut uncovered: Vec<u64> = Vec::new();
        // By stamp of a flush in flight: the writes that it covers.
        let mut covered: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for event in &history.events {
            match event {
                HistoryEvent::Taken(at, request) if request.op == Op::Write => {
                    let run = (request.lba, request.end());
                    let write = SessionWrite {
                        stamp: request.stamp,
                        run,
                        taken: *at,
                        over: Instant::FAR,
                        durable: Instant::FAR,
                    };
                    all.insert(request.stamp, write);
                }
                HistoryEvent::Taken(_, request) if request.op == Op::Flush => {
                    drop(covered.insert(request.stamp, uncovered.clone()))
                }
                HistoryEvent::Over(request, over) if over.status == Status::Done => match request.op {
                    Op::Write => {
                        let write = all.get_mut(&request.stamp).expect("it was taken before");
                        write.over = over.finished;
                        match request.flags.has(Flags::FUA) || !volatile {
                            true => write.durable = over.finished,
                            false => uncovered.push(request.stamp),
                        }
                    }
                    Op::Flush => {
                        let by_this_flush = covered.remove(&request.stamp).unwrap_or_default();
                        // The list is nearly sorted: the binary search finds most of its stamps.
                        uncovered.retain(|stamp| {
                            by_this_flush.binary_search(stamp).is_err() && !by_this_flush.contains(stamp)
                        });
                        for stamp in by_this_flush {
                            let write = all.get_mut(&stamp).expect("it was taken before");
                            write.durable = write.durable.min(over.finished);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        SessionWrites(all)
    }

    /// The write with this stamp.
    pub fn get(&self, stamp: u64) -> Option<&SessionWrite> {
        self.0.get(&stamp)
    }

    /// The writes accepted by `at`.
    pub fn accepted_by(&self, at: Instant) -> impl Iterator<Item = &SessionWrite> {
        self.0.values().filter(move |write| write.taken <= at)
    }

    /// The writes that the standards allow to be lost at `at`.
    pub fn losable_at(&self, at: Instant) -> impl Iterator<Item = &SessionWrite> {
        self.accepted_by(at).filter(move |write| write.durable > at)
    }

    /// Number of writes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
