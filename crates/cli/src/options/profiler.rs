use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use opscope::trace::Policy;

use super::refusal::Refusal;
use super::request::{Note, NoteKind};

/// What a profile records, by the switches of `--profiler-option KEY=on|off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProfilerSwitches {
    /// `model-execution`: runs.
    pub runs: bool,
    /// `task-time`: dispatches.
    pub dispatches: bool,
    /// `runtime-api`: engine calls.
    pub engine_calls: bool,
    /// `sys-hardware-mem`: samples of the machine's memory.
    pub hardware_memory: bool,
    /// `sys-cpu-profiling`: samples of the load of every CPU.
    pub cpu: bool,
    /// `sys-profiling`: samples of the machine's CPU time and memory.
    pub system: bool,
    /// `sys-pid-profiling`: samples of this process's CPU time and memory.
    pub process: bool,
}

impl Default for ProfilerSwitches {
    /// As in the command line that `ait benchmark` gives to msprof.
    fn default() -> ProfilerSwitches {
        ProfilerSwitches {
            runs: true,
            dispatches: true,
            engine_calls: true,
            hardware_memory: true,
            cpu: false,
            system: false,
            process: false,
        }
    }
}

/// The keys, for messages.
const KEYS: &str = "write KEY=on or KEY=off, with KEY one of model-execution, task-time, runtime-api, \
                    sys-hardware-mem, sys-cpu-profiling, sys-profiling, sys-pid-profiling, dvpp-profiling, aicpu";

impl ProfilerSwitches {
    /// The default with these changes, each `KEY=on` or `KEY=off`; of two for the same key the last one counts.
    pub(super) fn with_options(options: &[String], notes: &mut Vec<Note>) -> Result<ProfilerSwitches, Refusal> {
        let mut switches = ProfilerSwitches::default();
        for option in options {
            let refuse = |what| Refusal::Value { option: "--profiler-option", what, right: KEYS };
            let (key, value) = option.split_once('=').ok_or_else(|| refuse(format!("'{option}' has no value")))?;
            let on = match value {
                "on" => true,
                "off" => false,
                _ => return Err(refuse(format!("'{value}' is neither on nor off"))),
            };
            let key = key.replace('_', "-");
            let switch = match key.as_str() {
                "model-execution" => &mut switches.runs,
                "task-time" => &mut switches.dispatches,
                "runtime-api" => &mut switches.engine_calls,
                "sys-hardware-mem" => &mut switches.hardware_memory,
                "sys-cpu-profiling" => &mut switches.cpu,
                "sys-profiling" => &mut switches.system,
                "sys-pid-profiling" => &mut switches.process,
                "dvpp-profiling" | "aicpu" => {
                    let option = format!("--profiler-option {option}");
                    notes.push(Note { kind: NoteKind::Note, option, text: "no such unit here" });
                    continue;
                }
                _ => return Err(refuse(format!("there is no switch '{key}'"))),
            };
            *switch = on;
        }
        Ok(switches)
    }
}

/// The memory for records; the profiler's own choice where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordMemory {
    /// How much may wait.
    pub size: Option<Bytes>,
    /// How much waits before it is written.
    pub watermark: Option<Bytes>,
    /// What happens when it is full.
    pub policy: Option<Policy>,
}

/// Reads what happens to a new record when the memory is full, and lists the choices in the help.
pub(super) fn policy_parser() -> impl TypedValueParser<Value = Policy> {
    let choices = Policy::ALL.map(|policy| {
        PossibleValue::new(policy.name()).help(match policy {
            Policy::Lossless => "It waits until there is room",
            Policy::Discard => "It is dropped, and counted",
            Policy::Overwrite => "The oldest records are dropped, and counted",
        })
    });
    PossibleValuesParser::new(choices).try_map(|name| name.parse::<Policy>())
}

/// A number of bytes, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    /// Reads `4096`, `64K`, `64KiB`, `8M`, `1G`: powers of 1024.
    fn from_str(text: &str) -> Result<Bytes, String> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let shift = match text[digits..].to_ascii_lowercase().as_str() {
            "" | "b" => Some(0),
            "k" | "kb" | "kib" => Some(10),
            "m" | "mb" | "mib" => Some(20),
            "g" | "gb" | "gib" => Some(30),
            _ => None,
        };
        let bytes =
            text[..digits].parse::<u64>().ok().zip(shift).and_then(|(count, shift)| count.checked_mul(1 << shift));
        let right = "write a size above 0 such as 65536, 64K or 8M (powers of 1024)";
        bytes.filter(|bytes| *bytes > 0).map(Bytes).ok_or_else(|| right.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_1024_and_never_zero_or_too_large() {
        for (text, bytes) in [("4096", 4096), ("64K", 65536), ("8MiB", 8 << 20), ("1gb", 1 << 30)] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
        for text in ["", "0", "K", "-1", "1.5M", "1T", "99999999999999999999", "18446744073709551615K"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
