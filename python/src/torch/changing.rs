//! Tensors that a debugger has changed, put into the program.

use std::collections::BTreeMap;

use opscope::tensor::Tensor;
use opscope_torch::{Changes, Shown};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use super::State;
use super::operators::Facts;
use super::tensors::{Reader, Want, taken_by, tensors_of};

/// The arguments of an operator, by place and by name.
pub type Arguments<'py> = (Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>);

/// Puts other tensors into the arguments of an operator. Those that it writes to are written to, because the program keeps
/// them; for others there are new tensors, so that nothing else in the program changes. Returns the new arguments, or
/// `None` if they are the same objects.
pub fn inputs<'py>(
    reader: &Reader,
    state: &mut State,
    facts: &Facts,
    (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
    changes: &Changes,
) -> PyResult<Option<Arguments<'py>>> {
    if changes.inputs.is_empty() {
        return Ok(None);
    }
    let py = args.py();
    let taken = taken_by(reader, args, kwargs);
    let written: Vec<Bound<'py, PyAny>> = facts.written(args, kwargs).collect();
    let mut others = BTreeMap::new();
    for (slot, tensor) in &changes.inputs {
        let Some(object) = taken.get(*slot) else { continue };
        if written.iter().any(|written| holds(reader, written, object)) {
            write(object, tensor)?;
            continue;
        }
        let other = call(py, intern!(py, "like"), object, tensor)?;
        let (from, to) = (reader.read(object, Want::Address), reader.read(&other, Want::Address));
        state.program.replaced(from.address, to.address..to.address + to.length());
        others.insert(*slot, other);
    }
    if others.is_empty() {
        return Ok(None);
    }
    let mut put = Put { reader, others, slot: 0 };
    let args = put.tuple(args)?;
    let kwargs = kwargs.map(|keywords| put.dict(keywords)).transpose()?;
    Ok(Some((args, kwargs)))
}

/// Writes to a tensor of the program.
pub fn write(object: &Bound<'_, PyAny>, tensor: &Tensor) -> PyResult<()> {
    call(object.py(), intern!(object.py(), "write"), object, tensor).map(drop)
}

/// Writes the tensors that a debugger gave to what an operator has computed. If they do not fit, the program goes on with
/// what was computed.
pub fn outputs(reader: &Reader, facts: &Facts, computed: &[Bound<'_, PyAny>], tensors: &[Tensor]) -> PyResult<()> {
    let fits = |(object, tensor): (&Bound<'_, PyAny>, &Tensor)| match reader.read(object, Want::All).shown() {
        Shown::Tensor { tensor: there, .. } => (there.dtype(), there.shape()) == (tensor.dtype(), tensor.shape()),
        Shown::Finite { .. } | Shown::Deferred { .. } | Shown::Hidden(_) => false,
    };
    if computed.len() != tensors.len() || !computed.iter().zip(tensors).all(fits) {
        let given: Vec<String> =
            tensors.iter().map(|tensor| format!("{} {:?}", tensor.dtype(), tensor.shape())).collect();
        let given = given.join(", ");
        eprintln!("opscope: {} was not skipped: its outputs have other types or shapes than {given}", facts.name);
        return Ok(());
    }
    computed.iter().zip(tensors).try_for_each(|(object, tensor)| write(object, tensor))
}

/// Says why a tensor of an operator could not be changed. The program goes on.
pub fn failed(facts: &Facts, error: &PyErr) {
    eprintln!("opscope: a tensor of {} could not be changed: {error}", facts.name);
}

/// Returns whether an argument is this tensor, or a list with it.
fn holds(reader: &Reader, argument: &Bound<'_, PyAny>, tensor: &Bound<'_, PyAny>) -> bool {
    let mut is_found = false;
    tensors_of(reader, argument, &mut |found| is_found |= found.is(tensor));
    is_found
}

fn call<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyString>,
    object: &Bound<'py, PyAny>,
    tensor: &Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("opscope.torch._changing")?.call_method1(function, (object, PyBytes::new(py, tensor.bytes())))
}

/// Copies arguments with other tensors in them, in the order of [`tensors_of`].
struct Put<'py, 'a> {
    reader: &'a Reader,
    others: BTreeMap<usize, Bound<'py, PyAny>>,
    slot: usize,
}

impl<'py> Put<'py, '_> {
    fn object(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.reader.is_tensor(object) {
            let other = self.others.remove(&self.slot);
            self.slot += 1;
            return Ok(other.unwrap_or_else(|| object.clone()));
        }
        if let Ok(list) = object.cast::<PyList>() {
            let items: Vec<_> = list.iter().map(|item| self.object(&item)).collect::<PyResult<_>>()?;
            return Ok(PyList::new(object.py(), items)?.into_any());
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Ok(self.tuple(tuple)?.into_any());
        }
        match object.cast::<PyDict>() {
            Ok(dict) => Ok(self.dict(dict)?.into_any()),
            Err(_) => Ok(object.clone()),
        }
    }

    fn tuple(&mut self, tuple: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
        let items: Vec<_> = tuple.iter().map(|item| self.object(&item)).collect::<PyResult<_>>()?;
        PyTuple::new(tuple.py(), items)
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let copy = PyDict::new(dict.py());
        for (name, item) in dict {
            copy.set_item(name, self.object(&item)?)?;
        }
        Ok(copy)
    }
}
