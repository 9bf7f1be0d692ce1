//! Parts of a model: some of its operators, with values of a run of the whole model as their inputs.

mod values;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use opscope::Session;
use opscope_onnx::Graph;
use opscope_onnx::proto::{GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, ValueInfoProto};
use opscope_tensor::{DType, Tensor};

use super::case::{Case, described, is_constant, stored, taken};
pub(super) use values::output_types;
use values::{Values, constant_nodes};

/// Cuts parts out of a model.
pub struct Cutter {
    whole: Case,
    /// `None` if the model is not valid.
    graph: Option<Arc<Graph>>,
    /// The operators in order of execution, without constants.
    nodes: Vec<Operation>,
    initializers: HashMap<String, TensorProto>,
    sparse: HashMap<String, SparseTensorProto>,
    declared: HashMap<String, ValueInfoProto>,
    values: Values,
    /// Whether the declarations of values are kept.
    keeps_declarations: bool,
    /// Whether small integers become initializers, because engines take shapes and axes only as these.
    fixes_integers: bool,
}

/// An operator.
struct Operation {
    node: NodeProto,
    taken: Vec<String>,
}

/// The most elements of integers that become an initializer.
const FEW: usize = 64;

impl Cutter {
    /// Creates a cutter. `session` runs the model, exactly, for the values between its operators.
    pub fn new(whole: Case, graph: Option<Arc<Graph>>, session: Option<Session>) -> Self {
        let constants = graph.as_deref().and_then(|graph| constant_nodes(graph).ok()).unwrap_or_default();
        let main = whole.main();
        let mut initializers: HashMap<String, TensorProto> =
            main.initializer.iter().map(|tensor| (tensor.name.clone(), tensor.clone())).collect();
        initializers.extend(constants.iter().map(|(name, tensor)| (name.clone(), stored(name, tensor))));
        let name = |sparse: &SparseTensorProto| Some(sparse.values.as_ref()?.name.clone());
        let sparse =
            main.sparse_initializer.iter().filter_map(|sparse| Some((name(sparse)?, sparse.clone()))).collect();
        let order: Vec<usize> = match &graph {
            Some(graph) => graph.operators.iter().map(|operator| operator.position).collect(),
            None => (0..main.node.len()).collect(),
        };
        let is_kept = |node: &&NodeProto| {
            !is_constant(node) || !node.output.iter().all(|output| initializers.contains_key(output))
        };
        let nodes = order.iter().filter_map(|&at| main.node.get(at)).filter(is_kept);
        let operation = |node: &NodeProto| Operation {
            taken: taken(node).into_iter().map(str::to_owned).collect(),
            node: node.clone(),
        };
        let nodes = nodes.map(operation).collect();
        let declared = main.value_info.iter().chain(&main.input).chain(&main.output);
        let declared = declared.map(|declared| (declared.name.clone(), declared.clone())).collect();
        let values = Values::capture(graph.clone(), &whole.inputs, session);
        Self {
            nodes,
            initializers,
            sparse,
            declared,
            values,
            whole,
            graph,
            keeps_declarations: false,
            fixes_integers: true,
        }
    }

    /// Returns the number of operators.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the place of the operator with this name, or of the one around it if it is in a body.
    pub fn place(&self, graph: &Graph, name: &str) -> Option<usize> {
        let operator = graph.operator_named(name)?;
        let outer = graph.owners_of(operator.id).first().copied().unwrap_or(operator.id);
        let output = graph.operator(outer).outputs.iter().flatten().next().map(|&id| graph.value(id).name.as_str())?;
        self.nodes.iter().position(|operation| operation.node.output.iter().any(|name| name == output))
    }

    /// Returns up to `most` operators, one of them first, and then those nearest to it: those that it takes values of,
    /// and also those that take values of it if `is_around`.
    pub fn near(&self, place: usize, most: usize, is_around: bool) -> Vec<usize> {
        let takes = |one: usize, other: usize| {
            let given = &self.nodes[other].node.output;
            self.nodes[one].taken.iter().any(|name| given.contains(name))
        };
        let (mut found, mut next) = (vec![place], 0);
        while next < found.len() && found.len() < most {
            let current = found[next];
            let is_near = |other: &usize| takes(current, *other) || (is_around && takes(*other, current));
            let new: Vec<usize> =
                (0..self.nodes.len()).filter(is_near).filter(|other| !found.contains(other)).collect();
            found.extend(new);
            next += 1;
        }
        found.truncate(most);
        found
    }

