use std::ffi::{CStr, CString, c_int, c_void};

use opscope_border::{Text, exported};

use crate::border::{Data, Status};
use crate::kinds::{CALLBACKS, Domain};
use crate::layout::{CallbackRecord, MarkerArgument};

/// A tool's function that receives an argument.
type ArgumentCallback = extern "C-unwind" fn(
    kind: u32,
    operation: i32,
    number: u32,
    value: *const c_void,
    indirections: i32,
    type_name: Text<'_>,
    name: Text<'_>,
    text: Text<'_>,
    dereferences: i32,
    data: Data,
) -> c_int;

/// A parameter of a marker function.
struct Parameter {
    name: &'static CStr,
    /// The mangled name of the parameter's type.
    type_name: &'static CStr,
    form: Form,
}

/// The form of a parameter.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Number,
    Int,
    NumberPointer,
    Opaque,
}

const fn parameter(name: &'static CStr, type_name: &'static CStr, form: Form) -> Parameter {
    Parameter { name, type_name, form }
}

static MESSAGE: [Parameter; 1] = [parameter(c"message", c"PKc", Form::Text)];
static ID: [Parameter; 1] = [parameter(c"id", c"m", Form::Number)];
static THREAD_POINTER: [Parameter; 1] = [parameter(c"tid", c"Pm", Form::NumberPointer)];
static THREAD: [Parameter; 1] = [parameter(c"tid", c"m", Form::Number)];
static NAME: [Parameter; 1] = [parameter(c"name", c"PKc", Form::Text)];
static NAME_AGENT: [Parameter; 2] =
    [parameter(c"name", c"PKc", Form::Text), parameter(c"agent", c"PK11hsa_agent_s", Form::Opaque)];
static NAME_DEVICE: [Parameter; 2] = [parameter(c"name", c"PKc", Form::Text), parameter(c"device_id", c"i", Form::Int)];
static NAME_STREAM: [Parameter; 2] =
    [parameter(c"name", c"PKc", Form::Text), parameter(c"stream", c"PK12ihipStream_t", Form::Opaque)];

/// Returns the parameters of an operation.
fn parameters(domain: Domain, operation: i32) -> &'static [Parameter] {
    match (domain, operation) {
        (Domain::MarkerCore, 0 | 1 | 3) | (Domain::MarkerRange, 0..=2) => &MESSAGE,
        (Domain::MarkerCore, 4) => &ID,
        (Domain::MarkerCore, 5) | (Domain::MarkerRange, 3) => &THREAD_POINTER,
        (Domain::MarkerControl, 0 | 1) => &THREAD,
        (Domain::MarkerName, 0) => &NAME,
        (Domain::MarkerName, 1) => &NAME_AGENT,
        (Domain::MarkerName, 2) => &NAME_DEVICE,
        (Domain::MarkerName, 3) => &NAME_STREAM,
        _ => &[],
    }
}

/// Calls back with each argument of the call that a callback record is about, until the callback returns a value other
/// than 0. Pointers to numbers are followed if `most_dereferences` is above 0.
#[exported]
pub extern "C-unwind" fn rocprofiler_iterate_callback_tracing_kind_operation_args(
    record: CallbackRecord,
    callback: Option<ArgumentCallback>,
    most_dereferences: i32,
    data: Data,
) -> Status {
    let Some(callback) = callback else { return Status::InvalidArgument };
    if record.kind == 0 || record.kind as usize >= CALLBACKS.len() {
        return Status::InvalidArgument;
    }
    let kind = &CALLBACKS[record.kind as usize];
    match kind.domain {
        Some(Domain::MarkerCore | Domain::MarkerControl | Domain::MarkerName | Domain::MarkerRange) => {}
        // Calls of runtimes that this library does not trace: there are no such records.
        None if kind.has_arguments() => return Status::Success,
        _ => return Status::NotImplemented,
    }
    let Some(domain) = kind.domain else { return Status::NotImplemented };
    let Some(arguments) = record.marker_arguments() else { return Status::InvalidArgument };
    for (number, (parameter, argument)) in parameters(domain, record.operation).iter().zip(arguments).enumerate() {
        let (text, dereferences) = text(parameter.form, &argument, most_dereferences);
        let indirections = i32::from(!matches!(parameter.form, Form::Number | Form::Int));
        let (type_name, name) = (Text::from(parameter.type_name), Text::from(parameter.name));
        let (number, value) = (number as u32, argument.as_ptr());
        let (kind, operation, text) = (record.kind, record.operation, Text::from(text.as_c_str()));
        let answer = callback(kind, operation, number, value, indirections, type_name, name, text, dereferences, data);
        if answer != 0 {
            break;
        }
    }
    Status::Success
}

/// Returns an argument as text, and the number of pointers that were followed for it.
fn text(form: Form, argument: &MarkerArgument<'_>, most_dereferences: i32) -> (CString, i32) {
    let null = || c"(null)".to_owned();
    let owned = |text: String| CString::new(text).unwrap_or_default();
    let word = argument.word();
    match form {
        Form::Text => (argument.text().given().map_or_else(null, CStr::to_owned), 0),
        Form::Number => (owned(word.to_string()), 0),
        Form::Int => (owned((word as i32).to_string()), 0),
        Form::NumberPointer if most_dereferences > 0 && word != 0 => {
            (argument.number().given().map_or_else(null, |number| owned(number.to_string())), 1)
        }
        Form::NumberPointer if word == 0 => (null(), 0),
        Form::NumberPointer | Form::Opaque => (owned(format!("{word:#x}")), 0),
    }
}
