//! Stacks that run alike, because they differ only in what a run did not ask ([`Asked`]).

use super::{Layer, Stack};
use crate::block::asked::Asked;
use crate::host::driver::{DriverSpec, SchedulerSpec};

impl Stack {
    /// True if a run that asked this of one of the two is the same on the other, given the same work and seed.
    pub fn runs_alike(&self, other: &Stack, asked: &Asked) -> bool {
        self == other || self.as_asked(asked) == other.as_asked(asked)
    }

    /// The stack with all left open that a run may not ask. Where these differ, no run of one is the same on the other.
    #[must_use]
    pub fn as_unasked(&self) -> Stack {
        self.as_asked(&Asked::NOTHING)
    }

    /// The stack with what was not asked left open.
    fn as_asked(&self, asked: &Asked) -> Stack {
        let mut stack = self.clone();
        let firmware = &mut stack.profile.firmware;
        firmware.queue = firmware.queue.among(asked.commands);
        firmware.destage = firmware.destage.among(asked.dirty);
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
            SchedulerSpec::Order(discipline) => SchedulerSpec::Order(discipline.among(asked.waiting)),
            other => other,
        },
        timeout: spec.timeout.filter(|&timeout| timeout <= asked.longest),
        retries: if asked.again { spec.retries } else { 0 },
        ..*spec
    }
}
