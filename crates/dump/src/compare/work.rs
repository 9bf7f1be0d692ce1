use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use opscope_onnx::Graph;
use opscope_sys::Mutex;

use super::criteria::Criteria;
use super::elements::{difference, first_samples};
use super::matching::{Folded, MatchedBy, Matcher, unused};
use super::model_inputs::ModelInputs;
use super::noise::NoiseJudge;
use super::programs::export::{self, Agreement};
use super::{CompareOptions, Comparison, MatchBy, Outcome, Row, diverge, programs};
use crate::{DumpKind, StoredDump, StoredTensor};

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
    let (mut pairs, mut ours) = (Vec::new(), Vec::new());
    let mut only_in_tensors = Vec::new();
    for (index, tensor) in tensors.tensors.iter().enumerate() {
        match find(index) {
            Some((other, by)) => {
                ours.push(index);
                pairs.push((tensor, &reference.tensors[other], other, by));
            }
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
    let noise = options.noise.as_ref();
    let noise = noise.map(|noise| NoiseJudge::new(noise, tensors, reference, &options.modules, &criteria));
    let mut unjudged = 0;
    if let Some(judge) = &noise {
        for (row, (index, (tensor, other, other_index, _))) in rows.iter_mut().zip(ours.iter().zip(&pairs)) {
            unjudged += usize::from(!judge.judge(row, [*index, *other_index], [*tensor, *other]));
        }
    }
    let unjudged = (unjudged > 0).then(|| {
        format!("{unjudged} pairs of tensors have no counterpart in the wider run, and were judged by their distance")
    });
    let mut only_in_reference = unused(reference.tensors.iter().map(|tensor| &tensor.place), &used);
    let covered = exported
        .map(|graph| export::covered(&mut rows, &mut only_in_tensors, &mut only_in_reference, graph, reference));
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
            notes: criteria.notes().into_iter().chain(covered.notes).chain(unjudged).collect(),
            initializers: Vec::new(),
            inputs: Vec::new(),
            divergence: None,
            problems: problems.collect(),
        },
        &ModelInputs { tensors: tensors.given(), reference: reference.given() },
        options,
    )
}

/// Returns the graph of the export, if an exported model is compared with a dump of its program.
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
                    let row = row(pair, options, criteria);
                    done.lock().push((index, row));
                }
            });
        }
    });
    let mut done = done.into_inner();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, row)| row).collect()
}

fn row(&(tensor, reference, _, matched_by): &Pair<'_>, options: &CompareOptions, criteria: &Criteria) -> Row {
    // An export may compute the same numbers in another shape.
    let is_reshaped = matched_by == MatchedBy::Export && tensor.elements().ok() == reference.elements().ok();
    let samples = options.first_samples && tensor.shape != reference.shape;
    let outcome = if samples {
        first_samples(tensor, reference, criteria).unwrap_or_else(|error| Outcome::Unreadable(error.to_string()))
    } else if tensor.shape != reference.shape && !is_reshaped {
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
