//! An access to the medium: the arm moves to a run of blocks, which pass under the head track after track. From its
//! start follow all its times. `medium` carries accesses out, and knows their purpose.
//!
//! ```text
//!  start                                                                              end
//!  | seek | settle | rotation | transfer | head switch or seek | rotation (skew) | transfer |
//! ```
//!
//! A *pass* is the part of an access on one track.

use super::geometry::{Extent, Geometry};
use super::mechanics::{Arm, Mechanics, Positioning};
use crate::record::{Ledger, Part};
use crate::time::{Instant, Span};

/// The blocks of an access: from the first block of `first` on, up to block `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessBlocks {
    pub(super) write: bool,
    /// First block, and those that follow it on its track.
    pub(super) first: Extent,
    /// Block after the last.
    pub(super) end: u64,
}

/// Blocks to read or write, and how.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// When the arm starts.
    pub start: Instant,
    /// Where the arm starts.
    pub from: Arm,
    /// First block, and those that follow it on its track.
    pub first: Extent,
    /// Number of blocks.
    pub sectors: u32,
    /// Writes settle longer.
    pub write: bool,
    /// Earliest instant at which a write may begin.
    pub data_at: Instant,
    /// Reading may begin with any wanted block of a track.
    pub zero_latency: bool,
    /// Blocks, from the first on, that are in the buffer before the link starts.
    pub lead_sectors: u32,
    /// The ends at which a write must read before it writes.
    pub edge_reads: EdgeReads,
    /// The head settles too late for the first pass of the first block.
    pub late: bool,
    /// Each track's part of a write is read back in the next revolution.
    pub verify: bool,
}

/// The ends of a write at which it covers only part of a physical sector whose rest is unknown. The drive reads the
/// sector, and writes it a revolution later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeReads {
    pub start: bool,
    pub end: bool,
}

impl EdgeReads {
    /// No read before the write.
    pub const NONE: EdgeReads = EdgeReads { start: false, end: false };
}

/// The part of an access on one track, with its timing.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The blocks that pass.
    pub extent: Extent,
    /// Arm movement or head switch.
    pub seek: Span,
    /// Extra settling.
    pub settle: Span,
    /// Wait for the host's data.
    pub data: Span,
    /// Rotational delay, extra revolutions included.
    pub rotation: Span,
    /// Time in which the wanted blocks pass.
    pub transfer: Span,
    /// When the first block begins to pass; with zero latency perhaps after others.
    pub first: Instant,
    /// When the last block has passed.
    pub end: Instant,
    /// Extra revolution to verify the blocks.
    pub verified: Span,
}

impl Pass {
    /// When the next pass may start.
    #[inline]
    pub(crate) fn next_start(&self) -> Instant {
        self.end + self.verified
    }

    /// When the first block begins to pass, if blocks pass from first to last.
    pub(crate) fn transfer_start(&self) -> Instant {
        Instant::from_nanos(self.end.nanos() - self.transfer.nanos())
    }

    /// When the first `lead_sectors` blocks have passed.
    #[inline]
    fn lead_end(&self, mechanics: &Mechanics, lead_sectors: u32) -> Instant {
        (self.first + mechanics.turning_time(self.extent.slot.wrapping_mul(u64::from(lead_sectors)))).min(self.end)
    }
}

/// Timing of a whole access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessTiming {
    /// When the lead sectors have passed: as many blocks are in the buffer as the link waits for.
    pub led: Instant,
    /// When all blocks have passed.
    pub end: Instant,
    /// Where the arm is at the end.
    pub arm: Arm,
    seek: Span,
    settle: Span,
    data: Span,
    rotation: Span,
    transfer: Span,
}

impl AccessTiming {
    /// Timing of a single pass, without `led`.
    #[inline]
    fn from_pass(pass: &Pass) -> AccessTiming {
        AccessTiming {
            led: Instant::FAR,
            end: pass.next_start(),
            arm: Arm { cylinder: pass.extent.cylinder, head: pass.extent.head },
            seek: pass.seek,
            settle: pass.settle,
            data: pass.data,
            rotation: pass.rotation + pass.verified,
            transfer: pass.transfer,
        }
    }

    /// Adds retries of a read, which take `span`, in whole revolutions.
    pub(crate) fn add_retries(&mut self, span: Span) {
        self.rotation += span;
        self.end += span;
    }

    /// Times of a read: seek, rotation, transfer.
    #[inline(always)]
    pub fn read_parts(&self) -> [Span; 3] {
        [self.seek, self.rotation, self.transfer]
    }

    /// Books the access in the ledger of the request it serves.
    #[inline]
    pub(crate) fn charge_ledger(&self, ledger: &mut Ledger) {
        let mut at = ledger.booked_until();
        for (part, span) in [
            (Part::Seek, self.seek),
            (Part::Settle, self.settle),
            (Part::Link, self.data),
            (Part::Rotation, self.rotation),
            (Part::Transfer, self.transfer),
        ] {
            at += span;
            ledger.book_until(part, at);
        }
    }
}

