//! Commands that are chosen before their turn, and then keep their order: firmware that plans its next few accesses
//! while the present one runs. With `firmware.ahead` of 0 a command is chosen when the medium is free for it. With
//! more, up to `ahead` + 1 commands are served in order of arrival; the rest of a longer queue competes for the end of
//! the plan, from where the arm and the platter will be then.
//!
//! A read served by a read-ahead in progress needs no positioning and is served before planned ones, as firmware joins
//! neighbours (inferred): streams side by side stay streams. The wait limit of the commands that it passes still holds.
//!
//! Measured: a SpinPoint F1 gains nothing from four outstanding reads, little from eight, and no read of sixteen is
//! done before eight others (docs/published.md). The timing of the plan is computed anew at each choice, so a destage
//! in between shifts it, but does not change its order.

use super::Drive;
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
        for place in 0..self.queue.planned_count() {
            (at, arm) = self.state_after(at, arm, self.queue.planned_target(place));
        }
        while self.queue.must_plan_more() {
            let reach = self.medium.mechanics().positioning_costs(arm, at);
            let Some(chosen) = self.queue.choose_unplanned(now, u64::from(arm.cylinder), &reach) else { return };
            let target = self.queue.append_to_plan(chosen);
            (at, arm) = self.state_after(at, arm, &target);
        }
    }

    /// Instant and arm position at which another access may follow the one to `target` that begins at `at`.
    fn state_after(&self, at: Instant, arm: Arm, target: &Target) -> (Instant, Arm) {
        let command = &self.electronics[target.slot];
        let access =
            self.medium.plan_access(at, arm, (target.write, command.request.end()), command.first, command.data);
        self.medium.state_after(&self.medium.access_timing(&access))
    }
}
