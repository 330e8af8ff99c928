//! Reads an Iometer configuration (.icf) into an [`IometerConfig`].
//!
//! The grammar is that of Iometer's own source, versions of 1998 to 1.1. At a key it does not know, Iometer stops; this
//! reader notes the key in [`IometerConfig::unknown`], warns and goes on, because files outlive versions. Settings of the
//! results display say nothing about the work and are skipped. [`IometerConfig::job`] makes the job.

pub use super::config::{
    Cycling, DepthCycling, IcfAccessSpec, IcfVersion, IometerConfig, IometerManager, IometerWorker, LineAndName,
    SpecAssignment, TestType, WorkerSpawn,
};
use seekwise_drives::diagnostic::Diagnostic;

use super::lines::decode_text;
use super::reader::IcfReader;

/// Reads a configuration. `file` is its name for diagnostics; `bytes` are UTF-8 or Latin-1.
///
/// Also returns warnings: unknown keys, odd sizes, text out of place.
///
/// # Errors
/// All that is wrong: shares that do not sum to 100, numbers out of range, unknown words for values, or a file
/// without any section of an Iometer configuration.
pub fn parse(file: &str, bytes: &[u8]) -> Result<(IometerConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    let text = decode_text(bytes);
    let mut reader = IcfReader::new(file, &text);
    let sections = reader.read_sections();
    if sections == 0 {
        let message = "not an Iometer configuration: none of its sections are present";
        reader.errors.push(Diagnostic::at(file, 0, message).with_expected("'TEST SETUP or 'ACCESS SPECIFICATIONS"));
    }
    if reader.errors.is_empty() { Ok((reader.config, reader.warnings)) } else { Err(reader.errors) }
}
