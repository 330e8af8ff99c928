//! Writes every counted request to a Parquet file (`--log`): one row a request, times in nanoseconds of the place's
//! time, a column for each part of a response time.
//!
//! The file's key-value metadata explains each column: `column.NAME` is its unit and its meaning (`parquet-cli meta`,
//! DuckDB's `parquet_kv_metadata` and pyarrow's `schema.metadata` show it). The other keys say what made the file. It
//! is written as all outputs are ([`crate::outputs`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::Int64Type;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use seekwise_disk::block::{Op, Status};
use seekwise_disk::record::Part;
use seekwise_lab::provenance::ProgramVersion;

use crate::error::Error;
use crate::system::outputs::OutputFile;

/// A request that ended, with the parts of its response time.
pub use seekwise_disk::record::Record;

/// So many rows are held in memory and written together: 18 columns of them are 19 MB.
const ROWS_PER_GROUP: usize = 131_072;

/// Columns before the parts: name, unit and meaning; the place's clock gives the unit of instants.
const COLUMNS: [(&str, &str); 9] = [
    ("worker", "number; the worker of the job that issued the request, from 0"),
    ("op", "code; 0 read, 1 write, 2 write zeroes, 3 flush, 4 trim, 5 compute"),
    ("status", "code; 0 done, 1 failed"),
    ("lba", "blocks of 512 bytes; the first block, counted from the beginning of what the job runs on"),
    ("sectors", "blocks of 512 bytes; how many of them, from the first"),
    ("intended_ns", "when the request was due; without a pace, when it was issued"),
    ("issued_ns", "when it was issued: its response time runs from here"),
    ("submitted_ns", "when the device took it"),
    ("finished_ns", "when it was done"),
];

/// The rule that the parts keep together.
const PARTS_RULE: &str = "the columns of parts add up to finished_ns - issued_ns, the response time, exactly";

/// The columns of a log: (name, unit and meaning).
pub fn columns(is_measured: bool) -> Vec<(String, String)> {
    let clock = if is_measured { "ns of the wall clock" } else { "ns of virtual time" };
    let own_columns = COLUMNS.map(|(name, meaning)| match name.ends_with("_ns") {
        true => (name.to_owned(), format!("{clock}; {meaning}")),
        false => (name.to_owned(), meaning.to_owned()),
    });
    let part_column =
        |part: Part| (format!("{}_ns", part.name()), format!("{clock}; part of the response: {}", part.meaning()));
    own_columns.into_iter().chain(Part::ALL.map(part_column)).collect()
}

/// The row of a request: a value for each of the columns.
pub fn row(record: &Record) -> impl Iterator<Item = i64> + '_ {
    let (request, completion) = (&record.request, &record.completion);
    let op = match request.op {
        Op::Read => 0,
        Op::Write => 1,
        Op::WriteZeroes => 2,
        Op::Flush => 3,
        Op::Trim => 4,
        Op::Compute => 5,
    };
    let own_values = [
        u64::from(record.worker),
        op,
        u64::from(completion.status != Status::Done),
        request.lba,
        u64::from(request.sectors),
        record.intended.nanos(),
        record.issued.nanos(),
        completion.submitted.nanos(),
        completion.finished.nanos(),
    ];
    let parts = Part::ALL.into_iter().map(|part| completion.parts.get(part).nanos());
    own_values.into_iter().chain(parts).map(|value| value as i64)
}

/// The run that a log is of, for the file's metadata.
pub(crate) struct LogHeader<'a> {
    /// The job that ran, as a title has it.
    pub job: &'a str,
    /// The target that it ran on, as a title has it.
    pub target: &'a str,
    pub seed: u64,
    /// Whether times are measured, not virtual.
    pub measured: bool,
}

impl LogHeader<'_> {
    /// The key-value metadata of the file with these columns, each a name and its words.
    fn file_metadata(&self, columns: &[(String, String)]) -> Vec<KeyValue> {
        let own = [
            ("program", ProgramVersion::current().to_string()),
            ("job", self.job.to_owned()),
            ("target", self.target.to_owned()),
            ("seed", self.seed.to_string()),
            ("parts", PARTS_RULE.to_owned()),
        ];
        let own = own.map(|(key, value)| KeyValue::new(key.to_owned(), value)).into_iter();
        own.chain(columns.iter().map(|(name, words)| KeyValue::new(format!("column.{name}"), words.clone()))).collect()
    }
}

/// An open log.
pub(crate) struct ParquetLog {
    path: PathBuf,
    writer: SerializedFileWriter<OutputFile>,
    columns: Vec<Vec<i64>>,
}

impl ParquetLog {
    /// Begins the log `path`; a file that is there is replaced only with `force`.
    pub fn create(path: &Path, force: bool, header: &LogHeader<'_>) -> Result<ParquetLog, Error> {
        let named_columns = columns(header.measured);
        let fields: String = named_columns.iter().map(|(name, _)| format!("required int64 {name};")).collect();
        let schema =
            parse_message_type(&format!("message requests {{ {fields} }}")).map_err(|e| parquet_error(path, &e))?;
        let file = OutputFile::create(path, force).map_err(|error| Error::of_file(path, &error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(header.file_metadata(&named_columns)))
            .build();
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties));
        let writer = writer.map_err(|error| parquet_error(path, &error))?;
        Ok(ParquetLog {
            path: path.to_owned(),
            writer,
            columns: vec![Vec::with_capacity(ROWS_PER_GROUP); named_columns.len()],
        })
    }

    /// Adds the row of a request; rows are written in groups.
    pub fn add_row(&mut self, record: &Record) -> Result<(), Error> {
        for (column, value) in self.columns.iter_mut().zip(row(record)) {
            column.push(value);
        }
        if self.columns[0].len() == ROWS_PER_GROUP { self.write_rows() } else { Ok(()) }
    }

    fn write_rows(&mut self) -> Result<(), Error> {
        let ParquetLog { path, writer, columns, .. } = self;
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
        write().map_err(|error| parquet_error(path, &error))
    }

    /// Completes the file and puts it in its place.
    pub fn finish(mut self) -> Result<(), Error> {
        if !self.columns[0].is_empty() {
            self.write_rows()?;
        }
        let file = self.writer.into_inner().map_err(|error| parquet_error(&self.path, &error))?;
        file.finish().map_err(|error| Error::of_file(&self.path, &error))
    }
}

fn parquet_error(path: &Path, error: &ParquetError) -> Error {
    match error {
        ParquetError::External(why) => Error::new(format!("{}: {why}", path.display())),
        _ => Error::new(format!("{}: {error}", path.display())),
    }
}
