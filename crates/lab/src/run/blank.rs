//! Records for tests: those of a run that counted nothing, with some keys replaced.

use serde_json::{Map, Value, json};

use super::{DriveCounts, RunRecord, SCHEMA};

/// A record with the keys of this JSON object, and blank otherwise.
pub(crate) fn record_with(keys_json: &str) -> RunRecord {
    let kind = json!({"ios": 0, "iops": 0.0, "bytes_per_s": 0.0, "response_ms": null});
    let mut record = json!({
        "schema": SCHEMA, "cell": 0, "run": 0, "cell_hash": "", "target": "d", "place": "sim", "job": "j", "seed": 1, "stream_hash": "0",
        "elapsed_s": 1.0, "all": kind, "read": kind, "write": kind, "flush": kind, "drive": DriveCounts::default(), "anatomy_ms": {},
        "failures": 0, "warnings": [],
    });
    record.as_object_mut().unwrap().extend(serde_json::from_str::<Map<String, Value>>(keys_json).unwrap());
    if let Some(cpu) = record.get_mut("cpu").and_then(Value::as_object_mut) {
        cpu.entry("iops_per_percent").or_insert(json!(0.0));
        cpu.entry("mb_per_s_per_percent").or_insert(json!(0.0));
    }
    serde_json::from_value(record).unwrap()
}
