//! The built-in drives by name: their profiles as text and as values.
//!
//! The figures themselves stand in `profiles/*.toml`, each with its source; [`profile`] reads them. No file is opened: the caller
//! reads a user's own profile.
//!
//! ```
//! use seekwise_drives::drives;
//!
//! let profile = drives::load("barracuda-7200.7-ncq").unwrap().profile().unwrap();
//! assert_eq!(profile.geometry.sectors(), 312_581_808);
//! ```

mod lines;
mod search;

pub(crate) use self::search::explain_drive_name;
pub use self::search::{matching, suggest_drives};
use crate::diagnostic::Diagnostic;
use crate::profile::{self, DriveFile};
use crate::spelling::is_same;

macro_rules! drives {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../profiles/", $name, ".toml")))),+]
    };
}

/// Names and texts, studies' drives first, each group by age.
static DRIVES: [(&str, &str); 14] = drives![
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
    "ultrastar-hc570-22tb",
];

/// The names of the built-in drives.
pub fn names() -> impl Iterator<Item = &'static str> {
    DRIVES.iter().map(|drive| drive.0)
}

/// The profile of a built-in drive as TOML, by its name or by a model number that no other drive has; capitals and punctuation
/// do not matter.
pub fn find_text(name: &str) -> Option<&'static str> {
    let text_of = |name: &str| DRIVES.iter().find(|drive| drive.0 == name).map(|drive| drive.1);
    text_of(name).or_else(|| resolve_name(name).and_then(text_of))
}

/// Finds a drive by another spelling of its name, or by its model number.
fn resolve_name(name: &str) -> Option<&'static str> {
    // The word is the path of a file.
    if name.contains(['/', '\\']) || name.ends_with(".toml") {
        return None;
    }
    names().find(|known| is_same(known, name)).or_else(|| search::find_by_model_number(name))
}

/// Reads a profile's text, for [`StackFile::build`](crate::stack::StackFile::build). An unknown name is an error that names the
/// nearest drive, or says whether the model has such drives.
pub fn read(name: &str) -> Result<String, Vec<Diagnostic>> {
    find_text(name).map(str::to_owned).ok_or_else(|| {
        let unknown = Diagnostic::at(name, 0, "no such built-in drive");
        let unknown = unknown.with_expected("a name that `seekwise drives` lists");
        vec![suggest_drives(unknown.suggest_nearest(name, names()), name)]
    })
}

/// Reads a built-in drive. An unknown name is an error that names the nearest.
pub fn load(name: &str) -> Result<DriveFile, Vec<Diagnostic>> {
    profile::parse(&format!("{name}.toml"), &read(name)?)
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
    fn a_drive_is_called_by_its_model_number_too() {
        for (called, name) in [
            ("Exos-X18", "exos-x18"),
            ("exos x18", "exos-x18"),
            ("ST18000NM000J", "exos-x18"),
            ("st18000nm000j", "exos-x18"),
            ("ST2000DM006", "barracuda-2t-st2000dm006"),
            ("WD740GD", "raptor-wd740gd"),
            ("WUH722222ALE6L4", "ultrastar-hc570-22tb"),
            ("Barracuda-7200.7", "barracuda-7200.7"),
        ] {
            assert_eq!(find_text(called), find_text(name), "{called}");
        }
        for other in ["18tb", "exos", "160", "st18000nm", "7200.7", "ST18000NM000J.toml", "./exos-x18", ""] {
            assert_eq!(find_text(other), None, "{other}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        assert_eq!(
            load("exos-x81").unwrap_err()[0].to_string(),
            "exos-x81: no such built-in drive; expected a name that `seekwise drives` lists; did you mean `exos-x18`?"
        );
    }
}
