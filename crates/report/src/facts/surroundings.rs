//! The model, the engine and the machine of a run.

use chrono::DateTime;
use opscope_profile::{EngineInfo, Recording};
use opscope_text::shown_size;

use super::DumpFacts;
use crate::source::Summary;
use crate::units::{count, trimmed};

/// Pairs of a word and a fact. The texts come from the files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Surroundings(pub Vec<(String, String)>);

impl Surroundings {
    /// Describes a run from all of its parts. A fact that several parts have appears once.
    pub(crate) fn of(summary: Option<&Summary>, recording: Option<&Recording>, dump: Option<&DumpFacts>) -> Self {
        let mut about = Self::default();
        if let Some(recording) = recording {
            let manifest = recording.manifest();
            about.add("Model", format!("{} (xxh3 {})", manifest.model.path, manifest.model.xxh3));
            about.add("Graph", graph(&manifest.model.graph, Some(&manifest.model.producer)));
            about.engine(&manifest.engine);
            let host = &manifest.host;
            about.add("Machine", format!("{}, {} processors, {}", host.cpu, host.processors, host.system));
            let seconds = i64::try_from(manifest.clock.start_unix_ns / 1_000_000_000).unwrap_or(0);
            if let Some(date) = DateTime::from_timestamp(seconds, 0) {
                about.add("Recorded", format!("{} UTC", date.format("%Y-%m-%d %H:%M:%S")));
            }
            about.add("Process", format!("{} ({})", manifest.process.name, manifest.process.pid));
            about.add("opscope", manifest.process.opscope.clone());
            if let Some(records) = &manifest.records {
                about.add("Records", format!("{} ({} dropped)", count(records.emitted), count(records.dropped)));
            }
        }
        if let Some(summary) = summary {
            let model = &summary.model;
            about.add("Model", format!("{} (xxh3 {})", model.path, model.xxh3));
            about.add("Graph", graph(&model.graph, None));
            about.add("Operators", count(model.operators));
            about.engine(&summary.engine);
            let machine = &summary.machine;
            about.add("Machine", format!("{}, {} processors, {}", machine.cpu, machine.processors, machine.system));
            if let Some(bytes) = machine.memory_bytes {
                about.add("Memory", shown_size(bytes));
            }
            for input in &summary.inputs {
                let shape: Vec<String> = input.shape.iter().map(u64::to_string).collect();
                about.push("Input", format!("{} {} [{}]", input.name, input.dtype, shape.join(", ")));
            }
            let plan = summary.plan_ms.map_or(String::new(), |millis| format!(", plan {} ms", trimmed(millis)));
            about.add("Loading", format!("{} ms{plan}", trimmed(summary.load_ms)));
            about.add("Peak memory", format!("{} of the process", shown_size(summary.peak_memory_bytes)));
            about.add("opscope", summary.opscope.clone());
        }
        dump.into_iter().flat_map(|dump| &dump.about).for_each(|(word, text)| about.add(word, text.clone()));
        about
    }

    fn engine(&mut self, engine: &EngineInfo) {
        let threads = if engine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", engine.threads) };
        self.add("Engine", format!("{} {}, {}, {threads}", engine.name, engine.version, engine.fidelity));
        if engine.concurrent_runs > 1 {
            self.add("Concurrent runs", engine.concurrent_runs.to_string());
        }
        if engine.time_resolution_ns > 1 {
            self.add("Resolution of times", format!("{} ns", count(engine.time_resolution_ns)));
        }
        for (name, value) in &engine.settings {
            self.add(name, value.clone());
        }
    }

    /// Adds a line, unless there is one for this word.
    fn add(&mut self, word: &str, text: String) {
        if !text.is_empty() && self.0.iter().all(|(known, _)| known != word) {
            self.push(word, text);
        }
    }

    fn push(&mut self, word: &str, text: String) {
        self.0.push((word.to_owned(), text));
    }
}

fn graph(name: &str, producer: Option<&str>) -> String {
    match producer.filter(|producer| !producer.is_empty()) {
        Some(producer) => format!("{name}, written by {producer}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Fidelity;

    use super::*;

    #[test]
    fn an_engine_is_described_by_what_differs_from_one_thread_and_the_clock() {
        let of = |threads, concurrent_runs, time_resolution_ns| {
            let mut engine = EngineInfo::new("paper", "1", Fidelity::Exact);
            (engine.threads, engine.concurrent_runs) = (threads, concurrent_runs);
            engine.time_resolution_ns = time_resolution_ns;
            let mut about = Surroundings::default();
            about.engine(&engine);
            about.0.into_iter().map(|(word, text)| format!("{word}: {text}")).collect::<Vec<_>>()
        };
        assert_eq!(of(1, 1, 1), ["Engine: paper 1, exact, 1 thread"]);
        let expected =
            ["Engine: paper 1, exact, 2 threads", "Concurrent runs: 2", "Resolution of times: 1\u{202f}000 ns"];
        assert_eq!(of(2, 2, 1_000), expected);
    }

    #[test]
    fn a_word_is_said_once_and_nothing_is_said_of_an_empty_text() {
        let mut about = Surroundings::default();
        about.add("Model", "a".to_owned());
        about.add("Model", "b".to_owned());
        about.add("Graph", String::new());
        about.push("Model", "c".to_owned());
        let words: Vec<&str> = about.0.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(words, ["a", "c"]);
        assert_eq!(graph("made", Some("")), "made");
        assert_eq!(graph("made", Some("torch")), "made, written by torch");
    }
}
