//! Matches requests of a kernel trace with their completions, by device and sector. The kernel merges and splits requests on
//! their way to the drive: a completion completes its sectors of every pending request, and a request completes with the last of
//! its sectors.
//!
//! Pending requests are bounded: after [`MOST_PENDING`] further ones, a request without completion gets no response time.

use std::collections::{BTreeSet, VecDeque};

use super::sink::{EntrySink, RawEntry};

/// The most requests that wait for their completions. No device has more in flight, unless events were lost.
const MOST_PENDING: usize = 1 << 16;

/// The longest request (32 MiB, the kernel's limit): a completion's requests start at most so far before it.
const LONGEST_SECTORS: u64 = 1 << 16;

/// A request that is not complete.
struct PendingRequest {
    raw: RawEntry,
    /// Sectors that are not complete yet.
    sectors_left: u64,
}

/// Where a pending request lies; ordered by device and sector.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PendingPlace {
    device: u32,
    lba: u64,
    /// The number of the request in order of issue.
    number: u64,
}

/// The pending requests of a trace.
#[derive(Default)]
pub(super) struct Pairing {
    /// Pending and completed requests in order of issue, from the first that is not complete.
    waiting: VecDeque<PendingRequest>,
    /// The number of the first request in `waiting`.
    first_number: u64,
    places: BTreeSet<PendingPlace>,
}

impl Pairing {
    /// Adds a request.
    pub fn add_request(&mut self, raw: RawEntry, sink: &mut EntrySink) {
        let number = self.first_number + self.waiting.len() as u64;
        if raw.sectors > 0 {
            self.places.insert(PendingPlace { device: raw.device, lba: raw.lba, number });
        }
        self.waiting.push_back(PendingRequest { raw, sectors_left: raw.sectors.into() });
        if self.waiting.len() > MOST_PENDING {
            self.pass_on_first(sink);
        }
    }

    /// Completes sectors of a device at `at_ns`; adds the requests that no earlier one holds back to `sink`.
    pub fn complete_sectors(&mut self, device: u32, lba: u64, sectors: u64, at_ns: u64, sink: &mut EntrySink) {
        let end_lba = lba.saturating_add(sectors);
        let first = PendingPlace { device, lba: lba.saturating_sub(LONGEST_SECTORS), number: 0 };
        let end = PendingPlace { device, lba: end_lba, number: 0 };
        let candidates: Vec<PendingPlace> = self.places.range(first..end).copied().collect();
        for place in candidates {
            let PendingRequest { raw, sectors_left } = &mut self.waiting[(place.number - self.first_number) as usize];
            let shared = end_lba.min(raw.lba + u64::from(raw.sectors)).saturating_sub(lba.max(raw.lba));
            *sectors_left = sectors_left.saturating_sub(shared);
            if shared > 0 && *sectors_left == 0 {
                raw.response_ns = Some(at_ns.saturating_sub(raw.at_ns));
                self.places.remove(&place);
            }
        }
        // A request without sectors cannot be matched with its completion.
        while self.waiting.front().is_some_and(|first| first.sectors_left == 0 || first.raw.sectors == 0) {
            self.pass_on_first(sink);
        }
    }

    /// Adds the remaining requests to `sink`, at the end of the trace.
    pub fn add_remaining(&mut self, sink: &mut EntrySink) {
        while !self.waiting.is_empty() {
            self.pass_on_first(sink);
        }
    }

    fn pass_on_first(&mut self, sink: &mut EntrySink) {
        if let Some(PendingRequest { raw, .. }) = self.waiting.pop_front() {
            self.places.remove(&PendingPlace { device: raw.device, lba: raw.lba, number: self.first_number });
            self.first_number += 1;
            sink.add(raw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First sectors and response times after these events: `Q` or `C`, first sector, sectors, time in ns.
    fn pair_events(events: &[(char, u64, u32, u64)]) -> Vec<(u64, Option<u64>)> {
        let (mut pairing, mut sink) = (Pairing::default(), EntrySink::default());
        sink.devices.names.push("d".to_owned());
        for &(event, lba, sectors, at_ns) in events {
            match event {
                'Q' => pairing.add_request(RawEntry { lba, sectors, at_ns, ..RawEntry::default() }, &mut sink),
                _ => pairing.complete_sectors(0, lba, sectors.into(), at_ns, &mut sink),
            }
        }
        pairing.add_remaining(&mut sink);
        sink.ready.iter().map(|raw| (raw.lba, raw.response_ns)).collect()
    }

    #[test]
    fn merged_requests_end_together_and_split_ones_with_their_last_part() {
        let merged =
            pair_events(&[('Q', 100, 8, 1), ('Q', 108, 8, 2), ('Q', 500, 8, 3), ('C', 100, 16, 10), ('C', 500, 8, 20)]);
        assert_eq!(merged, [(100, Some(9)), (108, Some(8)), (500, Some(17))]);
        let split = pair_events(&[('Q', 0, 16, 1), ('C', 8, 8, 5), ('C', 0, 8, 9)]);
        assert_eq!(split, [(0, Some(8))]);
    }

    #[test]
    fn what_never_ends_has_no_response_and_holds_nothing_up_for_ever() {
        assert_eq!(pair_events(&[('Q', 0, 8, 1), ('Q', 64, 8, 2), ('C', 64, 8, 3)]), [(0, None), (64, Some(1))]);
        let many: Vec<_> = (0..MOST_PENDING as u64 + 9).map(|i| ('Q', i * 8, 8, i)).collect();
        assert_eq!(pair_events(&many).len(), many.len());
        assert_eq!(pair_events(&[('C', 0, 8, 3), ('Q', 0, 0, 4)]), [(0, None)], "a completion of nothing, and a flush");
    }
}
