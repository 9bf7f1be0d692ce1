//! The Chrome trace event format, which all of these traces are in: phases, processes and threads.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64;

use super::pairs::{Begun, Pairs};
use super::scan::{self, Object};
use super::threads::{number, thread};
use super::value::{ChromeEvent, mended, nanos, text};
use super::{JsonTrace, head, kineto, onnxruntime};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, Track, What};

/// Takes the events of a trace, one after the other.
pub(super) struct Reader<'a> {
    into: &'a mut Assembler,
    dialect: Option<Dialect>,
    pairs: Pairs,
    inputs: kineto::Inputs,
    wrong_commas: Faults,
    mended: Faults,
    unreadable: Faults,
    /// The number of events, by which the dialect is found.
    events: u64,
}

/// Who wrote a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Kineto,
    OnnxRuntime,
    Other,
}

/// Faults of one kind: how many, and where the first one is.
#[derive(Debug, Default)]
struct Faults {
    count: u64,
    first: u64,
}

impl Faults {
    fn at(&mut self, position: u64) {
        if self.count == 0 {
            self.first = position;
        }
        self.count += 1;
    }
}

impl<'a> Reader<'a> {
    pub fn new(into: &'a mut Assembler) -> Self {
        Self {
            into,
            dialect: None,
            pairs: Pairs::default(),
            inputs: kineto::Inputs::default(),
            wrong_commas: Faults::default(),
            mended: Faults::default(),
            unreadable: Faults::default(),
            events: 0,
        }
    }

    /// Takes a member of the outermost object.
    pub fn member(&mut self, key: &str, bytes: &[u8]) {
        if head::is_kineto(key) {
            self.dialect.get_or_insert(Dialect::Kineto);
        }
        head::member(key, bytes, self.into);
    }

    pub fn damaged(&mut self, sentence: String) {
        self.into.damaged(sentence);
    }

    pub fn truncated(&mut self, position: u64) {
        let events = self.events;
        self.into.damaged(format!(
            "the file ends within an event or the list of them, at byte {position}, after {events} events"
        ));
    }

    pub fn wrong_commas(&mut self, position: u64) {
        self.wrong_commas.at(position);
    }

    /// Takes an event.
    pub fn event(&mut self, object: Object<'_>) -> Result<(), ImportError> {
        self.events += 1;
        self.take(&ChromeEvent::of(object))
    }

    /// Takes the event in these bytes, which begin at this position of the file and may be damaged.
    pub fn event_in(&mut self, bytes: &[u8], position: u64) -> Result<(), ImportError> {
        let mut members = Vec::new();
        let mut read = |text: &str| scan::object(text.as_bytes(), &mut members) == Some(text);
        let right = std::str::from_utf8(bytes).ok().filter(|text| read(text)).map(Cow::Borrowed);
        let is_right = right.is_some();
        if let Some(text) = right.or_else(|| mended(bytes).filter(|text| read(text)).map(Cow::Owned)) {
            if !is_right {
                self.mended.at(position);
            }
            return self.event(Object::new(&text, &members));
        }
        self.events += 1;
        self.unreadable.at(position);
        self.into.not_imported("unreadable", "");
        Ok(())
    }

