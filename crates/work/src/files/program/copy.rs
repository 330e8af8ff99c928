//! Copying and moving files, block by block, one file after another. A single thread alternates reads and writes; of
//! two threads, one reads ahead into buffers and the other writes. An operation is a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::time::{Instant, Span};

use super::action::{Program, ProgramAction, compute_call};
use super::context::ProgramContext;
use super::file_set::{FileSet, SizedFile, TargetFile};
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, CallResult, File, OpenMode};
use crate::files::system::System;
use crate::files::volume::{FileName, SyncScope, VolumeError};

/// The figures of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySpec {
    /// The source volume.
    pub from: u8,
    /// The target volume.
    pub to: u8,
    pub set: FileSet,
    /// Bytes in a read and in a write.
    pub block: u64,
    /// Blocks that the reader may be ahead of the writer; 0 for a single thread.
    pub buffers: u32,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Deletes each source when its copy is closed.
    pub moves: bool,
    /// Makes each copy durable before it is closed.
    pub sync: bool,
    /// Computing for each file.
    pub file_time: Span,
}

/// The value of [`SerialCopy::from`] while a copy is being created.
const CREATING: u64 = u64::MAX;

/// A file to copy.
#[derive(Clone, Copy, Debug)]
struct FileCopy {
    source: File,
    bytes: u64,
    target_directory: File,
}

pub(super) fn create_program(
    spec: &CopySpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let sources = context.place_file_set(&spec.set, spec.from)?;
    let targets = context.place_target_directories(&spec.set, spec.to)?;
    let file_copy = |(source, target): (SizedFile, TargetFile)| FileCopy {
        source: source.file,
        bytes: source.bytes,
        target_directory: target.directory,
    };
    let files = sources.into_iter().zip(targets).map(file_copy).collect();
    Ok(match spec.buffers {
        0 => script::program_from_script(SerialCopy { spec: *spec, files, at: 0, from: 0, target: None }),
        _ => Box::new(PipelinedCopy {
            spec: *spec,
            files,
            filled: 0,
            read: CopyProgress::default(),
            write: CopyProgress::default(),
        }),
    })
}

impl CopySpec {
    /// Adds the actions that follow the last write of a copy.
    fn add_final_actions(&self, file: &FileCopy, target: File, actions: &mut ActionQueue) {
        actions.push_calls(self.sync.then_some(Call::Sync(target, SyncScope::All)));
        actions.push_call(Call::Close(target));
        actions.push_calls(self.moves.then_some(Call::Delete(file.source)));
        actions.push_calls(compute_call(self.file_time));
    }

    /// Bytes of the block at byte `from` of a file of `file_bytes` bytes.
    fn block_bytes(&self, from: u64, file_bytes: u64) -> u64 {
        self.block.min(file_bytes - from)
    }
}

/// A copy by a single thread.
#[derive(Debug)]
struct SerialCopy {
    spec: CopySpec,
    files: Vec<FileCopy>,
    /// The index of the file.
    at: usize,
    /// The next byte of the file; [`CREATING`] while its copy is being created.
    from: u64,
    /// The copy, once it is created.
    target: Option<File>,
}

impl Script for SerialCopy {
    fn add_next_actions(&mut self, context: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        let Some(file) = self.files.get(self.at) else { return false };
        let Some(target) = self.target else {
            if self.from == 0 {
                actions.push_began(self.at as u32);
                actions.push_call(Call::Open(file.source));
                actions.push_call(Call::Create { directory: file.target_directory, name: FileName::SHORT });
                self.from = CREATING;
            } else {
                self.from = 0;
                self.target = context.returned.and_then(|it| it.file);
                assert!(self.target.is_some(), "a created file has a name");
            }
            return true;
        };
        if self.from < file.bytes {
            let (from, bytes, handle) = (self.from, self.spec.block_bytes(self.from, file.bytes), self.spec.handle);
            actions.push_call(Call::Read { file: file.source, from, bytes, handle });
            actions.push_call(Call::Write { file: target, from, bytes, handle });
            self.from += bytes;
        } else {
            self.spec.add_final_actions(file, target, actions);
            actions.push_ended(self.at as u32);
            (self.at, self.from, self.target) = (self.at + 1, 0, None);
        }
        true
    }
}

