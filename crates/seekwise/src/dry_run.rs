//! Estimates how long a comparison will take, for `seekwise compare --dry-run`: each side is simulated once on a
//! modelled drive, in the space of the file or device that is to be measured. Nothing is opened for writing, and no
//! file is created.

use seekwise_disk::rng::Seed;
use seekwise_drives::key_names::{is_real_key, job, real};
use seekwise_lab::run::measure_run;
use seekwise_run::handle::RealOptions;
use seekwise_run::place::{self, PlaceSource};

use crate::band::draw_count;
use crate::compare::Comparison;
use crate::error::Error;
use crate::reading::display_name;
use crate::setup::{self, Setup};
use crate::system::places::PLACES;
use crate::system::real::path_bytes;

/// How long a comparison will take.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DryRun {
    /// For each value of the setting: seconds of a run.
    pub seconds: Vec<f64>,
    /// Bytes of the file or device that is to be measured; `None` for a modelled disk.
    pub space_bytes: Option<u64>,
    /// On how many draws of its drives' fits all runs are made again.
    pub draws: usize,
}

/// Simulates each side once; sides that are to be measured run on `drive`.
pub fn dry_run(comparison: &Comparison, drive: &str) -> Result<DryRun, Error> {
    let Comparison { setup, key, values, .. } = comparison;
    let space_bytes = measured_space_bytes(setup)?;
    let (mut seconds, mut draws, inputs) = (Vec::new(), Vec::new(), setup.files.inputs());
    for value in values {
        let mut set: Vec<(String, String)> = setup.set.clone();
        set.push((key.clone(), value.clone()));
        set.retain(|(key, _)| !is_real_key(key));
        if let Some(bytes) = space_bytes.filter(|_| !set.iter().any(|(key, _)| key == job::SPAN)) {
            set.push((job::SPAN.to_owned(), bytes.to_string()));
        }
        let target = if space_bytes.is_some() { drive.to_owned() } else { setup.target.clone() };
        let prepared = setup::prepare(&Setup { target, set, destroy: None, ..setup.clone() }.cell()?, &inputs)?;
        if prepared.target.is_measured() {
            return Err(Error::new(format!(
                "--dry-run: {} is not a modelled disk; expected a drive",
                display_name(drive)
            )));
        }
        draws.extend(Some(draw_count(&prepared)).filter(|count| *count > 0));
        let seed = Seed(setup.seed).run_seed(0).0;
        seconds.push(measure_run(&prepared.target, &prepared.job, seed, |_| {})?.last_end().nanos() as f64 / 1e9);
    }
    // The bands are those of modelled disks.
    let has_bands = comparison.band && space_bytes.is_none();
    let draws = draws.into_iter().min().filter(|_| has_bands).unwrap_or(0);
    Ok(DryRun { seconds, space_bytes, draws })
}

fn measured_space_bytes(setup: &Setup) -> Result<Option<u64>, Error> {
    match place::parse_place(PLACES, &setup.target) {
        Some((kind, Some(path))) if matches!(kind.of, PlaceSource::File(_) | PlaceSource::Device(_)) => {
            let layout = setup.set.iter().find(|(key, _)| key == real::LAYOUT);
            let layout_bytes = layout.and_then(|(_, value)| seekwise_drives::dotted::parse_size(value));
            let options = RealOptions { layout: layout_bytes, ..RealOptions::default() };
            let bytes = path_bytes(path, matches!(kind.of, PlaceSource::Device(_)), &options).map_err(Error::new)?;
            // Whole blocks of 4 KiB, the largest logical sectors of any drive.
            Ok(Some(bytes / 4096 * 4096))
        }
        Some(_) => Err(Error::new(format!(
            "--dry-run: cannot estimate the time on {}; expected a file, a device or a modelled disk",
            setup.target
        ))),
        None => Ok(None),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_estimated_on_the_drive_in_the_space_that_it_will_have() {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("file:{}", folder.path().join("disk").display());
        let estimate = |setup: Setup, drive: &str| {
            let comparison = Comparison::new(setup.with_runtime("1 s"), "job.depth", ["1", "4"]);
            dry_run(&comparison, drive).map_err(|why| why.to_string())
        };
        let on = |target: &str| Setup::new("random-read", target);
        // 2441 blocks of 4 KiB, and some bytes.
        let space = 2441_u64 * 4096;
        let laid_out = on(&file).with(real::LAYOUT, space + 7);
        let estimated = estimate(laid_out.clone(), "cheetah-15k.4").unwrap();
        let modelled = estimate(on("cheetah-15k.4").with(job::SPAN, space), "no drive").unwrap();
        assert_eq!((estimated.space_bytes, modelled.space_bytes), (Some(space), None));
        assert!(estimated.seconds.len() == 2 && estimated.seconds == modelled.seconds, "{estimated:?} {modelled:?}");
        assert!(!folder.path().join("disk").exists(), "nothing is made");
        let why = estimate(laid_out, "null").unwrap_err();
        assert_eq!(why, "--dry-run: null is not a modelled disk; expected a drive");
        let why = estimate(on("null"), "cheetah-15k.4").unwrap_err();
        assert!(why.starts_with("--dry-run: cannot estimate the time on null; expected a file, "), "{why}");
    }
}
