//! The writes that a fio worker has yet to read back (`verify`, `verify_backlog`).
//!
//! fio keeps pieces in the order of writing if each block is written once (a random map), else by address; then a piece
//! replaces those that it overlaps. The first piece is read back first, once its write is done. A request that the engine
//! refuses for now is put off, and offered again after completions (`worker::drawing`). Not here: when a pass ends, and
//! what the bytes were.

use alloc::collections::{BTreeMap, VecDeque};

use super::job::VerifyBacklog;

/// A write that was issued.
#[derive(Clone, Copy, Debug)]
struct VerifyPiece {
    number: u32,
    lba: u64,
    sectors: u32,
    /// The completion was seen.
    done: bool,
}

/// The pieces, in the order in which they are read back.
#[derive(Clone, Debug)]
enum VerifyOrder {
    Written(VecDeque<VerifyPiece>),
    /// By first sector; none overlaps another.
    Placed(BTreeMap<u64, VerifyPiece>),
}

/// Writes that wait to be read back.
#[derive(Clone, Debug)]
pub(crate) struct VerifyQueue {
    order: VerifyOrder,
    backlog: Option<VerifyBacklog>,
    /// How many of this batch are still to be read back.
    batch: u64,
    /// The last completion seen, of a request, was a read; before the first one, fio takes it to be. fio begins no batch then, for
    /// instance right after a batch (`check_get_verify` of `io_u.c`).
    read_last: bool,
    /// The last number given to a write; 0 is none.
    number: u32,
    /// By number: where a write in flight begins.
    in_flight: BTreeMap<u32, u64>,
}

impl VerifyQueue {
    /// A queue without a write. `once`: no block is written twice in a pass.
    pub(crate) fn new(once: bool, backlog: Option<VerifyBacklog>) -> VerifyQueue {
        let order = if once { VerifyOrder::Written(VecDeque::new()) } else { VerifyOrder::Placed(BTreeMap::new()) };
        VerifyQueue { order, backlog, batch: 0, read_last: true, number: 0, in_flight: BTreeMap::new() }
    }

    fn len(&self) -> u64 {
        match &self.order {
            VerifyOrder::Written(list) => list.len() as u64,
            VerifyOrder::Placed(tree) => tree.len() as u64,
        }
    }

    /// Notes that a write is issued; returns the number for its completion.
    pub(crate) fn add_write(&mut self, lba: u64, sectors: u32) -> u32 {
        self.number = self.number.wrapping_add(1).max(1);
        self.in_flight.insert(self.number, lba);
        let piece = VerifyPiece { number: self.number, lba, sectors, done: false };
        match &mut self.order {
            VerifyOrder::Written(list) => list.push_back(piece),
            VerifyOrder::Placed(tree) => {
                remove_overlapped(tree, lba, sectors);
                tree.insert(lba, piece);
            }
        }
        self.number
    }

    /// Notes that the engine put off a write: fio drops the pieces that it overlaps, and does not keep the write itself yet.
    pub(crate) fn put_off(&mut self, lba: u64, sectors: u32) {
        if let VerifyOrder::Placed(tree) = &mut self.order {
            remove_overlapped(tree, lba, sectors);
        }
    }

    /// Notes a completion: a read, or the write of this number.
    pub(crate) fn see_completion(&mut self, read: bool, number: u32) {
        self.read_last = read;
        let Some(lba) = self.in_flight.remove(&number) else { return };
        let piece = match &mut self.order {
            // A write in flight is near the end.
            VerifyOrder::Written(list) => list.iter_mut().rev().find(|piece| piece.number == number),
            VerifyOrder::Placed(tree) => tree.get_mut(&lba).filter(|piece| piece.number == number),
        };
        if let Some(piece) = piece {
            piece.done = true;
        }
    }

    /// Takes the piece to read back before the next request, by fio's backlog: first sector and length.
    pub(crate) fn take_due(&mut self) -> Option<(u64, u32)> {
        if !self.begin_due_batch() {
            return None;
        }
        let piece = self.next(false)?;
        self.batch -= 1;
        Some(piece)
    }

