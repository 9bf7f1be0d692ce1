//! The columns of tables, as Arrow lays them out.

use pyo3::prelude::*;

/// The columns of a table.
#[derive(Debug, Default)]
pub struct Columns {
    rows: usize,
    columns: Vec<Column>,
}

/// A column.
#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    pub values: Values,
    /// A bit for each row, the lowest first: whether it has a value. `None` if all rows have one.
    pub validity: Option<Vec<u8>>,
    /// How many rows have no value.
    pub nulls: usize,
}

/// The values of a column. A row without a value has 0, or an empty text.
#[derive(Debug)]
pub enum Values {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    /// A bit for each row, the lowest first.
    Truths(Vec<u8>),
    /// The texts, without gaps. A text begins where the previous one ends; the first end is 0.
    Texts {
        ends: Vec<i32>,
        text: Vec<u8>,
    },
}

impl Columns {
    /// Creates a table with this many rows and no columns.
    pub fn of(rows: usize) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Adds a column of texts, one for each row of the table. The functions below do the same for other types.
    #[must_use]
    pub fn texts<T: AsRef<str>>(self, name: &'static str, rows: impl IntoIterator<Item = Option<T>>) -> Self {
        let (mut ends, mut text, mut valid) = (vec![0], Vec::new(), Vec::new());
        for row in rows {
            valid.push(row.is_some());
            text.extend_from_slice(row.as_ref().map_or(&[], |row| row.as_ref().as_bytes()));
            ends.push(i32::try_from(text.len()).unwrap_or(i32::MAX));
        }
        self.with(name, Values::Texts { ends, text }, &valid)
    }

    #[must_use]
    pub fn integers(self, name: &'static str, rows: impl IntoIterator<Item = Option<u64>>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let valid: Vec<bool> = rows.iter().map(Option::is_some).collect();
        let number = |row: Option<u64>| i64::try_from(row.unwrap_or(0)).unwrap_or(i64::MAX);
        self.with(name, Values::Integers(rows.into_iter().map(number).collect()), &valid)
    }

    #[must_use]
    pub fn numbers(self, name: &'static str, rows: impl IntoIterator<Item = Option<f64>>) -> Self {
        let rows: Vec<_> = rows.into_iter().collect();
        let valid: Vec<bool> = rows.iter().map(Option::is_some).collect();
        self.with(name, Values::Numbers(rows.into_iter().map(Option::unwrap_or_default).collect()), &valid)
    }

    #[must_use]
    pub fn truths(self, name: &'static str, rows: impl IntoIterator<Item = bool>) -> Self {
        let rows: Vec<bool> = rows.into_iter().collect();
        let valid = vec![true; rows.len()];
        self.with(name, Values::Truths(bits(&rows)), &valid)
    }

    fn with(mut self, name: &'static str, values: Values, valid: &[bool]) -> Self {
        assert_eq!(valid.len(), self.rows, "column {name} has a row for each row of the table");
        let nulls = valid.iter().filter(|valid| !**valid).count();
        let validity = (nulls > 0).then(|| bits(valid));
        self.columns.push(Column { name, values, validity, nulls });
        self
    }
}

impl Column {
    /// Returns whether a row has a value.
    pub fn has(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|bits| bit(bits, row))
    }

    /// Returns a value as a Python object; `None` for a row without one.
    pub fn value<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if !self.has(row) {
            return Ok(py.None().into_bound(py));
        }
        Ok(match &self.values {
            Values::Integers(numbers) => numbers[row].into_pyobject(py)?.into_any(),
            Values::Numbers(numbers) => numbers[row].into_pyobject(py)?.into_any(),
            Values::Truths(bits) => bit(bits, row).into_pyobject(py)?.to_owned().into_any(),
            Values::Texts { .. } => self.text(row).into_pyobject(py)?.into_any(),
        })
    }

    /// Returns a text of a column of texts.
    pub fn text(&self, row: usize) -> &str {
        let Values::Texts { ends, text } = &self.values else { return "" };
        // Each end is the end of a whole text, so the bytes between two ends are UTF-8.
        std::str::from_utf8(&text[ends[row] as usize..ends[row + 1] as usize]).unwrap_or_default()
    }
}

fn bits(truths: &[bool]) -> Vec<u8> {
    truths.chunks(8).map(|eight| eight.iter().rev().fold(0, |byte, &truth| byte << 1 | u8::from(truth))).collect()
}

/// Returns one of the bits of a column of truths.
pub fn bit(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}
