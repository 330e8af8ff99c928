//! The levels of a stack that break a promise, for every judge of power cuts. The specification of each level lists what
//! its settings break; this module decides which of them matter in a stack, at any time of a run. A level that drops
//! flushes is harmless above devices that lose nothing at a cut.
//!
//! Whether any data were lost is for the observer of a run to say.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Layer, Stack, number_layers};
use crate::block::Control;
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::setting::{ArraySetting, LayerSetting};
use crate::drive::profile::Profile;
use crate::host::driver::{FlushPolicy, ForcedWritePolicy};

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
        let states = self.setting_states();
        let caches = states.iter().any(|state| state.profile.cache.write_back);
        let mut found: Vec<PromiseBreaker> = Vec::new();
        for state in &states {
            for breaker in state.find_breakers(caches) {
                if !found.contains(&breaker) {
                    found.push(breaker);
                }
            }
        }
        found
    }

    /// The stack at the beginning and after each change that matters here.
    fn setting_states(&self) -> Vec<Stack> {
        let mut states = alloc::vec![Stack { changes: Vec::new(), ..self.clone() }];
        for change in &self.changes {
            let mut state = states[states.len() - 1].clone();
            if let Control::Set(setting) = change.control {
                state.change_setting(setting);
            }
            states.push(state);
        }
        states
    }

    /// Changes a setting. Those that break no promise have no effect here.
    fn change_setting(&mut self, changed: LayerSetting) {
        if let LayerSetting::WriteBack(on) = changed {
            self.profile.cache.write_back = on;
        }
        let numbers = number_layers(&self.layers);
        for (layer, own) in self.layers.iter_mut().zip(numbers) {
            match (layer, changed) {
                (Layer::Driver(spec), LayerSetting::Driver { number, setting }) if number == own => {
                    spec.change_setting(setting);
                }
                (Layer::Accelerator(spec), LayerSetting::Accelerator { number, drops_flushes }) if number == own => {
                    spec.drops_flushes = drops_flushes;
                }
                (Layer::Array(spec), LayerSetting::Array(ArraySetting::Lose(member))) if member < u64::BITS => {
                    spec.lost |= 1 << member;
                }
                _ => {}
            }
        }
    }

    /// The promise breakers of a stack with fixed settings, whose drives may cache writes or never do; the highest
    /// first.
    fn find_breakers(&self, caches: bool) -> Vec<PromiseBreaker> {
        let mut found = Vec::new();
        let mut name = |level: &str, lapse: BrokenPromise| {
            let (level, setting) = (level.to_string(), format!("{level}.{}", lapse.key));
            found.push(PromiseBreaker { level, setting, value: lapse.value, breaks: lapse.breaks });
        };
        let mut loses = holds_unsafely(&self.profile, caches);
        if loses {
            self.broken_by_drive().into_iter().for_each(|lapse| name("drive", lapse));
        }
        for (layer, level) in self.layers.iter().zip(self.layer_names()) {
            match layer {
                Layer::Driver(spec) if loses => {
                    spec.broken_promises().into_iter().for_each(|lapse| name(&level, lapse))
                }
                Layer::Accelerator(spec) => {
                    loses |= spec.write_back;
                    spec.broken_promises().into_iter().filter(|_| loses).for_each(|lapse| name(&level, lapse));
                }
                Layer::Array(spec) => {
                    let lapses = spec.broken_promises(self.profile.geometry.sectors());
                    lapses.into_iter().for_each(|lapse| name(&level, lapse));
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

    /// The promises that the drive's faults break, given the levels above: if a write with forced unit access reaches the
    /// drive as a flush, it breaks with flushes; if drivers send no flush because the drive reports no cache, flushes and
    /// forced writes break with the cache-off promise.
    fn broken_by_drive(&self) -> Vec<BrokenPromise> {
        let profile = &self.profile;
        let as_flush =
            !profile.link.fua || self.drivers().any(|driver| driver.write_through == ForcedWritePolicy::Flush);
        let unasked = self.drivers().any(|driver| driver.flush == FlushPolicy::Cached);
        let mut lapses = Vec::new();
        for lapse in profile.faults.broken_assurances() {
            let more: &[Assurance] = match lapse.breaks {
                Assurance::CacheOff if profile.cache.write_back => continue,
                Assurance::CacheOff if unasked => &[Assurance::Flush, Assurance::Fua],
                Assurance::Flush if as_flush => &[Assurance::Fua],
                _ => &[],
            };
            lapses.extend(more.iter().map(|&breaks| BrokenPromise { breaks, ..lapse.clone() }));
            lapses.push(lapse);
        }
        lapses
    }
}

/// True if a cut loses acknowledged data of the drive: its buffer accepts writes, and nothing saves them.
fn holds_unsafely(profile: &Profile, caches: bool) -> bool {
    (caches || profile.faults.caches_when_off) && !profile.saves_buffer()
}
