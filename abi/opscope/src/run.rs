use std::sync::Arc;

use opscope::model::Instrument;
use opscope::profile::Profiler;
use opscope::tensor::Tensor;

use crate::border::opscope_status_t;
use crate::border::{Failure, Handle, Text, call, get, insert, read_array, read_or_default, sized, use_engine};
use crate::debug::{DebuggerForC, opscope_debugger_t};
use crate::dump::{DumperForC, opscope_dumper_t};
use crate::profile::opscope_profiler_t;
use crate::session::{LoadedSession, opscope_session_t};
use crate::tensor::{Tensors, opscope_tensor_t, opscope_tensors_t, tensor_from_c};

/// The instruments of a run; 0 for those that it does not have. They are called in this order: where the debugger replaces a
/// value, the dumper gets the new one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_instruments_t {
    /// `sizeof(opscope_instruments_t)`.
    pub size: usize,
    /// Stops and looks.
    pub debugger: opscope_debugger_t,
    /// Captures tensors. An exact session shows it every operator's; an optimised one those that its kernels have.
    pub dumper: opscope_dumper_t,
    /// Records what ran and when.
    pub profiler: opscope_profiler_t,
}
sized!(opscope_instruments_t, 32);

/// Runs the model once, on the calling thread. `inputs` are in the order of the model's inputs. `instruments` may be NULL.
/// Where `outputs` is not NULL, the outputs are copied into a new list, which the caller frees. A run that a debugger stops waits for
/// its client, so the client reads events on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_session_run(
    session: opscope_session_t,
    inputs: *const opscope_tensor_t,
    input_count: usize,
    instruments: *const opscope_instruments_t,
    outputs: *mut opscope_tensors_t,
) -> opscope_status_t {
    call(|| {
        let loaded = get(session)?;
        // SAFETY: as the caller promises.
        let (inputs, instruments) = unsafe { (inputs_from_c(inputs, input_count)?, read_or_default(instruments)?) };
        let instruments = Instruments::get(&instruments)?;
        let _call = use_engine()?;
        instruments.prepare(&loaded, &inputs)?;
        let computed = loaded.session.run(&inputs, &instruments.list())?;
        if !outputs.is_null() {
            // SAFETY: it is not NULL, and the caller promises that it is writable.
            unsafe { outputs.write(loaded.named(computed)) };
        }
        Ok(())
    })
}

/// The instruments of one run.
struct Instruments {
    debugger: Option<Arc<DebuggerForC>>,
    dumper: Option<Arc<DumperForC>>,
    profiler: Option<Arc<Profiler>>,
}

impl Instruments {
    fn get(given: &opscope_instruments_t) -> Result<Self, Failure> {
        Ok(Self {
            debugger: given_one(given.debugger)?,
            dumper: given_one(given.dumper)?,
            profiler: given_one(given.profiler)?,
        })
    }

    /// Tells the dumper of the plan, which delivers what the engine computed when it loaded the model.
    fn prepare(&self, loaded: &LoadedSession, inputs: &[Tensor]) -> Result<(), Failure> {
        if let Some(dumper) = &self.dumper {
            let model = loaded.session.model();
            dumper.add_plan(&**model, &*loaded.session.plan(inputs)?)?;
        }
        Ok(())
    }

    /// Returns them in the order in which they are called.
    fn list(&self) -> Vec<&dyn Instrument> {
        let debugger = self.debugger.as_deref().map(|debugger| &**debugger as &dyn Instrument);
        let dumper = self.dumper.as_deref().map(|dumper| &**dumper as &dyn Instrument);
        let profiler = self.profiler.as_deref().map(|profiler| profiler as &dyn Instrument);
        [debugger, dumper, profiler].into_iter().flatten().collect()
    }
}

fn given_one<H: Handle>(handle: H) -> Result<Option<Arc<H::Object>>, Failure> {
    if handle.id() == 0 { Ok(None) } else { get(handle).map(Some) }
}

impl LoadedSession {
    fn named(&self, outputs: Vec<Tensor>) -> opscope_tensors_t {
        let graph = self.session.graph();
        let names = graph.outputs.iter().map(|&id| Text::new(&graph.value(id).name));
        insert(Tensors::new(names.zip(outputs)))
    }
}

/// # Safety
/// `inputs` points to `count` tensors.
unsafe fn inputs_from_c(inputs: *const opscope_tensor_t, count: usize) -> Result<Vec<Tensor>, Failure> {
    if count > 0 && inputs.is_null() {
        return Err(Failure::argument(format!("inputs is NULL, and its count is {count}")));
    }
    // SAFETY: as the caller promises.
    let inputs = unsafe { read_array(inputs, count)? };
    // SAFETY: as the caller promises.
    inputs.iter().map(|input| unsafe { tensor_from_c(input) }).collect()
}
