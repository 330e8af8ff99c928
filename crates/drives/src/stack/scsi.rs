//! A SCSI bus shared by an array's drives: its keys, and how to build it.

use seekwise_disk::host::scsi::ScsiSpec;
use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};

pub(super) static SCSI: LayerKind = LayerKind {
    name: "scsi",
    otherwise: "none: each drive has its own bus",
    what: "a SCSI bus shared by up to fifteen drives",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    shared: true,
    build,
};

static KEYS: &[ProfileKey] = &[
    ProfileKey::must(
        "rate_mb_s",
        "MB/s",
        KeyDomain::Number(0.001, 100_000.0),
        "transfer rate of the data phase; it also limits a drive's link",
    )
    .also(&["ultra", "scsi bus"]),
    ProfileKey::must("command_us", "us", KeyDomain::Number(0.0, 1e6), "time on the bus to send a command")
        .also(&["arbitration", "selection"]),
    ProfileKey::must(
        "reconnect_us",
        "us",
        KeyDomain::Number(0.0, 1e6),
        "time on the bus for a reselection, besides the data",
    )
    .also(&["reselection", "disconnection"]),
    ProfileKey::must(
        "fair",
        "",
        KeyDomain::Flag,
        "the loser of an arbitration goes before newcomers; otherwise the higher SCSI ID wins",
    )
    .also(&["fairness", "scsi id", "priority"]),
];

static BELONGS: &[KeyCondition] = &[];

/// Builds the bus. Changes the drive's profile: the bus limits the rate of the drive's link, in both directions.
fn build(figures: &Figures<'_>, context: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    let (rate, link) = (figures.bytes_per_s("rate_mb_s"), &mut context.profile.link);
    (link.rate, link.write_rate) = (link.rate.min(rate), link.write_rate.min(rate));
    let (command, reconnect) = (figures.micros("command_us"), figures.micros("reconnect_us"));
    Ok(Layer::Scsi(ScsiSpec { rate, command, reconnect, fair: figures.flag("fair") }))
}

#[cfg(test)]
mod tests {
    use crate::stack::hosts;

    /// The sums of the standards' times in nanoseconds are the figures in `hosts.toml`, whose comments list a command's phases.
    #[test]
    fn the_phases_add_up() {
        let (settle, free, arbitration, clear, answer) = (400, 800, 2400, 800, 400);
        let (message, cdb) = (1000, 2400);
        let won = settle + free + arbitration + (clear + settle) + answer;
        let classic = (won + message + cdb + message, won + message + message + message);
        // Quick arbitration: its delay, assertion and release; then packets of 24 and 36, of 24 and 24 bytes at 320 MB/s.
        let won = 1000 + 200 + 200 + (clear + settle) + answer;
        let packets = (won + (24 + 36) * 1000 / 320, won + (24 + 24) * 1000 / 320);
        for bus in hosts().unwrap().iter().filter(|host| host.layer == "scsi") {
            let wanted = if bus.name == "ultra320" { packets } else { classic };
            for (key, ns) in [("command_us", wanted.0), ("reconnect_us", wanted.1)] {
                let figure = bus.figures.iter().find(|figure| figure.key == key).unwrap();
                let actual_us: f64 = figure.value.to_string().parse().unwrap();
                assert!((actual_us - f64::from(ns) / 1e3).abs() < 0.005, "{} {key}: {actual_us}", bus.name);
            }
        }
    }
}
