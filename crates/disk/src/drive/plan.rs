//! Firmware that plans its next few accesses while the present one runs: the *plan* is a list of commands that are
//! chosen before their turn, and keep their order. With `firmware.ahead` of 0 there is none: a command is chosen when
//! the medium is free for it. Otherwise up to `ahead` + 1 commands are served in order of arrival. The rest of a longer
//! queue competes for the end of the plan, from where arm and platter will be then.
//!
//! A read served by a read-ahead in progress needs no positioning and is served before planned commands. (Inferred:
//! firmware joins neighbours, so that streams side by side stay streams.) The wait limit of the commands that it passes
//! still holds.
//!
//! Measured: a SpinPoint F1 gains nothing from four outstanding reads, little from eight, and no read of sixteen is
//! done before eight others (docs/published.md). The timing of the plan is computed anew at each choice, so a destage
//! in between shifts it, but does not change its order.

use super::Drive;
use super::access::AccessBlocks;
use super::mechanics::Arm;
use super::target::Target;
use crate::time::Instant;

impl Drive {
    /// Plans as many commands, from `now` on, as the firmware does before their turn.
    pub(super) fn plan_commands(&mut self, now: Instant) {
        if !self.queue.must_plan_more() {
            return;
        }
        let (mut at, mut arm) = (now, self.medium.arm());
        for index in 0..self.queue.planned_count() {
            (at, arm) = self.state_after(at, arm, self.queue.planned_target(index));
        }
        while self.queue.must_plan_more() {
            let costs = self.medium.mechanics().positioning_costs(arm, at);
            let Some(chosen) = self.queue.choose_unplanned(now, u64::from(arm.cylinder), &costs) else { return };
            let target = self.queue.append_to_plan(chosen);
            (at, arm) = self.state_after(at, arm, &target);
        }
    }

    /// When another access may be chosen after the one to `target` that starts at `start`, and where the arm is then.
    fn state_after(&self, start: Instant, arm: Arm, target: &Target) -> (Instant, Arm) {
        let command = &self.electronics[target.slot];
        let blocks = AccessBlocks { write: target.write, first: command.first, end: command.request.end() };
        let access = self.medium.plan_access(start, arm, blocks, command.data);
        self.medium.state_after(&self.medium.access_timing(&access))
    }
}
