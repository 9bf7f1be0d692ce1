use opscope_trace::Policy;

use crate::border::Status;

const NONE: u32 = 0;
const DISCARD: u32 = 1;
const LOSSLESS: u32 = 2;

/// Returns the policy for a number of `rocprofiler_buffer_policy_t`. The environment variable with the name of an
/// enumerator overrides it, if its value is 1; both such variables together are an error.
pub fn policy(number: u32) -> Result<Policy, Status> {
    let given = match number {
        NONE | DISCARD => Policy::Discard,
        LOSSLESS => Policy::Lossless,
        _ => return Err(Status::InvalidArgument),
    };
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| value == "1");
    match (is_set("ROCPROFILER_BUFFER_POLICY_DISCARD"), is_set("ROCPROFILER_BUFFER_POLICY_LOSSLESS")) {
        (true, true) => Err(Status::InvalidArgument),
        (true, false) => Ok(Policy::Discard),
        (false, true) => Ok(Policy::Lossless),
        (false, false) => Ok(given),
    }
}
