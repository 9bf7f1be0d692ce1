//! The section `profiler`: what to profile.

use std::path::{Path, PathBuf};
use std::time::Duration;

use opscope_profile::ProfilerOptions;

use crate::NoteKind;
use crate::ProblemKind::Value;
use crate::dump::local_directory;
use crate::field::{Field, Object, Report, shortened};
use crate::no_effect::{self, NoEffect, Rule};

/// What to profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilerSection {
    /// The directory for recordings: `output`, relative to the working directory. Without `output`, the working
    /// directory itself.
    pub output: PathBuf,
    /// Whether dispatches are recorded: `task_time`.
    pub task_time: TaskTime,
    /// Whether the memory that the engine holds for tensors is recorded: `task_memory`.
    pub task_memory: bool,
    /// Whether engine calls are recorded: `runtime_api`.
    pub runtime_api: bool,
    /// How often the memory in use is sampled, if at all: `sys_hardware_mem_freq`.
    pub hardware_memory: Option<SampleRate>,
    /// How often the load of every CPU is sampled, if at all: `sys_cpu_freq`.
    pub cpu: Option<SampleRate>,
    /// Which usage of the machine and the process is sampled, and how often, if at all: `host_sys_usage` and
    /// `host_sys_usage_freq`.
    pub host_usage: Option<HostUsage>,
}

impl ProfilerSection {
    /// Returns the directory for the recording of a run with this name.
    pub fn directory(&self, run_name: &Path) -> PathBuf {
        self.output.join(run_name).components().collect()
    }

    /// Returns `defaults` with the settings of the section applied.
    pub fn options(&self, defaults: &ProfilerOptions) -> ProfilerOptions {
        let mut options = defaults.clone();
        let rates = [self.hardware_memory, self.cpu, self.host_usage.map(|usage| usage.rate)];
        options.switches.dispatches = self.task_time != TaskTime::Off;
        options.switches.calls = self.runtime_api;
        options.switches.tensor_memory = self.task_memory;
        options.switches.machine_memory = self.hardware_memory.is_some();
        options.switches.processors = self.cpu.is_some();
        options.switches.machine = self.host_usage.is_some_and(|usage| usage.cpu);
        options.switches.process = self.host_usage.is_some_and(|usage| usage.memory);
        // One thread samples all counters, at the highest of the rates.
        if let Some(fastest) = rates.into_iter().flatten().map(|rate| rate.0).max().filter(|&rate| rate > 0) {
            options.sample_interval = Duration::from_secs(1) / fastest.min(u64::from(u32::MAX)) as u32;
        }
        options
    }
}

/// Samples per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampleRate(pub u64);

/// Which usage of the host is sampled, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostUsage {
    /// Whether the machine's processor usage is sampled.
    pub cpu: bool,
    /// Whether the process's memory usage is sampled.
    pub memory: bool,
    /// How often both are sampled.
    pub rate: SampleRate,
}

/// How much the vendor's device records about its tasks. Here every level but `Off` records each dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub enum TaskTime {
    Off,
    #[default]
    On,
    L0,
    L1,
    L2,
    L3,
}

const KEYS: &[&str] = &[
    "switch",
    "output",
    "storage_limit",
    "task_time",
    "runtime_api",
    "task_memory",
    "sys_hardware_mem_freq",
    "sys_cpu_freq",
    "host_sys_usage",
    "host_sys_usage_freq",
];

const ON_OFF: Rule = Rule::OneOf(&["on", "off"]);
const NO_DEVICE: &str = "the CPU has no such unit";

const NO_EFFECT: &[NoEffect] = &[
    NoEffect::new(
        "aic_metrics",
        Rule::Metrics(&[
            "PipeUtilization",
            "ArithmeticUtilization",
            "Memory",
            "MemoryL0",
            "MemoryUB",
            "ResourceConflictRatio",
            "MemoryAccess",
            "L2Cache",
        ]),
        NO_DEVICE,
    ),
    NoEffect::new("ascendcl", ON_OFF, "the model is not run through AscendCL; \"runtime_api\" records engine calls"),
    NoEffect::new("ge_api", Rule::OneOf(&["l0", "l1", "off"]), "there is no graph engine of the vendor"),
    NoEffect::new("aicpu", ON_OFF, NO_DEVICE),
    NoEffect::new("l2", ON_OFF, NO_DEVICE),
    NoEffect::new("hccl", ON_OFF, "there is one device, which talks to no other"),
    NoEffect::new("msproftx", ON_OFF, "the vendor's marker library is not loaded"),
    NoEffect::new("task_tsfw", ON_OFF, NO_DEVICE),
    NoEffect::new("instr_profiling", ON_OFF, NO_DEVICE),
    NoEffect::new("instr_profiling_freq", Rule::Integer(300, 30000), NO_DEVICE),
    NoEffect::new("sys_io_sampling_freq", Rule::Integer(1, 100), NO_DEVICE),
    NoEffect::new("dvpp_freq", Rule::Integer(1, 100), NO_DEVICE),
    NoEffect::new("sys_lp_freq", Rule::Integer(1, 100), NO_DEVICE),
    NoEffect::new("sys_interconnection_freq", Rule::Integer(1, 50), NO_DEVICE),
    NoEffect::new("llc_profiling", Rule::OneOf(&["read", "write"]), "cache counters are not read"),
    NoEffect::new(
        "host_sys",
        Rule::ListOf(&["cpu", "mem", "disk", "network", "osrt", "numa"]),
        "use \"host_sys_usage\", which samples cpu and mem",
    ),
    NoEffect::new("sys_mem_serviceflow", Rule::Text(usize::MAX), NO_DEVICE),
    NoEffect::new("optype", Rule::Text(256), "every operator is recorded; choose types when you read the recording"),
];

