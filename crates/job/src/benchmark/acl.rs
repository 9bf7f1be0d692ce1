//! From an `acl.json` to the capture of the runs.

use std::path::Path;

use opscope_acl_json::{AclConfig, AclError, DumpContent, Note};
use opscope_dump::{DumpFormat, Request};
use opscope_onnx::Graph;
use opscope_profile::{ProfilerOptions, TimelineRuns};

use super::job::CaptureSpec;

/// Checks an `acl.json` against a model. Returns what it captures, and notes for the user. Captured data goes to the
/// directory that the file names, under `run_name`.
///
/// # Errors
/// Returns an error for every name in the file that the model does not have, or one error if the file excludes every
/// tensor.
pub fn apply(
    config: &AclConfig,
    graph: &Graph,
    run_name: &Path,
    defaults: &ProfilerOptions,
) -> Result<(CaptureSpec, Vec<Note>), AclError> {
    match (&config.dump, &config.profiler) {
        (Some(dump), _) => {
            let (selection, notes) = dump.selection(graph)?;
            let capture = CaptureSpec::Dump {
                directory: dump.directory(run_name),
                request: Box::new(Request { selection, ..Request::default() }),
                format: match dump.content {
                    DumpContent::Tensors => &DumpFormat::NPY,
                    DumpContent::Statistics(_) => &DumpFormat::STATISTICS,
                },
                histograms: false,
            };
            Ok((capture, notes))
        }
        (None, Some(profiler)) => {
            let capture = CaptureSpec::Profile {
                directory: profiler.directory(run_name),
                options: Box::new(profiler.options(defaults)),
                exports: Vec::new(),
                timeline_runs: TimelineRuns::default(),
            };
            Ok((capture, Vec::new()))
        }
        (None, None) => Ok((CaptureSpec::Nothing, Vec::new())),
    }
}
