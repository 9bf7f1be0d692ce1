//! Ranges and marks of a program's own code, and what was recorded while a block ran.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope::profile::plan_names;
use opscope::trace::{
    Buffer, BufferOptions, Context, DispatchRecord, Kind, MarkerOperation, MarkerRecord, Operations, Range, name_text,
    wanted,
};
use opscope_sys::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::table::Table;

/// A named range of the calling thread: `with opscope.range("load"): ...`. A recorder has it beside the model's
/// operators.
#[pyclass(module = "opscope", name = "range", frozen)]
pub struct NamedRange {
    /// Python's own text, which is not copied.
    name: Py<PyString>,
    /// How many ranges it has in [`OPEN`]: more than one if its block is entered again within itself.
    open: AtomicUsize,
}

thread_local! {
    /// The ranges that the thread has begun, each with the address of its object: those that are recorded, and those
    /// within one of the same object. They are not in the objects, which any thread may have.
    static OPEN: RefCell<Vec<(usize, Option<Range>)>> = const { RefCell::new(Vec::new()) };
}

#[pymethods]
impl NamedRange {
    #[new]
    fn new(name: &Bound<'_, PyString>) -> PyResult<Self> {
        // A name with a lone surrogate is refused here, even if nothing is recorded.
        name.to_str()?;
        Ok(Self { name: name.clone().unbind(), open: AtomicUsize::new(0) })
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        // While nothing is recorded, the name is not even looked at.
        let (this, is_wanted) = (slf.get(), wanted(Kind::Marker));
        if is_wanted || this.open.load(Ordering::Relaxed) > 0 {
            let name = this.name.bind(slf.py()).to_str()?;
            let range = is_wanted.then(|| opscope::range(name));
            OPEN.with_borrow_mut(|open| open.push((this.place(), range)));
            this.open.fetch_add(1, Ordering::Relaxed);
        }
        Ok(slf.clone())
    }

    /// Ends the range that this thread has begun. There is none if nothing was recorded then.
    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        if self.open.load(Ordering::Relaxed) > 0 {
            self.end();
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<opscope.range {:?}>", self.name.bind(py).to_str()?))
    }
}

impl NamedRange {
    /// Identifies its ranges among those of other objects.
    fn place(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Ends the innermost of its ranges that this thread has begun. Returns whether there was one.
    fn end(&self) -> bool {
        let ended = OPEN.try_with(|open| {
            let mut open = open.borrow_mut();
            let last = open.iter().rposition(|(place, _)| *place == self.place())?;
            Some(open.remove(last).1)
        });
        let Ok(Some(range)) = ended else { return false };
        self.open.fetch_sub(1, Ordering::Relaxed);
        drop(range);
        true
    }
}

impl Drop for NamedRange {
    fn drop(&mut self) {
        // Ends the ranges of blocks that were entered and never left.
        while *self.open.get_mut() > 0 && self.end() {}
    }
}

/// Marks this moment. A recorder has it beside the model's operators.
#[pyfunction]
pub fn mark(name: &str) {
    opscope::mark(name);
}

/// Records the ranges and marks of all threads, and the operators of all runs, while its block runs.
#[pyclass(module = "opscope", frozen)]
pub struct Recorder {
    rows: Arc<Mutex<Rows>>,
    at_work: Mutex<Option<AtWork>>,
}

/// What exists while the block runs.
struct AtWork {
    context: Context,
    buffer: Buffer,
}

#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    most: usize,
    dropped: u64,
}

struct Row {
    kind: &'static str,
    name: String,
    op_type: Option<String>,
    start: u64,
    end: u64,
    thread: u64,
    run: Option<u64>,
}

impl Rows {
    fn add(&mut self, row: Row) {
        match self.rows.len() < self.most {
            true => self.rows.push(row),
            false => self.dropped += 1,
        }
    }
}

#[pymethods]
impl Recorder {
    /// At most `capacity` records are kept; how many were dropped is counted.
    #[new]
    #[pyo3(signature = (*, capacity=1_000_000))]
    fn new(capacity: usize) -> Self {
        Self { rows: Arc::new(Mutex::new(Rows { most: capacity, ..Rows::default() })), at_work: Mutex::default() }
    }

