//! What a model is given: arrays by the names of its inputs, or in their order.

use opscope::model::Fidelity;
use opscope::onnx::{Dim, Graph, ValueId};
use opscope::tensor::{DType, Tensor};
use opscope::text::did_you_mean;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};

use crate::border::{dlpack, interface};
use crate::failure::input;
use crate::tensor::TensorObject;

/// Returns the tensors for a model's inputs, by slot. Arrays are not copied if their elements are contiguous.
pub fn tensors(graph: &Graph, given: &Bound<'_, PyAny>) -> PyResult<Vec<Tensor>> {
    let of = |id: ValueId, object: &Bound<'_, PyAny>| {
        let value = graph.value(id);
        tensor(object, &value.name, value.dtype)
    };
    if let Ok(named) = given.cast::<PyDict>() {
        return of_dict(graph, named);
    }
    if let Ok(mapping) = given.cast::<PyMapping>() {
        for key in mapping.keys()?.iter() {
            let name: String = key.extract()?;
            if !graph.inputs.iter().any(|&id| graph.value(id).name == name) {
                return Err(unknown(graph, &name));
            }
        }
        let get = |&id: &ValueId| {
            let name = &graph.value(id).name;
            if !mapping.contains(name)? {
                return Err(missing(graph, name));
            }
            of(id, &mapping.get_item(name)?)
        };
        return graph.inputs.iter().map(get).collect();
    }
    let is_one = graph.inputs.len() == 1;
    let in_order: Vec<Bound<'_, PyAny>> = match given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        // A list of numbers is one array.
        true if !is_one || !is_nested_number(given)? => given.try_iter()?.collect::<PyResult<_>>()?,
        _ => vec![given.clone()],
    };
    if in_order.len() != graph.inputs.len() {
        let (given, takes) = (in_order.len(), graph.inputs.len());
        return Err(input(format!("{given} inputs were given, and the model takes {takes}: {}", signature(graph))));
    }
    graph.inputs.iter().zip(&in_order).map(|(&id, object)| of(id, object)).collect()
}

/// Takes the inputs from a dict, without creating a Python string for each name.
fn of_dict(graph: &Graph, named: &Bound<'_, PyDict>) -> PyResult<Vec<Tensor>> {
    let mut objects = vec![None; graph.inputs.len()];
    for (key, object) in named {
        let name = key.cast::<PyString>()?.to_str()?;
        let slot = graph.inputs.iter().position(|&id| graph.value(id).name == name);
        objects[slot.ok_or_else(|| unknown(graph, name))?] = Some(object);
    }
    let tensor = |(&id, object): (&ValueId, Option<Bound<'_, PyAny>>)| {
        let value = graph.value(id);
        tensor(&object.ok_or_else(|| missing(graph, &value.name))?, &value.name, value.dtype)
    };
    graph.inputs.iter().zip(objects).map(tensor).collect()
}

/// Returns whether the first element of a list, at any depth, is a number.
fn is_nested_number(list: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut first = list.clone();
    while first.is_instance_of::<PyList>() || first.is_instance_of::<PyTuple>() {
        match first.try_iter()?.next() {
            Some(element) => first = element?,
            None => return Ok(true),
        }
    }
    Ok(is_number(&first))
}

fn is_number(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() || object.is_instance_of::<PyBool>()
}

fn missing(graph: &Graph, name: &str) -> PyErr {
    input(format!("input '{name}' is missing; the model takes {}", signature(graph)))
}

fn unknown(graph: &Graph, name: &str) -> PyErr {
    let names: Vec<&str> = graph.inputs.iter().map(|&id| graph.value(id).name.as_str()).collect();
    let meant =
        did_you_mean(name, names.iter().copied()).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    input(format!("the model has no input '{name}'{meant}; it takes {}", signature(graph)))
}

/// The inputs of a model with their types and shapes, as messages have them.
pub fn signature(graph: &Graph) -> String {
    let one = |&id: &ValueId| {
        let value = graph.value(id);
        let dtype = value.dtype.map_or("of any type", DType::name);
        let dims = value.shape.as_ref().map(|shape| shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "));
        format!("{} {dtype} [{}]", value.name, dims.unwrap_or_else(|| "...".to_owned()))
    };
    graph.inputs.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Takes one array: by DLPack, by numpy's interface, or else by whatever numpy makes of it. `name` is for messages. Numbers and lists of
/// them become elements of `wanted`.
pub fn tensor(object: &Bound<'_, PyAny>, name: &str, wanted: Option<DType>) -> PyResult<Tensor> {
    if let Ok(own) = object.cast::<TensorObject>() {
        return Ok(own.get().tensor().clone());
    }
    if let Some(tensor) = dlpack::import(object, name)? {
        return Ok(tensor);
    }
    if let Some(tensor) = interface::import(object, name)? {
        return Ok(tensor);
    }
    let py = object.py();
    let numpy = match py.import("numpy") {
        Ok(numpy) => numpy,
        Err(error) if error.is_instance_of::<PyImportError>(py) => {
            let kind = object.get_type().name()?;
            return Err(input(format!(
                "input '{name}' is a {kind}, of which numpy would make an array, and numpy is not installed; give an array that knows \
                 DLPack"
            )));
        }
        Err(error) => return Err(error),
    };
    let keywords = PyDict::new(py);
    let is_untyped = is_number(object) || object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    if let Some(dtype) = wanted.filter(|dtype| is_untyped && dtype.npy_descr().is_some()) {
        keywords.set_item("dtype", dtype.name())?;
    }
    let array = numpy.call_method("asarray", (object,), Some(&keywords))?;
    match interface::import(&array, name)? {
        Some(tensor) => Ok(tensor),
        None => Err(input(format!("input '{name}' is a {}, which is not an array", object.get_type().name()?))),
    }
}

/// Parses a fidelity.
pub fn fidelity(text: &str) -> PyResult<Fidelity> {
    let found = Fidelity::ALL.into_iter().find(|fidelity| fidelity.name() == text);
    found.ok_or_else(|| input(format!("'{text}' is not a fidelity; there are optimised and exact")))
}
