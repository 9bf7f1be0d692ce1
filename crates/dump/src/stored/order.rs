//! The order of execution, as a dump states it.

use std::collections::HashMap;

use super::StoredOrigin;

/// The positions of operators in the order of the graph. Files are written by several threads, so an index is in
/// another order.
#[derive(Debug, Clone, Default)]
pub struct Positions {
    of_operators: HashMap<String, usize>,
}

/// The moment at which a tensor was computed: the position of the operator in the main graph, whether the tensor is
/// that operator's own, the iterations of the bodies that it is in, and its position there.
pub type ExecutionPosition = (usize, bool, Vec<u32>, usize);

impl Positions {
    /// Collects the positions from tensors.
    pub fn of<'p>(places: impl Iterator<Item = &'p StoredOrigin>) -> Self {
        let position = |place: &StoredOrigin| Some((place.operator.clone()?, place.position?));
        Self { of_operators: places.filter_map(position).collect() }
    }

    /// Returns when a tensor was computed in its run. Tensors in a body come before the outputs of the operator around
    /// it. Returns `None` if the dump does not have this information.
    pub fn place(&self, tensor: &StoredOrigin) -> Option<ExecutionPosition> {
        let own = tensor.position?;
        let outermost = tensor.iterations.first();
        let outer = outermost.and_then(|iteration| self.of_operators.get(&iteration.operator)).copied().unwrap_or(own);
        let indices = tensor.iterations.iter().map(|iteration| iteration.index).collect();
        Some((outer, outermost.is_none(), indices, own))
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::LoopIteration;

    use super::*;

    #[test]
    fn what_is_in_a_body_stands_before_what_its_owner_gives() {
        let place = |operator: &str, position: usize, iterations: &[u32]| StoredOrigin {
            operator: Some(operator.to_owned()),
            position: Some(position),
            iterations: iterations
                .iter()
                .map(|index| LoopIteration { operator: "loop".to_owned(), index: *index })
                .collect(),
            ..StoredOrigin::default()
        };
        let mut places = [
            place("after", 2, &[]),
            place("loop", 1, &[]),
            place("body", 3, &[1]),
            place("body", 3, &[0]),
            place("first", 0, &[]),
        ];
        let positions = Positions::of(places.iter());
        places.sort_by_key(|tensor| positions.place(tensor));
        let names = places.map(|tensor| (tensor.operator.unwrap_or_default(), tensor.iterations.len()));
        assert_eq!(names.map(|(name, _)| name), ["first", "body", "body", "loop", "after"]);
        assert_eq!(positions.place(&StoredOrigin::default()), None);
    }
}
