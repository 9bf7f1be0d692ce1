//! Tables: columns of one length, which Arrow's readers take without a copy.

use std::fmt::Write;
use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::border::arrow;
use crate::columns::{Column, Columns, Values, bit};

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

    /// The rows, one after another.
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

/// The rows that a notebook shows of a table.
const SHOWN: usize = 30;

/// Returns a table as HTML; of a long table, only the first rows.
pub fn html_table(columns: &Columns) -> String {
    let is_number = |column: &Column| !matches!(column.values, Values::Texts { .. });
    let align = |column: &Column| if is_number(column) { "right" } else { "left" };
    let mut html = "<table><thead><tr>".to_owned();
    for column in columns.columns() {
        let _ = write!(html, "<th style=\"text-align:{}\">{}</th>", align(column), escaped(column.name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in 0..columns.rows().min(SHOWN) {
        html.push_str("<tr>");
        for column in columns.columns() {
            let _ = write!(html, "<td style=\"text-align:{}\">{}</td>", align(column), escaped(&shown(column, row)));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table>");
    if columns.rows() > SHOWN {
        let _ = write!(html, "<p>{} more rows</p>", columns.rows() - SHOWN);
    }
    html
}

/// Returns a title, with facts as a table of two columns, and with what follows them.
pub fn document(title: &str, facts: &[(&str, String)], rest: &str) -> String {
    let mut html = format!("<div><b>{}</b><table><tbody>", escaped(title));
    facts.iter().for_each(|(name, value)| html.push_str(&fact(name, value)));
    html + "</tbody></table>" + rest + "</div>"
}

/// Returns a row of a table: a name and a value.
pub fn fact(name: &str, value: &str) -> String {
    let cell = |text: &str| format!("<td style=\"text-align:left\">{}</td>", escaped(text));
    format!("<tr>{}{}</tr>", cell(name), cell(value))
}

fn shown(column: &Column, row: usize) -> String {
    if !column.has(row) {
        return String::new();
    }
    match &column.values {
        Values::Integers(numbers) => numbers[row].to_string(),
        Values::Numbers(numbers) => short(numbers[row]),
        Values::Truths(bits) => bit(bits, row).to_string(),
        Values::Texts { .. } => column.text(row).to_owned(),
    }
}

/// Four digits are enough to look at.
fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e7).contains(&size) => {
            let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{number:.digits$}")
        }
        _ => format!("{number:.3e}"),
    }
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            c => html.push(c),
        }
    }
    html
}
