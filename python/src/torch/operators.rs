//! What an operator of PyTorch's does to its arguments, by its schema.

use std::sync::Arc;

use foldhash::HashMap;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// What is known of the operators that were executed.
#[derive(Default)]
pub struct Operators {
    /// By the address of the operator, which is kept.
    known: HashMap<usize, (Py<PyAny>, Arc<Facts>)>,
}

/// What an operator does.
pub struct Facts {
    /// Its name, such as `aten.addmm.default`.
    pub name: Arc<str>,
    /// Whether its results are new tensors, whose elements in memory are what they are. Those of others may be conjugated
    /// or negated lazily.
    pub gives_new: bool,
    /// The function of PyTorch's dispatcher that the operator only calls, if it is known to.
    function: Option<Py<PyAny>>,
    /// Why its outputs are not captured.
    pub skipped: Option<Skipped>,
    /// The arguments that it writes to: their places and their names.
    writes: Vec<(usize, String)>,
    /// For each of its results, whether it is a view of an argument.
    views: Vec<bool>,
    /// Whether a result that is no view has tensors.
    gives_tensors: bool,
}

/// Why the outputs of an operator are not captured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// It marks something for a profiler, and computes nothing.
    Marker,
    /// It gives memory that holds nothing yet.
    Uninitialised,
}

impl Operators {
    pub fn facts(&mut self, operator: &Bound<'_, PyAny>) -> PyResult<Arc<Facts>> {
        let address = operator.as_ptr() as usize;
        if let Some((_, facts)) = self.known.get(&address) {
            return Ok(Arc::clone(facts));
        }
        let facts = Arc::new(Facts::of(operator)?);
        self.known.insert(address, (operator.clone().unbind(), Arc::clone(&facts)));
        Ok(facts)
    }
}

impl Facts {
    fn of(operator: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = operator.str()?.to_string();
        let (mut writes, mut views, mut gives_tensors) = (Vec::new(), Vec::new(), true);
        // Operators of higher order have none.
        if let Some(schema) = operator.getattr_opt("_schema")? {
            for (place, argument) in schema.getattr("arguments")?.try_iter()?.enumerate() {
                let argument = argument?;
                let alias = argument.getattr("alias_info")?;
                if !alias.is_none() && alias.getattr("is_write")?.extract()? {
                    writes.push((place, argument.getattr("name")?.extract()?));
                }
            }
            gives_tensors = false;
            for result in schema.getattr("returns")?.try_iter()? {
                let result = result?;
                let alias = result.getattr("alias_info")?;
                let is_view = !alias.is_none() && !alias.getattr("is_write")?.extract::<bool>()?;
                gives_tensors |= !is_view && result.getattr("type")?.str()?.to_string().contains("Tensor");
                views.push(is_view);
            }
        }
        let short = name.split('.').nth(1).unwrap_or_default();
        let function = function_of(operator, &name)?;
        let skipped = match name.split('.').next() {
            Some("profiler") => Some(Skipped::Marker),
            _ if short.starts_with("empty") || short.starts_with("new_empty") => Some(Skipped::Uninitialised),
            _ => None,
        };
        // The schema of `_unsafe_view` hides that it gives a view.
        let gives_new = name.starts_with("aten.") && writes.is_empty() && short != "_unsafe_view";
        Ok(Self { name: name.into(), gives_new, function, skipped, writes, views, gives_tensors })
    }

    /// Executes the operator.
    pub fn call<'py>(
        &self,
        operator: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.function.as_ref().map_or(operator, |function| function.bind(operator.py()));
        function.call(arguments, keywords)
    }

    /// Returns what an execution has computed: its results, without views, and the arguments that it has written to.
    pub fn outputs<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
        result: &Bound<'py, PyAny>,
    ) -> Vec<Bound<'py, PyAny>> {
        let mut outputs: Vec<Bound<'py, PyAny>> = Vec::new();
        match result.cast::<PyTuple>() {
            Ok(results) if self.views.len() != 1 => {
                for (slot, item) in results.iter().enumerate() {
                    if !self.views.get(slot).copied().unwrap_or(false) {
                        outputs.push(item);
                    }
                }
            }
            _ if self.views.first().copied().unwrap_or(false) => {}
            _ => outputs.push(result.clone()),
        }
        for written in self.written(arguments, keywords) {
            if !outputs.iter().any(|output| output.is(&written)) {
                outputs.push(written);
            }
        }
        outputs
    }

    /// Returns the arguments that an execution writes to.
    pub fn written<'py>(
        &self,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> impl Iterator<Item = Bound<'py, PyAny>> {
        self.writes.iter().filter_map(move |(place, name)| {
            let by_name = || keywords.and_then(|keywords| keywords.get_item(name).ok().flatten());
            arguments.get_item(*place).ok().or_else(by_name)
        })
    }

    /// Returns whether an execution is shown that is not known yet: it computes tensors, or writes to some.
    pub fn gives_tensors(&self) -> bool {
        self.skipped.is_none() && (self.gives_tensors || self.writes())
    }

    /// Returns whether it writes to an argument.
    pub fn writes(&self) -> bool {
        !self.writes.is_empty()
    }

    /// Returns whether a result is a view.
    pub fn gives_views(&self) -> bool {
        self.views.contains(&true)
    }
}

/// Returns what the method `__call__` of an operator would call. Those of PyTorch's own do nothing else, and a call of
/// theirs is a frame of the interpreter's more.
fn function_of(operator: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let is_plain = name.starts_with("aten.") && operator.get_type().name()? == "OpOverload";
    if !is_plain || operator.getattr_opt("_pyobj_dispatcher")?.is_some_and(|dispatcher| !dispatcher.is_none()) {
        return Ok(None);
    }
    Ok(operator.getattr_opt("_op")?.map(Bound::unbind))
}
