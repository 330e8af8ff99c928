//! A database: clients change pages in its memory and commit through a write-ahead log. From time to time a checkpoint
//! writes the changed pages to the data file. With group commit, one client writes and flushes the log for all that
//! wait. An operation is a commit.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::{Instant, Span};

use super::action::{Program, ProgramAction, compute_call};
use super::context::ProgramContext;
use crate::files::call::{Call, CallResult, File, OpenMode};
use crate::files::system::System;
use crate::files::volume::{SyncScope, VolumeError};

/// The figures of a database and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseSpec {
    /// The volume of the data.
    pub volume: u8,
    /// The volume of the log.
    pub log: u8,
    /// The size of the data in bytes.
    pub bytes: u64,
    /// The size of the circular log in bytes.
    pub log_bytes: u64,
    /// Bytes in a page.
    pub page: u64,
    /// Writes to the log are multiples of this many bytes.
    pub log_block: u64,
    /// Number of clients, each with a thread.
    pub clients: u16,
    /// Number of commits of all clients together.
    pub commits: u32,
    /// Pages that a transaction reads.
    pub reads: u32,
    /// The percentage of these reads that hit the database's memory.
    pub hits: u32,
    /// Pages that a transaction changes.
    pub writes: u32,
    /// Bytes that a transaction adds to the log.
    pub record: u64,
    /// Group commit: one client flushes for all that wait.
    pub group: bool,
    /// From one checkpoint to the next; `None` for no checkpoints.
    pub checkpoint: Option<Span>,
    /// The percentage of that time over which the writes of a checkpoint are spread.
    pub spread: u32,
    /// How the data are opened.
    pub data_handle: OpenMode,
    /// How the log is opened.
    pub log_handle: OpenMode,
    /// Computing time of each transaction.
    pub time: Span,
    /// From one transaction of a client to its next.
    pub pause: Span,
}

#[derive(Debug)]
struct Database {
    spec: DatabaseSpec,
    data: File,
    log: File,
    rng: Rng,
    clients: Vec<Client>,
    /// Number of transactions begun.
    begun: u32,
    /// Number of clients that have not ended.
    busy: u32,
    /// Bytes ever added to the log.
    logged: u64,
    /// How many of these are durable.
    durable: u64,
    /// A client is writing the log up to this byte.
    writing: Option<u64>,
    /// The part of the log that was written last.
    last_written: LogExtent,
    /// The part of the log that was made durable last.
    last_durable: LogExtent,
    /// Changed pages, by their first bytes.
    dirty: BTreeSet<u64>,
    checkpoint: Checkpoint,
}

/// A part of the log file.
#[derive(Clone, Copy, Debug, Default)]
struct LogExtent {
    /// The first byte.
    from: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    stage: ClientStage,
    /// The number of its transaction.
    number: u32,
    /// The end of its record in the log, counted from the first byte ever logged.
    record_end: u64,
    /// When its last transaction ended.
    ended: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStage {
    /// Between two transactions.
    Idle,
    /// The pause before its transaction is over.
    Paused,
    /// Reads pages: the number left.
    Read(u32),
    Compute,
    /// Adds its record to the log.
    Log,
    /// Waits for its record to become durable, or writes the log.
    Commit,
    /// Has written the log.
    Written,
    /// Has synced the log.
    Synced,
    /// The transaction is durable.
    Done,
}

#[derive(Debug)]
struct Checkpoint {
    /// When the next checkpoint begins; `None` before the first look.
    due: Option<Instant>,
    /// When the last one began.
    began: Instant,
    /// The pages left to write, the last first.
    left: Vec<u64>,
    /// How many pages it had at its beginning.
    all: u64,
    /// All its pages are written, and a flush must follow.
    written: bool,
    /// The flush is in flight.
    flushing: bool,
}

pub(super) fn create_program(
    spec: &DatabaseSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let data = context.place_file(directory, spec.bytes)?;
    let directory = context.place_directory(spec.log)?;
    let log = context.place_file(directory, spec.log_bytes)?;
    let client = Client { stage: ClientStage::Idle, number: 0, record_end: 0, ended: Instant::ZERO };
    Ok(Box::new(Database {
        spec: *spec,
        data,
        log,
        rng: context.named_rng("database"),
        clients: alloc::vec![client; usize::from(spec.clients)],
        begun: 0,
        busy: u32::from(spec.clients),
        logged: 0,
        durable: 0,
        writing: None,
        last_written: LogExtent::default(),
        last_durable: LogExtent::default(),
        dirty: BTreeSet::new(),
        checkpoint: Checkpoint {
            due: None,
            began: Instant::ZERO,
            left: Vec::new(),
            all: 0,
            written: false,
            flushing: false,
        },
    }))
}

impl Database {
    /// Draws a page; returns its first byte.
    fn draw_page(&mut self) -> u64 {
        self.rng.below((self.spec.bytes / self.spec.page).max(1)) * self.spec.page
    }

    /// The next action of a client.
    fn next_client_action(&mut self, index: usize, now: Instant) -> ProgramAction {
        loop {
            let mut client = self.clients[index];
            let action = self.step_client(&mut client, now);
            self.clients[index] = client;
            if let Some(action) = action {
                return action;
            }
        }
    }

