use std::collections::HashMap;

use opscope_onnx::{Graph, Operator, path_of_operator};

/// What a value of an exported graph stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// The result of this operator of the traced program, such as `aten.linear`.
    Traced(String),
    /// It is within an operator that the exporter has expanded.
    Inside,
    /// The exporter did not say. This is the operator of ONNX.
    Onnx(String),
}

/// The results of an exported graph, by the names of operators.
pub(super) struct Results<'g> {
    of: HashMap<&'g str, (String, Kind)>,
}

impl<'g> Results<'g> {
    pub fn of(graph: &'g Graph) -> Self {
        // The last operator of a traced call gives its result.
        let mut last: HashMap<&str, &str> = HashMap::new();
        for operator in graph.all_operators() {
            if let Some(traced) = operator.origin.as_ref().and_then(|origin| origin.traced.as_ref()) {
                last.insert(&traced.name, &operator.name);
            }
        }
        let kind = |operator: &Operator| match operator.origin.as_ref().and_then(|origin| origin.traced.as_ref()) {
            Some(traced) if last.get(traced.name.as_str()) == Some(&operator.name.as_str()) => {
                Kind::Traced(super::super::place::base(&traced.target).to_owned())
            }
            Some(_) => Kind::Inside,
            None => Kind::Onnx(operator.op_type.clone()),
        };
        let of = graph.all_operators().map(|operator| (operator.name.as_str(), (module(operator), kind(operator))));
        Self { of: of.collect() }
    }

    /// Returns the path of an operator's module and what its outputs stand for.
    pub fn get(&self, operator: &str) -> Option<(&str, &Kind)> {
        self.of.get(operator).map(|(module, kind)| (module.as_str(), kind))
    }
}

/// Returns the path of the module that an operator is in, as the program has it; empty for the outermost one.
fn module(operator: &Operator) -> String {
    if let Some(module) = operator.origin.as_ref().and_then(|origin| origin.module()) {
        return module.path.clone();
    }
    let mut path: Vec<String> = Vec::new();
    for part in path_of_operator(&operator.name, None) {
        let part = part.trim_matches('/').to_owned();
        // The path of a module in a list repeats the name of the list: `/layers/layers.0`.
        if path
            .last()
            .is_some_and(|around| part.strip_prefix(around.as_str()).is_some_and(|rest| rest.starts_with('.')))
        {
            path.pop();
        }
        path.push(part);
    }
    path.join(".")
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    #[test]
    fn the_names_of_the_older_exporter_give_the_module() {
        let graph = GraphBuilder::new("old")
            .input("x", &[1])
            .operator("/layers/layers.0/attention/MatMul", "Relu", &["x"], &["a"])
            .operator("/layers.1/q/Add", "Relu", &["a"], &["b"])
            .operator("Constant_3", "Relu", &["b"], &["y"])
            .output("y")
            .build();
        let results = Results::of(&graph);
        let module = |name: &str| results.get(name).unwrap().0.to_owned();
        assert_eq!(module("/layers/layers.0/attention/MatMul"), "layers.0.attention");
        assert_eq!((module("/layers.1/q/Add").as_str(), module("Constant_3").as_str()), ("layers.1.q", ""));
        assert_eq!(results.get("Constant_3").unwrap().1, &Kind::Onnx("Relu".to_owned()));
    }
}
