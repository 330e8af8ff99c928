//! Draws of inferred figures for `seekwise claims --draw`: each figure of a profile that is inferred (not read in a datasheet or
//! measured) is varied within ±10 %, to see which answers depend on it. The draws are a Latin hypercube: with N draws, the range
//! of each figure is cut into N equal slices, and each draw takes another slice, in a random order for each figure.
//!
//! A figure is identified by key, value and source. Two drives that share a figure therefore get the same drawn value, and two
//! cells of a study differ only where they differed before. Only numbers are drawn; words, switches and lists of rows stay.

use std::fmt;
use std::str::FromStr;

use seekwise_disk::rng::Seed;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::stack::{Setting, strip_number};
use seekwise_formats::keys::scale_value;
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{Cell, prepare_cell};

/// How far a figure is drawn from its inferred value, either way, as a share of it.
pub const WITHIN: f64 = 0.1;

/// The most draws.
const MOST_DRAWS: u32 = 1_000;

/// The seed of all draws; the number of the draw decides the rest.
const SEED: Seed = Seed(1);

/// The number of equally likely positions within a slice.
const SLICE_STEPS: u64 = 1 << 20;

/// A draw among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProfileDraw {
    /// From 1.
    number: u32,
    /// How many draws there are.
    draws: u32,
}

impl FromStr for ProfileDraw {
    type Err = String;

    fn from_str(text: &str) -> Result<ProfileDraw, String> {
        let wrong = || format!("`{text}` is no draw; expected NUMBER/DRAWS such as 3/15, up to {MOST_DRAWS} draws");
        let (number, draws) = text.split_once('/').ok_or_else(wrong)?;
        let (number, draws) = (number.parse().map_err(|_| wrong())?, draws.parse().map_err(|_| wrong())?);
        match (1..=MOST_DRAWS).contains(&draws) && (1..=draws).contains(&number) {
            true => Ok(ProfileDraw { number, draws }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for ProfileDraw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.draws)
    }
}

impl ProfileDraw {
    /// The cell with each inferred figure as drawn. If the stack refuses the drawn figures together, they are tried one by one,
    /// and a figure that does not fit those before it keeps its value.
    pub(crate) fn draw_cell(self, file: &str, cell: &Cell, inputs: &Inputs<'_>) -> Result<Cell, Vec<Diagnostic>> {
        let settings = prepare_cell(file, cell, inputs)?.settings;
        let drawn: Vec<(String, String)> = settings.iter().filter_map(|setting| self.draw_figure(setting)).collect();
        let cell_with = |figures: &[(String, String)]| {
            let mut cell = cell.clone();
            cell.settings.extend_from_slice(figures);
            cell
        };
        let all_drawn = cell_with(&drawn);
        if prepare_cell(file, &all_drawn, inputs).is_ok() {
            return Ok(all_drawn);
        }
        let mut fitting: Vec<(String, String)> = Vec::new();
        for figure in drawn {
            fitting.push(figure);
            if prepare_cell(file, &cell_with(&fitting), inputs).is_err() {
                fitting.pop();
            }
        }
        Ok(cell_with(&fitting))
    }

    /// A figure's key and drawn value, if it is inferred and a number, and if the drawn value differs.
    fn draw_figure(self, setting: &Setting) -> Option<(String, String)> {
        let value = is_drawn(setting)
            .then(|| scale_value(&setting.key, &setting.value, self.figure_factor(&figure_identity(setting))))??;
        (value != setting.value).then(|| (setting.key.clone(), value))
    }

