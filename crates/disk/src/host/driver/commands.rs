//! The commands of a driver, and the pieces of requests in each. A request is cut into pieces if it is too large for one
//! command; a command has several pieces if requests were merged.
//!
//! A command has a number while it waits or is below. The pieces of a command are contiguous on the device.

use alloc::vec::Vec;

use crate::block::Request;
use crate::slab::Slab;
use crate::time::Instant;

/// No piece.
const NONE: u32 = u32::MAX;

/// A part of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestPiece {
    pub request_slot: u32,
    /// The first sector.
    pub lba: u64,
    pub sectors: u32,
    /// The request's stamp.
    pub stamp: u64,
    /// How many commands with it have timed out.
    pub timeouts: u32,
    /// The index of the next piece of the same command.
    next: u32,
}

impl RequestPiece {
    /// A part of the request in `request_slot`.
    pub fn new(request_slot: u32, lba: u64, sectors: u32, stamp: u64) -> RequestPiece {
        RequestPiece { request_slot, lba, sectors, stamp, timeouts: 0, next: NONE }
    }
}

/// Where a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandStage {
    /// The number is free.
    Free,
    /// With the scheduler.
    Waiting,
    /// At the head of the queue.
    Urgent,
    /// With the device.
    Below,
}

/// A command to the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriverCommand {
    /// As it goes down; its tag is assigned then.
    pub request: Request,
    pub stage: CommandStage,
    /// When it went down.
    pub sent: Instant,
    /// The first of its pieces; most commands have no other.
    first: RequestPiece,
    /// The index of the last of the other pieces.
    last: u32,
}

/// All commands, by number.
#[derive(Clone)]
pub(super) struct DriverCommands {
    commands: Slab<DriverCommand>,
    /// All pieces except the first of each command.
    pieces: Slab<RequestPiece>,
}

impl DriverCommands {
    /// Room for `capacity` commands before it grows.
    pub fn with_capacity(capacity: usize) -> DriverCommands {
        DriverCommands { commands: Slab::with_capacity(capacity), pieces: Slab::with_capacity(0) }
    }

    /// Adds a command of one piece; returns its number.
    pub fn add(&mut self, request: Request, piece: RequestPiece) -> u32 {
        let first = RequestPiece { next: NONE, ..piece };
        self.commands.put(DriverCommand {
            request,
            stage: CommandStage::Waiting,
            sent: Instant::ZERO,
            first,
            last: NONE,
        })
    }

    /// The command with a number.
    pub fn get(&self, number: u32) -> &DriverCommand {
        &self.commands[number]
    }

    /// The command with a number, to change.
    pub fn get_mut(&mut self, number: u32) -> &mut DriverCommand {
        &mut self.commands[number]
    }

    /// The numbers of the commands in use that hold a piece of the request in `request_slot`.
    pub(crate) fn numbers_for_request(&self, request_slot: u32) -> Vec<u32> {
        let holds = |&number: &u32| {
            let command = self.get(number);
            command.stage != CommandStage::Free
                && self.pieces_of(number).any(|piece| piece.request_slot == request_slot)
        };
        (0..self.commands.places_ever_used()).filter(holds).collect()
    }

    /// The pieces of a command, by rising address.
    pub(crate) fn pieces_of(&self, number: u32) -> impl Iterator<Item = RequestPiece> {
        core::iter::successors(Some(self.get(number).first), |piece| {
            (piece.next != NONE).then(|| self.pieces[piece.next])
        })
    }

    /// Counts a time-out of a command for each of its pieces.
    pub(crate) fn count_timeout(&mut self, number: u32) {
        let first = &mut self.get_mut(number).first;
        first.timeouts += 1;
        let mut next = first.next;
        while next != NONE {
            self.pieces[next].timeouts += 1;
            next = self.pieces[next].next;
        }
    }

    /// Appends a piece that begins where the command ends. The command takes the request's stamp if it is larger.
    pub(crate) fn append_piece(&mut self, number: u32, piece: RequestPiece) {
        let place = self.pieces.put(RequestPiece { next: NONE, ..piece });
        let command = &mut self.commands[number];
        match command.last {
            NONE => command.first.next = place,
            last => self.pieces[last].next = place,
        }
        command.last = place;
        command.request.sectors += piece.sectors;
        command.request.stamp = command.request.stamp.max(piece.stamp);
    }

    /// Prepends a piece that ends where the command begins. The command takes the request's stamp if it is larger.
    pub(crate) fn prepend_piece(&mut self, number: u32, piece: RequestPiece) {
        let place = self.pieces.put(self.get(number).first);
        let command = self.get_mut(number);
        if command.last == NONE {
            command.last = place;
        }
        command.first = RequestPiece { next: place, ..piece };
        command.request.lba = piece.lba;
        command.request.sectors += piece.sectors;
        command.request.stamp = command.request.stamp.max(piece.stamp);
    }

    /// The first piece of a command. [`DriverCommands::take_next_piece`] takes the others out.
    #[inline]
    pub(crate) fn first_piece(&self, number: u32) -> RequestPiece {
        self.get(number).first
    }

    /// Takes the piece that follows `piece` out of their command.
    #[inline]
    pub(crate) fn take_next_piece(&mut self, piece: &RequestPiece) -> Option<RequestPiece> {
        (piece.next != NONE).then(|| {
            self.pieces.free(piece.next);
            self.pieces[piece.next]
        })
    }

    /// Frees the number of a command whose other pieces are all taken out.
    #[inline]
    pub(crate) fn free_number(&mut self, number: u32) {
        self.commands[number].stage = CommandStage::Free;
        self.commands.free(number);
    }
}
