//! Dumps that lie on the disk: their tensors are mapped, not read.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use opscope::dump::{Io, StoredDump, StoredOrigin, StoredTensor};
use opscope::tensor::DType;
use opscope::text::counted;
use opscope::text::did_you_mean;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;

use crate::border::mapped;
use crate::columns::Columns;
use crate::failure::Failure;
use crate::table::{Table, document};
use crate::tensor::TensorObject;

/// A dump: a directory that opscope wrote, AscendCL's files, or `.npy` files.
#[pyclass(module = "opscope", frozen)]
pub struct Dump {
    stored: Arc<StoredDump>,
}

impl Dump {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        Ok(Self { stored: Arc::new(StoredDump::open(path)?) })
    }

    pub fn stored(&self) -> &Arc<StoredDump> {
        &self.stored
    }

    fn tensor(&self, index: usize) -> PyResult<TensorObject> {
        Ok(opened(&self.stored.tensors[index])?)
    }
}

/// Maps a tensor, or reads it if its file stores the elements in another order.
fn opened(stored: &StoredTensor) -> Result<TensorObject, Failure> {
    let place = stored.place.clone();
    let tensor = match (stored.native_file(), stored.dtype) {
        (Some((path, offset)), Some(dtype)) => mapped::tensor(path, offset, dtype, stored.shape.clone(), stored.bytes),
        _ => stored.read(),
    };
    let tensor = tensor.map_err(|error| Failure::file(format!("tensor {place}: {error}")))?;
    Ok(TensorObject::new(tensor, place))
}

#[pymethods]
impl Dump {
    /// Where it is.
    #[getter]
    fn path(&self) -> &Path {
        &self.stored.path
    }

    /// Whether all of it could be read, and the dump does not say that something is missing.
    #[getter]
    fn complete(&self) -> bool {
        self.stored.is_complete()
    }

    /// What could not be read, or is missing, a sentence each.
    #[getter]
    fn problems(&self) -> Vec<String> {
        let manifest = self.stored.manifest.iter();
        let missing = manifest.flat_map(|manifest| {
            let missing =
                manifest.missing.iter().map(|missing| format!("'{}' is missing: {}", missing.value, missing.reason));
            manifest.errors.iter().cloned().chain(missing)
        });
        self.stored.problems.iter().cloned().chain(missing).collect()
    }

    /// The engine that computed it, if the dump says so.
    #[getter]
    fn engine(&self) -> Option<&str> {
        self.stored.engine()
    }

    /// The names of its operators, in the order of the graph, if the dump has it.
    #[getter]
    fn operators(&self) -> Vec<&str> {
        let mut known = HashSet::new();
        let places = self.stored.tensors.iter().map(|tensor| &tensor.place);
        let named = places.filter_map(|place| Some((place.position.unwrap_or(usize::MAX), place.operator.as_deref()?)));
        let mut names: Vec<(usize, &str)> = named.filter(|(_, name)| known.insert(*name)).collect();
        names.sort_by_key(|(position, _)| *position);
        names.into_iter().map(|(_, name)| name).collect()
    }

    fn __len__(&self) -> usize {
        self.stored.tensors.len()
    }

    /// A tensor by its number, or an operator by its name: then the tensors of its first run.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(index) = key.extract::<isize>() {
            let length = self.stored.tensors.len();
            let at = if index < 0 { index + length as isize } else { index };
            let at = usize::try_from(at).ok().filter(|at| *at < length);
            let at = at.ok_or_else(|| PyIndexError::new_err(format!("the dump has {}", counted(length, "tensor"))))?;
            return Ok(self.tensor(at)?.into_pyobject(py)?.into_any());
        }
        let name: String = key.extract()?;
        Ok(self.operator(&name, None)?.into_pyobject(py)?.into_any())
    }

    fn __contains__(&self, name: &str) -> bool {
        self.stored.tensors.iter().any(|tensor| tensor.place.operator.as_deref() == Some(name))
    }

    /// The tensors of an operator in a run: the first run that has some, if none is given.
    #[pyo3(signature = (name, run=None))]
    fn operator(&self, name: &str, run: Option<u64>) -> PyResult<DumpedOperator> {
        let mut found = DumpedOperator {
            name: name.to_owned(),
            op_type: None,
            run,
            sides: [BTreeMap::new(), BTreeMap::new()],
            dump: Arc::clone(&self.stored),
        };
        let mut is_known = false;
        for (index, StoredTensor { place, .. }) in self.stored.tensors.iter().enumerate() {
            if place.operator.as_deref() != Some(name) {
                continue;
            }
            is_known = true;
            if found.run.is_none() {
                found.run = place.run;
            }
            // A tensor that is the same in every run belongs to each run.
            if place.run.is_some() && place.run != found.run {
                continue;
            }
            found.op_type = found.op_type.or_else(|| place.op_type.clone());
            let side = usize::from(place.io == Some(Io::Output));
            found.sides[side].entry(place.slot.unwrap_or(0)).or_insert(index);
        }
        match is_known {
            true => Ok(found),
            false => {
                let meant = did_you_mean(name, self.operators()).map(|near| format!("; did you mean '{near}'?"));
                Err(PyKeyError::new_err(format!("the dump has no operator '{name}'{}", meant.unwrap_or_default())))
            }
        }
    }

    /// A row for each tensor, with what the dump says of its numbers.
    #[getter]
    fn table(&self) -> Table {
        table(&self.stored).into()
    }

    fn __repr__(&self) -> String {
        let complete = if self.complete() { "" } else { ", not complete" };
        format!(
            "<opscope.Dump {}: {}{complete}>",
            self.stored.path.display(),
            counted(self.stored.tensors.len(), "tensor")
        )
    }

    fn _repr_html_(&self) -> String {
        let facts = [
            ("tensors", self.stored.tensors.len().to_string()),
            ("complete", self.complete().to_string()),
            ("engine", self.engine().unwrap_or("not known").to_owned()),
        ];
        let tensors: Table = table(&self.stored).into();
        document(&self.stored.path.display().to_string(), &facts, &tensors.html())
    }
}

