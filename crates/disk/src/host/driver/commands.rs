//! The commands of a driver, and the pieces of requests in each.
//!
//! A command has a number while it waits or is below; its pieces are contiguous on the device.

use alloc::vec::Vec;

use crate::block::Request;
use crate::slab::Slab;
use crate::time::Instant;

/// No piece.
const NONE: u32 = u32::MAX;

/// A part of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestPiece {
    /// The request's number.
    pub parent: u32,
    /// The first sector.
    pub lba: u64,
    pub sectors: u32,
    /// The request's stamp.
    pub stamp: u64,
    /// How many commands with it have timed out.
    pub tries: u32,
    /// The next piece of the same command.
    next: u32,
}

impl RequestPiece {
    /// A part of the request `parent`.
    pub fn new(parent: u32, lba: u64, sectors: u32, stamp: u64) -> RequestPiece {
        RequestPiece { parent, lba, sectors, stamp, tries: 0, next: NONE }
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
    /// The first of its pieces; most have no other.
    first: RequestPiece,
    /// The last of the others.
    last: u32,
}

/// All commands.
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

    /// The numbers of the commands in use that hold a piece of `parent`.
    pub(crate) fn numbers_for_request(&self, parent: u32) -> Vec<u32> {
        let holds = |&number: &u32| {
            let command = self.get(number);
            command.stage != CommandStage::Free && self.pieces_of(number).any(|piece| piece.parent == parent)
        };
        (0..self.commands.places_ever_used()).filter(holds).collect()
    }

    /// The pieces of a command, by rising address.
    pub(crate) fn pieces_of(&self, number: u32) -> impl Iterator<Item = RequestPiece> {
        core::iter::successors(Some(self.get(number).first), |piece| {
            (piece.next != NONE).then(|| self.pieces[piece.next])
        })
    }

    /// Counts another time-out of a command for its pieces.
    pub(crate) fn count_timeout(&mut self, number: u32) {
        let first = &mut self.get_mut(number).first;
        first.tries += 1;
        let mut next = first.next;
        while next != NONE {
            self.pieces[next].tries += 1;
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

    /// The first piece of a command whose pieces separate; [`DriverCommands::take_next_piece`] returns the others.
    #[inline]
    pub(crate) fn first_piece(&self, number: u32) -> RequestPiece {
        self.get(number).first
    }

    /// Takes the piece after `piece` out of its command.
    #[inline]
    pub(crate) fn take_next_piece(&mut self, piece: &RequestPiece) -> Option<RequestPiece> {
        (piece.next != NONE).then(|| {
            self.pieces.free(piece.next);
            self.pieces[piece.next]
        })
    }

    /// Frees the number once all pieces are out.
    #[inline]
    pub(crate) fn free_number(&mut self, number: u32) {
        self.commands[number].stage = CommandStage::Free;
        self.commands.free(number);
    }
}
