//! Models whose operators are found while they run, such as a program in PyTorch.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use opscope_onnx::{
    Attribute, CodeOrigin, Graph, Operator, OperatorId, Part, Producer, Source, SourceLine, Value, ValueId,
};

use opscope_tensor::Digest;

use crate::{Attribution, Kernel, KernelId, KernelInput};

/// A model that grows: its operators are added when they are executed for the first time.
///
/// Each operator is a [part](Part) of the graph of its own, so that what was shown before is neither copied nor
/// changed. Ids continue from part to part. An operator of the same name is the same operator in every run, with the
/// same [`OperatorId`] and [`KernelId`].
#[derive(Debug)]
pub struct OpenModel {
    header: Arc<Graph>,
    operators: Vec<Arc<OpenOperator>>,
    by_name: HashMap<String, usize>,
    values: u32,
}

/// An operator of an open model, with the kernel that executes it.
#[derive(Debug)]
pub struct OpenOperator {
    /// The part of the graph that it is.
    pub graph: Arc<Graph>,
    /// Its kernel, whose slots are those of the operator.
    pub kernel: Kernel,
    /// The names of the values that it took, by slot. `None` if it is not known where the tensor came from.
    inputs: Vec<Option<Arc<str>>>,
}

/// What is known of an operator when it is added.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// Its type.
    pub op_type: String,
    /// Its attributes.
    pub attributes: BTreeMap<String, Attribute>,
    /// Where it lies in the program.
    pub origin: Option<CodeOrigin>,
}

impl OpenModel {
    /// Creates a model without operators. `path` is the file of the program, and `xxh3` the hash of its bytes.
    pub fn new(name: &str, path: PathBuf, xxh3: Digest, producer: &str) -> Self {
        let source = Source { path, bytes: Default::default(), xxh3, producer: producer.to_owned() };
        let header = Graph {
            source,
            name: name.to_owned(),
            operators: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            bodies: Vec::new(),
            inner_operators: Vec::new(),
            inner_values: Vec::new(),
            opsets: BTreeMap::new(),
            part: Some(Part { operators: 0, values: 0 }),
        };
        Self { header: Arc::new(header), operators: Vec::new(), by_name: HashMap::new(), values: 0 }
    }

    /// Returns the empty beginning of the graph.
    pub fn header(&self) -> &Arc<Graph> {
        &self.header
    }

    /// Returns how many operators were found so far.
    pub fn len(&self) -> usize {
        self.operators.len()
    }

    /// Returns whether no operator was found yet.
    pub fn is_empty(&self) -> bool {
        self.operators.is_empty()
    }

    /// Returns the operators that were found so far, in the order in which they were found.
    pub fn operators(&self) -> impl Iterator<Item = &OpenOperator> {
        self.operators.iter().map(|operator| &**operator)
    }

    /// Returns the operator with this name, if it was found.
    pub fn known(&self, name: &str) -> Option<&Arc<OpenOperator>> {
        self.by_name.get(name).map(|&index| &self.operators[index])
    }

    /// Returns the operators that were found after the first `count`.
    pub fn operators_after(&self, count: usize) -> &[Arc<OpenOperator>] {
        self.operators.get(count..).unwrap_or_default()
    }

    /// Returns the operator with this name, and adds it if it is new. Its outputs are named after it: `name` for the
    /// first, `name:1` for the second. An operator that takes other values than before, has another number of outputs or
    /// is executed on another line of the program keeps its ids of operator and kernel. It is described anew, and its
    /// values get new ids.
    pub fn operator(
        &mut self,
        name: &str,
        inputs: &[Option<Arc<str>>],
        outputs: usize,
        source: Option<&SourceLine>,
        describe: impl FnOnce() -> Description,
    ) -> Arc<OpenOperator> {
        let known = self.by_name.get(name).copied();
        if let Some(known) = known.map(|index| &self.operators[index])
            && known.kernel.outputs.len() == outputs
            && known.inputs == inputs
            && known.source() == source
        {
            return Arc::clone(known);
        }
        let index = known.unwrap_or(self.operators.len());
        let added = Arc::new(self.part(index, name, inputs, outputs, describe()));
        match known {
            Some(index) => self.operators[index] = Arc::clone(&added),
            None => {
                self.by_name.insert(name.to_owned(), index);
                self.operators.push(Arc::clone(&added));
            }
        }
        added
    }

