//! The receipt of a command on a modelled disk, as text and as JSON: what it asked of the disk, where the disk's time went, which
//! processes waited, and whether the machine kept up.

use seekwise::exec::{Demand, DemandKind, KindTotals};
use seekwise::outputs::write_whole;
use seekwise::places::NullPlace;
use seekwise::reading::display_name;
use seekwise::serve::TransportCost;
use seekwise::shell::quote_for_shell;
use seekwise::time::Span;
use serde_json::{Value, json};

use super::CommandOutcome;
use crate::args;
use crate::cmd::print_json;
use crate::cmd::serve::{machine_text, receipt_json};
use crate::exit::CommandError;
use crate::output::print_to_stderr;
use crate::tables;

/// Processes and causes that the text names; JSON has all.
const MOST_NAMED: usize = 5;

/// A receipt that is to be printed.
pub(super) struct CommandReceipt<'a> {
    pub args: &'a args::ExecArgs,
    /// The file system, in words.
    pub system: String,
    pub outcome: &'a CommandOutcome,
}

impl CommandReceipt<'_> {
    /// Prints it to standard error, or as JSON to standard output, and writes the file of `--receipt`.
    pub fn print(&self, json: bool) -> Result<(), CommandError> {
        match json {
            true => print_json(&self.to_json())?,
            false => print_to_stderr(self.to_text().trim_end()),
        }
        if let Some(path) = &self.args.receipt {
            let text = format!("{:#}\n", self.to_json());
            write_whole(path, text.as_bytes(), self.args.force)
                .map_err(|error| CommandError::new(format!("--receipt {}: {error}", path.display())))?;
        }
        Ok(())
    }

    fn demand(&self) -> &Demand {
        &self.outcome.receipt.demand
    }

    /// Seconds of the clock for which the disk had a request.
    fn busy_seconds(&self) -> f64 {
        seconds(self.demand().busy()) / self.args.speed
    }

    fn to_text(&self) -> String {
        let (took, busy) = (self.outcome.seconds, self.busy_seconds());
        let words = self.args.command.iter().map(|word| quote_for_shell(&word.to_string_lossy()));
        let mut text = format!(
            "\n`{}` took {took:.2} s on {} (file system: {}).",
            words.collect::<Vec<_>>().join(" "),
            display_name(&self.args.target),
            self.system
        );
        if self.args.target != NullPlace::NAME {
            text.push_str(&format!(
                " The disk worked on requests for {busy:.2} s of them. If the command only waited meanwhile, it takes about {:.2} s \
                 on a disk that answers at once: `--on null` measures it.",
                (took - busy).max(0.0)
            ));
        }
        text.push_str(&format!("\n\n{}\n", self.requests_table()));
        let parts = self.demand().parts_by_size();
        let total: f64 = parts.iter().map(|(_, span)| seconds(*span)).sum();
        if total > 0.0 && self.args.target != NullPlace::NAME {
            let named: Vec<String> = parts
                .iter()
                .take(MOST_NAMED)
                .map(|(part, span)| format!("{} {:.0} %", part.name(), 100.0 * seconds(*span) / total))
                .collect();
            text.push_str(&format!(
                "\nThe requests' time, in the driver's queue and in the disk: {}.\n",
                named.join(", ")
            ));
        }
        if !self.outcome.waits.is_empty() {
            text.push_str("\nProcesses that waited for a disk (sampled 20 times a second):\n");
            for wait in self.outcome.waits.iter().take(MOST_NAMED) {
                text.push_str(&format!("{:>8.1} s  {}\n", wait.waited.as_secs_f64(), wait.command));
            }
        }
        text.push('\n');
        // Means of the model stand in the table, which has the command's requests alone.
        text.push_str(&machine_text(&self.outcome.receipt, TransportCost::added_sentence));
        text
    }

    fn requests_table(&self) -> String {
        let mut table = tables::new_table(["requests", "number", "MB", "total s", "mean ms", "longest ms"]);
        tables::mark_figures_from(&mut table, 1);
        for (kind, name) in DemandKind::NAMED {
            let totals = self.demand().totals(kind);
            table.add_row([
                name.to_owned(),
                totals.requests.to_string(),
                format!("{:.2}", totals.bytes as f64 / 1e6),
                format!("{:.2}", seconds(totals.took)),
                format!("{:.2}", 1e3 * mean_seconds(totals)),
                format!("{:.2}", 1e3 * seconds(totals.longest.0)),
            ]);
        }
        table.to_string()
    }

    fn to_json(&self) -> Value {
        let mut value = receipt_json(&self.args.target, self.args.seed, self.args.speed, &self.outcome.receipt);
        let kinds = DemandKind::NAMED.map(|(kind, name)| {
            let totals = self.demand().totals(kind);
            let figures = json!({
                "requests": totals.requests,
                "bytes": totals.bytes,
                "seconds": seconds(totals.took),
                "mean_seconds": mean_seconds(totals),
                "longest_seconds": seconds(totals.longest.0),
            });
            (name.to_owned(), figures)
        });
        let parts = self.demand().parts_by_size();
        let parts: serde_json::Map<_, _> =
            parts.iter().map(|(part, span)| (part.name().to_owned(), json!(seconds(*span)))).collect();
        let waits: Vec<Value> = self
            .outcome
            .waits
            .iter()
            .map(|wait| json!({ "command": wait.command, "seconds": wait.waited.as_secs_f64() }))
            .collect();
        let command: Vec<_> = self.args.command.iter().map(|word| word.to_string_lossy()).collect();
        value["command"] = json!({
            "words": command,
            "file_system": self.system,
            "exit_code": self.outcome.exit_code,
            "seconds": self.outcome.seconds,
            "disk_busy_seconds": self.busy_seconds(),
            "requests": kinds.into_iter().collect::<serde_json::Map<_, _>>(),
            "parts_seconds": parts,
            "waits": waits,
        });
        value
    }
}

/// The mean response; 0 without requests.
fn mean_seconds(totals: &KindTotals) -> f64 {
    seconds(totals.took) / totals.requests.max(1) as f64
}

fn seconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e9
}
