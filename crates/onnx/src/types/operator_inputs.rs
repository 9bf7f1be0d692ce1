use opscope_tensor::DType;

use crate::{Operator, TensorInfo};

/// The types of the outputs of an operator, by slot.
pub(super) type Outputs = Option<Vec<Option<TensorInfo>>>;

/// An operator and what is known about its inputs.
pub(super) struct OperatorInputs<'a, C> {
    pub operator: &'a Operator,
    pub inputs: &'a [Option<TensorInfo>],
    /// A function that returns the integers of a small input, by slot.
    pub contents: C,
}

impl<'c, C: Fn(usize) -> Option<&'c [i64]>> OperatorInputs<'_, C> {
    pub(super) fn input(&self, slot: usize) -> Option<&TensorInfo> {
        self.inputs.get(slot)?.as_ref()
    }

    pub(super) fn contents(&self, slot: usize) -> Option<&'c [i64]> {
        (self.contents)(slot)
    }

    pub(super) fn shaped(&self, dtype: DType, shape: Vec<usize>) -> TensorInfo {
        TensorInfo { dtype: Some(dtype), shape }
    }

    /// Returns the shape to which all inputs broadcast.
    pub(super) fn broadcast(&self) -> Option<Vec<usize>> {
        let shapes = self.inputs.iter().map(|input| Some(input.as_ref()?.shape.as_slice()));
        shapes.collect::<Option<Vec<_>>>()?.into_iter().try_fold(Vec::new(), |all, shape| broadcast(&all, shape))
    }
}

pub(super) fn one(info: TensorInfo) -> Outputs {
    Some(vec![Some(info)])
}

/// Returns an axis, counted from the end if it is negative; `None` if there is no such axis.
pub(super) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// Returns the shape to which two shapes broadcast.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[usize], at: usize| (at + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    let sizes = (0..rank).map(|at| match (size(a, at), size(b, at)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    });
    sizes.collect()
}
