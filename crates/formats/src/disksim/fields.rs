//! Typed access to the values of a block by key: numbers in range, words, lists and blocks, or an error with its position. Also
//! reports the unknown keys of a block.

use seekwise_drives::diagnostic::Diagnostic;

use super::syntax::{Errors, ParameterBlock, ParameterEntry, ParameterValue, SourcePosition, describe_value, shorten};
use super::write::ProfileWriter;

/// A block with its known keys.
pub(super) struct ParameterFields<'a> {
    pub(super) block: &'a ParameterBlock,
    known: &'static [&'static str],
}

impl<'a> ParameterFields<'a> {
    pub(super) fn new(block: &'a ParameterBlock, known: &'static [&'static str]) -> ParameterFields<'a> {
        ParameterFields { block, known }
    }

    /// Reports unknown keys of the block. A key close to a missing one is probably a misspelling and an error, which is returned;
    /// others are warnings.
    pub(super) fn report_unknown_keys(&self, writer: &mut ProfileWriter) -> Errors {
        let known = |key: &str| self.known.iter().any(|known| known.eq_ignore_ascii_case(key));
        let missing = || self.known.iter().copied().filter(|key| self.block.get(key).is_none());
        let mut errors = Vec::new();
        for entry in self.block.entries.iter().filter(|entry| !known(&entry.key)) {
            let expected = format!("a parameter of {}", self.block.kind);
            let fault = entry.at.diagnostic("unknown parameter").with_key(shorten(&entry.key)).with_expected(expected);
            let fault = fault.suggest_nearest(&entry.key, missing());
            match fault.nearest {
                Some(_) => errors.push(fault),
                None => {
                    let message = format!("unknown parameter with {}, ignored", describe_value(&entry.value));
                    writer.warn(entry.at.diagnostic(message).with_key(shorten(&entry.key)));
                }
            }
        }
        errors
    }

    pub(super) fn required_entry(&self, key: &str) -> Result<&'a ParameterEntry, Errors> {
        self.block.get(key).ok_or_else(|| {
            let block = if self.block.name.is_empty() { &self.block.kind } else { &self.block.name };
            let fault = self.block.at.diagnostic(format!("`{}` lacks this parameter", shorten(block))).with_key(key);
            let keys = self.block.entries.iter().map(|entry| entry.key.as_str());
            let unknown = keys.filter(|key| !self.known.iter().any(|known| known.eq_ignore_ascii_case(key)));
            vec![fault.suggest_nearest(key, unknown)]
        })
    }

    pub(super) fn required_block(&self, key: &str) -> Result<&'a ParameterBlock, Errors> {
        let entry = self.required_entry(key)?;
        match &entry.value {
            ParameterValue::Block(block) => Ok(block),
            _ => Err(vec![entry.at.diagnostic("is not a block").with_key(key)]),
        }
    }

    /// A number in a range.
    pub(super) fn number(&self, key: &str, low: f64, high: f64) -> Result<f64, Errors> {
        let entry = self.required_entry(key)?;
        match &entry.value {
            ParameterValue::Number(number, _) if (low..=high).contains(number) => Ok(*number),
            value => Err(vec![invalid_value(&entry.at, key, value, &format!("a number from {low} to {high}"))]),
        }
    }

    /// A number in a range; `default` if the key is missing.
    pub(super) fn number_or(&self, key: &str, low: f64, high: f64, default: f64) -> Result<f64, Errors> {
        if self.block.get(key).is_some() { self.number(key, low, high) } else { Ok(default) }
    }

    /// A whole number in a range.
    pub(super) fn whole_number(&self, key: &str, low: u64, high: u64) -> Result<u64, Errors> {
        let number = self.number(key, low as f64, high as f64)?;
        match number.fract() == 0.0 {
            true => Ok(number as u64),
            false => {
                let entry = self.required_entry(key)?;
                Err(vec![invalid_value(&entry.at, key, &entry.value, &format!("a whole number from {low} to {high}"))])
            }
        }
    }

    pub(super) fn required_word(&self, key: &str) -> Result<(&'a str, &'a SourcePosition), Errors> {
        let entry = self.required_entry(key)?;
        match &entry.value {
            ParameterValue::Word(word) => Ok((word, &entry.at)),
            value => Err(vec![invalid_value(&entry.at, key, value, "a word")]),
        }
    }

    /// A list of numbers; empty if the key is missing.
    pub(super) fn number_list(&self, key: &str) -> Result<Vec<f64>, Errors> {
        let Some(entry) = self.block.get(key) else { return Ok(Vec::new()) };
        let ParameterValue::List(values) = &entry.value else {
            return Err(vec![invalid_value(&entry.at, key, &entry.value, "a list of numbers")]);
        };
        let number = |value: &ParameterValue| match value {
            ParameterValue::Number(number, _) => Ok(*number),
            other => Err(vec![invalid_value(&entry.at, key, other, "a list of numbers")]),
        };
        values.iter().map(number).collect()
    }

    /// The position of a key, or of the block if the key is missing.
    pub(super) fn position(&self, key: &str) -> &'a SourcePosition {
        self.block.get(key).map_or(&self.block.at, |entry| &entry.at)
    }
}

/// The error about an invalid value.
pub(super) fn invalid_value(
    position: &SourcePosition,
    key: &str,
    value: &ParameterValue,
    expected: &str,
) -> Diagnostic {
    position.diagnostic(format!("{} is invalid", describe_value(value))).with_key(key).with_expected(expected)
}
