use opscope::debug::{DebugError, Resume, Target};
use opscope_border::{SizedCounted, SizedIn, SizedItems, Text, counted, sized};

use crate::border::{Failure, constant};
use crate::tensor::{opscope_tensor_t, tensor_from_c};

/// How a stopped run continues.
#[repr(C)]
pub enum opscope_resume_action_t {
    /// It continues until something stops it.
    OPSCOPE_RESUME_CONTINUE = 0,
    /// It continues to its next operator.
    OPSCOPE_RESUME_STEP = 1,
    /// It continues to the end of this operator; from there, to the end of the next one.
    OPSCOPE_RESUME_FINISH = 2,
    /// It continues to one of the operators in `text`, or to its end.
    OPSCOPE_RESUME_UNTIL = 3,
    /// It continues without executing the operator that it is stopped before; `outputs` replace the operator's.
    OPSCOPE_RESUME_SKIP = 4,
    /// It ends immediately: the run fails with `text` as its reason.
    OPSCOPE_RESUME_ABORT = 5,
}

/// How a stopped run continues. It continues with the tensors that were replaced while it was stopped.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_resume_t<'a> {
    /// `sizeof(opscope_resume_t)`.
    pub size: usize,
    /// The target of `OPSCOPE_RESUME_UNTIL`, the reason of `OPSCOPE_RESUME_ABORT`.
    pub text: Text<'a>,
    /// The outputs of `OPSCOPE_RESUME_SKIP`, one for each slot.
    pub outputs: SizedItems<'a, opscope_tensor_t<'a>>,
    /// The number of `outputs`.
    pub output_count: usize,
    /// An `opscope_resume_action_t`.
    pub action: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_resume_t<'a>, 40);
counted!(opscope_resume_t<'a> { outputs[output_count] -> SizedCounted<'a, opscope_tensor_t<'a>> });

type Read = fn(&opscope_resume_t<'_>) -> Result<Resume, Failure>;

/// Reads how a run continues, by the number of the action.
const ACTIONS: [Read; 6] = [
    |_| Ok(Resume::Continue),
    |_| Ok(Resume::Step),
    |_| Ok(Resume::Finish),
    |given| {
        let target = given.text.str("text")?.parse::<Target>();
        Ok(Resume::Until(target.map_err(DebugError::from)?))
    },
    |given| {
        let outputs = given.outputs().get()?;
        let outputs: Result<_, Failure> = outputs.iter().map(|output| tensor_from_c(output)).collect();
        Ok(Resume::Skip(outputs?))
    },
    |given| Ok(Resume::Abort(given.text.str("text")?.to_owned())),
];

pub(super) fn resume(how: SizedIn<'_, opscope_resume_t<'_>>) -> Result<Resume, Failure> {
    let given = how.get_or_default()?;
    let read = constant(given.action, "opscope_resume_action_t", &ACTIONS)?;
    read(&given)
}
