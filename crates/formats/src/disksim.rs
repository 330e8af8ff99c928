//! DiskSim 4's parameter files: converts a parameter file (.parv) and the files it sources to a drive profile in TOML, each
//! value with its origin. Lists the parameters without a counterpart in the model. If figures contradict each other, the one that
//! gives a possible layout is used, with a warning that names both; contradictions without a possible layout are errors.
//!
//! | file | what it is |
//! |---|---|
//! | [`syntax`] | the language: words, blocks, lists, sources |
//! | `fields` | a block's values by key, and unknown keys |
//! | `layout`, `layout_g4` | layout generations 1 and 4 as zones and holes |
//! | `slots` | holes, and the number of blocks left, for both generations |
//! | `seek` | all forms of seek curves as points |
//! | `behaviour` | buffer, firmware, overheads, bus; and parameters without a counterpart |
//! | `write` | the profile's text |
//!
//! The meaning of parameters is from the DiskSim 4.0 manual; where the program deviates from its manual, from the program.

mod behaviour;
mod fields;
mod layout;
mod layout_g4;
mod seek;
mod slots;
pub mod syntax;
mod write;

use fields::ParameterFields;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile;
use seekwise_drives::spelling::nearest;
use syntax::{DisksimSetup, Errors, ParameterBlock, SourceFiles, SourceLoader};
use write::FinishedProfile;
pub use write::UnmodelledParameter;

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct DisksimImport {
    /// The drive's name in its file.
    pub drive: String,
    /// The profile.
    pub toml: String,
    /// Parameters that the model has no counterpart for.
    pub left: Vec<UnmodelledParameter>,
    /// Contradictory or unknown parameters, and how they were handled.
    pub warnings: Vec<Diagnostic>,
}

/// Imports the drive `wanted_drive`, or the only one, from the parameters in `text`; `load` reads the files that they source.
pub fn import(
    file: &str,
    text: &str,
    load: &SourceLoader<'_>,
    wanted_drive: Option<&str>,
    profile_name: &str,
) -> Result<DisksimImport, Vec<Diagnostic>> {
    let files = SourceFiles { first: file, load };
    let mut setup = syntax::read_setup(text, files).map_err(|error| vec![error])?;
    let mut warnings = std::mem::take(&mut setup.warnings);
    let disk = choose_drive(file, &setup, wanted_drive, &mut warnings)?;
    let mut buses = Vec::new();
    for block in &setup.blocks {
        for kind in ["disksim_bus", "disksim_ctlr", "disksim_iodriver"] {
            block.collect_blocks_of_kind(kind, &mut buses);
        }
    }
    let fields = ParameterFields::new(disk, behaviour::DISK);
    let model = ParameterFields::new(fields.required_block("Model")?, MODEL);
    let mut writer = write::ProfileWriter::new(profile_name, &disk.name, file);
    warnings.into_iter().for_each(|warning| writer.warn(warning));
    let cylinders = layout::write_geometry(&model, &mut writer)?;
    seek::write_mechanics(&fields, &model, cylinders, files, &mut writer)?;
    behaviour::write_behaviour(&fields, &buses, &mut writer)?;
    let mut errors = fields.report_unknown_keys(&mut writer);
    errors.extend(model.report_unknown_keys(&mut writer));
    if !errors.is_empty() {
        return Err(errors);
    }
    let FinishedProfile { toml, unmodelled, warnings } = writer.finish();
    // The result must be a valid profile: its checks find contradictions.
    let drive = profile::parse(profile_name, &toml)?;
    drive
        .profile()
        .map_err(|errors| errors.into_iter().map(|error| relocate_error(file, error)).collect::<Errors>())?;
    Ok(DisksimImport { drive: disk.name.clone(), toml, left: unmodelled, warnings })
}

/// Keys of a `dm_disk`.
const MODEL: &[&str] =
    &["Number of data surfaces", "Number of cylinders", "Block count", "Mechanical Model", "Layout Model"];

/// Moves an error in the generated profile to the parameter file; the line is unknown.
fn relocate_error(file: &str, error: Diagnostic) -> Diagnostic {
    Diagnostic { file: file.to_owned(), line: 0, ..error }
}

/// The drive to import: the named one, the only one, or the only one that is instantiated.
fn choose_drive<'a>(
    file: &str,
    setup: &'a DisksimSetup,
    wanted: Option<&str>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<&'a ParameterBlock, Errors> {
    let mut disks = Vec::new();
    setup.blocks.iter().for_each(|block| block.collect_blocks_of_kind("disksim_disk", &mut disks));
    let names = || disks.iter().map(|disk| disk.name.as_str());
    if let Some(wanted) = wanted {
        let found = disks.iter().find(|disk| disk.name == wanted).copied();
        let fault = || Diagnostic::at(file, 0, "the file has no such drive").with_key(wanted);
        return found.ok_or_else(|| {
            vec![fault().with_expected(names().collect::<Vec<_>>().join(", ")).suggest_nearest(wanted, names())]
        });
    }
    let in_use = || disks.iter().filter(|disk| setup.instantiated.contains(&disk.name));
    match disks.as_slice() {
        [] => Err(vec![no_drive_error(file, &setup.blocks)]),
        [disk] => Ok(disk),
        _ if in_use().count() == 1 => {
            let disk = in_use().next().expect("there is one");
            let message = format!("the file has {} drives; using the one that is instantiated", disks.len());
            warnings.push(disk.at.diagnostic(message).with_key(&disk.name));
            Ok(disk)
        }
        _ => {
            let all: Vec<&str> = names().collect();
            let fault = Diagnostic::at(file, 0, format!("the file has {} drives", disks.len()));
            Err(vec![fault.with_expected(format!("--drive and one of {}", all.join(", ")))])
        }
    }
}

/// The error about a file without a drive.
fn no_drive_error(file: &str, blocks: &[ParameterBlock]) -> Diagnostic {
    let kinds = || blocks.iter().map(|block| block.kind.as_str());
    let fault = Diagnostic::at(file, 0, "the file has no drive").with_expected("a block `disksim_disk NAME { … }`");
    let has_kind = |kind: &str| kinds().any(|found| found == kind);
    if has_kind("dm_disk") {
        return fault
            .with_expected("the file that sources it (.diskspecs or .parv); this one holds only a drive's mechanics");
    }
    if has_kind("disksim_simpledisk") {
        return fault.with_expected("a `disksim_disk`; a `disksim_simpledisk` has no mechanics");
    }
    let near = kinds().find(|kind| nearest(kind, ["disksim_disk"]).is_some());
    Diagnostic { nearest: near.map(|_| "disksim_disk".to_owned()), key: near.map(str::to_owned), ..fault }
}

#[cfg(test)]
mod tests;
