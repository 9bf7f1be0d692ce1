//! Names that lead back to operators.
//!
//! tract names its nodes after those of the file, and appends to these names for the nodes that it derives:
//! `conv1.pad`, `conv1#1`. Names in a file may be empty, occur twice or contain any of these characters, so each node
//! gets a name that can be recognised inside whatever tract derives from it.

use opscope_onnx::{Graph, OperatorId};

const MARK: &str = "opscope:";

/// Returns the name under which tract sees an operator.
pub(crate) fn encode(operator: OperatorId) -> String {
    format!("{MARK}{}", operator.index())
}

/// Returns a name for an output that the file omits.
pub(crate) fn unused(number: usize) -> String {
    format!("{MARK}unused:{number}")
}

/// Returns the operator that one of tract's names leads back to.
pub(crate) fn decode(name: &str) -> Option<OperatorId> {
    let digits = &name[name.find(MARK)? + MARK.len()..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().map(OperatorId::new)
}

/// Returns the node of the file for one of tract's nodes: the operator, or `operator/inner` for a node inside it.
pub(crate) fn node_of_file(name: &str, graph: &Graph) -> String {
    let restored = restore(name, graph);
    match decode(name).and_then(|id| graph.operators.get(id.index())) {
        Some(operator) => match restored.strip_prefix(&operator.name) {
            Some(inner) if inner.starts_with('/') => restored,
            _ => operator.name.clone(),
        },
        None => restored,
    }
}

/// Returns one of tract's texts with the file's names in it.
pub(crate) fn restore(text: &str, graph: &Graph) -> String {
    let mut restored = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(MARK) {
        restored.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest[MARK.len()..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + MARK.len());
        match decode(&rest[..end]).and_then(|id| graph.operators.get(id.index())) {
            Some(operator) => restored.push_str(&operator.name),
            None => restored.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    restored + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_recognised_in_whatever_the_engine_makes_of_it() {
        let id = OperatorId::new(17);
        for name in ["opscope:17", "opscope:17.pad", "opscope:17#1", "opscope:17-x.2", "a.opscope:17.b"] {
            assert_eq!(decode(name), Some(id), "{name}");
        }
        assert_eq!(decode("conv"), None);
        assert_eq!(decode("opscope:"), None);
        assert_eq!(decode(&unused(17)), None);
    }
}
