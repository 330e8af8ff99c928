//! The addresses of a trace's requests on a target: the devices one after another, then as `trace.map` says.
//!
//! Requests are moved by stretches of 1 MiB, so that sequences within a stretch stay sequential.

use std::sync::Arc;

use seekwise_formats::trace::TraceEntry;
use seekwise_formats::trace::keys::AddressMapping;
use seekwise_formats::trace::survey::{STRETCH, TraceSurvey};

/// The map from recorded addresses to those on a target.
#[derive(Clone, Debug)]
pub(crate) struct TraceAddresses {
    /// By device its first sector.
    device_starts: Arc<[u64]>,
    map: AddressMapping,
    /// Sectors of the trace, before it is mapped.
    recorded_sectors: u64,
    target_sectors: u64,
    /// Stretches that requests touch, in order.
    touched: Arc<[u64]>,
}

impl TraceAddresses {
    /// The addresses of a trace on a target of so many sectors.
    pub fn new(survey: &TraceSurvey, map: AddressMapping, target_sectors: u64) -> TraceAddresses {
        let (mut device_starts, mut touched, mut next) = (Vec::new(), Vec::new(), 0u64);
        for device in &survey.devices {
            device_starts.push(next);
            touched.extend(device.touched.iter().map(|stretch| next / STRETCH + stretch));
            next = next.saturating_add(device.sectors.div_ceil(STRETCH).saturating_mul(STRETCH));
        }
        let recorded_sectors = survey.total_sectors();
        TraceAddresses {
            device_starts: device_starts.into(),
            map,
            recorded_sectors,
            target_sectors,
            touched: touched.into(),
        }
    }

    /// Sectors of the target.
    pub fn target_sectors(&self) -> u64 {
        self.target_sectors
    }

    /// Sectors that the trace needs on a target.
    pub(crate) fn needed_sectors(&self) -> u64 {
        match self.map {
            AddressMapping::Refuse => self.recorded_sectors,
            // Any trace fits, but no target is smaller than a stretch.
            AddressMapping::Wrap | AddressMapping::Scale => STRETCH,
            AddressMapping::Compact => self.touched.len() as u64 * STRETCH,
        }
    }

    /// The recorded address of a request, with the devices one after another.
    #[inline]
    pub(crate) fn recorded_lba(&self, entry: &TraceEntry) -> u64 {
        self.device_starts.get(entry.device as usize).map_or(entry.lba, |first| first.saturating_add(entry.lba))
    }

    /// The address of a request on the target, and whether it had to be shifted to end before the target does.
    #[inline]
    pub(crate) fn target_lba_and_clipped(&self, entry: &TraceEntry) -> (u64, bool) {
        if entry.sectors == 0 {
            return (0, false);
        }
        let lba = self.recorded_lba(entry);
        let (stretch, within) = (lba / STRETCH, lba % STRETCH);
        let mapped = match self.map {
            AddressMapping::Refuse => return (lba, false),
            AddressMapping::Wrap => lba % self.target_sectors,
            // A trace that fits already is not compressed.
            AddressMapping::Scale if self.recorded_sectors <= self.target_sectors => lba,
            AddressMapping::Scale => {
                let (from, to) = (self.recorded_sectors.div_ceil(STRETCH), self.target_sectors / STRETCH);
                let stretch = (u128::from(stretch) * u128::from(to) / u128::from(from)) as u64;
                stretch * STRETCH + within
            }
            AddressMapping::Compact => self.touched.partition_point(|known| *known < stretch) as u64 * STRETCH + within,
        };
        let last = self.target_sectors.saturating_sub(entry.sectors.into());
        (mapped.min(last), mapped > last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_drives::diagnostic::Diagnostic;
    use seekwise_formats::trace::survey::survey;
    use seekwise_formats::trace::{TracePart, TraceReadOptions};

    /// Two address spaces: of 2 MiB and a sector, and of 10 GiB and 8 KiB.
    const TRACE: &str =
        "0,0,4096,R,0.0\n0,4096,512,R,1.0\n1,20971520,4096,W,2.0\n1,20971528,4096,W,3.0\n1,8,4096,R,4.0\n";

    fn places(map: AddressMapping, room: u64) -> (TraceAddresses, Vec<(u64, bool)>) {
        let parts = || -> Result<Vec<TracePart>, Diagnostic> { Ok(vec![("t".to_owned(), Box::new(TRACE.as_bytes()))]) };
        let reading = TraceReadOptions::default();
        let survey = survey(&parts, &reading, true).unwrap();
        let places = TraceAddresses::new(&survey, map, room);
        let mut reader = seekwise_formats::trace::open(parts().unwrap(), &reading).unwrap();
        let entries = std::iter::from_fn(|| reader.read().unwrap());
        let gone = entries.map(|entry| places.target_lba_and_clipped(&entry)).collect();
        (places, gone)
    }

    #[test]
    fn devices_lie_one_behind_another_from_a_whole_stretch_on() {
        let (places, gone) = places(AddressMapping::Refuse, 1 << 30);
        let second = 3 * STRETCH;
        let expected = [0, 4_096, second + 20_971_520, second + 20_971_528, second + 8];
        assert_eq!(gone, expected.map(|lba| (lba, false)));
        assert_eq!(places.needed_sectors(), second + 20_971_536u64.div_ceil(STRETCH) * STRETCH);
    }

    #[test]
    fn what_is_in_sequence_stays_so_however_it_is_mapped() {
        let room = 1_000 * STRETCH + 7;
        for map in [AddressMapping::Wrap, AddressMapping::Scale, AddressMapping::Compact] {
            let (places, gone) = places(map, room);
            assert!(places.needed_sectors() <= room);
            assert_eq!(gone[3].0, gone[2].0 + 8, "{map:?}");
            assert!(gone.iter().all(|(lba, _)| *lba < room), "{map:?}: {gone:?}");
        }
        let (_, gone) = places(AddressMapping::Compact, room);
        // Stretches 0 and 2 of the first, 0 and 10240 of the second.
        assert_eq!(gone.iter().map(|it| it.0 / STRETCH).collect::<Vec<_>>(), [0, 1, 3, 3, 2]);
        let (_, gone) = places(AddressMapping::Scale, room);
        assert_eq!(gone[2].0 / STRETCH, (3 + 10_240) * 1_000 / 10_244);
        let (_, gone) = places(AddressMapping::Scale, 1 << 40);
        assert_eq!(gone[1], (4_096, false), "what fits is not moved");
    }

    #[test]
    fn what_would_pass_the_end_is_pushed_back_and_counted() {
        let room = 3 * STRETCH + 12;
        let (_, gone) = places(AddressMapping::Wrap, room);
        assert_eq!(gone[1], (4_096, false));
        assert_eq!(gone[4], (3 * STRETCH + 4, true), "8 sectors from the eighth on end 4 too late");
    }
}
