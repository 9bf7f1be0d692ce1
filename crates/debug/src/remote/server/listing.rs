use std::fmt::Write;

use opscope_onnx::{Graph, OperatorId, ValueId};
use opscope_text::shown_text;

/// The limits of a line: slots, attributes, characters of a name, and of an attribute's value.
const MOST_SLOTS: usize = 64;
const MOST_ATTRIBUTES: usize = 64;
const MOST_NAME: usize = 1000;
const MOST_CHARACTERS: usize = 120;

/// Returns an operator as a line of text: `name: out, ... = OpType(in, ...) attribute=value ...`. It is the same whenever the same
/// file is loaded. An omitted slot is `_`; a character that would end the line or is invisible is written as `\u{..}`.
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

/// Returns text of the file, printable in one line.
fn push(line: &mut String, text: &str, most: usize) {
    let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
    line.push_str(&shown_text(&text[..end]));
    if end < text.len() {
        line.push_str("...");
    }
}
