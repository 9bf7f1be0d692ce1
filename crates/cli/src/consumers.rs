//! Libraries that receive what this command's models do.

use std::path::{Path, PathBuf};

use opscope::consumers::{self, LIBRARY_DIRECTORY, OfferedTool, Report, ToolRefusal};

use crate::exit::Failure;
use crate::terminal::Messages;

/// The name by which libraries know this command.
const PROGRAM: &std::ffi::CStr = c"opscope";

/// Finds consumers and attaches them, before the first model is loaded.
pub fn attach(messages: Messages) {
    show(&consumers::attach(PROGRAM), messages);
}

/// As [`attach`], and lets consumers run these tools. Returns the libraries that are attached now, including the tools.
///
/// # Errors
/// Returns an error if no consumer accepts one of the tools. Then nothing is attached.
pub fn attach_with_tools(tools: Vec<PathBuf>, messages: Messages) -> Result<Vec<PathBuf>, Failure> {
    let report = consumers::attach_with_tools(PROGRAM, tools);
    show(&report, messages);
    let refused = |tool: &OfferedTool| tool.taken_by.as_ref().err().map(|why| refusal(&tool.path, why, &report));
    let mut problems: Vec<String> = report.tools.iter().filter_map(refused).collect();
    problems.extend(report.tools.iter().filter_map(|tool| not_run(tool, &report)));
    match &problems[..] {
        [] => Ok(report.attached.into_iter().chain(report.tools.into_iter().map(|tool| tool.path)).collect()),
        [problem] => Err(Failure::wrong_use(problem)),
        several => Err(Failure::wrong_use("not all tools can be used:").with_problems(several)),
    }
}

fn show(report: &Report, messages: Messages) {
    for path in &report.attached {
        messages.debug(format!("{} is attached", path.display()));
    }
    for skipped in &report.skipped {
        if skipped.reason.is_fault() { messages.warning(skipped) } else { messages.debug(skipped) }
    }
    for OfferedTool { path, taken_by } in &report.tools {
        if let Ok(consumer) = taken_by {
            messages.debug(format!("{} runs the tool {}", consumer.display(), path.display()));
        }
    }
}

/// Returns a message about a tool whose library was not attached after all.
fn not_run(tool: &OfferedTool, report: &Report) -> Option<String> {
    let taken_by = tool.taken_by.as_ref().ok()?;
    report.skipped.iter().find(|skipped| skipped.path == *taken_by)?;
    let (tool, library) = (tool.path.display(), taken_by.display());
    Some(format!("--tool {tool}: {library} does not run it; the lines above say why"))
}

/// Returns why a tool cannot be used, and what would be right.
fn refusal(tool: &Path, why: &ToolRefusal, report: &Report) -> String {
    let searched: Vec<String> = report.searched.iter().map(|place| place.display().to_string()).collect();
    let searched = searched.join(", ");
    let right = match why {
        ToolRefusal::Missing | ToolRefusal::NoLibrary(_) => {
            "give the path of a tool, such as ./libclient.so".to_owned()
        }
        ToolRefusal::NoConsumer => format!(
            "librocprofiler-sdk.so.1 of opscope was looked for in {searched}; \
             install it beside the command, or set {LIBRARY_DIRECTORY} to its directory"
        ),
        ToolRefusal::NotTaken(_) => format!(
            "a tool of rocprofiler-sdk exports rocprofiler_configure; libraries that run tools were looked for in {searched}"
        ),
        _ => "start the command without a preloaded library that initializes tools".to_owned(),
    };
    format!("--tool {}: {why}; {right}", tool.display())
}
