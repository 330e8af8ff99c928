//! A request on its way to a disk, and the recipient of its answer.

use std::io;

use seekwise_disk::block::{SECTOR, Status};
use seekwise_disk::history::WriteData;
use seekwise_run::receipt::demand::DemandKind;

use crate::bytes::{Bytes, UnreadableSector};
use crate::nbd::wire::{self, NbdCommand, RequestHead, error};

/// A valid request: within the disk's bounds, of whole sectors.
#[derive(Debug)]
pub struct DiskRequest {
    /// Command, flags and range.
    pub head: RequestHead,
    /// Data to be written.
    pub data: Vec<u8>,
    /// Bytes of the first sector before these data. Bytes of the sectors that the data do not cover stay as they are.
    pub skip: u64,
    /// Recipient of the answer.
    pub reply_to: ReplyTo,
}

impl DiskRequest {
    /// Returns the data of all sectors of a write that covers its first or last sector in part, with the bytes that lie
    /// there now; `None` if its sectors are whole.
    pub(super) fn whole_sector_data(&self, bytes: &Bytes) -> Result<io::Result<Option<Vec<u8>>>, UnreadableSector> {
        let (length, written) = (self.head.length as usize, self.data.len());
        if self.head.command != NbdCommand::Write || written == length {
            return Ok(Ok(None));
        }
        let (data_start, sector) = (self.skip as usize, SECTOR as usize);
        let data_end = data_start + written;
        let mut whole = vec![0; length];
        for edge in [0..data_start.next_multiple_of(sector), data_end / sector * sector..length] {
            let lba = (self.head.offset + edge.start as u64) / SECTOR;
            if let Err(error) = bytes.read_into(lba, &mut whole[edge])? {
                return Ok(Err(error));
            }
        }
        whole[data_start..data_end].copy_from_slice(&self.data);
        Ok(Ok(Some(whole)))
    }
}

/// Recipient of an answer.
#[derive(Debug)]
pub enum ReplyTo {
    /// The client of this number.
    Client(u64),
    /// A caller within the program.
    Caller(Caller),
}

/// A caller within the program, answered once. Dropped without an answer, it is answered that the disk is shutting
/// down.
pub struct Caller(Option<AnswerCallback>);

/// The data read, or an error of the protocol.
pub type CallerAnswer = Result<Vec<u8>, u32>;

type AnswerCallback = Box<dyn FnOnce(CallerAnswer) + Send>;

impl Caller {
    /// Creates a caller whose answer `on_answer` receives.
    pub fn new(on_answer: impl FnOnce(CallerAnswer) + Send + 'static) -> Caller {
        Caller(Some(Box::new(on_answer)))
    }

    /// Delivers the answer.
    pub fn answer(mut self, answer: CallerAnswer) {
        if let Some(on_answer) = self.0.take() {
            on_answer(answer);
        }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if let Some(on_answer) = self.0.take() {
            on_answer(Err(error::SHUTDOWN));
        }
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caller")
    }
}

/// The kind under which a command is counted.
pub(super) fn request_kind(command: NbdCommand) -> Option<DemandKind> {
    match command {
        NbdCommand::Read => Some(DemandKind::Read),
        NbdCommand::Write | NbdCommand::WriteZeroes => Some(DemandKind::Write),
        NbdCommand::Flush => Some(DemandKind::Flush),
        _ => None,
    }
}

/// The protocol's error for a status of the device.
pub(super) fn nbd_error(status: Status) -> u32 {
    match status {
        Status::OutOfRange => error::NO_SPACE,
        Status::Unsupported => error::UNSUPPORTED,
        _ => error::IO,
    }
}

/// Returns the data of a write for these sectors; takes them from the request if they are all of its data.
pub(super) fn write_data(request: &mut DiskRequest, lba: u64, sectors: u64) -> WriteData {
    let from = ((lba - request.head.offset / SECTOR) * SECTOR) as usize;
    let length = (sectors * SECTOR) as usize;
    match request.head.command {
        NbdCommand::WriteZeroes => {
            WriteData::Zeroes { bytes: sectors * SECTOR, allocated: request.head.flags & wire::NO_HOLE != 0 }
        }
        _ if length == request.data.len() => WriteData::Bytes(std::mem::take(&mut request.data)),
        _ => WriteData::Bytes(request.data[from..from + length].to_vec()),
    }
}
