//! Tables: columns of one length, which Arrow's readers take without a copy.

mod html;

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

pub use self::html::{document, fact, table as html_table};
use crate::border::arrow;
use crate::columns::Columns;

/// A table of columns. `pyarrow.table(table)`, `polars.DataFrame(table)` and DuckDB read it without a copy, by
/// `__arrow_c_stream__`.
#[pyclass(module = "opscope", frozen)]
pub struct Table {
    columns: Arc<Columns>,
}

impl From<Columns> for Table {
    fn from(columns: Columns) -> Self {
        Self { columns: Arc::new(columns) }
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&'static str> {
        self.columns.columns().iter().map(|column| column.name).collect()
    }

    fn __len__(&self) -> usize {
        self.columns.rows()
    }

    /// A column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.columns.columns().iter().find(|column| column.name == name);
        let column = column.ok_or_else(|| {
            PyKeyError::new_err(format!("the table has no column '{name}'; it has {}", self.column_names().join(", ")))
        })?;
        let values: PyResult<Vec<_>> = (0..self.columns.rows()).map(|row| column.value(py, row)).collect();
        PyList::new(py, values?)
    }

    /// The rows, a dict each.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let row = |row: usize| {
            let dict = PyDict::new(py);
            for column in self.columns.columns() {
                dict.set_item(column.name, column.value(py, row)?)?;
            }
            Ok(dict)
        };
        (0..self.columns.rows()).map(row).collect()
    }

    /// The rows, one after the other.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.rows(py)?)?.try_iter()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The interface allows a producer to ignore the requested schema.
        let _ = requested_schema;
        arrow::stream(py, &self.columns)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::schema(py, &self.columns)
    }

    fn _repr_html_(&self) -> String {
        html_table(&self.columns)
    }

    fn __repr__(&self) -> String {
        format!("<opscope.Table: {} rows of {}>", self.columns.rows(), self.column_names().join(", "))
    }
}

impl Table {
    /// The table as HTML.
    pub fn html(&self) -> String {
        html_table(&self.columns)
    }
}
