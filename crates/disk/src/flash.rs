//! A USB flash stick with constant access times. Each request costs the time of a command and the time of its bytes,
//! whatever its address and whatever came before.
//!
//! The stick serves one command at a time, as USB's bulk-only transport does. A write is acknowledged when it is in the
//! flash, so nothing is volatile and a flush has nothing to do. A write ended by a power cut, a reset or an abort
//! leaves no trace: writes are atomic here, though a real stick may have programmed some of the pages. Erasing, wear
//! and the state that earlier writes left are not modelled; a write's time covers them in the mean.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::block::setting::LayerSetting;
use crate::block::setting_use::SettingUse;
use crate::block::{
    Completion, Control, ControlError, Device, Landing, LandingKind, Limits, Op, Queuing, Request, SECTOR, Status,
};
use crate::record::{DriveLog, Effort, Ledger, Part, Parts};
use crate::time::{Instant, Rate, Span};

/// The description of a stick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlashSpec {
    /// Capacity in sectors.
    pub sectors: u64,
    /// The largest request in sectors.
    pub largest: u32,
    /// Command time of a read, without its bytes.
    pub read: Span,
    /// Command time of a write, without its bytes.
    pub write: Span,
    /// In bytes a second.
    pub read_rate: u64,
    /// In bytes a second.
    pub write_rate: u64,
}

impl FlashSpec {
    /// Returns the capabilities of the device.
    pub fn limits(&self) -> Limits {
        Limits {
            sectors: self.sectors,
            logical: SECTOR as u32,
            physical: SECTOR as u32,
            max_transfer: self.largest,
            optimal_transfer: 0,
            depth: 1,
            fua: false,
            volatile_cache: false,
            queuing: Queuing::None,
            computes: false,
        }
    }
}

/// The two parts of a request's time.
struct ServiceTimes {
    command: Span,
    data: Span,
}

/// A flash stick.
#[derive(Clone)]
pub struct Flash {
    spec: FlashSpec,
    reads: Rate,
    writes: Rate,
    /// The command in flight, with its time booked ahead up to its end.
    busy: Option<(Request, Ledger)>,
    on: bool,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
    landings_wanted: bool,
}

impl Flash {
    /// A stick with the power on.
    pub fn new(spec: FlashSpec) -> Flash {
        Flash {
            reads: Rate::new(spec.read_rate),
            writes: Rate::new(spec.write_rate),
            spec,
            busy: None,
            on: true,
            ready: VecDeque::new(),
            landings: VecDeque::new(),
            landings_wanted: false,
        }
    }

    /// `None` if `request` is neither a read nor a write.
    fn service_times(&self, request: &Request) -> Option<ServiceTimes> {
        let bytes = u64::from(request.sectors) * SECTOR;
        match request.op {
            Op::Read => Some(ServiceTimes { command: self.spec.read, data: self.reads.transfer_time(bytes) }),
            Op::Write => Some(ServiceTimes { command: self.spec.write, data: self.writes.transfer_time(bytes) }),
            _ => None,
        }
    }

    /// Returns the status of a request that ends at once, without reaching the flash.
    fn immediate_status(&self, request: &Request) -> Option<Status> {
        match request.op {
            _ if !self.on => Some(Status::PowerLost),
            Op::Flush => Some(Status::Done),
            Op::Read | Op::Write => (request.end() > self.spec.sectors).then_some(Status::OutOfRange),
            Op::WriteZeroes | Op::Trim | Op::Compute => Some(Status::Unsupported),
        }
    }

    /// Ends the command in flight, if there is one, at `now`, before it is done.
    fn break_off_command(&mut self, now: Instant, status: Status) {
        if let Some((request, mut ledger)) = self.busy.take() {
            ledger.close_at(Part::Overhead, now);
            self.push_completion(&request, &ledger, status);
        }
    }

    fn push_completion(&mut self, request: &Request, ledger: &Ledger, status: Status) {
        self.ready.push_back(Completion {
            tag: request.tag,
            status,
            submitted: ledger.start(),
            finished: ledger.booked_until(),
            parts: ledger.parts(),
            effort: Effort::COMMAND,
        });
    }
}

impl Device for Flash {
    fn limits(&self, _: u8) -> Limits {
        self.spec.limits()
    }

    fn setting_use(&self, _: Instant) -> SettingUse {
        SettingUse::NOTHING
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        if self.busy.is_some() {
            return Err(request);
        }
        if let Some(status) = self.immediate_status(&request) {
            let (tag, parts, effort) = (request.tag, Parts::default(), Effort::default());
            self.ready.push_back(Completion { tag, status, submitted: now, finished: now, parts, effort });
            return Ok(now);
        }
        let ServiceTimes { command, data } = self.service_times(&request).expect("a read or a write");
        let mut ledger = Ledger::open(now);
        ledger.book_until(Part::Overhead, now + command);
        ledger.book_until(Part::Transfer, now + command + data);
        self.busy = Some((request, ledger));
        self.handle_timeout(now);
        Ok(self.poll_timeout().unwrap_or(now))
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.handle_timeout(now);
        match *control {
            Control::PowerCut => {
                self.on = false;
                self.break_off_command(now, Status::PowerLost);
            }
            // The command in flight still completes.
            Control::PowerOff => self.on = false,
            Control::PowerOn => self.on = true,
            Control::Reset => self.break_off_command(now, Status::Aborted),
            Control::Abort(tag) if self.busy.is_some_and(|(request, _)| request.tag == tag) => {
                self.break_off_command(now, Status::Aborted);
            }
            Control::Abort(_) => return Err(ControlError::UnknownTag),
            Control::Set(LayerSetting::Landings(on)) => self.landings_wanted = on,
            Control::Set(_) => return Err(ControlError::UnknownKey),
        }
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.busy.map(|(_, ledger)| ledger.booked_until())
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some((request, ledger)) = self.busy
            && ledger.booked_until() <= now
        {
            self.busy = None;
            if request.op == Op::Write && self.landings_wanted {
                let (run, end) = ((request.lba, request.sectors), ledger.booked_until());
                self.landings.push_back(Landing::new(run, request.stamp, (end, end), LandingKind::Landed));
            }
            self.push_completion(&request, &ledger, Status::Done);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.landings.pop_front()
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.busy.iter().for_each(|(request, _)| report_stamp(request.stamp));
        self.landings.iter().for_each(|landing| report_stamp(landing.stamp));
    }

    /// Empty: a log counts what hard disks do.
    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }

    fn fork(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Flags;

    #[test]
    fn a_request_takes_a_command_and_its_bytes_wherever_it_lies() {
        let (read, write) = (Span::from_micros(700), Span::from_millis(3));
        let spec =
            FlashSpec { sectors: 1 << 20, largest: 128, read, write, read_rate: 16_000_000, write_rate: 8_000_000 };
        let mut stick = Flash::new(spec);
        let request =
            |op, lba| Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors: 125, stamp: 1 };
        let mut now = Instant::ZERO;
        // 64,000 bytes are 4 ms at 16 MB/s and 8 ms at 8 MB/s.
        for (op, lba, micros) in [(Op::Read, 0, 4_700), (Op::Write, 900_000, 11_000), (Op::Read, 7, 4_700)] {
            stick.submit(now, request(op, lba)).expect("room");
            assert_eq!(stick.submit(now, request(op, lba)), Err(request(op, lba)), "one at a time");
            let done = stick.proceed(Instant::FAR).expect("an answer");
            assert_eq!((done.status, done.finished.since(now)), (Status::Done, Span::from_micros(micros)));
            now = done.finished;
        }
    }
}
