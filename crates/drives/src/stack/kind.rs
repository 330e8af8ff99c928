//! A kind of layer as data: its name, its keys and the function that builds it from them. Each kind has a file of its own with one
//! [`LayerKind`]. The reader, `--set`, `seekwise keys`, the guide, the check of credits and the errors all use the list `KINDS`.

use seekwise_disk::drive::profile::Profile;
use seekwise_disk::stack::Layer;

use crate::concern::Concern;
use crate::figure::{Figure, FigureOrigin as Origin, FigureValue, Figures, ProfileKey};

/// A kind of layer.
pub(crate) struct LayerKind {
    /// The name in a stack, which is the first part of its keys.
    pub name: &'static str,
    /// The default, in words.
    pub otherwise: &'static str,
    /// The description.
    pub what: &'static str,
    pub keys: &'static [ProfileKey],
    /// Conditions of the keys that only apply with others.
    pub belongs: &'static [KeyCondition],
    /// The concern that a difference in it is credited to, except for keys with their own.
    pub concern: Concern,
    /// The drives of an array share it, as [`Layer::is_shared`] says of the built layer.
    pub shared: bool,
    /// Builds the layer from its figures; all required ones are present.
    pub build: fn(&Figures<'_>, &mut LayerContext<'_>) -> Result<Layer, LayerMisfit>,
}

/// The condition of a key that only applies with others: the key; the keys of which one must be given; the values of which that
/// key must have one (empty: any value).
pub(crate) type KeyCondition = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The context of a layer while the stack is built from the drive up.
pub(crate) struct LayerContext<'a> {
    /// The drive.
    pub profile: &'a mut Profile,
    /// The cost per request of the drivers so far, in microseconds on the reference machine.
    pub request_us: f64,
}

/// The key of a figure that contradicts the others, and what would be right.
pub(crate) type LayerMisfit = (&'static str, String);

impl LayerKind {
    /// The first key set by the user that has no effect with the other figures, and what it requires.
    pub fn find_meaningless_key(&self, figures: &[Figure]) -> Option<LayerMisfit> {
        let given = |key: &str| figures.iter().find(|figure| figure.key == key);
        let is_set = |key: &str| given(key).is_some_and(|figure| figure.kind == Origin::Set);
        let word = |key: &str| match given(key).map(|figure| &figure.value) {
            Some(FigureValue::Word(word)) => word.as_str(),
            Some(FigureValue::Flag(true)) => "true",
            Some(FigureValue::Flag(false)) => "false",
            _ => "",
        };
        let is_met = |required: &[&str], values: &[&str]| match values {
            [] => required.iter().any(|key| given(key).is_some()),
            _ => required.iter().any(|key| values.contains(&word(key))),
        };
        let (key, required, values) =
            *self.belongs.iter().find(|(key, required, values)| is_set(key) && !is_met(required, values))?;
        let values: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
        let with_values = if values.is_empty() { String::new() } else { format!(" = {}", values.join(" or ")) };
        let required: Vec<String> = required.iter().map(|key| format!("`{}.{key}`", self.name)).collect();
        Some((key, format!("{}{with_values} as well", required.join(" or "))))
    }
}