impl Access {
    /// First block.
    pub fn lba(&self) -> u64 {
        self.first.lba
    }

    /// Block after the last.
    pub fn end(&self) -> u64 {
        self.first.lba + u64::from(self.sectors)
    }

    /// Passes, first to last.
    pub fn passes<'a>(&'a self, geometry: &'a Geometry, mechanics: &'a Mechanics) -> Passes<'a> {
        Passes {
            geometry,
            mechanics,
            access: self,
            start: self.start,
            arm: self.from,
            lba: self.first.lba,
            track_rest: Some(self.first),
            sectors_left: self.sectors,
        }
    }

    /// Timing of all passes together.
    #[inline(always)]
    pub(crate) fn total_timing(&self, geometry: &Geometry, mechanics: &Mechanics) -> AccessTiming {
        match self.sectors <= self.first.sectors {
            true => self.single_track_timing(mechanics),
            false => self.multi_track_timing(geometry, mechanics),
        }
    }

    /// Timing of an access that fits on one track.
    #[inline(always)]
    pub(crate) fn single_track_timing(&self, mechanics: &Mechanics) -> AccessTiming {
        let pass = self.extent_pass(mechanics, self.start, self.from, Extent { sectors: self.sectors, ..self.first });
        let led = pass.lead_end(mechanics, self.lead_sectors.min(self.sectors));
        AccessTiming { led, ..AccessTiming::from_pass(&pass) }
    }

    #[inline(never)]
    fn multi_track_timing(&self, geometry: &Geometry, mechanics: &Mechanics) -> AccessTiming {
        let mut lead_left = self.lead_sectors.min(self.sectors);
        let mut sum: Option<AccessTiming> = None;
        for pass in self.passes(geometry, mechanics) {
            let mut timing = AccessTiming::from_pass(&pass);
            if let Some(before) = sum {
                timing.led = before.led;
                timing.seek += before.seek;
                timing.settle += before.settle;
                timing.data += before.data;
                timing.rotation += before.rotation;
                timing.transfer += before.transfer;
            }
            if lead_left > 0 && lead_left <= pass.extent.sectors {
                timing.led = pass.lead_end(mechanics, lead_left);
            }
            lead_left = lead_left.saturating_sub(pass.extent.sectors);
            sum = Some(timing);
        }
        sum.expect("an access has blocks")
    }

    /// Pass of `extent`, if the arm starts from `arm` at `start`.
    #[inline(always)]
    fn extent_pass(&self, mechanics: &Mechanics, start: Instant, arm: Arm, extent: Extent) -> Pass {
        let positioning = mechanics.positioning(start, arm, &extent, self.write);
        let settled = start + positioning.seek + positioning.settle;
        let data = self.data_at.saturating_since(settled);
        let ready = settled + data;
        let transfer = mechanics.transfer_time(&extent);
        let mut rotation =
            if data > Span::ZERO { mechanics.rotation_wait(ready, extent.angle) } else { positioning.rotation };
        let first = ready + rotation;
        if self.zero_latency {
            rotation = rotation.min(mechanics.revolution().saturating_sub(transfer));
        }
        if self.edge_reads != EdgeReads::NONE && self.is_read_before_write(&extent) {
            rotation += mechanics.revolution();
        }
        if self.late && extent.lba == self.lba() {
            rotation += mechanics.revolution();
        }
        let end = ready + rotation + transfer;
        let verified = if self.verify { mechanics.revolution() } else { Span::ZERO };
        let Positioning { seek, settle, .. } = positioning;
        Pass { extent, seek, settle, data, rotation, transfer, first, end, verified }
    }

    /// True if this extent of a write is read before it is written. A single revolution serves both ends.
    fn is_read_before_write(&self, extent: &Extent) -> bool {
        (self.edge_reads.start && extent.lba == self.lba()) || (self.edge_reads.end && extent.end() == self.end())
    }

    /// Books the access in `ledger` as far as it went by `now`.
    pub(crate) fn charge_until(&self, now: Instant, geometry: &Geometry, mechanics: &Mechanics, ledger: &mut Ledger) {
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
                ledger.book_until(part, at.min(now));
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
    /// Start of the next pass, and where the arm is then.
    start: Instant,
    arm: Arm,
    /// Next block.
    lba: u64,
    /// The rest of its track, if known.
    track_rest: Option<Extent>,
    sectors_left: u32,
}

impl Iterator for Passes<'_> {
    type Item = Pass;

    #[inline(always)]
    fn next(&mut self) -> Option<Pass> {
        if self.sectors_left == 0 {
            return None;
        }
        let track = self.track_rest.unwrap_or_else(|| self.geometry.extent(self.lba, u32::MAX));
        let (extent, rest) = track.split(self.sectors_left);
        let pass = self.access.extent_pass(self.mechanics, self.start, self.arm, extent);
        self.start = pass.next_start();
        self.arm = Arm { cylinder: extent.cylinder, head: extent.head };
        self.lba = extent.end();
        self.track_rest = rest;
        self.sectors_left -= extent.sectors;
        Some(pass)
    }
}
