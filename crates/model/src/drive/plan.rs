//! Commands that are chosen before it is their turn, and then keep their order: firmware that works out its next few accesses
//! while the present one runs. With `firmware.ahead` of nothing a command is chosen when the medium is free for it. With more,
//! up to so many and one arrive and are served in order of arrival, and of a longer queue those that are left over compete for
//! the end of the plan, with where the arm and the platter will be then.
//!
//! A read that rides on a read-ahead in progress needs no positioning, and goes along though others are planned before it, as firmware
//! joins neighbours (inferred): streams beside one another stay streams. The limit of waiting holds for what it passes.
//!
//! Measured: a SpinPoint F1 gains nothing from four outstanding reads, little from eight, and no read of sixteen is done before
//! eight others (docs/published.md). What is planned is worked out anew at each choice, so a destage in between shifts
//! it, but does not change its order.

use super::Drive;
use super::mechanics::Arm;
use super::target::Target;
use crate::time::Instant;

impl Drive {
    /// Chooses, from `now` on, as many commands as the firmware knows before their turn.
    pub(super) fn plan(&mut self, now: Instant) {
        if !self.queue.lacks_plan() {
            return;
        }
        let (mut at, mut arm) = (now, self.medium.arm());
        for place in 0..self.queue.planned() {
            (at, arm) = self.after(at, arm, self.queue.planned_at(place));
        }
        while self.queue.lacks_plan() {
            let reach = self.medium.mechanics().reach_from(arm, at);
            let Some(chosen) = self.queue.choose_freely(now, u64::from(arm.cylinder), &reach) else { return };
            let target = self.queue.plan(chosen);
            (at, arm) = self.after(at, arm, &target);
        }
    }

    /// When, and where the arm is, as the access to `target` ends that begins at `at`.
    fn after(&self, at: Instant, arm: Arm, target: &Target) -> (Instant, Arm) {
        let command = &self.electronics[target.slot];
        let access = self.medium.access(at, arm, (target.write, command.request.end()), command.first, command.data);
        self.medium.after(&self.medium.sweep(&access))
    }
}
