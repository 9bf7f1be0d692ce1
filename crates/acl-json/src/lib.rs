//! `acl.json`: the file in which AscendCL programs say what to dump and what to profile. The file is read strictly. All
//! problems are reported at once, each with its location and what would be right. There are three classes of keys: an
//! unknown key is a problem; a key of the vendor that has no meaning on this engine is checked and listed as a
//! [`Note`]; all others become the types of this crate. `docs/acl-json.md` has the table of all keys. For AscendCL
//! programs the file is read [as by the vendor's library](AclConfig::parse_as_vendor), which is less strict.
//!
//! [`DumpSection::selection`] converts the file for a dumper, and [`ProfilerSection::options`] for a profiler.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `profiler`, `dump` | the two sections, and what they capture of a model |
//! | `no_effect` | keys that are valid and have no effect here |
//! | `field` | a value of the file with its location, and the report of problems |
//! | `json` | JSON exactly as the file has it |
//! | `problem` | what is wrong, where, and what would be right |

#![forbid(unsafe_code)]

mod dump;
mod field;
mod json;
mod no_effect;
mod problem;
mod profiler;

use std::path::{Path, PathBuf};

pub use dump::{
    AclError, DumpContent, DumpLevel, DumpSection, DumpedModel, Excluded, ModelNames, NameRange, NamedOperator,
    SelectedSlots, Statistic,
};
pub use problem::{Location, Note, NoteKind, Problem, ProblemKind};
pub use profiler::{HostUsage, ProfilerSection, SampleRate, TaskTime};

use dump::Captured;
use field::{Field, Report};
use no_effect::{NoEffect, Rule};

/// The largest file that is read, in bytes, as in the vendor's reader.
pub const LARGEST_FILE: u64 = 10 << 20;

/// How many objects may be nested in each other, and how many arrays.
pub const DEEPEST_NESTING: usize = 10;

/// The content of an `acl.json`. It has at most one of the two sections, because a dump lengthens the times that a
/// profile shows; a file that is read as by the vendor's library may have both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AclConfig {
    /// What to dump; `None` if the file has no `dump` section or one that captures nothing.
    pub dump: Option<DumpSection>,
    /// The directory for dumps of device exceptions, if `dump_scene` asks for them: `dump_path`, or the working
    /// directory. There is no device here, so nothing is ever dumped to it.
    pub exceptions: Option<PathBuf>,
    /// What to profile; `None` if the file has no `profiler` section or one that is not switched on.
    pub profiler: Option<ProfilerSection>,
    /// Whether each thread of a program can query the failures of all threads: `err_msg_mode` is `1`.
    pub failures_of_process: bool,
    /// Keys without an effect here, and warnings.
    pub notes: Vec<Note>,
}

impl AclConfig {
    /// Reads a file. Relative paths in it are relative to `working_dir`.
    ///
    /// # Errors
    /// Returns every problem of the file: it cannot be read, is not a regular file, is larger than [`LARGEST_FILE`], is
    /// not JSON, is nested deeper than [`DEEPEST_NESTING`], or has keys or values that are wrong.
    pub fn read(path: &Path, working_dir: &Path) -> Result<AclConfig, Vec<Problem>> {
        let text = read_text(path).map_err(|problem| vec![problem])?;
        AclConfig::parse(&text, working_dir)
    }

    /// Reads the text of a file. Relative paths in it are relative to `working_dir`.
    ///
    /// # Errors
    /// Returns every problem of the text, as [`read`](Self::read) does.
    pub fn parse(text: &str, working_dir: &Path) -> Result<AclConfig, Vec<Problem>> {
        parse(text, working_dir, Report::default())
    }

    /// Reads the text of a file as the vendor's library does: outside the `profiler` section, unknown keys are allowed
    /// and have no effect, the file may have both a dump and a profile, and the directory of a dump must exist.
    ///
    /// # Errors
    /// Returns every other problem of the text, as [`read`](Self::read) does.
    pub fn parse_as_vendor(text: &str, working_dir: &Path) -> Result<AclConfig, Vec<Problem>> {
        parse(text, working_dir, Report { as_vendor: true, ..Report::default() })
    }
}

fn parse(text: &str, working_dir: &Path, mut report: Report) -> Result<AclConfig, Vec<Problem>> {
    let json = json::parse(text).map_err(|problem| vec![problem])?;
    let config = top_level(&Field::root(&json), working_dir, &mut report);
    if report.problems.is_empty() { Ok(AclConfig { notes: report.notes, ..config }) } else { Err(report.problems) }
}

const FAILURES: &str = "err_msg_mode";

const TOP_LEVEL: &[NoEffect] = &[
    NoEffect::new(FAILURES, Rule::OneOf(&["0", "1"]), "every error is reported where it happens"),
    NoEffect::new("max_opqueue_num", Rule::Count, "operators are not queued"),
];

fn top_level(root: &Field<'_>, working_dir: &Path, report: &mut Report) -> AclConfig {
    let known = ["dump", "profiler", FAILURES, "max_opqueue_num", "defaultDevice", "StackSize"];
    let Some(object) = root.object(&known, report) else { return AclConfig::default() };
    no_effect::check(&object, TOP_LEVEL, report);
    if let Some(device) = object.get("defaultDevice") {
        let rules = [NoEffect::new("default_device", Rule::Count, "there is one device here, the CPU")];
        no_effect::check_section(&device, &rules, report);
    }
    if let Some(stack) = object.get("StackSize") {
        let reason = "kernels run on the stacks of the engine's threads";
        let rules = ["aicore_stack_size", "simt_stack_size", "simt_divergence_stack_size"]
            .map(|key| NoEffect::new(key, Rule::Integer(0, u64::MAX), reason));
        no_effect::check_section(&stack, &rules, report);
    }
    let captured = object.get("dump").and_then(|field| dump::read(&field, working_dir, report));
    let (dump, exceptions) = match captured {
        Some(Captured::Tensors(dump)) => (Some(dump), None),
        Some(Captured::Exceptions(directory)) => (None, Some(directory)),
        None => (None, None),
    };
    let profiler = object.get("profiler").and_then(|field| profiler::read(&field, working_dir, report));
    if dump.is_some() && profiler.is_some() && !report.as_vendor {
        report.problem(
            ProblemKind::Conflict,
            "/profiler/switch",
            "the profiler is on and the dump section captures tensors, which lengthens the times that a profile shows",
            "keep one of the two sections, and run twice if you need both",
        );
    }
    if object.get("dump").is_none() && object.get("profiler").is_none() {
        report.warning("", "there is neither a \"dump\" nor a \"profiler\" section, so nothing will be recorded");
    }
    let failures_of_process = object.says(FAILURES, "1");
    AclConfig { dump, exceptions, profiler, failures_of_process, notes: Vec::new() }
}

fn read_text(path: &Path) -> Result<String, Problem> {
    let problem = |what: String, right: &str| {
        Problem::new(ProblemKind::File, Location::File(path.to_owned()), what, right.to_owned())
    };
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => problem("there is no such file".to_owned(), "give the path of an acl.json"),
        std::io::ErrorKind::FileTooLarge => problem(
            format!("it is larger than {} MiB", LARGEST_FILE >> 20),
            "give a smaller file; an acl.json names what to record, it holds no data",
        ),
        _ => problem(format!("it cannot be read: {error}"), "give a regular file that you may read"),
    };
    json::decode(opscope_files::read(path, LARGEST_FILE).map_err(unreadable)?)
}

#[cfg(test)]
mod limits;
#[cfg(test)]
mod tests;
