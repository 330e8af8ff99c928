//! The results that programs got: of each file, the writes acknowledged and promised; of each operation, its effects on
//! files. The content of the medium is in `cut_medium`.

use alloc::vec::Vec;

use crate::files::call::{Call, File};
use crate::files::note::OperationId;
use crate::files::volume::{IssueMoment, WrittenExtent};

/// A file as programs know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileKnowledge {
    /// The file existed before the run.
    pub is_initial: bool,
    /// The creation was acknowledged.
    pub created: bool,
    pub existence_promised: bool,
    /// A mount would have found the file at some time.
    pub was_found: bool,
    /// A program has called to delete the file.
    pub deleting: bool,
    /// The file was renamed or moved since the last promise.
    pub renamed: bool,
    /// The directory into which programs last put the file.
    pub directory: Option<u32>,
    /// The end of the last byte written, or the initial length if greater.
    pub length: u64,
    /// Promised extents that are not known to be on the medium.
    pub promised: Vec<WrittenExtent>,
    /// Extents acknowledged without a promise.
    pub pending: Vec<PendingExtent>,
    /// The file that this one replaces: it was deleted in the operation that made this one.
    pub replaces: Option<File>,
    /// The operation that made it.
    pub maker: Option<OperationId>,
}

/// An extent that was acknowledged without a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingExtent {
    /// The number of the acknowledgement.
    pub number: u64,
    pub extent: WrittenExtent,
}

impl FileKnowledge {
    /// Records a write that was acknowledged under `number`.
    pub(crate) fn record_write(&mut self, number: u64, extent: WrittenExtent, promised: bool) {
        self.length = self.length.max(extent.to);
        match self.pending.last_mut() {
            _ if promised => {
                self.promised.push(extent);
                self.existence_promised = true;
            }
            // Contiguous writes become one extent, whose data must be at least as new as the first write.
            Some(last) if last.extent.to == extent.from => (last.number, last.extent.to) = (number, extent.to),
            _ => self.pending.push(PendingExtent { number, extent }),
        }
    }

    /// Promises everything acknowledged up to this number.
    pub(crate) fn promise_up_to(&mut self, number: u64) {
        let covered = self.pending.iter().filter(|pending| pending.number <= number);
        self.promised.extend(covered.map(|pending| pending.extent));
        self.pending.retain(|pending| pending.number > number);
        (self.existence_promised, self.renamed) = (true, false);
    }

    /// Expects the whole file on the medium, as before a move of its clusters: promised if the file's existence is.
    pub(crate) fn expect_whole(&mut self) {
        let whole = WrittenExtent { from: 0, to: self.length, since: IssueMoment::default() };
        match self.is_initial || self.existence_promised {
            true if !self.promised.contains(&whole) => self.promised.push(whole),
            false if !self.pending.iter().any(|pending| pending.extent == whole) => {
                self.pending.push(PendingExtent { number: 0, extent: whole });
            }
            _ => {}
        }
    }

    /// True if no byte of the extent waits for a promise.
    pub fn is_promised(&self, extent: &WrittenExtent) -> bool {
        let overlaps = |pending: &WrittenExtent| pending.from < extent.to && extent.from < pending.to;
        !self.pending.iter().any(|pending| overlaps(&pending.extent))
    }
}

/// A result of an operation: bytes of a file, or the file itself.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub file: File,
    /// `None`: the existence of the file.
    pub extent: Option<WrittenExtent>,
    /// Promised by the end of the operation.
    pub promised: bool,
}

/// A thread of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramThread {
    /// The call under way.
    pub call: Option<PendingCall>,
    /// The operation that it began last.
    pub operation: Option<OperationId>,
    /// Effects since the end of its last operation.
    pub effects: Vec<Effect>,
    /// The last file created since the end of its last operation.
    pub created: Option<File>,
}

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingCall {
    pub call: Call,
    /// When it was made.
    pub since: IssueMoment,
    /// Number of calls acknowledged before it was made.
    pub acknowledged: u64,
}

impl ProgramThread {
    /// Adds a write to the effects; contiguous writes become one.
    pub fn add_write(&mut self, file: File, extent: WrittenExtent) {
        if let Some(Effect { file: last_file, extent: Some(last), .. }) = self.effects.last_mut()
            && *last_file == file
            && last.to == extent.from
        {
            last.to = extent.to;
            return;
        }
        self.effects.push(Effect { file, extent: Some(extent), promised: false });
    }
}

/// An operation that ended.
#[derive(Clone, Debug)]
pub(crate) struct OperationEffects {
    pub operation: OperationId,
    pub effects: Vec<Effect>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn extent(from: u64, to: u64) -> WrittenExtent {
        WrittenExtent { from, to, since: IssueMoment::default() }
    }

    fn pending(number: u64, from: u64, to: u64) -> PendingExtent {
        PendingExtent { number, extent: extent(from, to) }
    }

    #[test]
    fn what_was_acknowledged_is_pending_until_a_flush_covers_it() {
        let mut known = FileKnowledge::default();
        known.record_write(1, extent(0, 100), false);
        known.record_write(2, extent(100, 300), false);
        known.record_write(3, extent(500, 600), false);
        assert_eq!(known.pending, [pending(2, 0, 300), pending(3, 500, 600)], "contiguous writes become one");
        assert_eq!((known.length, known.existence_promised, known.promised.len()), (600, false, 0));
        assert!(known.is_promised(&extent(300, 500)) && !known.is_promised(&extent(299, 500)));
        known.promise_up_to(2);
        assert_eq!((known.promised, known.pending), (vec![extent(0, 300)], vec![pending(3, 500, 600)]));
        assert!(known.existence_promised);
    }

    #[test]
    fn a_write_through_is_promised_at_once() {
        let mut known = FileKnowledge::default();
        known.record_write(1, extent(100, 200), true);
        assert_eq!(
            (&known.promised[..], known.pending.len(), known.existence_promised),
            (&[extent(100, 200)][..], 0, true)
        );
        known.record_write(2, extent(200, 250), false);
        known.record_write(3, extent(0, 50), false);
        assert_eq!(known.pending, [pending(2, 200, 250), pending(3, 0, 50)]);
        assert_eq!(
            (known.promised.len(), known.length),
            (1, 250),
            "the end of the last byte, wherever writing goes on"
        );
    }
}
