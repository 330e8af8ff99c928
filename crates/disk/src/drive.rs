//! The drive: a [`Device`] that joins its parts, and keeps the [contract](crate::block): what is due, when, and in
//! which order. Contents of blocks and power-up time are not modelled.
//!
//! Parts, each of which knows only its own state:
//!
//! | part | state |
//! |---|---|
//! | `electronics` | commands in flight: decoding, order constraints, completion times |
//! | `queuing` | commands that wait for the medium |
//! | `link` | when data and commands cross the interface |
//! | `cache`, with `dirty_segments` and `segment_store` | cached blocks, dirty blocks, memory of each segment |
//! | `segmentation` | the division of an adaptive buffer |
//! | `promises` | which writes are acknowledged from the buffer, and what a cut costs |
//! | `write_back` | the order of destages, and the commands that wait for them |
//! | `media_cache` | the contents of the media cache |
//! | `medium` | arm, platter, the access in progress |
//! | `landings` | reports on written blocks |
//!
//! Actions of the whole drive, without state:
//!
//! | file | what it does |
//! |---|---|
//! | `firmware` | handles each instant |
//! | `reads`, `read_ahead`, `read_ahead_hits`, `writes` | serve commands |
//! | `access_choice`, `tentative_access`, `plan`, `staging` | choose the next access |
//! | `fast_path` | serves a read that has the drive to itself |
//! | `power` | handles power, reset and abort |
//!
//! The way of a command:
//!
//! ```text
//!  submit -> electronics (overhead) -> buffer hit? ----------------------------> link -> completion
//!                                       | miss                                     ^
//!                                       v                                          |
//!                                     queue -> arm, platter (one access at a time) -+-> prefetch, destage
//! ```

pub mod access;
mod access_choice;
pub mod cache;
mod command;
mod dirty_blocks;
mod dirty_segments;
mod electronics;
mod fast_path;
mod firmware;
pub mod geometry;
mod landings;
mod link;
pub mod mechanics;
mod media_cache;
mod medium;
pub mod movement;
mod piece;
mod plan;
mod power;
pub mod profile;
mod promises;
mod queuing;
mod read_ahead;
mod read_ahead_hits;
mod reads;
pub mod recovery;
mod segment_store;
pub mod segmentation;
mod staging;
pub mod stream;
mod target;
mod tentative_access;
mod write_back;
mod writes;

use alloc::boxed::Box;

use self::cache::Buffer;
use self::electronics::Electronics;
use self::geometry::Geometry;
use self::landings::Landings;
use self::link::Link;
use self::mechanics::Mechanics;
use self::media_cache::MediaCache;
use self::medium::Medium;
use self::movement::{MovementListener, MovementLog};
use self::profile::Profile;
use self::promises::Promises;
use self::queuing::Candidates;
use self::segmentation::Segmentation;
use self::tentative_access::TentativeAccess;
use self::write_back::WriteBack;
use crate::block::setting_use::SettingUse;
use crate::block::{Completion, Control, ControlError, Device, DeviceProgress, Landing, Limits, Request};
use crate::record::{DriveLog, SyncCounts};
use crate::time::Instant;

/// A drive, built from a checked [`Profile`].
#[derive(Clone)]
pub struct Drive {
    /// Commands in flight.
    electronics: Electronics,
    /// Commands that wait for the medium.
    queue: Candidates,
    link: Link,
    buffer: Buffer,
    /// Set if the buffer is adaptive.
    segmentation: Option<Segmentation>,
    /// Rules of acknowledgement and durability of the buffer.
    promises: Promises,
    /// Order of destages, and the commands that wait for them.
    write_back: WriteBack,
    media_cache: Option<MediaCache>,
    medium: Medium,
    /// Access that is chosen but may still be revised.
    tentative: Option<TentativeAccess>,
    landings: Landings,
    power: DrivePower,
    /// Instant of the next event, or `FAR`.
    next: Instant,
    /// Instant to which the drive has advanced.
    clock: Instant,
    /// Block after the last of the last command received.
    ended: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DrivePower {
    On,
    /// Finishes its commands and destages before it switches off.
    Stopping,
    Off,
}

impl Drive {
    /// Returns an idle drive, its platter turned by `phase` (a share of a revolution in 64 bits) at time 0. Panics when
    /// [`Profile::check`] fails.
    pub fn new(profile: Profile, phase: u64) -> Drive {
        if let Err(error) = profile.check() {
            panic!("profile {}: {} must be {}", profile.name, error.field, error.expected);
        }
        let (cache, firmware) = (profile.cache, profile.firmware);
        let electronics = Electronics::new(firmware, profile.overhead, profile.link.queuing, cache.wraps);
        let max_commands = electronics.slot_count();
        Drive {
            queue: Candidates::new(firmware.queue, firmware.ahead, max_commands),
            electronics,
            link: Link::new(profile.link, firmware.depth),
            buffer: Buffer::from_spec(&cache),
            segmentation: cache.adaptive.map(|adaptive| Segmentation::new(adaptive, cache.segments)),
            promises: Promises::new(&profile),
            write_back: WriteBack::new(&cache, &firmware, max_commands),
            media_cache: cache.media_cache.as_ref().map(MediaCache::new),
            medium: Medium::new(profile, phase),
            tentative: None,
            landings: Landings::default(),
            power: DrivePower::On,
            next: Instant::FAR,
            clock: Instant::ZERO,
            ended: 0,
        }
    }

