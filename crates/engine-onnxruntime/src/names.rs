//! Names that lead back to operators and values.
//!
//! ONNX Runtime derives names from those of nodes and of their values: `opscope:17/LayerNormFusion/`,
//! `opscope:v21_nchwc`. Names in a file may be empty, occur twice or contain anything, so each node and each value gets
//! a name that can be recognised inside whatever the library derives from it.

use opscope_onnx::{Graph, OperatorId, Producer, ValueId};

const MARK: &str = "opscope:";

/// The operator set of taps.
pub(crate) const DOMAIN: &str = "opscope";
/// The operator type of taps for any number of values.
pub(crate) const TAP: &str = "Tap";
/// The operator type of taps for any number of values whose types the model declares.
pub(crate) const TAP_OF_DECLARED: &str = "TapOfDeclared";
/// The operator type of taps for a single value.
pub(crate) const TAP_OF_ONE: &str = "TapOfOne";
/// The attribute with a tap's number.
pub(crate) const NUMBER: &str = "tap";

/// Returns the name under which the library sees an operator.
pub(crate) fn of_operator(operator: OperatorId) -> String {
    format!("{MARK}{}", operator.index())
}

/// Returns the name under which the library sees a value.
pub(crate) fn of_value(value: ValueId) -> String {
    format!("{MARK}v{}", value.index())
}

/// Returns the name of a value between the operator that computes it and the tap behind that operator.
pub(crate) fn of_raw_value(value: ValueId) -> String {
    format!("{MARK}raw:{}", value.index())
}

/// Returns the name of the tap with this number.
pub(crate) fn of_tap(number: usize) -> String {
    format!("{DOMAIN}.tap:{number}")
}

/// Returns the name of an operator's input between the tap in front of it and the operator.
pub(crate) fn of_tapped_input(operator: OperatorId, index: usize) -> String {
    format!("{MARK}in:{}:{index}", operator.index())
}

/// Returns the name under which the library sees a weight: its own, unless that looks like one of these names.
pub(crate) fn of_weight(name: &str) -> String {
    if name.contains(MARK) { name.replace(':', "_") } else { name.to_owned() }
}

/// Returns the library's names of a model's inputs and outputs.
pub(crate) fn of_ends(graph: &Graph) -> (Vec<String>, Vec<String>) {
    let name = |&value: &ValueId| match graph.value(value).producer {
        // A weight keeps its name from the file.
        Producer::Initializer => of_weight(&graph.value(value).name),
        _ => of_value(value),
    };
    (graph.inputs.iter().map(name).collect(), graph.outputs.iter().map(name).collect())
}

/// Returns the operator that one of the library's names leads back to.
pub(crate) fn operator(name: &str) -> Option<OperatorId> {
    number(name, MARK).map(OperatorId::new)
}

/// Returns the value that one of the library's names leads back to.
pub(crate) fn value(name: &str) -> Option<ValueId> {
    number(name, "opscope:v").map(ValueId::new)
}

fn number(name: &str, mark: &str) -> Option<u32> {
    let digits = &name[name.find(mark)? + mark.len()..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// Returns one of the library's texts with the file's names in it.
pub(crate) fn restore(text: &str, graph: &Graph) -> String {
    let mut restored = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(MARK) {
        restored.push_str(&rest[..start]);
        rest = &rest[start..];
        let kind = ["v", "raw:", "in:", ""].into_iter().find(|kind| rest[MARK.len()..].starts_with(kind)).unwrap_or("");
        let begin = MARK.len() + kind.len();
        let end = rest[begin..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| begin + end);
        let number: Option<u32> = rest[begin..end].parse().ok();
        let name = match (kind, number) {
            ("" | "in:", Some(number)) => known(graph, OperatorId::new(number)).map(|id| &graph.operator(id).name),
            (_, Some(number)) => known_value(graph, ValueId::new(number)).map(|id| &graph.value(id).name),
            (_, None) => None,
        };
        restored.push_str(name.map_or(&rest[..end], String::as_str));
        rest = &rest[end..];
    }
    restored + rest
}

fn known(graph: &Graph, id: OperatorId) -> Option<OperatorId> {
    (id.index() < graph.operators.len() + graph.inner_operators.len()).then_some(id)
}

fn known_value(graph: &Graph, id: ValueId) -> Option<ValueId> {
    (id.index() < graph.values.len() + graph.inner_values.len()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_recognised_in_whatever_the_library_makes_of_it() {
        for name in ["opscope:17", "opscope:17/LayerNormFusion/", "_inlfunc_opscope:17_n3"] {
            assert_eq!(operator(name), Some(OperatorId::new(17)), "{name}");
        }
        for name in ["opscope:v21", "opscope:v21_nchwc", "r_opscope:v21"] {
            assert_eq!(value(name), Some(ValueId::new(21)), "{name}");
            assert_eq!(operator(name), None, "{name}");
        }
        assert_eq!(operator("conv"), None);
        assert_eq!(value("reorder_token_5"), None);
    }
}
