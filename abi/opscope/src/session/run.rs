use opscope::model::Instrument;
use opscope::tensor::Tensor;

use super::load::{LoadedSession, opscope_session_t};
use crate::border::opscope_status_t;
use crate::border::{Failure, Text, call, get, insert, read_array};
use crate::tensor::{Tensors, opscope_tensor_t, opscope_tensors_t, tensor_from_c};

/// Runs the model once, on the calling thread. `inputs` are in the order of the model's inputs. Where `outputs` is not NULL,
/// the outputs are copied into a new list, which the caller frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_session_run(
    session: opscope_session_t,
    inputs: *const opscope_tensor_t,
    input_count: usize,
    outputs: *mut opscope_tensors_t,
) -> opscope_status_t {
    call(|| {
        let loaded = get(session)?;
        // SAFETY: as the caller promises.
        let inputs = unsafe { inputs_from_c(inputs, input_count)? };
        let computed = loaded.run(&inputs, &[])?;
        if !outputs.is_null() {
            // SAFETY: it is not NULL, and the caller promises that it is writable.
            unsafe { outputs.write(loaded.named(computed)) };
        }
        Ok(())
    })
}

impl LoadedSession {
    fn run(&self, inputs: &[Tensor], instruments: &[&dyn Instrument]) -> Result<Vec<Tensor>, Failure> {
        Ok(self.session.run(inputs, instruments)?)
    }

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
