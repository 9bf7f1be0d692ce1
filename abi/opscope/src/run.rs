use std::sync::Arc;

use opscope::model::Instrument;
use opscope::profile::Profiler;
use opscope::tensor::Tensor;
use opscope_border::{Out, SizedCounted, SizedIn, SizedItems, exported, sized};

use crate::border::{Failure, Handle, KeptText, get, insert, use_engine};
use crate::debug::{DebuggerForC, opscope_debugger_t};
use crate::dump::{DumperForC, opscope_dumper_t};
use crate::profile::opscope_profiler_t;
use crate::session::{LoadedSession, opscope_session_t};
use crate::tensor::{Tensors, opscope_tensor_t, opscope_tensors_t, tensor_from_c};

/// The instruments of a run; 0 for those that it does not have. They are called in this order: if the debugger replaces
/// a value, the dumper receives the new one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_instruments_t {
    /// `sizeof(opscope_instruments_t)`.
    pub size: usize,
    /// Stops runs and looks at them.
    pub debugger: opscope_debugger_t,
    /// Captures tensors. With an exact session it sees those of every operator; with an optimised one, those of its
    /// kernels.
    pub dumper: opscope_dumper_t,
    /// Records what ran and when.
    pub profiler: opscope_profiler_t,
}
sized!(opscope_instruments_t, 32);

/// Runs the model once, on the calling thread. `inputs` are in the order of the model's inputs. `instruments` may be
/// NULL. If `outputs` is not NULL, the outputs are copied into a new list, which the caller frees. A run that a
/// debugger stops waits for its client, so the client must read events on another thread.
#[exported]
pub fn opscope_session_run(
    session: opscope_session_t,
    #[counted_by(input_count)] inputs: SizedItems<'_, opscope_tensor_t<'_>>,
    input_count: usize,
    instruments: SizedIn<'_, opscope_instruments_t>,
    outputs: Out<'_, opscope_tensors_t>,
) -> Result<(), Failure> {
    let loaded = get(session)?;
    let (inputs, instruments) = (inputs_from_c(inputs)?, instruments.get_or_default()?);
    let instruments = Instruments::get(&instruments)?;
    let _call = use_engine()?;
    instruments.prepare(&loaded, &inputs)?;
    let computed = loaded.session.run(&inputs, &instruments.list())?;
    // The list is made only if the caller can free it.
    if let Some(place) = outputs.given() {
        place.write(loaded.named(computed));
    }
    Ok(())
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

    /// Passes the plan to the dumper, which then delivers what the engine computed when it loaded the model.
    fn prepare(&self, loaded: &LoadedSession, inputs: &[Tensor]) -> Result<(), Failure> {
        if let Some(dumper) = &self.dumper {
            let model = loaded.session.model();
            dumper.add_plan(&**model, &*loaded.session.plan(inputs)?)?;
        }
        Ok(())
    }

    /// Returns the instruments in the order in which they are called.
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
        let names = graph.outputs.iter().map(|&id| KeptText::new(&graph.value(id).name));
        insert(Tensors::new(names.zip(outputs)))
    }
}

fn inputs_from_c(inputs: SizedCounted<'_, opscope_tensor_t<'_>>) -> Result<Vec<Tensor>, Failure> {
    if inputs.count() > 0 && inputs.is_null() {
        return Err(Failure::argument(format!("inputs is NULL, and its count is {}", inputs.count())));
    }
    inputs.get()?.iter().map(tensor_from_c).collect()
}
