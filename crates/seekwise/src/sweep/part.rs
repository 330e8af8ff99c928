//! A part of a sweep as Parquet: a row a run, in the plan's order. Levels and figures are columns for tools that read Parquet; the
//! column `record` has the run's line as it stands in `results.jsonl`, of which the result folder is made.
//!
//! The file is sealed: its metadata has the SHA-256 of all its bytes, those of the seal itself taken as zeros. So a file that is
//! torn or changed is told before anything in it is read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, get_typed_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use seekwise_lab::digest::sha256;
use seekwise_lab::provenance::ProgramVersion;
use seekwise_lab::run::RunRecord;

/// The version of the columns.
const SCHEMA: &str = "1";

/// What stands before the seal's digits.
const SEAL: &str = "sha256:";

/// Digits of a SHA-256.
const DIGITS: usize = 64;

/// The first and the last bytes of a Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// The column with the lines.
const RECORD: &str = "record";

/// Runs of a part, and what is said of them.
pub struct PartRuns<'a> {
    /// The part's name.
    pub name: &'a str,
    /// The names of the factors.
    pub factors: &'a [String],
    /// Of each run its levels, its record, and its line.
    pub runs: &'a [(&'a [String], RunRecord, String)],
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
    fn columns(&self) -> Vec<(String, &'static str, Values)> {
        let counts = |value: fn(&RunRecord) -> i64| Values::Counts(self.runs.iter().map(|run| value(&run.1)).collect());
        let figures =
            |value: fn(&RunRecord) -> Option<f64>| Values::Figures(self.runs.iter().map(|run| value(&run.1)).collect());
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

    /// The file's bytes; equal runs have equal ones.
    pub fn encoded(&self) -> Vec<u8> {
        // Nothing is written but to memory, and the schema is ours.
        self.written().expect("columns fit their schema")
    }

    fn written(&self) -> Result<Vec<u8>, ParquetError> {
        let columns = self.columns();
        let fields = columns.iter().map(|(name, _, values)| field(name, values)).collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build()?;
        let own = [
            ("program", ProgramVersion::this().to_string()),
            ("schema", SCHEMA.to_owned()),
            ("part", self.name.to_owned()),
        ];
        let words = columns.iter().map(|(name, words, _)| (format!("column.{name}"), (*words).to_owned()));
        let seal = ("seal".to_owned(), format!("{SEAL}{}", "0".repeat(DIGITS)));
        let all = own.map(|(key, value)| (key.to_owned(), value)).into_iter().chain(words).chain([seal]);
        let metadata = all.map(|(key, value)| KeyValue::new(key, value)).collect();
        let lines = ColumnPath::from(RECORD);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata))
            // No line is there twice, and nobody looks for one by its bytes.
            .set_column_dictionary_enabled(lines.clone(), false)
            .set_column_statistics_enabled(lines, parquet::file::properties::EnabledStatistics::None)
            .build();
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for (_, _, values) in &columns {
            write_column(&mut group, values)?;
        }
        group.close()?;
        let mut file = writer.into_inner()?;
        let place = seal_of(&file).expect("it has one");
        let digest = sha256(&file);
        file[place].copy_from_slice(digest.as_bytes());
        Ok(file)
    }
}

fn field(name: &str, values: &Values) -> Result<Arc<Type>, ParquetError> {
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

/// Where the digits of a file's seal stand.
fn seal_of(file: &[u8]) -> Option<Range<usize>> {
    let at = file.windows(SEAL.len()).rposition(|window| window == SEAL.as_bytes())? + SEAL.len();
    (at + DIGITS <= file.len()).then_some(at..at + DIGITS)
}

/// The lines of a part, one after another, if the file is as it was written and of the part of this name.
pub fn lines(name: &str, file: &[u8]) -> Result<String, String> {
    let whole = file.len() > 2 * MAGIC.len() && file.starts_with(MAGIC) && file.ends_with(MAGIC);
    let place = seal_of(file).filter(|_| whole).ok_or("it is torn: a Parquet file with a seal was expected")?;
    let mut bare = file.to_vec();
    bare[place.clone()].fill(b'0');
    if sha256(&bare).as_bytes() != &file[place] {
        return Err("it was changed after it was written: its sha256 is another".to_owned());
    }
    read(name, Bytes::from(bare)).map_err(|error| error.to_string())?
}

fn read(name: &str, file: Bytes) -> Result<Result<String, String>, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let metadata = reader.metadata().file_metadata();
    let said = |key: &str| metadata.key_value_metadata()?.iter().find(|it| it.key == key)?.value.clone();
    let part = said("part").unwrap_or_default();
    if part != name || said("schema").as_deref() != Some(SCHEMA) {
        return Ok(Err(format!("it says that it is {part}")));
    }
    let column = metadata.schema_descr().columns().iter().position(|column| column.name() == RECORD);
    let column = column.ok_or_else(|| ParquetError::General(format!("it has no column `{RECORD}`")))?;
    let mut text = String::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = group.metadata().num_rows() as usize;
        let ColumnReader::ByteArrayColumnReader(_) = group.get_column_reader(column)? else {
            return Ok(Err(format!("its column `{RECORD}` has no texts")));
        };
        let mut lines = get_typed_column_reader::<ByteArrayType>(group.get_column_reader(column)?);
        let mut values = Vec::new();
        while lines.read_records(rows - values.len(), None, None, &mut values)?.0 > 0 {}
        for line in values {
            text.push_str(line.as_utf8()?);
            text.push('\n');
        }
    }
    Ok(Ok(text))
}
