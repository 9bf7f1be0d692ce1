//! The operators of an open model, put together to one graph.

use std::collections::HashMap;
use std::sync::Arc;

use opscope_model::{Dispatch, Kernel};
use opscope_onnx::{Graph, OperatorId, Part, Producer, Value, ValueId};

/// The operators of an open model that were found so far, in their order.
pub(crate) struct FoundOperators {
    header: Arc<Graph>,
    parts: Vec<(Arc<Graph>, Kernel)>,
}

impl FoundOperators {
    /// Creates the beginning of a model, without operators.
    pub fn new(header: &Arc<Graph>) -> Self {
        Self { header: Arc::clone(header), parts: Vec::new() }
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Enters an operator, or that it takes other values than before.
    pub fn enter(&mut self, dispatch: &Dispatch<'_>) {
        let part = || (Arc::clone(dispatch.graph), dispatch.kernel.clone());
        match self.parts.get_mut(dispatch.kernel.id.index()) {
            Some((graph, _)) if Arc::ptr_eq(graph, dispatch.graph) => {}
            Some(known) => *known = part(),
            // They are shown in the order of their ids.
            None => self.parts.push(part()),
        }
    }

    /// Returns whether an operator is the one that was entered, with the same values.
    pub fn is_known(&self, dispatch: &Dispatch<'_>) -> bool {
        self.parts.get(dispatch.kernel.id.index()).is_some_and(|(graph, _)| Arc::ptr_eq(graph, dispatch.graph))
    }

    /// Returns one graph of all operators, and their kernels. Values of the same name are one value of this graph,
    /// although each part has its own, and those that no operator computes are its inputs. It says by its part that
    /// operators may follow.
    pub fn graph(&self) -> (Arc<Graph>, Arc<[Kernel]>) {
        let mut values = Values::default();
        // An operator may take what another one computes that was found later: in a step before.
        for (part, kernel) in &self.parts {
            for (slot, output) in kernel.outputs.iter().enumerate() {
                let name = output.first().map(|&value| part.value(value).name.as_str()).unwrap_or_default();
                values.add(name, Producer::Operator(part.operators[0].id, slot));
            }
        }
        let mut operators = Vec::with_capacity(self.parts.len());
        let mut kernels = Vec::with_capacity(self.parts.len());
        for (part, kernel) in &self.parts {
            let mut operator = part.operators[0].clone();
            let mut kernel = kernel.clone();
            let mut id = |value: ValueId| values.add(&part.value(value).name, Producer::Input);
            operator.inputs.iter_mut().flatten().for_each(|value| *value = id(*value));
            operator.outputs.iter_mut().flatten().for_each(|value| *value = id(*value));
            kernel.inputs.iter_mut().filter_map(|input| input.value.as_mut()).for_each(|value| *value = id(*value));
            kernel.outputs.iter_mut().flatten().for_each(|value| *value = id(*value));
            operator.inputs.iter().flatten().for_each(|&value| values.taken(value, operator.id));
            operators.push(operator);
            kernels.push(kernel);
        }
        let is_input = |value: &&Value| value.producer == Producer::Input;
        let inputs = values.values.iter().filter(is_input).map(|value| value.id).collect();
        let part = Some(Part { operators: 0, values: 0 });
        let graph = Graph { operators, values: values.values, inputs, part, ..(*self.header).clone() };
        (Arc::new(graph), kernels.into())
    }
}

#[derive(Default)]
struct Values {
    by_name: HashMap<String, ValueId>,
    values: Vec<Value>,
}

impl Values {
    /// Returns the value of a name, which is added if there is none.
    fn add(&mut self, name: &str, producer: Producer) -> ValueId {
        if let Some(known) = self.by_name.get(name) {
            return *known;
        }
        let id = ValueId::new(self.values.len() as u32);
        self.by_name.insert(name.to_owned(), id);
        let name = name.to_owned();
        self.values.push(Value { id, name, producer, consumers: Vec::new(), dtype: None, shape: None });
        id
    }

    fn taken(&mut self, value: ValueId, by: OperatorId) {
        self.values[value.index()].consumers.push(by);
    }
}
