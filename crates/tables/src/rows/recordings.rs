use opscope_profile::Recording;

use crate::table::{Cells, ColumnSpec, Kind, Row, column, optional};

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
