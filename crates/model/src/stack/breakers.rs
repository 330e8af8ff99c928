//! Who breaks a promise: the one question that every judge of power cuts asks. Each level says what its settings break
//! (`lapses` of its specification); here stands which of that matters in this stack, at any time of a run. A level that
//! lets go of flushes is harmless above devices that a cut costs nothing.
//!
//! Not here: whether anything was lost. That is seen by who watches a run.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Change, Layer, Stack};
use crate::block::assurance::{Assurance, Lapse};
use crate::drive::profile::Profile;
use crate::host::driver::{FlushPolicy, WriteThrough};

/// A level of a stack that breaks an assurance, and by what.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PromiseBreaker {
    /// What it is called in keys: `drive`, or a layer's name.
    pub level: String,
    /// The setting, as a dotted key of the stack.
    pub setting: String,
    /// What it is set to.
    pub value: String,
    /// What that breaks.
    pub breaks: Assurance,
}

impl Stack {
    /// The levels that break a promise by their settings, at the beginning or after any change; the highest first. Where
    /// none is named, nothing that was promised is lost; where those named are set to be honest, nothing either.
    pub fn promise_breakers(&self) -> Vec<PromiseBreaker> {
        let states = self.states();
        let caches = states.iter().any(|state| state.profile.cache.write_back);
        let mut found: Vec<PromiseBreaker> = Vec::new();
        for state in &states {
            for breaker in state.breakers(caches) {
                if !found.contains(&breaker) {
                    found.push(breaker);
                }
            }
        }
        found
    }

    /// The stack as it is at the beginning and after each change of what matters here.
    fn states(&self) -> Vec<Stack> {
        let mut states = alloc::vec![Stack { changes: Vec::new(), ..self.clone() }];
        let names = self.names();
        for change in &self.changes {
            let mut state = states[states.len() - 1].clone();
            state.take_on(&names, change);
            states.push(state);
        }
        states
    }

    /// One change; what no layer here knows changes nothing that is asked for.
    fn take_on(&mut self, names: &[String], Change { key, value, .. }: &Change) {
        let Some((level, key)) = key.split_once('.') else { return };
        match (level, key) {
            ("drive", "cache.write_back") => self.profile.cache.write_back = matches!(value.as_str(), "on" | "true"),
            _ => {
                for (layer, _) in self.layers.iter_mut().zip(names).filter(|(_, name)| *name == level) {
                    let _ = match layer {
                        Layer::Driver(spec) => spec.set(key, value),
                        Layer::Accelerator(spec) => spec.set(key, value),
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

    /// Those of a stack whose settings stay, with drives that cache writes at some time or never; the highest first.
    fn breakers(&self, caches: bool) -> Vec<PromiseBreaker> {
        let mut found = Vec::new();
        let mut name = |level: &str, lapse: Lapse| {
            let (level, setting) = (level.to_string(), format!("{level}.{}", lapse.key));
            found.push(PromiseBreaker { level, setting, value: lapse.value, breaks: lapse.breaks });
        };
        let mut loses = holds_unsafely(&self.profile, caches);
        if loses {
            self.of_drive().into_iter().for_each(|lapse| name("drive", lapse));
        }
        for (layer, level) in self.layers.iter().zip(self.names()) {
            match layer {
                Layer::Driver(spec) if loses => spec.lapses().into_iter().for_each(|lapse| name(&level, lapse)),
                Layer::Accelerator(spec) => {
                    loses |= spec.write_back;
                    spec.lapses().into_iter().filter(|_| loses).for_each(|lapse| name(&level, lapse));
                }
                Layer::Array(spec) => {
                    let lapses = spec.lapses(self.profile.geometry.sectors());
                    lapses.into_iter().for_each(|lapse| name(&level, lapse));
                }
                // They keep nothing, and pass on what they are told.
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

    /// What the drive's faults break as the levels above it ask: where a write with forced unit access comes to it as a flush,
    /// that breaks with flushes; and where drivers ask for none because it says that it caches nothing, with that.
    fn of_drive(&self) -> Vec<Lapse> {
        let profile = &self.profile;
        let as_flush = !profile.link.fua || self.drivers().any(|driver| driver.write_through == WriteThrough::Flush);
        let unasked = self.drivers().any(|driver| driver.flush == FlushPolicy::Cached);
        let mut lapses = Vec::new();
        for lapse in profile.faults.lapses() {
            let more: &[Assurance] = match lapse.breaks {
                Assurance::CacheOff if profile.cache.write_back => continue,
                Assurance::CacheOff if unasked => &[Assurance::Flush, Assurance::Fua],
                Assurance::Flush if as_flush => &[Assurance::Fua],
                _ => &[],
            };
            lapses.extend(more.iter().map(|&breaks| Lapse { breaks, ..lapse.clone() }));
            lapses.push(lapse);
        }
        lapses
    }
}

/// A cut costs the drive data that it acknowledged: its buffer takes writes, and nothing saves that.
fn holds_unsafely(profile: &Profile, caches: bool) -> bool {
    (caches || profile.faults.caches_when_off) && !profile.saves_buffer()
}
