//! Acknowledgements and promises that programs got for their files, and the operations that rely on them. The content
//! of the medium is in `cut_medium`.

use alloc::vec::Vec;

use crate::files::call::{Call, File};
use crate::files::volume::{IssueMoment, WrittenExtent};

/// A file as programs know it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileKnowledge {
    /// Existed before the run.
    pub there: bool,
    /// Creation was acknowledged.
    pub created: bool,
    /// Existence is promised.
    pub kept: bool,
    /// A mount would have found the file at some time.
    pub found: bool,
    /// A program has called to delete the file.
    pub deleting: bool,
    /// Renamed or moved since the last promise.
    pub renamed: bool,
    /// The directory into which programs last put the file.
    pub directory: Option<u32>,
    /// The end of the last byte written, or the initial length if greater.
    pub length: u64,
    /// Promised extents that are not known to be on the medium.
    pub promised: Vec<WrittenExtent>,
    /// Extents acknowledged without a promise, each with the number of the acknowledgement.
    pub pending: Vec<(u64, WrittenExtent)>,
    /// The file that was deleted in the operation that made this one, which replaces it.
    pub replaces: Option<File>,
    /// The operation that made it: program and number.
    pub by: Option<(u16, u32)>,
}

impl FileKnowledge {
    /// Records a write that was acknowledged under `number`.
    pub(crate) fn record_write(&mut self, number: u64, extent: WrittenExtent, promised: bool) {
        self.length = self.length.max(extent.to);
        match self.pending.last_mut() {
            _ if promised => {
                self.promised.push(extent);
                self.kept = true;
            }
            // Contiguous writes become one extent: its beginning says how new it must be.
            Some((last, before)) if before.to == extent.from => (*last, before.to) = (number, extent.to),
            _ => self.pending.push((number, extent)),
        }
    }

    /// Promises everything acknowledged up to this number.
    pub(crate) fn promise_up_to(&mut self, number: u64) {
        let is_covered = |it: &(u64, WrittenExtent)| it.0 <= number;
        self.promised.extend(self.pending.iter().filter(|it| is_covered(it)).map(|it| it.1));
        self.pending.retain(|it| !is_covered(it));
        (self.kept, self.renamed) = (true, false);
    }

    /// Expects the whole file to survive a move of its clusters.
    pub(crate) fn expect_whole(&mut self) {
        let whole = WrittenExtent { from: 0, to: self.length, since: IssueMoment::default() };
        match self.there || self.kept {
            true if !self.promised.contains(&whole) => self.promised.push(whole),
            false if !self.pending.iter().any(|it| it.1 == whole) => self.pending.push((0, whole)),
            _ => {}
        }
    }

    /// True if no byte of the extent waits for a promise.
    pub fn is_promised(&self, extent: &WrittenExtent) -> bool {
        !self.pending.iter().any(|(_, it)| it.from < extent.to && extent.from < it.to)
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
    /// The call under way, its beginning, and the acknowledgements before it.
    pub calling: Option<(Call, IssueMoment, u64)>,
    /// The operation that it began last.
    pub began: Option<(u16, u32)>,
    /// Effects since the end of its last operation.
    pub effects: Vec<Effect>,
    /// The last file created since then.
    pub made: Option<File>,
}

impl ProgramThread {
    /// Adds a write to the effects; contiguous writes become one.
    pub fn add_write(&mut self, file: File, extent: WrittenExtent) {
        let promised = false;
        if let Some(Effect { file: last, extent: Some(before), .. }) = self.effects.last_mut()
            && *last == file
            && before.to == extent.from
        {
            before.to = extent.to;
            return;
        }
        self.effects.push(Effect { file, extent: Some(extent), promised });
    }
}

/// An operation that ended.
#[derive(Clone, Debug)]
pub(crate) struct OperationEffects {
    pub program: u16,
    pub number: u32,
    pub effects: Vec<Effect>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn extent(from: u64, to: u64) -> WrittenExtent {
        WrittenExtent { from, to, since: IssueMoment::default() }
    }

    #[test]
    fn what_was_acknowledged_is_pending_until_a_flush_covers_it() {
        let mut told = FileKnowledge::default();
        told.record_write(1, extent(0, 100), false);
        told.record_write(2, extent(100, 300), false);
        told.record_write(3, extent(500, 600), false);
        assert_eq!(told.pending, [(2, extent(0, 300)), (3, extent(500, 600))], "contiguous writes become one");
        assert_eq!((told.length, told.kept, told.promised.len()), (600, false, 0));
        assert!(told.is_promised(&extent(300, 500)) && !told.is_promised(&extent(299, 500)));
        told.promise_up_to(2);
        assert_eq!((told.promised, told.pending), (vec![extent(0, 300)], vec![(3, extent(500, 600))]));
        assert!(told.kept);
    }

    #[test]
    fn a_write_through_is_promised_at_once() {
        let mut told = FileKnowledge::default();
        told.record_write(1, extent(100, 200), true);
        assert_eq!((&told.promised[..], told.pending.len(), told.kept), (&[extent(100, 200)][..], 0, true));
        told.record_write(2, extent(200, 250), false);
        told.record_write(3, extent(0, 50), false);
        assert_eq!(told.pending, [(2, extent(200, 250)), (3, extent(0, 50))]);
        assert_eq!((told.promised.len(), told.length), (1, 250), "the end of the last byte, wherever writing goes on");
    }
}
