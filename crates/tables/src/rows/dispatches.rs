//! The rows of operators and of their dispatches.

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

/// A kernel of a plan, with the times of its dispatches.
pub(crate) struct Operator<'a> {
    pub recording: Numbered<'a>,
    pub plan: u64,
    pub kernel: u32,
    pub operator: &'a str,
    pub op_type: &'a str,
    pub attribution: &'a str,
    pub engine_name: &'a str,
    pub engine_op: &'a str,
    pub fused: Option<&'a str>,
    pub input_shapes: Option<&'a str>,
    pub input_types: Option<&'a str>,
    pub output_shapes: Option<&'a str>,
    pub output_types: Option<&'a str>,
    pub times: Times,
    pub module: Option<&'a str>,
    pub class: Option<&'a str>,
    pub source: Option<&'a str>,
}

/// The times of those dispatches of a kernel that count for statistics, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub count: u64,
    pub total: u64,
    pub min: Option<u64>,
    pub max: Option<u64>,
}

impl Times {
    pub(crate) fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(nanos);
        self.min = Some(self.min.map_or(nanos, |min| min.min(nanos)));
        self.max = Some(self.max.map_or(nanos, |max| max.max(nanos)));
    }
}

impl Row for Operator<'_> {
    const TABLE: &'static str = "operators";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("plan", Kind::Integer),
        column("kernel", Kind::Integer),
        column("operator", Kind::Text),
        column("op_type", Kind::Text),
        column("attribution", Kind::Text),
        column("engine_kernel", Kind::Text),
        column("engine_op", Kind::Text),
        optional("fused", Kind::Text),
        optional("input_shapes", Kind::Text),
        optional("input_types", Kind::Text),
        optional("output_shapes", Kind::Text),
        optional("output_types", Kind::Text),
        column("dispatches", Kind::Integer),
        column("total_duration_ns", Kind::Integer),
        optional("min_duration_ns", Kind::Integer),
        optional("max_duration_ns", Kind::Integer),
        optional("module", Kind::Text),
        optional("class", Kind::Text),
        optional("source", Kind::Text),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        cells.numbered(self.recording);
        cells.integer(self.plan);
        cells.integer(u64::from(self.kernel));
        cells.text(self.operator);
        cells.text(self.op_type);
        cells.text(self.attribution);
        cells.text(self.engine_name);
        cells.text(self.engine_op);
        cells.optional_text(self.fused);
        cells.optional_text(self.input_shapes);
        cells.optional_text(self.input_types);
        cells.optional_text(self.output_shapes);
        cells.optional_text(self.output_types);
        cells.integer(self.times.count);
        cells.integer(self.times.total);
        cells.optional_integer(self.times.min);
        cells.optional_integer(self.times.max);
        cells.optional_text(self.module);
        cells.optional_text(self.class);
        cells.optional_text(self.source);
    }
}
