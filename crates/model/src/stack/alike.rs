//! Stacks that run alike, because they differ only in what a run did not ask ([`Asked`]).

use super::{Layer, Stack};
use crate::block::asked::Asked;
use crate::host::driver::{DriverSpec, SchedulerSpec};
use crate::queue::{Discipline, Policy};

impl Stack {
    /// True if a run that asked this of one of the two is the same on the other, given the same work and seed.
    pub fn runs_alike(&self, other: &Stack, asked: &Asked) -> bool {
        self == other || self.as_asked(asked) == other.as_asked(asked)
    }

    /// The stack with what was not asked left open.
    fn as_asked(&self, asked: &Asked) -> Stack {
        let mut stack = self.clone();
        let firmware = &mut stack.profile.firmware;
        firmware.queue = order(firmware.queue, asked.commands);
        firmware.destage = order(firmware.destage, asked.dirty);
        for layer in &mut stack.layers {
            if let Layer::Driver(spec) = layer {
                *spec = driver(spec, asked);
            }
        }
        stack
    }
}

fn driver(spec: &DriverSpec, asked: &Asked) -> DriverSpec {
    DriverSpec {
        depth: if spec.depth > asked.below { u32::MAX } else { spec.depth },
        scheduler: match spec.scheduler {
            SchedulerSpec::Order(discipline) => SchedulerSpec::Order(order(discipline, asked.waiting)),
            other => other,
        },
        timeout: spec.timeout.filter(|&timeout| timeout <= asked.longest),
        retries: if asked.again { spec.retries } else { 0 },
        ..*spec
    }
}

/// What a discipline comes to where at most so many wait at once. A limit of waiting counts always.
fn order(discipline: Discipline, most: u32) -> Discipline {
    let Discipline { window, nearest, max_wait, .. } = discipline;
    match most {
        0 | 1 => Discipline { max_wait, ..Discipline::plain(Policy::Fcfs) },
        _ => Discipline {
            window: if window >= most { 0 } else { window },
            nearest: if nearest >= most { 0 } else { nearest },
            ..discipline
        },
    }
}
