use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use opscope_model::{Iteration, Kernel, KernelId, RunId};
use opscope_onnx::{Graph, Operator, OperatorId, Producer, ValueId};
use opscope_tensor::DType;

use crate::{Io, Missing, Origin, Selection};

/// The points at which the tensors of a plan can be captured: for each kernel, those inputs and outputs of the file's
/// operators that are also the kernel's inputs and outputs.
pub(crate) struct Routes {
    pub graph: Arc<Graph>,
    pub plan: usize,
    /// The tensors to capture before a kernel is executed, by [`KernelId`].
    pub before: Vec<Vec<Route>>,
    /// The tensors to capture after a kernel was executed, by [`KernelId`].
    pub after: Vec<Vec<Route>>,
    /// The tensors that are the same in every run and are captured once.
    pub constant: Vec<Route>,
    /// The tensors that are the same in every run and are captured in each run before a kernel is executed, by
    /// [`KernelId`].
    pub constant_before: Vec<Vec<Route>>,
    /// The tensors that are the same in every run and are captured in each run, of operators without other tensors.
    pub constant_other: Vec<Route>,
    /// The tensors that cannot be captured, and why.
    pub absent: Vec<(Route, &'static str)>,
    /// The tensors of operators in bodies that the engine does not show. For a selection that names such an operator
    /// they are absent.
    inside: Vec<Route>,
    /// The inputs of each kernel that are not captured anywhere, by [`KernelId`]: the engine's slot and the value. They
    /// are delivered if the run fails in the kernel.
    pub uncaptured: Vec<Vec<(usize, ValueId)>>,
}

/// A tensor of an operator, and the point at which to capture it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// The kernel's slot. It has no meaning if the tensor is constant or absent.
    pub engine_slot: usize,
    pub operator: OperatorId,
    pub io: Io,
    pub slot: usize,
    pub value: ValueId,
    /// The number of selected tensors of the operator that come with this one: in a run, or as constants.
    pub siblings: usize,
}

impl Routes {
    /// Creates the routes of all tensors of all operators. `constants` are the values that were computed when the model
    /// was loaded.
    pub fn new(graph: &Arc<Graph>, plan: usize, kernels: &[Kernel], constants: &HashSet<ValueId>) -> Self {
        let mut routes = Self {
            graph: Arc::clone(graph),
            plan,
            before: vec![Vec::new(); kernels.len()],
            after: vec![Vec::new(); kernels.len()],
            constant: Vec::new(),
            constant_before: vec![Vec::new(); kernels.len()],
            constant_other: Vec::new(),
            absent: Vec::new(),
            inside: Vec::new(),
            uncaptured: kernels.iter().map(changing_inputs).collect(),
        };
        let seen = Seen::new(graph, kernels, constants);
        for operator in &graph.operators {
            tensors_of(operator).for_each(|route| routes.add(seen.place(route), route));
        }
        let is_inner = |kernel: &Kernel| kernel.operator().is_some_and(|operator| graph.body_of(operator).is_some());
        let shows_bodies = kernels.iter().any(is_inner);
        for route in graph.inner_operators.iter().flat_map(tensors_of) {
            if shows_bodies {
                routes.add(seen.place(route), route);
            } else {
                routes.inside.push(route);
            }
        }
        routes
    }

    /// Returns only the routes that a selection matches. With `constants_in_runs`, tensors that are the same in every
    /// run are captured in each run.
    pub fn selected(&self, selection: &Selection, constants_in_runs: bool) -> Self {
        let ranges = selection.ranges_in(&self.graph);
        let wants =
            |route: &&Route| selection.wants(&ranges, self.graph.operator(route.operator), route.io, route.slot);
        let filter = |routes: &[Vec<Route>]| -> Vec<Vec<Route>> {
            routes.iter().map(|routes| routes.iter().filter(wants).copied().collect()).collect()
        };
        let (mut before, mut after) = (filter(&self.before), filter(&self.after));
        let mut constant: Vec<Route> = self.constant.iter().filter(wants).copied().collect();
        let captured: HashSet<ValueId> =
            before.iter().chain(&after).flatten().chain(&constant).map(|route| route.value).collect();
        let (mut constant_before, mut constant_other) = (vec![Vec::new(); before.len()], Vec::new());
        if constants_in_runs {
            let kernels = first_kernels(&before, &after);
            for route in std::mem::take(&mut constant) {
                let kernel = kernels.get(&route.operator);
                kernel.map_or(&mut constant_other, |&kernel| &mut constant_before[kernel]).push(route);
            }
        }
        count_siblings(before.iter_mut().chain(&mut after).chain(&mut constant_before).flatten());
        count_siblings(constant_other.iter_mut());
        count_siblings(constant.iter_mut());
        let uncaptured = |inputs: &Vec<(usize, ValueId)>| -> Vec<(usize, ValueId)> {
            inputs.iter().filter(|(_, value)| !captured.contains(value)).copied().collect()
        };
        let inside =
            self.inside.iter().filter(|route| wants(route) && selection.names(self.graph.operator(route.operator)));
        let absent = self.absent.iter().filter(|(route, _)| wants(&route)).copied();
        Self {
            graph: Arc::clone(&self.graph),
            plan: self.plan,
            before,
            after,
            constant,
            constant_before,
            constant_other,
            uncaptured: self.uncaptured.iter().map(uncaptured).collect(),
            absent: absent.chain(inside.map(|route| (*route, NOT_SHOWN))).collect(),
            inside: Vec::new(),
        }
    }

