//! The price of a gain in a study that cuts the power: writes lost in a cut on the judged side and on the base.

use super::{Evidence, Finding};
use crate::run::{ClassLossRecord, CutRecord, RunRecord};

/// Mean writes lost in a power cut, on the base and on the judged side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CutPrice {
    /// Number of cuts of the judged side.
    cuts: u64,
    /// Writes that were acknowledged to a program: base, judged.
    acknowledged: [f64; 2],
    /// Writes promised to be durable: base, judged.
    promised: [f64; 2],
}

impl CutPrice {
    /// A clause that names the base, or nothing if both sides lose the same: "but a power cut loses 32 writes promised to be durable, none
    /// with “cache off” (mean of 1000 cuts)".
    pub fn text(&self, factor: &str, from: &str) -> Option<String> {
        let (kind, [base, judged]) = self.reported_losses()?;
        let lost = match write_count_words(judged).as_str() {
            "none" => "no writes".to_owned(),
            "1" => "1 write".to_owned(),
            several => format!("{several} writes"),
        };
        let but = if judged > base { "but" } else { "and" };
        let (base, cuts, side) = (write_count_words(base), self.cuts, side_name(factor, from));
        Some(format!("{but} a power cut loses {lost} {kind}, {base} with \u{201c}{side}\u{201d} (mean of {cuts} cuts)"))
    }

    /// True if the judged side loses more.
    pub(crate) fn is_loss(&self) -> bool {
        self.reported_losses().is_some_and(|(_, [base, judged])| judged > base)
    }

    /// The kind of writes to report, with its losses; a broken promise comes first.
    fn reported_losses(&self) -> Option<(&'static str, [f64; 2])> {
        let all = [("promised to be durable", self.promised), ("that it had acknowledged", self.acknowledged)];
        all.into_iter().find(|(_, [base, judged])| write_count_words(*base) != write_count_words(*judged))
    }
}

/// Names a side by its level, with the factor if that is a number or a switch.
fn side_name(factor: &str, level: &str) -> String {
    match level {
        "true" => format!("{factor} on"),
        "false" => format!("{factor} off"),
        "on" | "off" | "yes" | "no" => format!("{factor} {level}"),
        number if number.parse::<f64>().is_ok() => format!("{factor} {number}"),
        name => name.to_owned(),
    }
}

/// A number of writes in words.
fn write_count_words(writes: f64) -> String {
    match writes {
        writes if writes <= 0.0 => "none".to_owned(),
        writes if writes < 0.05 => "less than 0.1".to_owned(),
        writes if writes < 9.95 => format!("{writes:.1}").trim_end_matches(".0").to_owned(),
        writes => format!("{writes:.0}"),
    }
}

impl Evidence<'_> {
    /// The mean losses in power cuts on both sides of these findings; `None` if a side was not cut.
    pub(super) fn cut_price(&self, of: &[&Finding]) -> Option<CutPrice> {
        let cut = |side: fn(&Finding) -> usize| -> Option<Vec<CutRecord>> {
            let runs = of.iter().flat_map(|finding| self.cell_runs(side(finding)).iter().copied());
            runs.map(|run: &RunRecord| run.cuts.as_deref().copied()).collect()
        };
        let sides = [cut(|finding| finding.from)?, cut(|finding| finding.to)?];
        let cuts = sides.each_ref().map(|side| side.iter().map(|cut| u64::from(cut.cuts)).sum::<u64>());
        let lost = |class: fn(&CutRecord) -> &ClassLossRecord| {
            let mean = |side: usize| {
                let writes: u64 = sides[side].iter().map(|cut| class(cut).writes).sum();
                writes as f64 / cuts[side] as f64
            };
            [mean(0), mean(1)]
        };
        (cuts[0] > 0 && cuts[1] > 0).then(|| CutPrice {
            cuts: cuts[1],
            acknowledged: lost(|cut| &cut.acknowledged_lost),
            promised: lost(|cut| &cut.promised_lost),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(acknowledged: [f64; 2], promised: [f64; 2]) -> Option<String> {
        CutPrice { cuts: 1000, acknowledged, promised }.text("cache", "off")
    }

    #[test]
    fn the_broken_promise_comes_first() {
        assert_eq!(
            said([0.0, 32.0], [0.0, 31.99]).unwrap(),
            "but a power cut loses 32 writes promised to be durable, none with “cache off” (mean of 1000 cuts)"
        );
        assert_eq!(
            said([4.0, 1.0], [0.0, 0.0]).unwrap(),
            "and a power cut loses 1 write that it had acknowledged, 4 with “cache off” (mean of 1000 cuts)"
        );
    }

    #[test]
    fn the_base_goes_by_its_own_name() {
        assert_eq!(side_name("cache", "false"), "cache off");
        assert_eq!(side_name("depth", "1"), "depth 1");
        assert_eq!(side_name("state", "default"), "default");
    }

    #[test]
    fn a_loss_is_more_than_the_base_loses() {
        let is_loss = |acknowledged, promised| CutPrice { cuts: 1000, acknowledged, promised }.is_loss();
        assert!(is_loss([0.0, 32.0], [0.0, 0.0]) && is_loss([0.0, 32.0], [0.0, 32.0]));
        assert!(!is_loss([4.0, 1.0], [0.0, 0.0]) && !is_loss([31.99, 32.01], [0.0, 0.0]));
    }

    #[test]
    fn equal_losses_are_no_price() {
        assert_eq!(said([0.0, 0.0], [0.0, 0.0]), None);
        assert_eq!(said([31.99, 32.01], [0.0, 0.0]), None);
        assert!(said([0.0, 0.001], [0.0, 0.0]).unwrap().contains("loses less than 0.1 writes"));
        assert!(said([0.2, 0.0], [0.0, 0.0]).unwrap().starts_with("and a power cut loses no writes"));
    }
}
