//! A stack: a drive, the layers above it in order, and the changes of settings during a run. Every modelled device is
//! built from such a description; running a job or cutting the power is the work of others.
//!
//! Layers stand in any order that makes sense ([`Stack::check`]), and one kind may occur twice. Each drive of an
//! [`Layer::Array`] has its own copy of the layers below the array, except for those that the drives share
//! ([`Layer::is_shared`]). Shared layers stand directly below the array:
//!
//! ```text
//! processor             layers[5]
//! driver                layers[4]
//! array of two          layers[3]
//! bus                   layers[2], over both
//! controller controller layers[1]
//! controller controller layers[0]
//! drive      drive
//! ```
//!
//! Facts (sectors, volumes, number of drives) are derived from the description, without building a device.

pub mod breakers;
mod used_settings;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::block::{Control, Device};
use crate::drive::Drive;
use crate::drive::mechanics::Mechanics;
use crate::drive::movement::MovementLog;
use crate::drive::profile::Profile;
use crate::flash::{Flash, FlashSpec};
use crate::host::accelerator::{Accelerator, AcceleratorSpec};
use crate::host::array::layout::ArrayVolume;
use crate::host::array::{Array, ArraySpec};
use crate::host::channel::Channel;
use crate::host::controller::{Controller, ControllerSpec};
use crate::host::driver::{Driver, DriverSpec};
use crate::host::identity::IdentityLayer;
use crate::host::mixed_devices::MixedDevices;
use crate::host::ports::Ports;
use crate::host::processor::{Processor, ProcessorSpec};
use crate::host::scsi::{MOST_DRIVES, ScsiBus, ScsiSpec};
use crate::rng::Seed;
use crate::time::Instant;

pub use self::used_settings::{UnusedSettings, UsedSettings};

/// The most by which a drive of an array turns slower than its profile, in millionths. Spindles are locked to a crystal of
/// 100 parts in a million either way, so two differ by twice that at most (inferred: the usual tolerance of such parts;
/// makers state far wider limits of the speed, 0.1 to 0.5 %). No drive turns faster, so that a skew that just suffices at
/// the profile's speed suffices for all.
const MAX_SLOWDOWN: u64 = 200;

/// The description of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stack {
    /// The profile of each of its drives.
    pub profile: Profile,
    /// The layers above the drive, the lowest first.
    pub layers: Vec<Layer>,
    /// In order of time.
    pub changes: Vec<SettingChange>,
    /// Devices beside the stack for a scene's volumes: units 1, 2, … ([`mixed_devices`](crate::host::mixed_devices)). The
    /// processor is the only layer that also serves them.
    pub beside: Vec<FlashSpec>,
}

/// A layer above a drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Passes everything on ([`IdentityLayer`]).
    Identity,
    /// A host bus adapter.
    Controller(ControllerSpec),
    /// A bus that the drives of an array share, in bytes a second.
    Bus(u64),
    /// IDE channels with this many drives each.
    Channel(u32),
    /// A SCSI bus that the drives of an array share.
    Scsi(ScsiSpec),
    Array(ArraySpec),
    Driver(DriverSpec),
    /// A driver's cache of the whole disk in host memory.
    Accelerator(AcceleratorSpec),
    Processor(ProcessorSpec),
}

/// A change during a run: of a layer's setting, or of the supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SettingChange {
    /// Since the run's beginning.
    pub at: Instant,
    pub control: Control,
}

/// A layer that makes no sense at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisplacedLayer {
    /// The layer's name in the stack.
    pub layer: String,
    /// The reason, and where the layer may stand.
    pub why: &'static str,
}

