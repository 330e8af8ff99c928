//! The built-in studies of `studies/*.toml`: those with the findings of the sources, and our own.

/// The built-in studies: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("ncq-alone", include_str!("../../studies/ncq-alone.toml")),
    ("q-two-revolutions", include_str!("../../studies/q-two-revolutions.toml")),
    ("q-arrays", include_str!("../../studies/q-arrays.toml")),
    ("q-matrix", include_str!("../../studies/q-matrix.toml")),
    ("q-repeat", include_str!("../../studies/q-repeat.toml")),
    ("q-write-order", include_str!("../../studies/q-write-order.toml")),
    ("q-tcq-and-ncq", include_str!("../../studies/q-tcq-and-ncq.toml")),
    ("q-file-sets", include_str!("../../studies/q-file-sets.toml")),
    ("q-memory", include_str!("../../studies/q-memory.toml")),
    ("n-power-cut", include_str!("../../studies/n-power-cut.toml")),
    ("segments-access", include_str!("../../studies/segments-access.toml")),
    ("segments-random", include_str!("../../studies/segments-random.toml")),
    ("f-interface", include_str!("../../studies/f-interface.toml")),
    ("d-surface", include_str!("../../studies/d-surface.toml")),
    ("d-modes", include_str!("../../studies/d-modes.toml")),
    ("n-write-cache", include_str!("../../studies/n-write-cache.toml")),
    ("n-curve", include_str!("../../studies/n-curve.toml")),
    ("n-blocks", include_str!("../../studies/n-blocks.toml")),
    ("n-distance", include_str!("../../studies/n-distance.toml")),
    ("n-copy", include_str!("../../studies/n-copy.toml")),
    ("n-scan", include_str!("../../studies/n-scan.toml")),
    ("n-start", include_str!("../../studies/n-start.toml")),
    ("n-which-cache", include_str!("../../studies/n-which-cache.toml")),
    ("segments-one-block", include_str!("../../studies/segments-one-block.toml")),
    ("segments-streams", include_str!("../../studies/segments-streams.toml")),
    ("segments-servers", include_str!("../../studies/segments-servers.toml")),
    ("segments-large-files", include_str!("../../studies/segments-large-files.toml")),
    ("segments-small-files", include_str!("../../studies/segments-small-files.toml")),
    ("segments-two-streams", include_str!("../../studies/segments-two-streams.toml")),
    ("segments-doubled", include_str!("../../studies/segments-doubled.toml")),
    ("segments-and-makers", include_str!("../../studies/segments-and-makers.toml")),
    ("segments-playback", include_str!("../../studies/segments-playback.toml")),
    ("segments-traces", include_str!("../../studies/segments-traces.toml")),
    ("segments-image-editor", include_str!("../../studies/segments-image-editor.toml")),
    ("segments-copies", include_str!("../../studies/segments-copies.toml")),
    ("segments-defragment", include_str!("../../studies/segments-defragment.toml")),
    ("segments-modes", include_str!("../../studies/segments-modes.toml")),
    ("d-drivers", include_str!("../../studies/d-drivers.toml")),
    ("d-playback", include_str!("../../studies/d-playback.toml")),
    ("d-applications", include_str!("../../studies/d-applications.toml")),
    ("f-flush", include_str!("../../studies/f-flush.toml")),
    ("f-heads", include_str!("../../studies/f-heads.toml")),
    ("f-host-cache", include_str!("../../studies/f-host-cache.toml")),
    ("f-move", include_str!("../../studies/f-move.toml")),
    ("f-power", include_str!("../../studies/f-power.toml")),
    ("f-switch", include_str!("../../studies/f-switch.toml")),
    ("f-option", include_str!("../../studies/f-option.toml")),
    ("f-records", include_str!("../../studies/f-records.toml")),
    ("f-everyday", include_str!("../../studies/f-everyday.toml")),
    ("f-playback", include_str!("../../studies/f-playback.toml")),
    ("f-defragment", include_str!("../../studies/f-defragment.toml")),
    ("f-start", include_str!("../../studies/f-start.toml")),
    ("two-programs", include_str!("../../studies/two-programs.toml")),
    ("reader-beside-stream", include_str!("../../studies/reader-beside-stream.toml")),
    ("rebuild-policy", include_str!("../../studies/rebuild-policy.toml")),
    ("ide-channel", include_str!("../../studies/ide-channel.toml")),
    ("scsi-bus", include_str!("../../studies/scsi-bus.toml")),
];

/// The built-in reviews, each a whole source study made of studies above: name and text.
pub const REVIEWS: &[(&str, &str)] = &[
    ("drivers", include_str!("../../studies/drivers.toml")),
    ("ncq-ahci", include_str!("../../studies/ncq-ahci.toml")),
    ("flush", include_str!("../../studies/flush.toml")),
    ("ncq-arrays", include_str!("../../studies/ncq-arrays.toml")),
    ("segments", include_str!("../../studies/segments.toml")),
];

#[cfg(test)]
mod tests {
    use seekwise_formats::study::parse;
    use seekwise_formats::study::review::Review;

    use super::*;

    /// The review of a finding, by its letter.
    const SOURCES: [(&str, &str); 5] =
        [("D", "drivers"), ("N", "ncq-ahci"), ("F", "flush"), ("Q", "ncq-arrays"), ("C", "segments")];

    #[test]
    fn every_finding_stands_in_the_review_of_its_source() {
        let reviews: Vec<(&str, Review)> =
            REVIEWS.iter().map(|(name, text)| (*name, Review::parse(name, text).unwrap())).collect();
        for (name, text) in BUILT_IN {
            for claim in parse(name, text).unwrap().claim {
                let (_, source) = SOURCES.iter().find(|(letter, _)| claim.id.starts_with(letter)).expect("its source");
                let review = &reviews.iter().find(|(name, _)| name == source).expect("its review").1;
                let there = review.part.iter().any(|part| part.study == *name);
                assert!(there, "studies/{source}.toml has no part `{name}`, which carries {}", claim.id);
            }
        }
        for (name, review) in &reviews {
            for part in &review.part {
                assert!(BUILT_IN.iter().any(|(known, _)| *known == part.study), "{name}: {}", part.study);
            }
        }
    }
}
