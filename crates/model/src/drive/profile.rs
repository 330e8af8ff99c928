//! What a drive is.
