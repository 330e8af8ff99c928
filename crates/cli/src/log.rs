//! Every counted request as Parquet: one row a request, times in nanoseconds of virtual time, parts as columns.
//!
//! Written as all files are ([`crate::output`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use seekwise_model::block::{Op, Status};
use seekwise_model::record::{Part, Record};

use crate::exit::Failure;
use crate::output::Output;

/// Rows held back and written together: 18 columns of them are 19 MB.
const ROWS: usize = 131_072;

/// Columns before the parts. `op`: 0 read, 1 write, 2 write zeroes, 3 flush, 4 trim. `status`: 0 done, else failed.
const COLUMNS: [&str; 8] = ["worker", "op", "status", "lba", "sectors", "intended_ns", "submitted_ns", "finished_ns"];

/// An open log.
pub struct Log {
    path: PathBuf,
    writer: SerializedFileWriter<Output>,
    columns: Vec<Vec<i64>>,
}

impl Log {
    /// Begins a log that is to be `path`.
    pub fn create(path: &Path) -> Result<Log, Failure> {
        let parts = Part::ALL.map(|part| format!("{}_ns", part.name()));
        let names: Vec<&str> = COLUMNS.into_iter().chain(parts.iter().map(String::as_str)).collect();
        let fields: String = names.iter().map(|name| format!("required int64 {name};")).collect();
        let schema = parse_message_type(&format!("message requests {{ {fields} }}")).map_err(|e| failed(path, &e))?;
        let file = Output::create(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(|error| failed(path, &error))?;
        Ok(Log { path: path.to_owned(), writer, columns: vec![Vec::with_capacity(ROWS); names.len()] })
    }

    /// Adds a request.
    pub fn take(&mut self, record: &Record) -> Result<(), Failure> {
        let (request, completion) = (&record.request, &record.completion);
        let op = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::WriteZeroes => 2,
            Op::Flush => 3,
            Op::Trim => 4,
            Op::Compute => 5,
        };
        let row = [
            u64::from(record.worker),
            op,
            u64::from(completion.status != Status::Done),
            request.lba,
            u64::from(request.sectors),
            record.intended.nanos(),
            completion.submitted.nanos(),
            completion.finished.nanos(),
        ];
        let parts = Part::ALL.into_iter().map(|part| completion.parts.get(part).nanos());
        for (column, value) in self.columns.iter_mut().zip(row.into_iter().chain(parts)) {
            column.push(value as i64);
        }
        if self.columns[0].len() == ROWS { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<(), Failure> {
        let Log { path, writer, columns, .. } = self;
        let mut write = || -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            for column in columns.iter_mut() {
                if let Some(mut out) = group.next_column()? {
                    out.typed::<Int64Type>().write_batch(column, None, None)?;
                    out.close()?;
                }
                column.clear();
            }
            group.close().map(|_| ())
        };
        write().map_err(|error| failed(path, &error))
    }

    /// Completes the file and puts it in its place.
    pub fn finish(mut self) -> Result<(), Failure> {
        if !self.columns[0].is_empty() {
            self.write_rows()?;
        }
        let file = self.writer.into_inner().map_err(|error| failed(&self.path, &error))?;
        file.finish().map_err(|error| Failure::new(format!("{}: {error}", self.path.display())))
    }
}

fn failed(path: &Path, error: &ParquetError) -> Failure {
    Failure::new(format!("{}: {error}", path.display()))
}
