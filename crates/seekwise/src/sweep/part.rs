//! The file of a part of a sweep, as Parquet: a row a run, in the plan's order. Levels and figures are columns for
//! tools that read Parquet. The column `record` has the run's line as it stands in `results.jsonl`, from which the
//! result folder is made.
//!
//! A part may lie in a folder that others write to, and a reader of Parquet allocates as much memory as a file tells it
//! to, so that none reads it here. Instead, the last entry of the metadata says where the lines are, in one page of
//! Snappy. The lines are unpacked within a bound, and the file is accepted only if it is, byte for byte, the one that
//! these lines make.

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use seekwise_formats::study::{Factor, LevelKind};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::run::RunRecord;
use snap::raw::{Decoder, decompress_len};

/// The version of the columns.
const SCHEMA: &str = "3";

/// The text before the place of the lines in the metadata; the place is their first byte, a plus, and how many bytes
/// they have.
const LINES_PLACE_HEAD: &str = "lines at ";

/// The most bytes of a run's line. The longest lines have all their groups, phases and buckets: some hundred thousand
/// bytes.
const MAX_LINE_BYTES: usize = 4 << 20;

/// The most bytes of a part's lines: a page of Parquet has less than 2 GiB.
const MAX_LINES_BYTES: usize = 1 << 30;

/// The name of the column with the lines.
const RECORD_COLUMN: &str = "record";

/// The most bytes of the lines of so many runs.
pub(crate) fn max_lines_bytes(runs: usize) -> usize {
    runs.saturating_mul(MAX_LINE_BYTES).min(MAX_LINES_BYTES)
}

/// The most bytes of the file of so many runs: its lines, if nothing packs them, and as much for its columns.
pub fn max_file_bytes(runs: usize) -> usize {
    2 * max_lines_bytes(runs)
}

/// The runs of a part.
pub(crate) struct PartRuns<'a> {
    /// The part's name.
    pub name: &'a str,
    pub factors: &'a [Factor],
    pub runs: &'a [PartRun<'a>],
}

/// A run of a part.
pub(crate) struct PartRun<'a> {
    /// The level of each factor.
    pub levels: &'a [String],
    pub record: &'a RunRecord,
    /// The record as a line of `results.jsonl`.
    pub line: String,
}

/// A column of the file.
struct PartColumn {
    name: String,
    /// Its unit, if it has one, and what it means.
    meaning: &'static str,
    values: ColumnValues,
}

/// The values of a column.
enum ColumnValues {
    Counts(Vec<i64>),
    /// Some may be missing.
    Figures(Vec<Option<f64>>),
    Texts(Vec<ByteArray>),
}

impl PartRuns<'_> {
    fn all_columns(&self) -> Vec<PartColumn> {
        let counts = |count: fn(&RunRecord) -> i64| {
            ColumnValues::Counts(self.runs.iter().map(|run| count(run.record)).collect())
        };
        let figures = |figure: fn(&RunRecord) -> Option<f64>| {
            ColumnValues::Figures(self.runs.iter().map(|run| figure(run.record)).collect())
        };
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let column = |name: &str, meaning, values| PartColumn { name: name.to_owned(), meaning, values };
        let mut columns = vec![
            column("cell", "the combination of levels, counted in the plan", counts(|run| run.cell as i64)),
            column("run", "the run of its cell", counts(|run| i64::from(run.run))),
        ];
        for (index, factor) in self.factors.iter().enumerate() {
            let levels = self.runs.iter().map(|run| &run.levels[index]);
            let values = match factor.level_kind() {
                LevelKind::Count => ColumnValues::Counts(levels.map(|level| level.parse().expect("a count")).collect()),
                LevelKind::Figure => ColumnValues::Figures(levels.map(|level| level.parse().ok()).collect()),
                LevelKind::Text => ColumnValues::Texts(levels.map(|level| text(level)).collect()),
            };
            columns.push(column(&format!("level.{}", factor.name), "a factor's level", values));
        }
        columns.extend([
            column("elapsed_s", "s; time counted", figures(|run| Some(run.elapsed_s))),
            column("ios", "requests; reads and writes", counts(|run| run.all.ios as i64)),
            column("iops", "requests/s; reads and writes", figures(|run| Some(run.all.iops))),
            column("bytes_per_s", "bytes/s; reads and writes", figures(|run| Some(run.all.bytes_per_s))),
            column("mean_ms", "ms; response time", figures(|run| run.all.response_ms.as_ref().map(|times| times.mean))),
            column("p50_ms", "ms; response time", figures(|run| run.all.response_ms.as_ref().map(|times| times.p50))),
            column("p99_ms", "ms; response time", figures(|run| run.all.response_ms.as_ref().map(|times| times.p99))),
            column("max_ms", "ms; response time", figures(|run| run.all.response_ms.as_ref().map(|times| times.max))),
        ]);
        let lines = self.runs.iter().map(|run| text(run.line.trim_end())).collect();
        columns.push(column(RECORD_COLUMN, "the run's line in results.jsonl", ColumnValues::Texts(lines)));
        columns
    }

    /// The file's bytes, which are equal for equal runs; an error if they are too many for one part.
    pub(crate) fn encode_file(&self) -> Result<Vec<u8>, String> {
        let lines_bytes = self.runs.iter().map(|run| run.line.len()).sum();
        check_length("its lines have", lines_bytes, max_lines_bytes(self.runs.len()))?;
        // Nothing is written but to memory, and the schema is ours.
        let file = self.write_file().expect("columns fit their schema");
        check_length("it has", file.len(), max_file_bytes(self.runs.len())).map(|()| file)
    }

    fn write_file(&self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.all_columns();
        let fields = columns.iter().map(schema_field).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
        let file_entries = [
            ("program", ProgramVersion::current().to_string()),
            ("schema", SCHEMA.to_owned()),
            ("part", self.name.to_owned()),
        ];
        let column_entries =
            columns.iter().map(|column| (format!("column.{}", column.name), column.meaning.to_owned()));
        let entries = file_entries.map(|(key, value)| (key.to_owned(), value)).into_iter().chain(column_entries);
        let metadata = entries.map(|(key, value)| KeyValue::new(key, value)).collect();
        let lines = ColumnPath::from(RECORD_COLUMN);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            // A column is one page, so that the lines are in one place.
            .set_data_page_size_limit(usize::MAX)
            .set_data_page_row_count_limit(usize::MAX)
            // No line is there twice, and nobody looks for one by its bytes.
            .set_column_dictionary_enabled(lines.clone(), false)
            .set_column_statistics_enabled(lines, parquet::file::properties::EnabledStatistics::None)
            .build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for column in &columns {
            write_column(&mut group, &column.values)?;
        }
        let group = group.close()?;
        let chunk = group.columns().last().expect("the lines are the last column");
        // Both sizes of a chunk include the header of its page, which is not packed.
        let header_bytes = chunk.uncompressed_size() as usize - self.unpacked_page_bytes();
        let first = chunk.data_page_offset() as usize + header_bytes;
        let size = chunk.compressed_size() as usize - header_bytes;
        writer
            .append_key_value_metadata(KeyValue::new("lines".to_owned(), format!("{LINES_PLACE_HEAD}{first}+{size}")));
        writer.into_inner()
    }

    /// Bytes of the lines as an unpacked page has them: each after its length.
    fn unpacked_page_bytes(&self) -> usize {
        self.runs.iter().map(|run| size_of::<u32>() + run.line.trim_end().len()).sum()
    }
}