    fn part(
        &mut self,
        index: usize,
        name: &str,
        inputs: &[Option<Arc<str>>],
        outputs: usize,
        description: Description,
    ) -> OpenOperator {
        let id = OperatorId::new(index as u32);
        let part = Part { operators: index as u32, values: self.values };
        let mut values: Vec<Value> = Vec::new();
        let mut add = |name: String, producer| {
            let id = ValueId::new(part.values + values.len() as u32);
            values.push(Value { id, name, producer, consumers: Vec::new(), dtype: None, shape: None });
            id
        };
        let taken: Vec<Option<ValueId>> =
            inputs.iter().map(|input| input.as_ref().map(|name| add(name.to_string(), Producer::Input))).collect();
        let given: Vec<ValueId> =
            (0..outputs).map(|slot| add(output_name(name, slot), Producer::Operator(id, slot))).collect();
        self.values += values.len() as u32;
        let operator = Operator {
            id,
            name: name.to_owned(),
            op_type: description.op_type,
            domain: String::new(),
            inputs: taken.clone(),
            outputs: given.iter().copied().map(Some).collect(),
            captures: Vec::new(),
            attributes: description.attributes,
            position: index,
            origin: description.origin,
        };
        let kernel = Kernel {
            id: KernelId::new(index as u32),
            name: name.to_owned(),
            op: operator.op_type.clone(),
            operators: vec![Attribution { operator: id, exact: true }],
            inputs: taken.into_iter().map(|value| KernelInput { value, constant: false }).collect(),
            outputs: given.iter().map(|&value| vec![value]).collect(),
            holds: vec![None; outputs],
            input_types: Vec::new(),
            output_types: Vec::new(),
        };
        let graph = Graph { operators: vec![operator], values, part: Some(part), ..(*self.header).clone() };
        OpenOperator { graph: Arc::new(graph), kernel, inputs: inputs.to_vec() }
    }
}

impl OpenOperator {
    /// Returns the operator.
    pub fn operator(&self) -> &Operator {
        &self.graph.operators[0]
    }

    fn source(&self) -> Option<&SourceLine> {
        self.operator().origin.as_ref()?.source.as_ref()
    }
}

/// Returns the name of an operator's output.
fn output_name(operator: &str, slot: usize) -> String {
    if slot == 0 { operator.to_owned() } else { format!("{operator}:{slot}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(op_type: &str) -> Description {
        Description { op_type: op_type.to_owned(), ..Description::default() }
    }

    #[test]
    fn an_operator_keeps_its_ids_and_what_was_shown_stays() {
        let mut model = OpenModel::new("net", PathBuf::from("train.py"), Digest(7), "torch");
        let taken = [Some(Arc::from("x"))];
        let first = model.operator("a", &[], 1, None, || described("Linear"));
        let second = model.operator("b", &taken, 2, None, || described("Softmax"));
        let again = model.operator("a", &[], 1, None, || panic!("it is known"));
        assert!(Arc::ptr_eq(&first, &again));
        let (id, graph) = (second.operator().id, &second.graph);
        assert_eq!((id, second.kernel.id), (OperatorId::new(1), KernelId::new(1)));
        assert_eq!(graph.operator(id).name, "b");
        let names = |ids: &[Option<ValueId>]| -> Vec<String> {
            ids.iter().flatten().map(|&id| graph.value(id).name.clone()).collect()
        };
        assert_eq!(names(&graph.operator(id).inputs), ["x"]);
        assert_eq!(names(&graph.operator(id).outputs), ["b", "b:1"]);
        let ids: Vec<usize> = graph.values.iter().map(|value| value.id.index()).collect();
        assert_eq!(ids, [1, 2, 3], "they continue those of the part before");

        let grown = model.operator("b", &taken, 3, None, || described("Softmax"));
        assert_eq!((grown.operator().id, grown.kernel.outputs.len()), (id, 3));
        assert_eq!(grown.operator().op_type, "Softmax");
        assert_eq!(second.kernel.outputs.len(), 2);
        assert_eq!((model.len(), graph.source.xxh3), (2, Digest(7)));
    }

    #[test]
    fn an_operator_is_on_the_line_where_it_was_executed_last() {
        let mut model = OpenModel::new("net", PathBuf::from("train.py"), Digest(7), "torch");
        let line = |line| SourceLine { file: "train.py".to_owned(), line, code: None };
        let on = |model: &mut OpenModel, number: u32| {
            let source = line(number);
            let origin = CodeOrigin {
                display_name: "a".to_owned(),
                modules: Vec::new(),
                source: Some(source.clone()),
                traced: None,
            };
            let describe = || Description { origin: Some(origin), ..described("Add") };
            model.operator("a", &[], 1, Some(&source), describe)
        };
        let first = on(&mut model, 3);
        assert!(Arc::ptr_eq(&first, &on(&mut model, 3)));
        let moved = on(&mut model, 8);
        assert_eq!((first.source(), moved.source()), (Some(&line(3)), Some(&line(8))));
        assert_eq!((moved.operator().id, model.len()), (first.operator().id, 1));
    }
}
