//! The writes that a fio worker has yet to read back (`verify`, `verify_backlog`).
//!
//! fio keeps the written pieces in the order of writing if each block is written once (a random map), else by address;
//! then a piece replaces those that it overlaps. The first piece is read back first, once its write is done. Content is
//! not compared: the model has no bytes.

use alloc::collections::{BTreeMap, VecDeque};

use seekwise_disk::block::SECTOR;

use super::fio::{FioRequest, READ};
use super::job::VerifyBacklog;

/// A write that was issued.
#[derive(Clone, Copy, Debug)]
struct WrittenPiece {
    number: u32,
    extent: ReadBack,
    /// The completion was seen.
    is_done: bool,
}

/// Sectors to read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadBack {
    lba: u64,
    sectors: u32,
}

impl ReadBack {
    /// The read of these sectors.
    pub(crate) fn as_fio_request(self) -> FioRequest {
        FioRequest { direction: READ, start: self.lba * SECTOR, bytes: u64::from(self.sectors) * SECTOR }
    }
}

/// The pieces, in the order in which they are read back.
#[derive(Clone, Debug)]
enum VerifyOrder {
    ByTime(VecDeque<WrittenPiece>),
    /// By first sector; none overlaps another.
    ByAddress(BTreeMap<u64, WrittenPiece>),
}

/// Writes that wait to be read back.
#[derive(Clone, Debug)]
pub(crate) struct VerifyQueue {
    order: VerifyOrder,
    backlog: Option<VerifyBacklog>,
    /// How many of this batch are still to be read back.
    batch_left: u64,
    /// The last completion of a request that fio saw was a read. fio begins no batch then, for instance right after a
    /// batch (`check_get_verify` of `io_u.c`), nor before it has seen a completion.
    last_was_read: bool,
    /// The last number given to a write; 0 is none.
    last_number: u32,
    /// By number: the first sector of a write in flight.
    in_flight: BTreeMap<u32, u64>,
}

impl VerifyQueue {
    /// Creates an empty queue. With `each_block_once` no block is written twice in a pass.
    pub(crate) fn new(each_block_once: bool, backlog: Option<VerifyBacklog>) -> VerifyQueue {
        let order = match each_block_once {
            true => VerifyOrder::ByTime(VecDeque::new()),
            false => VerifyOrder::ByAddress(BTreeMap::new()),
        };
        VerifyQueue { order, backlog, batch_left: 0, last_was_read: true, last_number: 0, in_flight: BTreeMap::new() }
    }

    fn len(&self) -> u64 {
        match &self.order {
            VerifyOrder::ByTime(list) => list.len() as u64,
            VerifyOrder::ByAddress(tree) => tree.len() as u64,
        }
    }

    /// Notes that a write is issued; returns the number for its completion.
    pub(crate) fn add_write(&mut self, lba: u64, sectors: u32) -> u32 {
        let number = self.last_number.wrapping_add(1).max(1);
        self.last_number = number;
        self.in_flight.insert(number, lba);
        let piece = WrittenPiece { number, extent: ReadBack { lba, sectors }, is_done: false };
        match &mut self.order {
            VerifyOrder::ByTime(list) => list.push_back(piece),
            VerifyOrder::ByAddress(tree) => {
                remove_overlapped(tree, lba, sectors);
                tree.insert(lba, piece);
            }
        }
        number
    }

    /// Drops the pieces that a write overlaps which the engine refused for now; fio does not keep the write itself yet.
    pub(crate) fn drop_overlapped(&mut self, lba: u64, sectors: u32) {
        if let VerifyOrder::ByAddress(tree) = &mut self.order {
            remove_overlapped(tree, lba, sectors);
        }
    }

    /// Notes that fio saw the completion of a read, or of the write with this number.
    pub(crate) fn note_seen_completion(&mut self, is_read: bool, number: u32) {
        self.last_was_read = is_read;
        let Some(lba) = self.in_flight.remove(&number) else { return };
        let piece = match &mut self.order {
            // A write in flight is near the end.
            VerifyOrder::ByTime(list) => list.iter_mut().rev().find(|piece| piece.number == number),
            VerifyOrder::ByAddress(tree) => tree.get_mut(&lba).filter(|piece| piece.number == number),
        };
        if let Some(piece) = piece {
            piece.is_done = true;
        }
    }

    /// Takes the piece to read back before the next request, by fio's backlog.
    pub(crate) fn take_due(&mut self) -> Option<ReadBack> {
        if !self.begin_due_batch() {
            return None;
        }
        let read_back = self.take_first(false)?;
        self.batch_left -= 1;
        Some(read_back)
    }

    /// Notes that a refused request is offered again: fio counts that as a read-back if one is due.
    pub(crate) fn count_offer_again(&mut self) {
        if !self.is_empty() && self.begin_due_batch() {
            self.batch_left -= 1;
        }
    }

    /// Begins a batch of read-backs if one is due; true while a batch is being read back.
    fn begin_due_batch(&mut self) -> bool {
        let Some(backlog) = self.backlog else { return false };
        if self.batch_left == 0 {
            let waiting = self.len();
            if waiting == 0 || !waiting.is_multiple_of(backlog.every) || self.last_was_read {
                return false;
            }
            self.batch_left = backlog.batch;
        }
        true
    }

    /// Takes the first piece to read back; `None` if there is none, or if its write is in flight. With `none_in_flight`
    /// every write counts as done.
    pub(crate) fn take_first(&mut self, none_in_flight: bool) -> Option<ReadBack> {
        let piece = match &mut self.order {
            VerifyOrder::ByTime(list) if list.front()?.is_done || none_in_flight => list.pop_front()?,
            VerifyOrder::ByAddress(tree) if tree.first_key_value()?.1.is_done || none_in_flight => tree.pop_first()?.1,
            _ => return None,
        };
        Some(piece.extent)
    }

    /// Empties the queue for another pass.
    pub(crate) fn clear(&mut self) {
        self.in_flight.clear();
        match &mut self.order {
            VerifyOrder::ByTime(list) => list.clear(),
            VerifyOrder::ByAddress(tree) => tree.clear(),
        }
    }

    /// True if there is nothing to read back.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Removes the pieces that a write overlaps.
fn remove_overlapped(pieces: &mut BTreeMap<u64, WrittenPiece>, lba: u64, sectors: u32) {
    let end = lba + u64::from(sectors);
    let overlaps = |piece: &WrittenPiece| piece.extent.lba + u64::from(piece.extent.sectors) > lba;
    while let Some((&first, _)) = pieces.range(..end).next_back().filter(|(_, piece)| overlaps(piece)) {
        pieces.remove(&first);
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
        while let Some(piece) = written.take_first(true) {
            left.push(piece);
        }
        assert_eq!(left, [ReadBack { lba: 4, sectors: 16 }, ReadBack { lba: 24, sectors: 8 }]);
    }

    #[test]
    fn a_backlog_waits_for_its_number_and_for_the_first_write() {
        let mut written = VerifyQueue::new(true, Some(VerifyBacklog { every: 2, batch: 2 }));
        let first = written.add_write(80, 8);
        assert_eq!(written.take_due(), None);
        let second = written.add_write(0, 8);
        assert_eq!(written.take_due(), None, "it is in flight");
        written.note_seen_completion(false, second);
        assert_eq!(written.take_due(), None, "the first is");
        written.note_seen_completion(false, first);
        let due = [(); 3].map(|()| written.take_due().map(|read_back| read_back.lba));
        assert_eq!(due, [Some(80), Some(0), None]);
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
                        written.note_seen_completion(false, number);
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
