//! The host bus adapter: its keys, and how to build it.

use seekwise_disk::host::controller::{ControllerSpec, InterruptCoalescing, ProgrammedIo};
use seekwise_disk::stack::Layer;
use seekwise_disk::time::Span;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use super::modes::{self, MODES};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};

pub(super) static CONTROLLER: LayerKind = LayerKind {
    name: "controller",
    otherwise: "none: the drive's link leads to the host directly",
    what: "the host bus adapter, one per drive",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Controller,
    shared: false,
    build,
};

static KEYS: &[ProfileKey] = &[
    ProfileKey::must("depth", "", KeyDomain::Whole(1, 256), "commands outstanding").also(&["queue depth"]),
    ProfileKey::must("command_ms", "ms", KeyDomain::Number(0.0, 10_000.0), "overhead of a command"),
    ProfileKey::must("rate_mb_s", "MB/s", KeyDomain::Number(0.001, 100_000.0), "transfer rate of the controller"),
    // AHCI 1.x, CAP.SALP and PxCMD.ALPE: partial or slumber, at most 10 us and 10 ms by Serial ATA; see docs/model.md.
    ProfileKey::may(
        "link_wake_us",
        "us",
        KeyDomain::Number(0.001, 1e5),
        "the link never sleeps",
        "how long the link to the drive takes to wake, if it sleeps whenever no command is outstanding",
    )
    .also(&["alpm", "hipm", "aggressive link power management", "link power management", "partial", "slumber"]),
    ProfileKey::may(
        "mode",
        "",
        KeyDomain::Word(MODES),
        "as fast as the drive's link",
        "transfer mode; its rate is a fitted share of its clock rate (`sata-3` is 3 Gb/s, called SATA II; `sata-6` is SATA III)",
    )
    .also(&["dma", "udma", "pio", "transfer mode", "sata ii", "sata iii"]),
    // READ MULTIPLE moves blocks of 16 sectors with most drives.
    ProfileKey::may("interrupt_block_sectors", "sectors", KeyDomain::Whole(1, 256), "16", "`pio`: sectors per interrupt")
        .also(&["multcount"]),
    ProfileKey::may("coalesce", "", KeyDomain::Whole(2, 256), "1", "completions per interrupt")
        .also(&["interrupt coalescing"]),
    ProfileKey::may("coalesce_us", "us", KeyDomain::Number(0.001, 1e6), "1 completion per interrupt", "how long the first completion waits for others"),
];

static BELONGS: &[KeyCondition] = &[
    ("interrupt_block_sectors", &["mode"], &["pio-0", "pio-1", "pio-2", "pio-3", "pio-4"]),
    ("coalesce", &["coalesce_us"], &[]),
    ("coalesce_us", &["coalesce"], &[]),
];

/// Builds the adapter. Changes the drive's profile: a mode limits the rate of its link, in both directions.
fn build(figures: &Figures<'_>, context: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    let mode = figures.may_word("mode");
    let link = &mut context.profile.link;
    if let Some(limit) = mode.and_then(modes::effective_bytes_per_s) {
        (link.rate, link.write_rate) = (link.rate.min(limit), link.write_rate.min(limit));
    }
    let block = figures.count("interrupt_block_sectors");
    let is_programmed = mode.is_some_and(|mode| mode.starts_with("pio"));
    let programmed = is_programmed.then_some(ProgrammedIo { rate: link.rate, block });
    let wait = figures.is_given("coalesce_us").then(|| figures.micros("coalesce_us"));
    let coalesce = wait
        .map(|wait| InterruptCoalescing { count: figures.count("coalesce"), wait })
        .filter(|coalesce| coalesce.count > 1);
    let wake = if figures.is_given("link_wake_us") { figures.micros("link_wake_us") } else { Span::ZERO };
    let plain =
        ControllerSpec::plain(figures.count("depth"), figures.span("command_ms"), figures.bytes_per_s("rate_mb_s"));
    Ok(Layer::Controller(ControllerSpec { wake, programmed, coalesce, ..plain }))
}
