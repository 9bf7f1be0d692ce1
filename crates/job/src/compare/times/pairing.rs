use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::comparison::{Change, OperatorChange, Presence, TypeChange};
use super::measurement::{Executed, Times};

/// How many times slower the machine was during B: the least and the most.
type Slowdown = Option<(f64, f64)>;

/// What both sides executed for the same operators.
#[derive(Default)]
struct Pair<'t> {
    a: Vec<&'t Executed>,
    b: Vec<&'t Executed>,
}

/// Returns the changes of operators. Kernels that have an operator in common, on either side, belong together: A may execute
/// two operators in two kernels, and B in one.
pub(super) fn operators(a: &Times, b: &Times, slowdown: Slowdown) -> Vec<OperatorChange> {
    let mut groups = Groups::default();
    for executed in a.operators.iter().chain(&b.operators) {
        let mut names = executed.names();
        if let Some(first) = names.next() {
            names.for_each(|name| groups.join(first, name));
        }
    }
    let mut pairs: BTreeMap<(bool, String), Pair<'_>> = BTreeMap::new();
    for (is_b, times) in [(false, a), (true, b)] {
        for executed in &times.operators {
            let key = match executed.added {
                true => executed.operator.clone(),
                false => groups.of(&executed.operator).to_owned(),
            };
            let pair = pairs.entry((executed.added, key)).or_default();
            if is_b { pair.b.push(executed) } else { pair.a.push(executed) }
        }
    }
    pairs.into_values().filter_map(|pair| pair.operator_change(a, b, slowdown)).collect()
}

/// Returns the changes of types.
pub(super) fn types(a: &Times, b: &Times, slowdown: Slowdown) -> Vec<TypeChange> {
    let types: BTreeSet<(bool, &str)> =
        a.operators.iter().chain(&b.operators).map(|one| (one.added, one.op_type.as_str())).collect();
    let change = |(added, op_type): (bool, &str)| {
        let [a, b] = [a, b].map(|side| side.estimate_of_type(op_type, added));
        Some(TypeChange { op_type: op_type.to_owned(), added, change: Change::between(a, b, slowdown)? })
    };
    types.into_iter().filter_map(change).collect()
}

impl Pair<'_> {
    fn change(&self, a: &Times, b: &Times, slowdown: Slowdown) -> Option<Change> {
        Change::between(a.estimate_of(&self.a), b.estimate_of(&self.b), slowdown)
    }

    fn operator_change(&self, a: &Times, b: &Times, slowdown: Slowdown) -> Option<OperatorChange> {
        let change = self.change(a, b, slowdown)?;
        let cost = |side: &Times, executed: &&Executed| side.estimate_of(&[executed]).map_or(0.0, |time| time.median);
        let costs = self.a.iter().map(|one| (cost(a, one), one)).chain(self.b.iter().map(|one| (cost(b, one), one)));
        let dearest = costs.max_by(|x, y| x.0.total_cmp(&y.0).then_with(|| y.1.operator.cmp(&x.1.operator)))?.1;
        let kernels = |side: &[&Executed]| -> BTreeSet<BTreeSet<String>> {
            side.iter().flat_map(|executed| executed.kernels.iter().cloned()).collect()
        };
        let (a_kernels, b_kernels) = (kernels(&self.a), kernels(&self.b));
        let names = a_kernels.iter().chain(&b_kernels).flatten().cloned().collect::<BTreeSet<String>>();
        let others = names.into_iter().filter(|name| *name != dearest.operator);
        let presence = match (change.a_ns, change.b_ns) {
            (None, _) => Presence::New,
            (_, None) => Presence::Gone,
            _ if a_kernels != b_kernels => Presence::FusedOtherwise,
            _ => Presence::Both,
        };
        let lists = |kernels: BTreeSet<BTreeSet<String>>| {
            kernels.into_iter().map(|kernel| kernel.into_iter().collect()).collect()
        };
        Some(OperatorChange {
            operators: [dearest.operator.clone()].into_iter().chain(others).collect(),
            op_type: dearest.op_type.clone(),
            added: dearest.added,
            presence,
            a_kernels: lists(a_kernels),
            b_kernels: lists(b_kernels),
            change,
        })
    }
}

/// Names that belong together, as a forest: each name refers to another one of its group, or is the group's own name.
#[derive(Default)]
struct Groups<'t> {
    parents: HashMap<&'t str, &'t str>,
}

impl<'t> Groups<'t> {
    fn of<'n>(&self, name: &'n str) -> &'n str
    where
        't: 'n,
    {
        let mut name = name;
        while let Some(&parent) = self.parents.get(name) {
            name = parent;
        }
        name
    }

    fn join(&mut self, one: &'t str, other: &'t str) {
        let (one, other) = (self.of(one), self.of(other));
        if one != other {
            // The first name in the alphabet stands for the group, whatever the order.
            let (least, most) = if one < other { (one, other) } else { (other, one) };
            self.parents.insert(most, least);
        }
    }
}
