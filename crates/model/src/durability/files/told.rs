//! What programs were told of their files: what was acknowledged, what of that was promised to stay, and which
//! operations rely on it. What is on the medium is `seen`.

use alloc::vec::Vec;

use crate::files::call::{Call, File};
use crate::files::volume::{IssueMoment, WrittenExtent};

/// What programs know of a file.
#[derive(Clone, Debug, Default)]
pub struct FileKnowledge {
    /// It was there before the run.
    pub there: bool,
    /// Its creation was acknowledged.
    pub created: bool,
    /// It is promised to be there.
    pub kept: bool,
    /// A mount would have found it once.
    pub found: bool,
    /// A program has asked to delete it.
    pub deleting: bool,
    /// It was renamed or moved after it was promised, or found.
    pub renamed: bool,
    /// The directory into which programs put it last.
    pub directory: Option<u32>,
    /// How far it was written, or its earlier length.
    pub length: u64,
    /// Promised extents not yet seen on the medium.
    pub promised: Vec<WrittenExtent>,
    /// Extents only acknowledged, with the number of the acknowledgement.
    pub pending: Vec<(u64, WrittenExtent)>,
    /// The file that was deleted in the operation that made this one, which replaces it.
    pub replaces: Option<File>,
    /// The operation that made it: program and number.
    pub by: Option<(u16, u32)>,
}

impl FileKnowledge {
    /// Notes that a write of it was acknowledged under this number.
    pub fn wrote(&mut self, number: u64, extent: WrittenExtent, promised: bool) {
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
    pub fn promise(&mut self, number: u64) {
        let is_covered = |it: &(u64, WrittenExtent)| it.0 <= number;
        self.promised.extend(self.pending.iter().filter(|it| is_covered(it)).map(|it| it.1));
        self.pending.retain(|it| !is_covered(it));
        (self.kept, self.renamed) = (true, false);
    }

    /// Its clusters are moved: all of it must be there as before.
    pub fn shifted(&mut self) {
        let whole = WrittenExtent { from: 0, to: self.length, since: IssueMoment::default() };
        match self.there || self.kept {
            true if !self.promised.contains(&whole) => self.promised.push(whole),
            false if !self.pending.iter().any(|it| it.1 == whole) => self.pending.push((0, whole)),
            _ => {}
        }
    }

    /// True if nothing of these bytes waits for a promise.
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
    /// Promised to stay when the operation ended.
    pub promised: bool,
}

/// A thread of a program.
#[derive(Clone, Debug, Default)]
pub struct ProgramThread {
    /// Its call, since when it calls, and how many acknowledgements there were by then.
    pub calling: Option<(Call, IssueMoment, u64)>,
    /// The operation that it began last.
    pub began: Option<(u16, u32)>,
    /// Results since the operation that it ended last.
    pub effects: Vec<Effect>,
    /// The file that it made since then.
    pub made: Option<File>,
}

impl ProgramThread {
    /// Notes that it wrote these bytes.
    pub fn wrote(&mut self, file: File, extent: WrittenExtent) {
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
pub struct OperationEffects {
    pub program: u16,
    pub number: u32,
    pub effects: Vec<Effect>,
}
