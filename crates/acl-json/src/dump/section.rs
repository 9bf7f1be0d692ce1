use std::path::{Path, PathBuf};

use opscope_dump::{DumpError, IoSelection, Runs};

use super::list::{self, DumpedModel, EntryRules};
use crate::NoteKind;
use crate::ProblemKind::{Conflict, Content, Value};
use crate::field::{Field, Object, Report};
use crate::no_effect::{self, NoEffect, Rule};

/// What to dump.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpSection {
    /// The directory to dump to: `dump_path`, relative to the working directory.
    pub path: PathBuf,
    /// The models to dump, and what to dump of each: `dump_list`. Never empty.
    pub models: Vec<DumpedModel>,
    /// Whether to dump inputs, outputs or both: `dump_mode`. There is no workspace here, which the vendor's library
    /// would dump, too.
    pub mode: IoSelection,
    /// Whether to dump only operators that overflowed, with their inputs and outputs: `dump_debug`. A CPU has no
    /// overflow flag, so an operator counts as overflowed if an element of its outputs is NaN or infinite.
    pub overflow: bool,
    /// Whether to dump elements or statistics: `dump_data` and `dump_stats`.
    pub content: DumpContent,
    /// The runs to dump: `dump_step`; all if `None`.
    pub runs: Option<Runs>,
    /// The level: `dump_level`. Blacklists and ranges are allowed only with [`DumpLevel::Op`].
    pub level: DumpLevel,
}

/// What a section captures.
pub(crate) enum Captured {
    /// Tensors of models.
    Tensors(DumpSection),
    /// What operators used when the device had an exception; the value is the directory for it. Here there is no device
    /// that could have one.
    Exceptions(PathBuf),
}

/// What is written for a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpContent {
    /// Its elements.
    Tensors,
    /// These statistics, in the order of `dump_stats`.
    Statistics(Vec<Statistic>),
}

/// One statistic of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Statistic {
    Max,
    Min,
    Avg,
    /// How many elements are NaN.
    Nan,
    /// How many elements are negative infinity.
    NegativeInf,
    /// How many elements are positive infinity.
    PositiveInf,
    /// The square root of the sum of squares.
    L2Norm,
}

impl Statistic {
    /// The statistics that a file without `dump_stats` asks for.
    pub const DEFAULT: [Statistic; 6] = [
        Statistic::Max,
        Statistic::Min,
        Statistic::Avg,
        Statistic::Nan,
        Statistic::NegativeInf,
        Statistic::PositiveInf,
    ];
}

const STATISTICS: &[(&str, Statistic)] = &[
    ("Max", Statistic::Max),
    ("Min", Statistic::Min),
    ("Avg", Statistic::Avg),
    ("Nan", Statistic::Nan),
    ("Negative Inf", Statistic::NegativeInf),
    ("Positive Inf", Statistic::PositiveInf),
    ("L2norm", Statistic::L2Norm),
];

/// The unit that the vendor's device dumps: operators, kernels or both. Here the unit is always an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum DumpLevel {
    Op,
    Kernel,
    #[default]
    All,
}

const KEYS: &[&str] = &[
    "dump_path",
    "dump_list",
    "dump_mode",
    "dump_data",
    "dump_stats",
    "dump_level",
    "dump_op_switch",
    "dump_debug",
    "dump_scene",
    "dump_step",
    "dump_kernel_data",
];

const NO_EFFECT: &[NoEffect] = &[
    NoEffect::new(
        "dump_op_switch",
        Rule::OneOf(&["on", "off"]),
        "operators are not called one by one; \"on\" without a \"dump_list\" dumps every model",
    ),
    NoEffect::new(
        "dump_scene",
        Rule::OneOf(&["lite_exception", "aic_err_brief_dump", "aic_err_norm_dump", "aic_err_detail_dump", "watcher"]),
        "there is no device whose exceptions could be captured",
    ),
    NoEffect::new(
        "dump_kernel_data",
        Rule::ListOf(&["all", "printf", "tensor", "assert", "timestamp"]),
        "kernels do not print",
    ),
];

