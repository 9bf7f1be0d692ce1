//! What a program says, as it can be shown: its model's names may hold anything, and so may what it makes up.

use opscope::onnx::shown_text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The same with every text as it can be shown in one line.
pub fn shown<T: Serialize + DeserializeOwned>(foreign: &T) -> T {
    let all = serde_json::to_value(foreign).map(|mut all| {
        show(&mut all);
        all
    });
    all.and_then(serde_json::from_value).expect("a text in the place of a text is understood as that was")
}

/// The first line of a message, as it can be shown. Those below only draw what it says.
pub fn first_line(message: &str) -> String {
    shown_text(message.lines().next().unwrap_or_default()).into_owned()
}

fn show(value: &mut Value) {
    match value {
        Value::String(text) => *text = shown_text(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(show),
        Value::Object(fields) => fields.values_mut().for_each(show),
        _ => {}
    }
}