    /// Makes a step of a client; returns `None` if it only moved to another stage.
    fn step_client(&mut self, client: &mut Client, now: Instant) -> Option<ProgramAction> {
        let spec = self.spec;
        match client.stage {
            ClientStage::Idle if self.begun == spec.commits => {
                self.busy -= 1;
                Some(ProgramAction::Over)
            }
            ClientStage::Idle => {
                self.begun += 1;
                client.number = self.begun;
                client.stage = ClientStage::Paused;
                (spec.pause > Span::ZERO && client.ended > Instant::ZERO)
                    .then(|| ProgramAction::Call(Call::Wait(client.ended + spec.pause)))
            }
            ClientStage::Paused => {
                client.stage = ClientStage::Read(spec.reads);
                Some(ProgramAction::Began(client.number))
            }
            ClientStage::Read(0) => {
                client.stage = ClientStage::Compute;
                None
            }
            ClientStage::Read(left) => {
                client.stage = ClientStage::Read(left - 1);
                let (from, hit) = (self.draw_page(), self.rng.draw_chance(spec.hits));
                if left <= spec.writes {
                    self.dirty.insert(from);
                }
                let read = Call::Read { file: self.data, from, bytes: spec.page, handle: spec.data_handle };
                (!hit).then_some(ProgramAction::Call(read))
            }
            ClientStage::Compute => {
                client.stage = ClientStage::Log;
                compute_call(spec.time).map(ProgramAction::Call)
            }
            ClientStage::Log => {
                self.logged += spec.record;
                (client.record_end, client.stage) = (self.logged, ClientStage::Commit);
                None
            }
            ClientStage::Commit if spec.group && self.durable >= client.record_end => {
                client.stage = ClientStage::Done;
                let LogExtent { from, bytes } = self.last_durable;
                Some(ProgramAction::Relies { number: client.number, file: self.log, from, bytes })
            }
            ClientStage::Commit if self.writing.is_some() => Some(ProgramAction::Park),
            ClientStage::Commit => {
                let until = if spec.group { self.logged } else { client.record_end.max(self.durable) };
                self.writing = Some(until);
                client.stage = ClientStage::Written;
                Some(ProgramAction::Call(self.begin_log_write(until)))
            }
            ClientStage::Written => {
                client.stage = ClientStage::Synced;
                Some(ProgramAction::Call(Call::Sync(self.log, SyncScope::Data)))
            }
            ClientStage::Synced => {
                (self.durable, self.last_durable) = (self.writing.take().expect("it wrote"), self.last_written);
                client.stage = ClientStage::Done;
                None
            }
            ClientStage::Done => {
                (client.stage, client.ended) = (ClientStage::Idle, now);
                Some(ProgramAction::Ended(client.number))
            }
        }
    }

    /// Returns the write of the log's blocks from its durable end to `until`. A write that would pass the end of the
    /// file is at its beginning.
    fn begin_log_write(&mut self, until: u64) -> Call {
        let DatabaseSpec { log_block: block, log_bytes, log_handle: handle, .. } = self.spec;
        let first = self.durable / block * block;
        let bytes = (until.next_multiple_of(block) - first).clamp(block, log_bytes);
        let from = first % log_bytes;
        let from = if from + bytes > log_bytes { 0 } else { from };
        self.last_written = LogExtent { from, bytes };
        Call::Write { file: self.log, from, bytes, handle }
    }

    /// The next action of the checkpoint's thread. While it parks, it is called again after each action of a client.
    fn next_checkpoint_action(&mut self, now: Instant) -> ProgramAction {
        let (spec, checkpoint) = (self.spec, &mut self.checkpoint);
        let Some(interval) = spec.checkpoint else { return ProgramAction::Over };
        if core::mem::take(&mut checkpoint.flushing) {
            checkpoint.due = Some(now.max(checkpoint.began + interval));
        }
        if core::mem::take(&mut checkpoint.written) {
            checkpoint.flushing = true;
            return ProgramAction::Call(Call::Sync(self.data, SyncScope::All));
        }
        if self.busy == 0 {
            return ProgramAction::Over;
        }
        if checkpoint.left.is_empty() {
            let due = *checkpoint.due.get_or_insert(now + interval);
            if now < due || self.dirty.is_empty() {
                return ProgramAction::Park;
            }
            checkpoint.began = now;
            checkpoint.left.extend(core::mem::take(&mut self.dirty).into_iter().rev());
            checkpoint.all = checkpoint.left.len() as u64;
        }
        let done = checkpoint.all - checkpoint.left.len() as u64;
        if now < checkpoint.began + spread_time(interval, spec.spread, done, checkpoint.all) {
            return ProgramAction::Park;
        }
        let Some(from) = checkpoint.left.pop() else { return ProgramAction::Park };
        checkpoint.written = checkpoint.left.is_empty();
        ProgramAction::Call(Call::Write { file: self.data, from, bytes: spec.page, handle: spec.data_handle })
    }
}

/// Time from a checkpoint's start until `done` of `all` writes should be done, if they are spread over a percentage of
/// the interval between checkpoints.
fn spread_time(interval: Span, spread_percent: u32, done: u64, all: u64) -> Span {
    let nanos =
        u128::from(interval.nanos()) * u128::from(spread_percent) * u128::from(done) / (100 * u128::from(all.max(1)));
    Span::from_nanos(nanos as u64)
}

impl Program for Database {
    fn thread_count(&self) -> u16 {
        self.spec.clients + 1
    }

    fn next_action(&mut self, thread: u16, now: Instant, _: Option<&CallResult>, _: &System) -> ProgramAction {
        if thread == self.spec.clients {
            self.next_checkpoint_action(now)
        } else {
            self.next_client_action(usize::from(thread), now)
        }
    }
}
