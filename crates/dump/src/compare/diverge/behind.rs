//! Finds the values that an operator was computed from, past values that have no partner on the other side.

use std::collections::{HashMap, HashSet};

use opscope_onnx::{Graph, Operator, OperatorId, Producer};

use super::InputRow;
use crate::StoredOrigin;
use crate::compare::{Row, Verdict};

/// The nearest values before an operator that were compared or given, and the operators in between.
#[derive(Debug, Default)]
pub(super) struct Behind {
    pub inputs: Vec<InputRow>,
    /// The operators in between, the nearest first.
    pub between: Vec<String>,
    /// The initializers that the operator and those in between take.
    pub initializers: Vec<String>,
}

/// Follows the values of an exported graph back from an operator.
pub(super) fn of_graph(
    rows: &[Row],
    row: usize,
    graph: &Graph,
    operator: &Operator,
    given: &impl Fn(&str) -> Verdict,
) -> Behind {
    let of_value: HashMap<&str, usize> =
        rows.iter().enumerate().filter_map(|(index, row)| Some((row.place.value.as_deref()?, index))).collect();
    let depends = graph.depends_on_input();
    let mut behind = Behind::default();
    let mut seen: HashSet<OperatorId> = HashSet::from([operator.id]);
    let mut known = HashSet::new();
    let mut waiting = vec![operator];
    while !waiting.is_empty() {
        let mut next = Vec::new();
        for operator in waiting {
            for value in operator.inputs.iter().flatten().map(|&value| graph.value(value)) {
                if !known.insert(value.id) {
                    continue;
                }
                let found = of_value.get(value.name.as_str()).copied().filter(|&found| found != row);
                match value.producer {
                    Producer::Initializer => behind.initializers.push(value.name.clone()),
                    _ if found.is_some() => behind.push(rows, found, &value.name, Verdict::Unknown),
                    Producer::Operator(before, _) => {
                        let before = graph.operator(before);
                        if seen.insert(before.id) {
                            let is_constant = depends.get(value.id.index()).is_some_and(|depends| !depends);
                            if !is_constant {
                                behind.between.push(format!("{} ({})", before.name, before.op_type));
                            }
                            next.push(before);
                        }
                    }
                    _ if graph.inputs.contains(&value.id) => behind.push(rows, None, &value.name, given(&value.name)),
                    _ => {}
                }
            }
        }
        waiting = next;
    }
    behind
}

/// Follows the values of a program back from an operator. `unmatched` are those that the other program does not compute.
pub(super) fn of_program(
    rows: &[Row],
    row: usize,
    unmatched: &[StoredOrigin],
    direct: Vec<InputRow>,
    given: &impl Fn(&str) -> Verdict,
) -> Behind {
    let run = rows[row].place.run;
    let only: HashMap<&str, &StoredOrigin> = unmatched
        .iter()
        .filter(|place| place.run == run)
        .filter_map(|place| Some((place.value.as_deref()?, place)))
        .collect();
    let of_value: HashMap<&str, usize> = rows[..row]
        .iter()
        .enumerate()
        .filter(|(_, other)| other.place.run == run)
        .filter_map(|(index, other)| Some((other.place.value.as_deref()?, index)))
        .collect();
    let mut behind = Behind::default();
    let mut seen = HashSet::new();
    let mut waiting: Vec<&StoredOrigin> = Vec::new();
    for input in direct {
        let place =
            only.get(input.value.as_str()).filter(|_| input.compared.is_none() && input.given == Verdict::Unknown);
        match place {
            Some(place) if seen.insert(place.value.clone()) => waiting.push(place),
            Some(_) => {}
            None => behind.inputs.push(input),
        }
    }
    while let Some(place) = waiting.pop() {
        behind.between.extend(place.operator.clone().filter(|name| !behind.between.contains(name)));
        for name in place.inputs.iter().flatten() {
            match (of_value.get(name.as_str()), only.get(name.as_str())) {
                (Some(&found), _) => behind.push(rows, Some(found), name, Verdict::Unknown),
                (None, Some(place)) if seen.insert(place.value.clone()) => waiting.push(place),
                (None, Some(_)) => {}
                (None, None) => behind.push(rows, None, name, given(name)),
            }
        }
    }
    behind
}

impl Behind {
    fn push(&mut self, rows: &[Row], row: Option<usize>, value: &str, given: Verdict) {
        if self.inputs.iter().any(|input| input.value == value) {
            return;
        }
        let compared = row.map(|row| rows[row].clone());
        self.inputs.push(InputRow { slot: self.inputs.len(), value: value.to_owned(), row, compared, given });
    }
}
