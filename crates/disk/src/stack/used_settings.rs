//! Stacks that run alike, because they differ only in settings that a run did not use ([`SettingUse`]).
//!
//! Every setting that a run may leave unused stands once, in [`UsedSettings::normalize_unused`], with the count that says whether it
//! was used. A run is found again for another stack by which settings it left unused, and by the values of the others: both
//! are equal for all stacks that run alike.

use alloc::vec::Vec;

use super::{Layer, Stack};
use crate::block::setting_use::SettingUse;
use crate::host::driver::{DriverSpec, SchedulerSpec};
use crate::queue::Discipline;

/// The parts of a stack with settings that a run may leave unused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsedSettings {
    queue: Discipline,
    destage: Discipline,
    drivers: Vec<DriverSpec>,
}

/// Which of these settings a run left unused, in the order of the stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnusedSettings(Vec<bool>);

/// Selects the count that says whether a setting was used.
type UseCount = fn(&SettingUse) -> u64;

impl Stack {
    /// True if a run that made this use of the settings of one stack is the same on the other, given the same work and seed.
    pub fn runs_alike(&self, other: &Stack, asked: &SettingUse) -> bool {
        self == other || self.normalize_unused(asked) == other.normalize_unused(asked)
    }

    /// The stack with all settings neutral that a run may leave unused. If these differ, no run of one is the same on the other.
    #[must_use]
    pub fn normalize_all(&self) -> Stack {
        self.normalize_unused(&SettingUse::NOTHING)
    }

    /// The settings that a run with this use left unused.
    pub fn unused_settings(&self, asked: &SettingUse) -> UnusedSettings {
        let mut all = Vec::new();
        self.all_settings().normalize_unused(&mut |count, from| {
            all.push(count(asked) < from);
            count(asked) < from
        });
        UnusedSettings(all)
    }

    /// The settings, neutral where `open` marks them as unused. Stacks that run alike for such a run have equal ones.
    pub fn used_settings(&self, open: &UnusedSettings) -> UsedSettings {
        let mut all = open.0.iter();
        // Another stack may have more settings.
        self.all_settings().normalize_unused(&mut |_, _| all.next().copied().unwrap_or(false))
    }

    fn all_settings(&self) -> UsedSettings {
        let firmware = &self.profile.firmware;
        let driver = |layer: &Layer| if let Layer::Driver(spec) = layer { Some(*spec) } else { None };
        UsedSettings {
            queue: firmware.queue,
            destage: firmware.destage,
            drivers: self.layers.iter().filter_map(driver).collect(),
        }
    }

    /// The stack with its unused settings neutral.
    fn normalize_unused(&self, asked: &SettingUse) -> Stack {
        let UsedSettings { queue, destage, drivers } =
            self.all_settings().normalize_unused(&mut |count, from| count(asked) < from);
        let mut stack = self.clone();
        (stack.profile.firmware.queue, stack.profile.firmware.destage) = (queue, destage);
        let specs =
            stack.layers.iter_mut().filter_map(|it| if let Layer::Driver(spec) = it { Some(spec) } else { None });
        specs.zip(drivers).for_each(|(spec, open)| *spec = open);
        stack
    }
}

impl UsedSettings {
    /// Makes each setting neutral for which `open` is true of the count of its use, and of the least count at which it
    /// matters.
    fn normalize_unused(self, open: &mut dyn FnMut(UseCount, u64) -> bool) -> UsedSettings {
        let mut order = |of: Discipline, count: UseCount| of.normalize_unused(&mut |from| open(count, u64::from(from)));
        let queue = order(self.queue, |asked| u64::from(asked.commands));
        let destage = order(self.destage, |asked| u64::from(asked.dirty));
        let drivers = self.drivers.into_iter().map(|spec| normalize_driver(spec, open)).collect();
        UsedSettings { queue, destage, drivers }
    }
}

fn normalize_driver(spec: DriverSpec, open: &mut dyn FnMut(UseCount, u64) -> bool) -> DriverSpec {
    let depth = open(|asked| u64::from(asked.below), u64::from(spec.depth));
    let scheduler = match spec.scheduler {
        SchedulerSpec::Order(discipline) => SchedulerSpec::Order(
            discipline.normalize_unused(&mut |from| open(|asked| u64::from(asked.waiting), u64::from(from))),
        ),
        other => other,
    };
    let timeout = open(|asked| asked.longest.nanos(), spec.timeout.map_or(u64::MAX, |timeout| timeout.nanos()));
    let retries = open(|asked| u64::from(asked.again), 1);
    DriverSpec {
        depth: if depth { u32::MAX } else { spec.depth },
        scheduler,
        timeout: spec.timeout.filter(|_| !timeout),
        retries: if retries { 0 } else { spec.retries },
        ..spec
    }
}
