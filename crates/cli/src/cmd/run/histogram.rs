//! The histogram of `seekwise run --plot`: response times as bars, a line for each range of times, the kinds of requests side by
//! side.
//!
//! The ranges, called steps, end at preferred numbers (ISO 3): ten to a decade if that takes few lines, else five or three. The
//! run counts response times in buckets, which are at most 0.8 % wide; a whole bucket is counted in the step of its upper edge.

use crate::screen::text_columns;

/// Series of preferred numbers within a decade, the finest first, in hundredths.
const SERIES: [&[u64]; 3] =
    [&[100, 125, 160, 200, 250, 315, 400, 500, 630, 800], &[100, 160, 250, 400, 630], &[100, 200, 500]];

/// The most lines; only the coarsest series may have more.
const MOST_LINES: usize = 24;

/// The most columns of a bar.
const MOST_BAR_COLUMNS: usize = 40;

/// The response times of a kind of requests.
pub struct HistogramSeries {
    /// For example `reads`.
    pub name: &'static str,
    /// Upper edge of each bucket in ns, and its count.
    pub buckets: Vec<(u64, u64)>,
}

/// Draws a heading and a line for each step, on `width` columns; a sentence if nothing was counted.
pub fn draw_bars(kinds: &[HistogramSeries], width: usize) -> String {
    let edges: Vec<u64> = kinds.iter().flat_map(|kind| kind.buckets.iter().map(|bucket| bucket.0)).collect();
    let (Some(&shortest_ns), Some(&longest_ns)) = (edges.iter().min(), edges.iter().max()) else {
        return "Response times: no request was counted.\n".to_owned();
    };
    let steps = step_edges(shortest_ns, longest_ns);
    let labels: Vec<String> =
        steps.windows(2).map(|step| format!("{} – {}", format_ms(step[0]), format_ms(step[1]))).collect();
    let label_width = labels.iter().map(|label| text_columns(label)).max().unwrap_or(0).max(2);
    let kind_width = width.saturating_sub(label_width) / kinds.len();
    let bar_width = kind_width.saturating_sub(2 + 7 + 2).clamp(4, MOST_BAR_COLUMNS);
    let mut lines = vec![format!("{:>label_width$}", "ms")];
    for kind in kinds {
        let count: u64 = kind.buckets.iter().map(|bucket| bucket.1).sum();
        lines[0] += &format!("  {:kind_width$}", format!("{count} {}", kind.name), kind_width = 9 + bar_width);
    }
    let shares: Vec<Vec<f64>> = kinds.iter().map(|kind| step_shares(kind, &steps)).collect();
    for (step, label) in labels.iter().enumerate() {
        let mut line = format!("{}{label}", " ".repeat(label_width - text_columns(label)));
        for shares in &shares {
            let highest = shares.iter().copied().fold(0.0, f64::max);
            let drawn = bar_in_eighths(shares[step] / highest, bar_width);
            line +=
                &format!("  {}  {drawn}{}", percent_column(shares[step]), " ".repeat(bar_width - text_columns(&drawn)));
        }
        lines.push(line);
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    format!("Response times, share of each kind:\n{}\n", lines.join("\n"))
}

/// The ends of all steps in ns, from one below the shortest time to one at or above the longest.
fn step_edges(shortest_ns: u64, longest_ns: u64) -> Vec<u64> {
    let edges_of = |series: &[u64]| {
        // A decade at a time from 10 ns on, so that hundredths are whole.
        let ends = (1..).map_while(|decade| 10u64.checked_pow(decade)).flat_map(|ns| {
            series
                .iter()
                .filter_map(move |&hundredths| u64::try_from(u128::from(ns) * u128::from(hundredths) / 100).ok())
        });
        let ends: Vec<u64> = std::iter::once(0).chain(ends).collect();
        let first = ends.partition_point(|&end| end < shortest_ns).saturating_sub(1);
        let last = ends.partition_point(|&end| end < longest_ns).min(ends.len() - 1);
        ends[first..=last].to_vec()
    };
    let fits = SERIES.iter().map(|series| edges_of(series)).find(|steps| steps.len() <= MOST_LINES + 1);
    fits.unwrap_or_else(|| edges_of(SERIES[SERIES.len() - 1]))
}

/// The share of the requests in each step.
fn step_shares(kind: &HistogramSeries, steps: &[u64]) -> Vec<f64> {
    let mut counts = vec![0u64; steps.len() - 1];
    for &(edge, count) in &kind.buckets {
        let step = steps.partition_point(|&end| end < edge).clamp(1, counts.len());
        counts[step - 1] += count;
    }
    let total: u64 = counts.iter().sum();
    counts.iter().map(|&count| count as f64 / total.max(1) as f64).collect()
}

/// A share in seven columns; blank for zero, so that gaps are visible.
fn percent_column(share: f64) -> String {
    match share {
        0.0 => " ".repeat(7),
        share if share < 0.0005 => " <0.1 %".to_owned(),
        share => format!("{:5.1} %", 100.0 * share),
    }
}

/// Milliseconds without needless zeroes: 0.0125, 3.15, 400.
fn format_ms(ns: u64) -> String {
    format!("{}", ns as f64 / 1e6)
}

/// A bar in eighths of a column; at least one for a share above zero.
fn bar_in_eighths(share: f64, columns: usize) -> String {
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_one_step() {
        let kind = HistogramSeries {
            name: "reads",
            buckets: vec![(1_000_000, 1), (1_000_001, 2), (1_250_000, 3), (9_999_999, 4)],
        };
        let steps = step_edges(1_000_000, 9_999_999);
        assert_eq!((steps[0], steps[1], *steps.last().unwrap()), (800_000, 1_000_000, 10_000_000));
        let shares = step_shares(&kind, &steps);
        assert_eq!((shares[0], shares[1], *shares.last().unwrap()), (0.1, 0.5, 0.4));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn wide_ranges_take_coarser_steps() {
        for (least, most) in [(1, 1), (10, 11), (1_000, 300_000_000), (1, u64::MAX)] {
            let steps = step_edges(least, most);
            assert!((2..=60).contains(&steps.len()) && steps[0] < least, "{least}: {steps:?}");
            assert!(*steps.last().unwrap() >= most.min(10_000_000_000_000_000_000) && steps.is_sorted(), "{steps:?}");
        }
        assert_eq!(step_edges(1_000, 300_000_000).len(), 19, "three to a decade");
    }

    #[test]
    fn kinds_stand_side_by_side_and_fit() {
        let kind =
            |name, shift: u64| HistogramSeries { name, buckets: (1..30).map(|n| (n * 700_000 + shift, n)).collect() };
        let kinds = [kind("reads", 0), kind("writes", 5_000_000), kind("flushes", 0)];
        for width in [60, 80, 200] {
            let text = draw_bars(&kinds, width);
            assert!(text.lines().all(|line| text_columns(line) <= width && line == line.trim_end()), "{text}");
            assert!(text.lines().nth(1).unwrap().contains("435 writes"), "{text}");
        }
        let one = draw_bars(&[HistogramSeries { name: "reads", buckets: vec![(2_000_000, 3), (2_400_000, 1)] }], 60);
        assert!(one.starts_with("Response times, share of each kind:\n     ms  4 reads\n"), "{one}");
        assert!(one.contains("1.6 – 2   75.0 %  ████████████████████████████████████████\n"), "{one}");
        assert_eq!(draw_bars(&[], 80), "Response times: no request was counted.\n");
    }
}
