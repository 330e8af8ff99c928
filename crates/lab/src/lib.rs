//! The laboratory: catalogue, studies, statistics, findings and reports.
