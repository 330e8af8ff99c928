//! DiskSim 4's parameter files: converts a parameter file (.parv) and the files it sources to a drive profile in TOML, each
//! value with its origin, and lists the parameters that the model has no counterpart for. If figures contradict each other, the
//! one that can be laid out is used, with a warning that names both; only what cannot be laid out is an error.
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
//! Parameters mean what the DiskSim 4.0 manual says, or what the program does where it differs.

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

/// Imports the drive `wanted`, or the only one, from the parameters in `text`; `load` reads the files that they source. `name`
/// is the name of the profile.
pub fn import(
    file: &str,
    text: &str,
    load: &SourceLoader<'_>,
    wanted: Option<&str>,
    name: &str,
) -> Result<DisksimImport, Vec<Diagnostic>> {
    let files = SourceFiles { first: file, load };
    let mut setup = syntax::read(text, files).map_err(|error| vec![error])?;
    let mut warnings = std::mem::take(&mut setup.warnings);
    let disk = choose_drive(file, &setup, wanted, &mut warnings)?;
    let mut buses = Vec::new();
    for block in &setup.blocks {
        for kind in ["disksim_bus", "disksim_ctlr", "disksim_iodriver"] {
            block.collect_kind(kind, &mut buses);
        }
    }
    let fields = ParameterFields::new(disk, behaviour::DISK);
    let model = ParameterFields::new(fields.required_block("Model")?, MODEL);
    let mut text = write::ProfileWriter::new(name, &disk.name, file);
    warnings.into_iter().for_each(|warning| text.warn(warning));
    let cylinders = layout::write_geometry(&model, &mut text)?;
    seek::write_mechanics(&fields, &model, cylinders, files, &mut text)?;
    behaviour::write_behaviour(&fields, &buses, &mut text)?;
    let mut errors = fields.report_unknown_keys(&mut text);
    errors.extend(model.report_unknown_keys(&mut text));
    if !errors.is_empty() {
        return Err(errors);
    }
    let (toml, left, warnings) = text.finish();
    // The result must be a valid profile: its checks find contradictions.
    let drive = profile::parse(name, &toml)?;
    drive
        .profile()
        .map_err(|errors| errors.into_iter().map(|error| as_source_error(file, error)).collect::<Errors>())?;
    Ok(DisksimImport { drive: disk.name.clone(), toml, left, warnings })
}

/// Keys of a `dm_disk`.
const MODEL: &[&str] =
    &["Number of data surfaces", "Number of cylinders", "Block count", "Mechanical Model", "Layout Model"];

/// Moves an error in the generated profile to the file that it came from.
fn as_source_error(file: &str, error: Diagnostic) -> Diagnostic {
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
    setup.blocks.iter().for_each(|block| block.collect_kind("disksim_disk", &mut disks));
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
    let part = |kind: &str| kinds().any(|found| found == kind);
    if part("dm_disk") {
        return fault
            .with_expected("the file that sources it (.diskspecs or .parv); this one holds only a drive's mechanics");
    }
    if part("disksim_simpledisk") {
        return fault.with_expected("a `disksim_disk`; a `disksim_simpledisk` has no mechanics");
    }
    let near = kinds().find(|kind| nearest(kind, ["disksim_disk"]).is_some());
    Diagnostic { nearest: near.map(|_| "disksim_disk".to_owned()), key: near.map(str::to_owned), ..fault }
}

#[cfg(test)]
mod tests;
