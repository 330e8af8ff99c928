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
    groups: BTreeMap<u32, FlowGroup>,
    members: Vec<Option<FlowMember>>,
}

/// The workers of a flow.
#[derive(Clone, Debug)]
struct FlowGroup {
    /// Requests of all workers; fio begins with one.
    issued: u64,
    weight: u64,
    /// Workers that wait.
    stalled: Vec<u16>,
}

#[derive(Clone, Debug)]
struct FlowMember {
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

    /// Checks whether a worker is ahead of its share. If so, returns how long it sleeps; zero if it waits for the
    /// others, which is noted.
    pub(crate) fn hold_back(&mut self, worker: u16) -> Option<Span> {
        let member = self.members[usize::from(worker)].as_ref()?;
        let group = self.groups.get_mut(&member.id)?;
        let ahead =
            u128::from(member.issued) * u128::from(group.weight) > u128::from(member.weight) * u128::from(group.issued);
        if ahead && member.sleep == Span::ZERO {
            group.stalled.push(worker);
        }
        ahead.then_some(member.sleep)
    }

    /// Notes that a worker issues; returns the workers of its flow to ask again.
    pub(crate) fn record_issue(&mut self, worker: u16) -> Vec<u16> {
        let Some(member) = &mut self.members[usize::from(worker)] else { return Vec::new() };
        member.issued += 1;
        self.groups.get_mut(&member.id).map_or(Vec::new(), |group| {
            group.issued += 1;
            core::mem::take(&mut group.stalled)
        })
    }

    /// Notes that a worker has ended; returns the workers of its flow to ask again.
    pub(crate) fn end_worker(&mut self, worker: u16) -> Vec<u16> {
        let Some(member) = self.members[usize::from(worker)].take() else { return Vec::new() };
        self.groups.get_mut(&member.id).map_or(Vec::new(), |group| {
            group.issued -= member.issued;
            group.weight -= member.weight;
            core::mem::take(&mut group.stalled)
        })
    }
}