    /// The factor, within 0.9 to 1.1, by which this draw multiplies the figure with this identity.
    fn figure_factor(self, identity: &str) -> f64 {
        let mut chance = SEED.stream(identity);
        let mut slices: Vec<u32> = (0..self.draws).collect();
        for last in (1..slices.len()).rev() {
            slices.swap(last, chance.below(last as u64 + 1) as usize);
        }
        let steps: Vec<u64> = slices.iter().map(|_| chance.below(SLICE_STEPS)).collect();
        let index = self.number as usize - 1;
        let in_slice = steps[index] as f64 / SLICE_STEPS as f64;
        let share = (f64::from(slices[index]) + in_slice) / f64::from(self.draws);
        1.0 + WITHIN * (2.0 * share - 1.0)
    }
}

/// True if a figure is one that is drawn.
pub fn is_drawn(setting: &Setting) -> bool {
    setting.kind == FigureOrigin::Inferred && scale_value(&setting.key, &setting.value, 1.0).is_some()
}

/// The identity of a figure: its key without the number of the layer and without the name of the program or volume, its value
/// and its source.
pub fn figure_identity(setting: &Setting) -> String {
    let mut words: Vec<&str> = setting.key.split('.').collect();
    if let ["program" | "volume", _, ..] = words[..] {
        words.remove(1);
    }
    words[0] = strip_number(words[0]);
    format!("{} = {}: {}", words.join("."), setting.value, setting.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(key: &str, value: &str, kind: FigureOrigin) -> Setting {
        let (key, value, source) = (key.to_owned(), value.to_owned(), "s".to_owned());
        Setting { key, value, unit: String::new(), kind, source }
    }

    #[test]
    fn each_slice_once_over_all_draws() {
        for identity in ["a", "b", "c"] {
            let factors = (1..=15).map(|number| ProfileDraw { number, draws: 15 }.figure_factor(identity));
            let mut slices: Vec<u32> = factors.map(|factor| ((factor - 0.9) / 0.2 * 15.0) as u32).collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..15).collect::<Vec<_>>(), "{identity}");
        }
        let first = |identity| ProfileDraw { number: 1, draws: 15 }.figure_factor(identity);
        assert!(first("a") != first("b") && first("a") == first("a"));
    }

    #[test]
    fn numbers_that_are_inferred_and_no_others() {
        let draw = ProfileDraw { number: 2, draws: 15 };
        let drawn = |key: &str, value: &str, origin| draw.draw_figure(&setting(key, value, origin));
        let (key, value) = drawn("drive.mechanics.head_switch_ms", "2", FigureOrigin::Inferred).unwrap();
        let value: f64 = value.parse().unwrap();
        assert!(key == "drive.mechanics.head_switch_ms" && (1.8..=2.2).contains(&value) && value != 2.0, "{value}");
        assert_eq!(drawn("drive.mechanics.head_switch_ms", "2", FigureOrigin::Datasheet), None);
        assert_eq!(drawn("drive.cache.write_back", "true", FigureOrigin::Inferred), None);
        assert_eq!(drawn("drive.geometry.zones", "16 zones", FigureOrigin::Inferred), None);
        // A whole number stays one, and a small one stays the same.
        assert_eq!(drawn("drive.geometry.heads", "2", FigureOrigin::Inferred), None);
        let (_, tracks) = drawn("drive.geometry.run_tracks", "128", FigureOrigin::Inferred).unwrap();
        assert!(tracks.parse::<u32>().is_ok(), "{tracks}");
    }

    #[test]
    fn a_figure_is_the_same_in_every_program_and_layer_of_its_kind() {
        let same = |a: &str, b: &str| {
            let identity = |key: &str| figure_identity(&setting(key, "64", FigureOrigin::Inferred));
            identity(a) == identity(b)
        };
        assert!(same("program.copy.block_kib", "program.other.block_kib"));
        assert!(same("driver.request_us", "driver-2.request_us"));
        assert!(!same("driver.request_us", "controller.request_us"));
    }

    #[test]
    fn a_cell_is_drawn_whole_and_twice_alike() {
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let asked = [("drive", "barracuda-7200.7-ncq"), ("driver", "windows-xp"), ("job", "random-read")];
        let settings = asked.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let cell = Cell { levels: Vec::new(), settings };
        let draw: ProfileDraw = "3/15".parse().unwrap();
        let drawn = draw.draw_cell("s.toml", &cell, &inputs).unwrap();
        assert_eq!(draw.draw_cell("s.toml", &cell, &inputs).unwrap(), drawn);
        let before = prepare_cell("s.toml", &cell, &inputs).unwrap();
        let after = prepare_cell("s.toml", &drawn, &inputs).unwrap();
        let inferred = before.settings.iter().filter(|setting| is_drawn(setting)).count();
        let changed = drawn.settings.len() - cell.settings.len();
        assert!(changed > 5 && changed <= inferred && before.hash != after.hash, "{changed} of {inferred}");
    }

    #[test]
    fn what_is_no_draw() {
        for text in ["3", "0/15", "16/15", "1/1001", "a/b"] {
            assert!(text.parse::<ProfileDraw>().unwrap_err().contains("expected NUMBER/DRAWS"), "{text}");
        }
        assert_eq!("15/15".parse::<ProfileDraw>().unwrap().to_string(), "15/15");
    }
}
