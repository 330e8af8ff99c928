//! A table for Python: columns, each with its unit and meaning in the metadata of its field, handed over by Arrow's
//! PyCapsule interface. The reader shares the memory; nothing is copied, and nothing is computed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray, cast::AsArray,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyTuple};
use seekwise::keys::nearest;

/// The values of a column. Figures and some counts may be missing; the others are always there.
pub enum Column {
    Count(Vec<i64>),
    OptionalCount(Vec<Option<i64>>),
    Figure(Vec<Option<f64>>),
    Text(Vec<String>),
}

impl Column {
    fn into_array(self) -> ArrayRef {
        match self {
            Column::Count(values) => Arc::new(Int64Array::from(values)),
            Column::OptionalCount(values) => Arc::new(Int64Array::from(values)),
            Column::Figure(values) => Arc::new(Float64Array::from(values)),
            Column::Text(values) => Arc::new(StringArray::from(values)),
        }
    }
}

/// A column with its name, unit and meaning.
pub struct NamedColumn {
    pub name: String,
    pub unit: &'static str,
    pub meaning: String,
    pub column: Column,
}

/// The Arrow field of a column, with its unit and meaning, if it has them, as metadata.
pub fn annotated_field(name: &str, unit: &str, meaning: &str, kind: DataType, nullable: bool) -> Field {
    let entries = [("unit", unit), ("meaning", meaning)].into_iter().filter(|(_, text)| !text.is_empty());
    let metadata: HashMap<String, String> = entries.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
    Field::new(name, kind, nullable).with_metadata(metadata)
}

/// A table: pyarrow, polars, duckdb and pandas read it as it is.
#[pyclass(frozen, eq, module = "seekwise._native")]
#[derive(Clone, PartialEq)]
pub struct Table {
    schema: SchemaRef,
    batches: Arc<Vec<RecordBatch>>,
}

impl Table {
    /// A table of batches of one schema.
    pub fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
        Table { schema, batches: Arc::new(batches) }
    }

    /// A table of columns of one length.
    pub fn of_columns(columns: Vec<NamedColumn>) -> Table {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for NamedColumn { name, unit, meaning, column } in columns {
            let nullable = matches!(column, Column::Figure(_) | Column::OptionalCount(_));
            let array = column.into_array();
            fields.push(annotated_field(&name, unit, &meaning, array.data_type().clone(), nullable));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).expect("columns are of one length");
        Table { schema, batches: Arc::new(vec![batch]) }
    }

    fn row_count(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The batch that has this row of the table, and the row's number in that batch.
    fn locate_row(&self, mut row: usize) -> Option<(&RecordBatch, usize)> {
        for batch in self.batches.iter() {
            if row < batch.num_rows() {
                return Some((batch, row));
            }
            row -= batch.num_rows();
        }
        None
    }
}

impl Table {
    /// The values of a column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index = self.schema.index_of(name).map_err(|_| {
            let names = self.columns();
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or_else(|| names.join(", "), |near| format!("{near:?}"));
            PyKeyError::new_err(format!("no column {name:?}; expected {hint}"))
        })?;
        let values = PyList::empty(py);
        for batch in self.batches.iter() {
            let array = batch.column(index);
            (0..array.len()).try_for_each(|row| values.append(value_at(py, array, row)?))?;
        }
        Ok(values)
    }
}

/// The rows of a table, one after the other.
#[pyclass(module = "seekwise._native")]
pub struct TableRows {
    table: Table,
    next_row: usize,
}

#[pymethods]
impl TableRows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if self.next_row >= self.table.row_count() {
            return Ok(None);
        }
        self.next_row += 1;
        self.table.row(py, self.next_row - 1).map(Some)
    }
}

/// A value of a column as Python has it.
fn value_at<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    match array.data_type() {
        _ if array.is_null(row) => Ok(py.None().into_bound(py)),
        DataType::Int64 => Ok(array.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any()),
        DataType::Float64 => Ok(array.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any()),
        _ => Ok(array.as_string::<i32>().value(row).into_pyobject(py)?.into_any()),
    }
}

