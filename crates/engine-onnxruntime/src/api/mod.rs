//! ONNX Runtime's C interface, as far as it is used here: what it creates is freed, its errors become results, and
//! texts have no null bytes.

mod environment;
mod options;
mod session;
mod value;

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{self, NonNull};

use ort_sys::{OrtApi, OrtEnv, OrtLoggingLevel, OrtStatusPtr};

pub use self::environment::HeldEnvironment;
pub(crate) use self::options::SessionOptions;
pub(crate) use self::session::{Known, RunOptions, Session};
pub(crate) use self::value::{Value, Values, described, is_in_main_memory, view};
use crate::errors::Refusal;

/// The library's table of functions, and its environment.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    table: NonNull<OrtApi>,
    number: u32,
    env: NonNull<OrtEnv>,
}

// SAFETY: the table is never written, and the library's functions may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: as above.
unsafe impl Sync for Api {}

/// Calls a function of the table that returns a status. The caller states why the arguments are valid.
macro_rules! call {
    ($api:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $api.check(((*$api.table().as_ptr()).$function)($($argument),*))
    };
}
pub(crate) use call;

impl Api {
    /// Creates the environment of the process. It is never freed, because sessions need it as long as they live.
    ///
    /// # Safety
    /// `table` is null, or the table of the interface with this number.
    pub unsafe fn new(table: *const OrtApi, number: u32) -> Result<Self, Refusal> {
        let table = NonNull::new(table.cast_mut()).ok_or_else(|| format!("it has no interface {number}"))?;
        let mut api = Self { table, number, env: NonNull::dangling() };
        let mut env = ptr::null_mut();
        // SAFETY: the logging function is static, and `env` may be written.
        unsafe {
            let (log, level) = (log as ort_sys::OrtLoggingFunction, OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING);
            call!(api, CreateEnvWithCustomLogger(log, ptr::null_mut(), level, c"opscope".as_ptr(), &mut env))?;
            call!(api, DisableTelemetryEvents(env))?;
        }
        api.env = NonNull::new(env).ok_or_else(|| "it made no environment".to_owned())?;
        Ok(api)
    }

    /// Uses an environment that the program has made.
    ///
    /// # Safety
    /// `table` is the table of the interface with this number, or of a later one. The environment is one of its library,
    /// and lives as long as the sessions that are created with it.
    pub unsafe fn with_env(table: NonNull<OrtApi>, number: u32, env: NonNull<OrtEnv>) -> Self {
        Self { table, number, env }
    }

    pub fn table(&self) -> NonNull<OrtApi> {
        self.table
    }

    /// Returns the number of the interface: entries of later interfaces must not be used.
    pub fn number(&self) -> u32 {
        self.number
    }

    fn env(&self) -> *mut OrtEnv {
        self.env.as_ptr()
    }

    /// Frees a status.
    ///
    /// # Errors
    /// The status' message, if it is an error.
    ///
    /// # Safety
    /// The status is one that the library has just returned.
    pub unsafe fn check(&self, status: OrtStatusPtr) -> Result<(), Refusal> {
        if status.0.is_null() {
            return Ok(());
        }
        // SAFETY: the status is not null, and its text lives as long as the status.
        unsafe {
            let table = self.table.as_ptr();
            let message = CStr::from_ptr(((*table).GetErrorMessage)(status.0)).to_string_lossy().into_owned();
            ((*table).ReleaseStatus)(status.0);
            Err(message.into())
        }
    }

    /// Returns a status with this message, for a function that the library calls.
    pub fn error(&self, message: &str) -> OrtStatusPtr {
        let message = text(message);
        // SAFETY: the text is a valid C string, which the library copies.
        unsafe { ((*self.table.as_ptr()).CreateStatus)(ort_sys::OrtErrorCode::ORT_FAIL, message.as_ptr()) }
    }

    /// Returns the execution providers of the library.
    pub fn providers(&self) -> Vec<String> {
        let (mut names, mut count) = (ptr::null_mut(), 0);
        // SAFETY: both results may be written; the list has `count` texts and is freed once.
        unsafe {
            if call!(self, GetAvailableProviders(&mut names, &mut count)).is_err() {
                return Vec::new();
            }
            let name = |index: usize| CStr::from_ptr(*names.add(index)).to_string_lossy().into_owned();
            let found = (0..usize::try_from(count).unwrap_or(0)).map(name).collect();
            let _ = call!(self, ReleaseAvailableProviders(names, count));
            found
        }
    }
}

/// Forwards the library's messages as traces. Prints nothing: the important ones are also in the errors of its
/// functions.
unsafe extern "system" fn log(
    _: *mut c_void,
    severity: OrtLoggingLevel,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
    message: *const c_char,
) {
    if message.is_null() {
        return;
    }
    // SAFETY: the library passes a valid C string for the duration of the call.
    let message = unsafe { CStr::from_ptr(message) }.to_string_lossy();
    // A panic of a subscriber must not unwind through the library.
    let _ = std::panic::catch_unwind(|| tracing::debug!(?severity, "onnxruntime: {message}"));
}

/// Returns a text for the library, cut at the first null byte.
pub(crate) fn text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
