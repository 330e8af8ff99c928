//! fio's JSON output, written and read.
