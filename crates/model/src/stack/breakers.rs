//! The levels of a stack that break a promise, for every judge of power cuts. The specification of each level lists what
//! its settings break; this module decides which of them matter in a stack, at any time of a run. A level that drops
//! flushes is harmless above devices that lose nothing at a cut.
//!
//! Whether any data were lost is for the observer of a run to say.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Layer, SettingChange, Stack};
use crate::block::assurance::{Assurance, BrokenPromise};
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
        let names = self.layer_names();
        for change in &self.changes {
            let mut state = states[states.len() - 1].clone();
            state.apply_change(&names, change);
            states.push(state);
        }
        states
    }

    /// Applies a change. Keys that no level here knows have no effect.
    fn apply_change(&mut self, names: &[String], SettingChange { key, value, .. }: &SettingChange) {
        let Some((level, key)) = key.split_once('.') else { return };
        match (level, key) {
            ("drive", "cache.write_back") => self.profile.cache.write_back = matches!(value.as_str(), "on" | "true"),
            _ => {
                for (layer, _) in self.layers.iter_mut().zip(names).filter(|(_, name)| *name == level) {
                    let _ = match layer {
                        Layer::Driver(spec) => spec.change_setting(key, value),
                        Layer::Accelerator(spec) => spec.change_setting(key, value),
                        Layer::Array(spec) if key == "lose" => {
                            let member = value.parse::<u32>().ok().filter(|member| *member < u64::BITS);
                            spec.lost |= member.map_or(0, |member| 1 << member);
                            Ok(())
                        }
                        _ => Ok(()),
                    };
                }
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
