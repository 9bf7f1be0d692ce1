use opscope_profile::{EngineInfo, Load, Recording, TensorKind};
use opscope_text::shown_duration;
use serde_json::Value;

use super::comparison::SurroundingDifference;
use super::summary_file::SummaryFile;

/// What is known of the surroundings of a measurement: facts by their names, in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    facts: Vec<(String, String)>,
}

impl Surroundings {
    pub fn of_recording(recording: &Recording) -> Self {
        let manifest = recording.manifest();
        let mut known = Self::default();
        known.add("model file", manifest.model.xxh3);
        known.engine(&manifest.engine);
        known.add("processor", &manifest.host.cpu);
        known.add("processors", manifest.host.processors);
        known.add("system", &manifest.host.system);
        known.add("opscope", &manifest.process.opscope);
        if let Some(TensorKind { dtype: Some(dtype), shape }) =
            recording.kernel(0, 0).and_then(|first| first.inputs.first())
        {
            known.add("the first operator takes", format!("{dtype} {shape:?}"));
        }
        for (switch, on) in &manifest.switches {
            known.add(format!("profiler switch {switch}"), if *on { "on" } else { "off" });
        }
        known
    }

    pub fn of_summary(summary: &SummaryFile) -> Self {
        let mut known = Self::default();
        known.add("model file", summary.model.xxh3);
        known.engine(&summary.engine);
        for input in &summary.inputs {
            known.add(format!("input {}", input.name), format!("{} {:?}", input.dtype, input.shape));
        }
        for (key, name) in
            [("cpu", "processor"), ("processors", "processors"), ("memory_bytes", "memory"), ("system", "system")]
        {
            match summary.machine.get(key) {
                Some(Value::String(text)) => known.add(name, text),
                Some(other) => known.add(name, other),
                None => {}
            }
        }
        known.add("opscope", &summary.opscope);
        for (instrument, took_part) in [
            ("profiler", summary.is_profiled()),
            ("dump", summary.dump.is_some()),
            ("debugger", summary.debugger.is_some()),
        ] {
            known.add(instrument, if took_part { "on" } else { "off" });
        }
        known
    }

    fn engine(&mut self, engine: &EngineInfo) {
        self.add("engine", &engine.name);
        self.add("engine version", &engine.version);
        self.add("fidelity", engine.fidelity);
        self.add("threads", engine.threads);
        self.add("concurrent runs", engine.concurrent_runs);
        for (setting, value) in &engine.settings {
            self.add(format!("engine's {setting}"), value);
        }
    }

    pub fn add(&mut self, what: impl Into<String>, value: impl ToString) {
        self.facts.push((what.into(), value.to_string()));
    }

    fn get(&self, what: &str) -> Option<&String> {
        self.facts.iter().find(|(name, _)| name == what).map(|(_, value)| value)
    }

    /// Returns the facts that differ from those of B.
    pub fn differences(&self, b: &Self) -> Vec<SurroundingDifference> {
        let only_in_b = b.facts.iter().filter(|(what, _)| self.get(what).is_none());
        let names = self.facts.iter().chain(only_in_b).map(|(what, _)| what);
        let difference = |what: &String| {
            let (in_a, in_b) = (self.get(what), b.get(what));
            (in_a != in_b).then(|| SurroundingDifference { what: what.clone(), a: in_a.cloned(), b: in_b.cloned() })
        };
        names.filter_map(difference).collect()
    }
}

/// Returns what differs in the load: load averages that are more than a half apart, and times of the reference work that are
/// more than 5 % apart.
pub(super) fn load_differences(a: &Load, b: &Load) -> Vec<SurroundingDifference> {
    const APART: f64 = 0.5;
    const RATIO: f64 = 1.05;
    let mut differences = Vec::new();
    let mut add = |what: &str, sides: [Option<String>; 2]| {
        let [a, b] = sides;
        differences.push(SurroundingDifference { what: what.to_owned(), a, b });
    };
    if let Some((in_a, in_b)) = a.average_start.zip(b.average_start)
        && (in_a - in_b).abs() > APART
    {
        add("load average at the start", [in_a, in_b].map(|load| Some(format!("{load:.2}"))));
    }
    match (a.reference, b.reference) {
        (Some(in_a), Some(in_b)) => {
            let ratio = in_b.median_ns / in_a.median_ns;
            if !(RATIO.recip()..=RATIO).contains(&ratio) {
                add("reference work", [in_a, in_b].map(|times| Some(shown_duration(times.median_ns))));
            }
        }
        (None, None) => {}
        (in_a, in_b) => {
            add("reference work", [in_a, in_b].map(|times| times.map(|times| shown_duration(times.median_ns))));
        }
    }
    differences
}
