//! From an `acl.json` to the capture of the runs.

use std::path::Path;

use opscope_acl_json::{AclConfig, AclError, DumpContent, DumpSection, Note};
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
                format: format(dump, &DumpFormat::NPY),
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

/// As [`apply`], for a program whose operators are found while it runs. Returns how it is captured, and notes for the
/// user. Tensors go to AscendCL's own files. `header` is the empty beginning of the program's graph.
///
/// # Errors
/// Returns an error for every entry of the file's list if none is for this program. Names of operators are compared
/// [in the end](DumpSection::check_found).
pub fn apply_to_program(
    dump: &DumpSection,
    header: &Graph,
) -> Result<(Request, &'static DumpFormat, Vec<Note>), AclError> {
    let (mut selection, notes) = dump.open_selection(header)?;
    let files = if dump.overflow { &DumpFormat::ASCEND_OVERFLOWED } else { &DumpFormat::ASCEND };
    let format = format(dump, files);
    // These files are of whole operators, of which the sink itself takes those that overflowed.
    selection.only_non_finite = dump.overflow && format != files;
    Ok((Request { selection, inputs_in_flight: false, ..Request::default() }, format, notes))
}

/// Returns the format for what a file dumps. `tensors` is the one for tensors.
fn format(dump: &DumpSection, tensors: &'static DumpFormat) -> &'static DumpFormat {
    match dump.content {
        DumpContent::Tensors => tensors,
        DumpContent::Statistics(_) => &DumpFormat::STATISTICS,
    }
}
