//! One access to the medium: the arm goes to a run of blocks and the blocks pass, track after track. No queue, no
//! cache; what an access is for is the firmware's affair.
//!
//! ```text
//!  start                                                                              end
//!  | seek | settle | rotation | transfer | head switch or seek | rotation (skew) | transfer |
//! ```

use super::geometry::{Extent, Geometry};
use super::mechanics::{Arm, Mechanics};
use crate::record::{Ledger, Part};
use crate::time::{Instant, Span};

/// What is to pass under the heads.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// When the arm starts.
    pub start: Instant,
    /// Where it starts.
    pub from: Arm,
    /// Where the first block is, and what follows it on its track.
    pub first: Extent,
    /// Blocks.
    pub sectors: u32,
    /// Writing settles longer.
    pub write: bool,
    /// Data to write are there only from this instant.
    pub data_at: Instant,
    /// Reading may begin with any wanted block of a track.
    pub zero_latency: bool,
    /// So many blocks, from the first on, are in the buffer before the link takes any.
    pub lead: u32,
    /// A write that begins, or ends, inside a physical sector of which the drive does not know the rest: it reads the
    /// sector, and writes it when it comes round again.
    pub rereads: (bool, bool),
    /// Its first block passes once before the head is safely on track.
    pub late: bool,
    /// Each track's part of a write is read back when it comes round again.
    pub verify: bool,
}

/// One extent of an access, with its instants.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The blocks.
    pub extent: Extent,
    /// Arm movement or head switch.
    pub seek: Span,
    /// Extra settling.
    pub settle: Span,
    /// Waiting for the host's data.
    pub data: Span,
    /// Waiting for the first block, and for what a zero-latency read leaves out.
    pub rotation: Span,
    /// Wanted blocks passing.
    pub transfer: Span,
    /// When the first block begins to pass; with zero latency perhaps after others.
    pub first: Instant,
    /// When the last has passed.
    pub end: Instant,
    /// Until they have passed once more, to be verified.
    pub verified: Span,
}

impl Pass {
    /// When the next may follow.
    #[inline]
    pub fn over(&self) -> Instant {
        self.end + self.verified
    }

    /// When the first block begins to pass, for passes that run from first to last.
    pub fn begin(&self) -> Instant {
        Instant::from_nanos(self.end.nanos() - self.transfer.nanos())
    }

    /// When its first `lead` blocks have passed.
    #[inline]
    fn led(&self, mechanics: &Mechanics, lead: u32) -> Instant {
        (self.first + mechanics.turn(self.extent.slot.wrapping_mul(u64::from(lead)))).min(self.end)
    }
}

/// An access in sum.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    /// When the first of its blocks, as many as the link waits for, are in the buffer.
    pub led: Instant,
    /// When all has passed.
    pub end: Instant,
    /// Where the arm is then.
    pub arm: Arm,
    seek: Span,
    settle: Span,
    data: Span,
    rotation: Span,
    transfer: Span,
}

impl Sweep {
    /// One pass, of which nothing is led yet.
    #[inline]
    fn of(pass: &Pass) -> Sweep {
        Sweep {
            led: Instant::FAR,
            end: pass.over(),
            arm: Arm { cylinder: pass.extent.cylinder, head: pass.extent.head },
            seek: pass.seek,
            settle: pass.settle,
            data: pass.data,
            rotation: pass.rotation + pass.verified,
            transfer: pass.transfer,
        }
    }

    /// Blocks are read again and again for so long: whole revolutions.
    pub fn try_again(&mut self, span: Span) {
        self.rotation += span;
        self.end += span;
    }

    /// The stretches of a read: seek, rotation, transfer.
    #[inline(always)]
    pub fn of_read(&self) -> [Span; 3] {
        [self.seek, self.rotation, self.transfer]
    }

    /// Writes the access into the account of the request it serves.
    #[inline]
    pub fn charge(&self, ledger: &mut Ledger) {
        let mut at = ledger.mark();
        for (part, span) in [
            (Part::Seek, self.seek),
            (Part::Settle, self.settle),
            (Part::Link, self.data),
            (Part::Rotation, self.rotation),
            (Part::Transfer, self.transfer),
        ] {
            at += span;
            ledger.until(part, at);
        }
    }
}

impl Access {
    /// First block.
    pub fn lba(&self) -> u64 {
        self.first.lba
    }

    /// The first block after the last.
    pub fn end(&self) -> u64 {
        self.first.lba + u64::from(self.sectors)
    }

