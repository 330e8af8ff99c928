//! Where the time of the mean request went, part by part. A record has this for each kind and each group of requests, and a study holds
//! thousands of records, so it is an array of numbers and not a map of names.

use seekwise_disk::parts::Part;
use seekwise_drives::spelling::nearest;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Mean milliseconds of each part of the response; empty without requests, and in older folders, which do not have it. It is written as a
/// map from the parts' names in alphabetical order; a part that is not named is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeanParts(Option<Box<[f64; Part::COUNT]>>);

impl MeanParts {
    /// The figures with these milliseconds in each part.
    pub fn from_parts(ms: impl FnMut(Part) -> f64) -> MeanParts {
        MeanParts(Some(Box::new(Part::ALL.map(ms))))
    }

    /// True if there are no figures.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Milliseconds in `part`; 0 if there are no figures.
    pub fn get(&self, part: Part) -> f64 {
        self.0.as_ref().map_or(0.0, |ms| ms[part as usize])
    }

    /// All parts together, in ms.
    pub fn total(&self) -> f64 {
        self.iter().map(|(_, ms)| ms).sum()
    }

    /// The parts in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (Part, f64)> + '_ {
        let mut parts = Part::ALL;
        parts.sort_unstable_by_key(|part| part.name());
        parts.into_iter().filter(|_| !self.is_empty()).map(|part| (part, self.get(part)))
    }

    /// Sets a part.
    pub fn set(&mut self, part: Part, ms: f64) {
        self.0.get_or_insert_default()[part as usize] = ms;
    }
}

impl Serialize for MeanParts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(part, ms)| (part.name(), ms)))
    }
}

impl<'de> Deserialize<'de> for MeanParts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<MeanParts, D::Error> {
        struct PartMap;

        impl<'de> Visitor<'de> for PartMap {
            type Value = MeanParts;

            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "the milliseconds of each part of a response by its name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut named: A) -> Result<MeanParts, A::Error> {
                let mut parts = MeanParts::default();
                while let Some((name, ms)) = named.next_entry::<String, f64>()? {
                    parts.set(part_by_name(&name).map_err(A::Error::custom)?, ms);
                }
                Ok(parts)
            }
        }

        from.deserialize_map(PartMap)
    }
}

/// The part with this name; an error says what was expected.
fn part_by_name(name: &str) -> Result<Part, String> {
    let names = || Part::ALL.iter().map(|part| part.name());
    Part::ALL.into_iter().find(|part| part.name() == name).ok_or_else(|| {
        let hint = nearest(name, names()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("`{name}` is no part of a response; expected {}{hint}", names().collect::<Vec<_>>().join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_written_by_the_alphabet_and_come_back() {
        let parts = MeanParts::from_parts(|part| part as usize as f64 + 0.5);
        let text = serde_json::to_string(&parts).unwrap();
        let names: Vec<&str> = text.split('"').skip(1).step_by(2).collect();
        assert!(names.is_sorted() && names.len() == Part::COUNT, "{text}");
        assert_eq!(serde_json::from_str::<MeanParts>(&text).unwrap(), parts);
        assert_eq!(parts.get(Part::ALL[2]), 2.5);
        assert_eq!(parts.total(), (0..Part::COUNT).map(|place| place as f64 + 0.5).sum::<f64>());
    }

    #[test]
    fn nothing_is_written_as_nothing_and_a_part_unnamed_is_zero() {
        assert_eq!(serde_json::to_string(&MeanParts::default()).unwrap(), "{}");
        assert!(serde_json::from_str::<MeanParts>("{}").unwrap().is_empty());
        let seeks: MeanParts = serde_json::from_str(r#"{"seek": 3.5}"#).unwrap();
        assert_eq!((seeks.get(Part::Seek), seeks.get(Part::Rotation)), (3.5, 0.0));
        let wrong = serde_json::from_str::<MeanParts>(r#"{"seeks": 3.5}"#).unwrap_err().to_string();
        assert!(wrong.contains("did you mean `seek`?"), "{wrong}");
    }
}
