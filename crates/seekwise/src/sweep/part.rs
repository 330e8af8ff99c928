//! A part of a sweep as Parquet: a row a run, in the plan's order. Levels and figures are columns for tools that read
//! Parquet; the column `record` has the run's line as it stands in `results.jsonl`, of which the result folder is made.
//!
//! A part may lie in a folder that others write to, and a reader of Parquet allocates as much as a file tells it to. So
//! none reads it here: the last entry of its metadata says where the lines are, in one page of Snappy. The lines are
//! unpacked within a bound, and a part is whole only if it is, byte for byte, the file that these lines make.

use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::run::RunRecord;
use snap::raw::{Decoder, decompress_len};

/// The version of the columns.
const SCHEMA: &str = "2";

/// The text before the place of the lines: their first byte, a plus, how many bytes they have.
const PLACE: &str = "lines at ";

/// Bytes of a run's line at most. The longest have all their groups, phases and buckets: some hundred thousand.
const MOST_OF_LINE: usize = 4 << 20;

/// Bytes of a part's lines at most: a page of Parquet has less than 2 GiB.
const MOST_OF_PART: usize = 1 << 30;

/// The column with the lines.
const RECORD: &str = "record";

/// Bytes of the lines of so many runs at most.
pub(crate) fn max_line_bytes(runs: usize) -> usize {
    runs.saturating_mul(MOST_OF_LINE).min(MOST_OF_PART)
}

/// Bytes of a part of so many runs at most: its lines, if nothing packs them, and as much for its columns.
pub fn max_file_bytes(runs: usize) -> usize {
    2 * max_line_bytes(runs)
}

/// The runs of a part, with their levels and lines.
pub(crate) struct PartRuns<'a> {
    /// The part's name.
    pub name: &'a str,
    /// The names of the factors.
    pub factors: &'a [String],
    /// The levels, the record, and the line of each run.
    pub runs: &'a [(&'a [String], &'a RunRecord, String)],
}

/// The values of a column.
enum Values {
    Counts(Vec<i64>),
    /// Some may be missing.
    Figures(Vec<Option<f64>>),
    Texts(Vec<ByteArray>),
}

impl PartRuns<'_> {
    /// The columns: name, unit and meaning, values.
    fn all_columns(&self) -> Vec<(String, &'static str, Values)> {
        let counts = |value: fn(&RunRecord) -> i64| Values::Counts(self.runs.iter().map(|run| value(run.1)).collect());
        let figures =
            |value: fn(&RunRecord) -> Option<f64>| Values::Figures(self.runs.iter().map(|run| value(run.1)).collect());
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let mut columns = vec![
            ("cell".to_owned(), "the combination of levels, counted in the plan", counts(|it| it.cell as i64)),
            ("run".to_owned(), "the run of its cell", counts(|it| i64::from(it.run))),
        ];
        for (place, factor) in self.factors.iter().enumerate() {
            let levels = self.runs.iter().map(|run| text(&run.0[place])).collect();
            columns.push((format!("level.{factor}"), "a factor's level", Values::Texts(levels)));
        }
        let more = [
            ("elapsed_s", "s; time counted", figures(|it| Some(it.elapsed_s))),
            ("ios", "requests; reads and writes", counts(|it| it.all.ios as i64)),
            ("iops", "requests/s; reads and writes", figures(|it| Some(it.all.iops))),
            ("bytes_per_s", "bytes/s; reads and writes", figures(|it| Some(it.all.bytes_per_s))),
            ("mean_ms", "ms; response time", figures(|it| it.all.response_ms.as_ref().map(|it| it.mean))),
            ("p50_ms", "ms; response time", figures(|it| it.all.response_ms.as_ref().map(|it| it.p50))),
            ("p99_ms", "ms; response time", figures(|it| it.all.response_ms.as_ref().map(|it| it.p99))),
            ("max_ms", "ms; response time", figures(|it| it.all.response_ms.as_ref().map(|it| it.max))),
        ];
        columns.extend(more.map(|(name, words, values)| (name.to_owned(), words, values)));
        let lines = self.runs.iter().map(|run| text(run.2.trim_end())).collect();
        columns.push((RECORD.to_owned(), "the run's line in results.jsonl", Values::Texts(lines)));
        columns
    }

    /// The file's bytes; equal runs have equal ones. An error says that they are too many for one part.
    pub(crate) fn encode_file(&self) -> Result<Vec<u8>, String> {
        let lines = self.runs.iter().map(|run| run.2.len()).sum();
        check_bytes("its lines have", lines, max_line_bytes(self.runs.len()))?;
        // Nothing is written but to memory, and the schema is ours.
        let file = self.write_file().expect("columns fit their schema");
        check_bytes("it has", file.len(), max_file_bytes(self.runs.len())).map(|()| file)
    }

    fn write_file(&self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.all_columns();
        let fields =
            columns.iter().map(|(name, _, values)| schema_field(name, values)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
        let own = [
            ("program", ProgramVersion::current().to_string()),
            ("schema", SCHEMA.to_owned()),
            ("part", self.name.to_owned()),
        ];
        let words = columns.iter().map(|(name, words, _)| (format!("column.{name}"), (*words).to_owned()));
        let all = own.map(|(key, value)| (key.to_owned(), value)).into_iter().chain(words);
        let metadata = all.map(|(key, value)| KeyValue::new(key, value)).collect();
        let lines = ColumnPath::from(RECORD);
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
        for (_, _, values) in &columns {
            write_column(&mut group, values)?;
        }
        let group = group.close()?;
        let chunk = group.columns().last().expect("the lines are the last column");
        // Both sizes of a chunk count its page's header, which is not packed.
        let head = chunk.uncompressed_size() as usize - self.plain_size();
        let (first, size) = (chunk.data_page_offset() as usize + head, chunk.compressed_size() as usize - head);
        writer.append_key_value_metadata(KeyValue::new("lines".to_owned(), format!("{PLACE}{first}+{size}")));
        writer.into_inner()
    }

    /// Bytes of the lines as a page has them: each after its length.
    fn plain_size(&self) -> usize {
        self.runs.iter().map(|run| size_of::<u32>() + run.2.trim_end().len()).sum()
    }
}

