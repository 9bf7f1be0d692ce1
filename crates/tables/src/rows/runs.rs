use crate::table::{Cells, ColumnSpec, Kind, Numbered, Row, column, optional};

/// One inference.
pub(crate) struct Run<'a> {
    pub recording: Numbered<'a>,
    pub run: u64,
    pub plan: u64,
    pub thread: u32,
    pub start: u64,
    pub duration: u64,
    pub upload: Option<u64>,
    pub download: Option<u64>,
    pub warm_up: bool,
    pub failed: bool,
    pub measured: bool,
    pub correlation: u64,
    pub external: u64,
}

impl Row for Run<'_> {
    const TABLE: &'static str = "runs";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("run", Kind::Integer),
        column("plan", Kind::Integer),
        column("thread", Kind::Integer),
        column("start", Kind::Timestamp),
        column("duration_ns", Kind::Integer),
        optional("upload_duration_ns", Kind::Integer),
        optional("download_duration_ns", Kind::Integer),
        column("warm_up", Kind::Truth),
        column("failed", Kind::Truth),
        column("measured", Kind::Truth),
        column("correlation", Kind::Id),
        column("external_correlation", Kind::Id),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.numbered(self.recording);
        cells.integer(self.run);
        cells.integer(self.plan);
        cells.integer(u64::from(self.thread));
        cells.integer(self.start);
        cells.integer(self.duration);
        cells.optional_integer(self.upload);
        cells.optional_integer(self.download);
        cells.truth(self.warm_up);
        cells.truth(self.failed);
        cells.truth(self.measured);
        cells.id(self.correlation);
        cells.id(self.external);
    }
}
