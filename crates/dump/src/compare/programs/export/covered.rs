use std::collections::HashMap;

use opscope_onnx::{Graph, Operator, Producer, ValueId};

use super::is_compared;
use crate::compare::rounding::only_moves;
use crate::compare::{Row, Verdict};
use crate::{StoredDump, StoredOrigin};

/// What a comparison with an export leaves out, because what is computed from it was compared.
#[derive(Debug, Default)]
pub(in crate::compare) struct Covered {
    /// Values that only the export computes.
    pub export: Vec<StoredOrigin>,
    /// Tensors that only the program computes.
    pub program: Vec<StoredOrigin>,
    /// What cannot be compared, a sentence each.
    pub notes: Vec<String>,
}

/// What is computed from a value, as far as it was compared.
#[derive(Debug, Clone, Copy, Default)]
struct Below {
    agrees: bool,
    differs: bool,
    /// Whether an output of the model is computed from it with no compared value in between.
    is_open: bool,
}

/// Moves out of the lists what was not compared itself although results depend on it: values within operators that
/// agree, values that are only moved, and constants. A pair that differs although everything that is computed from it
/// agrees is not a real pair, and is moved, too.
pub(in crate::compare) fn covered(
    rows: &mut Vec<Row>,
    only_in_export: &mut Vec<StoredOrigin>,
    only_in_program: &mut Vec<StoredOrigin>,
    graph: &Graph,
    program: &StoredDump,
) -> Covered {
    let ids: HashMap<&str, ValueId> = graph.all_values().map(|value| (value.name.as_str(), value.id)).collect();
    let id = |place: &StoredOrigin| place.value.as_deref().and_then(|value| ids.get(value)).copied();
    let verdicts: HashMap<ValueId, Verdict> =
        rows.iter().filter_map(|row| Some((id(&row.place)?, row.verdict()))).collect();
    let below = below(graph, &verdicts);
    let mut covered = Covered::default();
    let random = random(graph);
    let is_random = |place: &StoredOrigin| id(place).is_some_and(|value| random[value.index()]);
    let of_chance = rows.extract_if(.., |row| is_random(&row.place)).count();
    for row in
        rows.extract_if(.., |row| row.verdict() == Verdict::Different && is_harmless(id(&row.place), &below, graph))
    {
        covered.export.push(row.place);
        covered.program.push(row.reference);
    }
    let depends = graph.depends_on_input();
    let given = |value: Option<ValueId>| {
        let Some(value) = value else { return false };
        let below = below[value.index()];
        let is_constant = depends.get(value.index()).is_some_and(|depends| !depends);
        is_constant || (below.agrees || below.differs) && !below.is_open || is_moved(value, graph, &verdicts)
    };
    covered.export.extend(only_in_export.extract_if(.., |place| given(id(place))));
    if of_chance > 0 {
        covered.notes.push(format!(
            "{of_chance} tensors depend on random numbers, which differ from run to run, and were not compared"
        ));
    }
    let step = program.first_step();
    let others = only_in_program.extract_if(.., |place| !is_compared(place, step)).count();
    if others > 0 {
        covered.notes.push(format!(
            "an export has the forward pass of one step: {others} tensors of other phases and steps were not compared"
        ));
    }
    covered.program.append(only_in_program);
    covered
}

/// Returns, for each value, whether it depends on random numbers.
fn random(graph: &Graph) -> Vec<bool> {
    let mut random = vec![false; graph.all_values().count()];
    for operator in graph.all_operators() {
        let is_source = matches!(
            operator.op_type.as_str(),
            "RandomNormal" | "RandomNormalLike" | "RandomUniform" | "RandomUniformLike" | "Bernoulli" | "Multinomial"
        );
        if is_source || operator.inputs.iter().flatten().any(|input| random[input.index()]) {
            operator.outputs.iter().flatten().for_each(|output| random[output.index()] = true);
        }
    }
    random
}

/// Returns, for each value, the verdicts on the first compared values that are computed from it.
fn below(graph: &Graph, verdicts: &HashMap<ValueId, Verdict>) -> Vec<Below> {
    let mut below = vec![Below::default(); graph.all_values().count()];
    for output in &graph.outputs {
        below[output.index()].is_open = true;
    }
    let operators: Vec<&Operator> = graph.all_operators().collect();
    for operator in operators.into_iter().rev() {
        let mut all = Below::default();
        for output in operator.outputs.iter().flatten() {
            let of = match verdicts.get(output) {
                Some(Verdict::Same) => Below { agrees: true, ..Below::default() },
                Some(Verdict::Different) => Below { differs: true, ..Below::default() },
                Some(Verdict::Unknown) | None => below[output.index()],
            };
            all = all.and(of);
        }
        for input in operator.inputs.iter().flatten().chain(&operator.captures) {
            below[input.index()] = below[input.index()].and(all);
        }
    }
    below
}

impl Below {
    fn and(self, other: Self) -> Self {
        Self {
            agrees: self.agrees || other.agrees,
            differs: self.differs || other.differs,
            is_open: self.is_open || other.is_open,
        }
    }
}

/// Returns whether all that is computed from a value agrees.
fn is_harmless(value: Option<ValueId>, below: &[Below], graph: &Graph) -> bool {
    let Some(value) = value else { return false };
    let below = below[value.index()];
    below.agrees && !below.differs && !below.is_open && !graph.outputs.contains(&value)
}

/// Returns whether a value is one that was compared, in another place or shape.
fn is_moved(value: ValueId, graph: &Graph, verdicts: &HashMap<ValueId, Verdict>) -> bool {
    let mut value = value;
    loop {
        if verdicts.contains_key(&value) {
            return true;
        }
        match graph.value(value).producer {
            Producer::Operator(operator, _) if only_moves(graph, graph.operator(operator)) => {
                let Some(from) = graph.operator(operator).inputs.first().copied().flatten() else { return false };
                value = from;
            }
            // Inputs of the model are what the program was given.
            _ => return graph.inputs.contains(&value),
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    #[test]
    fn what_only_moves_a_compared_value_or_an_input_is_that_value() {
        let graph = GraphBuilder::new("moves").input("x", &[2, 3]).initializer("w", &[2, 3]);
        let graph = graph.operator("turn", "Transpose", &["x"], &["turned"]).operator("relu", "Relu", &["x"], &["a"]);
        let graph = graph.operator("again", "Transpose", &["a"], &["b"]).operator("neg", "Neg", &["b"], &["c"]);
        let graph = graph.operator("weights", "Transpose", &["w"], &["d"]).output("c").build();
        let value = |name: &str| graph.value_named(name).expect("it has that value").id;
        let moved = |name: &str, compared: &[&str]| {
            let verdicts = compared.iter().map(|name| (value(name), Verdict::Unknown)).collect();
            is_moved(value(name), &graph, &verdicts)
        };
        assert!(moved("a", &["a"]) && moved("b", &["a"]), "itself, and what a transposition makes of it");
        assert!(!moved("b", &[]) && !moved("c", &["a"]), "nothing was compared, or it is computed anew");
        assert!(moved("x", &[]) && moved("turned", &[]), "the program was given it");
        assert!(!moved("d", &[]));
    }
}
