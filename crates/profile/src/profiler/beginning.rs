use super::RecordingInfo;
use crate::ProfilerOptions;
use crate::load::Load;
use crate::recording::{ClockInfo, HostInfo, Manifest, ModelInfo, ProcessInfo, SCHEMA};

/// Returns the manifest of a recording that begins.
pub(super) fn manifest(info: &RecordingInfo, options: &ProfilerOptions) -> Manifest {
    let source = &info.graph.source;
    Manifest {
        schema: SCHEMA.to_owned(),
        complete: false,
        incomplete_because: Vec::new(),
        notes: Vec::new(),
        model: ModelInfo {
            path: source.path.display().to_string(),
            xxh3: source.xxh3,
            graph: info.graph.name.clone(),
            producer: source.producer.clone(),
        },
        engine: info.engine.clone(),
        host: HostInfo::current(),
        load: Load::now(),
        process: ProcessInfo::current(),
        clock: ClockInfo::start(),
        switches: options.switches.states().into_iter().map(|(name, on)| (name.to_owned(), on)).collect(),
        sample_interval_ns: options.sample_interval.as_nanos() as u64,
        records: None,
    }
}
