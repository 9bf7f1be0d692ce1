use std::collections::HashMap;
use std::io::{self, Read};
use std::sync::Arc;

use opscope_sys::Mutex;
use opscope_tensor::{Accumulator, DifferenceAccumulator};

use super::criteria::{Criteria, Criterion};
use super::matching::{Folded, Matcher, unused};
use super::model_inputs::ModelInputs;
use super::{CompareOptions, Comparison, Outcome, Row, Summary, diverge};
use crate::stream::outcome::Ending;
use crate::{Answer, Closed, IndexStatistics, InputEntry, Piece, Sink, StoredDump, StoredOrigin, Stream};

/// A sink that compares tensors with a dump while they are computed, without files.
pub struct CompareSink {
    reference: Arc<StoredDump>,
    matcher: Matcher,
    criteria: Arc<Criteria>,
    state: Arc<Mutex<State>>,
    current: Option<Current>,
    buffer: Vec<u8>,
}

/// A handle to the results of a [`CompareSink`].
pub struct Comparer {
    reference: Arc<StoredDump>,
    options: CompareOptions,
    criteria: Arc<Criteria>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rows: Vec<Row>,
    only_in_tensors: Vec<StoredOrigin>,
    used: Vec<bool>,
    problems: Vec<String>,
    /// The inputs of the runs, by the number of the run.
    inputs: HashMap<u64, Arc<[InputEntry]>>,
}

/// The pair whose pieces are being received.
struct Current {
    /// Its row, without the outcome.
    row: Row,
    criterion: Criterion,
    against: Against,
}

/// The reference data of a tensor.
enum Against {
    Data {
        accumulator: DifferenceAccumulator,
        data: Box<dyn Read + Send>,
        /// The number of remaining elements.
        left: usize,
    },
    Statistics(Accumulator, IndexStatistics),
}

impl CompareSink {
    /// Creates a sink that compares with this dump, and a handle to its results.
    pub fn new(reference: Arc<StoredDump>, options: CompareOptions) -> (Self, Comparer) {
        let criteria = Arc::new(Criteria::new(&options, None, &reference));
        let ours = options.graph.iter().flat_map(|graph| graph.all_values()).map(|value| value.name.as_str());
        let folded = Folded::of(&options, ours);
        let matcher = Matcher::new(reference.tensors.iter().map(|tensor| &tensor.place), &options, &criteria, folded);
        let state = State { used: vec![false; reference.tensors.len()], ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let comparer = Comparer {
            reference: Arc::clone(&reference),
            options,
            criteria: Arc::clone(&criteria),
            state: Arc::clone(&state),
        };
        (Self { reference, matcher, criteria, state, current: None, buffer: Vec::new() }, comparer)
    }

    /// Returns the pair for a stream, or `None` if the reference has no tensor for it or the two cannot be compared.
    fn pair(&mut self, stream: &Stream) -> Option<Current> {
        let place = StoredOrigin::of(&stream.origin);
        let mut state = self.state.lock();
        let Some((index, matched_by)) = self.matcher.find(&place) else {
            state.only_in_tensors.push(place);
            return None;
        };
        state.used[index] = true;
        let reference = &self.reference.tensors[index];
        let row = Row {
            place,
            reference: reference.place.clone(),
            matched_by,
            dtypes: (Some(stream.dtype), reference.dtype),
            shapes: (stream.shape.clone(), reference.shape.clone()),
            outcome: Outcome::Shapes,
            drop: None,
        };
        if stream.shape != reference.shape {
            state.rows.push(row);
            return None;
        }
        match self.begin_pair(stream, &row.place, index) {
            Ok((criterion, against)) => Some(Current { row, criterion, against }),
            Err(error) => {
                state.rows.push(Row { outcome: Outcome::Unreadable(error.to_string()), ..row });
                None
            }
        }
    }

    fn begin_pair(&self, stream: &Stream, place: &StoredOrigin, index: usize) -> io::Result<(Criterion, Against)> {
        let reference = &self.reference.tensors[index];
        let dtype =
            reference.dtype.ok_or_else(|| io::Error::other("the type of the reference's elements is not known"))?;
        let criterion = self.criteria.of(place, &reference.place, (stream.dtype, dtype));
        let left = stream.shape.iter().product();
        if reference.is_summary() {
            let accumulator = Accumulator::new(stream.dtype, left).map_err(io::Error::other)?;
            return Ok((criterion, Against::Statistics(accumulator, reference.summary()?)));
        }
        let accumulator = DifferenceAccumulator::new(stream.dtype, dtype, left, criterion.tolerance.relative);
        let data = reference.data()?;
        let accumulator = accumulator.map_err(io::Error::other)?;
        Ok((criterion, Against::Data { accumulator, data, left }))
    }

    fn finish_row(&mut self, outcome: Option<Outcome>) {
        let Some(Current { row, criterion, against }) = self.current.take() else { return };
        let outcome = outcome.unwrap_or_else(|| match against {
            Against::Data { accumulator, .. } => {
                let difference = accumulator.finish();
                Outcome::Compared { difference, within: criterion.is_met(&difference) }
            }
            Against::Statistics(accumulator, noted) => {
                let found = IndexStatistics::from(&accumulator.finish());
                let (same_type, elements) = (row.dtypes.0 == row.dtypes.1, row.shapes.0.iter().product());
                Outcome::Summarised(Summary::of(&found, &noted, same_type, elements, &criterion))
            }
        });
        self.state.lock().rows.push(Row { outcome, ..row });
    }
}

impl Sink for CompareSink {
    fn begin(&mut self, stream: &Stream) -> Answer {
        self.current = self.pair(stream);
        if self.current.is_some() { Answer::Continue } else { Answer::Skip }
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let Some(current) = &mut self.current else { return Answer::Skip };
        match &mut current.against {
            Against::Data { accumulator, data, left } => {
                let elements = stream.dtype.elements_in(piece.bytes.len()).unwrap_or(0).min(*left);
                *left -= elements;
                let bytes = current.row.dtypes.1.and_then(|dtype| dtype.bytes_of(elements)).unwrap_or(0);
                self.buffer.resize(bytes, 0);
                if let Err(error) = data.read_exact(&mut self.buffer) {
                    self.finish_row(Some(Outcome::Unreadable(format!("the reference: {error}"))));
                    return Answer::Skip;
                }
                accumulator.update(piece.bytes, &self.buffer);
            }
            Against::Statistics(accumulator, _) => accumulator.update(piece.bytes),
        }
        if piece.last {
            self.finish_row(None);
        }
        Answer::Continue
    }