/// Reads the section. Returns `None` if it has a problem or is not switched on; the report then has a problem or a
/// note.
pub(crate) fn read(section: &Field<'_>, working_dir: &Path, report: &mut Report) -> Option<ProfilerSection> {
    let known: Vec<_> = KEYS.iter().copied().chain(NO_EFFECT.iter().map(|key| key.key)).collect();
    let object = section.object(&known, report)?;
    no_effect::check(&object, NO_EFFECT, report);
    let before = report.problems.len();
    let switch = object.get("switch").map_or(Some(false), |field| field.on_off(report));
    let output = output(&object, working_dir, report);
    if let Some(field) = object.get("storage_limit") {
        storage_limit(&field, report);
    }
    let task_time = object.get("task_time").map_or(Some(TaskTime::default()), |field| task_time(&field, report));
    let runtime_api = object.get("runtime_api").map_or(Some(true), |field| field.on_off(report));
    let task_memory = object.get("task_memory").map_or(Some(false), |field| field.on_off(report));
    let hardware_memory = rate(&object, "sys_hardware_mem_freq", 10_000, report);
    let cpu = rate(&object, "sys_cpu_freq", 50, report);
    let host_usage = host_usage(&object, report);
    if switch == Some(false) {
        let pointer = object.pointer_of("switch");
        report.warning(&pointer, "the switch is not \"on\", so nothing will be profiled");
        return None;
    }
    switch?;
    if object.get("output").is_none() {
        let pointer = object.pointer_of("output");
        report.warning(&pointer, "no directory is named, so the recording goes to the working directory");
    }
    if report.problems.len() != before {
        return None;
    }
    Some(ProfilerSection {
        output: output?,
        task_time: task_time?,
        task_memory: task_memory?,
        runtime_api: runtime_api?,
        hardware_memory,
        cpu,
        host_usage,
    })
}

fn output(object: &Object<'_>, working_dir: &Path, report: &mut Report) -> Option<PathBuf> {
    /// Characters that the vendor's profiler refuses, in addition to control characters: it puts the path into a shell
    /// command.
    const REFUSED: &str = "\"'\\%><|&$;`";
    let Some(field) = object.get("output") else { return Some(working_dir.to_owned()) };
    let text = field.filled_text(report)?;
    if let Some(letter) = text.chars().find(|letter| letter.is_control() || REFUSED.contains(*letter)) {
        let what = format!("the path has a {letter:?} in it");
        field.problem(report, Value, what, format!("leave out control characters and any of {REFUSED}"));
        return None;
    }
    local_directory(&field, text, working_dir, report)
}

/// Checks the limit, which has no effect: recorded data is never deleted.
fn storage_limit(field: &Field<'_>, report: &mut Report) {
    let Some(text) = field.text(report) else { return };
    let digits = text.strip_suffix("MB").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let size = digits.and_then(|digits| digits.parse().ok());
    if size.is_some_and(|size| (200..=u64::from(u32::MAX)).contains(&size)) {
        report.note(NoteKind::NoEffect, &field.pointer, "a recording is kept whole, however large it becomes");
    } else {
        let what = format!("\"{}\" is not a limit", shortened(text));
        field.problem(report, Value, what, "write a size from \"200MB\" to \"4294967295MB\"");
    }
}

fn task_time(field: &Field<'_>, report: &mut Report) -> Option<TaskTime> {
    let words = [
        ("on", TaskTime::On),
        ("off", TaskTime::Off),
        ("l0", TaskTime::L0),
        ("l1", TaskTime::L1),
        ("l2", TaskTime::L2),
        ("l3", TaskTime::L3),
    ];
    field.choice(&words, report)
}

fn rate(object: &Object<'_>, key: &str, most: u64, report: &mut Report) -> Option<SampleRate> {
    object.get(key).and_then(|field| field.integer(1, most, report)).map(SampleRate)
}

fn host_usage(object: &Object<'_>, report: &mut Report) -> Option<HostUsage> {
    /// The largest rate, which is also the default.
    const MOST: u64 = 50;
    let rate = rate(object, "host_sys_usage_freq", MOST, report);
    let Some(field) = object.get("host_sys_usage") else {
        if rate.is_some() {
            let pointer = object.pointer_of("host_sys_usage_freq");
            report.warning(&pointer, "without \"host_sys_usage\" nothing is sampled at this rate");
        }
        return None;
    };
    let words = no_effect::list_of(&field, &["cpu", "mem"], report);
    let rate = rate.unwrap_or(SampleRate(MOST));
    Some(HostUsage { cpu: words.contains(&"cpu"), memory: words.contains(&"mem"), rate })
}
