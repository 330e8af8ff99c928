//! Transfer modes of a link: the clock rate of each, and the effective rate.
//!
//! Clock rates are from the standards (ATA-2 to ATA-6, SATA 1.0 to 3.x, SPI-3 and SPI-4, SAS). The effective rate is the same
//! share of the clock rate in every mode. The share is fitted to one measured mode: a Fireball Plus AS delivers 57.6 MB/s from
//! its buffer in UDMA 4. A request of 64 KiB then takes 1,137.8 us, of which the command takes 24 us (the drive's and the link's
//! overheads in its profile); 65,536 bytes in the remaining 1,113.8 us are 58.84 MB/s, 0.8825 of 66.67.
//!
//! A mode is only a limit: a drive with a slower link keeps its rate.

/// The effective share of the clock rate.
const EFFECTIVE_SHARE: f64 = 0.8825;

/// Names and clock rates in MB/s.
const CLOCK_RATES: [(&str, f64); 23] = [
    ("pio-0", 3.33),
    ("pio-1", 5.22),
    ("pio-2", 8.33),
    ("pio-3", 11.11),
    ("pio-4", 16.67),
    ("mwdma-0", 4.17),
    ("mwdma-1", 13.33),
    ("mwdma-2", 16.67),
    ("udma-0", 16.67),
    ("udma-1", 25.0),
    ("udma-2", 33.33),
    ("udma-3", 44.44),
    ("udma-4", 66.67),
    ("udma-5", 100.0),
    ("udma-6", 133.33),
    ("sata-1.5", 150.0),
    ("sata-3", 300.0),
    ("sata-6", 600.0),
    ("u160", 160.0),
    ("u320", 320.0),
    ("sas-3", 300.0),
    ("sas-6", 600.0),
    ("sas-12", 1200.0),
];

const NAMES: [&str; CLOCK_RATES.len()] = {
    let mut names = [""; CLOCK_RATES.len()];
    let mut index = 0;
    while index < CLOCK_RATES.len() {
        names[index] = CLOCK_RATES[index].0;
        index += 1;
    }
    names
};

/// The modes' names.
pub(crate) static MODES: &[&str] = &NAMES;

/// The effective rate of a mode; `None` for an unknown mode.
pub(super) fn effective_bytes_per_s(mode: &str) -> Option<u64> {
    let (_, clock) = CLOCK_RATES.iter().find(|(name, _)| *name == mode)?;
    Some((clock * 1e6 * EFFECTIVE_SHARE).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_one_mode_predicts_another() {
        // 64 KiB a request, 24 us a command: measured are 57.6 and 85.5 MB/s.
        let rate_mb_s = |mode: &str| 65_536.0 / (65_536.0 / effective_bytes_per_s(mode).unwrap() as f64 + 24e-6) / 1e6;
        assert!((rate_mb_s("udma-4") - 57.6).abs() < 0.1);
        assert!((rate_mb_s("udma-5") - 85.5).abs() / 85.5 < 0.05);
        assert_eq!(effective_bytes_per_s("udma-7"), None);
    }
}
