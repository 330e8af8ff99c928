//! Data at risk over time as a picture.
