//! A database: clients change pages in its memory and commit through a write-ahead log; from time to time a checkpoint
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
    /// How many clients, each with a thread.
    pub clients: u16,
    /// How many commits, over all clients.
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
    /// Computing for each transaction.
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
    /// Transactions begun.
    begun: u32,
    /// Clients that have not ended.
    busy: u32,
    /// Bytes of log made, and durable, since the beginning.
    made: u64,
    durable: u64,
    /// A client is writing the log up to here.
    writing: Option<u64>,
    /// The bytes of the log that were written last, and made durable last: the first, and how many.
    written: (u64, u64),
    rests: (u64, u64),
    dirty: BTreeSet<u64>,
    checkpoint: Checkpoint,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    stage: ClientStage,
    number: u32,
    /// The end of its log record.
    end: u64,
    /// When its last transaction ended.
    ended: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientStage {
    Idle,
    Paused,
    /// Reads pages: the number left.
    Look(u32),
    Compute,
    Log,
    Commit,
    Written,
    Synced,
    Done,
}

#[derive(Debug)]
struct Checkpoint {
    /// When the next checkpoint begins, counted from when it was first asked for; and when the last one began.
    due: Option<Instant>,
    began: Instant,
    /// The pages left to write, the last first, and how many there were.
    left: Vec<u64>,
    all: u64,
    /// All pages are written; they are being flushed.
    written: bool,
    flushing: bool,
}

pub(super) fn create_program(
    spec: &DatabaseSpec,
    place: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = place.create_directory(spec.volume)?;
    let data = place.place_file(directory, spec.bytes)?;
    let directory = place.create_directory(spec.log)?;
    let log = place.place_file(directory, spec.log_bytes)?;
    let client = Client { stage: ClientStage::Idle, number: 0, end: 0, ended: Instant::ZERO };
    Ok(Box::new(Database {
        spec: *spec,
        data,
        log,
        rng: place.named_rng("database"),
        clients: alloc::vec![client; usize::from(spec.clients)],
        begun: 0,
        busy: u32::from(spec.clients),
        made: 0,
        durable: 0,
        writing: None,
        written: (0, 0),
        rests: (0, 0),
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
    fn random_page(&mut self) -> u64 {
        self.rng.below((self.spec.bytes / self.spec.page).max(1)) * self.spec.page
    }

    fn client_action(&mut self, index: usize, now: Instant) -> ProgramAction {
        loop {
            let mut client = self.clients[index];
            let act = self.step_client(&mut client, now);
            self.clients[index] = client;
            if let Some(act) = act {
                return act;
            }
        }
    }

    /// A step of a client; `None` if it only moved to another stage.
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
                client.stage = ClientStage::Look(spec.reads);
                Some(ProgramAction::Began(client.number))
            }
            ClientStage::Look(0) => {
                client.stage = ClientStage::Compute;
                None
            }
            ClientStage::Look(left) => {
                client.stage = ClientStage::Look(left - 1);
                let (from, hit) = (self.random_page(), self.rng.draw_chance(spec.hits));
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
                self.made += spec.record;
                (client.end, client.stage) = (self.made, ClientStage::Commit);
                None
            }
            ClientStage::Commit if spec.group && self.durable >= client.end => {
                client.stage = ClientStage::Done;
                let (from, bytes) = self.rests;
                Some(ProgramAction::Relies(client.number, self.log, from, bytes))
            }
            ClientStage::Commit if self.writing.is_some() => Some(ProgramAction::Park),
            ClientStage::Commit => {
                let until = if spec.group { self.made } else { client.end.max(self.durable) };
                self.writing = Some(until);
                client.stage = ClientStage::Written;
                Some(ProgramAction::Call(self.log_write(until)))
            }
            ClientStage::Written => {
                client.stage = ClientStage::Synced;
                Some(ProgramAction::Call(Call::Sync(self.log, SyncScope::Data)))
            }
            ClientStage::Synced => {
                (self.durable, self.rests) = (self.writing.take().expect("it wrote"), self.written);
                client.stage = ClientStage::Done;
                None
            }
            ClientStage::Done => {
                (client.stage, client.ended) = (ClientStage::Idle, now);
                Some(ProgramAction::Ended(client.number))
            }
        }
    }

    /// Returns the write of the log's blocks from the durable end to `until`; at the log's beginning if it would pass
    /// its end.
    fn log_write(&mut self, until: u64) -> Call {
        let DatabaseSpec { log_block: block, log_bytes, log_handle: handle, .. } = self.spec;
        let first = self.durable / block * block;
        let bytes = (until.next_multiple_of(block) - first).clamp(block, log_bytes);
        let from = first % log_bytes;
        let from = if from + bytes > log_bytes { 0 } else { from };
        self.written = (from, bytes);
        Call::Write { file: self.log, from, bytes, handle }
    }

    /// Returns the next action of the checkpoint. While parked, it is asked again after each act of a client.
    fn checkpoint_action(&mut self, now: Instant) -> ProgramAction {
        let (spec, checkpoint) = (self.spec, &mut self.checkpoint);
        let Some(every) = spec.checkpoint else { return ProgramAction::Over };
        if core::mem::take(&mut checkpoint.flushing) {
            checkpoint.due = Some(now.max(checkpoint.began + every));
        }
        if core::mem::take(&mut checkpoint.written) {
            checkpoint.flushing = true;
            return ProgramAction::Call(Call::Sync(self.data, SyncScope::All));
        }
        if self.busy == 0 {
            return ProgramAction::Over;
        }
        if checkpoint.left.is_empty() {
            let due = *checkpoint.due.get_or_insert(now + every);
            if now < due || self.dirty.is_empty() {
                return ProgramAction::Park;
            }
            checkpoint.began = now;
            checkpoint.left.extend(core::mem::take(&mut self.dirty).into_iter().rev());
            checkpoint.all = checkpoint.left.len() as u64;
        }
        let done = checkpoint.all - checkpoint.left.len() as u64;
        if now < checkpoint.began + spread_time(every, spec.spread, done, checkpoint.all) {
            return ProgramAction::Park;
        }
        let Some(from) = checkpoint.left.pop() else { return ProgramAction::Park };
        checkpoint.written = checkpoint.left.is_empty();
        ProgramAction::Call(Call::Write { file: self.data, from, bytes: spec.page, handle: spec.data_handle })
    }
}

/// Time from a checkpoint's start until it has done `done` of `all` writes, if they are spread over `spread` per cent
/// of the time to the next.
fn spread_time(every: Span, spread: u32, done: u64, all: u64) -> Span {
    let nanos = u128::from(every.nanos()) * u128::from(spread) * u128::from(done) / (100 * u128::from(all.max(1)));
    Span::from_nanos(nanos as u64)
}

impl Program for Database {
    fn threads(&self) -> u16 {
        self.spec.clients + 1
    }

    fn next(&mut self, thread: u16, now: Instant, _: Option<&CallResult>, _: &System) -> ProgramAction {
        if thread == self.spec.clients {
            self.checkpoint_action(now)
        } else {
            self.client_action(usize::from(thread), now)
        }
    }
}
