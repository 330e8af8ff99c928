//! The built-in drives, with checks and curves of each, profiles drafted from datasheets, and the built-in studies.
//!
//! | room | what it is |
//! |---|---|
//! | [`check`] | the modelled drive against its datasheet or measurements |
//! | [`curves`] | seek times and transfer rates as points |
//! | [`show`] | the list of drives and one drive in full, as values |
//! | [`sketch`] | a drive's profile from a few figures of its datasheet |
//! | [`studies`] | the built-in studies |
//!
//! The drives themselves, by name, are [`seekwise_drives::drives`].

pub mod check;
pub mod curves;
pub mod show;
pub mod sketch;
pub mod studies;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::drives;
pub use seekwise_drives::drives::{find_text, names};
use seekwise_drives::profile::DriveFile;

/// Loads a built-in drive by name. The error for an unknown name suggests the nearest name, or a profile's file.
pub fn load_drive(name: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    drives::load(name).map_err(|mut errors| {
        let expected = errors.iter_mut().filter_map(|error| error.expected.as_mut());
        let lists = expected.filter(|expected| expected.ends_with("lists"));
        lists.for_each(|expected| expected.push_str(", or a profile's file"));
        errors
    })
}
