//! What the categories of Kineto's events mean.

use std::fmt::Write;

use foldhash::HashMap;
use serde::Deserialize;

use super::scan::Object;
use super::threads::thread;
use super::value::{ChromeEvent, nanos, whole};
use crate::ImportError;
use crate::trace::assemble::Assembler;
use crate::trace::event::{Event, What};

/// The arguments that tie events together, and those of operators.
#[derive(Debug, Default)]
struct Arguments<'a> {
    external: Option<&'a str>,
    correlation: Option<&'a str>,
    device: Option<&'a str>,
    stream: Option<&'a str>,
    dims: Option<&'a str>,
    types: Option<&'a str>,
}

impl<'a> Arguments<'a> {
    fn of(object: Option<Object<'a>>) -> Self {
        let mut arguments = Self::default();
        for (name, value) in object.into_iter().flat_map(Object::members) {
            let value = value.text();
            match name {
                "External id" => arguments.external = Some(value),
                "correlation" => arguments.correlation = Some(value),
                "device" => arguments.device = Some(value),
                "stream" => arguments.stream = Some(value),
                "Input Dims" => arguments.dims = Some(value),
                "Input type" => arguments.types = Some(value),
                _ => {}
            }
        }
        arguments
    }
}

/// What comes before the name of a module.
const MODULE: &str = "nn.Module: ";

/// Takes an event with a duration.
pub(super) fn complete(
    event: &ChromeEvent<'_>,
    (name, category): (&str, &str),
    (start, duration): (u64, u64),
    inputs: &mut Inputs,
    into: &mut Assembler,
) -> Result<(), ImportError> {
    let module = name.strip_prefix(MODULE).filter(|_| category == "python_function");
    let what = if module.is_some() { What::Module } else { what(category) };
    if what == What::Function {
        let track = thread(event, into);
        return into.add(&Event::new(what, name, track, start, duration));
    }
    let arguments = Arguments::of(event.args);
    let on_device = what.is_device_work() || what == What::DeviceRange;
    let track = match on_device {
        true => {
            let device = whole(arguments.device.or(event.pid)).unwrap_or(0);
            let stream = whole(arguments.stream.or(event.tid)).unwrap_or(0);
            into.stream(u32::try_from(device).unwrap_or(0), stream.cast_unsigned())
        }
        false => thread(event, into),
    };
    let inputs = if what == What::Operator { inputs.of(&arguments) } else { "" };
    let id = |value| whole(value).and_then(|id| u64::try_from(id).ok()).unwrap_or(0);
    into.add(&Event {
        correlation: id(arguments.correlation),
        external: id(arguments.external),
        op: module.unwrap_or_default(),
        inputs,
        ..Event::new(what, name, track, start, duration)
    })
}

fn what(category: &str) -> What {
    match category {
        "cpu_op" | "" => What::Operator,
        "user_annotation" | "cpu_instant_event" => What::Range,
        "gpu_user_annotation" => What::DeviceRange,
        "kernel" | "gpu_kernel" | "concurrent_kernel" | "mtia_ccp_events" => What::Kernel,
        "gpu_memcpy" | "gpu_memset" => What::Copy,
        _ if category.ends_with("_runtime") || category.ends_with("_driver") => What::Call,
        // Functions of Python, what the profiler itself did, and the whole trace.
        _ => What::Function,
    }
}

/// The inputs of operators as texts, by the JSON that they are made of. Operators that run again have the same.
#[derive(Default)]
pub(super) struct Inputs {
    known: HashMap<Box<str>, Box<str>>,
    json: String,
}

/// The most inputs that are kept. A trace with more has shapes that differ from step to step.
const MOST_INPUTS: usize = 10_000;

impl Inputs {
    /// Returns the inputs of an operator: `float[2, 3], float[3]`. Empty where shapes were not recorded.
    fn of(&mut self, arguments: &Arguments<'_>) -> &str {
        let (Some(types), Some(dims)) = (arguments.types, arguments.dims) else { return "" };
        self.json.clear();
        self.json.push_str(types);
        self.json.push_str(dims);
        if !self.known.contains_key(self.json.as_str()) {
            if self.known.len() == MOST_INPUTS {
                self.known.clear();
            }
            self.known.insert(self.json.as_str().into(), inputs(types, dims).into());
        }
        &self.known[self.json.as_str()]
    }
}

/// Returns the inputs with these types and shapes.
fn inputs(types: &str, dims: &str) -> String {
    let mut text = String::new();
    let types: Option<Vec<String>> = serde_json::from_str(types).ok();
    let dims: Option<Vec<serde_json::Value>> = serde_json::from_str(dims).ok();
    let (Some(types), Some(dims)) = (types, dims) else { return text };
    for (dtype, dims) in types.iter().zip(&dims) {
        let shape: Option<Vec<u64>> =
            dims.as_array().and_then(|dims| dims.iter().map(serde_json::Value::as_u64).collect());
        let is_tensor = !dtype.is_empty() && dtype != "Scalar" && dtype != "ScalarList";
        let (Some(shape), true) = (shape, is_tensor) else { continue };
        let separator = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{separator}{dtype}{shape:?}");
    }
    text
}

/// Returns the counter, the value and the time of a change of memory.
pub(super) fn memory(event: &ChromeEvent<'_>) -> Option<(String, f64, u64)> {
    #[derive(Deserialize)]
    struct Memory {
        #[serde(rename = "Device Type")]
        device_type: i64,
        #[serde(rename = "Device Id")]
        device: i64,
        #[serde(rename = "Total Allocated")]
        allocated: f64,
    }
    let memory: Memory = serde_json::from_str(event.args?.text()).ok()?;
    let place = match memory.device_type {
        0 => "host".to_owned(),
        1 => format!("cuda:{}", memory.device),
        other => format!("device type {other}:{}", memory.device),
    };
    Some((format!("memory allocated, {place}"), memory.allocated, nanos(event.ts)?))
}