/// An error if something has more bytes than it may; `subject_and_verb` begin the sentence about it.
fn check_length(subject_and_verb: &str, bytes: usize, max_bytes: usize) -> Result<(), String> {
    match bytes <= max_bytes {
        true => Ok(()),
        false => Err(format!("{subject_and_verb} {bytes} bytes; expected at most {max_bytes}")),
    }
}

fn schema_field(column: &PartColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, repetition, converted) = match column.values {
        ColumnValues::Counts(_) => (Physical::INT64, Repetition::REQUIRED, ConvertedType::NONE),
        ColumnValues::Figures(_) => (Physical::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
        ColumnValues::Texts(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, ConvertedType::UTF8),
    };
    let field = Type::primitive_type_builder(&column.name, physical).with_repetition(repetition);
    field.with_converted_type(converted).build().map(Arc::new)
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, values: &ColumnValues) -> Result<(), ParquetError> {
    let mut out = group.next_column()?.expect("there is a column for each of the schema's");
    match values {
        ColumnValues::Counts(values) => out.typed::<Int64Type>().write_batch(values, None, None),
        ColumnValues::Figures(values) => {
            let definition_levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<f64> = values.iter().flatten().copied().collect();
            out.typed::<DoubleType>().write_batch(&values, Some(&definition_levels), None)
        }
        ColumnValues::Texts(values) => out.typed::<ByteArrayType>().write_batch(values, None, None),
    }?;
    out.close()
}

/// The place of the packed lines in a file, as its metadata says; `None` if it says none.
fn lines_place(file: &[u8]) -> Option<Range<usize>> {
    let place_begin = file.windows(LINES_PLACE_HEAD.len()).rposition(|window| window == LINES_PLACE_HEAD.as_bytes())?
        + LINES_PLACE_HEAD.len();
    let words = file[place_begin..].split(|byte| !matches!(byte, b'0'..=b'9' | b'+')).next()?;
    let (first, size) = std::str::from_utf8(words).ok()?.split_once('+')?;
    let first = first.parse().ok()?;
    Some(first..usize::checked_add(first, size.parse().ok()?)?)
}

/// Unpacks the lines of a part of so many runs, each with its end. The lines are not checked: the file is a whole part
/// only if they make it again.
pub(crate) fn unpack_lines(file: &[u8], runs: usize) -> Result<String, String> {
    check_length("it has", file.len(), max_file_bytes(runs))?;
    let torn_error = || "it is torn: expected a Parquet file that says where its lines are".to_owned();
    let packed = lines_place(file).and_then(|place| file.get(place)).ok_or_else(torn_error)?;
    check_length("its lines have", decompress_len(packed).map_err(|_| torn_error())?, max_lines_bytes(runs))?;
    let page = Decoder::new().decompress_vec(packed).map_err(|_| torn_error())?;
    let (mut rest, mut text) = (&page[..], String::with_capacity(page.len()));
    while let Some((size, after_size)) = rest.split_first_chunk() {
        let line = after_size.get(..u32::from_le_bytes(*size) as usize).ok_or_else(torn_error)?;
        text.push_str(std::str::from_utf8(line).map_err(|_| torn_error())?);
        text.push('\n');
        rest = &after_size[line.len()..];
    }
    if rest.is_empty() { Ok(text) } else { Err(torn_error()) }
}