    /// Notes that a put-off request is offered again: fio counts that as a read-back, if one is due.
    pub(crate) fn count_offer_again(&mut self) {
        if !self.is_empty() && self.begin_due_batch() {
            self.batch -= 1;
        }
    }

    /// Begins a batch of read-backs if one is due; true while a batch is being read back.
    fn begin_due_batch(&mut self) -> bool {
        let Some(backlog) = self.backlog else { return false };
        if self.batch == 0 {
            let waiting = self.len();
            if waiting == 0 || !waiting.is_multiple_of(backlog.every) || self.read_last {
                return false;
            }
            self.batch = backlog.batch;
        }
        true
    }

    /// Takes out the first piece to read back; `None` if there is none, or if its write is in flight. With
    /// `none_in_flight` every write counts as done.
    pub(crate) fn next(&mut self, none_in_flight: bool) -> Option<(u64, u32)> {
        let piece = match &mut self.order {
            VerifyOrder::Written(list) if list.front()?.done || none_in_flight => list.pop_front()?,
            VerifyOrder::Placed(tree) if tree.first_key_value()?.1.done || none_in_flight => tree.pop_first()?.1,
            _ => return None,
        };
        Some((piece.lba, piece.sectors))
    }

    /// Begins another pass.
    pub(crate) fn clear(&mut self) {
        self.in_flight.clear();
        match &mut self.order {
            VerifyOrder::Written(list) => list.clear(),
            VerifyOrder::Placed(tree) => tree.clear(),
        }
    }

    /// True if there is nothing to read back.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Removes the pieces that a write overlaps.
fn remove_overlapped(tree: &mut BTreeMap<u64, VerifyPiece>, lba: u64, sectors: u32) {
    let end = lba + u64::from(sectors);
    let overlaps = |piece: &VerifyPiece| piece.lba + u64::from(piece.sectors) > lba;
    while let Some((&place, _)) = tree.range(..end).next_back().filter(|(_, piece)| overlaps(piece)) {
        tree.remove(&place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_takes_the_place_of_those_it_overlaps() {
        let mut written = VerifyQueue::new(false, None);
        for lba in [0, 8, 16, 24] {
            written.add_write(lba, 8);
        }
        written.add_write(4, 16);
        let mut left = alloc::vec::Vec::new();
        while let Some(piece) = written.next(true) {
            left.push(piece);
        }
        assert_eq!(left, [(4, 16), (24, 8)]);
    }

    #[test]
    fn a_backlog_waits_for_its_number_and_for_the_first_write() {
        let mut written = VerifyQueue::new(true, Some(VerifyBacklog { every: 2, batch: 2 }));
        let first = written.add_write(80, 8);
        assert_eq!(written.take_due(), None);
        let second = written.add_write(0, 8);
        assert_eq!(written.take_due(), None, "it is in flight");
        written.see_completion(false, second);
        assert_eq!(written.take_due(), None, "the first is");
        written.see_completion(false, first);
        assert_eq!((written.take_due(), written.take_due(), written.take_due()), (Some((80, 8)), Some((0, 8)), None));
    }

    #[test]
    fn a_request_offered_again_counts_as_a_read_back_where_one_is_due() {
        // So many writes are done, of which two are read back whenever an even number waits: how many, after an offer
        // and without. After an offer one of the two is left, then an odd number.
        for (writes, offered, otherwise) in [(0, 0, 0), (1, 0, 0), (2, 1, 2), (3, 0, 0), (4, 1, 4)] {
            for (offers, expected) in [(true, offered), (false, otherwise)] {
                for (backlog, expected) in [(Some(VerifyBacklog { every: 2, batch: 2 }), expected), (None, 0)] {
                    let mut written = VerifyQueue::new(true, backlog);
                    for place in 0..writes {
                        let number = written.add_write(place * 8, 8);
                        written.see_completion(false, number);
                    }
                    if offers {
                        written.count_offer_again();
                    }
                    let read = core::iter::from_fn(|| written.take_due()).count();
                    assert_eq!(read, expected, "{writes} writes, offered again: {offers}, {backlog:?}");
                }
            }
        }
    }
}