    /// Layout of the blocks.
    pub fn geometry(&self) -> &Geometry {
        self.medium.geometry()
    }

    /// Spindle and arm.
    pub fn mechanics(&self) -> &Mechanics {
        self.medium.mechanics()
    }

    /// Records arm movements in `movements`, as drive number `drive`.
    pub(crate) fn record_movements(&mut self, drive: u32, movements: MovementLog) {
        self.medium.set_listener(MovementListener { drive, movements });
    }

    /// Advances the drive to `now`: handles all that is due by then, each event at its own instant.
    #[inline]
    fn advance_to(&mut self, now: Instant) {
        assert!(now >= self.clock, "time ran back");
        if self.next <= now {
            self.handle_events_until(now, false);
        }
        self.clock = now;
    }

    /// Handles all that is due by `until`. With `stop_at_completion` it ends after the first instant that leaves a
    /// completion ready.
    #[inline(never)]
    fn handle_events_until(&mut self, until: Instant, stop_at_completion: bool) {
        while self.next <= until && self.next != Instant::FAR {
            let at = self.next;
            self.clock = at;
            self.handle_due(at);
            self.next = self.next_event();
            if stop_at_completion && self.electronics.has_ready() && self.next > at {
                return;
            }
        }
    }

    /// When to call the drive next: at `now` if a completion can be polled, else at the next event.
    #[inline]
    fn next_call_at(&self, now: Instant) -> Instant {
        if self.electronics.has_ready() { now } else { self.next }
    }

    /// Instant of the next event, or `FAR`.
    fn next_event(&self) -> Instant {
        let next = self.electronics.next_event();
        match self.medium.current_timing() {
            Some(timing) => next.min(timing.end),
            None => self.next_choice_at().map_or(next, |at| next.min(at)),
        }
    }
}

impl Device for Drive {
    fn limits(&self, _unit: u8) -> Limits {
        let link = self.link.spec();
        Limits {
            sectors: self.medium.sectors(),
            logical: 512,
            physical: self.medium.physical_sector_bytes(),
            max_transfer: link.max_transfer,
            optimal_transfer: 0,
            depth: self.electronics.depth(),
            fua: link.fua,
            volatile_cache: self.promises.states_volatile_cache(self.buffer.dirty_count() > 0),
            queuing: link.queuing,
            computes: false,
        }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.advance_to(now);
        let Some(slot) = self.electronics.take_slot() else {
            return Err(request);
        };
        let decoded = self.accept_command(now, slot, request);
        // Without a pending event, the decoding of this command is the next one.
        self.next = if self.next == Instant::FAR { decoded } else { self.next_event() };
        self.advance_to(now);
        Ok(self.next_call_at(now))
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.advance_to(now);
        let done = self.execute_control(now, control);
        self.next = self.next_event();
        self.advance_to(now);
        done
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        (self.next != Instant::FAR).then_some(self.next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.advance_to(now);
    }

    #[inline]
    fn poll_completion(&mut self) -> Option<Completion> {
        self.electronics.pop_ready()
    }

    fn drive_log(&self) -> DriveLog {
        let (seeks, reversals) = self.medium.seek_counts();
        DriveLog {
            flushes: self.electronics.flush_count(),
            seeks,
            reversals,
            bitmap_writes: 0,
            syncs: SyncCounts::default(),
        }
    }

    fn setting_use(&self, _now: Instant) -> SettingUse {
        SettingUse { commands: self.queue.max_competing(), dirty: self.write_back.max_queued(), ..SettingUse::NOTHING }
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_landing()
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.report_unsettled(report_stamp);
    }

    /// The copy records no arm movements.
    fn fork(&self) -> Option<Box<dyn Device>> {
        let mut copy = self.clone();
        copy.medium.remove_listener();
        Some(Box::new(copy))
    }

    #[inline]
    fn can_run_alone(&self, request: &Request) -> bool {
        self.can_serve_without_slot(request)
    }

    #[inline]
    fn run_alone(&mut self, now: Instant, request: &Request, until: Instant, answer: &mut Completion) -> bool {
        self.serve_without_slot(now, request, until, answer)
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        if !self.electronics.has_ready()
            && let Some((slot, finished)) = self.serve_lone_read(until)
        {
            self.electronics[slot].fill_completion(finished, answer);
            return DeviceProgress { answered: true, next: self.next };
        }
        if !self.electronics.has_ready() {
            self.handle_events_until(until, true);
        }
        match self.electronics.pop_ready_into(answer) {
            true => DeviceProgress { answered: true, next: self.next_call_at(answer.finished) },
            false => DeviceProgress { answered: false, next: self.next },
        }
    }
}