    fn broken(&mut self, _stream: &Stream, reason: &str) {
        self.finish_row(Some(Outcome::Unreadable(reason.into())));
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let mut state = self.state.lock();
        let missing = ending.losses.named().iter().map(|missing| format!("{}: {}", missing.origin, missing.reason));
        state.problems.extend(missing);
        let inputs = ending.runs.iter().filter_map(|run| Some((run.run.0, Arc::clone(run.inputs.as_ref()?))));
        state.inputs.extend(inputs);
        Closed::default()
    }
}

impl Comparer {
    /// Returns the comparison so far, with the name `tensors` for what was compared. The dumper must have finished.
    pub fn comparison(&self, tensors: &str) -> Comparison {
        let state = self.state.lock();
        let reference = &self.reference;
        let incomplete = reference.incomplete().map(|reason| format!("the reference is not complete: {reason}"));
        let comparison = Comparison {
            tensors: tensors.into(),
            reference: reference.path.display().to_string(),
            rows: state.rows.clone(),
            only_in_tensors: state.only_in_tensors.clone(),
            only_in_reference: unused(reference.tensors.iter().map(|tensor| &tensor.place), &state.used),
            only_in_export: Vec::new(),
            only_in_program: Vec::new(),
            fused: Vec::new(),
            quantised_only: Vec::new(),
            is_quantised: self.criteria.quantised.is_some(),
            is_selection: reference.is_selection(),
            input_sets: Vec::new(),
            notes: self.criteria.notes(),
            initializers: Vec::new(),
            inputs: Vec::new(),
            divergence: None,
            problems: state.problems.iter().chain(&reference.problems).cloned().chain(incomplete).collect(),
        };
        let tensors = state.inputs.iter().map(|(&run, inputs)| (run, &**inputs)).collect();
        diverge::finished(comparison, &ModelInputs { tensors, reference: reference.given() }, &self.options)
    }
}
