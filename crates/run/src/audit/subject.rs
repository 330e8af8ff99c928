//! Devices that an audit asks: how a device is asked and waited for, and a modelled stack in virtual time.

use seekwise_disk::block::{Completion, Device, Flags, Op, Request, SECTOR, Status};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};

use super::{AREA, AuditAction, AuditInterval, AuditSubject, BLOCK};

/// Sectors of a block.
const SECTORS: u32 = (BLOCK / SECTOR) as u32;

/// The request for an action.
fn action_request(act: AuditAction, block: u64, tag: u32, stamp: u64) -> Request {
    let (op, flags) = match act {
        AuditAction::Read => (Op::Read, Flags::NONE),
        AuditAction::Write => (Op::Write, Flags::NONE),
        AuditAction::Force => (Op::Write, Flags::FUA),
        AuditAction::Flush => (Op::Flush, Flags::NONE),
    };
    let (lba, sectors) = if act == AuditAction::Flush { (0, 0) } else { (block * u64::from(SECTORS), SECTORS) };
    Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp }
}

/// The times of a completion; an error if it is not done.
fn to_interval(completion: &Completion) -> Result<AuditInterval, String> {
    match completion.status {
        Status::Done => Ok(AuditInterval { from: completion.submitted, to: completion.finished }),
        other => Err(format!("a request failed: {other}")),
    }
}

/// How a device is asked and waited for.
pub trait RequestWaiter {
    /// The device that is asked.
    fn device(&mut self) -> &mut dyn Device;
    /// The present, in its time.
    fn now(&self) -> Instant;
    /// Until something may have come.
    fn wait(&mut self) -> Result<(), String>;
    /// The stamp of the next request.
    fn next_stamp(&mut self) -> u64;
}

/// Submits all of these at once and waits for them; returns the answers in the order of the actions. An action for
/// which the device has no room is submitted after an answer, and has waited since `from`.
pub(crate) fn perform_all(
    subject: &mut dyn RequestWaiter,
    acts: &[(AuditAction, u64)],
) -> Result<Vec<AuditInterval>, String> {
    let from = subject.now();
    let mut answers: Vec<Option<AuditInterval>> = vec![None; acts.len()];
    let mut asked = 0;
    while answers.iter().any(Option::is_none) {
        while asked < acts.len() {
            let (act, block) = acts[asked];
            let (now, stamp) = (subject.now(), subject.next_stamp());
            if subject.device().submit(now, action_request(act, block, asked as u32, stamp)).is_err() {
                break;
            }
            asked += 1;
        }
        let mut came = false;
        while let Some(completion) = subject.device().poll_completion() {
            answers[completion.tag as usize] = Some(AuditInterval { from, ..to_interval(&completion)? });
            came = true;
        }
        if !came {
            subject.wait()?;
        }
    }
    Ok(answers.into_iter().flatten().collect())
}

/// Performs one action; a forced write takes two where the disk has no command for it.
pub fn perform_one(subject: &mut dyn RequestWaiter, act: AuditAction, block: u64) -> Result<AuditInterval, String> {
    if act == AuditAction::Force && !subject.device().limits(0).fua {
        let write = perform_all(subject, &[(AuditAction::Write, block)])?[0];
        let flush = perform_all(subject, &[(AuditAction::Flush, 0)])?[0];
        return Ok(AuditInterval { from: write.from, to: flush.to });
    }
    Ok(perform_all(subject, &[(act, block)])?[0])
}

/// A flush and reads of these blocks at once. The flush, then the reads.
pub fn flush_with_reads(
    subject: &mut dyn RequestWaiter,
    reads: &[u64],
) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
    let reads = reads.iter().map(|&block| (AuditAction::Read, block));
    let acts: Vec<(AuditAction, u64)> = std::iter::once((AuditAction::Flush, 0)).chain(reads).collect();
    let mut took = perform_all(subject, &acts)?;
    let reads = took.split_off(1);
    Ok((took[0], reads))
}

/// Blocks of a device of so many sectors that an audit may write.
pub fn audited_blocks(sectors: u64) -> u64 {
    (sectors / u64::from(SECTORS)).min(AREA / BLOCK)
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
    /// The device that is asked.
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
        audited_blocks(self.device.limits(0).sectors)
    }

    fn has_forced_writes(&self) -> Option<bool> {
        Some(self.device.limits(0).fua)
    }

    fn path_time(&self) -> Span {
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

    fn perform(&mut self, act: AuditAction, block: u64) -> Result<AuditInterval, String> {
        perform_one(self, act, block)
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        flush_with_reads(self, reads)
    }
}
