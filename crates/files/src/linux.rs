//! The modelled Linux below the layer: its page cache and its volume by the settings. Nothing here holds state.

use alloc::vec;

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_work::files::pagecache::{PageCacheSpec, WriteBackRule};
use seekwise_work::files::system::{System, SystemFamily, SystemSpec};
use seekwise_work::files::volume::{Aging, Ext4Spec, IoPlan, Partition, Volume, VolumeFormat, VolumeSpec};

use crate::medium::BLOCK;
use crate::operation::Settings;

/// Calls that a new system serves at once; it grows as needed.
pub(crate) const THREADS: u16 = 16;

/// Describes the volume of a layer.
pub(crate) fn volume_spec(settings: &Settings, partition: Partition) -> VolumeSpec {
    let ext4 = Ext4Spec { barrier: settings.barrier, commit: settings.commit_interval };
    let (format, seed) = (VolumeFormat::Ext4(ext4), Seed(settings.seed));
    VolumeSpec { partition, format, aging: Aging::NONE, history: true, seed }
}

/// Describes the page cache of a layer. The caller's simulator has the processor, so calls and copies take no time.
fn cache_spec(settings: &Settings) -> PageCacheSpec {
    let linux = PageCacheSpec::linux(settings.memory);
    let back = match linux.back {
        WriteBackRule::Flusher { chunk, chunks, .. } => WriteBackRule::Flusher {
            wake: settings.write_back_interval,
            expire: settings.write_back_age,
            background: settings.background_percent,
            chunk,
            chunks,
        },
        rule => rule,
    };
    PageCacheSpec { back, limit: settings.limit_percent, call: Span::ZERO, copy: u64::MAX, ..linux }
}

/// A system on the device with this mounted volume.
pub(crate) fn start_system(settings: &Settings, device: &impl Device, mut volume: Volume) -> System {
    volume.begin_run();
    // Its reads take no time: the system has mounted before the run.
    volume.mount(&mut IoPlan::new());
    let limits = device.limits(0);
    // Whole blocks, so that no block is in two requests.
    let largest = (limits.max_transfer / BLOCK as u32).max(1) * BLOCK as u32;
    let spec = SystemSpec { family: SystemFamily::Linux, largest, cache: Some(cache_spec(settings)) };
    System::new(vec![volume], spec, THREADS).with_volume_on_unit(0, 0, &limits)
}
