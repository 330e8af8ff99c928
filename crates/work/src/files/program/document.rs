//! A word processor that saves a document from time to time. A save writes the document under another name, deletes the
//! old file, and renames the new one. An operation is a save.

use alloc::boxed::Box;

use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{FileName, SyncScope, VolumeError};

/// The figures of a word processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentSpec {
    pub volume: u8,
    /// The size of the document.
    pub bytes: u64,
    /// Bytes in a write.
    pub block: u64,
    pub saves: u32,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Makes the new file durable before it takes the old one's name.
    pub sync: bool,
    /// Makes the directory durable after that (`fsync(2)`: the file's own sync need not cover its name).
    pub sync_directory: bool,
    /// Computing for each save: encoding the document.
    pub time: Span,
    /// From one save to the next.
    pub pause: Span,
}

#[derive(Debug)]
struct Document {
    spec: DocumentSpec,
    directory: File,
    /// The file with the last save.
    document: File,
    /// The number of the save.
    at: u32,
    /// The new file is being created.
    creating: bool,
}

pub(super) fn create_program(
    spec: &DocumentSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let document = context.place_file(directory, spec.bytes)?;
    context.place_trial_file(directory, spec.bytes)?;
    Ok(script::program_from_script(Document { spec: *spec, directory, document, at: 0, creating: false }))
}

impl Script for Document {
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let DocumentSpec { bytes, block, handle, .. } = self.spec;
        if self.creating {
            let file = context.returned.and_then(|it| it.file).expect("it was created");
            let blocks = (0..bytes).step_by(block as usize);
            actions.push_calls(blocks.map(|from| Call::Write { file, from, bytes: block.min(bytes - from), handle }));
            actions.push_calls(self.spec.sync.then_some(Call::Sync(file, SyncScope::All)));
            actions.push_call(Call::Close(file));
            actions.push_call(Call::Delete(self.document));
            actions.push_call(Call::Rename { file, directory: self.directory, name: FileName::SHORT });
            let sync = Call::Sync(self.directory, SyncScope::All);
            actions.push_calls(self.spec.sync_directory.then_some(sync));
            actions.push_ended(self.at);
            (self.document, self.at, self.creating) = (file, self.at + 1, false);
            return true;
        }
        if self.at == self.spec.saves {
            return false;
        }
        if self.at > 0 && self.spec.pause > Span::ZERO {
            actions.push_call(Call::Wait(context.now + self.spec.pause));
        }
        actions.push_began(self.at);
        actions.push_calls(compute_call(self.spec.time));
        actions.push_call(Call::Create { directory: self.directory, name: FileName::SHORT });
        self.creating = true;
        true
    }
}
