//! Attribution: which operators of the file a kernel stands for.
//!
//! At exact fidelity a kernel's name says which operator it stands for. An optimiser names a fused kernel after any of
//! the operators that were fused, so names alone would credit the wrong ones. But it is known which values of the file
//! each kernel computes (see [`provenance`](crate::optimise::provenance)). So a kernel stands for the operators between
//! these values and the values that other kernels compute. If several kernels are between the same values, their names
//! and kinds decide, and the attribution is marked as inferred.

use std::collections::{BTreeSet, HashMap};

use opscope_model::{
    Attribution, Fidelity, KernelId, changes_layout, is_matrix_operator, nearest_before, place_the_rest,
};
use opscope_onnx::{Graph, OperatorId, Producer, ValueId};

/// One step of the engine, as far as attribution needs it.
pub(crate) struct Step {
    /// The name of the engine's operator.
    pub op: String,
    /// The operator that its name leads back to.
    pub named: Option<OperatorId>,
    /// The steps whose outputs it takes as inputs.
    pub feeds_from: Vec<KernelId>,
    /// The values of the file that its outputs carry.
    pub made: Vec<ValueId>,
    /// Whether it only presents its input in another shape or order.
    pub only_layout: bool,
}

/// The attribution of the steps of a plan.
#[derive(Default)]
pub(crate) struct Attributed {
    /// For each step, the operators that it stands for. Its time counts for the first of them.
    pub operators: Vec<Vec<Attribution>>,
    /// For each step, the values that its first output holds, possibly in another shape.
    pub made: Vec<Vec<ValueId>>,
}

/// Finds the operators that every step stands for.
pub(crate) fn attribute(graph: &Graph, steps: &[Step], fidelity: Fidelity) -> Attributed {
    if steps.is_empty() {
        return Attributed::default();
    }
    if fidelity == Fidelity::Exact {
        let made = steps.iter().map(|step| step.made.clone()).collect();
        return Attributed { operators: by_name(graph, steps), made };
    }
    let regions = Regions::of(graph, steps);
    let mut groups = regions.groups();
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.only_layout) {
        // The output of such a step is that of the step before it.
        let before = step.feeds_from.first().map(|from| from.index());
        if let Some(from) = before.filter(|from| regions.made[*from] == regions.made[index]) {
            groups[index] = groups[from].clone();
        }
    }
    // Operators that depend on no input were computed at load and take no time.
    let depends = graph.depends_on_input();
    place_the_rest(graph, &mut groups, |operator| {
        operator.outputs.iter().flatten().any(|output| depends[output.index()])
    });
    Attributed { operators: groups, made: regions.made }
}

fn by_name(graph: &Graph, steps: &[Step]) -> Vec<Vec<Attribution>> {
    let mut groups: Vec<Vec<Attribution>> = Vec::with_capacity(steps.len());
    for step in steps {
        let inherited =
            || step.feeds_from.first().and_then(|step| groups.get(step.index())).map(|group| group[0].operator);
        let group = match step.named {
            Some(operator) => Attribution { operator, exact: true },
            None => Attribution { operator: inherited().unwrap_or(graph.operators[0].id), exact: false },
        };
        groups.push(vec![group]);
    }
    groups
}

fn is_matrix_kernel(op: &str) -> bool {
    (op.contains("MatMul") || op.contains("EinSum")) && !prepares_operand(op)
}

/// Returns whether a step only brings an operand into the layout that another kernel reads.
fn prepares_operand(op: &str) -> bool {
    op.contains("Pack") || op.contains("Im2col") || op == "Pad"
}

/// The steps of a plan, and the operators between the values that they compute.
struct Regions<'a> {
    graph: &'a Graph,
    steps: &'a [Step],
    /// For each step, the values that it computes, possibly in another shape.
    made: Vec<Vec<ValueId>>,
    /// For each step, the operators between its values and those of other steps; empty for a step that computes no
    /// value.
    operators: Vec<BTreeSet<OperatorId>>,
    /// For each step, the operators that only pass its values on unchanged.
    idle: Vec<BTreeSet<OperatorId>>,
    /// For each step that computes no value, the next steps after it that do.
    leads_to: Vec<BTreeSet<usize>>,
}

impl<'a> Regions<'a> {
    fn of(graph: &'a Graph, steps: &'a [Step]) -> Self {
        let mut made: Vec<Vec<ValueId>> = steps.iter().map(|step| step.made.clone()).collect();
        for (index, step) in steps.iter().enumerate().rev().filter(|(_, step)| step.only_layout) {
            if let Some(from) = step.feeds_from.first().map(|from| from.index()).filter(|from| made[*from].is_empty()) {
                made[from] = made[index].clone();
            }
        }
        let mut maker: HashMap<ValueId, usize> = HashMap::new();
        for (index, made) in made.iter().enumerate() {
            for &value in made {
                maker.entry(value).or_insert(index);
            }
        }
        let depends = graph.depends_on_input();
        let region = |(index, made): (usize, &Vec<ValueId>)| {
            let mut found = BTreeSet::new();
            let mut values = made.clone();
            while let Some(value) = values.pop() {
                let Producer::Operator(id, _) = graph.value(value).producer else { continue };
                if found.insert(id) {
                    let operator = graph.operator(id);
                    let taken = operator.inputs.iter().flatten().chain(&operator.captures).copied();
                    values.extend(taken.filter(|value| {
                        depends[value.index()] && maker.get(value).is_none_or(|maker| *maker == index)
                    }));
                }
            }
            found
        };
        let passes_on = |made: &[ValueId], id: OperatorId| {
            let operator = graph.operator(id);
            let mut taken = operator.inputs.iter().flatten().chain(&operator.captures);
            operator.outputs.iter().flatten().all(|value| made.contains(value))
                && taken.all(|value| made.contains(value) || !depends[value.index()])
        };
        let mut operators: Vec<BTreeSet<OperatorId>> = made.iter().enumerate().map(region).collect();
        let idle = operators.iter_mut().zip(&made).map(|(operators, made)| {
            let (idle, rest): (BTreeSet<_>, BTreeSet<_>) = operators.iter().partition(|id| passes_on(made, **id));
            if rest.is_empty() {
                return rest;
            }
            *operators = rest;
            idle
        });
        let idle = idle.collect();
        let mut leads_to = vec![BTreeSet::new(); steps.len()];
        for index in (0..steps.len()).rev() {
            let goal = if made[index].is_empty() { leads_to[index].clone() } else { BTreeSet::from([index]) };
            for from in steps[index].feeds_from.iter().map(|from| from.index()) {
                if made[from].is_empty() {
                    leads_to[from].extend(goal.iter().copied());
                }
            }
        }
        Self { graph, steps, made, operators, idle, leads_to }
    }

