//! Tensors that are neither inputs nor initializers of the main graph: those in attributes and in the graphs inside
//! operators, sparse ones, and strings.

use opscope_onnx::proto::{GraphProto, TensorProto};

use super::numbers::{Likeness, replaced};
use super::{DRAWS, kept_tensor, says_nothing};
use crate::reduce::case::{Case, stored, tensor_of};
use crate::reduce::check::Checker;
use crate::reduce::report::Kept;
use crate::reduce::shrink::try_change;

/// Replaces these tensors. Returns those that have to stay.
pub fn replace_inner(case: &mut Case, checker: &mut Checker<'_>, random: &mut fastrand::Rng) -> Vec<Kept> {
    let mut kept = Vec::new();
    for at in 0..count(case) {
        let mut found = None;
        with_tensor(case.main_mut(), at, &mut |tensor| found = Some(tensor.clone()));
        let Some(proto) = found else { continue };
        if !replace_one(case, checker, random, at, &proto) {
            kept.push(match tensor_of(&proto) {
                Some(tensor) => kept_tensor("a tensor inside an operator", &tensor),
                None => Kept {
                    name: if proto.name.is_empty() { "a tensor".to_owned() } else { proto.name.clone() },
                    what: "its texts, which the failure needs".to_owned(),
                    is_structure: false,
                },
            });
        }
    }
    kept
}

fn replace_one(
    case: &mut Case,
    checker: &mut Checker<'_>,
    random: &mut fastrand::Rng,
    at: usize,
    proto: &TensorProto,
) -> bool {
    let Some(tensor) = tensor_of(proto) else {
        let texts = (0..proto.string_data.len()).map(|text| format!("s{text}").into_bytes().into());
        let new = TensorProto { string_data: texts.collect(), ..proto.clone() };
        return new == *proto || try_change(case, checker, |case| set(case, at, new));
    };
    if says_nothing(&tensor) {
        return true;
    }
    Likeness::ALL.into_iter().flat_map(|likeness| [likeness; DRAWS]).any(|likeness| {
        replaced(&tensor, likeness, random)
            .is_some_and(|new| try_change(case, checker, |case| set(case, at, stored(&proto.name, &new))))
    })
}

fn set(case: &mut Case, at: usize, new: TensorProto) {
    with_tensor(case.main_mut(), at, &mut |tensor| *tensor = new.clone());
}

fn count(case: &mut Case) -> usize {
    let mut count = 0;
    each(case.main_mut(), true, &mut |_| count += 1);
    count
}

fn with_tensor(graph: &mut GraphProto, at: usize, visit: &mut dyn FnMut(&mut TensorProto)) {
    let mut number = 0;
    each(graph, true, &mut |tensor| {
        if number == at {
            visit(tensor);
        }
        number += 1;
    });
}

/// Visits the tensors in attributes and inner graphs, and of the main graph what has no numbers of its own place.
fn each(graph: &mut GraphProto, is_main: bool, visit: &mut dyn FnMut(&mut TensorProto)) {
    let is_other = |tensor: &&mut TensorProto| !is_main || tensor_of(tensor).is_none();
    graph.initializer.iter_mut().filter(is_other).for_each(&mut *visit);
    graph.sparse_initializer.iter_mut().filter_map(|sparse| sparse.values.as_mut()).for_each(&mut *visit);
    for attribute in graph.node.iter_mut().flat_map(|node| &mut node.attribute) {
        attribute.t.iter_mut().chain(&mut attribute.tensors).for_each(&mut *visit);
        attribute.g.iter_mut().chain(&mut attribute.graphs).for_each(|graph| each(graph, false, visit));
    }
}