    /// The passes, first to last.
    pub fn passes<'a>(&'a self, geometry: &'a Geometry, mechanics: &'a Mechanics) -> Passes<'a> {
        let (at, arm, left) = (self.start, self.from, self.sectors);
        Passes { geometry, mechanics, access: self, at, arm, left, lba: self.first.lba, track: Some(self.first) }
    }

    /// All passes in sum.
    #[inline(always)]
    pub fn sweep(&self, geometry: &Geometry, mechanics: &Mechanics) -> Sweep {
        match self.sectors <= self.first.sectors {
            true => self.sweep_track(mechanics),
            false => self.sweep_tracks(geometry, mechanics),
        }
    }

    /// The same, if one track has all of it.
    #[inline(always)]
    pub fn sweep_track(&self, mechanics: &Mechanics) -> Sweep {
        let pass = self.pass(mechanics, self.start, self.from, Extent { sectors: self.sectors, ..self.first });
        Sweep { led: pass.led(mechanics, self.lead.min(self.sectors)), ..Sweep::of(&pass) }
    }

    #[inline(never)]
    fn sweep_tracks(&self, geometry: &Geometry, mechanics: &Mechanics) -> Sweep {
        let mut lead = self.lead.min(self.sectors);
        let mut sum: Option<Sweep> = None;
        for pass in self.passes(geometry, mechanics) {
            let mut sweep = Sweep::of(&pass);
            if let Some(before) = sum {
                sweep.led = before.led;
                sweep.seek += before.seek;
                sweep.settle += before.settle;
                sweep.data += before.data;
                sweep.rotation += before.rotation;
                sweep.transfer += before.transfer;
            }
            if lead > 0 && lead <= pass.extent.sectors {
                sweep.led = pass.led(mechanics, lead);
            }
            lead = lead.saturating_sub(pass.extent.sectors);
            sum = Some(sweep);
        }
        sum.expect("an access has blocks")
    }

    /// The pass of `extent`, the arm being at `arm` from `at` on.
    #[inline(always)]
    fn pass(&self, mechanics: &Mechanics, at: Instant, arm: Arm, extent: Extent) -> Pass {
        let place = mechanics.position(at, arm, &extent, self.write);
        let settled = at + place.seek + place.settle;
        let data = self.data_at.saturating_since(settled);
        let ready = settled + data;
        let transfer = mechanics.transfer(&extent);
        let mut rotation = if data > Span::ZERO { mechanics.wait(ready, extent.angle) } else { place.rotation };
        let first = ready + rotation;
        if self.zero_latency {
            rotation = rotation.min(mechanics.revolution().saturating_sub(transfer));
        }
        if self.rereads != (false, false) && self.comes_round(&extent) {
            rotation += mechanics.revolution();
        }
        if self.late && extent.lba == self.lba() {
            rotation += mechanics.revolution();
        }
        let end = ready + rotation + transfer;
        let verified = if self.verify { mechanics.revolution() } else { Span::ZERO };
        Pass { extent, seek: place.seek, settle: place.settle, data, rotation, transfer, first, end, verified }
    }

    /// This part of a write is read before it is written. Both of its ends are read in one turn.
    fn comes_round(&self, extent: &Extent) -> bool {
        (self.rereads.0 && extent.lba == self.lba()) || (self.rereads.1 && extent.end() == self.end())
    }

    /// Writes the access into `ledger` as far as it went by `now`.
    pub fn charge_until(&self, now: Instant, geometry: &Geometry, mechanics: &Mechanics, ledger: &mut Ledger) {
        let mut at = self.start;
        for pass in self.passes(geometry, mechanics) {
            for (part, span) in [
                (Part::Seek, pass.seek),
                (Part::Settle, pass.settle),
                (Part::Link, pass.data),
                (Part::Rotation, pass.rotation),
                (Part::Transfer, pass.transfer),
                (Part::Rotation, pass.verified),
            ] {
                at += span;
                ledger.until(part, at.min(now));
            }
            if at >= now {
                return;
            }
        }
    }
}

/// The passes of an access.
pub struct Passes<'a> {
    geometry: &'a Geometry,
    mechanics: &'a Mechanics,
    access: &'a Access,
    at: Instant,
    arm: Arm,
    /// The next block, and its track from there where that is known.
    lba: u64,
    track: Option<Extent>,
    left: u32,
}

impl Iterator for Passes<'_> {
    type Item = Pass;

    #[inline(always)]
    fn next(&mut self) -> Option<Pass> {
        if self.left == 0 {
            return None;
        }
        let track = self.track.unwrap_or_else(|| self.geometry.extent(self.lba, u32::MAX));
        let (extent, rest) = track.split(self.left);
        let pass = self.access.pass(self.mechanics, self.at, self.arm, extent);
        self.at = pass.over();
        self.arm = Arm { cylinder: extent.cylinder, head: extent.head };
        self.lba = extent.end();
        self.track = rest;
        self.left -= extent.sectors;
        Some(pass)
    }
}
