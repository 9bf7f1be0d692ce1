//! Writing what was found as a dump of our own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use opscope_dump::{
    Answer, Contents, DirectorySink, DumpInfo, Ending, Io, Missing, ModelEntry, Origin, PHASE, Piece, RunOutcome, Sink,
    StoredDump, Stream,
};
use opscope_model::{Fidelity, OpenModel, RunId};
use opscope_onnx::{Attribute, CodeOrigin, Graph, Module, Operator, OperatorId, Part, Producer, Value, ValueId};
use opscope_tensor::Digest;
use opscope_text::shown_text;

use super::found::{Content, Data, Found, Place, Rank};
use super::{DumpOptions, ImportedDump};
use crate::ImportError;

/// The most sentences about what is missing. The manifest names the rest.
const MOST_SENTENCES: usize = 100;

/// Writes one rank's tensors as the dump `directory`, and adds what became of them to `result`.
///
/// # Errors
/// Returns an error if the directory cannot be made or the import was cancelled. What cannot be read is missing.
pub(super) fn write(
    source: &Path,
    rank: Rank,
    directory: &Path,
    options: &DumpOptions,
    result: &mut ImportedDump,
) -> Result<(), ImportError> {
    let model = ModelEntry {
        path: source.display().to_string(),
        name: source.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        xxh3: Digest(0),
    };
    let info =
        DumpInfo { engine: result.format.to_owned(), engine_version: String::new(), fidelity: Fidelity::Exact, model };
    let has_elements = rank.tensors.iter().any(|found| matches!(found.content, Content::Elements(..)));
    let has_statistics = rank.tensors.iter().any(|found| matches!(found.content, Content::Statistics(..)));
    let contents = if has_statistics && !has_elements { Contents::Statistics } else { Contents::Tensors };
    let mut writer = Writer {
        sink: DirectorySink::create(directory, contents, &info)?,
        header: header(&info),
        places: Places::default(),
        ending: Ending { shortfalls: rank.problems.clone(), ..Ending::default() },
        options,
        result,
    };
    writer.note(rank.problems.iter().map(|problem| shown_text(problem).into_owned()));
    let mut runs = BTreeSet::new();
    let mut cancelled = false;
    for found in rank.tensors {
        runs.extend(found.run);
        cancelled = options.cancel.load(Ordering::Relaxed);
        if cancelled {
            writer.ending.shortfalls.push(ImportError::Cancelled.to_string());
        }
        if cancelled || writer.ending.stopped.is_some() {
            break;
        }
        writer.tensor(found);
    }
    writer.close(runs);
    let (result, stopped) = (writer.result, writer.ending.stopped);
    if cancelled || options.cancel.load(Ordering::Relaxed) {
        return Err(ImportError::Cancelled);
    }
    result.missing.extend(stopped);
    let stored = StoredDump::open(directory)?;
    let manifest = stored.manifest.as_ref();
    result.tensors += manifest.map_or(0, |manifest| manifest.tensors);
    result.bytes += manifest.map_or(0, |manifest| if contents == Contents::Tensors { manifest.bytes } else { 0 });
    result.statistics_only +=
        manifest.map_or(0, |manifest| if contents == Contents::Statistics { manifest.tensors } else { 0 });
    result.complete &= stored.is_complete();
    result.directories.push(directory.to_owned());
    Ok(())
}

struct Writer<'w> {
    sink: DirectorySink,
    header: Graph,
    places: Places,
    ending: Ending,
    options: &'w DumpOptions,
    result: &'w mut ImportedDump,
}

/// The operators of a dump, by their names.
#[derive(Default)]
struct Places {
    known: HashMap<String, u32>,
    /// What is written already. No two tensors of a run have the same file.
    taken: HashSet<(Option<u64>, u32, Io, usize)>,
}

impl Places {
    /// Returns the number of an operator, and the name that tells it from others that are named alike.
    fn number(&mut self, found: &Found) -> (u32, String) {
        for count in 1.. {
            let name = match count {
                1 => found.place.name.clone(),
                _ => format!("{}#{count}", found.place.name),
            };
            let next = self.known.len() as u32;
            let id = *self.known.entry(name.clone()).or_insert(next);
            if self.taken.insert((found.run, id, found.io, found.slot)) {
                return (id, name);
            }
        }
        unreachable!("one of the names is free")
    }
}

