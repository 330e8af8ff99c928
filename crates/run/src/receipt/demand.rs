//! The demand on a served disk: how many requests of each kind its clients made, their bytes, and where the model's time
//! went. Times are the model's; lateness of the machine is not in them.

use seekwise_disk::parts::{Part, Parts};
use seekwise_disk::time::{Instant, Span};

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemandKind {
    /// Data from the disk.
    Read,
    /// A write of data or zeroes.
    Write,
    /// Accepted writes to the medium.
    Flush,
}

impl DemandKind {
    /// All kinds, with their names in results.
    pub const NAMED: [(DemandKind, &'static str); 3] =
        [(DemandKind::Read, "reads"), (DemandKind::Write, "writes"), (DemandKind::Flush, "flushes")];
}

/// Totals of the requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KindTotals {
    /// How many have ended.
    pub requests: u64,
    /// Bytes that they read or wrote.
    pub bytes: u64,
    /// Sum of their response times in the model. Those of requests that overlap are added.
    pub took: Span,
    /// The longest response, and the instant at which its request came.
    pub longest: (Span, Instant),
}

/// All requests of a session.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    kinds: [KindTotals; DemandKind::NAMED.len()],
    /// Response times of the device by their parts, added for all requests.
    parts: Parts,
    /// Requests under way, and since when there has been one.
    in_flight: u64,
    busy_since: Instant,
    /// Time for which at least one request was under way.
    busy: Span,
}

impl Demand {
    /// Counts a request that comes at `at`.
    pub fn begin_request(&mut self, at: Instant) {
        if self.in_flight == 0 {
            self.busy_since = at;
        }
        self.in_flight += 1;
    }

    /// Counts the end of a request that came at `arrived`; `kind` is `None` for requests of another kind, such as trims.
    pub fn end_request(&mut self, kind: Option<DemandKind>, bytes: u64, arrived: Instant, ended: Instant) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.in_flight == 0 {
            self.busy += ended.saturating_since(self.busy_since);
        }
        let Some(kind) = kind else { return };
        let totals = &mut self.kinds[kind as usize];
        let took = ended.saturating_since(arrived);
        totals.requests += 1;
        totals.bytes += bytes;
        totals.took += took;
        if took > totals.longest.0 {
            totals.longest = (took, arrived);
        }
    }

    /// Adds the parts of a device's response.
    pub fn add_parts(&mut self, parts: &Parts) {
        for part in Part::ALL {
            self.parts.add(part, parts.get(part));
        }
    }

    /// Counts the time of requests under way up to `now`.
    pub fn count_until(&mut self, now: Instant) {
        if self.in_flight > 0 {
            self.busy += now.saturating_since(self.busy_since);
            self.busy_since = now;
        }
    }

    /// Begins to count anew; requests under way count from `now`.
    pub fn restart(&mut self, now: Instant) {
        *self = Demand { in_flight: self.in_flight, busy_since: now, ..Demand::default() };
    }

    /// Totals of one kind.
    pub fn totals(&self, kind: DemandKind) -> &KindTotals {
        &self.kinds[kind as usize]
    }

    /// Time in the model for which at least one request was under way. A client that does nothing else while its disk
    /// works takes so much longer than on a disk that answers at once.
    pub fn busy(&self) -> Span {
        self.busy
    }

    /// Parts with any time, the largest first; each with its sum over all requests.
    pub fn parts_by_size(&self) -> Vec<(Part, Span)> {
        let mut parts: Vec<_> = Part::ALL.map(|part| (part, self.parts.get(part))).to_vec();
        parts.retain(|(_, span)| *span > Span::ZERO);
        parts.sort_by_key(|(_, span)| std::cmp::Reverse(*span));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn time_with_a_request_under_way_counts_once() {
        let mut demand = Demand::default();
        demand.begin_request(at(10));
        demand.begin_request(at(12));
        demand.end_request(Some(DemandKind::Read), 4096, at(10), at(15));
        demand.end_request(Some(DemandKind::Write), 512, at(12), at(20));
        demand.begin_request(at(50));
        demand.end_request(Some(DemandKind::Flush), 0, at(50), at(53));
        demand.begin_request(at(60));
        demand.end_request(None, 0, at(60), at(61));
        assert_eq!(demand.busy(), Span::from_millis(14));
        let read = demand.totals(DemandKind::Read);
        assert_eq!((read.requests, read.bytes, read.took), (1, 4096, Span::from_millis(5)));
        assert_eq!(demand.totals(DemandKind::Write).longest, (Span::from_millis(8), at(12)));
        assert_eq!(demand.totals(DemandKind::Flush).requests, 1);
        demand.begin_request(at(70));
        demand.count_until(at(80));
        assert_eq!(demand.busy(), Span::from_millis(24));
        demand.restart(at(80));
        assert_eq!((demand.busy(), demand.totals(DemandKind::Read).requests), (Span::ZERO, 0));
        demand.end_request(Some(DemandKind::Read), 512, at(70), at(85));
        assert_eq!(demand.busy(), Span::from_millis(5));
    }

    #[test]
    fn parts_are_sorted_and_empty_ones_left_out() {
        let mut demand = Demand::default();
        let mut parts = Parts::NONE;
        parts.add(Part::Seek, Span::from_millis(3));
        parts.add(Part::Rotation, Span::from_millis(4));
        demand.add_parts(&parts);
        demand.add_parts(&parts);
        assert_eq!(
            demand.parts_by_size(),
            [(Part::Rotation, Span::from_millis(8)), (Part::Seek, Span::from_millis(6))]
        );
    }
}