/// Reads the section. Returns `None` if it has a problem or captures nothing; the report then has a problem or a note.
pub(crate) fn read(section: &Field<'_>, working_dir: &Path, report: &mut Report) -> Option<Captured> {
    let object = section.object(KEYS, report)?;
    no_effect::check(&object, NO_EFFECT, report);
    let single_operators = object.says("dump_op_switch", "on");
    let overflow = object.says("dump_debug", "on");
    let watcher = object.says("dump_scene", "watcher");
    let scene = object.get("dump_scene");

    let modes = [("input", IoSelection::Inputs), ("output", IoSelection::Outputs), ("all", IoSelection::All)];
    let mode = object.get("dump_mode").map_or(Some(IoSelection::default()), |field| field.choice(&modes, report));
    let levels = [("op", DumpLevel::Op), ("kernel", DumpLevel::Kernel), ("all", DumpLevel::All)];
    let level = object.get("dump_level").map_or(Some(DumpLevel::default()), |field| field.choice(&levels, report));
    let content = content(&object, report);
    let runs = match object.get("dump_step") {
        Some(field) => runs(&field, report).map(Some),
        None => Some(None),
    };
    if let Some(field) = object.get("dump_debug") {
        field.on_off(report);
    }
    if overflow && single_operators {
        conflict(&object, "dump_debug", "it is on and \"dump_op_switch\" is on too", report);
    }
    if scene.is_some() && (overflow || single_operators) {
        conflict(
            &object,
            "dump_scene",
            "it excludes \"dump_debug\" and \"dump_op_switch\", and one of them is on",
            report,
        );
    }
    if watcher && mode.is_some_and(|mode| mode != IoSelection::Outputs) {
        conflict(&object, "dump_scene", "\"watcher\" captures outputs, and \"dump_mode\" says otherwise", report);
    }
    let rules = EntryRules { single_operators, watcher, by_operator: level == Some(DumpLevel::Op) };
    let models = match object.get("dump_list") {
        Some(list) => list::read(&list, &rules, report),
        None => Some(Vec::new()),
    };
    let needs_path = scene.is_none() || watcher;
    let path = path(&object, needs_path, working_dir, report);
    if scene.is_some() {
        report.warning(&object.pointer_of("dump_scene"), "with a \"dump_scene\" nothing will be dumped here");
        let directory = || path.unwrap_or_else(|| working_dir.join("./"));
        return (!watcher).then(|| Captured::Exceptions(directory()));
    }
    let mut models = models?;
    // As in the vendor's library, either switch without a list means every model.
    if models.is_empty()
        && let Some((key, _)) =
            [("dump_debug", overflow), ("dump_op_switch", single_operators)].iter().find(|(_, on)| *on)
    {
        models.push(DumpedModel { pointer: object.pointer_of(key), ..DumpedModel::default() });
    }
    if models.is_empty() {
        let pointer = object.pointer_of("dump_list");
        report.warning(&pointer, "the list is empty, so nothing will be dumped; [{}] dumps every model");
        return None;
    }
    let mode = if overflow { IoSelection::All } else { mode? };
    let (path, content, runs, level) = (path?, content?, runs?, level?);
    Some(Captured::Tensors(DumpSection { path, models, mode, overflow, content, runs, level }))
}

fn conflict(object: &Object<'_>, key: &str, what: &str, report: &mut Report) {
    report.problem(Conflict, &object.pointer_of(key), what, "keep one of the two");
}

fn path(object: &Object<'_>, needed: bool, working_dir: &Path, report: &mut Report) -> Option<PathBuf> {
    /// The largest length of the path in bytes, which is the vendor's limit.
    const LONGEST: usize = 512;
    let Some(field) = object.get("dump_path") else {
        if needed {
            let pointer = object.pointer_of("dump_path");
            report.problem(Content, &pointer, "the key is missing", "name the directory that the dump shall go to");
        }
        return None;
    };
    let text = field.text(report)?;
    if text.is_empty() {
        if needed {
            field.problem(report, Content, "it is empty", "name the directory that the dump shall go to");
        }
        return None;
    }
    if text.len() > LONGEST {
        field.problem(report, Value, "the path is too long", format!("write at most {LONGEST} bytes"));
        return None;
    }
    if text.split_once(':').is_some_and(|(host, _)| host.parse::<std::net::Ipv4Addr>().is_ok()) {
        let what = "the path names another machine, and a dump is written on this one only";
        field.problem(report, Value, what, "name a directory of this machine");
        return None;
    }
    let path = local_directory(&field, text, working_dir, report)?;
    if report.as_vendor && !path.is_dir() {
        field.problem(report, Value, "there is no such directory", "make it, or name another one");
        return None;
    }
    Some(path)
}

/// Returns the path of a directory that exists, or that does not exist but can be made. Otherwise reports a problem and
/// returns `None`.
pub(crate) fn local_directory(
    field: &Field<'_>,
    text: &str,
    working_dir: &Path,
    report: &mut Report,
) -> Option<PathBuf> {
    if text.contains('\0') {
        field.problem(report, Value, "the path has a NUL byte in it", "leave it out");
        return None;
    }
    let path = working_dir.join(text);
    // The last ancestor of a relative path is the empty path, which does not exist; it stands for the working
    // directory.
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(Path::new("."));
    if !existing.is_dir() {
        let what = format!("{} is a file", existing.display());
        field.problem(report, Value, what, "name a directory; one that does not exist is made");
        return None;
    }
    Some(path)
}

fn content(object: &Object<'_>, report: &mut Report) -> Option<DumpContent> {
    let words = [("tensor", false), ("stats", true)];
    let statistics = object.get("dump_data").map_or(Some(false), |field| field.choice(&words, report));
    let Some(field) = object.get("dump_stats") else {
        return Some(match statistics? {
            true => DumpContent::Statistics(Statistic::DEFAULT.to_vec()),
            false => DumpContent::Tensors,
        });
    };
    let items = field.items(report)?;
    if items.is_empty() {
        field.problem(report, Content, "the list is empty", "name a statistic, or leave the key out for the usual six");
    }
    let chosen: Vec<_> = items.iter().filter_map(|item| item.choice(STATISTICS, report)).collect();
    if statistics == Some(false) {
        let what = "statistics are listed, and \"dump_data\" does not ask for them";
        field.problem(report, Conflict, what, "write \"dump_data\": \"stats\" beside it, or leave this key out");
    }
    report.note(NoteKind::NoEffect, &field.pointer, "every statistic is written, those that are listed and the others");
    Some(DumpContent::Statistics(chosen))
}

fn runs(field: &Field<'_>, report: &mut Report) -> Option<Runs> {
    let text = field.text(report)?;
    match text.parse() {
        Ok(runs) => Some(runs),
        Err(error) => {
            let what = match error {
                DumpError::Runs { reason, .. } => reason,
                other => other.to_string(),
            };
            let right = "write runs, counted from 0, and ranges of them, such as \"0|5-10|20\"";
            field.problem(report, Value, what, right);
            None
        }
    }
}