fn check_bytes(what: &str, bytes: usize, most: usize) -> Result<(), String> {
    match bytes <= most {
        true => Ok(()),
        false => Err(format!("{what} {bytes} bytes; expected at most {most}")),
    }
}

fn schema_field(name: &str, values: &Values) -> Result<Arc<Type>, ParquetError> {
    let (physical, repetition, kind) = match values {
        Values::Counts(_) => (Physical::INT64, Repetition::REQUIRED, ConvertedType::NONE),
        Values::Figures(_) => (Physical::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
        Values::Texts(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED, ConvertedType::UTF8),
    };
    let field = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_converted_type(kind);
    field.build().map(Arc::new)
}

fn write_column(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, values: &Values) -> Result<(), ParquetError> {
    let mut out = group.next_column()?.expect("there is a column for each of the schema's");
    match values {
        Values::Counts(values) => out.typed::<Int64Type>().write_batch(values, None, None),
        Values::Figures(values) => {
            let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let values: Vec<f64> = values.iter().flatten().copied().collect();
            out.typed::<DoubleType>().write_batch(&values, Some(&there), None)
        }
        Values::Texts(values) => out.typed::<ByteArrayType>().write_batch(values, None, None),
    }?;
    out.close()
}

/// Where a file says that its lines are.
fn find_lines(file: &[u8]) -> Option<Range<usize>> {
    let at = file.windows(PLACE.len()).rposition(|window| window == PLACE.as_bytes())? + PLACE.len();
    let words = file[at..].split(|byte| !matches!(byte, b'0'..=b'9' | b'+')).next()?;
    let (first, size) = std::str::from_utf8(words).ok()?.split_once('+')?;
    let first = first.parse().ok()?;
    Some(first..usize::checked_add(first, size.parse().ok()?)?)
}

/// The lines of a part of so many runs, each with its end. Nothing is checked: the file is a whole part only if these
/// lines make it again.
pub(crate) fn unpack_lines(file: &[u8], runs: usize) -> Result<String, String> {
    check_bytes("it has", file.len(), max_file_bytes(runs))?;
    let torn = || "it is torn: expected a Parquet file that says where its lines are".to_owned();
    let packed = find_lines(file).and_then(|place| file.get(place)).ok_or_else(torn)?;
    check_bytes("its lines have", decompress_len(packed).map_err(|_| torn())?, max_line_bytes(runs))?;
    let plain = Decoder::new().decompress_vec(packed).map_err(|_| torn())?;
    let (mut rest, mut text) = (&plain[..], String::with_capacity(plain.len()));
    while let Some((size, behind)) = rest.split_first_chunk() {
        let line = behind.get(..u32::from_le_bytes(*size) as usize).ok_or_else(torn)?;
        text.push_str(std::str::from_utf8(line).map_err(|_| torn())?);
        text.push('\n');
        rest = &behind[line.len()..];
    }
    if rest.is_empty() { Ok(text) } else { Err(torn()) }
}
