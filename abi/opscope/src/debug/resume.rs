use std::ffi::c_char;

use opscope::debug::{DebugError, Resume, Target};

use crate::border::{Failure, constant, read_array, read_or_default, read_text, sized};
use crate::tensor::{opscope_tensor_t, tensor_from_c};

/// How a stopped run continues.
#[repr(C)]
pub enum opscope_resume_action_t {
    /// Until something stops it.
    OPSCOPE_RESUME_CONTINUE = 0,
    /// To the next operator of this run.
    OPSCOPE_RESUME_STEP = 1,
    /// To the end of this operator; from there, to the end of the next one.
    OPSCOPE_RESUME_FINISH = 2,
    /// To the operators that `text` names, in this run, or to the run's end.
    OPSCOPE_RESUME_UNTIL = 3,
    /// Without executing the operator that it is before; `outputs` are taken as the operator's.
    OPSCOPE_RESUME_SKIP = 4,
    /// To its end at once: the run fails with `text` as its reason.
    OPSCOPE_RESUME_ABORT = 5,
}

/// How a stopped run continues, and what that needs. It uses the tensors that were replaced while it was stopped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_resume_t {
    /// `sizeof(opscope_resume_t)`.
    pub size: usize,
    /// The target of `OPSCOPE_RESUME_UNTIL`, the reason of `OPSCOPE_RESUME_ABORT`.
    pub text: *const c_char,
    /// The outputs of `OPSCOPE_RESUME_SKIP`, one for each slot.
    pub outputs: *const opscope_tensor_t,
    /// The number of `outputs`.
    pub output_count: usize,
    /// An `opscope_resume_action_t`.
    pub action: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_resume_t, 40);

type Read = unsafe fn(&opscope_resume_t) -> Result<Resume, Failure>;

/// Reads how a run continues, by the number of the action.
const ACTIONS: [Read; 6] = [
    |_| Ok(Resume::Continue),
    |_| Ok(Resume::Step),
    |_| Ok(Resume::Finish),
    |given| {
        // SAFETY: as the caller promises.
        let target = unsafe { read_text(given.text, "text")? }.parse::<Target>();
        Ok(Resume::Until(target.map_err(DebugError::from)?))
    },
    |given| {
        // SAFETY: as the caller promises.
        let outputs = unsafe { read_array(given.outputs, given.output_count)? };
        // SAFETY: as the caller promises.
        let outputs: Result<_, Failure> = outputs.iter().map(|output| unsafe { tensor_from_c(output) }).collect();
        Ok(Resume::Skip(outputs?))
    },
    // SAFETY: as the caller promises.
    |given| Ok(Resume::Abort(unsafe { read_text(given.text, "text")? }.to_owned())),
];

pub(super) unsafe fn resume(how: *const opscope_resume_t) -> Result<Resume, Failure> {
    // SAFETY: as the caller promises.
    let given = unsafe { read_or_default(how)? };
    let read = constant(given.action, "opscope_resume_action_t", &ACTIONS)?;
    // SAFETY: as the caller promises.
    unsafe { read(&given) }
}
