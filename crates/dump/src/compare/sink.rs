use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use opscope_tensor::{DifferenceAccumulator, Tolerance};

use super::matching::Matcher;
use super::{CompareOptions, Comparison, Outcome, Row, diverge};
use crate::outcome::Ending;
use crate::{Answer, Closed, Piece, Place, Sink, StoredDump, Stream};

/// Compares tensors with a dump while they are computed, without files.
pub struct CompareSink {
    reference: Arc<StoredDump>,
    matcher: Matcher,
    options: CompareOptions,
    state: Arc<Mutex<State>>,
    current: Option<Current>,
    buffer: Vec<u8>,
}

/// What a [`CompareSink`] has found.
pub struct Comparer {
    reference: Arc<StoredDump>,
    options: CompareOptions,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    rows: Vec<Row>,
    only_in_tensors: Vec<Place>,
    used: Vec<bool>,
    problems: Vec<String>,
}

/// The pair whose pieces come.
struct Current {
    /// What is known of it; its outcome is not yet.
    row: Row,
    accumulator: DifferenceAccumulator,
    tolerance: Tolerance,
    data: Box<dyn Read + Send>,
    /// The elements that are still to come.
    left: usize,
}

impl CompareSink {
    /// A sink that compares with this dump; and what it finds.
    pub fn new(reference: Arc<StoredDump>, options: CompareOptions) -> (Self, Comparer) {
        let matcher = Matcher::new(reference.tensors.iter().map(|tensor| &tensor.place), &options.mapping);
        let state = State { used: vec![false; reference.tensors.len()], ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let comparer =
            Comparer { reference: Arc::clone(&reference), options: options.clone(), state: Arc::clone(&state) };
        (Self { reference, matcher, options, state, current: None, buffer: Vec::new() }, comparer)
    }

    /// What a stream is compared with; none if there is nothing, or nothing that can be.
    fn pair(&mut self, stream: &Stream) -> Option<Current> {
        let place = Place::of(&stream.origin);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
        };
        if stream.shape != reference.shape {
            state.rows.push(row);
            return None;
        }
        match self.begin_pair(stream, index) {
            Ok((accumulator, tolerance, data)) => {
                Some(Current { row, accumulator, tolerance, data, left: stream.shape.iter().product() })
            }
            Err(reason) => {
                state.rows.push(Row { outcome: Outcome::Unreadable(reason), ..row });
                None
            }
        }
    }

    fn begin_pair(
        &self,
        stream: &Stream,
        index: usize,
    ) -> Result<(DifferenceAccumulator, Tolerance, Box<dyn Read + Send>), String> {
        let reference = &self.reference.tensors[index];
        let dtype = reference.dtype.ok_or("the type of the reference's elements is not known")?;
        let tolerance = self.options.tolerances.tolerance(dtype);
        let elements = stream.shape.iter().product();
        let accumulator = DifferenceAccumulator::new(stream.dtype, dtype, elements, tolerance.relative);
        let data = reference.data().map_err(|error| error.to_string())?;
        Ok((accumulator.map_err(|error| error.to_string())?, tolerance, data))
    }

    fn finish_row(&mut self, outcome: Option<Outcome>) {
        let Some(Current { row, accumulator, tolerance, .. }) = self.current.take() else { return };
        let outcome = outcome.unwrap_or_else(|| {
            let difference = accumulator.finish();
            Outcome::Compared { difference, within: difference.is_within(&tolerance) }
        });
        self.state.lock().unwrap_or_else(PoisonError::into_inner).rows.push(Row { outcome, ..row });
    }
}

impl Sink for CompareSink {
    fn begin(&mut self, stream: &Stream) -> Answer {
        self.current = self.pair(stream);
        if self.current.is_some() { Answer::Continue } else { Answer::Skip }
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let Some(current) = &mut self.current else { return Answer::Skip };
        let elements = stream.dtype.elements_in(piece.bytes.len()).unwrap_or(0).min(current.left);
        current.left -= elements;
        let bytes = current.row.dtypes.1.and_then(|dtype| dtype.bytes_of(elements)).unwrap_or(0);
        self.buffer.resize(bytes, 0);
        if let Err(error) = current.data.read_exact(&mut self.buffer) {
            self.finish_row(Some(Outcome::Unreadable(format!("the reference: {error}"))));
            return Answer::Skip;
        }
        current.accumulator.update(piece.bytes, &self.buffer);
        if piece.last {
            self.finish_row(None);
        }
        Answer::Continue
    }

    fn broken(&mut self, _stream: &Stream, reason: &str) {
        self.finish_row(Some(Outcome::Unreadable(reason.into())));
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = ending.losses.named().iter().map(|missing| format!("{}: {}", missing.origin, missing.reason));
        state.problems.extend(missing);
        Closed::default()
    }
}

impl Comparer {
    /// What was found. `tensors` says what was compared. To be called when the dumper has finished.
    pub fn comparison(&self, tensors: &str) -> Comparison {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let reference = &self.reference;
        let unused = reference.tensors.iter().zip(&state.used).filter(|(_, used)| !**used);
        let comparison = Comparison {
            tensors: tensors.into(),
            reference: reference.path.display().to_string(),
            rows: state.rows.clone(),
            only_in_tensors: state.only_in_tensors.clone(),
            only_in_reference: unused.map(|(tensor, _)| tensor.place.clone()).collect(),
            divergence: None,
            problems: state.problems.iter().chain(&reference.problems).cloned().collect(),
        };
        diverge::finished(comparison, self.options.graph.as_deref())
    }
}
