use std::cell::RefCell;
use std::ffi::c_char;

use opscope::debug::expression::TensorRef;
use opscope::debug::{DebugError, Sequence, Stopped};
use opscope::tensor::Tensor;
use opscope_border::{Out, SizedIn, Text, UserData, exported, required};
use serde_json::json;

use super::attachment::opscope_attachment_t;
use crate::border::opscope_status_t::{OPSCOPE_ERROR_INTERNAL, OPSCOPE_ERROR_INVALID_ARGUMENT};
use crate::border::{Failure, KeptText, get, insert, keep};
use crate::tensor::{Tensors, for_c, opscope_tensor_t, opscope_tensors_t, tensor_from_c};

/// Called with a tensor of a stopped run, on the thread of that run. The tensor is the engine's own memory, and valid
/// until the callback returns. The callback must not throw, and must not itself look at stopped runs.
pub type opscope_look_callback_t = Option<extern "C" fn(tensor: &opscope_tensor_t<'_>, user: UserData)>;

thread_local! {
    /// The last JSON text that this thread has queried.
    static JSON: RefCell<Option<KeptText>> = const { RefCell::new(None) };
}

/// Copies a tensor of a stopped run into a new list with one tensor, which the caller frees. `reference` is `input[0]`,
/// `output[1]`, `weight[0]` or `value("name")`.
#[exported]
pub fn opscope_attachment_tensor(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: Text<'_>,
    tensors: Out<'_, opscope_tensors_t>,
) -> Result<(), Failure> {
    let tensors = tensors.place("tensors")?;
    let (name, reference) = reference_from_c(reference)?;
    let copy =
        move |stopped: &mut Stopped<'_>| -> Result<Tensor, DebugError> { Ok(stopped.tensor(&reference)?.to_tensor()?) };
    let tensor = get(attachment)?.look(Sequence(sequence), copy)??;
    tensors.write(insert(Tensors::new([(name, tensor)])));
    Ok(())
}

/// Calls back with a tensor of a stopped run, without a copy, and returns once the callback has returned. This restarts
/// the lease of the event.
#[exported]
pub fn opscope_attachment_look(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: Text<'_>,
    callback: opscope_look_callback_t,
    user: UserData,
) -> Result<(), Failure> {
    let callback = required(callback, "callback")?;
    let (name, reference) = reference_from_c(reference)?;
    let look = move |stopped: &mut Stopped<'_>| -> Result<(), DebugError> {
        let view = stopped.tensor(&reference)?;
        let copy;
        let bytes = match view.bytes() {
            Some(bytes) => bytes,
            None => {
                copy = view.to_tensor()?;
                copy.bytes()
            }
        };
        let tensor = for_c(view.dtype(), view.shape(), bytes, &name);
        callback(&tensor, user);
        Ok(())
    };
    get(attachment)?.look(Sequence(sequence), look)??;
    Ok(())
}

/// Replaces an input before an operator, or an output after it. The tensor, which is copied, must have the same type
/// and shape.
#[exported]
pub fn opscope_attachment_replace(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: Text<'_>,
    tensor: SizedIn<'_, opscope_tensor_t<'_>>,
) -> Result<(), Failure> {
    let ((_, reference), tensor) = (reference_from_c(reference)?, tensor_from_c(&tensor.get()?)?);
    Ok(get(attachment)?.replace(Sequence(sequence), reference, tensor)?)
}

/// Writes a JSON object to `json` that says where a stopped run is, and which tensors it has there;
/// `docs/debug-protocol.md` describes it as a location. The text is valid until the same thread's next query.
#[exported]
pub fn opscope_attachment_location(
    attachment: opscope_attachment_t,
    sequence: u64,
    json: Out<'_, *const c_char>,
) -> Result<(), Failure> {
    let location = get(attachment)?.location(Sequence(sequence))?;
    give_json(&serde_json::to_value(location).map_err(unwritable)?, json)
}

/// Writes a JSON object to `json` with the models, the runs, the stopped threads and the queues under `status`, and the
/// breakpoints under `breakpoints`; `docs/debug-protocol.md` describes both. The text is valid until the same thread's
/// next query.
#[exported]
pub fn opscope_attachment_status(
    attachment: opscope_attachment_t,
    json: Out<'_, *const c_char>,
) -> Result<(), Failure> {
    let attachment = get(attachment)?;
    let all = json!({ "status": attachment.status()?, "breakpoints": attachment.breakpoints()? });
    give_json(&all, json)
}

fn reference_from_c(reference: Text<'_>) -> Result<(KeptText, TensorRef), Failure> {
    let text = reference.str("reference")?;
    let parsed = text.parse::<TensorRef>();
    let wrong = |error| Failure::new(OPSCOPE_ERROR_INVALID_ARGUMENT, format!("'{text}' names no tensor: {error}"));
    Ok((KeptText::new(text), parsed.map_err(wrong)?))
}

fn give_json(value: &serde_json::Value, to: Out<'_, *const c_char>) -> Result<(), Failure> {
    let to = to.place("json")?;
    let pointer = keep(&JSON, KeptText::new(&value.to_string()), KeptText::as_ptr)?;
    to.write(pointer);
    Ok(())
}

fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(OPSCOPE_ERROR_INTERNAL, error.to_string())
}
