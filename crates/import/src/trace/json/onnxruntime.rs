//! What the events of ONNX Runtime's profile mean.

use serde::Deserialize;
use serde_json::Value;

use super::value::ChromeEvent;
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, Track, What};

/// The most events that a profile has. The rest is lost, which only the log says.
const MOST: u64 = 1_000_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    op_name: String,
    input_type_shape: Vec<serde_json::Map<String, Value>>,
    stream: Option<Value>,
    correlation_id: Option<Value>,
}

/// Takes an event with a duration.
pub(super) fn complete(
    event: &ChromeEvent<'_>,
    (name, category): (&str, &str),
    (track, start, duration): (Track, u64, u64),
    into: &mut Assembler,
) -> Result<(), ImportError> {
    let node = name.strip_suffix("_kernel_time").filter(|_| category == "Node");
    if node.is_none() && category != "Kernel" {
        let what = if name == "model_run" { What::Range } else { What::Function };
        return into.add(&Event::new(what, name, track, start, duration));
    }
    let arguments: Arguments = event.args.and_then(|args| serde_json::from_str(args.text()).ok()).unwrap_or_default();
    let Some(node) = node else {
        let number = |value: &Option<Value>| value.as_ref().and_then(as_number).unwrap_or(0);
        let stream = into.stream(0, number(&arguments.stream));
        let correlation = number(&arguments.correlation_id);
        return into.add(&Event { correlation, ..Event::new(What::Kernel, name, stream, start, duration) });
    };
    let inputs = inputs(&arguments);
    into.add(&Event {
        op: &arguments.op_name,
        inputs: &inputs,
        ..Event::new(What::Operator, node, track, start, duration)
    })
}

fn as_number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns the inputs of a node: `float[2, 3], int64[1]`.
fn inputs(arguments: &Arguments) -> String {
    let shaped = arguments.input_type_shape.iter().flatten().filter_map(|(dtype, shape)| {
        let shape: Option<Vec<u64>> = shape.as_array()?.iter().map(Value::as_u64).collect();
        Some(format!("{dtype}{:?}", shape?))
    });
    shaped.collect::<Vec<_>>().join(", ")
}

/// Says that events are missing if the profile is full.
pub(super) fn note_cap(events: u64, into: &mut Assembler) {
    if events >= MOST {
        into.damaged(format!(
            "the profile has {events} events: ONNX Runtime writes at most {MOST} and loses those after them; profile fewer runs"
        ));
    }
}
