//! Where operators of a program were executed, and the places of those that have no partner.

use std::collections::BTreeMap;

use crate::StoredOrigin;

/// Where an operator of a program was executed: its module's call in a phase of a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Call {
    pub run: Option<u64>,
    pub phase: String,
    /// The path of the module; the class of the outermost one, and `script` outside of modules.
    pub module: String,
    /// The number of the call in this step, from 0.
    pub number: u32,
}

impl Call {
    /// Reads the name of an operator: `layers.1.attn@2/backward/aten.mm.default#3`. `None` if it is not of a program.
    pub fn of(place: &StoredOrigin) -> Option<Self> {
        let phase = place.phase.clone()?;
        let name = without_ordinal(place.operator.as_deref()?);
        let of_operator = place.op_type.as_deref().and_then(|op_type| name.strip_suffix(op_type)?.strip_suffix('/'));
        let name = of_operator.unwrap_or(name);
        let name = name.strip_suffix(phase.as_str()).and_then(|name| name.strip_suffix('/')).unwrap_or(name);
        let numbered = || {
            let (module, number) = name.rsplit_once('@')?;
            Some((module, number.parse().ok()?))
        };
        let (module, number) = numbered().unwrap_or((name, 0));
        Some(Self { run: place.run, phase, module: module.to_owned(), number })
    }
}

/// Returns the name of an operator without its overload, and without the underscore of an operator that writes in
/// place: `aten.relu` for `aten.relu_.default`.
pub(super) fn base(op_type: &str) -> &str {
    let mut dots = op_type.match_indices('.').map(|(at, _)| at);
    let name = match (dots.next(), dots.next()) {
        (Some(_), Some(second)) => &op_type[..second],
        _ => op_type,
    };
    name.strip_suffix('_').unwrap_or(name)
}

fn without_ordinal(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((stem, ordinal)) if ordinal.bytes().all(|byte| byte.is_ascii_digit()) => stem,
        _ => name,
    }
}

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

    fn call(operator: &str, op_type: &str, phase: &str) -> (String, u32, String) {
        let place = StoredOrigin {
            operator: Some(operator.to_owned()),
            op_type: Some(op_type.to_owned()),
            phase: Some(phase.to_owned()),
            ..StoredOrigin::default()
        };
        let Call { module, number, phase, .. } = Call::of(&place).unwrap();
        (module, number, phase)
    }

    #[test]
    fn a_name_gives_the_module_its_call_and_the_phase() {
        let of = |module: &str, number, phase: &str| (module.to_owned(), number, phase.to_owned());
        assert_eq!(
            call("layers.1.attn/aten.mm.default", "aten.mm.default", "forward"),
            of("layers.1.attn", 0, "forward")
        );
        let backward = call("layers.1@2/backward/aten.mm.default#3", "aten.mm.default", "backward");
        assert_eq!(backward, of("layers.1", 2, "backward"));
        assert_eq!(call("layers.1@2/backward", "Block", "backward"), of("layers.1", 2, "backward"));
        assert_eq!(call("layers.1", "Block", "forward"), of("layers.1", 0, "forward"));
        assert_eq!(call("script/aten.add.Tensor#1", "aten.add.Tensor", "forward"), of("script", 0, "forward"));
        assert_eq!(Call::of(&StoredOrigin::default()), None);
    }

    #[test]
    fn an_operator_in_place_has_the_name_of_the_other_form() {
        assert_eq!(base("aten.relu_.default"), "aten.relu");
        assert_eq!(base("aten.add.Tensor"), "aten.add");
        assert_eq!(base("aten._softmax.default"), "aten._softmax");
        assert_eq!(base("Linear"), "Linear");
    }

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
