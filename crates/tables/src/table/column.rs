//! A column: its kind, and its values until they are written.

use super::text::TextColumn;

/// The kind of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number: `INT64`.
    Integer,
    /// An id of 64 bits: `UINT64`.
    Id,
    /// A moment in UTC: `TIMESTAMP(NANOS, UTC)`.
    Timestamp,
    /// A number: `DOUBLE`.
    Number,
    /// `BOOLEAN`.
    Truth,
    /// A text, as an index into the dictionary of its row group: `STRING`.
    Text,
}

/// The name and the kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ColumnSpec {
    /// The name, which ends with the unit if the type does not include it.
    pub name: &'static str,
    pub kind: Kind,
    /// Whether a value may be missing (null).
    pub optional: bool,
}

/// Creates a column that has a value in every row.
pub(crate) const fn column(name: &'static str, kind: Kind) -> ColumnSpec {
    ColumnSpec { name, kind, optional: false }
}

/// Creates a column whose values may be missing.
pub(crate) const fn optional(name: &'static str, kind: Kind) -> ColumnSpec {
    ColumnSpec { name, kind, optional: true }
}

/// The values of a column in the current row group.
pub(crate) struct Column {
    pub spec: ColumnSpec,
    pub values: Values,
    /// For an optional column, whether each row has a value: 1 or 0.
    pub defined: Vec<i16>,
}

/// Values of one type, without missing values.
pub(crate) enum Values {
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
    Truths(Vec<bool>),
    Texts(TextColumn),
}

impl Column {
    pub(crate) fn new(spec: ColumnSpec) -> Self {
        let values = match spec.kind {
            Kind::Integer | Kind::Id | Kind::Timestamp => Values::Integers(Vec::new()),
            Kind::Number => Values::Numbers(Vec::new()),
            Kind::Truth => Values::Truths(Vec::new()),
            Kind::Text => Values::Texts(TextColumn::default()),
        };
        Self { spec, values, defined: Vec::new() }
    }

    /// Removes all values, but keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.defined.clear();
        match &mut self.values {
            Values::Integers(values) => values.clear(),
            Values::Numbers(values) => values.clear(),
            Values::Truths(values) => values.clear(),
            Values::Texts(values) => values.clear(),
        }
    }
}

impl Kind {
    /// Returns the declaration of a column in Parquet's schema language.
    pub(crate) fn declaration(self, name: &str) -> String {
        match self {
            Self::Integer => format!("int64 {name}"),
            Self::Id => format!("int64 {name} (INTEGER(64,false))"),
            Self::Timestamp => format!("int64 {name} (TIMESTAMP(NANOS,true))"),
            Self::Number => format!("double {name}"),
            Self::Truth => format!("boolean {name}"),
            Self::Text => format!("binary {name} (STRING)"),
        }
    }

    /// Returns the name of the type in the documentation.
    #[cfg(test)]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Integer => "INT64",
            Self::Id => "UINT64",
            Self::Timestamp => "TIMESTAMP",
            Self::Number => "DOUBLE",
            Self::Truth => "BOOLEAN",
            Self::Text => "STRING",
        }
    }
}