    pub fn origin(&self, route: Route, run: Option<RunId>, path: &[Iteration]) -> Origin {
        let Route { operator, io, slot, value, .. } = route;
        Origin { graph: Arc::clone(&self.graph), plan: self.plan, run, operator, path: path.into(), io, slot, value }
    }

    /// Returns the tensors that can never be captured.
    pub fn missing(&self) -> impl Iterator<Item = Missing> + '_ {
        self.absent
            .iter()
            .map(|&(route, reason)| Missing { origin: self.origin(route, None, &[]), reason: reason.into() })
    }

    fn add(&mut self, place: Result<ReadPoint, &'static str>, route: Route) {
        match place {
            Ok(ReadPoint::Before(kernel, engine_slot)) => {
                self.before[kernel.index()].push(Route { engine_slot, ..route })
            }
            Ok(ReadPoint::After(kernel, engine_slot)) => {
                self.after[kernel.index()].push(Route { engine_slot, ..route })
            }
            Ok(ReadPoint::Constant) => self.constant.push(route),
            Err(reason) => self.absent.push((route, reason)),
        }
    }
}

/// Returns the inputs of a kernel that are values of the file and may differ from run to run.
fn changing_inputs(kernel: &Kernel) -> Vec<(usize, ValueId)> {
    let inputs = kernel.inputs.iter().enumerate().filter(|(_, input)| !input.constant);
    inputs.filter_map(|(slot, input)| Some((slot, input.value?))).collect()
}

/// Returns, for each operator with captured tensors, the first kernel at which one of them is captured.
fn first_kernels(before: &[Vec<Route>], after: &[Vec<Route>]) -> HashMap<OperatorId, usize> {
    let mut first = HashMap::new();
    for (kernel, routes) in before.iter().zip(after).enumerate() {
        for route in routes.0.iter().chain(routes.1) {
            first.entry(route.operator).or_insert(kernel);
        }
    }
    first
}

fn count_siblings<'r>(routes: impl Iterator<Item = &'r mut Route>) {
    let mut routes: Vec<&mut Route> = routes.collect();
    let mut counts: HashMap<OperatorId, usize> = HashMap::new();
    routes.iter().for_each(|route| *counts.entry(route.operator).or_default() += 1);
    routes.iter_mut().for_each(|route| route.siblings = counts[&route.operator]);
}

/// Returns whether a value is an initializer. Then the file has its bytes even if the engine keeps them in its own
/// layout.
pub(crate) fn is_weight(graph: &Graph, value: ValueId) -> bool {
    let value = graph.value(value);
    value.producer == Producer::Initializer && value.dtype.is_some_and(|dtype| dtype != DType::String)
}

const NOT_COMPUTED: &str = "the engine computes no tensor that is this value";
const NOT_SHOWN: &str = "the engine executes the operator around it as a whole";

fn no_input(graph: &Graph, value: ValueId) -> &'static str {
    match graph.value(value).producer {
        Producer::Initializer => "it is a weight without a form as bytes",
        Producer::Input if graph.inputs.contains(&value) => "the engine does not use this input of the model",
        Producer::Input | Producer::Operator(..) => NOT_COMPUTED,
    }
}

/// Returns the tensors of an operator, without the points at which to capture them.
fn tensors_of(operator: &Operator) -> impl Iterator<Item = Route> {
    let route = |io, slot, value: &Option<ValueId>| {
        Some(Route { engine_slot: 0, operator: operator.id, io, slot, value: (*value)?, siblings: 0 })
    };
    let inputs = operator.inputs.iter().enumerate().filter_map(move |(slot, value)| route(Io::Input, slot, value));
    let outputs = operator.outputs.iter().enumerate().filter_map(move |(slot, value)| route(Io::Output, slot, value));
    inputs.chain(outputs)
}