impl Layer {
    /// The layer's name; its settings are `NAME.key`.
    pub fn kind(&self) -> &'static str {
        match self {
            Layer::Identity => "identity",
            Layer::Controller(_) => "controller",
            Layer::Bus(_) => "bus",
            Layer::Channel(_) => "channel",
            Layer::Scsi(_) => "scsi",
            Layer::Array(_) => "array",
            Layer::Driver(_) => "driver",
            Layer::Accelerator(_) => "accelerator",
            Layer::Processor(_) => "processor",
        }
    }

    /// True if it stands over several drives that stay separate above it.
    pub fn is_shared(&self) -> bool {
        matches!(self, Layer::Bus(_) | Layer::Channel(_) | Layer::Scsi(_))
    }

    /// Builds the layer, with its number among those of its kind, above `below`, which has `units` units.
    fn build_above(&self, number: u32, below: Box<dyn Device>, units: u32) -> Box<dyn Device> {
        match self {
            Layer::Identity => Box::new(IdentityLayer::build_above(below)),
            Layer::Controller(spec) => Box::new(Controller::build_above(*spec, below)),
            Layer::Bus(rate) => Box::new(Controller::build_shared_bus(*rate, below, units)),
            Layer::Channel(drives) => Box::new(Channel::build_above(*drives, below, units)),
            Layer::Scsi(spec) => Box::new(ScsiBus::build_above(*spec, below, units)),
            Layer::Array(spec) => Box::new(Array::build_above(spec.clone(), below)),
            Layer::Driver(spec) => Box::new(Driver::build_above(*spec, below).with_layer_number(number)),
            Layer::Accelerator(spec) => Box::new(Accelerator::build_above(*spec, below).with_layer_number(number)),
            Layer::Processor(spec) => Box::new(Processor::build_above(*spec, below)),
        }
    }
}

impl Stack {
    /// The drive with nothing above it.
    pub fn bare(profile: Profile) -> Stack {
        Stack { profile, layers: Vec::new(), changes: Vec::new(), beside: Vec::new() }
    }

    /// Adds a layer on top.
    #[must_use]
    pub fn with_layer(mut self, layer: Layer) -> Stack {
        self.layers.push(layer);
        self
    }

    /// Builds the stack as a device. The platters' phases at time 0 are drawn from `seed`.
    pub fn build(&self, seed: Seed) -> Box<dyn Device> {
        self.build_above_drives(&mut |drive_number| Box::new(self.build_drive(seed, drive_number)))
    }

    /// As [`Stack::build`], with drives that report their arm movements to `log`.
    pub fn build_logged(&self, seed: Seed, log: &MovementLog) -> Box<dyn Device> {
        self.build_above_drives(&mut |drive_number| {
            let mut drive = self.build_drive(seed, drive_number);
            drive.record_movements(drive_number, log.clone());
            Box::new(drive)
        })
    }

    /// Builds the layers, and the devices beside them, above drives that `build_drive` returns.
    fn build_above_drives(&self, build_drive: DriveBuilder<'_>) -> Box<dyn Device> {
        if self.beside.is_empty() {
            return build_layers(&self.layers, build_drive);
        }
        let has_processor = matches!(self.layers.last(), Some(Layer::Processor(_)));
        let (below, processor) = self.layers.split_at(self.layers.len() - usize::from(has_processor));
        let numbers = number_layers(&self.layers);
        let stack_and_units = (build_one(below, &numbers[..below.len()], 0, build_drive), self.drives());
        let flash_and_units = |spec: &FlashSpec| -> (Box<dyn Device>, u32) { (Box::new(Flash::new(*spec)), 1) };
        let beside = self.beside.iter().map(flash_and_units);
        let all = MixedDevices::build_above(core::iter::once(stack_and_units).chain(beside).collect());
        match processor.first() {
            Some(layer) => layer.build_above(1, Box::new(all), 1),
            None => Box::new(all),
        }
    }

    /// Builds a drive. The first turns as its profile says; each of the others is slower by up to `MAX_SLOWDOWN`
    /// millionths: its part number is equal, its crystal is another.
    pub fn build_drive(&self, seed: Seed, drive_number: u32) -> Drive {
        let mut profile = self.profile.clone();
        if drive_number > 0 {
            let slowdown = seed.numbered_stream("speed", u64::from(drive_number)).below(MAX_SLOWDOWN + 1);
            profile.mechanics = profile.mechanics.slowed_by(slowdown);
        }
        Drive::new(profile, seed.numbered_stream("phase", u64::from(drive_number)).next_u64())
    }

    /// The mechanics of each of its drives.
    pub fn drive_mechanics(&self, seed: Seed) -> Vec<Mechanics> {
        (0..self.drives()).map(|number| self.build_drive(seed, number).mechanics().clone()).collect()
    }

    /// True if nothing stands above the drive or beside it, and nothing changes.
    pub fn is_bare(&self) -> bool {
        self.layers.is_empty() && self.changes.is_empty() && self.beside.is_empty()
    }

    /// How many drives it has.
    pub fn drives(&self) -> u32 {
        self.array().map_or(1, |array| array.members)
    }

    /// The array, if it has one.
    pub fn array(&self) -> Option<&ArraySpec> {
        self.layers.iter().find_map(|layer| if let Layer::Array(spec) = layer { Some(spec) } else { None })
    }

