//! Sorts requests by timestamp in a bounded window. Traces are nearly sorted: requests in order go into a queue, and late ones
//! into a heap, so that a sorted trace costs one comparison per request.

use std::collections::{BinaryHeap, VecDeque};

use seekwise_drives::diagnostic::Diagnostic;

use super::sink::RawEntry;

/// A window of requests.
pub(super) struct ReorderWindow {
    /// The most requests in the window.
    capacity: usize,
    /// Requests in order.
    queue: VecDeque<RawEntry>,
    /// Late requests, which came after one with a later timestamp.
    late: BinaryHeap<LateEntry>,
    /// Number of the last late request; numbers order late requests of one timestamp.
    late_number: u64,
    /// The timestamp of the last request returned.
    returned_ns: u64,
    /// Number of late requests so far.
    pub reordered: u64,
}

/// A late request. The greatest, which a heap gives first, is the earliest; of one timestamp, the one that came first.
struct LateEntry {
    raw: RawEntry,
    number: u64,
}

impl Ord for LateEntry {
    fn cmp(&self, other: &LateEntry) -> std::cmp::Ordering {
        (other.raw.at_ns, other.number).cmp(&(self.raw.at_ns, self.number))
    }
}

impl PartialOrd for LateEntry {
    fn partial_cmp(&self, other: &LateEntry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LateEntry {
    fn eq(&self, other: &LateEntry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for LateEntry {}

impl ReorderWindow {
    /// A window of at most this many requests.
    pub fn new(capacity: usize) -> ReorderWindow {
        let (queue, late) = (VecDeque::new(), BinaryHeap::new());
        ReorderWindow { capacity, queue, late, late_number: 0, returned_ns: 0, reordered: 0 }
    }

    /// True if no further request fits; the earliest must then be removed.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.queue.len() + self.late.len() >= self.capacity
    }

    /// Adds a request; an error about `file` if the request is earlier than one already returned.
    #[inline]
    pub fn add(&mut self, file: &str, raw: RawEntry) -> Result<(), Diagnostic> {
        if self.queue.back().is_none_or(|last| last.at_ns <= raw.at_ns) && raw.at_ns >= self.returned_ns {
            self.queue.push_back(raw);
            return Ok(());
        }
        if raw.at_ns < self.returned_ns {
            return Err(self.too_late_error(file, &raw));
        }
        self.reordered += 1;
        self.late_number += 1;
        self.late.push(LateEntry { raw, number: self.late_number });
        Ok(())
    }

    #[cold]
    fn too_late_error(&self, file: &str, raw: &RawEntry) -> Diagnostic {
        let seconds = (self.returned_ns - raw.at_ns) as f64 / 1e9;
        let fault = format!("it is {seconds:.6} s earlier than a line more than {} requests before it", self.capacity);
        let expected = "a trace sorted by time, or a larger trace.window";
        Diagnostic::at(file, raw.line as usize, fault).with_key("time").with_expected(expected)
    }

    /// Removes the earliest request.
    #[inline]
    pub(crate) fn pop_earliest(&mut self) -> Option<RawEntry> {
        let raw = match (self.late.peek(), self.queue.front()) {
            // The queue's request goes before a late one of the same timestamp, since it came first: a request joins the queue
            // only if none before it has a later timestamp.
            (Some(late), Some(front)) if late.raw.at_ns < front.at_ns => self.late.pop().map(|late| late.raw),
            (Some(_), None) => self.late.pop().map(|late| late.raw),
            _ => self.queue.pop_front(),
        }?;
        self.returned_ns = raw.at_ns;
        Some(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw_entry(at_ns: u64, line: u64) -> RawEntry {
        RawEntry { at_ns, line, ..RawEntry::default() }
    }

    /// Timestamps and lines in the order of the window, and the number of late requests.
    fn sort(timestamps: &[u64], capacity: usize) -> Result<(Vec<(u64, u64)>, u64), String> {
        let mut window = ReorderWindow::new(capacity);
        let mut sorted = Vec::new();
        for (index, &at_ns) in timestamps.iter().enumerate() {
            if window.is_full() {
                sorted.extend(window.pop_earliest().map(|raw| (raw.at_ns, raw.line)));
            }
            window.add("t", raw_entry(at_ns, index as u64 + 1)).map_err(|fault| fault.to_string())?;
        }
        sorted.extend(std::iter::from_fn(|| window.pop_earliest()).map(|raw| (raw.at_ns, raw.line)));
        Ok((sorted, window.reordered))
    }

    #[test]
    fn what_comes_late_is_put_in_its_place_and_equals_keep_theirs() {
        let (given, reordered) = sort(&[5, 9, 7, 7, 9, 6, 12], 10).unwrap();
        assert_eq!(given, [(5, 1), (6, 6), (7, 3), (7, 4), (9, 2), (9, 5), (12, 7)]);
        assert_eq!(reordered, 3);
        assert_eq!(sort(&[1, 2, 2, 3], 2).unwrap().1, 0);
    }

    #[test]
    fn what_comes_too_late_is_refused_with_its_line() {
        let error = sort(&[3_000_000_000, 4_000_000_000, 5_000_000_000, 1_000_000_000], 2).unwrap_err();
        assert_eq!(
            error,
            "t:4: `time`: it is 3.000000 s earlier than a line more than 2 requests before it; expected a trace \
             sorted by time, or a larger trace.window"
        );
    }

    /// Compares with a full sort, for random disorder within the window.
    #[test]
    fn a_window_sorts_what_is_displaced_by_less_than_it() {
        let mut state = 7u64;
        let mut instants: Vec<u64> = Vec::new();
        for index in 0..2_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            instants.push(index * 10 + (state >> 33) % 300);
        }
        let (given, reordered) = sort(&instants, 64).unwrap();
        let mut sorted: Vec<(u64, u64)> = instants.iter().zip(1..).map(|(&at, line)| (at, line)).collect();
        sorted.sort_by_key(|row| row.0);
        let instants = |rows: &[(u64, u64)]| rows.iter().map(|row| row.0).collect::<Vec<_>>();
        assert_eq!(instants(&given), instants(&sorted));
        assert!(reordered > 1_000);
    }
}
