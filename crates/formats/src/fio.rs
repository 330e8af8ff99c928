//! fio job files.