    /// Returns the operators that a step can stand for.
    fn candidates(&self, step: usize) -> BTreeSet<OperatorId> {
        match self.made[step].is_empty() {
            true => self.leads_to[step].iter().flat_map(|goal| self.operators[*goal].iter().copied()).collect(),
            false => self.operators[step].clone(),
        }
    }

    /// Returns whether a step computes nothing.
    fn prepares(&self, step: usize) -> bool {
        self.steps[step].only_layout || prepares_operand(&self.steps[step].op)
    }

    /// Returns the operator that a step's name leads back to, if the values agree.
    fn named(&self, step: usize) -> Option<OperatorId> {
        self.steps[step].named.filter(|named| self.candidates(step).contains(named))
    }

    fn groups(&self) -> Vec<Vec<Attribution>> {
        let is_inner = |step: &usize| self.made[*step].is_empty();
        // For each region, the operators that are attributed to inner steps which compute something.
        let mut taken: Vec<BTreeSet<OperatorId>> = vec![BTreeSet::new(); self.steps.len()];
        let mut is_shared = vec![false; self.steps.len()];
        for inner in (0..self.steps.len()).filter(is_inner) {
            if self.prepares(inner) {
                continue;
            }
            for &goal in &self.leads_to[inner] {
                is_shared[goal] = true;
                taken[goal].extend(self.counts_for(inner));
            }
        }
        let group = |step: usize| match is_inner(&step) {
            true => self.inner_group(step),
            false => self.outer_group(step, &taken[step], is_shared[step]),
        };
        (0..self.steps.len()).map(group).collect()
    }

    /// Returns the operator that a step's time counts for: the matrix operator for a matrix kernel and for the steps
    /// that prepare its operands, else the operator in its name.
    fn counts_for(&self, step: usize) -> Option<OperatorId> {
        let candidates = self.candidates(step);
        let named = self.named(step);
        let matrix = || {
            let wanted = |id: OperatorId| candidates.contains(&id) && is_matrix_operator(self.graph.operator(id));
            let start = named.or(candidates.last().copied())?;
            if wanted(start) { Some(start) } else { nearest_before(self.graph, start, wanted) }
        };
        let op = &self.steps[step].op;
        let matrix = if is_matrix_kernel(op) { matrix() } else { None };
        matrix.or(named).or(candidates.last().copied())
    }

    /// Returns what a step stands for if its output is not a value of the file.
    fn inner_group(&self, step: usize) -> Vec<Attribution> {
        let candidates = self.candidates(step);
        let Some(operator) = self.counts_for(step) else {
            let operator = self.steps[step].named.unwrap_or(self.graph.operators[0].id);
            return vec![Attribution { operator, exact: false }];
        };
        let only_matrix = candidates.iter().filter(|id| is_matrix_operator(self.graph.operator(**id))).eq([&operator]);
        // A step of another shape may be the file's own Flatten before the matrix operator, or an addition of the
        // engine.
        let may_be_another =
            self.steps[step].only_layout && candidates.iter().any(|id| changes_layout(self.graph.operator(*id)));
        let exact = candidates.len() == 1 || (only_matrix && self.prepares(step) && !may_be_another);
        vec![Attribution { operator, exact }]
    }

    /// Returns what a step that computes a value of the file stands for, without the operators `taken` by inner steps.
    fn outer_group(&self, step: usize, taken: &BTreeSet<OperatorId>, is_shared: bool) -> Vec<Attribution> {
        let all = &self.operators[step];
        let Some(first) = self.counts_for(step) else {
            let operator = self.steps[step].named.unwrap_or(self.graph.operators[0].id);
            return vec![Attribution { operator, exact: false }];
        };
        let first = if taken.contains(&first) {
            all.iter().rev().find(|id| !taken.contains(id)).copied().unwrap_or(first)
        } else {
            first
        };
        let rest = all.iter().rev().filter(|id| **id != first && !taken.contains(id)).copied();
        let exact = !is_shared || all.len() == 1;
        let computed = std::iter::once(first).chain(rest).map(|operator| Attribution { operator, exact });
        let idle = self.idle[step].iter().map(|&operator| Attribution { operator, exact: true });
        computed.chain(idle).collect()
    }
}
