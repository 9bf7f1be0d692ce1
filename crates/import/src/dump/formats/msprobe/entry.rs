use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use opscope_dump::Io;
use opscope_onnx::SourceLine;
use opscope_tensor::{DType, Digest, Statistics};
use serde_json::{Map, Value};

use super::name::{Kind, Name};
use crate::dump::files::types::type_named;
use crate::dump::formats::one_file;
use crate::dump::found::{Content, Found, Place, Unreadable};

/// Reads the entries of a `dump.json`.
pub(super) struct Reader<'f> {
    /// The step.
    pub run: u64,
    /// Where the files of tensors are.
    pub directory: PathBuf,
    /// The module around each function.
    pub modules: HashMap<String, String>,
    /// The line that called each function.
    pub lines: HashMap<String, SourceLine>,
    /// What was found.
    pub found: &'f mut Vec<Found>,
}

impl Reader<'_> {
    /// Takes the entry of a module or a function.
    pub fn entry(&mut self, text: &str, entry: &Value) {
        let Some(entry) = entry.as_object() else { return };
        let name = Name::parse(text);
        let around = || {
            let around = Name::parse(self.modules.get(text)?);
            Some((around.module?, around.op_type))
        };
        let module = name.module.clone().map(|path| (path, name.op_type.clone())).or_else(around);
        let suffix = if name.kind == Kind::Forward { "" } else { "/backward" };
        let place = Place {
            name: format!("{}{suffix}", name.name),
            op_type: name.op_type.clone(),
            module,
            phase: Some(name.kind.phase()),
            source: self.lines.get(text).cloned(),
        };
        if name.kind == Kind::ParametersGrad {
            for (parameter, value) in entry {
                self.parameter(&place, &name, parameter, value);
            }
            return;
        }
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (key, value) in entry {
            match key.as_str() {
                "input_args" | "input_kwargs" | "input" => tensors(value, &mut inputs),
                "output" => tensors(value, &mut outputs),
                "parameters" => {
                    for (parameter, value) in value.as_object().into_iter().flatten() {
                        self.parameter(&place, &name, parameter, value);
                    }
                }
                _ => {}
            }
        }
        for (io, tensors) in [(Io::Input, inputs), (Io::Output, outputs)] {
            for (slot, tensor) in tensors.into_iter().enumerate() {
                let value = match (io, slot) {
                    (Io::Input, _) => format!("{}:input{slot}", place.name),
                    (Io::Output, 0) => place.name.clone(),
                    (Io::Output, _) => format!("{}:{slot}", place.name),
                };
                let content = self.content(tensor);
                self.found.push(Found { run: Some(self.run), place: place.clone(), io, slot, value, content });
            }
        }
    }

    /// Takes a parameter of a module, or its gradient.
    fn parameter(&mut self, place: &Place, module: &Name, parameter: &str, value: &Value) {
        let (suffix, op_type) = match module.kind {
            Kind::ParametersGrad => (".grad", "ParameterGrad"),
            _ => ("", "Parameter"),
        };
        let mut found = Vec::new();
        tensors(value, &mut found);
        for (slot, tensor) in found.into_iter().enumerate() {
            let name = format!("{}.{parameter}{suffix}", module.name);
            let value = if slot == 0 { name.clone() } else { format!("{name}:{slot}") };
            let place = Place { name, op_type: op_type.to_owned(), ..place.clone() };
            let content = self.content(tensor);
            self.found.push(Found { run: Some(self.run), place, io: Io::Output, slot, value, content });
        }
    }

    fn content(&self, tensor: &Map<String, Value>) -> Content {
        match tensor.get("data_name").and_then(Value::as_str) {
            Some(name) => self.elements(name).unwrap_or_else(|why| Content::Missing(why.0)),
            None => statistics(tensor).unwrap_or_else(|why| Content::Missing(why.0)),
        }
    }

    /// Returns the elements in a file beside the `dump.json`.
    fn elements(&self, name: &str) -> Result<Content, Unreadable> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Err(Unreadable::from(format!("'{}' is no name of a file beside it", name.escape_default())));
        }
        let path = self.directory.join(name);
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        if is_link {
            return Err(Unreadable::from(format!("'{}' is a link", name.escape_default())));
        }
        let named = one_file::tensors(&path).map_err(|reason| format!("'{}': {reason}", name.escape_default()))?;
        let first = named.into_iter().next().ok_or_else(|| format!("'{}' has no tensor", name.escape_default()))?;
        first.tensor.map(|(dtype, shape, data)| Content::Elements(dtype, shape, data))
    }
}

