use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use opscope_clock::{ClockPair, TickSource, Ticks, Timestamp};
use opscope_files::replace_whole;
use opscope_model::Fidelity;
use opscope_tensor::Digest;
use serde::{Deserialize, Serialize};

use crate::ProfileError;
use crate::load::Load;
use crate::options::Switches;

/// The schema of this version.
pub(crate) const SCHEMA: &str = "opscope.recording/3";
/// The schemas that this version reads. Before version 3 records are not packed. Version 1 has no allocations, no
/// retirements and no ranges that were open at the end, and its run records lack the times of the copies.
const READABLE: [&str; 3] = [SCHEMA, "opscope.recording/2", "opscope.recording/1"];
/// The manifest's file name.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The description of a recording: `manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `opscope.recording/3`.
    pub schema: String,
    /// Whether everything that was requested is there.
    pub complete: bool,
    /// The reasons why it is not complete, one sentence each. Empty for a complete recording.
    pub incomplete_because: Vec<String>,
    /// Notes for a reader, one sentence each: how the engine ran the model, and whether that is right.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The model.
    pub model: ModelInfo,
    /// The engine that ran it.
    pub engine: EngineInfo,
    /// The machine on which it ran.
    pub host: HostInfo,
    /// The load of the machine. Recordings of earlier versions do not have it.
    #[serde(default)]
    pub load: Load,
    /// The process that ran it.
    pub process: ProcessInfo,
    /// When it ran, and how ticks become time.
    pub clock: ClockInfo,
    /// Every profiler switch, on or off.
    pub switches: BTreeMap<String, bool>,
    /// Nanoseconds between two samples of the counters.
    pub sample_interval_ns: u64,
    /// The numbers of records; `None` before the recording is closed.
    pub records: Option<RecordCounts>,
    /// The trace of another tool that the recording was made of; `None` for a recording of opscope's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFrom>,
}

/// The trace of another tool that a recording was made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The format, such as `Kineto`.
    pub format: String,
    /// The number of events in the trace.
    pub events: u64,
    /// The number of those that are in the recording.
    pub imported: u64,
    /// The others, by kind and name.
    pub not_imported: Vec<NotImported>,
    /// The devices that did something.
    pub devices: Vec<DeviceInfo>,
    /// The number of the process among those of a job, if the trace says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

/// Events of a trace that have no place in a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotImported {
    /// Their kind in the trace.
    pub kind: String,
    /// Their name.
    pub name: String,
    /// Their number.
    pub count: u64,
}

/// A device of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its number in the records, from 1. 0 is the host.
    pub device: u32,
    /// Its name, such as `cuda:0`.
    pub name: String,
    /// What it is, such as `NVIDIA H100`. Empty if the trace does not say it.
    pub model: String,
}

/// The model of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// The path, as the user gave it.
    pub path: String,
    /// XXH3 (64 bit) of the file, 16 hexadecimal digits.
    pub xxh3: Digest,
    /// The graph's own name.
    pub graph: String,
    /// The program that wrote the file.
    pub producer: String,
}

/// The engine that runs a model, and its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its settings, with its own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// How faithfully the file was followed.
    pub fidelity: Fidelity,
    /// The number of threads within an operator.
    pub threads: usize,
    /// The number of concurrent runs.
    pub concurrent_runs: usize,
    /// The resolution of the times of dispatches, in nanoseconds; 1 if they are taken with the clock of the recording.
    #[serde(default = "EngineInfo::clock_resolution_ns")]
    pub time_resolution_ns: u64,
}

impl EngineInfo {
    /// Creates the description of an engine without settings, with sequential runs on one thread.
    pub fn new(name: impl Into<String>, version: impl Into<String>, fidelity: Fidelity) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            settings: BTreeMap::new(),
            fidelity,
            threads: 1,
            concurrent_runs: 1,
            time_resolution_ns: Self::clock_resolution_ns(),
        }
    }

    /// Returns the resolution of the times in recordings that do not state it.
    fn clock_resolution_ns() -> u64 {
        1
    }
}

/// The machine of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostInfo {
    /// Its host name; empty in recordings that do not have it.
    #[serde(default)]
    pub name: String,
    /// The processor's name, as the system gives it.
    pub cpu: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The operating system and its version.
    pub system: String,
}

/// The process of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Its id.
    pub pid: u32,
    /// The program's name.
    pub name: String,
    /// The version of opscope.
    pub opscope: String,
}

/// How ticks become time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClockInfo {
    /// `tsc` (the processor's time-stamp counter) or `boottime` (nanoseconds of `CLOCK_BOOTTIME`).
    pub ticks: String,
    /// Both clocks at the beginning.
    pub start: ClockReading,
    /// Both clocks at the end; `None` before the recording is closed.
    pub end: Option<ClockReading>,
    /// `CLOCK_REALTIME` at the beginning, in nanoseconds since 1970-01-01 UTC.
    pub start_unix_ns: u64,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The raw clock.
    pub ticks: u64,
    /// Nanoseconds of `CLOCK_BOOTTIME`.
    pub boottime_ns: u64,
}

