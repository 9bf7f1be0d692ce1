use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use opscope_onnx::Graph;
use opscope_sys::Mutex;
use opscope_tensor::DifferenceAccumulator;

use super::criteria::Criteria;
use super::matching::{Folded, MatchedBy, Matcher, unused};
use super::model_inputs::ModelInputs;
use super::programs::export::{self, Agreement};
use super::{CompareOptions, Comparison, MatchBy, Outcome, Row, Summary, diverge, programs};
use crate::{DumpKind, StoredDump, StoredTensor};

/// The number of elements that are read from each side at once. They stay in the second-level cache until they are
/// compared.
const ELEMENTS: usize = 64 << 10;

const MOST_THREADS: usize = 4;

pub(super) fn compare(tensors: &StoredDump, reference: &StoredDump, options: &CompareOptions) -> Comparison {
    let criteria = Criteria::new(options, Some(tensors), reference);
    let ours = tensors.tensors.iter().filter_map(|tensor| tensor.place.value.as_deref());
    let folded = Folded::of(options, ours);
    let matcher = Matcher::new(reference.tensors.iter().map(|tensor| &tensor.place), options, &criteria, folded);
    let exported = exported(tensors, reference, options);
    let by_structure = match exported {
        Some(graph) => {
            let agreement = Agreement::new(tensors, reference, &criteria);
            Some(export::pairs(tensors, graph, reference, &options.modules, &agreement))
        }
        None => structure(tensors, reference, options),
    };
    let find = |index: usize| {
        let place = &tensors.tensors[index].place;
        let lone = || (is_lone(tensors) && is_lone(reference)).then_some((0, MatchedBy::SingleFile));
        match &by_structure {
            Some(partners) => matcher.mapped(place).unwrap_or(partners[index]),
            None => matcher.find(place).or_else(lone),
        }
    };
    let mut pairs = Vec::new();
    let mut only_in_tensors = Vec::new();
    for (index, tensor) in tensors.tensors.iter().enumerate() {
        match find(index) {
            Some((index, by)) => pairs.push((tensor, &reference.tensors[index], index, by)),
            None => only_in_tensors.push(tensor.place.clone()),
        }
    }
    let mut used = vec![false; reference.tensors.len()];
    pairs.iter().for_each(|pair| used[pair.2] = true);
    let problems = [tensors, reference].into_iter().flat_map(|dump| {
        let place = dump.path.display().to_string();
        let incomplete = dump.incomplete().map(|reason| format!("the dump is not complete: {reason}"));
        dump.problems.iter().cloned().chain(incomplete).map(move |problem| format!("{place}: {problem}"))
    });
    let mut rows = rows(&pairs, options, &criteria);
    let mut only_in_reference = unused(reference.tensors.iter().map(|tensor| &tensor.place), &used);
    let covered = exported.map(|graph| {
        export::covered(&mut rows, &mut only_in_tensors, &mut only_in_reference, graph, reference)
    });
    let covered = covered.unwrap_or_default();
    diverge::finished(
        Comparison {
            tensors: tensors.path.display().to_string(),
            reference: reference.path.display().to_string(),
            rows,
            only_in_tensors,
            only_in_reference,
            only_in_export: covered.export,
            only_in_program: covered.program,
            fused: Vec::new(),
            quantised_only: Vec::new(),
            is_quantised: criteria.quantised.is_some(),
            is_selection: reference.is_selection(),
            input_sets: Vec::new(),
            notes: criteria.notes().into_iter().chain(covered.note).collect(),
            initializers: Vec::new(),
            inputs: Vec::new(),
            divergence: None,
            problems: problems.collect(),
        },
        &ModelInputs { tensors: tensors.given(), reference: reference.given() },
        options,
    )
}

/// Returns the graph that was exported from the program that the reference is a dump of, if that is what is compared.
fn exported<'o>(tensors: &StoredDump, reference: &StoredDump, options: &'o CompareOptions) -> Option<&'o Graph> {
    let is_export = reference.is_program() && !tensors.is_program();
    options.graph.as_deref().filter(|_| is_export && options.match_by == MatchBy::Name)
}

