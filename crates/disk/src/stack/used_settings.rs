//! Stacks that run alike, because they differ only in settings that a run did not use ([`SettingUse`]): one run then gives
//! the results of all.
//!
//! Every setting that a run may leave unused stands once, in [`UsedSettings::normalize_unused`], with the count that tells
//! whether it was used. A former run is found for another stack by two keys: the settings that it left unused, and the
//! values of the others. Both are equal for all stacks that run alike.

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

/// Selects the count that tells whether a setting was used.
type UseCount = fn(&SettingUse) -> u64;

/// Decides whether a setting is unused, from the count of its use and the least count at which the setting matters.
type UnusedTest<'a> = &'a mut dyn FnMut(UseCount, u64) -> bool;

impl Stack {
    /// True if a run that made this use of the settings of one stack is the same on the other, given the same work and seed.
    pub fn runs_alike(&self, other: &Stack, setting_use: &SettingUse) -> bool {
        self == other || self.normalize_unused(setting_use) == other.normalize_unused(setting_use)
    }

    /// The stack with all settings neutral that a run may leave unused. If these differ, no run of one is the same on the other.
    #[must_use]
    pub fn normalize_all(&self) -> Stack {
        self.normalize_unused(&SettingUse::NOTHING)
    }

    /// The settings that a run with this use left unused.
    pub fn unused_settings(&self, setting_use: &SettingUse) -> UnusedSettings {
        let mut are_unused = Vec::new();
        self.tracked_settings().normalize_unused(&mut |count, least| {
            are_unused.push(count(setting_use) < least);
            count(setting_use) < least
        });
        UnusedSettings(are_unused)
    }

    /// The settings, neutral where `unused` marks them. Stacks that run alike for such a run have equal ones.
    pub fn used_settings(&self, unused: &UnusedSettings) -> UsedSettings {
        let mut are_unused = unused.0.iter();
        // This stack may have more settings than the one of the run.
        self.tracked_settings().normalize_unused(&mut |_, _| are_unused.next().copied().unwrap_or(false))
    }

    /// The settings that a run may leave unused.
    fn tracked_settings(&self) -> UsedSettings {
        let firmware = &self.profile.firmware;
        let driver = |layer: &Layer| if let Layer::Driver(spec) = layer { Some(*spec) } else { None };
        UsedSettings {
            queue: firmware.queue,
            destage: firmware.destage,
            drivers: self.layers.iter().filter_map(driver).collect(),
        }
    }

    /// The stack with its unused settings neutral.
    fn normalize_unused(&self, setting_use: &SettingUse) -> Stack {
        let UsedSettings { queue, destage, drivers } =
            self.tracked_settings().normalize_unused(&mut |count, least| count(setting_use) < least);
        let mut stack = self.clone();
        (stack.profile.firmware.queue, stack.profile.firmware.destage) = (queue, destage);
        let specs =
            stack.layers.iter_mut().filter_map(|layer| if let Layer::Driver(spec) = layer { Some(spec) } else { None });
        specs.zip(drivers).for_each(|(spec, normalized)| *spec = normalized);
        stack
    }
}

impl UsedSettings {
    /// Makes each setting neutral that is unused.
    fn normalize_unused(self, is_unused: UnusedTest<'_>) -> UsedSettings {
        let mut normalize = |discipline: Discipline, count: UseCount| {
            discipline.normalize_unused(&mut |least| is_unused(count, u64::from(least)))
        };
        let queue = normalize(self.queue, |setting_use| u64::from(setting_use.commands));
        let destage = normalize(self.destage, |setting_use| u64::from(setting_use.dirty));
        let drivers = self.drivers.into_iter().map(|spec| normalize_driver(spec, is_unused)).collect();
        UsedSettings { queue, destage, drivers }
    }
}

/// Makes each setting of a driver neutral that is unused.
fn normalize_driver(spec: DriverSpec, is_unused: UnusedTest<'_>) -> DriverSpec {
    let depth_is_unused = is_unused(|setting_use| u64::from(setting_use.below), u64::from(spec.depth));
    let scheduler =
        match spec.scheduler {
            SchedulerSpec::Order(discipline) => SchedulerSpec::Order(discipline.normalize_unused(&mut |least| {
                is_unused(|setting_use| u64::from(setting_use.waiting), u64::from(least))
            })),
            other => other,
        };
    let timeout = spec.timeout.map_or(u64::MAX, |timeout| timeout.nanos());
    let timeout_is_unused = is_unused(|setting_use| setting_use.longest.nanos(), timeout);
    let retries_are_unused = is_unused(|setting_use| u64::from(setting_use.again), 1);
    DriverSpec {
        depth: if depth_is_unused { u32::MAX } else { spec.depth },
        scheduler,
        timeout: spec.timeout.filter(|_| !timeout_is_unused),
        retries: if retries_are_unused { 0 } else { spec.retries },
        ..spec
    }
}
