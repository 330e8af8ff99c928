//! A drive's curves as points: seek time over distance, sustained rate over position. Both are arithmetic on its geometry and mechanics; no
//! request is simulated.

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::mechanics::Arm;
use seekwise_disk::drive::profile::Profile;
use serde::Serialize;

/// The points of both curves.
#[derive(Clone, Debug, Serialize)]
pub struct Curves {
    /// Cylinders and milliseconds of a read seek.
    pub seek: Vec<(f64, f64)>,
    /// Position in GB (10^9 bytes) and sustained MB/s (10^6 bytes a second); a step for each zone.
    pub rate: Vec<(f64, f64)>,
}

/// Both curves of a drive.
pub(crate) fn sample_seek_and_rate(profile: &Profile) -> Curves {
    Curves { seek: seek_points(profile), rate: rate_points(profile) }
}

/// About 120 distances, closer together where the curve bends.
fn seek_points(profile: &Profile) -> Vec<(f64, f64)> {
    let last = profile.geometry.cylinders().saturating_sub(1).max(1);
    let steps = 120u32;
    let distance = |step: u32| {
        let share = f64::from(step) / f64::from(steps);
        (share * share * f64::from(last)).round().max(1.0) as u32
    };
    let mut distances: Vec<u32> = (0..=steps).map(distance).collect();
    distances.dedup();
    let time = |d: u32| profile.mechanics.seek().seek_time(d).nanos() as f64 / 1e6;
    distances.into_iter().map(|d| (f64::from(d), time(d))).collect()
}

fn rate_points(profile: &Profile) -> Vec<(f64, f64)> {
    let gb = |lba: u64| (lba * SECTOR) as f64 / 1e9;
    let spans = profile.geometry.zone_block_bounds().filter(|(first, end)| first < end);
    // Zone remainders too short for a whole band would show as needles.
    let whole = spans.filter(|(first, end)| end - first > profile.geometry.sectors() / 1000);
    whole
        .flat_map(|(first, end)| {
            let rate = sustained_mb_s(profile, first, end, false);
            [(gb(first), rate), (gb(end), rate)]
        })
        .collect()
}

/// MB/s (10^6 bytes a second) of one long transfer from `first`, at most to `end`: the sectors of some thousand tracks
/// divided by their time, skews included, with an extra revolution wherever the arm is too slow for the skew.
pub(crate) fn sustained_mb_s(profile: &Profile, first: u64, end: u64, write: bool) -> f64 {
    stream_over_tracks(profile, first, end, write).0
}

/// The share of track changes of such a transfer at which the arm is too slow for the skew and loses a revolution.
pub(crate) fn lost_revolution_share(profile: &Profile, first: u64, end: u64) -> f64 {
    stream_over_tracks(profile, first, end, false).1
}

fn stream_over_tracks(profile: &Profile, first: u64, end: u64, write: bool) -> (f64, f64) {
    const TRACKS: usize = 5_000;
    let (geometry, mechanics) = (&profile.geometry, &profile.mechanics);
    let settle = if write { mechanics.switch_and_settle().1.nanos() } else { 0 };
    let mut extent = geometry.extent(first, u32::MAX);
    let mut nanos = mechanics.transfer_time(&extent).nanos();
    let (mut changes, mut lost) = (0u32, 0u64);
    for _ in 0..TRACKS {
        if extent.end() >= end {
            break;
        }
        let next = geometry.extent(extent.end(), u32::MAX);
        let arm = Arm { cylinder: extent.cylinder, head: extent.head };
        let gap = next.angle.wrapping_sub(extent.angle.wrapping_add(extent.covered_angle()));
        let gap = mechanics.turning_time(gap).nanos();
        let move_time = mechanics.movement_time(arm, next.cylinder, next.head, write).nanos() + settle;
        let revolution = mechanics.revolution().nanos();
        let late = move_time.saturating_sub(gap).div_ceil(revolution);
        nanos += gap + late * revolution + mechanics.transfer_time(&next).nanos();
        (changes, lost) = (changes + 1, lost + late);
        extent = next;
    }
    // A sector may take less than a nanosecond.
    let rate = ((extent.end() - first) * SECTOR) as f64 / (nanos.max(1) as f64 / 1e9) / 1e6;
    (rate, lost as f64 / f64::from(changes.max(1)))
}
