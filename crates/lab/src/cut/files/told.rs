//! What programs were told of their files: what was acknowledged, what of that was promised to stay, and which operations
//! rest on it.

use seekwise_model::files::call::{Call, File};
use seekwise_model::files::volume::{Extent, Since};

/// What programs know of a file.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// It was there before the run.
    pub there: bool,
    /// Whoever made it was told so.
    pub created: bool,
    /// It is promised to be there.
    pub kept: bool,
    /// A mount would have found it once.
    pub found: bool,
    /// Somebody asked to delete it.
    pub deleting: bool,
    /// It was given another name or place after it was promised, or found.
    pub renamed: bool,
    /// The directory that programs put it in last.
    pub directory: Option<u32>,
    /// How far it was written, or was long before.
    pub length: u64,
    /// What was promised and has not been seen on the medium yet.
    pub promised: Vec<Extent>,
    /// What was acknowledged only, with the number of its acknowledgement.
    pub pending: Vec<(u64, Extent)>,
    /// The file that was deleted in the operation that made this one: it lives on as this.
    pub replaces: Option<File>,
    /// The operation that made it: program and number.
    pub by: Option<(u16, u32)>,
}

impl Told {
    /// A write of it was acknowledged under this number.
    pub fn wrote(&mut self, number: u64, extent: Extent, promised: bool) {
        self.length = self.length.max(extent.to);
        match self.pending.last_mut() {
            _ if promised => {
                self.promised.push(extent);
                self.kept = true;
            }
            // One behind the other is one: how new it has to be is told by its beginning.
            Some((last, before)) if before.to == extent.from => (*last, before.to) = (number, extent.to),
            _ => self.pending.push((number, extent)),
        }
    }

    /// All that was acknowledged up to this number is promised.
    pub fn promise(&mut self, number: u64) {
        let is_covered = |it: &(u64, Extent)| it.0 <= number;
        self.promised.extend(self.pending.iter().filter(|it| is_covered(it)).map(|it| it.1));
        self.pending.retain(|it| !is_covered(it));
        (self.kept, self.renamed) = (true, false);
    }

    /// Its clusters are given elsewhere: all of it is to be there as before.
    pub fn shifted(&mut self) {
        let whole = Extent { from: 0, to: self.length, since: Since::default() };
        match self.there || self.kept {
            true if !self.promised.contains(&whole) => self.promised.push(whole),
            false if !self.pending.iter().any(|it| it.1 == whole) => self.pending.push((0, whole)),
            _ => {}
        }
    }

    /// Nothing of these bytes waits for a promise.
    pub fn is_promised(&self, extent: &Extent) -> bool {
        !self.pending.iter().any(|(_, it)| it.from < extent.to && extent.from < it.to)
    }
}

/// Something that an operation left: bytes of a file, or the file itself.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    pub file: File,
    /// Nothing: that it is there.
    pub extent: Option<Extent>,
    /// Promised to stay when the operation ended.
    pub promised: bool,
}

/// A thread of a program.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Its call, since when it calls, and the acknowledgements that there had been.
    pub calling: Option<(Call, Since, u64)>,
    /// The operation that it began last.
    pub began: Option<(u16, u32)>,
    /// What it left since the operation that it ended last.
    pub effects: Vec<Effect>,
    /// The file that it made since then.
    pub made: Option<File>,
}

impl Thread {
    /// It wrote these bytes.
    pub fn wrote(&mut self, file: File, extent: Extent) {
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
pub struct Operation {
    pub program: u16,
    pub number: u32,
    pub effects: Vec<Effect>,
}
