//! Execution providers. The library creates most of them by name; some older ones have their own functions.

use std::ffi::{CString, c_char};
use std::ptr;

use crate::refusal::Refusal;

use super::{SessionOptions, call, text};

/// A provider's options in the library's form: two lists of texts.
struct Entries {
    keys: Vec<CString>,
    values: Vec<CString>,
}

impl Entries {
    fn of(options: &[(String, String)]) -> Self {
        let (keys, values) = options.iter().map(|(key, value)| (text(key), text(value))).unzip();
        Self { keys, values }
    }

    fn pointers(&self) -> (Vec<*const c_char>, Vec<*const c_char>) {
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect();
        (pointers(&self.keys), pointers(&self.values))
    }
}

/// Creates the options of a provider, fills them, appends the provider, and frees the options.
macro_rules! append {
    ($session:expr, $entries:expr, $create:ident, $update:ident, $append:ident, $release:ident) => {{
        let (keys, values) = $entries.pointers();
        let mut options = ptr::null_mut();
        call!($session.api, $create(&mut options)).and_then(|()| {
            let appended = call!($session.api, $update(options, keys.as_ptr(), values.as_ptr(), keys.len()))
                .and_then(|()| call!($session.api, $append($session.raw.as_ptr(), options)));
            ((*$session.api.table().as_ptr()).$release)(options);
            appended
        })
    }};
}

impl SessionOptions {
    /// Adds an execution provider by the library's full name for it.
    pub fn append_provider(&mut self, name: &str, options: &[(String, String)]) -> Result<(), Refusal> {
        let entries = Entries::of(options);
        // SAFETY: all texts live until the calls return; the library copies them. Everything created is freed once.
        unsafe {
            match name {
                // Every session has it already, after all others.
                "CPUExecutionProvider" if options.is_empty() => Ok(()),
                "CPUExecutionProvider" => Err("it has no options".into()),
                "CUDAExecutionProvider" => append!(
                    self,
                    entries,
                    CreateCUDAProviderOptions,
                    UpdateCUDAProviderOptions,
                    SessionOptionsAppendExecutionProvider_CUDA_V2,
                    ReleaseCUDAProviderOptions
                ),
                "TensorrtExecutionProvider" => append!(
                    self,
                    entries,
                    CreateTensorRTProviderOptions,
                    UpdateTensorRTProviderOptions,
                    SessionOptionsAppendExecutionProvider_TensorRT_V2,
                    ReleaseTensorRTProviderOptions
                ),
                "ROCMExecutionProvider" => append!(
                    self,
                    entries,
                    CreateROCMProviderOptions,
                    UpdateROCMProviderOptions,
                    SessionOptionsAppendExecutionProvider_ROCM,
                    ReleaseROCMProviderOptions
                ),
                "CANNExecutionProvider" => append!(
                    self,
                    entries,
                    CreateCANNProviderOptions,
                    UpdateCANNProviderOptions,
                    SessionOptionsAppendExecutionProvider_CANN,
                    ReleaseCANNProviderOptions
                ),
                _ => {
                    let short = text(match name.strip_suffix("ExecutionProvider").unwrap_or(name) {
                        "Dml" => "DML",
                        short => short,
                    });
                    let (keys, values) = entries.pointers();
                    let (count, session) = (keys.len(), self.raw.as_ptr());
                    call!(
                        self.api,
                        SessionOptionsAppendExecutionProvider(
                            session,
                            short.as_ptr(),
                            keys.as_ptr(),
                            values.as_ptr(),
                            count
                        )
                    )
                }
            }
        }
    }
}
