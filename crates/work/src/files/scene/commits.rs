//! Commits of programs: the writes of a program to a file, and its call that makes them durable. Times are those of the
//! calls, so a commit includes what the file system writes for it. Requests are not seen here.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use seekwise_disk::time::Instant;

use super::super::call::{Call, File, OpenMode, ThreadId};

/// A commit: from the call of the first write since the file's last sync to the return of the sync that covers it. A
/// write through a handle that makes it durable is a commit by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramCommit {
    pub began: Instant,
    pub ended: Instant,
    /// Bytes of its writes.
    pub bytes: u64,
}

/// Writes that have returned and that no sync covers yet.
#[derive(Clone, Copy, Debug)]
struct UnsyncedWrites {
    began: Instant,
    bytes: u64,
}

/// A call that takes part in a commit.
#[derive(Clone, Copy, Debug)]
enum CommitCall {
    Write { file: (u16, File), writes: UnsyncedWrites, is_durable: bool },
    Sync(UnsyncedWrites),
}

/// Finds the commits among the calls of programs.
#[derive(Debug, Default)]
pub(super) struct CommitTracker {
    /// By program and file.
    unsynced: BTreeMap<(u16, File), UnsyncedWrites>,
    /// Calls that have not returned, by thread.
    calls: BTreeMap<ThreadId, CommitCall>,
    ended: Vec<ProgramCommit>,
}

impl CommitTracker {
    /// The commits that have ended, in order of their ends.
    pub(super) fn ended(&self) -> &[ProgramCommit] {
        &self.ended
    }

    /// Notes a call of a thread of `program`. A sync covers the writes that have returned.
    pub(super) fn begin_call(&mut self, now: Instant, thread: ThreadId, program: u16, call: Call) {
        let call = match call {
            Call::Write { file, bytes, handle, .. } => {
                let writes = UnsyncedWrites { began: now, bytes };
                let is_durable = handle == OpenMode::WriteThrough;
                Some(CommitCall::Write { file: (program, file), writes, is_durable })
            }
            Call::Sync(file, _) => self.unsynced.remove(&(program, file)).map(CommitCall::Sync),
            Call::Delete(file) => {
                self.unsynced.remove(&(program, file));
                None
            }
            // Nobody waits for these writes alone.
            Call::SyncVolume(volume) => {
                self.unsynced.retain(|(_, file), _| file.volume != volume);
                None
            }
            _ => None,
        };
        if let Some(call) = call {
            self.calls.insert(thread, call);
        }
    }

    /// Notes the return of a thread's call. A call that failed commits nothing.
    pub(super) fn end_call(&mut self, now: Instant, thread: ThreadId, succeeded: bool) {
        let Some(call) = self.calls.remove(&thread).filter(|_| succeeded) else { return };
        match call {
            CommitCall::Sync(writes) | CommitCall::Write { writes, is_durable: true, .. } => {
                self.ended.push(ProgramCommit { began: writes.began, ended: now, bytes: writes.bytes });
            }
            CommitCall::Write { file, writes, is_durable: false } => {
                let unsynced = self.unsynced.entry(file).or_insert(UnsyncedWrites { bytes: 0, ..writes });
                unsynced.began = unsynced.began.min(writes.began);
                unsynced.bytes += writes.bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::volume::{FileId, SyncScope};
    use super::*;

    const LOG: File = File { volume: 0, id: FileId(1) };
    const DATA: File = File { volume: 0, id: FileId(2) };

    fn write(file: File, handle: OpenMode) -> Call {
        Call::Write { file, from: 0, bytes: 4096, handle }
    }

    /// The commits of a program's calls: each with its thread, when it begins, and when it returns. `false` for one that
    /// fails. Times are those of the list, which rise.
    fn commits(events: &[(u64, ThreadId, Result<Call, bool>)]) -> Vec<(u64, u64, u64)> {
        let mut tracker = CommitTracker::default();
        for &(at, thread, event) in events {
            match event {
                Ok(call) => tracker.begin_call(Instant::from_nanos(at), thread, thread / 10, call),
                Err(succeeded) => tracker.end_call(Instant::from_nanos(at), thread, succeeded),
            }
        }
        tracker.ended().iter().map(|of| (of.began.nanos(), of.ended.nanos(), of.bytes)).collect()
    }

    const RETURNS: Result<Call, bool> = Err(true);

    #[test]
    fn a_commit_lasts_from_its_first_write_to_the_return_of_its_sync() {
        let (write, sync) = (Ok(write(LOG, OpenMode::Cached)), Ok(Call::Sync(LOG, SyncScope::Data)));
        let twice = [(1, 0, write), (2, 0, RETURNS), (5, 0, write), (6, 0, RETURNS), (7, 0, sync), (20, 0, RETURNS)];
        assert_eq!(commits(&twice), [(1, 20, 8192)]);
        // Without a new write, a second sync commits nothing.
        let again = [&twice[..], &[(21, 0, sync), (22, 0, RETURNS)]].concat();
        assert_eq!(commits(&again), [(1, 20, 8192)]);
        // A write that has not returned when the sync begins belongs to the next.
        let beside = [(1, 0, write), (2, 0, RETURNS), (3, 1, write), (4, 0, sync), (5, 1, RETURNS), (9, 0, RETURNS)];
        assert_eq!(commits(&beside), [(1, 9, 4096)]);
        assert_eq!(commits(&[&beside[..], &[(10, 1, sync), (15, 1, RETURNS)]].concat())[1], (3, 15, 4096));
    }

    #[test]
    fn other_files_other_programs_and_failures_commit_nothing() {
        let (write, sync) = (Ok(write(LOG, OpenMode::Cached)), |file| Ok(Call::Sync(file, SyncScope::Data)));
        let written = [(1, 0, write), (2, 0, RETURNS)];
        for last in [
            [(3, 0, sync(DATA)), (4, 0, RETURNS)],
            [(3, 10, sync(LOG)), (4, 10, RETURNS)],
            [(3, 0, sync(LOG)), (4, 0, Err(false))],
        ] {
            assert_eq!(commits(&[written, last].concat()), []);
        }
        for gone in [Call::Delete(LOG), Call::SyncVolume(0)] {
            let end = [(3, 0, Ok(gone)), (4, 0, RETURNS), (5, 0, sync(LOG)), (6, 0, RETURNS)];
            assert_eq!(commits(&[&written[..], &end].concat()), []);
        }
    }

    #[test]
    fn a_durable_write_is_a_commit_by_itself() {
        let through = Ok(write(LOG, OpenMode::WriteThrough));
        let sync = Ok(Call::Sync(LOG, SyncScope::Data));
        let events = [(1, 0, through), (9, 0, RETURNS), (10, 0, sync), (11, 0, RETURNS)];
        assert_eq!(commits(&events), [(1, 9, 4096)]);
    }
}