    /// Sets whether the declarations of values are kept, and whether small integers become initializers.
    pub fn set_form(&mut self, keeps_declarations: bool, fixes_integers: bool) {
        (self.keeps_declarations, self.fixes_integers) = (keeps_declarations, fixes_integers);
    }

    /// Returns the part with these operators. Values that it takes from others are those of the run of the whole model.
    /// Its outputs are the values that none of its operators takes. Returns `None` if a value is not known.
    pub fn cut(&mut self, places: &[usize]) -> Option<Case> {
        let mut places = places.to_vec();
        places.sort_unstable();
        let nodes: Vec<&Operation> = places.iter().map(|&place| &self.nodes[place]).collect();
        let given: HashSet<&str> =
            nodes.iter().flat_map(|operation| &operation.node.output).map(String::as_str).collect();
        let mut seen = HashSet::new();
        let outside: Vec<&str> = nodes
            .iter()
            .flat_map(|operation| &operation.taken)
            .map(String::as_str)
            .filter(|name| !given.contains(name) && seen.insert(*name))
            .collect();
        let mut graph = GraphProto { name: self.whole.main().name.clone(), ..GraphProto::default() };
        let is_stored = |name: &str| self.initializers.contains_key(name) || self.sparse.contains_key(name);
        let missing: Vec<&str> = outside.iter().copied().filter(|name| !is_stored(name)).collect();
        self.values.need(missing.iter().copied());
        let mut inputs = Vec::new();
        let lists_initializers = self.whole.proto.ir_version < 4;
        for name in outside {
            if let Some(tensor) = self.initializers.get(name) {
                if lists_initializers && let Some(dtype) = DType::from_onnx(tensor.data_type) {
                    let shape: Vec<usize> = tensor.dims.iter().map(|&dim| dim.max(0) as usize).collect();
                    graph.input.push(described(name, dtype, Some(&shape)));
                }
                graph.initializer.push(tensor.clone());
            } else if let Some(sparse) = self.sparse.get(name) {
                graph.sparse_initializer.push(sparse.clone());
            } else {
                if self.is_dangling(name) {
                    continue;
                }
                let declared = self.declared.get(name);
                let tensor = self.values.get(name, declared)?;
                if self.is_fixed(&tensor) {
                    graph.initializer.push(stored(name, &tensor));
                } else {
                    graph.input.push(described(name, tensor.dtype(), Some(tensor.shape())));
                    inputs.push((name.to_owned(), tensor));
                }
            }
        }
        let used: HashSet<&str> = nodes.iter().flat_map(|operation| &operation.taken).map(String::as_str).collect();
        let outputs = nodes.iter().flat_map(|operation| &operation.node.output);
        for name in outputs.filter(|name| !name.is_empty() && !used.contains(name.as_str())) {
            graph.output.push(match self.values.dtype(name) {
                Some(dtype) => described(name, dtype, None),
                None => self
                    .declared
                    .get(name)
                    .cloned()
                    .unwrap_or_else(|| ValueInfoProto { name: name.clone(), ..ValueInfoProto::default() }),
            });
        }
        if self.keeps_declarations {
            let inner = given.iter().filter(|name| used.contains(**name));
            graph.value_info = inner.filter_map(|name| self.declared.get(*name)).cloned().collect();
            graph.value_info.sort_by(|one, other| one.name.cmp(&other.name));
        }
        graph.node = nodes.iter().map(|operation| operation.node.clone()).collect();
        let proto = ModelProto { graph: Some(graph), ..self.whole.proto.clone() };
        Some(Case { proto, inputs, path: Arc::clone(&self.whole.path) })
    }

    /// Returns whether nothing computes or gives a value, in a model that is not valid.
    fn is_dangling(&self, name: &str) -> bool {
        self.graph.is_none()
            && !self.whole.main().input.iter().any(|input| input.name == name)
            && !self.nodes.iter().any(|operation| operation.node.output.iter().any(|output| output == name))
    }

    /// Returns whether a value becomes an initializer, and not an input.
    fn is_fixed(&self, tensor: &Tensor) -> bool {
        let dtype = tensor.dtype();
        let is_integer = !dtype.is_float() && !dtype.is_complex() && dtype != DType::Bool;
        dtype.npy_descr().is_none() || (self.fixes_integers && is_integer && tensor.elements() <= FEW)
    }
}