/// The point at which a value can be read.
#[derive(Clone, Copy)]
enum ReadPoint {
    Before(KernelId, usize),
    After(KernelId, usize),
    Constant,
}

/// The first read point of every value. A value that a body takes from outside is read in the body, so that it is
/// delivered in the iterations that take it.
struct Seen<'a> {
    graph: &'a Graph,
    constants: &'a HashSet<ValueId>,
    made: HashMap<ValueId, (KernelId, usize)>,
    taken: HashMap<(ValueId, BodyKey), (KernelId, usize)>,
    taken_by: HashMap<(ValueId, OperatorId), (KernelId, usize)>,
}

/// A body, identified by its first operator. `None` for the main graph.
type BodyKey = Option<OperatorId>;

impl<'a> Seen<'a> {
    fn new(graph: &'a Graph, kernels: &[Kernel], constants: &'a HashSet<ValueId>) -> Self {
        let (mut made, mut taken, mut taken_by) = (HashMap::new(), HashMap::new(), HashMap::new());
        for kernel in kernels {
            for (slot, values) in kernel.outputs.iter().enumerate() {
                for &value in values {
                    made.entry(value).or_insert((kernel.id, slot));
                }
            }
            let body = kernel.operator().and_then(|operator| body_key(graph, operator));
            for (slot, input) in kernel.inputs.iter().enumerate() {
                let Some(value) = input.value else { continue };
                taken.entry((value, body)).or_insert((kernel.id, slot));
                for attribution in &kernel.operators {
                    taken_by.entry((value, attribution.operator)).or_insert((kernel.id, slot));
                }
            }
        }
        Self { graph, constants, made, taken, taken_by }
    }

    fn place(&self, route: Route) -> Result<ReadPoint, &'static str> {
        let Route { value, operator, .. } = route;
        let weight = || is_weight(self.graph, value).then_some(ReadPoint::Constant);
        // In a body, a weight would be delivered again in each iteration.
        let inner = || self.graph.body_of(operator).and_then(|_| weight());
        match route.io {
            Io::Input => inner()
                .or_else(|| self.as_input(value, operator))
                .or_else(weight)
                .ok_or_else(|| no_input(self.graph, value)),
            Io::Output => self.as_output(value).ok_or(NOT_COMPUTED),
        }
    }

    fn as_output(&self, value: ValueId) -> Option<ReadPoint> {
        let constant = self.constants.contains(&value).then_some(ReadPoint::Constant);
        constant.or_else(|| self.made.get(&value).map(|&(kernel, slot)| ReadPoint::After(kernel, slot)))
    }

    /// Prefers the kernel of the operator itself, so that an operator's inputs come right before its outputs.
    fn as_input(&self, value: ValueId, operator: OperatorId) -> Option<ReadPoint> {
        let body = body_key(self.graph, operator);
        let own = self.taken_by.get(&(value, operator)).map(|&(kernel, slot)| ReadPoint::Before(kernel, slot));
        let any = || self.taken.get(&(value, body)).map(|&(kernel, slot)| ReadPoint::Before(kernel, slot));
        let constant = self.constants.contains(&value).then_some(ReadPoint::Constant);
        let is_from_here = match self.graph.body_of(operator) {
            Some(body) => body.values.contains(&value),
            None => true,
        };
        constant.or(own).or_else(|| self.as_output(value).filter(|_| is_from_here)).or_else(any)
    }
}

fn body_key(graph: &Graph, operator: OperatorId) -> BodyKey {
    graph.body_of(operator).map(|body| body.operators.start)
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    #[test]
    fn an_input_that_no_kernel_takes_is_missing_for_the_reason_of_its_kind() {
        let graph = GraphBuilder::new("body").input("x", &[1]).initializer("w", &[1]);
        let graph = graph.operator("choice", "If", &["x"], &["y"]).output("y");
        let graph = graph.body("choice", "then_branch").input("inner", &[1]).build();
        let reason = |name: &str| {
            let value = graph.all_values().find(|value| value.name.ends_with(name)).expect("it has that value");
            no_input(&graph, value.id)
        };
        assert_eq!(reason("w"), "it is a weight without a form as bytes");
        assert_eq!(reason("x"), "the engine does not use this input of the model");
        assert_eq!(reason("y"), "the engine computes no tensor that is this value");
        assert_eq!(reason("inner"), "the engine computes no tensor that is this value");
    }
}
