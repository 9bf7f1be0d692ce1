use std::cell::RefCell;
use std::ffi::{c_char, c_void};

use opscope::debug::expression::TensorRef;
use opscope::debug::{DebugError, Sequence, Stopped};
use opscope::tensor::Tensor;
use serde_json::json;

use super::attachment::opscope_attachment_t;
use crate::border::opscope_status_t::{self, OPSCOPE_ERROR_INTERNAL, OPSCOPE_ERROR_INVALID_ARGUMENT};
use crate::border::{Failure, Text, UserData, call, get, insert, keep, out, read, read_text, required};
use crate::tensor::{Tensors, for_c, opscope_tensor_t, opscope_tensors_t, tensor_from_c};

/// Called with a tensor of a stopped run, on the thread of that run. The tensor is the engine's own memory, and valid until the
/// callback returns. The callback must not throw, and cannot look at stopped runs itself.
pub type opscope_look_callback_t = Option<unsafe extern "C" fn(tensor: *const opscope_tensor_t, user: *mut c_void)>;

thread_local! {
    /// The last JSON text that this thread asked for.
    static JSON: RefCell<Option<Text>> = const { RefCell::new(None) };
}

/// Copies a tensor of a stopped run into a new list of one, which the caller frees. `reference` is `input[0]`, `output[1]`,
/// `weight[0]` or `value("name")`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_tensor(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: *const c_char,
    tensors: *mut opscope_tensors_t,
) -> opscope_status_t {
    call(|| {
        let tensors = out(tensors, "tensors")?;
        // SAFETY: as the caller promises.
        let (name, reference) = unsafe { reference_from_c(reference)? };
        let copy = move |stopped: &mut Stopped<'_>| -> Result<Tensor, DebugError> {
            Ok(stopped.tensor(&reference)?.to_tensor()?)
        };
        let tensor = get(attachment)?.look(Sequence(sequence), copy)??;
        // SAFETY: it is not NULL, and the caller promises that it is writable.
        unsafe { tensors.write(insert(Tensors::new([(name, tensor)]))) };
        Ok(())
    })
}

/// Calls back with a tensor of a stopped run, without a copy, and returns when the callback has. This restarts the lease of the
/// event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_look(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: *const c_char,
    callback: opscope_look_callback_t,
    user: *mut c_void,
) -> opscope_status_t {
    call(|| {
        let (callback, user) = (required(callback)?, UserData(user));
        // SAFETY: as the caller promises.
        let (name, reference) = unsafe { reference_from_c(reference)? };
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
            let tensor = for_c(view.dtype(), view.shape(), bytes, name.as_ptr());
            // SAFETY: the program promises that the function takes these arguments during the call.
            unsafe { callback(&tensor, user.pointer()) };
            Ok(())
        };
        get(attachment)?.look(Sequence(sequence), look)??;
        Ok(())
    })
}

/// Replaces an input before an operator, or an output after it. The tensor, which is copied, must have the same type and shape.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_replace(
    attachment: opscope_attachment_t,
    sequence: u64,
    reference: *const c_char,
    tensor: *const opscope_tensor_t,
) -> opscope_status_t {
    call(|| {
        // SAFETY: as the caller promises.
        let ((_, reference), tensor) = unsafe { (reference_from_c(reference)?, tensor_from_c(&read(tensor)?)?) };
        Ok(get(attachment)?.replace(Sequence(sequence), reference, tensor)?)
    })
}

/// Writes a JSON object to `json` that says where a stopped run is, and which tensors it has there: `docs/debug-protocol.md`
/// describes it as a location. The text is valid until the same thread asks for the next one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_location(
    attachment: opscope_attachment_t,
    sequence: u64,
    json: *mut *const c_char,
) -> opscope_status_t {
    call(|| {
        let location = get(attachment)?.location(Sequence(sequence))?;
        // SAFETY: as the caller promises.
        unsafe { give_json(&serde_json::to_value(location).map_err(unwritable)?, json) }
    })
}

/// Writes a JSON object to `json` with the models, the runs, the stopped threads and the queues under `status`, and the
/// breakpoints under `breakpoints`: `docs/debug-protocol.md` describes both. The text is valid until the same thread asks for the
/// next one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attachment_status(
    attachment: opscope_attachment_t,
    json: *mut *const c_char,
) -> opscope_status_t {
    call(|| {
        let attachment = get(attachment)?;
        let all = json!({ "status": attachment.status()?, "breakpoints": attachment.breakpoints()? });
        // SAFETY: as the caller promises.
        unsafe { give_json(&all, json) }
    })
}

unsafe fn reference_from_c(reference: *const c_char) -> Result<(Text, TensorRef), Failure> {
    // SAFETY: as the caller promises.
    let text = unsafe { read_text(reference, "reference")? };
    let parsed = text.parse::<TensorRef>();
    let wrong = |error| Failure::new(OPSCOPE_ERROR_INVALID_ARGUMENT, format!("'{text}' names no tensor: {error}"));
    Ok((Text::new(text), parsed.map_err(wrong)?))
}

unsafe fn give_json(value: &serde_json::Value, to: *mut *const c_char) -> Result<(), Failure> {
    let to = out(to, "json")?;
    let pointer = keep(&JSON, Text::new(&value.to_string()), Text::as_ptr)?;
    // SAFETY: it is not NULL, and the caller promises that it is writable.
    unsafe { to.write(pointer) };
    Ok(())
}

fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(OPSCOPE_ERROR_INTERNAL, error.to_string())
}
