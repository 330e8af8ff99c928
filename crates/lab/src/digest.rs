//! Digests by which results are told apart: of texts, and of settings.

use seekwise_drives::stack::Setting;
use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal digits, as `sha256sum` prints it.
pub fn sha256(bytes: &[u8]) -> String {
    sha256_of_parts([bytes])
}

/// SHA-256 of these parts, one behind another.
pub fn sha256_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    parts.into_iter().for_each(|part| digest.update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash of settings: the first 16 digits of the SHA-256 of `key=value unit` lines in the order of their keys. Cells with equal hashes run the
/// same work on the same stack.
pub(crate) fn settings_hash<'a>(settings: impl Iterator<Item = &'a Setting>) -> String {
    let mut lines: Vec<String> =
        settings.map(|setting| format!("{}={} {}\n", setting.key, setting.value, setting.unit)).collect();
    lines.sort_unstable();
    sha256(lines.concat().as_bytes())[..16].to_owned()
}
