//! A drive's curves as points: seek time over distance, and sustained rate over position. Both are calculated from its geometry and
//! mechanics; no request is simulated.

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
pub(crate) fn seek_and_rate_curves(profile: &Profile) -> Curves {
    Curves { seek: seek_curve(profile), rate: rate_curve(profile) }
}

/// Points (cylinders, ms) at up to 121 distances, closer together where the curve bends.
fn seek_curve(profile: &Profile) -> Vec<(f64, f64)> {
    let last = profile.geometry.cylinders().saturating_sub(1).max(1);
    let steps = 120u32;
    let distance = |step: u32| {
        let share = f64::from(step) / f64::from(steps);
        (share * share * f64::from(last)).round().max(1.0) as u32
    };
    let mut distances: Vec<u32> = (0..=steps).map(distance).collect();
    distances.dedup();
    let time_ms = |distance: u32| profile.mechanics.seek().seek_time(distance).nanos() as f64 / 1e6;
    distances.into_iter().map(|distance| (f64::from(distance), time_ms(distance))).collect()
}

/// Points (GB, MB/s): two for each zone, at its begin and end.
fn rate_curve(profile: &Profile) -> Vec<(f64, f64)> {
    let gb = |lba: u64| (lba * SECTOR) as f64 / 1e9;
    let spans = profile.geometry.zone_block_bounds().filter(|(first, end)| first < end);
    // Short remainders of zones would show as needles.
    let long = spans.filter(|(first, end)| end - first > profile.geometry.sectors() / 1000);
    long.flat_map(|(first, end)| {
        let rate = sustained_mb_s(profile, first, end, false);
        [(gb(first), rate), (gb(end), rate)]
    })
    .collect()
}

/// MB/s (10^6 bytes a second) of one long transfer of the sectors from `first_lba`, at most to `end_lba`.
pub(crate) fn sustained_mb_s(profile: &Profile, first_lba: u64, end_lba: u64, write: bool) -> f64 {
    stream_over_tracks(profile, first_lba, end_lba, write).mb_s
}

/// The share of track changes of such a reading transfer at which the arm is too slow for the skew and loses a revolution.
pub(crate) fn lost_revolution_share(profile: &Profile, first_lba: u64, end_lba: u64) -> f64 {
    stream_over_tracks(profile, first_lba, end_lba, false).lost_revolution_share
}

/// A long transfer over many tracks.
struct TrackStream {
    mb_s: f64,
    /// Revolutions lost for each track change.
    lost_revolution_share: f64,
}

/// Calculates a transfer over at most 5000 tracks: the time of its sectors and of the skews between tracks, and a further revolution
/// wherever the arm is too slow for the skew.
fn stream_over_tracks(profile: &Profile, first_lba: u64, end_lba: u64, write: bool) -> TrackStream {
    const TRACKS: usize = 5_000;
    let (geometry, mechanics) = (&profile.geometry, &profile.mechanics);
    let settle_ns = if write { mechanics.switch_and_settle().1.nanos() } else { 0 };
    let mut extent = geometry.extent(first_lba, u32::MAX);
    let mut nanos = mechanics.transfer_time(&extent).nanos();
    let (mut track_changes, mut lost_revolutions) = (0u32, 0u64);
    for _ in 0..TRACKS {
        if extent.end() >= end_lba {
            break;
        }
        let next = geometry.extent(extent.end(), u32::MAX);
        let arm = Arm { cylinder: extent.cylinder, head: extent.head };
        let skew = next.angle.wrapping_sub(extent.angle.wrapping_add(extent.covered_angle()));
        let skew_ns = mechanics.turning_time(skew).nanos();
        let move_ns = mechanics.movement_time(arm, next.cylinder, next.head, write).nanos() + settle_ns;
        let revolution_ns = mechanics.revolution().nanos();
        let lost = move_ns.saturating_sub(skew_ns).div_ceil(revolution_ns);
        nanos += skew_ns + lost * revolution_ns + mechanics.transfer_time(&next).nanos();
        (track_changes, lost_revolutions) = (track_changes + 1, lost_revolutions + lost);
        extent = next;
    }
    // The time is at least 1 ns, because a sector may take less than that.
    let mb_s = ((extent.end() - first_lba) * SECTOR) as f64 / (nanos.max(1) as f64 / 1e9) / 1e6;
    TrackStream { mb_s, lost_revolution_share: lost_revolutions as f64 / f64::from(track_changes.max(1)) }
}
