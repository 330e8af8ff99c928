//! Levers of a claim: the inferred settings of its cells (not read in a datasheet or measured), each with the values that it may
//! take, and the cells with one lever at another value. Nothing is run or judged here.
//!
//! A number has the range that a fit gives its key ([`ranges`]: how wrong figures of a kind have been found), or goes from half
//! to twice its value, within the values that its key accepts. A rule has the choices that a fit tries.

use std::collections::BTreeSet;

use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::strip_drive;
use seekwise_drives::stack::Setting;
use seekwise_formats::keys::scale_value;
use seekwise_lab::fit::ranges::{self, ParameterRange};
use seekwise_lab::plan::{Cell, PreparedCell};

use crate::draw::figure_identity;

/// An inferred setting of some cells, and how far it may go.
#[derive(Clone, Debug, PartialEq)]
pub struct Lever {
    pub key: String,
    pub value: String,
    /// The drives or layers that have it, by name.
    pub of: Vec<String>,
    /// Key, value and source: cells with the same figure move together.
    identity: String,
    range: LeverRange,
}

#[derive(Clone, Debug, PartialEq)]
enum LeverRange {
    /// A number of a drive, with a range of its own.
    Number(ParameterRange),
    /// From half to twice the value.
    Twice,
    /// The words of a rule.
    Choice(&'static [&'static str]),
}

impl Lever {
    /// The lever of a setting; `None` if it is not inferred, or has no other values.
    fn from_setting(setting: &Setting) -> Option<Lever> {
        let inferred = setting.kind == FigureOrigin::Inferred;
        let in_drive = strip_drive(&setting.key);
        let number: Option<f64> = setting.value.parse().ok();
        let of_key = in_drive.zip(number).and_then(|(key, value)| ranges::range_for_key(key, value));
        let rule = in_drive.and_then(ranges::find_rule).map(|rule| LeverRange::Choice(rule.choices));
        let twice = || scale_value(&setting.key, &setting.value, 1.0).map(|_| LeverRange::Twice);
        Some(Lever {
            key: setting.key.clone(),
            value: setting.value.clone(),
            of: Vec::new(),
            identity: figure_identity(setting),
            range: of_key.map(LeverRange::Number).or(rule).or_else(twice).filter(|_| inferred)?,
        })
    }

    /// The range in words.
    pub fn range_words(&self) -> String {
        match &self.range {
            LeverRange::Number(range) => {
                format!("{} to {}", range.format_value(range.low), range.format_value(range.high))
            }
            LeverRange::Twice => format!("{} to {}", self.value_at(0.0), self.value_at(1.0)),
            LeverRange::Choice(words) => words.join(", "),
        }
    }

    /// Whether it is a number, whose values lie between others.
    pub fn is_number(&self) -> bool {
        !matches!(self.range, LeverRange::Choice(_))
    }

    /// The position of the present value in the range, from 0 to 1.
    pub fn present_position(&self) -> f64 {
        match (&self.range, self.value.parse::<f64>()) {
            (LeverRange::Number(range), Ok(value)) => range.position_of(value),
            _ => 0.5,
        }
    }

    /// The value at a position of the range, from 0 to 1.
    pub fn value_at(&self, position: f64) -> String {
        match &self.range {
            LeverRange::Number(range) => range.format_value(range.value_at(position)),
            LeverRange::Twice => {
                scale_value(&self.key, &self.value, 4f64.powf(position - 0.5)).unwrap_or_else(|| self.value.clone())
            }
            LeverRange::Choice(_) => self.value.clone(),
        }
    }

    /// The values to try: of a number the ends of its range, each with its position, the nearer one first; of a rule its words.
    pub fn values_to_try(&self) -> Vec<(Option<f64>, String)> {
        let tries: Vec<(Option<f64>, String)> = match &self.range {
            LeverRange::Choice(words) => words.iter().map(|word| (None, (*word).to_owned())).collect(),
            _ => {
                let mut ends = [0.0, 1.0];
                ends.sort_by(|a, b| {
                    (a - self.present_position()).abs().total_cmp(&(b - self.present_position()).abs())
                });
                ends.map(|position| (Some(position), self.value_at(position))).to_vec()
            }
        };
        let mut seen = BTreeSet::from([self.value.clone()]);
        tries.into_iter().filter(|(_, value)| seen.insert(value.clone())).collect()
    }