    fn take(&mut self, event: &ChromeEvent<'_>) -> Result<(), ImportError> {
        let name = text(event.name);
        let category = &*event.cat;
        let dialect = *self.dialect.get_or_insert_with(|| Dialect::of(category, event));
        match &*event.ph {
            "X" => self.complete(dialect, event, &name, category),
            "B" => {
                let Some(start) = nanos(event.ts) else { return self.without_time(category, &name) };
                let track = self.track(event);
                let begun = Begun { name: name.into_owned(), category: category.to_owned(), start };
                self.begin(track, begun)
            }
            "E" => {
                let Some(end) = nanos(event.ts) else { return self.without_time(category, &name) };
                let track = self.track(event);
                self.end(dialect, track, &name, end)
            }
            "b" | "e" => {
                let Some(at) = nanos(event.ts) else { return self.without_time(category, &name) };
                let track = self.asynchronous(event, category);
                match &*event.ph {
                    "b" => {
                        let begun = Begun { name: name.into_owned(), category: category.to_owned(), start: at };
                        self.begin(track, begun)
                    }
                    _ => self.end(dialect, track, &name, at),
                }
            }
            "i" | "I" | "R" => {
                if name == "[memory]"
                    && let Some((counter, bytes, at)) = kineto::memory(event)
                {
                    return self.into.sample(&counter, "bytes", at, bytes);
                }
                let Some(start) = nanos(event.ts) else { return self.without_time(category, &name) };
                let track = self.track(event);
                self.into.add(&Event::new(What::Mark, &name, track, start, 0))
            }
            "C" => self.counter(event, &name),
            "M" => {
                self.named(event, &name);
                self.into.not_imported("metadata", &name);
                Ok(())
            }
            "s" | "t" | "f" => {
                // What it ties together has the same correlation.
                self.into.not_imported("flow", if category.is_empty() { &name } else { category });
                Ok(())
            }
            "n" => {
                self.into.not_imported("asynchronous moment", &name);
                Ok(())
            }
            other => {
                self.into.not_imported(&format!("phase {other:?}"), &name);
                Ok(())
            }
        }
    }

    fn without_time(&mut self, category: &str, name: &str) -> Result<(), ImportError> {
        self.into.not_imported(&format!("{category} without a time"), name);
        Ok(())
    }

    fn complete(
        &mut self,
        dialect: Dialect,
        event: &ChromeEvent<'_>,
        name: &str,
        category: &str,
    ) -> Result<(), ImportError> {
        let Some(start) = nanos(event.ts) else { return self.without_time(category, name) };
        // A missing duration is that of an event that had not ended.
        let duration = nanos(event.dur).unwrap_or(0);
        match dialect {
            Dialect::Kineto => {
                kineto::complete(event, (name, category), (start, duration), &mut self.inputs, self.into)
            }
            Dialect::OnnxRuntime => {
                let track = self.track(event);
                onnxruntime::complete(event, (name, category), (track, start, duration), self.into)
            }
            Dialect::Other => {
                let track = self.track(event);
                self.into.add(&Event::new(of_category(category), name, track, start, duration))
            }
        }
    }

    fn begin(&mut self, track: Track, begun: Begun) -> Result<(), ImportError> {
        if let Some(begun) = self.pairs.begin(track, begun) {
            self.into.not_imported("beginning among too many without an end", &begun.name);
        }
        Ok(())
    }

    fn end(&mut self, dialect: Dialect, track: Track, name: &str, end: u64) -> Result<(), ImportError> {
        let Some(begun) = self.pairs.end(track, name) else {
            self.into.not_imported("end without a beginning", name);
            return Ok(());
        };
        let what = if dialect == Dialect::Kineto { What::Range } else { of_category(&begun.category) };
        let duration = end.saturating_sub(begun.start);
        // Two events of the trace are one of the recording.
        self.into.not_imported("end, counted with its beginning", "");
        self.into.add(&Event::new(what, &begun.name, track, begun.start, duration))
    }

    /// Takes the values of a counter event: a counter for each of its arguments.
    fn counter(&mut self, event: &ChromeEvent<'_>, name: &str) -> Result<(), ImportError> {
        let values: Option<std::collections::BTreeMap<String, f64>> =
            event.args.and_then(|args| serde_json::from_str(args.text()).ok());
        let (Some(at), Some(values)) = (nanos(event.ts), values.filter(|values| !values.is_empty())) else {
            self.into.not_imported("counter without numbers", name);
            return Ok(());
        };
        for (place, (key, value)) in values.iter().enumerate() {
            let counter = if values.len() == 1 { Cow::Borrowed(name) } else { Cow::Owned(format!("{name} {key}")) };
            self.into.sample(&counter, "", at, *value)?;
            if place > 0 {
                self.into.count_again();
            }
        }
        Ok(())
    }

