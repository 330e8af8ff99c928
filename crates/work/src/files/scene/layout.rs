//! The layout of volumes and files before a scene's run. A [`SceneLayout`] determines it: scenes of equal layouts find
//! the same volumes, and one that fits need not be tried again.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Seed;

use super::{SceneError, SceneSpec, VolumePlan};
use crate::files::program::{Program, ProgramContext, ProgramSpec};
use crate::files::volume::{Alignment, IoPlan, Partition, Volume, VolumeSpec, lay_out_partitions};

/// All that determines the volumes of a scene and the files on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SceneLayout {
    /// By device: the drive, then the further ones.
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
    /// The layout on a drive of `sectors` sectors with all files that the programs will write, to see whether they fit.
    pub fn trial_layout(&self, sectors: u64) -> SceneLayout {
        SceneLayout { trial: true, ..self.run_layout(sectors, Seed(0), false) }
    }

    /// The layout of a run on a drive of `sectors` sectors.
    pub(super) fn run_layout(&self, sectors: u64, seed: Seed, history: bool) -> SceneLayout {
        SceneLayout {
            sectors: core::iter::once(sectors).chain(self.beside.iter().map(|it| it.sectors)).collect(),
            alignment: self.alignment,
            volumes: self.volumes.clone(),
            programs: self.programs.iter().map(|program| program.doing).collect(),
            seed,
            trial: false,
            history,
        }
    }
}

impl SceneLayout {
    /// Checks that everything fits.
    pub fn check_fit(&self) -> Result<(), SceneError> {
        self.place_volumes().map(|_| ())
    }

    /// The partitions of the volumes, one after another on each device.
    fn place_partitions(&self) -> Result<Vec<Partition>, SceneError> {
        let mut first = 0;
        let mut all = alloc::vec![Partition { first: 0, sectors: 0 }; self.volumes.len()];
        for (unit, &sectors) in self.sectors.iter().enumerate() {
            let own: Vec<usize> = (0..all.len()).filter(|&at| usize::from(self.volumes[at].unit) == unit).collect();
            let bytes: Vec<u64> = own.iter().map(|&at| self.volumes[at].bytes).collect();
            let lay_out = |count: usize| lay_out_partitions(sectors, self.alignment, &bytes[..count]);
            for (count, &at) in own.iter().enumerate() {
                let lie = lay_out(count + 1).map_err(|misfit| SceneError::Volume(at, misfit))?;
                all[at] = Partition { first: first + lie[count].first, ..lie[count] };
            }
            first += sectors;
        }
        Ok(all)
    }

    /// Creates the volumes with all files from before the run, and the programs.
    pub(super) fn place_volumes(&self) -> Result<PlacedScene, SceneError> {
        let lie = self.place_partitions()?;
        let mut volumes = Vec::with_capacity(lie.len());
        for (at, (plan, partition)) in self.volumes.iter().zip(lie).enumerate() {
            let seed = Seed(self.seed.numbered_stream("volume", at as u64).next_u64());
            let spec = VolumeSpec { partition, format: plan.format, aging: plan.aging, history: self.history, seed };
            let mut volume = Volume::format(&spec).map_err(|misfit| SceneError::Volume(at, misfit))?;
            let placed = plan.files.place_files(&mut volume, at as u8, &mut seed.stream("files"));
            placed.map_err(|refused| SceneError::Files(at, refused))?;
            volumes.push(volume);
        }
        let mut programs = Vec::with_capacity(self.programs.len());
        for (at, doing) in self.programs.iter().enumerate() {
            let seed = Seed(self.seed.numbered_stream("program", at as u64).next_u64());
            let mut place = ProgramContext { volumes: &mut volumes, seed, trial: self.trial };
            programs.push(doing.create_program(&mut place).map_err(|refused| SceneError::Program(at, refused))?);
        }
        for volume in &mut volumes {
            volume.begin_run();
            // The system runs already, so all that a mount reads is in memory.
            volume.mount(&mut IoPlan::new());
        }
        Ok(PlacedScene { volumes, programs })
    }
}
