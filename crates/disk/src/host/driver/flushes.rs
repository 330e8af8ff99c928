//! Shared flushes, as in Linux's `block/blk-flush.c`: while a flush command is under way, further flushes gather, and one
//! command serves all of them. Decides when a command begins and which flushes it serves; the driver sends it.
//!
//! The conditions have Linux's names:
//! - C1: one flush command at a time.
//! - C2: none begins while the data of forced writes that end in a flush are queued or below. One flush then serves all
//!   of these writes.
//! - C3: a flush that has waited for [`PENDING_TIMEOUT`] is not subject to C2.
//!
//! The served flushes are fixed when their command begins, which is not after it goes down. A flush that comes later may
//! cover writes that this command does not, so it waits for the next one.
//!
//! A flush command passes the scheduler. Above an ATA drive it goes down when nothing else is below. One waiting command
//! goes down between two flush commands: the first request that the drive refused during the flush is before the next
//! flush in Linux's dispatch list (`blk_mq_dispatch_rq_list` of `block/blk-mq.c`, `ata_qc_defer` of libata).

use alloc::vec::Vec;

use super::commands::{CommandStage, RequestPiece};
use super::{Driver, DriverContext};
use crate::block::{Flags, Op, Request};
use crate::record::Part;
use crate::time::{Instant, Span};

/// How long a flush waits for the data of forced writes (`FLUSH_PENDING_TIMEOUT`: 5 × HZ).
const PENDING_TIMEOUT: Span = Span::from_secs(5);

/// The flushes of a driver that shares them.
#[derive(Clone, Default)]
pub(super) struct SharedFlushes {
    /// Flushes that the command under way does not serve, in order of arrival.
    gathered: Vec<RequestPiece>,
    /// When they began to gather.
    since: Instant,
    /// The command under way: it waits to go down, or is below.
    command: Option<u32>,
    /// A waiting command goes down before the next flush command.
    pub yields: bool,
}

impl SharedFlushes {
    /// Adds a flush that waits for the next command.
    pub fn gather(&mut self, now: Instant, piece: RequestPiece) {
        if self.gathered.is_empty() {
            self.since = now;
        }
        self.gathered.push(piece);
    }

    /// True if a flush has not begun.
    pub(crate) fn has_gathered(&self) -> bool {
        !self.gathered.is_empty()
    }

    /// True if `number` is the flush command under way.
    pub(crate) fn is_under_way(&self, number: u32) -> bool {
        self.command == Some(number)
    }

    /// The end of the longest wait for forced writes; `FAR` if no flush waits for them.
    pub(crate) fn pending_timeout(&self) -> Instant {
        if self.command.is_none() && self.has_gathered() { self.since + PENDING_TIMEOUT } else { Instant::FAR }
    }

    /// Removes the gathered flush of a request.
    pub(crate) fn withdraw(&mut self, request_slot: u32) {
        self.gathered.retain(|piece| piece.request_slot != request_slot);
    }

    /// Forgets the command under way if it is `number`.
    pub(crate) fn forget_command(&mut self, number: u32) {
        self.command = self.command.filter(|&command| command != number);
    }
}

impl Driver {
    /// True if the request is a flush that others may share. A flush with a place in the order has a command of its own.
    pub(super) fn shares_flush(&self, request: &Request) -> bool {
        let has_place = request.flags.has(Flags::ORDERED) || request.flags.has(Flags::HEAD_OF_QUEUE);
        self.spec.share_flushes && request.op == Op::Flush && !has_place
    }

    /// The flush command that has not gone down.
    pub(super) fn unsent_flush(&self) -> Option<u32> {
        self.flushes.command.filter(|&number| self.commands.get(number).stage != CommandStage::Below)
    }

    /// Begins a command for the gathered flushes of one unit, if the conditions allow it.
    pub(super) fn begin_shared_flush(&mut self, context: &DriverContext, now: Instant) {
        if self.flushes.command.is_some() || !self.flushes.has_gathered() {
            return;
        }
        if now < self.flushes.since + PENDING_TIMEOUT && has_forced_data(context) {
            return;
        }
        let mut gathered = core::mem::take(&mut self.flushes.gathered);
        let first = context.slots[gathered[0].request_slot].request;
        let number = self.commands.add(first, gathered.remove(0));
        self.commands.get_mut(number).stage = CommandStage::Urgent;
        gathered.retain(|&piece| {
            let is_served = context.slots[piece.request_slot].request.unit == first.unit;
            if is_served {
                self.commands.append_piece(number, piece);
            }
            !is_served
        });
        self.flushes.gathered = gathered;
        self.flushes.command = Some(number);
    }

    /// Ends the flush command under way: the gathered flushes have waited for it.
    pub(super) fn end_shared_flush(&mut self, context: &mut DriverContext, now: Instant) {
        self.flushes.command = None;
        for piece in &self.flushes.gathered {
            context.slots[piece.request_slot].account_mut().ledger.book_until(Part::Flush, now);
        }
    }
}

/// True if the data of a write that ends in a flush are queued or below.
fn has_forced_data(context: &DriverContext) -> bool {
    context
        .unanswered_slots()
        .map(|slot| context.slots[slot].note)
        .any(|note| note.flush_follows && note.pieces_left > 0)
}