    /// The drivers, the lowest first.
    pub fn drivers(&self) -> impl Iterator<Item = &DriverSpec> {
        self.layers.iter().filter_map(|layer| if let Layer::Driver(spec) = layer { Some(spec) } else { None })
    }

    /// The caches in host memory, the lowest first.
    pub fn accelerators(&self) -> impl Iterator<Item = &AcceleratorSpec> {
        self.layers.iter().filter_map(|layer| if let Layer::Accelerator(spec) = layer { Some(spec) } else { None })
    }

    /// The volumes of its array, one after another; none without an array.
    pub fn volumes(&self) -> Vec<ArrayVolume> {
        let drive_sectors = self.profile.geometry.sectors();
        self.array().map(|spec| spec.volumes(drive_sectors)).unwrap_or_default()
    }

    /// The sectors that a job sees: without those of devices beside the stack, which are for scenes only.
    pub fn sectors(&self) -> u64 {
        match self.array() {
            Some(_) => self.volumes().iter().map(ArrayVolume::capacity).sum(),
            None => self.profile.geometry.sectors(),
        }
    }

    /// The layers' names in keys, in the order of `layers`: the kind, with a number from the second of a kind on,
    /// counted from the top.
    pub fn layer_names(&self) -> Vec<String> {
        let name = |(layer, number): (&Layer, u32)| match number {
            1 => layer.kind().to_string(),
            number => format!("{}-{number}", layer.kind()),
        };
        self.layers.iter().zip(number_layers(&self.layers)).map(name).collect()
    }

    /// Checks that each layer makes sense at its place; returns the first that does not, from the top.
    pub fn check(&self) -> Result<(), MisplacedLayer> {
        let arrays = self.layers.iter().filter(|layer| matches!(layer, Layer::Array(_))).count();
        let array_index = self.layers.iter().position(|layer| matches!(layer, Layer::Array(_)));
        let top_index = self.layers.len().saturating_sub(1);
        for (index, (layer, name)) in self.layers.iter().zip(self.layer_names()).enumerate().rev() {
            let above = self.layers.get(index + 1);
            let why = match layer {
                Layer::Processor(_) if index != top_index => "its programs are above all else: it stands on top",
                Layer::Array(_) if arrays > 1 => "one array is all that a stack has (`raid-10` stripes mirrors)",
                Layer::Scsi(_) if self.drives() > MOST_DRIVES => "a SCSI bus has 15 drives at most",
                shared if shared.is_shared() => match above {
                    Some(Layer::Array(_)) => continue,
                    Some(above) if above.is_shared() && array_index.is_some_and(|array| index < array) => continue,
                    _ if array_index.is_none() => continue,
                    _ => "the array's drives share it: it stands right below the array",
                },
                _ => continue,
            };
            return Err(MisplacedLayer { layer: name, why });
        }
        Ok(())
    }
}

/// The number of each of `layers` among those of its kind, from the top, from 1.
fn number_layers(layers: &[Layer]) -> Vec<u32> {
    let number = |(index, layer): (usize, &Layer)| {
        1 + layers[index + 1..].iter().filter(|other| other.kind() == layer.kind()).count() as u32
    };
    layers.iter().enumerate().map(number).collect()
}

/// Builds the drive with a number.
type DriveBuilder<'a> = &'a mut dyn FnMut(u32) -> Box<dyn Device>;

/// Builds `layers`, the lowest first, above drives that `build_drive` returns.
pub(crate) fn build_layers(layers: &[Layer], build_drive: DriveBuilder<'_>) -> Box<dyn Device> {
    build_one(layers, &number_layers(layers), 0, build_drive)
}

/// Builds the device on which an array of `drives` drives stands, with `layers` below the array.
pub fn build_below_array(layers: &[Layer], drives: u32, build_drive: DriveBuilder<'_>) -> Box<dyn Device> {
    build_members(layers, &number_layers(layers), drives, build_drive)
}

/// Builds `layers` above the drive with this number, or, with an array among them, above all drives of the array.
fn build_one(
    layers: &[Layer],
    layer_numbers: &[u32],
    drive_number: u32,
    build_drive: DriveBuilder<'_>,
) -> Box<dyn Device> {
    let (Some((top, below)), Some((&number, numbers_below))) = (layers.split_last(), layer_numbers.split_last()) else {
        return build_drive(drive_number);
    };
    match top {
        Layer::Array(spec) => {
            let members = build_members(below, numbers_below, spec.members, build_drive);
            top.build_above(number, members, spec.members)
        }
        _ => top.build_above(number, build_one(below, numbers_below, drive_number, build_drive), 1),
    }
}

