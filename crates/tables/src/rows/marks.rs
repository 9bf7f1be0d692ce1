//! The rows of marks and of counters.

use crate::table::{Cells, ColumnSpec, Kind, Numbered, Row, column, optional};

/// A moment or a range that the user's code marked.
pub(crate) struct Mark<'a> {
    pub recording: Numbered<'a>,
    pub name: &'a str,
    pub kind: &'static str,
    pub thread: u32,
    pub start: u64,
    pub duration: u64,
    pub correlation: u64,
    pub external: u64,
}

impl Row for Mark<'_> {
    const TABLE: &'static str = "marks";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("name", Kind::Text),
        column("kind", Kind::Text),
        column("thread", Kind::Integer),
        column("start", Kind::Timestamp),
        column("duration_ns", Kind::Integer),
        column("correlation", Kind::Id),
        column("external_correlation", Kind::Id),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.numbered(self.recording);
        cells.text(self.name);
        cells.text(self.kind);
        cells.integer(u64::from(self.thread));
        cells.integer(self.start);
        cells.integer(self.duration);
        cells.id(self.correlation);
        cells.id(self.external);
    }
}

/// A value of a counter.
pub(crate) struct Counter<'a> {
    pub recording: Numbered<'a>,
    pub time: u64,
    pub counter: &'a str,
    pub unit: Option<&'a str>,
    pub value: f64,
}

impl Row for Counter<'_> {
    const TABLE: &'static str = "counters";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("time", Kind::Timestamp),
        column("counter", Kind::Text),
        optional("unit", Kind::Text),
        column("value", Kind::Number),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.numbered(self.recording);
        cells.integer(self.time);
        cells.text(self.counter);
        cells.optional_text(self.unit);
        cells.number(self.value);
    }
}
