//! The table of a run's requests: the columns of its Parquet log, in batches that are full as the run goes on. A million
//! requests take 168 MB.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use seekwise::request_log::{Record, columns, row};

use super::table::{Table, annotated_field};

/// Rows of a batch.
const ROWS: usize = 65_536;

/// Requests that are being collected.
pub struct RequestCollector {
    schema: SchemaRef,
    filling: Vec<Vec<i64>>,
    full: Vec<RecordBatch>,
}

impl RequestCollector {
    /// A collector for a run whose times are measured, or virtual.
    pub fn new(measured: bool) -> RequestCollector {
        // A column's words are its unit and its meaning, as in the log.
        let of = |(name, words): &(String, String)| {
            let (unit, meaning) = words.split_once("; ").unwrap_or((words, ""));
            annotated_field(name, unit, meaning, DataType::Int64, false)
        };
        let fields: Vec<_> = columns(measured).iter().map(of).collect();
        let filling = fields.iter().map(|_| Vec::with_capacity(ROWS)).collect();
        RequestCollector { schema: Arc::new(Schema::new(fields)), filling, full: Vec::new() }
    }

    /// Adds a request.
    pub fn add_request(&mut self, record: &Record) {
        for (column, value) in self.filling.iter_mut().zip(row(record)) {
            column.push(value);
        }
        if self.filling[0].len() == ROWS {
            self.close_batch(ROWS);
        }
    }

    /// Turns the filled rows into a batch; leaves room for `next`.
    fn close_batch(&mut self, next: usize) {
        let take = |column: &mut Vec<i64>| -> ArrayRef {
            Arc::new(Int64Array::from(std::mem::replace(column, Vec::with_capacity(next))))
        };
        let arrays: Vec<ArrayRef> = self.filling.iter_mut().map(take).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays).expect("columns are of one length");
        self.full.push(batch);
    }

    /// Returns the table of all requests.
    pub fn into_table(mut self) -> Table {
        if !self.filling[0].is_empty() {
            self.close_batch(0);
        }
        Table::of_batches(self.schema, self.full)
    }
}