/// Returns the pairs of the tensors of two programs, which are found together; `None` if the sides are anything else.
fn structure(
    tensors: &StoredDump,
    reference: &StoredDump,
    options: &CompareOptions,
) -> Option<Vec<Option<(usize, MatchedBy)>>> {
    let are_programs = tensors.is_program() && reference.is_program();
    (are_programs && options.match_by == MatchBy::Name).then(|| programs::pairs(tensors, reference, &options.modules))
}

/// Returns whether a dump is a single `.npy` file, whose name carries no information.
fn is_lone(dump: &StoredDump) -> bool {
    matches!(&*dump.tensors, [only] if dump.kind == DumpKind::Npy && only.file() == Some(&dump.path))
}

type Pair<'a> = (&'a StoredTensor, &'a StoredTensor, usize, MatchedBy);

/// Compares all pairs on several threads.
fn rows(pairs: &[Pair<'_>], options: &CompareOptions, criteria: &Criteria) -> Vec<Row> {
    let available = || thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST_THREADS);
    let threads = options.threads.map_or_else(available, NonZeroUsize::get).min(pairs.len().max(1));
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(pairs.len()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(pair) = pairs.get(index) else { break };
                    let row = row(pair, criteria);
                    done.lock().push((index, row));
                }
            });
        }
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, row)| row).collect()
}

fn row(&(tensor, reference, _, matched_by): &Pair<'_>, criteria: &Criteria) -> Row {
    // An export may compute the same numbers in another shape.
    let is_reshaped = matched_by == MatchedBy::Export && tensor.elements().ok() == reference.elements().ok();
    let outcome = if tensor.shape != reference.shape && !is_reshaped {
        Outcome::Shapes
    } else {
        difference(tensor, reference, criteria).unwrap_or_else(|error| Outcome::Unreadable(error.to_string()))
    };
    Row {
        place: tensor.place.clone(),
        reference: reference.place.clone(),
        matched_by,
        dtypes: (tensor.dtype, reference.dtype),
        shapes: (tensor.shape.clone(), reference.shape.clone()),
        outcome,
        drop: None,
    }
}

/// Compares the elements of two tensors that have as many.
pub(super) fn difference(tensor: &StoredTensor, reference: &StoredTensor, criteria: &Criteria) -> io::Result<Outcome> {
    let unknown = || io::Error::other("the type of its elements is not known");
    let types = (tensor.dtype.ok_or_else(unknown)?, reference.dtype.ok_or_else(unknown)?);
    let criterion = criteria.of(&tensor.place, &reference.place, types);
    let tolerance = criterion.tolerance;
    if tensor.is_summary() || reference.is_summary() {
        let (ours, theirs) = (tensor.summary()?, reference.summary()?);
        let elements = tensor.elements()?;
        return Ok(Outcome::Summarised(Summary::of(&ours, &theirs, types.0 == types.1, elements, &criterion)));
    }
    let elements = tensor.elements()?;
    let accumulator = DifferenceAccumulator::new(types.0, types.1, elements, tolerance.relative);
    let mut accumulator = accumulator.map_err(io::Error::other)?;
    let (mut left, mut right) = (tensor.data()?, reference.data()?);
    let bytes_of = |dtype: opscope_tensor::DType, elements| dtype.bytes_of(elements).unwrap_or(0);
    let most = elements.min(ELEMENTS);
    let mut buffers = (vec![0; bytes_of(types.0, most)], vec![0; bytes_of(types.1, most)]);
    let mut rest: usize = elements;
    while rest > 0 {
        let now = rest.min(ELEMENTS);
        let (x, y) = (&mut buffers.0[..bytes_of(types.0, now)], &mut buffers.1[..bytes_of(types.1, now)]);
        left.read_exact(x)?;
        right.read_exact(y)?;
        accumulator.update(x, y);
        rest -= now;
    }
    let difference = accumulator.finish();
    Ok(Outcome::Compared { difference, within: criterion.is_met(&difference) })
}
