//! What a layer of a stack is to whoever reads stacks: its name, its keys and how it is built of them. Each layer has a
//! file of its own with one [`Kind`]; the reader, `--set`, `seekwise keys`, the guide, the guard of credits and the errors
//! all go by the list of them (`KINDS`).

use seekwise_model::drive::profile::Profile;
use seekwise_model::stack::Layer;

use crate::concern::Concern;
use crate::figure::{Figure, Figures, Key, Kind as Origin, Value};

/// A kind of layer.
pub(crate) struct Kind {
    /// Its name in a stack, with which its keys begin.
    pub name: &'static str,
    /// What holds where a stack has none.
    pub otherwise: &'static str,
    /// What it is, for a reader.
    pub what: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Keys that mean something only where another, or one of several, has a certain value or is there at all: the key,
    /// the others, the values.
    pub belongs: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
    /// What a difference in it is credited to, but for keys that have a concern of their own.
    pub concern: Concern,
    /// The layer by its figures, all required ones of which are there.
    pub build: fn(&Figures<'_>, &mut Beside<'_>) -> Result<Layer, Misfit>,
}

/// What a layer finds of the others while a stack is built, from the drive up.
pub(crate) struct Beside<'a> {
    /// The drive.
    pub profile: &'a mut Profile,
    /// What the drivers so far cost for each request, in microseconds of the reference machine.
    pub request_us: f64,
}

/// The key of what does not fit the layer's other figures, and what would.
pub(crate) type Misfit = (&'static str, String);

impl Kind {
    /// What the user sets must mean something: the first key that does not, and what it would need.
    pub fn meaningless(&self, figures: &[Figure]) -> Option<Misfit> {
        let given = |key: &str| figures.iter().find(|figure| figure.key == key);
        let set = |key: &str| given(key).is_some_and(|figure| figure.kind == Origin::Set);
        let word = |key: &str| match given(key).map(|figure| &figure.value) {
            Some(Value::Word(word)) => word.as_str(),
            Some(Value::Flag(true)) => "true",
            Some(Value::Flag(false)) => "false",
            _ => "",
        };
        let fits = |needs: &[&str], values: &[&str]| match values {
            [] => needs.iter().any(|needs| given(needs).is_some()),
            _ => needs.iter().any(|needs| values.contains(&word(needs))),
        };
        let (key, needs, values) =
            *self.belongs.iter().find(|(key, needs, values)| set(key) && !fits(needs, values))?;
        let values: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
        let wanted = if values.is_empty() { String::new() } else { format!(" = {}", values.join(" or ")) };
        let needs: Vec<String> = needs.iter().map(|needs| format!("`{}.{needs}`", self.name)).collect();
        Some((key, format!("{}{wanted} as well", needs.join(" or "))))
    }
}