/// Builds the drives of an array, each with its own layers, and the layers that they share.
fn build_members(
    layers: &[Layer],
    layer_numbers: &[u32],
    drives: u32,
    build_drive: DriveBuilder<'_>,
) -> Box<dyn Device> {
    match (layers.split_last(), layer_numbers.split_last()) {
        (Some((top, below)), Some((&number, numbers_below))) if top.is_shared() => {
            top.build_above(number, build_members(below, numbers_below, drives, build_drive), drives)
        }
        _ => {
            let members = (0..drives).map(|drive_number| build_one(layers, layer_numbers, drive_number, build_drive));
            Box::new(Ports::new(members.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::ControlError;
    use crate::block::setting::{
        ArraySetting, DriverSetting, FlushPolicy, ForcedWritePolicy, LayerSetting, PowerOffPolicy,
    };
    use crate::host::array::layout::{RaidLevel, VolumeShare};
    use crate::host::array::{ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
    use crate::queue::{Discipline, Policy};
    use crate::testing::SmallDrive;
    use crate::time::Span;

    fn stack_of(layers: Vec<Layer>) -> Stack {
        Stack { layers, ..Stack::bare(SmallDrive::default().profile()) }
    }

    const CONTROLLER: Layer = Layer::Controller(ControllerSpec::plain(4, Span::ZERO, 100_000_000));

    fn driver() -> Layer {
        Layer::Driver(DriverSpec::default())
    }

    fn processor() -> Layer {
        let [issue, finish, interrupt] = [Span::ZERO; 3];
        Layer::Processor(ProcessorSpec { cores: 1, issue, finish, interrupt, copy: 1 << 30, parity: 1 << 30 })
    }

    fn array(level: RaidLevel, members: u32) -> Layer {
        Layer::Array(ArraySpec {
            members,
            shares: alloc::vec![VolumeShare { level, permille: 1000 }],
            chunk: 16,
            depth: 32,
            queue: Discipline::plain(Policy::Fcfs),
            balance: ReadBalance::Nearest,
            parity: ParityWrite::Fewest,
            stripe_cache: 256,
            sync_speed: SyncSpeed::LINUX,
            sync_policy: SyncPolicy::Md,
            lost: 0,
            bitmap: None,
        })
    }

    #[test]
    fn facts_are_those_of_the_device() {
        for (level, members) in [
            (RaidLevel::Linear, 3),
            (RaidLevel::Raid0, 3),
            (RaidLevel::Raid1, 2),
            (RaidLevel::Raid10, 4),
            (RaidLevel::Raid5, 4),
        ] {
            let stack = stack_of(alloc::vec![CONTROLLER, Layer::Bus(1 << 27), array(level, members), driver()]);
            assert_eq!(stack.sectors(), stack.build(Seed(1)).limits(0).sectors);
            assert_eq!(stack.drives(), members);
        }
        let bare = stack_of(alloc::vec![]);
        assert_eq!(bare.sectors(), bare.build(Seed(1)).limits(0).sectors);
    }

    #[test]
    fn a_layer_that_stands_twice_is_numbered_from_the_top() {
        let names =
            stack_of(alloc::vec![CONTROLLER, driver(), array(RaidLevel::Raid0, 2), CONTROLLER, driver()]).layer_names();
        assert_eq!(names, ["controller-2", "driver-2", "array", "controller", "driver"]);
    }

    #[test]
    fn a_setting_is_that_of_the_layer_with_its_number() {
        let profile = SmallDrive::default().with_buffer(4, 64).with_write_back(2).profile();
        let layers = alloc::vec![driver(), array(RaidLevel::Raid0, 2), driver()];
        let twice = Stack { layers, ..Stack::bare(profile) };
        let drops =
            |number| Control::Set(LayerSetting::Driver { number, setting: DriverSetting::Flush(FlushPolicy::Drop) });
        let change = |number| twice.build(Seed(1)).control(Instant::ZERO, &drops(number));
        assert_eq!([1, 2, 3].map(change), [Ok(()), Ok(()), Err(ControlError::UnknownKey)]);
        let first_breaker = |number| {
            let changes = alloc::vec![SettingChange { at: Instant::ZERO, control: drops(number) }];
            Stack { changes, ..twice.clone() }.promise_breakers().first().map(|breaker| breaker.level.clone())
        };
        assert_eq!([1, 2, 3].map(first_breaker), [Some("driver".to_string()), Some("driver-2".to_string()), None]);
    }

    fn misplaced_layer(layers: Vec<Layer>) -> Option<String> {
        stack_of(layers).check().err().map(|misplaced| misplaced.layer)
    }

    #[test]
    fn an_order_that_makes_no_sense_is_refused() {
        let bus = Layer::Bus(1 << 27);
        let raid = || array(RaidLevel::Raid0, 2);
        assert_eq!(
            misplaced_layer(alloc::vec![CONTROLLER, bus.clone(), bus.clone(), raid(), driver(), processor()]),
            None
        );
        assert_eq!(misplaced_layer(alloc::vec![driver(), raid(), CONTROLLER]), None);
        assert_eq!(misplaced_layer(alloc::vec![CONTROLLER, bus.clone(), driver()]), None, "one drive");
        assert_eq!(misplaced_layer(alloc::vec![processor(), driver()]).as_deref(), Some("processor"));
        assert_eq!(misplaced_layer(alloc::vec![processor(), processor()]).as_deref(), Some("processor-2"));
        assert_eq!(misplaced_layer(alloc::vec![bus.clone(), CONTROLLER, raid()]).as_deref(), Some("bus"));
        assert_eq!(misplaced_layer(alloc::vec![raid(), bus]).as_deref(), Some("bus"));
        assert_eq!(misplaced_layer(alloc::vec![raid(), raid()]).as_deref(), Some("array"));
        let scsi = || Layer::Scsi(ScsiSpec { rate: 1 << 27, command: Span::ZERO, reconnect: Span::ZERO, fair: false });
        assert_eq!(misplaced_layer(alloc::vec![Layer::Channel(2), scsi(), array(RaidLevel::Raid0, 15)]), None);
        assert_eq!(misplaced_layer(alloc::vec![scsi(), array(RaidLevel::Raid0, 16)]).as_deref(), Some("scsi"));
        assert_eq!(misplaced_layer(alloc::vec![raid(), Layer::Channel(2)]).as_deref(), Some("channel"));
    }

    /// Expected values are worked out by hand. A setting counts at the beginning or after a change.
    #[test]
    fn settings_that_break_promises_are_named_where_they_can_do_harm() {
        let caching = SmallDrive::default().with_buffer(4, 64).with_write_back(2);
        let dropping = || Layer::Driver(DriverSpec { flush: FlushPolicy::Drop, ..DriverSpec::default() });
        let raid = |level| alloc::vec![array(level, 4)];
        let twice = || alloc::vec![driver(), driver()];
        let lose = |member| LayerSetting::Array(ArraySetting::Lose(member));
        let lower = LayerSetting::Driver { number: 2, setting: DriverSetting::WriteThrough(ForcedWritePolicy::Ignore) };
        let upper = LayerSetting::Driver { number: 1, setting: DriverSetting::PowerOff(PowerOffPolicy::AtOnce) };
        // A drive, its layers and the changes; each setting that breaks a promise, with its value and the promise.
        type Case<'a> = (&'a SmallDrive, Vec<Layer>, &'a [LayerSetting], &'a [&'a str]);
        let cases: [Case<'_>; 8] = [
            (&SmallDrive::default(), alloc::vec![dropping()], &[], &[]),
            (&caching, alloc::vec![dropping()], &[], &["driver.flush=drop Fua", "driver.flush=drop Flush"]),
            (&caching, twice(), &[], &[]),
            (&caching, twice(), &[lower], &["driver-2.write_through=ignore Fua"]),
            (&caching, twice(), &[upper], &["driver.power_off=at-once PowerOff"]),
            (&caching, raid(RaidLevel::Raid5), &[lose(2)], &["array.lose=2 Rows"]),
            (&caching, raid(RaidLevel::Raid6), &[lose(0), lose(2)], &["array.lose=0 Rows", "array.lose=0,2 Rows"]),
            (&caching, raid(RaidLevel::Raid10), &[lose(2)], &[]),
        ];
        for (drive, layers, changes, expected) in cases {
            let change = |&setting| SettingChange { at: Instant::ZERO, control: Control::Set(setting) };
            let changes = changes.iter().map(change).collect();
            let stack = Stack { layers, changes, ..Stack::bare(drive.profile()) };
            let describe = |it: breakers::PromiseBreaker| format!("{}={} {:?}", it.setting, it.value, it.breaks);
            let found: Vec<String> = stack.promise_breakers().into_iter().map(describe).collect();
            assert_eq!(found, expected);
        }
    }
}
