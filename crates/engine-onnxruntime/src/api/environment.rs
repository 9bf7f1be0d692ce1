//! The environment of a program, held while something beside the program uses it.

use std::ptr::{self, NonNull};

use ort_sys::{OrtEnv, OrtLoggingLevel};

use super::{Api, call};
use crate::errors::Refusal;

/// A reference to the environment of the process, which the library counts: a program that releases its own does not end
/// it.
pub struct HeldEnvironment {
    api: Api,
    env: NonNull<OrtEnv>,
}

// SAFETY: the library may release an environment from any thread.
unsafe impl Send for HeldEnvironment {}

impl HeldEnvironment {
    pub(crate) fn new(api: Api) -> Result<Self, Refusal> {
        let (mut env, level) = (ptr::null_mut(), OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING);
        // SAFETY: the name is static, and `env` may be written. Where there is an environment, the library counts one
        // more reference to it.
        unsafe { call!(api, CreateEnv(level, c"opscope".as_ptr(), &mut env)) }?;
        let env = NonNull::new(env).ok_or_else(|| "it made no environment".to_owned())?;
        Ok(Self { api, env })
    }
}

impl Drop for HeldEnvironment {
    fn drop(&mut self) {
        // SAFETY: the reference is released once.
        unsafe { ((*self.api.table().as_ptr()).ReleaseEnv)(self.env.as_ptr()) };
    }
}
