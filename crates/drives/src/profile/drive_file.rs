//! A drive as its file describes it: the head and the figures.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::everyday::CaseException;
use super::fit_record::FitRecord;
use super::keys::KEYS;
use super::not_modelled::ForeignParameter;
use crate::figure::{Figure, FigureValue};

/// A drive as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveFile {
    /// The file's name as given.
    pub file: String,
    /// The name in the catalogue.
    pub name: String,
    /// Maker and model.
    pub title: String,
    /// Year of the model, if known.
    pub year: Option<u32>,
    /// Source studies that measured it.
    pub studies: Vec<String>,
    /// Interface in words.
    pub interface: String,
    /// Citations by their short names; the figures' sources carry them in full.
    pub sources: BTreeMap<String, String>,
    /// Everyday cases in which the drive really deviates from the arithmetic on its figures.
    pub otherwise: Vec<CaseException>,
    /// Parameters of a foreign description that are not modelled.
    pub not_modelled: Vec<ForeignParameter>,
    /// The loads and the draws of the fit that the figures are from.
    pub fit: Option<Arc<FitRecord>>,
    pub(super) figures: Vec<Figure>,
}

impl DriveFile {
    /// The figures in the order of [`KEYS`].
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter()
    }

    /// A figure by its key.
    pub fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// The value of a figure; `None` if it is missing or is no number.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.figure(key)?.value {
            FigureValue::Whole(n) => Some(n as f64),
            FigureValue::Number(n) => Some(n),
            _ => None,
        }
    }

    /// Replaces a figure of the file by the user's.
    pub(crate) fn replace_figure(&mut self, figure: Figure) {
        match self.figures.iter_mut().find(|old| old.key == figure.key) {
            Some(old) => *old = figure,
            None => {
                self.figures.push(figure);
                self.figures.sort_by_key(|figure| KEYS.iter().position(|key| key.path == figure.key));
            }
        }
    }

    /// Removes an optional figure.
    pub(crate) fn remove_figure(&mut self, key: &str) {
        self.figures.retain(|figure| figure.key != key);
    }

    pub(super) fn has_adaptive_buffer(&self) -> bool {
        self.figure("cache.adaptive").map(|figure| &figure.value) == Some(&FigureValue::Flag(true))
    }
}
