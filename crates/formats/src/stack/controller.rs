//! The host bus adapter: its keys, and how to build it.

use seekwise_model::host::controller::{Coalesce, ControllerSpec, Programmed};
use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use super::modes::{self, MODES};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};

pub(super) static CONTROLLER: Kind = Kind {
    name: "controller",
    otherwise: "none: the drive's link is the host's",
    what: "the host bus adapter, one per drive",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Controller,
    build,
};

static KEYS: &[Key] = &[
    Key::must("depth", "", Accepts::Whole(1, 256), "commands outstanding").also(&["queue depth"]),
    Key::must("command_ms", "ms", Accepts::Number(0.0, 10_000.0), "overhead of a command"),
    Key::must("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "transfer rate of the controller"),
    Key::may(
        "mode",
        "",
        Accepts::Word(MODES),
        "as fast as the drive's link",
        "transfer mode, which delivers one fitted share of its clock rate (`sata-3` is 3 Gb/s, called SATA II; `sata-6` is SATA III)",
    )
    .also(&["dma", "udma", "pio", "transfer mode", "sata ii", "sata iii"]),
    // READ MULTIPLE moves blocks of 16 sectors with most drives.
    Key::may("interrupt_block_sectors", "sectors", Accepts::Whole(1, 256), "16", "`pio`: sectors per interrupt")
        .also(&["multcount"]),
    Key::may("coalesce", "", Accepts::Whole(2, 256), "1", "completions per interrupt")
        .also(&["interrupt coalescing"]),
    Key::may("coalesce_us", "us", Accepts::Number(0.001, 1e6), "1 completion per interrupt", "how long the first completion waits for others"),
];

static BELONGS: &[(&str, &[&str], &[&str])] = &[
    ("interrupt_block_sectors", &["mode"], &["pio-0", "pio-1", "pio-2", "pio-3", "pio-4"]),
    ("coalesce", &["coalesce_us"], &[]),
    ("coalesce_us", &["coalesce"], &[]),
];

/// A mode only limits the rate of the drive's link, in both directions.
fn build(it: &Figures<'_>, beside: &mut Beside<'_>) -> Result<Layer, Misfit> {
    let mode = it.may_word("mode");
    let link = &mut beside.profile.link;
    if let Some(most) = mode.and_then(modes::attainable) {
        (link.rate, link.write_rate) = (link.rate.min(most), link.write_rate.min(most));
    }
    let block = it.count("interrupt_block_sectors");
    let is_programmed = mode.is_some_and(|mode| mode.starts_with("pio"));
    let programmed = is_programmed.then_some(Programmed { rate: link.rate, block });
    let wait = it.has("coalesce_us").then(|| it.micros("coalesce_us"));
    let coalesce = wait.map(|wait| Coalesce { count: it.count("coalesce"), wait }).filter(|both| both.count > 1);
    let plain = ControllerSpec::plain(it.count("depth"), it.span("command_ms"), it.rate("rate_mb_s"));
    Ok(Layer::Controller(ControllerSpec { programmed, coalesce, ..plain }))
}