    /// Takes the name of a process or a thread.
    fn named(&mut self, event: &ChromeEvent<'_>, what: &str) {
        #[derive(serde::Deserialize)]
        struct Named<'a> {
            #[serde(borrow)]
            name: Cow<'a, str>,
        }
        let Some(name) = event.args.and_then(|args| serde_json::from_str::<Named<'_>>(args.text()).ok()) else {
            return;
        };
        match what {
            "thread_name" => {
                let track = self.track(event);
                self.into.name_track(track, &name.name);
            }
            "process_name" if self.into.about.program.is_empty() && number(event.pid) < 1 << 32 => {
                self.into.about.program = name.name.into_owned();
                self.into.about.process = number(event.pid) as u32;
            }
            _ => {}
        }
    }

    fn track(&mut self, event: &ChromeEvent<'_>) -> Track {
        thread(event, self.into)
    }

    /// Returns the track of asynchronous events with the same id.
    fn asynchronous(&mut self, event: &ChromeEvent<'_>, category: &str) -> Track {
        let id = format!("{category} {}", text(event.id));
        let track = self.into.thread(number(event.pid), xxh3_64(id.as_bytes()));
        self.into.name_track(track, &id);
        track
    }

    /// Names what is damaged, and says what the trace is.
    pub fn finish(mut self) -> JsonTrace {
        let open: Vec<_> = self.pairs.left().collect();
        for (_, begun) in open {
            self.into.not_imported("beginning without an end", &begun.name);
        }
        let Faults { count, first } = self.mended;
        if count > 0 {
            let events = opscope_text::counted(count as usize, "event");
            self.into.damaged(format!(
                "{events} had control characters or bytes that JSON does not allow in texts, the first one at byte {first}; they were read"
            ));
        }
        let Faults { count, first } = self.unreadable;
        if count > 0 {
            let events = opscope_text::counted(count as usize, "event");
            self.into.damaged(format!("{events} could not be read, the first one at byte {first}"));
        }
        let Faults { count, first } = self.wrong_commas;
        if count > 0 {
            let places = opscope_text::counted(count as usize, "place");
            self.into.about.notes.push(format!(
                "{places} between events without exactly one comma, the first one at byte {first}; no event is lost by that"
            ));
        }
        match self.dialect {
            Some(Dialect::Kineto) => {
                self.into.about.producer = "torch.profiler".to_owned();
                JsonTrace { format: "Kineto", device_kind: "cuda" }
            }
            Some(Dialect::OnnxRuntime) => {
                self.into.about.producer = "ONNX Runtime".to_owned();
                onnxruntime::note_cap(self.events, self.into);
                JsonTrace { format: "ONNX Runtime's profile", device_kind: "device" }
            }
            _ => {
                self.into.about.producer = "trace".to_owned();
                JsonTrace { format: "Chrome trace events", device_kind: "device" }
            }
        }
    }
}

impl Dialect {
    /// Returns who wrote a trace that begins with this event.
    fn of(category: &str, event: &ChromeEvent<'_>) -> Self {
        let has_args = |key: &str| event.args.is_some_and(|args| args.text().contains(key));
        match category {
            "Session" | "Node" | "Api" => Self::OnnxRuntime,
            "cpu_op" | "python_function" | "cuda_runtime" | "kernel" => Self::Kineto,
            _ if has_args("\"External id\"") => Self::Kineto,
            _ => Self::Other,
        }
    }
}

/// Returns what an event is by its category, as far as opscope's own timelines and other known tools have one.
fn of_category(category: &str) -> What {
    match category {
        "marker" | "run" | "user_annotation" | "range" => What::Range,
        "engine_call" | "copy" => What::Call,
        _ => What::Operator,
    }
}
