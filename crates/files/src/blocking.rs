//! The file layer for tests: each call returns when it is done, in virtual time.

use alloc::string::String;
use alloc::vec::Vec;

use seekwise_disk::block::Device;
use seekwise_disk::time::{Instant, Span};

use crate::layer::Files;
use crate::operation::{Answer, FileError, FileOp, Handle, SyncScope};

/// A file layer with a virtual clock of its own.
pub struct BlockingFiles<D: Device> {
    files: Files<D>,
    now: Instant,
}

impl<D: Device> BlockingFiles<D> {
    /// Starts the clock at 0.
    pub fn new(files: Files<D>) -> BlockingFiles<D> {
        BlockingFiles { files, now: Instant::ZERO }
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The layer below.
    pub fn files(&mut self) -> &mut Files<D> {
        &mut self.files
    }

    /// Runs an operation to its end.
    pub fn run(&mut self, op: FileOp<'_>) -> Result<Answer, FileError> {
        let id = self.files.submit(self.now, op);
        loop {
            while let Some(completion) = self.files.poll_completion() {
                if completion.op == id {
                    return completion.result;
                }
            }
            self.now = self.files.poll_timeout().expect("an operation is in flight").max(self.now);
            self.files.handle_timeout(self.now);
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, span: Span) {
        self.now += span;
        self.files.handle_timeout(self.now);
    }

    fn open_by(&mut self, op: FileOp<'_>) -> Result<Handle, FileError> {
        match self.run(op)? {
            Answer::Opened(handle) => Ok(handle),
            answer => unreachable!("{answer:?} opens nothing"),
        }
    }

    /// Opens a file.
    pub fn open(&mut self, path: &str) -> Result<Handle, FileError> {
        self.open_by(FileOp::Open { path })
    }

    /// Creates a file.
    pub fn create(&mut self, path: &str) -> Result<Handle, FileError> {
        self.open_by(FileOp::Create { path })
    }

    /// Creates a directory.
    pub fn create_directory(&mut self, path: &str) -> Result<(), FileError> {
        self.run(FileOp::CreateDirectory { path }).map(|_| ())
    }

    /// Reads bytes, up to the end of the file.
    pub fn read(&mut self, file: Handle, from: u64, bytes: u64) -> Result<Vec<u8>, FileError> {
        match self.run(FileOp::Read { file, from, bytes })? {
            Answer::Bytes(bytes) => Ok(bytes),
            answer => unreachable!("{answer:?} are no bytes"),
        }
    }

    /// Writes bytes.
    pub fn write(&mut self, file: Handle, from: u64, data: &[u8]) -> Result<(), FileError> {
        self.run(FileOp::Write { file, from, data }).map(|_| ())
    }

    /// Cuts or extends a file to a length.
    pub fn set_len(&mut self, file: Handle, len: u64) -> Result<(), FileError> {
        self.run(FileOp::SetLen { file, len }).map(|_| ())
    }

    /// fsync.
    pub fn fsync(&mut self, file: Handle) -> Result<(), FileError> {
        self.run(FileOp::Sync { file, scope: SyncScope::All }).map(|_| ())
    }

    /// fdatasync.
    pub fn fdatasync(&mut self, file: Handle) -> Result<(), FileError> {
        self.run(FileOp::Sync { file, scope: SyncScope::Data }).map(|_| ())
    }

    /// Renames a file, and replaces one of the new name.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), FileError> {
        self.run(FileOp::Rename { from, to }).map(|_| ())
    }

    /// Removes a file or an empty directory.
    pub fn remove(&mut self, path: &str) -> Result<(), FileError> {
        self.run(FileOp::Remove { path }).map(|_| ())
    }

    /// The length of a file.
    pub fn file_len(&mut self, file: Handle) -> Result<u64, FileError> {
        match self.run(FileOp::Len { file })? {
            Answer::Len(len) => Ok(len),
            answer => unreachable!("{answer:?} is no length"),
        }
    }

    /// The names in a directory.
    pub fn list(&mut self, path: &str) -> Result<Vec<String>, FileError> {
        match self.run(FileOp::List { path })? {
            Answer::Names(names) => Ok(names),
            answer => unreachable!("{answer:?} are no names"),
        }
    }

    /// The power fails now.
    pub fn cut_power(&mut self) {
        self.files.cut_power(self.now);
        while self.files.poll_completion().is_some() {}
    }

    /// The power returns now.
    pub fn power_on(&mut self) {
        self.files.power_on(self.now);
    }
}