/// The numbers of records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Records that the instrumented threads emitted.
    pub emitted: u64,
    /// Records that were written to the file.
    pub delivered: u64,
    /// Records that were lost because the memory for records was full, or because the engine lost the times of a
    /// dispatch.
    pub dropped: u64,
    /// The size of the records file in bytes.
    pub bytes: u64,
    /// The number of frames in that file.
    pub frames: u64,
    /// How often a thread had to wait because the memory for records was full.
    pub stalls: u64,
    /// The longest of those waits, in nanoseconds.
    pub longest_stall_ns: u64,
    /// The number of runs after the recording had reached its budget. They are not in it.
    #[serde(default)]
    pub runs_beyond_budget: u64,
}

/// The largest manifest that is read.
const LARGEST: u64 = 256 << 20;

impl Manifest {
    /// Returns the manifest of a recording that is made of another tool's trace, whose zero is this moment in
    /// nanoseconds since 1970. A tick is a nanosecond since then.
    pub fn of_trace(
        model: ModelInfo,
        engine: EngineInfo,
        host: HostInfo,
        process: ProcessInfo,
        zero_unix_ns: u64,
        imported: ImportedFrom,
    ) -> Self {
        let recorded = ["model-execution", "task-time"];
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            incomplete_because: Vec::new(),
            notes: Vec::new(),
            model,
            engine,
            host,
            load: Load::default(),
            process,
            clock: ClockInfo {
                ticks: "boottime".to_owned(),
                start: ClockReading { ticks: 0, boottime_ns: 0 },
                end: None,
                start_unix_ns: zero_unix_ns,
            },
            switches: Switches::names().map(|name| (name.to_owned(), recorded.contains(&name))).collect(),
            sample_interval_ns: 0,
            records: None,
            imported: Some(imported),
        }
    }

    /// Reads the manifest of a recording.
    pub(crate) fn read(directory: &Path) -> Result<Self, ProfileError> {
        let path = directory.join(MANIFEST);
        let text = match opscope_files::read_text(&path, LARGEST) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ProfileError::NotARecording { path: directory.to_owned(), missing: MANIFEST });
            }
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(ProfileError::Damaged { path, reason: "it is not UTF-8".to_owned() });
            }
            Err(error) => return Err(ProfileError::io("read", path)(error)),
        };
        let damaged =
            |error: serde_json::Error| ProfileError::Damaged { path: path.clone(), reason: error.to_string() };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        let found = value.get("schema").and_then(|schema| schema.as_str()).unwrap_or_default();
        if !READABLE.contains(&found) {
            return Err(ProfileError::Schema { path, found: found.to_owned(), expected: SCHEMA });
        }
        serde_json::from_value(value).map_err(damaged)
    }

    /// Writes the manifest atomically: a reader sees either the old one or the new one.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), ProfileError> {
        let path = directory.join(MANIFEST);
        let mut text = serde_json::to_string_pretty(self).expect("a manifest has only string keys");
        text.push('\n');
        replace_whole(&path, text.as_bytes()).map_err(ProfileError::io("write", &path))
    }
}

impl ClockReading {
    /// Returns the clock pair.
    pub fn pair(self) -> ClockPair {
        ClockPair { ticks: Ticks::from_raw(self.ticks), time: Timestamp::from_nanos_since_boot(self.boottime_ns) }
    }
}

impl From<ClockPair> for ClockReading {
    fn from(pair: ClockPair) -> Self {
        Self { ticks: pair.ticks.as_raw(), boottime_ns: pair.time.as_nanos() }
    }
}

impl ClockInfo {
    /// Reads the clocks now.
    pub(crate) fn start() -> Self {
        let start = ClockPair::now();
        let unix = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let ticks = match TickSource::current() {
            TickSource::TimeStampCounter => "tsc",
            TickSource::SystemClock => "boottime",
        };
        Self {
            ticks: ticks.to_owned(),
            start: start.into(),
            end: None,
            start_unix_ns: u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

impl HostInfo {
    /// Returns the description of this machine.
    pub(crate) fn current() -> Self {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            name: name.trim().to_owned(),
            cpu: cpu.map_or_else(|| std::env::consts::ARCH.to_owned(), |name| name.trim().to_owned()),
            processors: std::thread::available_parallelism().map_or(1, |count| count.get()),
            system: format!("{} {}", std::env::consts::OS, release.trim()).trim().to_owned(),
        }
    }
}

impl ProcessInfo {
    /// Returns the description of this process.
    pub(crate) fn current() -> Self {
        let name = fs::read_to_string("/proc/self/comm").unwrap_or_default();
        Self { pid: std::process::id(), name: name.trim().to_owned(), opscope: env!("CARGO_PKG_VERSION").to_owned() }
    }
}