/// Collects the descriptions of tensors in arguments, which may lie in lists and dictionaries.
fn tensors<'v>(value: &'v Value, found: &mut Vec<&'v Map<String, Value>>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| tensors(item, found)),
        Value::Object(object) if is_tensor(object) => found.push(object),
        Value::Object(object) => object.values().for_each(|value| tensors(value, found)),
        _ => {}
    }
}

fn is_tensor(object: &Map<String, Value>) -> bool {
    let has_type =
        object.get("type").is_some_and(Value::is_string) && object.get("dtype").is_some_and(Value::is_string);
    has_type && object.get("shape").is_some_and(Value::is_array)
}

/// Returns the statistics of a tensor. Counts of NaN and infinity are not in the file: where an extreme is one, there is
/// at least one, and then the finite extreme is not known.
fn statistics(tensor: &Map<String, Value>) -> Result<Content, Unreadable> {
    let name = tensor.get("dtype").and_then(Value::as_str).unwrap_or_default();
    let name = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase();
    let dtype = type_named(&name)
        .or_else(|| DType::all().find(|dtype| dtype.name() == name))
        .ok_or_else(|| format!("opscope has no type for the elements of '{}'", name.escape_default()))?;
    let dims = tensor.get("shape").and_then(Value::as_array).into_iter().flatten();
    let shape: Option<Vec<usize>> = dims.map(|dim| usize::try_from(dim.as_u64()?).ok()).collect();
    let count = shape.as_ref().and_then(|shape| shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim)));
    let (Some(shape), Some(count)) = (shape, count) else { return Err(Unreadable::from("its shape is none")) };
    dtype.bytes_of(count).ok_or("its shape has more elements than a machine can address")?;
    let [max, min, mean, norm] = ["Max", "Min", "Mean", "Norm"].map(|key| tensor.get(key).and_then(number));
    if max.is_none() && min.is_none() && norm.is_none() && count > 0 {
        return Err(Unreadable::from("the dump has neither its elements nor their extremes"));
    }
    let is = |number: Option<f64>, what: fn(f64) -> bool| u64::from(number.is_some_and(what));
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    let statistics = Statistics {
        count: count as u64,
        nan: is(max, f64::is_nan).max(is(min, f64::is_nan)),
        positive_infinite: is(max, |max| max == f64::INFINITY).max(is(min, |min| min == f64::INFINITY)),
        negative_infinite: is(min, |min| min == f64::NEG_INFINITY).max(is(max, |max| max == f64::NEG_INFINITY)),
        zeros: 0,
        min: finite(min),
        max: finite(max),
        mean: finite(mean),
        std: None,
        l2: finite(norm),
        xxh3: Digest(0),
    };
    Ok(Content::Statistics(dtype, shape, statistics))
}

/// Returns the number that a value is. Of numbers that JSON does not have, the reader makes others.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => match number.as_f64()? {
            f64::MAX => Some(f64::INFINITY),
            f64::MIN => Some(f64::NEG_INFINITY),
            number => Some(number),
        },
        Value::Bool(is_true) => Some(f64::from(u8::from(*is_true))),
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "nan" => Some(f64::NAN),
            "inf" | "infinity" => Some(f64::INFINITY),
            "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}
