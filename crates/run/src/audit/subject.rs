//! How an audit's requests reach a device, and the modelled stack in virtual time as a subject of an audit. Real disks
//! are in `os/audit`.

use seekwise_disk::block::{Completion, Device, Flags, Op, Request, SECTOR, Status};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};

use super::{AREA, AuditAction, AuditInterval, AuditSubject, BLOCK};

/// Sectors of a block.
const SECTORS: u32 = (BLOCK / SECTOR) as u32;

/// The request for an action.
fn action_request(action: AuditAction, block: u64, tag: u32, stamp: u64) -> Request {
    let (op, flags) = match action {
        AuditAction::Read => (Op::Read, Flags::NONE),
        AuditAction::Write => (Op::Write, Flags::NONE),
        AuditAction::Force => (Op::Write, Flags::FUA),
        AuditAction::Flush => (Op::Flush, Flags::NONE),
    };
    let (lba, sectors) = if action == AuditAction::Flush { (0, 0) } else { (block * u64::from(SECTORS), SECTORS) };
    Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp }
}

/// The times of a completed request; an error if it failed.
fn completed_interval(completion: &Completion) -> Result<AuditInterval, String> {
    match completion.status {
        Status::Done => Ok(AuditInterval { from: completion.submitted, to: completion.finished }),
        other => Err(format!("a request failed: {other}")),
    }
}

/// A device whose completions can be waited for.
pub trait RequestWaiter {
    /// The device.
    fn device(&mut self) -> &mut dyn Device;
    /// The present instant, in the device's time.
    fn now(&self) -> Instant;
    /// Waits until a completion may be ready.
    fn wait(&mut self) -> Result<(), String>;
    /// The stamp of the next request.
    fn next_stamp(&mut self) -> u64;
}

/// Submits all actions at once and waits for them. Returns their times in the order of `actions`, counted from the
/// call: an action for which the device had no room is submitted after an answer.
pub(crate) fn perform_together(
    subject: &mut dyn RequestWaiter,
    actions: &[(AuditAction, u64)],
) -> Result<Vec<AuditInterval>, String> {
    let from = subject.now();
    let mut answers: Vec<Option<AuditInterval>> = vec![None; actions.len()];
    let mut submitted = 0;
    while answers.iter().any(Option::is_none) {
        while submitted < actions.len() {
            let (action, block) = actions[submitted];
            let (now, stamp) = (subject.now(), subject.next_stamp());
            if subject.device().submit(now, action_request(action, block, submitted as u32, stamp)).is_err() {
                break;
            }
            submitted += 1;
        }
        let mut completed = false;
        while let Some(completion) = subject.device().poll_completion() {
            answers[completion.tag as usize] = Some(AuditInterval { from, ..completed_interval(&completion)? });
            completed = true;
        }
        if !completed {
            subject.wait()?;
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Performs one action. A forced write is a write and a flush if the disk has no command for it.
pub fn perform_one(subject: &mut dyn RequestWaiter, action: AuditAction, block: u64) -> Result<AuditInterval, String> {
    if action == AuditAction::Force && !subject.device().limits(0).fua {
        let write = perform_together(subject, &[(AuditAction::Write, block)])?[0];
        let flush = perform_together(subject, &[(AuditAction::Flush, 0)])?[0];
        return Ok(AuditInterval { from: write.from, to: flush.to });
    }
    Ok(perform_together(subject, &[(action, block)])?[0])
}

/// Submits a flush and reads of `read_blocks` at once. Returns the times of the flush, then of the reads.
pub fn flush_with_reads(
    subject: &mut dyn RequestWaiter,
    read_blocks: &[u64],
) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
    let reads = read_blocks.iter().map(|&block| (AuditAction::Read, block));
    let actions: Vec<(AuditAction, u64)> = std::iter::once((AuditAction::Flush, 0)).chain(reads).collect();
    let mut intervals = perform_together(subject, &actions)?;
    let reads = intervals.split_off(1);
    Ok((intervals[0], reads))
}

/// Number of blocks that an audit may write on a device of `device_sectors` sectors.
pub fn audit_block_count(device_sectors: u64) -> u64 {
    (device_sectors / u64::from(SECTORS)).min(AREA / BLOCK)
}

/// A modelled stack in virtual time.
pub struct ModelledStack {
    device: Box<dyn Device>,
    now: Instant,
    stamp: u64,
}

impl ModelledStack {
    /// The stack as it is when it is switched on.
    pub fn new(stack: &Stack, seed: Seed) -> ModelledStack {
        ModelledStack { device: stack.build(seed), now: Instant::ZERO, stamp: 0 }
    }
}

impl RequestWaiter for ModelledStack {
    fn device(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn wait(&mut self) -> Result<(), String> {
        let next = self.device.poll_timeout().ok_or("the model stopped short; please report this stack")?;
        self.now = next;
        self.device.handle_timeout(next);
        Ok(())
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }
}

impl AuditSubject for ModelledStack {
    fn block_count(&self) -> u64 {
        audit_block_count(self.device.limits(0).sectors)
    }

    fn has_forced_writes(&self) -> Option<bool> {
        Some(self.device.limits(0).fua)
    }

    fn round_trip_time(&self) -> Span {
        Span::ZERO
    }

    fn pause_for(&mut self, span: Span) -> Result<(), String> {
        let until = self.now + span;
        while let Some(next) = self.device.poll_timeout().filter(|&next| next <= until) {
            self.device.handle_timeout(next);
        }
        self.now = until;
        self.device.handle_timeout(until);
        Ok(())
    }

    fn perform(&mut self, action: AuditAction, block: u64) -> Result<AuditInterval, String> {
        perform_one(self, action, block)
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        flush_with_reads(self, reads)
    }
}
