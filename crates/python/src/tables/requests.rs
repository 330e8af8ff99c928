//! The table of a run's requests, with the columns of the Parquet log (`--log`). Batches of it are closed while the run
//! goes on. A million requests take 168 MB.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use seekwise::request_log::{Record, columns, row};

use super::table::{Table, annotated_field};

/// Rows of a full batch.
const ROWS_PER_BATCH: usize = 65_536;

/// Requests that are being collected.
pub struct RequestCollector {
    schema: SchemaRef,
    /// The columns of the batch that is being filled.
    open_columns: Vec<Vec<i64>>,
    closed_batches: Vec<RecordBatch>,
}

impl RequestCollector {
    /// A collector for a run whose times are measured or, if not, virtual.
    pub fn new(is_measured: bool) -> RequestCollector {
        // A column's words are its unit and its meaning, as in the log.
        let to_field = |(name, words): &(String, String)| {
            let (unit, meaning) = words.split_once("; ").unwrap_or((words, ""));
            annotated_field(name, unit, meaning, DataType::Int64, false)
        };
        let fields: Vec<_> = columns(is_measured).iter().map(to_field).collect();
        let open_columns = fields.iter().map(|_| Vec::with_capacity(ROWS_PER_BATCH)).collect();
        RequestCollector { schema: Arc::new(Schema::new(fields)), open_columns, closed_batches: Vec::new() }
    }

    /// Adds a request.
    pub fn add_request(&mut self, record: &Record) {
        for (column, value) in self.open_columns.iter_mut().zip(row(record)) {
            column.push(value);
        }
        if self.open_columns[0].len() == ROWS_PER_BATCH {
            self.close_batch(ROWS_PER_BATCH);
        }
    }

    /// Turns the collected rows into a batch, and makes room for `next_rows` more.
    fn close_batch(&mut self, next_rows: usize) {
        let take_array = |column: &mut Vec<i64>| -> ArrayRef {
            Arc::new(Int64Array::from(std::mem::replace(column, Vec::with_capacity(next_rows))))
        };
        let arrays: Vec<ArrayRef> = self.open_columns.iter_mut().map(take_array).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays).expect("columns are of one length");
        self.closed_batches.push(batch);
    }

    /// Returns the table of all requests.
    pub fn into_table(mut self) -> Table {
        if !self.open_columns[0].is_empty() {
            self.close_batch(0);
        }
        Table::of_batches(self.schema, self.closed_batches)
    }
}