    fn __enter__<'py>(this: PyRef<'py, Self>, py: Python<'py>) -> PyResult<PyRef<'py, Self>> {
        let rows = Arc::clone(&this.rows);
        if this.at_work.lock().is_some() {
            return Err(PyRuntimeError::new_err("the recorder is already running"));
        }
        // No lock is held while this thread waits for the interpreter.
        let begun = py.detach(|| AtWork::begin(rows)).map_err(Failure::any)?;
        *this.at_work.lock() = Some(begun);
        Ok(this)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let Some(AtWork { context, buffer }) = self.at_work.lock().take() else { return Ok(()) };
        let ended = py.detach(|| {
            context.stop()?;
            buffer.flush()?;
            let dropped = buffer.statistics().total().dropped;
            self.rows.lock().dropped += dropped;
            context.destroy()?;
            buffer.destroy()
        });
        Ok(ended.map_err(Failure::any)?)
    }

    /// A row for each record: its kind (`range`, `mark` or `operator`), name, times in nanoseconds since the machine
    /// started, and the thread.
    #[getter]
    fn table(&self) -> Table {
        table_of(&self.rows.lock().rows)
    }

    /// Removes and returns the records so far, which frees their space. A long-running program calls this regularly.
    /// Inside the block, the result has every record that any thread made before the call.
    fn take(&self, py: Python<'_>) -> PyResult<Table> {
        let buffer = self.at_work.lock().as_ref().map(|at_work| at_work.buffer.clone());
        // If another thread has ended the block meanwhile, the flush fails. The end of the block has delivered the
        // records.
        if let Some(buffer) = buffer
            && let Err(error) = py.detach(|| buffer.flush())
            && self.at_work.lock().is_some()
        {
            return Err(Failure::any(error).into());
        }
        let rows = std::mem::take(&mut self.rows.lock().rows);
        Ok(table_of(&rows))
    }

    /// How many records were dropped.
    #[getter]
    fn dropped(&self) -> u64 {
        self.rows.lock().dropped
    }

    fn __len__(&self) -> usize {
        self.rows.lock().rows.len()
    }
}

fn table_of(rows: &[Row]) -> Table {
    let columns = Columns::of(rows.len())
        .texts("kind", rows.iter().map(|row| Some(row.kind)))
        .texts("name", rows.iter().map(|row| Some(&row.name)))
        .texts("op_type", rows.iter().map(|row| row.op_type.as_ref()))
        .integers("start_ns", rows.iter().map(|row| Some(row.start)))
        .integers("end_ns", rows.iter().map(|row| Some(row.end)))
        .integers("thread", rows.iter().map(|row| Some(row.thread)))
        .integers("run", rows.iter().map(|row| row.run));
    columns.into()
}

impl AtWork {
    fn begin(rows: Arc<Mutex<Rows>>) -> Result<Self, opscope::trace::TraceError> {
        let buffer = Buffer::create(BufferOptions::default(), move |batch| {
            let calibration = batch.calibration();
            let nanos = |ticks| calibration.timestamp(ticks).as_nanos();
            let mut rows = rows.lock();
            for record in batch.records() {
                if let Some(marker) = record.get::<MarkerRecord>() {
                    rows.add(Row {
                        kind: if marker.operation == MarkerOperation::Mark as u32 { "mark" } else { "range" },
                        name: name_text(marker.name).map(|name| name.to_string()).unwrap_or_default(),
                        op_type: None,
                        start: nanos(marker.start),
                        end: nanos(marker.end),
                        thread: u64::from(marker.thread.0),
                        run: None,
                    });
                } else if let Some(dispatch) = record.get::<DispatchRecord>() {
                    let plan = plan_names(dispatch.plan);
                    let kernel = plan.as_ref().and_then(|plan| plan.kernels.get(dispatch.kernel.0 as usize));
                    rows.add(Row {
                        kind: "operator",
                        name: kernel.map(|kernel| kernel.operator.to_string()).unwrap_or_default(),
                        op_type: kernel.map(|kernel| kernel.op_type.to_string()),
                        start: nanos(dispatch.start),
                        end: nanos(dispatch.end),
                        thread: u64::from(dispatch.thread.0),
                        run: Some(dispatch.run),
                    });
                }
            }
        })?;
        let context = Context::create();
        context.configure(Kind::Marker, Operations::All, &buffer)?;
        context.configure(Kind::OperatorDispatch, Operations::All, &buffer)?;
        context.start()?;
        Ok(Self { context, buffer })
    }
}