/// A copy by two threads: a reader, which is thread 0, and a writer.
#[derive(Debug)]
struct PipelinedCopy {
    spec: CopySpec,
    files: Vec<FileCopy>,
    /// Number of blocks that were read and not yet written.
    filled: u32,
    read: CopyProgress,
    write: CopyProgress,
}

/// The progress of one of the two threads.
#[derive(Debug, Default)]
struct CopyProgress {
    /// The index of its file.
    at: usize,
    /// The file was opened (reader), or its creation was begun (writer).
    begun: bool,
    /// The next byte.
    from: u64,
    /// For the writer: the copy, once it is created.
    target: Option<File>,
    actions: ActionQueue,
    /// A block is being read.
    reading: bool,
}

impl PipelinedCopy {
    /// The next action of the reader.
    fn next_reader_action(&mut self) -> ProgramAction {
        let side = &mut self.read;
        self.filled += u32::from(core::mem::take(&mut side.reading));
        loop {
            if let Some(action) = side.actions.pop() {
                return action;
            }
            let Some(file) = self.files.get(side.at) else { return ProgramAction::Over };
            if !side.begun {
                side.begun = true;
                side.actions.push_began(side.at as u32);
                side.actions.push_call(Call::Open(file.source));
            } else if side.from == file.bytes {
                (side.at, side.begun, side.from) = (side.at + 1, false, 0);
            } else if self.filled == self.spec.buffers {
                return ProgramAction::Park;
            } else {
                let (from, bytes) = (side.from, self.spec.block_bytes(side.from, file.bytes));
                side.from += bytes;
                side.reading = true;
                return ProgramAction::Call(Call::Read { file: file.source, from, bytes, handle: self.spec.handle });
            }
        }
    }

    /// The next action of the writer.
    fn next_writer_action(&mut self, returned: Option<&CallResult>) -> ProgramAction {
        let side = &mut self.write;
        loop {
            if let Some(action) = side.actions.pop() {
                return action;
            }
            let Some(file) = self.files.get(side.at) else { return ProgramAction::Over };
            let opened = self.read.at > side.at || self.read.at == side.at && self.read.begun;
            match (side.begun, side.target) {
                (false, _) if !opened => return ProgramAction::Park,
                (false, _) => {
                    side.begun = true;
                    return ProgramAction::Call(Call::Create {
                        directory: file.target_directory,
                        name: FileName::SHORT,
                    });
                }
                (true, None) => side.target = Some(returned.and_then(|it| it.file).expect("it was created")),
                (true, Some(target)) if side.from == file.bytes => {
                    self.spec.add_final_actions(file, target, &mut side.actions);
                    side.actions.push_ended(side.at as u32);
                    (side.at, side.begun, side.from, side.target) = (side.at + 1, false, 0, None);
                }
                (true, Some(_)) if self.filled == 0 => return ProgramAction::Park,
                (true, Some(target)) => {
                    self.filled -= 1;
                    let (from, bytes) = (side.from, self.spec.block_bytes(side.from, file.bytes));
                    side.from += bytes;
                    return ProgramAction::Call(Call::Write { file: target, from, bytes, handle: self.spec.handle });
                }
            }
        }
    }
}

impl Program for PipelinedCopy {
    fn thread_count(&self) -> u16 {
        2
    }

    fn next_action(&mut self, thread: u16, _: Instant, returned: Option<&CallResult>, _: &System) -> ProgramAction {
        if thread == 0 { self.next_reader_action() } else { self.next_writer_action(returned) }
    }
}