fn arrow_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// A stream of Arrow record batches, which share the table's memory.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer hand over what it has where it cannot cast.
        drop(requested_schema);
        let batches = self.batches.iter().cloned().map(Ok).collect::<Vec<_>>();
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(arrow_error)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.row_count()
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        let names: Vec<&String> = self.schema.fields().iter().map(|field| field.name()).collect();
        (names, self.row_count()).hash(&mut hasher);
        hasher.finish()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The unit of each column that has one.
    #[getter]
    fn units(&self) -> HashMap<String, String> {
        let unit = |field: &Arc<Field>| Some((field.name().clone(), field.metadata().get("unit")?.clone()));
        self.schema.fields().iter().filter_map(unit).collect()
    }

    /// The meaning of each column, if its name does not say it.
    #[getter]
    fn meanings(&self) -> HashMap<String, String> {
        let meaning = |field: &Arc<Field>| Some((field.name().clone(), field.metadata().get("meaning")?.clone()));
        self.schema.fields().iter().filter_map(meaning).collect()
    }

    /// The rows from a number on.
    ///
    /// Args:
    ///     first: the number of the first row, from 0.
    ///     count: the most rows.
    ///
    /// Returns:
    ///     A list of tuples.
    ///
    /// Raises:
    ///     OverflowError: a number is negative.
    ///
    /// Example:
    ///     >>> len(sw.drives().rows_from(0, 3))
    ///     3
    #[pyo3(signature = (first = 0, count = 20))]
    fn rows_from<'py>(&self, py: Python<'py>, first: usize, count: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let end = self.row_count().min(first.saturating_add(count));
        (first..end).map(|row| self.row(py, row)).collect()
    }

    /// A row; `table[number]` is the same.
    ///
    /// Args:
    ///     row: its number, from 0.
    ///
    /// Returns:
    ///     A tuple.
    ///
    /// Raises:
    ///     IndexError: there are fewer rows.
    ///
    /// Example:
    ///     >>> sw.drives().row(0) == sw.drives()[0]
    ///     True
    fn row<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyTuple>> {
        let index_error = || PyIndexError::new_err(format!("row {row} of {}", self.row_count()));
        let (batch, batch_row) = self.locate_row(row).ok_or_else(index_error)?;
        let value = |array: &ArrayRef| value_at(py, array, batch_row);
        PyTuple::new(py, batch.columns().iter().map(value).collect::<PyResult<Vec<_>>>()?)
    }

    /// A row by its number, or a column by its name.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.extract::<PyBackedStr>() {
            return Ok(self.column(py, &name)?.into_any());
        }
        let number: isize = key.extract().map_err(|_| {
            PyTypeError::new_err(format!("{key}: expected the number of a row, or the name of a column"))
        })?;
        let index = if number < 0 { number + self.row_count() as isize } else { number };
        let row = usize::try_from(index)
            .map_err(|_| PyIndexError::new_err(format!("row {number} of {}", self.row_count())))?;
        Ok(self.row(py, row)?.into_any())
    }

    fn __iter__(&self) -> TableRows {
        TableRows { table: self.clone(), next_row: 0 }
    }

    /// At most twenty rows, and how many there are.
    fn _repr_html_<'py>(slf: &Bound<'py, Table>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("seekwise._html")?.call_method1("table_preview", (slf,))
    }

    /// The table as the bytes of an Arrow IPC stream.
    ///
    /// Returns:
    ///     Bytes, which pyarrow.ipc and others read.
    ///
    /// Raises:
    ///     Nothing.
    ///
    /// Example:
    ///     >>> len(sw.drives().to_bytes()) > 1000
    ///     True
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let write = || -> Result<Vec<u8>, ArrowError> {
            let mut writer = StreamWriter::try_new(Vec::new(), &self.schema)?;
            self.batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.into_inner()
        };
        Ok(PyBytes::new(py, &py.detach(write).map_err(arrow_error)?))
    }

    /// How `pickle` makes the table again: by `table_of_bytes`.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let constructor = py.import("seekwise._native")?.getattr("table_of_bytes")?;
        Ok((constructor, (self.to_bytes(py)?,)))
    }

    fn __repr__(&self) -> String {
        format!("<seekwise.Table: {} rows of {}>", self.row_count(), self.columns().join(", "))
    }
}

/// A table of the bytes of an Arrow IPC stream, as [`Table::to_bytes`] writes them.
#[pyfunction]
pub fn table_of_bytes(bytes: &[u8]) -> PyResult<Table> {
    let reader = StreamReader::try_new(std::io::Cursor::new(bytes), None).map_err(arrow_error)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<Vec<_>, _>>().map_err(arrow_error)?;
    Ok(Table::of_batches(schema, batches))
}
