use crate::table::{Cells, ColumnSpec, Kind, Numbered, Row, column, optional};

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
