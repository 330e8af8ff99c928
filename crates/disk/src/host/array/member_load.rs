//! Counts what the members do: each command that has ended, by its purpose, and the time with a command in flight.
//! Requests that the array has completed are counted beside them, so that bytes at the members can be compared with bytes
//! of the requests.

use super::portions::MemberCommand;
use super::{Array, ArrayMember};
use crate::block::array_load::{ArrayLoad, LoadCurve, MemberWork};
use crate::block::{Completion, Request, Status};
use crate::record::Effort;
use crate::time::Instant;

/// Nothing done yet by this many members.
pub(super) fn no_load(members: u32) -> ArrayLoad {
    ArrayLoad { requests: LoadCurve::default(), members: alloc::vec![LoadCurve::default(); members as usize] }
}

/// Counts a command of a request if it is a read that the request's write needed first.
pub(super) fn count_read_before_write(effort: &mut Effort, work: MemberWork) {
    match work {
        MemberWork::ModifyRead => effort.modify_reads = effort.modify_reads.saturating_add(1),
        MemberWork::ReconstructRead => effort.reconstruct_reads = effort.reconstruct_reads.saturating_add(1),
        MemberWork::User | MemberWork::Sync | MemberWork::Bitmap => {}
    }
}

impl ArrayMember {
    /// Counts a command as in flight.
    pub(super) fn note_sent(&mut self, now: Instant) {
        if self.in_flight == 0 {
            self.busy_since = now;
        }
        self.in_flight += 1;
    }
}

impl Array {
    /// Counts a command that is back. One that failed or was aborted has moved no data, but it kept the member busy.
    pub(super) fn count_returned_command(&mut self, command: &MemberCommand, completion: &Completion) {
        let at = completion.finished;
        let member = &mut self.members[command.member as usize];
        let load = &mut self.load.members[command.member as usize];
        member.in_flight -= 1;
        if member.in_flight == 0 {
            load.count_busy_time(member.busy_since, at);
        }
        if completion.status == Status::Done {
            load.count_command(command.work, command.op, command.sectors, completion.submitted, at);
        }
    }

    /// Counts a request that the array accepted at `since` and answers at `now`.
    pub(super) fn count_answer(&mut self, since: Instant, now: Instant, request: &Request, status: Status) {
        if status == Status::Done {
            self.load.requests.count_command(MemberWork::User, request.op, request.sectors, since, now);
        }
    }

    /// The counts until `now`, with the time of commands still in flight.
    pub(super) fn load_until(&self, now: Instant) -> ArrayLoad {
        let mut load = self.load.clone();
        load.requests.extend_to(now);
        for (member, load) in self.members.iter().zip(&mut load.members) {
            load.extend_to(now);
            if member.in_flight > 0 {
                load.count_busy_time(member.busy_since, now);
            }
        }
        load
    }
}
