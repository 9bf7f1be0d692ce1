//! Makes data from a program printable. The names of its model may contain any characters.

use opscope::text::shown_text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the same data with every text in a form that can be printed in one line.
pub fn printable<T: Serialize + DeserializeOwned>(foreign: &T) -> T {
    let all = serde_json::to_value(foreign).map(|mut all| {
        make_printable(&mut all);
        all
    });
    all.and_then(serde_json::from_value).expect("a text is parsed like the text in its place")
}

/// Returns the first line of a message, printable. The lines below only show the place that it names.
pub fn first_line(message: &str) -> String {
    shown_text(message.lines().next().unwrap_or_default()).into_owned()
}

fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown_text(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(make_printable),
        Value::Object(fields) => fields.values_mut().for_each(make_printable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
