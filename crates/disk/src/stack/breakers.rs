//! The levels of a stack that break a promise of durability, for every judge of power cuts. The specification of each
//! level lists the promises that its settings break. This module decides which of them matter in a stack, at any time of
//! a run: a level that drops flushes is harmless above devices that lose nothing at a cut.
//!
//! Whether a run lost any data, its observers decide.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Layer, Stack, number_layers};
use crate::block::Control;
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::{ArraySetting, LayerSetting};
use crate::drive::profile::Profile;
use crate::host::driver::FlushPolicy;

/// A level of a stack that breaks an assurance, and the setting that does it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromiseBreaker {
    /// The level's name in keys: `drive`, or a layer's name.
    pub level: String,
    /// The setting, as a dotted key of the stack.
    pub setting: String,
    /// As in a stack file.
    pub value: String,
    pub breaks: Assurance,
}

impl Stack {
    /// The levels whose settings break a promise, at the beginning or after any change, the highest first. If there are
    /// none, no promised data are lost; nor are any once the levels named here have honest settings.
    pub fn promise_breakers(&self) -> Vec<PromiseBreaker> {
        let stacks = self.stacks_after_changes();
        let ever_caches = stacks.iter().any(|stack| stack.profile.cache.write_back);
        let mut found: Vec<PromiseBreaker> = Vec::new();
        for stack in &stacks {
            for breaker in stack.breakers_of_fixed_stack(ever_caches) {
                if !found.contains(&breaker) {
                    found.push(breaker);
                }
            }
        }
        found
    }

    /// The stack at the beginning and after each change, with fixed settings.
    fn stacks_after_changes(&self) -> Vec<Stack> {
        let mut stacks = alloc::vec![Stack { changes: Vec::new(), ..self.clone() }];
        for change in &self.changes {
            let mut stack = stacks[stacks.len() - 1].clone();
            if let Control::Set(setting) = change.control {
                stack.change_promise_setting(setting);
            }
            stacks.push(stack);
        }
        stacks
    }

    /// Changes a setting that may break a promise; other changes have no effect.
    fn change_promise_setting(&mut self, change: LayerSetting) {
        if let LayerSetting::WriteBack(on) = change {
            self.profile.cache.write_back = on;
        }
        let numbers = number_layers(&self.layers);
        for (layer, layer_number) in self.layers.iter_mut().zip(numbers) {
            match (layer, change) {
                (Layer::Driver(spec), LayerSetting::Driver { number, setting }) if number == layer_number => {
                    spec.change_setting_except_depth(setting);
                }
                (Layer::Accelerator(spec), LayerSetting::Accelerator { number, drops_flushes })
                    if number == layer_number =>
                {
                    spec.drops_flushes = drops_flushes;
                }
                (Layer::Array(spec), LayerSetting::Array(ArraySetting::Lose(member))) if member < u64::BITS => {
                    spec.lost |= 1 << member;
                }
                _ => {}
            }
        }
    }

    /// The promise breakers of a stack with fixed settings, the highest first. `ever_caches`: the drives' write cache is on
    /// at some time of the run.
    fn breakers_of_fixed_stack(&self, ever_caches: bool) -> Vec<PromiseBreaker> {
        let mut found = Vec::new();
        let mut add_breaker = |level: &str, broken: BrokenPromise| {
            let (level, setting) = (level.to_string(), format!("{level}.{}", broken.key));
            found.push(PromiseBreaker { level, setting, value: broken.value, breaks: broken.breaks });
        };
        // True while a cut can lose acknowledged data at some level up to here.
        let mut can_lose = can_lose_buffer(&self.profile, ever_caches);
        if can_lose {
            self.broken_by_drive().into_iter().for_each(|broken| add_breaker("drive", broken));
        }
        for (layer, level) in self.layers.iter().zip(self.layer_names()) {
            match layer {
                Layer::Driver(spec) if can_lose => {
                    spec.broken_promises().into_iter().for_each(|broken| add_breaker(&level, broken));
                }
                Layer::Accelerator(spec) => {
                    can_lose |= spec.write_back;
                    let broken_promises = spec.broken_promises().into_iter().filter(|_| can_lose);
                    broken_promises.for_each(|broken| add_breaker(&level, broken));
                }
                Layer::Array(spec) => {
                    let broken_promises = spec.broken_promises(self.profile.geometry.sectors());
                    broken_promises.into_iter().for_each(|broken| add_breaker(&level, broken));
                }
                // No data are held here, and flushes are passed on, or not needed below.
                Layer::Identity
                | Layer::Controller(_)
                | Layer::Bus(_)
                | Layer::Channel(_)
                | Layer::Scsi(_)
                | Layer::Driver(_)
                | Layer::Processor(_) => {}
            }
        }
        found.reverse();
        found
    }

    /// The promises that the drive's faults break, given the levels above. If a write with forced unit access reaches the
    /// drive as a write and a flush, a fault that breaks flushes breaks it too. If a driver sends no flush because the drive
    /// reports no cache, a fault that breaks the promise of a cache that is off breaks flushes and forced writes too.
    fn broken_by_drive(&self) -> Vec<BrokenPromise> {
        let profile = &self.profile;
        let link = &profile.link;
        let fua_needs_flush =
            !link.fua || self.drivers().any(|driver| driver.write_through.needs_flush(link.queuing, link.fua));
        let skips_flushes = self.drivers().any(|driver| driver.flush == FlushPolicy::Cached);
        let mut all_broken = Vec::new();
        for broken in profile.faults.broken_assurances() {
            let also_broken: &[Assurance] = match broken.breaks {
                Assurance::CacheOff if profile.cache.write_back => continue,
                Assurance::CacheOff if skips_flushes => &[Assurance::Flush, Assurance::Fua],
                Assurance::Flush if fua_needs_flush => &[Assurance::Fua],
                _ => &[],
            };
            all_broken.extend(also_broken.iter().map(|&breaks| BrokenPromise { breaks, ..broken.clone() }));
            all_broken.push(broken);
        }
        all_broken
    }
}

/// True if a cut can lose acknowledged data in the drive's buffer. `ever_caches`: its write cache is on at some time.
fn can_lose_buffer(profile: &Profile, ever_caches: bool) -> bool {
    (ever_caches || profile.faults.caches_when_off) && !profile.saves_buffer()
}
