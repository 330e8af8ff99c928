//! The volumes of a scene and the files on them before the run. A [`SceneLayout`] holds all that determines them, so
//! scenes with equal layouts have equal volumes, and a layout that fitted once need not be tried again.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Seed;

use super::{SceneError, SceneSpec, VolumePlan};
use crate::files::program::{Program, ProgramContext, ProgramSpec};
use crate::files::volume::{Alignment, IoPlan, Partition, Volume, VolumeSpec, lay_out_partitions};

/// All that determines the volumes of a scene and the files on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneLayout {
    /// The sectors of each device: the drive, then the further ones.
    sectors: Vec<u64>,
    alignment: Alignment,
    volumes: Vec<VolumePlan>,
    programs: Vec<ProgramSpec>,
    seed: Seed,
    /// Files that the programs will write are placed, too, to see whether they fit.
    trial: bool,
    /// The volumes record the changes of their pages.
    history: bool,
}

/// Volumes with the files on them, and the programs that use them.
pub(super) struct PlacedScene {
    pub(super) volumes: Vec<Volume>,
    pub(super) programs: Vec<Box<dyn Program>>,
}

impl SceneSpec {
    /// The layout with all files that the programs will write, to see whether they fit.
    pub fn trial_layout(&self, drive_sectors: u64) -> SceneLayout {
        SceneLayout { trial: true, ..self.run_layout(drive_sectors, Seed(0), false) }
    }

    /// The layout of a run. With `records_changes` the volumes record the changes of their pages.
    pub(super) fn run_layout(&self, drive_sectors: u64, seed: Seed, records_changes: bool) -> SceneLayout {
        SceneLayout {
            sectors: core::iter::once(drive_sectors).chain(self.beside.iter().map(|it| it.sectors)).collect(),
            alignment: self.alignment,
            volumes: self.volumes.clone(),
            programs: self.programs.iter().map(|program| program.doing).collect(),
            seed,
            trial: false,
            history: records_changes,
        }
    }
}

impl SceneLayout {
    /// Checks that all volumes fit their devices, and all files their volumes.
    pub fn check_fit(&self) -> Result<(), SceneError> {
        self.place_volumes().map(|_| ())
    }

    /// The partition of each volume. The sectors of the devices are numbered on from one device to the next.
    fn place_partitions(&self) -> Result<Vec<Partition>, SceneError> {
        let mut device_first = 0;
        let mut all = alloc::vec![Partition { first: 0, sectors: 0 }; self.volumes.len()];
        for (unit, &sectors) in self.sectors.iter().enumerate() {
            let is_on_device = |&index: &usize| usize::from(self.volumes[index].unit) == unit;
            let on_device: Vec<usize> = (0..all.len()).filter(is_on_device).collect();
            let bytes: Vec<u64> = on_device.iter().map(|&index| self.volumes[index].bytes).collect();
            // Volumes are added one by one, so that an error names the first that does not fit.
            for (position, &index) in on_device.iter().enumerate() {
                let partitions = lay_out_partitions(sectors, self.alignment, &bytes[..=position])
                    .map_err(|misfit| SceneError::Volume(index, misfit))?;
                let partition = partitions[position];
                all[index] = Partition { first: device_first + partition.first, ..partition };
            }
            device_first += sectors;
        }
        Ok(all)
    }

    /// Creates the volumes with all files from before the run, and the programs.
    pub(super) fn place_volumes(&self) -> Result<PlacedScene, SceneError> {
        let partitions = self.place_partitions()?;
        let mut volumes = Vec::with_capacity(partitions.len());
        for (index, (plan, partition)) in self.volumes.iter().zip(partitions).enumerate() {
            let seed = Seed(self.seed.numbered_stream("volume", index as u64).next_u64());
            let spec = VolumeSpec { partition, format: plan.format, aging: plan.aging, history: self.history, seed };
            let mut volume = Volume::format(&spec).map_err(|misfit| SceneError::Volume(index, misfit))?;
            let placed = plan.files.place_files(&mut volume, index as u8, &mut seed.stream("files"));
            placed.map_err(|refused| SceneError::Files(index, refused))?;
            volumes.push(volume);
        }
        let mut programs = Vec::with_capacity(self.programs.len());
        for (index, program) in self.programs.iter().enumerate() {
            let seed = Seed(self.seed.numbered_stream("program", index as u64).next_u64());
            let mut context = ProgramContext { volumes: &mut volumes, seed, trial: self.trial };
            programs.push(program.create_program(&mut context).map_err(|refused| SceneError::Program(index, refused))?);
        }
        for volume in &mut volumes {
            volume.begin_run();
            // The system runs already, so all that a mount reads is in memory.
            volume.mount(&mut IoPlan::new());
        }
        Ok(PlacedScene { volumes, programs })
    }
}
