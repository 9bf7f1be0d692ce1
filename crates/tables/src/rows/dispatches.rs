use crate::table::{Cells, ColumnSpec, Kind, Numbered, Row, column, optional};

/// One execution of a kernel.
pub(crate) struct Dispatch<'a> {
    pub recording: Numbered<'a>,
    pub run: u64,
    pub plan: u64,
    pub kernel: u32,
    pub thread: u32,
    pub start: u64,
    pub duration: u64,
    pub wait: Option<u64>,
    pub operator: Numbered<'a>,
    pub op_type: Numbered<'a>,
    pub path: Option<&'a str>,
    pub measured: bool,
}

impl Row for Dispatch<'_> {
    const TABLE: &'static str = "dispatches";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("run", Kind::Integer),
        column("plan", Kind::Integer),
        column("kernel", Kind::Integer),
        column("thread", Kind::Integer),
        column("start", Kind::Timestamp),
        column("duration_ns", Kind::Integer),
        optional("wait_ns", Kind::Integer),
        column("operator", Kind::Text),
        column("op_type", Kind::Text),
        optional("path", Kind::Text),
        column("measured", Kind::Truth),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.numbered(self.recording);
        cells.integer(self.run);
        cells.integer(self.plan);
        cells.integer(u64::from(self.kernel));
        cells.integer(u64::from(self.thread));
        cells.integer(self.start);
        cells.integer(self.duration);
        cells.optional_integer(self.wait);
        cells.numbered(self.operator);
        cells.numbered(self.op_type);
        cells.optional_text(self.path);
        cells.truth(self.measured);
    }
}