fn table(dump: &StoredDump) -> Columns {
    let rows = &dump.tensors;
    let place = |of: fn(&StoredOrigin) -> Option<&str>| rows.iter().map(move |row| of(&row.place));
    let noted = |of: fn(&opscope::dump::IndexStatistics) -> Option<f64>| {
        rows.iter().map(move |row| row.noted.as_ref().and_then(of))
    };
    Columns::of(rows.len())
        .integers("run", rows.iter().map(|row| row.place.run))
        .texts("operator", place(|place| place.operator.as_deref()))
        .texts("op_type", place(|place| place.op_type.as_deref()))
        .texts("io", rows.iter().map(|row| row.place.io.map(Io::name)))
        .integers("slot", rows.iter().map(|row| row.place.slot.map(|slot| slot as u64)))
        .texts("value", place(|place| place.value.as_deref()))
        .texts("dtype", rows.iter().map(|row| row.dtype.map(DType::name)))
        .texts("shape", rows.iter().map(|row| Some(format!("{:?}", row.shape))))
        .integers("bytes", rows.iter().map(|row| Some(row.bytes)))
        .numbers("min", noted(|noted| noted.min))
        .numbers("max", noted(|noted| noted.max))
        .numbers("mean", noted(|noted| noted.mean))
        .integers("nan", rows.iter().map(|row| row.noted.as_ref().map(|noted| noted.nan)))
        .integers("inf", rows.iter().map(|row| row.noted.as_ref().map(|noted| noted.inf)))
}

/// The tensors of an operator in a run of a dump.
#[pyclass(module = "opscope", frozen)]
pub struct DumpedOperator {
    name: String,
    op_type: Option<String>,
    run: Option<u64>,
    /// The numbers of its inputs and of its outputs, by slot.
    sides: [BTreeMap<usize, usize>; 2],
    dump: Arc<StoredDump>,
}

impl DumpedOperator {
    fn tensors(&self, side: usize) -> PyResult<BTreeMap<usize, TensorObject>> {
        let open = |(&slot, &index): (&usize, &usize)| Ok((slot, opened(&self.dump.tensors[index])?));
        self.sides[side].iter().map(open).collect()
    }
}

#[pymethods]
impl DumpedOperator {
    /// The operator's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The operator's type.
    #[getter]
    fn op_type(&self) -> Option<&str> {
        self.op_type.as_deref()
    }

    /// The run; `None` where the dump does not tell runs apart.
    #[getter]
    fn run(&self) -> Option<u64> {
        self.run
    }

    /// The inputs of the operator, by slot.
    #[getter]
    fn input(&self) -> PyResult<BTreeMap<usize, TensorObject>> {
        self.tensors(0)
    }

    /// The outputs of the operator, by slot.
    #[getter]
    fn output(&self) -> PyResult<BTreeMap<usize, TensorObject>> {
        self.tensors(1)
    }

    fn __repr__(&self) -> String {
        let [inputs, outputs] = [&self.sides[0], &self.sides[1]].map(BTreeMap::len);
        format!("<opscope.DumpedOperator {}: {}, {}>", self.name, counted(inputs, "input"), counted(outputs, "output"))
    }
}
