use std::sync::Arc;

use opscope::debug::expression::TensorRef;
use opscope::debug::{Attachment, Event, Location, Moment, Sequence, TensorInfo};
use opscope::dump::{Io, StoredOrigin};
use opscope::tensor::DType;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::Failure;
use crate::inputs;
use crate::table::document;
use crate::tensor::TensorObject;

/// Where a run is stopped.
#[pyclass(module = "opscope", frozen)]
pub struct Stop {
    client: Arc<Attachment>,
    event: Sequence,
    text: String,
    location: Location,
}

impl Stop {
    pub fn at(py: Python<'_>, client: &Arc<Attachment>, event: &Event) -> PyResult<Self> {
        let location = py.detach(|| client.location(event.sequence)).map_err(Failure::from)?;
        Ok(Self { client: Arc::clone(client), event: event.sequence, text: event.to_string(), location })
    }

    fn read(&self, py: Python<'_>, reference: TensorRef, place: StoredOrigin) -> PyResult<TensorObject> {
        let copied = py.detach(|| {
            let look = move |stopped: &mut opscope::debug::Stopped<'_>| Ok(stopped.tensor(&reference)?.to_tensor());
            let found: Result<_, opscope::debug::DebugError> =
                self.client.look(self.event, look).and_then(|found| found);
            found.map_err(Failure::from).and_then(|copied| copied.map_err(Failure::debug))
        })?;
        Ok(TensorObject::new(copied, place))
    }

    /// The place of a tensor of the operator.
    fn place(&self, io: Io, slot: usize, value: Option<String>) -> StoredOrigin {
        StoredOrigin {
            run: Some(self.location.place.run.0),
            operator: Some(self.location.place.name.to_string()),
            op_type: Some(self.location.place.op_type.to_string()),
            io: Some(io),
            slot: Some(slot),
            value,
            position: Some(self.location.place.operator as usize),
            ..StoredOrigin::default()
        }
    }

    fn slots(this: &Bound<'_, Self>, io: Io) -> Slots {
        Slots { stop: this.clone().unbind(), io }
    }

    fn described(&self, io: Io) -> &[TensorInfo] {
        match io {
            Io::Input => &self.location.inputs,
            Io::Output => &self.location.outputs,
        }
    }
}

#[pymethods]
impl Stop {
    /// The operator's name.
    #[getter]
    fn operator(&self) -> &str {
        &self.location.place.name
    }

    /// The operator's type.
    #[getter]
    fn op_type(&self) -> &str {
        &self.location.place.op_type
    }

    /// `before` or `after` the operator.
    #[getter]
    fn moment(&self) -> String {
        self.location.place.moment.to_string()
    }

    /// What the engine executes there, in its own words.
    #[getter]
    fn kernel(&self) -> &str {
        &self.location.kernel.op
    }

    /// The line of Python that the operator comes from, if the file says so.
    #[getter]
    fn source(&self) -> Option<String> {
        self.location.origin.as_ref().and_then(|origin| origin.source.as_ref()).map(ToString::to_string)
    }

    /// The operator's attributes, as text.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let attributes = PyDict::new(py);
        for (name, value) in &self.location.attributes {
            attributes.set_item(name, value)?;
        }
        Ok(attributes)
    }

    /// The operator's inputs by slot. A tensor is copied when it is asked for.
    #[getter]
    fn inputs(this: &Bound<'_, Self>) -> Slots {
        Self::slots(this, Io::Input)
    }

    /// The operator's outputs by slot, which can be read only after the operator.
    #[getter]
    fn outputs(this: &Bound<'_, Self>) -> Slots {
        Self::slots(this, Io::Output)
    }

    /// A tensor by a reference: `input[0]`, `output[1]`, `weight[0]` or `value("name")`.
    fn tensor(&self, py: Python<'_>, reference: &str) -> PyResult<TensorObject> {
        let reference: TensorRef = reference.parse().map_err(Failure::input)?;
        let place = match &reference {
            TensorRef::Input(slot) => self.place(Io::Input, *slot, None),
            TensorRef::Output(slot) => self.place(Io::Output, *slot, None),
            TensorRef::Weight(_) => StoredOrigin::default(),
            TensorRef::Value(name) => StoredOrigin { value: Some(name.clone()), ..StoredOrigin::default() },
        };
        self.read(py, reference, place)
    }

    /// Replaces an input before the operator, or an output after it, by its slot or by a reference. The run continues with the array.
    fn replace(&self, py: Python<'_>, which: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let reference = match which.extract::<usize>() {
            Ok(slot) if self.location.place.moment == Moment::Before => TensorRef::Input(slot),
            Ok(slot) => TensorRef::Output(slot),
            Err(_) => which.extract::<String>()?.parse().map_err(Failure::input)?,
        };
        let known = [&self.location.inputs, &self.location.outputs, &self.location.weights];
        let shown = reference.to_string();
        let info = known.into_iter().flatten().find(|info| info.reference == shown);
        let wanted = info.and_then(|info| info.dtype);
        let tensor = inputs::tensor(array, &shown, wanted)?;
        py.detach(|| self.client.replace(self.event, reference, tensor)).map_err(Failure::from)?;
        Ok(())
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<opscope.Stop: {}>", self.text)
    }

    fn _repr_html_(&self) -> String {
        let tensor = |info: &TensorInfo| {
            let dtype = info.dtype.map_or("of the engine's own type", DType::name);
            let what = format!("{} {dtype} {:?}", info.value.as_deref().unwrap_or_default(), info.shape);
            (info.reference.clone(), what)
        };
        let tensors: Vec<_> = self.location.inputs.iter().chain(&self.location.outputs).map(tensor).collect();
        let facts: Vec<_> = tensors.iter().map(|(reference, what)| (reference.as_str(), what.clone())).collect();
        document(&self.text, &facts, "")
    }
}

/// The inputs or the outputs of an operator at which a run is stopped.
#[pyclass(module = "opscope", frozen)]
pub struct Slots {
    stop: Py<Stop>,
    io: Io,
}

#[pymethods]
impl Slots {
    fn __len__(&self) -> usize {
        self.stop.get().described(self.io).len()
    }

    fn __getitem__(&self, py: Python<'_>, slot: usize) -> PyResult<TensorObject> {
        let stop = self.stop.get();
        let described = stop.described(self.io);
        let reference = match self.io {
            Io::Input => TensorRef::Input(slot),
            Io::Output => TensorRef::Output(slot),
        };
        let shown = reference.to_string();
        let Some(info) = described.iter().find(|info| info.reference == shown) else {
            let count = described.len();
            return Err(PyIndexError::new_err(format!("there is no {shown}: the operator has {count} {}s", self.io)));
        };
        stop.read(py, reference, stop.place(self.io, slot, info.value.clone()))
    }

    fn __repr__(&self) -> String {
        let shown = |info: &TensorInfo| {
            format!(
                "{} {} {:?}",
                info.reference,
                info.dtype.map_or("of the engine's own type", DType::name),
                info.shape
            )
        };
        let tensors: Vec<String> = self.stop.get().described(self.io).iter().map(shown).collect();
        format!("<opscope.Slots: {}>", tensors.join(", "))
    }
}
