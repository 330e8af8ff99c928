//! Bytes in, values or a located error out.