    /// All cells; those that have the setting get `value`.
    pub(crate) fn cells_with_value(&self, cells: &[Cell], prepared: &[PreparedCell], value: &str) -> Vec<Cell> {
        let changed = |(cell, prepared): (&Cell, &PreparedCell)| {
            let moved = prepared.settings.iter().filter(|setting| self.is_same_figure(setting));
            let mut cell = cell.clone();
            cell.settings.extend(moved.map(|setting| (setting.key.clone(), value.to_owned())));
            cell
        };
        cells.iter().zip(prepared).map(changed).collect()
    }

    /// Whether one of these cells has the setting.
    pub fn occurs_in(&self, prepared: &[PreparedCell]) -> bool {
        prepared.iter().any(|cell| cell.settings.iter().any(|setting| self.is_same_figure(setting)))
    }

    fn is_same_figure(&self, setting: &Setting) -> bool {
        setting.kind == FigureOrigin::Inferred && figure_identity(setting) == self.identity
    }
}

/// The levers of cells, in the order of their keys.
pub fn find_levers(prepared: &[PreparedCell]) -> Vec<Lever> {
    let mut found: Vec<Lever> = Vec::new();
    for cell in prepared {
        for lever in cell.settings.iter().filter_map(|setting| Lever::from_setting(setting)) {
            let root = lever.key.split('.').next().unwrap_or_default().to_owned();
            let name = cell.settings.iter().find(|setting| setting.key == root).map(|setting| setting.value.clone());
            let known = found.iter().position(|known| known.identity == lever.identity);
            let index = known.unwrap_or_else(|| {
                found.push(lever);
                found.len() - 1
            });
            let owners = &mut found[index].of;
            owners.extend(name.filter(|name| !owners.contains(name)));
        }
    }
    found.sort_by(|a, b| (&a.key, &a.identity).cmp(&(&b.key, &b.identity)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_lab::inputs::Inputs;
    use seekwise_lab::plan::prepare_cell;

    fn setting(key: &str, value: &str, kind: FigureOrigin) -> Setting {
        let (key, value) = (key.to_owned(), value.to_owned());
        Setting { key, value, unit: String::new(), kind, source: "s".to_owned() }
    }

    #[test]
    fn only_what_is_inferred_moves_and_within_its_range() {
        let lever_of = |key: &str, value: &str| Lever::from_setting(&setting(key, value, FigureOrigin::Inferred));
        let switch = lever_of("drive.mechanics.head_switch_ms", "2").unwrap();
        assert_eq!(switch.range_words(), "0 to 4.5");
        let values = |lever: &Lever| lever.values_to_try().into_iter().map(|(_, value)| value).collect::<Vec<_>>();
        assert_eq!(values(&switch), ["0", "4.5"]);
        assert!(
            (switch.present_position() - 2.0 / 4.5).abs() < 1e-9 && switch.value_at(switch.present_position()) == "2"
        );
        let hold = lever_of("drive.cache.read_ahead.hold", "segment").unwrap();
        assert_eq!(values(&hold), ["never", "track", "stream"]);
        assert!(!hold.is_number());
        let request = lever_of("driver.request_us", "8").unwrap();
        assert_eq!((request.range_words().as_str(), values(&request).len()), ("4 to 16", 2));
        assert_eq!(lever_of("drive.geometry.zones", "16 zones"), None, "a list does not move");
        let stated = setting("drive.mechanics.head_switch_ms", "2", FigureOrigin::Datasheet);
        assert_eq!(Lever::from_setting(&stated), None);
    }

    #[test]
    fn cells_with_the_figure_move_and_others_stay() {
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cell = |drive: &str| {
            let asked = [("drive", drive), ("driver", "windows-xp"), ("job", "random-read")];
            let settings = asked.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
            Cell { levels: vec![drive.to_owned()], settings }
        };
        let cells = [cell("barracuda-7200.7-ncq"), cell("raptor-wd740gd")];
        let prepared: Vec<PreparedCell> =
            cells.iter().map(|cell| prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        let all = find_levers(&prepared);
        let policy = all
            .iter()
            .find(|lever| lever.key == "drive.firmware.destage.policy" && lever.of == ["barracuda-7200.7-ncq"])
            .expect("inferred of this drive");
        let moved = policy.cells_with_value(&cells, &prepared, "fcfs");
        assert_eq!(moved[1], cells[1]);
        let again = prepare_cell("s.toml", &moved[0], &inputs).unwrap();
        let now = again.settings.iter().find(|setting| setting.key == policy.key).unwrap();
        assert_eq!(now.value, "fcfs");
        assert!(policy.occurs_in(&prepared[..1]) && !policy.occurs_in(&prepared[1..]));
    }
}
