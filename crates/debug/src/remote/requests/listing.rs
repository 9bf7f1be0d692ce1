use std::fmt::Write;

use opscope_onnx::{Graph, OperatorId, ValueId};
use opscope_text::shown_text;

/// The limits of a line: slots, attributes, and characters of a name and of an attribute's value.
const MOST_SLOTS: usize = 64;
const MOST_ATTRIBUTES: usize = 64;
const MOST_NAME: usize = 1000;
const MOST_CHARACTERS: usize = 120;

/// Returns an operator as a line of text: `name: out, ... = OpType(in, ...) attribute=value ...`. It is the same each
/// time the same file is loaded. An omitted slot is `_`; a character that would end the line or is invisible is written
/// as `\u{..}`.
pub(super) fn line(graph: &Graph, id: OperatorId) -> String {
    let operator = graph.operator(id);
    let mut line = String::new();
    push(&mut line, &operator.name, MOST_NAME);
    line.push_str(": ");
    slots(&mut line, graph, &operator.outputs);
    line.push_str(" = ");
    if !operator.domain.is_empty() {
        push(&mut line, &operator.domain, MOST_NAME);
        line.push('.');
    }
    push(&mut line, &operator.op_type, MOST_NAME);
    line.push('(');
    slots(&mut line, graph, &operator.inputs);
    line.push(')');
    for (name, value) in operator.attributes.iter().take(MOST_ATTRIBUTES) {
        line.push(' ');
        push(&mut line, name, MOST_CHARACTERS);
        line.push('=');
        push(&mut line, &value.to_string(), MOST_CHARACTERS);
    }
    more(&mut line, " ", operator.attributes.len(), MOST_ATTRIBUTES);
    line
}

fn slots(line: &mut String, graph: &Graph, slots: &[Option<ValueId>]) {
    for (index, slot) in slots.iter().take(MOST_SLOTS).enumerate() {
        if index > 0 {
            line.push_str(", ");
        }
        match slot {
            Some(id) => push(line, &graph.value(*id).name, MOST_NAME),
            None => line.push('_'),
        }
    }
    more(line, ", ", slots.len(), MOST_SLOTS);
}

fn more(line: &mut String, before: &str, all: usize, most: usize) {
    if all > most {
        let _ = write!(line, "{before}... {} more", all - most);
    }
}

/// Adds a text of the file to a line, at most `most` characters of it, in a printable form.
fn push(line: &mut String, text: &str, most: usize) {
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    line.push_str(&shown_text(&text[..end]));
    if end < text.len() {
        line.push_str("...");
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use opscope_onnx::Attribute;

    use super::*;

    #[test]
    fn a_line_has_the_outputs_the_type_the_inputs_and_the_attributes() {
        let graph = GraphBuilder::new("listed").input("x", &[2]).input("y", &[2]);
        let graph =
            graph.operator("first", "Add", &["x", "", "y"], &["a", "b"]).operator("last", "Neg", &["a"], &["c"]);
        let graph = graph.attribute("axis", &Attribute::Int(-1)).attribute("mode", &Attribute::String("l\nr".into()));
        let mut graph = graph.build();
        graph.operators[0].outputs[1] = None;
        graph.operators[1].domain = "com.example".to_owned();
        let lines = [0, 1].map(|index| line(&graph, OperatorId::new(index)));
        assert_eq!(lines[0], "first: a, _ = Add(x, _, y) axis=-1 mode=\"l\\nr\"");
        assert_eq!(lines[1], "last: c = com.example.Neg(a) axis=-1 mode=\"l\\nr\"");
    }

    #[test]
    fn what_is_too_much_for_a_line_is_counted() {
        for (count, left_out) in [(64, 0), (65, 1), (70, 6)] {
            let names: Vec<String> = (0..count).map(|number| format!("v{number}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut graph = GraphBuilder::new("wide").input("x", &[1]).operator("wide", "Split", &["x"], &names);
            for number in 0..count {
                graph = graph.attribute(&format!("a{number:02}"), &Attribute::Int(number));
            }
            let line = line(&graph.build(), OperatorId::new(0));
            let more = |before: &str| if left_out > 0 { format!("{before}... {left_out} more") } else { String::new() };
            assert!(line.contains(&format!(", v63{} = Split(x)", more(", "))), "{line}");
            assert!(line.ends_with(&format!(" a63=63{}", more(" "))), "{line}");
        }
    }

    #[test]
    fn a_long_name_or_value_is_cut() {
        let cut = |length: usize, most: usize| {
            let mut line = String::new();
            push(&mut line, &"ä".repeat(length), most);
            line
        };
        assert_eq!((cut(3, 3), cut(4, 3)), ("äää".to_owned(), "äää...".to_owned()));
        let long = "n".repeat(1001);
        let graph = GraphBuilder::new("long").input("x", &[1]).operator(&long, "Neg", &["x"], &["y"]);
        let line = line(&graph.attribute("text", &Attribute::Floats(vec![0.5; 100])).build(), OperatorId::new(0));
        assert!(line.starts_with(&format!("{}...: y = Neg(x) text=[0.5, ", "n".repeat(1000))), "{line}");
        let (_, value) = line.split_once("text=").expect("it is there");
        assert_eq!(value.chars().count(), 120 + 3);
    }
}
