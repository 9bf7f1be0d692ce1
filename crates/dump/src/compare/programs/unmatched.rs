use std::collections::BTreeMap;

use super::place::{Call, base};
use crate::StoredOrigin;

/// How many modules, and operators of each, are named.
const MODULES: usize = 4;
const OPERATORS: usize = 3;

/// Names the operators of tensors that have no partner, by modules: `layers.0.attn (2 aten.bmm, aten._softmax)`.
/// `None` if they are not of a program.
pub fn by_module(places: &[StoredOrigin]) -> Option<String> {
    let mut order: Vec<String> = Vec::new();
    let mut modules: BTreeMap<String, Vec<(String, usize)>> = BTreeMap::new();
    for place in places {
        let Call { module, phase, .. } = Call::of(place)?;
        let module = if phase == "forward" { module } else { format!("{module}/{phase}") };
        let op_type = base(place.op_type.as_deref().unwrap_or("?")).to_owned();
        let operators = modules.entry(module.clone()).or_insert_with(|| {
            order.push(module);
            Vec::new()
        });
        match operators.iter_mut().find(|(known, _)| *known == op_type) {
            Some((_, count)) => *count += 1,
            None => operators.push((op_type, 1)),
        }
    }
    let text = |module: &String| {
        let operators = &modules[module];
        let named: Vec<String> = operators.iter().take(OPERATORS).map(|(name, count)| numbered(name, *count)).collect();
        format!("{module} ({}{})", named.join(", "), more(operators.len(), OPERATORS))
    };
    let named: Vec<String> = order.iter().take(MODULES).map(text).collect();
    Some(named.join(", ") + &more(order.len(), MODULES))
}

fn numbered(name: &str, count: usize) -> String {
    if count == 1 { name.to_owned() } else { format!("{count} {name}") }
}

fn more(all: usize, shown: usize) -> String {
    if all > shown { format!(" and {} more", all - shown) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_counted_by_modules_in_their_order() {
        let place = |module: &str, op_type: &str| StoredOrigin {
            operator: Some(format!("{module}/{op_type}")),
            op_type: Some(op_type.to_owned()),
            phase: Some("forward".to_owned()),
            ..StoredOrigin::default()
        };
        let places = [place("b", "aten.mm.default"), place("a", "aten.add.Tensor"), place("b", "aten.mm.default")];
        assert_eq!(by_module(&places).as_deref(), Some("b (2 aten.mm), a (aten.add)"));
        let many: Vec<StoredOrigin> = (0..6).map(|number| place(&format!("m{number}"), "aten.mm.default")).collect();
        assert!(by_module(&many).unwrap().ends_with("m3 (aten.mm) and 2 more"));
        assert_eq!(by_module(&[StoredOrigin::default()]), None);
    }
}