impl Writer<'_> {
    fn tensor(&mut self, found: Found) {
        let (id, name) = self.places.number(&found);
        let origin = self.origin(&found, id, name);
        match found.content {
            Content::Missing(reason) => self.missing(origin, reason),
            Content::Elements(dtype, shape, data) => match dtype.bytes_of(shape.iter().product()) {
                Some(bytes) => {
                    let stream = Stream { origin, dtype, shape, bytes: bytes as u64, siblings: 1 };
                    self.elements(stream, &data);
                }
                None => self.missing(origin, format!("elements of {dtype} have no fixed size")),
            },
            Content::Statistics(dtype, shape, statistics) => {
                let bytes = dtype.bytes_of(shape.iter().product()).unwrap_or(0) as u64;
                let stream = Stream { origin, dtype, shape, bytes, siblings: 1 };
                match self.sink.summary(&stream, &statistics) {
                    Some(Answer::Stop(reason)) => self.ending.stopped = Some(reason),
                    Some(_) => {}
                    None => {
                        let reason = "the dump has only its statistics, and data of other tensors".to_owned();
                        self.missing(stream.origin, reason);
                    }
                }
            }
        }
    }

    fn elements(&mut self, stream: Stream, data: &Data) {
        if let Answer::Stop(reason) = self.sink.begin(&stream) {
            self.ending.stopped = Some(reason);
            return;
        }
        let mut stopped = None;
        // A piece is passed on when the next one was read, so that the last one is known to be the last.
        let mut waiting: Option<(u64, Vec<u8>)> = None;
        let (sink, options) = (&mut self.sink, self.options);
        let read = data.pieces(stream.dtype, &stream.shape, |offset, bytes| {
            let (at, mut before) = waiting.take().unwrap_or_default();
            if !before.is_empty()
                && let Answer::Stop(reason) = sink.piece(&stream, Piece { offset: at, bytes: &before, last: false })
            {
                stopped = Some(reason);
            }
            before.clear();
            before.extend_from_slice(bytes);
            waiting = Some((offset, before));
            stopped.is_none() && !options.cancel.load(Ordering::Relaxed)
        });
        let is_cancelled = options.cancel.load(Ordering::Relaxed);
        if stopped.is_none() && !is_cancelled && read.is_ok() {
            let (offset, bytes) = waiting.unwrap_or_default();
            match sink.piece(&stream, Piece { offset, bytes: &bytes, last: true }) {
                Answer::Stop(reason) => stopped = Some(reason),
                _ => {
                    options.report(stream.bytes);
                    return;
                }
            }
        }
        if let Some(reason) = stopped {
            self.ending.stopped = Some(reason);
            return;
        }
        let reason = match read {
            Err(error) => format!("its elements cannot be read: {error}"),
            Ok(()) => ImportError::Cancelled.to_string(),
        };
        self.sink.broken(&stream, &reason);
        self.missing(stream.origin, reason);
    }

    fn missing(&mut self, origin: Origin, reason: String) {
        self.note([shown_text(&format!("{}: {reason}", origin.value_name())).into_owned()].into_iter());
        self.ending.losses.add(Missing { origin, reason });
    }

    fn note(&mut self, sentences: impl Iterator<Item = String>) {
        let room = MOST_SENTENCES.saturating_sub(self.result.missing.len());
        self.result.missing.extend(sentences.take(room));
    }

    fn close(&mut self, runs: BTreeSet<u64>) {
        let graph = Arc::new(self.header.clone());
        let outcome = |run| RunOutcome {
            run: RunId(run),
            graph: Arc::clone(&graph),
            inputs: None,
            failure: None,
            in_flight: Vec::new(),
        };
        self.ending.runs = runs.into_iter().map(outcome).collect();
        let closed = self.sink.close(&self.ending);
        self.note(closed.errors.into_iter());
    }

    /// Returns the origin of a tensor. The graph of each is only its operator and its value, because no other is known.
    fn origin(&self, found: &Found, id: u32, name: String) -> Origin {
        let Place { op_type, module, phase, source, .. } = &found.place;
        let operator = OperatorId::new(id);
        let value = ValueId::new(0);
        let producer = match found.io {
            Io::Input => Producer::Input,
            Io::Output => Producer::Operator(operator, found.slot),
        };
        let code = (module.is_some() || source.is_some()).then(|| CodeOrigin {
            display_name: name.clone(),
            modules: module.iter().map(|(path, class)| Module { path: path.clone(), class: class.clone() }).collect(),
            source: source.clone(),
            traced: None,
        });
        let phase = phase.map(|phase| (PHASE.to_owned(), Attribute::String(phase.to_owned())));
        let operator_entry = Operator {
            id: operator,
            name,
            op_type: op_type.clone(),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            captures: Vec::new(),
            attributes: BTreeMap::from_iter(phase),
            position: id as usize,
            origin: code,
        };
        let values = vec![Value {
            id: value,
            name: found.value.clone(),
            producer,
            consumers: Vec::new(),
            dtype: None,
            shape: None,
        }];
        let part = Some(Part { operators: id, values: 0 });
        let graph = Arc::new(Graph { operators: vec![operator_entry], values, part, ..self.header.clone() });
        let (io, slot) = (found.io, found.slot);
        Origin { graph, plan: 0, run: found.run.map(RunId), operator, path: Box::default(), io, slot, value }
    }
}

/// Returns the graph that every tensor's is an excerpt of: as of a program, no operator is known before its tensors.
fn header(info: &DumpInfo) -> Graph {
    let ModelEntry { path, name, xxh3 } = &info.model;
    Graph::clone(OpenModel::new(name, path.into(), *xxh3, &info.engine).header())
}
