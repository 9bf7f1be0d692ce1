use std::time::Duration;

use opscope_trace::{Bytes, Policy};

use crate::ProfileError;

/// What a [`Profiler`](crate::Profiler) records.
#[derive(Debug, Clone)]
pub struct ProfilerOptions {
    /// The kinds of records.
    pub switches: Switches,
    /// The interval between two samples of the counters.
    pub sample_interval: Duration,
    /// The number of payload bytes that may wait in memory.
    pub buffer_size: Bytes,
    /// The number of payload bytes after which the waiting records are written.
    pub watermark: Bytes,
    /// The longest time that a record waits before it is written. A process that is killed can lose the records of this
    /// time.
    pub flush_interval: Duration,
    /// What happens if the disk is too slow for the records.
    pub when_full: Policy,
    /// The number of bytes of records after which no further run is recorded. The last run is recorded completely, so
    /// the recording becomes a little larger. Without a budget it grows until the disk is full.
    pub budget: Option<Bytes>,
    /// Whether records wait in a file of the recording instead of in memory, so that a process that is killed loses
    /// none. [`close_abandoned`](crate::close_abandoned) then adds them to the others.
    pub survives_crash: bool,
}

/// The kinds of records, each of which is on or off. The names are those of the vendor's profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// `model-execution`: runs.
    pub runs: bool,
    /// `task-time`: dispatches.
    pub dispatches: bool,
    /// `task-memory`: the memory that the engine holds for tensors.
    pub tensor_memory: bool,
    /// `runtime-api`: calls of the engine (load, plan, upload, run, download) and the copies of inputs and outputs.
    pub calls: bool,
    /// `sys-hardware-mem`: the memory of the machine.
    pub machine_memory: bool,
    /// `sys-cpu-profiling`: how busy each processor is.
    pub processors: bool,
    /// `sys-profiling`: how busy the machine is.
    pub machine: bool,
    /// `sys-pid-profiling`: processor time, memory and page faults of this process.
    pub process: bool,
}

/// The effect of setting a switch of the vendor's profiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SwitchEffect {
    /// It switches a kind of records on or off.
    Applied,
    /// It is accepted, but the hardware unit that it would watch does not exist here.
    NoSuchUnit,
}

type Field = fn(&mut Switches) -> &mut bool;

/// Every switch, in the order of the vendor's tool.
const SWITCHES: &[(&str, Option<Field>)] = &[
    ("model-execution", Some(|switches| &mut switches.runs)),
    ("sys-hardware-mem", Some(|switches| &mut switches.machine_memory)),
    ("sys-cpu-profiling", Some(|switches| &mut switches.processors)),
    ("sys-profiling", Some(|switches| &mut switches.machine)),
    ("sys-pid-profiling", Some(|switches| &mut switches.process)),
    ("dvpp-profiling", None),
    ("runtime-api", Some(|switches| &mut switches.calls)),
    ("task-time", Some(|switches| &mut switches.dispatches)),
    ("task-memory", Some(|switches| &mut switches.tensor_memory)),
    ("aicpu", None),
];

impl Default for ProfilerOptions {
    fn default() -> Self {
        Self {
            switches: Switches::default(),
            sample_interval: Duration::from_millis(100),
            buffer_size: Bytes::mib(8),
            watermark: Bytes::mib(1),
            flush_interval: Duration::from_secs(1),
            when_full: Policy::Lossless,
            budget: Some(Bytes::mib(1024)),
            survives_crash: false,
        }
    }
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            runs: true,
            dispatches: true,
            tensor_memory: false,
            calls: true,
            machine_memory: true,
            processors: false,
            machine: false,
            process: false,
        }
    }
}

impl Switches {
    /// Returns the names of all switches.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SWITCHES.iter().map(|(name, _)| *name)
    }

    /// Applies `KEY=on` or `KEY=off`. Underscores in the key count as hyphens.
    ///
    /// # Errors
    /// Returns an error if the setting is not `KEY=VALUE`, the key is not a switch, or the value is neither on nor off.
    pub fn apply(&mut self, setting: &str) -> Result<SwitchEffect, ProfileError> {
        let (name, value) = setting.split_once('=').ok_or_else(|| ProfileError::SwitchSyntax(setting.to_owned()))?;
        let name = name.trim().replace('_', "-");
        let Some((_, field)) = SWITCHES.iter().find(|(known, _)| *known == name) else {
            return Err(ProfileError::UnknownSwitch { name, known: Self::names().collect() });
        };
        let on = match value.trim() {
            "on" => true,
            "off" => false,
            other => return Err(ProfileError::SwitchValue { name, value: other.to_owned() }),
        };
        match field {
            Some(field) => {
                *field(self) = on;
                Ok(SwitchEffect::Applied)
            }
            None => Ok(SwitchEffect::NoSuchUnit),
        }
    }

    /// Returns every switch that has an effect, with its state.
    pub fn states(mut self) -> Vec<(&'static str, bool)> {
        SWITCHES.iter().filter_map(|(name, field)| field.map(|field| (*name, *field(&mut self)))).collect()
    }

    /// Returns whether any counter is sampled.
    pub fn any_counter(&self) -> bool {
        self.machine_memory || self.processors || self.machine || self.process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switches_and_their_defaults_are_those_of_the_vendors_call() {
        let states = Switches::default().states();
        let on: Vec<_> = states.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
        assert_eq!(on, ["model-execution", "sys-hardware-mem", "runtime-api", "task-time"]);
        assert_eq!(Switches::names().count(), 10);
    }

    #[test]
    fn every_switch_can_be_set_and_the_others_stay() {
        for name in Switches::names() {
            let mut switches = Switches::default();
            let effect = switches.apply(&format!("{name}=off")).expect("a known switch");
            assert_eq!(effect == SwitchEffect::NoSuchUnit, name.starts_with("dvpp") || name == "aicpu");
            let changed = |on: Switches| on.states().into_iter().filter(|(_, on)| *on).count();
            let expected = 4 - usize::from(Switches::default().states().contains(&(name, true)));
            assert_eq!(changed(switches), expected, "{name}");
        }
    }

    #[test]
    fn a_wrong_switch_is_refused_with_what_would_be_right() {
        let mut switches = Switches::default();
        assert!(switches.apply("task_time=off").is_ok());
        let error = |setting| Switches::default().apply(setting).expect_err("wrong").to_string();
        assert!(error("l2=on").contains("task-time"), "{}", error("l2=on"));
        assert!(error("aicpu=1").contains("on or off"));
        assert!(error("aicpu").contains("KEY=on"));
    }
}
