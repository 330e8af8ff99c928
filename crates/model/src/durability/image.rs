//! The content of a medium after a cut: which write each sector holds. The bytes are in the history.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::history::{History, Left, Part};
use crate::time::Instant;

use super::Tally;
use super::files::Overlay;
use super::judge::Judge;
use super::loss::Cut;
use super::runs::{Run, Runs, all_without};
use super::terms::Terms;
use super::view::Plan;
use super::writes::{Write, Writes};

/// A medium. Where no write is named, it holds its initial content. Media with the same content have the same hash.
#[derive(Clone, Debug, Default, Hash)]
pub struct Image {
    held: Runs<u64>,
    /// Unreadable sectors.
    torn: Vec<Run>,
}

/// A write, or parts of one, that is not on a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub write: Write,
    /// Its sectors that hold something older.
    pub parts: Vec<Run>,
}

/// What cuts at these instants leave of a history, each reported to `left`, in order, with what is lost of what was
/// promised. The history ends at `end`.
pub fn after_cuts(
    history: &History,
    (terms, plan): (Terms, Plan),
    cuts: Vec<Instant>,
    end: Instant,
    left: impl FnMut(Instant, Image),
) -> Vec<Cut> {
    let mut judge = Judge::new(terms, plan, cuts, None, Leaving(left)).leaving();
    history.tell(&mut judge);
    judge.finish(end).cuts
}

/// Tells what each cut leaves as an image.
struct Leaving<F>(F);

impl<F: FnMut(Instant, Image)> Tally for Leaving<F> {
    fn left(&mut self, at: Instant, surface: &Runs<u64>, overlay: &Overlay) {
        (self.0)(at, Image::of(surface, overlay));
    }
}

impl Image {
    /// The result of a judge of cuts as an image.
    pub fn of(surface: &Runs<u64>, overlay: &Overlay) -> Image {
        let mut held = surface.clone();
        for &(run, stamp) in &overlay.besides {
            held.join(run, stamp);
        }
        let torn = overlay.torn.iter().map(|it| it.0).chain(overlay.gone.iter().copied()).collect();
        Image { held, torn }
    }

    /// All writes accepted by `at`, except what is `lost` of them.
    pub fn without<'a>(writes: &Writes, at: Instant, lost: impl IntoIterator<Item = &'a Lost>) -> Image {
        let lost: BTreeMap<u64, &[Run]> = lost.into_iter().map(|it| (it.write.stamp, &it.parts[..])).collect();
        let mut held = Runs::default();
        for write in writes.taken(at) {
            match lost.get(&write.stamp) {
                None => held.join(write.run, write.stamp),
                Some(parts) => {
                    all_without(write.run, parts).into_iter().for_each(|run| held.join(run, write.stamp));
                }
            }
        }
        Image { held, torn: Vec::new() }
    }

    /// The writes accepted by `at` that are not on it, neither themselves nor a later one.
    pub fn lost(&self, writes: &Writes, at: Instant) -> Vec<Lost> {
        let mut lost = Vec::new();
        for write in writes.taken(at) {
            let mut parts = Vec::new();
            self.held.each(write.run, &mut |run, held| {
                if held.is_none_or(|held| held < write.stamp) {
                    parts.push(run);
                }
            });
            if !parts.is_empty() {
                lost.push(Lost { write: *write, parts });
            }
        }
        lost
    }

    /// In plain data.
    pub fn left(&self) -> Left {
        Left { held: self.held.iter().collect(), unreadable: self.torn.clone() }
    }

    /// The same medium, in which unreadable sectors hold their earlier content.
    pub fn readable(&self) -> Image {
        Image { torn: Vec::new(), ..self.clone() }
    }

    /// The unreadable sectors.
    pub fn torn(&self) -> &[Run] {
        &self.torn
    }

    /// What was written: first sectors and their content from there on, in order.
    pub fn pieces<'a>(&self, history: &'a History, writes: &Writes) -> Vec<(u64, Part<'a>)> {
        let named = self.held.iter().filter_map(|(run, stamp)| Some((run, writes.get(stamp)?)));
        named.map(|(run, write)| (run.0, history.part(write.stamp, write.run.0, run.0, run.1 - run.0))).collect()
    }
}
