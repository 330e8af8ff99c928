//! fio's `flow`: jobs keep their shares of the requests that they issue together; a worker that is ahead waits.
//!
//! Each worker of a flow has a weight. Before each request its share of the flow's requests is compared with its share
//! of the weights; a worker that is ahead waits until the others have caught up, or sleeps and checks again. A worker
//! that ends takes its count and weight along. Source: fio 3.33, `flow.c`, in integers instead of its quotients.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use seekwise_disk::time::Span;

use super::job::Job;

/// The flows of a job.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    /// By `flow_id`.
    groups: BTreeMap<u32, FlowGroup>,
    /// By worker; `None` without a flow.
    members: Vec<Option<FlowMember>>,
}

/// The workers of a flow.
#[derive(Clone, Debug)]
struct FlowGroup {
    /// Number of requests of all workers; fio begins with 1.
    issued: u64,
    weight: u64,
    /// Workers that wait.
    stalled: Vec<u16>,
}

#[derive(Clone, Debug)]
struct FlowMember {
    /// The flow.
    id: u32,
    weight: u64,
    issued: u64,
    sleep: Span,
}

impl Flows {
    /// The flows of a job's workers, including those of later stages: as in fio, their weights count from the
    /// beginning.
    pub(crate) fn new(job: &Job) -> Flows {
        let mut groups: BTreeMap<u32, FlowGroup> = BTreeMap::new();
        let mut member = |flow: super::job::Flow| {
            let group = groups.entry(flow.id).or_insert(FlowGroup { issued: 1, weight: 0, stalled: Vec::new() });
            group.weight += u64::from(flow.weight);
            FlowMember { id: flow.id, weight: flow.weight.into(), issued: 0, sleep: flow.sleep }
        };
        let members = job.workers.iter().map(|worker| worker.pace.flow.map(&mut member)).collect();
        Flows { groups, members }
    }

    /// Returns how long a worker sleeps that is ahead of its share; `None` if it may issue. Zero: it waits for the
    /// others, and is returned by [`Flows::record_issue`] or [`Flows::end_worker`] when it may try again.
    pub(crate) fn hold_back_if_ahead(&mut self, worker: u16) -> Option<Span> {
        let member = self.members[usize::from(worker)].as_ref()?;
        let group = self.groups.get_mut(&member.id)?;
        let is_ahead =
            u128::from(member.issued) * u128::from(group.weight) > u128::from(member.weight) * u128::from(group.issued);
        if is_ahead && member.sleep == Span::ZERO {
            group.stalled.push(worker);
        }
        is_ahead.then_some(member.sleep)
    }

    /// Notes that a worker issues; returns the workers of its flow that waited.
    pub(crate) fn record_issue(&mut self, worker: u16) -> Vec<u16> {
        let Some(member) = &mut self.members[usize::from(worker)] else { return Vec::new() };
        member.issued += 1;
        self.groups.get_mut(&member.id).map_or(Vec::new(), |group| {
            group.issued += 1;
            core::mem::take(&mut group.stalled)
        })
    }

    /// Notes that a worker has ended; returns the workers of its flow that waited.
    pub(crate) fn end_worker(&mut self, worker: u16) -> Vec<u16> {
        let Some(member) = self.members[usize::from(worker)].take() else { return Vec::new() };
        self.groups.get_mut(&member.id).map_or(Vec::new(), |group| {
            group.issued -= member.issued;
            group.weight -= member.weight;
            core::mem::take(&mut group.stalled)
        })
    }
}
