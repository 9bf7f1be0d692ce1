//! The rows of recordings and of their runs.

use opscope_profile::Recording;

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

/// A recording: what was measured, where and when.
pub(crate) struct RecordingRow<'a> {
    pub id: &'a str,
    pub model: &'a str,
    pub recording: &'a Recording,
}

impl Row for RecordingRow<'_> {
    const TABLE: &'static str = "recordings";
    const COLUMNS: &'static [ColumnSpec] = &[
        column("recording", Kind::Text),
        column("start", Kind::Timestamp),
        column("model_name", Kind::Text),
        column("model_path", Kind::Text),
        column("model_xxh3", Kind::Text),
        column("graph", Kind::Text),
        column("engine", Kind::Text),
        column("engine_version", Kind::Text),
        column("fidelity", Kind::Text),
        column("threads", Kind::Integer),
        column("concurrent_runs", Kind::Integer),
        column("time_resolution_ns", Kind::Integer),
        optional("host_name", Kind::Text),
        column("cpu", Kind::Text),
        column("processors", Kind::Integer),
        column("system", Kind::Text),
        column("process", Kind::Text),
        column("process_id", Kind::Integer),
        column("opscope", Kind::Text),
        column("complete", Kind::Truth),
        optional("incomplete_because", Kind::Text),
    ];

    fn fill(&self, cells: &mut Cells<'_>) {
        let manifest = self.recording.manifest();
        let (model, engine, host, process) = (&manifest.model, &manifest.engine, &manifest.host, &manifest.process);
        let problems = self.recording.problems().join("; ");
        cells.text(self.id);
        cells.integer(manifest.clock.start_unix_ns);
        cells.text(self.model);
        cells.text(&model.path);
        cells.text(&model.xxh3.to_string());
        cells.text(&model.graph);
        cells.text(&engine.name);
        cells.text(&engine.version);
        cells.text(&engine.fidelity.to_string());
        cells.integer(engine.threads as u64);
        cells.integer(engine.concurrent_runs as u64);
        cells.integer(engine.time_resolution_ns);
        cells.optional_text(Some(host.name.as_str()).filter(|name| !name.is_empty()));
        cells.text(&host.cpu);
        cells.integer(host.processors as u64);
        cells.text(&host.system);
        cells.text(&process.name);
        cells.integer(u64::from(process.pid));
        cells.text(&process.opscope);
        cells.truth(self.recording.is_complete());
        cells.optional_text(Some(problems.as_str()).filter(|problems| !problems.is_empty()));
    }
}
