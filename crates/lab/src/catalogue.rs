//! The built-in drives and studies: the drives' profiles, checks, and curves as text and as pictures.
//!
//! | room | what it is |
//! |---|---|
//! | [`check`] | the modelled drive against its datasheet or measurements |
//! | [`everyday`] | everyday work on the modelled drive against arithmetic from its figures |
//! | [`curves`] | seek times and transfer rates as points |
//! | [`show`] | the list of drives and one drive in full, as values |
//! | [`sketch`] | a drive's profile from a few figures of its datasheet |
//! | [`studies`] | the built-in studies |
//!
//! The figures themselves are in `drives/*.toml`, each with its source.

pub mod check;
pub mod curves;
pub mod everyday;
pub mod show;
pub mod sketch;
pub mod studies;

use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::profile::{self, DriveFile};

macro_rules! drives {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../drives/", $name, ".toml")))),+]
    };
}

/// Names and texts; the studies' drives first, each group by age.
static DRIVES: [(&str, &str); 13] = drives![
    "fireball-plus-as-30",
    "caviar-wd400jb",
    "barracuda-7200.7",
    "barracuda-7200.7-ncq",
    "raptor-wd740gd",
    "travelstar-5k250-160",
    "cheetah-15k.4",
    "cheetah-10k.7",
    "atlas-10k-v-300",
    "atlas-15k-ii-73",
    "barracuda-2t-st2000dm006",
    "wd140edfz",
    "exos-x18",
];

/// The names of the built-in drives.
pub fn names() -> impl Iterator<Item = &'static str> {
    DRIVES.iter().map(|drive| drive.0)
}

/// The profile of a built-in drive as TOML.
pub fn text(name: &str) -> Option<&'static str> {
    DRIVES.iter().find(|drive| drive.0 == name).map(|drive| drive.1)
}

/// Reads a built-in drive. An unknown name is an error that gives the nearest.
pub fn load(name: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    match text(name) {
        Some(text) => profile::parse(&format!("{name}.toml"), text),
        None => {
            let unknown = Diagnostic::at(name, 0, "no such built-in drive");
            let unknown = unknown.expected("a name that `seekwise drives` lists, or a profile's file");
            Err(vec![unknown.nearest_to(name, names()).limited(name)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drive_carries_its_own_name() {
        for name in names() {
            assert_eq!(load(name).unwrap().name, name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        assert_eq!(
            load("exos-x81").unwrap_err()[0].to_string(),
            "exos-x81: no such built-in drive; expected a name that `seekwise drives` lists, or a profile's file; did you mean `exos-x18`?"
        );
    }
}
