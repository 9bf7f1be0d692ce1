//! The options of sessions, and their execution providers. The library creates most of them by name; some older
//! ones have their own functions.

use std::ffi::{CString, c_char, c_int};
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::{self, NonNull};

use ort_sys::{
    ExecutionMode as OrtExecutionMode, GraphOptimizationLevel as OrtLevel, OrtCustomOpDomain, OrtSessionOptions,
};

use super::{Api, call, text};
use crate::errors::Refusal;
use crate::options::{ExecutionMode, GraphOptimizationLevel};

/// How a session is created.
pub(crate) struct SessionOptions {
    pub(super) api: Api,
    pub(super) raw: NonNull<OrtSessionOptions>,
}

// SAFETY: options are only read once they are set, and any thread may release them.
unsafe impl Send for SessionOptions {}
// SAFETY: as above.
unsafe impl Sync for SessionOptions {}

/// The library's number for messages of the highest severity.
const FATAL: c_int = 4;

impl SessionOptions {
    pub fn new(api: Api) -> Result<Self, Refusal> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written.
        unsafe { call!(api, CreateSessionOptions(&mut raw)) }?;
        Ok(Self { api, raw: NonNull::new(raw).ok_or("it made no session options")? })
    }

    /// Copies options.
    ///
    /// # Safety
    /// The options are valid.
    pub unsafe fn copy_of(api: Api, options: *const OrtSessionOptions) -> Result<Self, Refusal> {
        let mut raw = ptr::null_mut();
        // SAFETY: guaranteed by the caller; `raw` may be written.
        unsafe { call!(api, CloneSessionOptions(options, &mut raw)) }?;
        Ok(Self { api, raw: NonNull::new(raw).ok_or("it made no session options")? })
    }

    /// Returns a copy.
    pub fn copied(&self) -> Result<Self, Refusal> {
        // SAFETY: the options are valid.
        unsafe { Self::copy_of(self.api, self.raw.as_ptr()) }
    }

    /// Makes the session print nothing and write no profile.
    pub fn silence(&mut self) -> Result<(), Refusal> {
        // SAFETY: the options are valid.
        unsafe {
            call!(self.api, SetSessionLogSeverityLevel(self.raw.as_ptr(), FATAL))?;
            call!(self.api, DisableProfiling(self.raw.as_ptr()))
        }
    }

    /// Sets the threads within an operator.
    pub fn intra_op_threads(&mut self, threads: NonZeroUsize) -> Result<(), Refusal> {
        let threads = c_int::try_from(threads.get()).unwrap_or(c_int::MAX);
        // SAFETY: the options are valid.
        unsafe { call!(self.api, SetIntraOpNumThreads(self.raw.as_ptr(), threads)) }
    }

    /// Sets how many operators may run at the same time.
    pub fn inter_op_threads(&mut self, threads: NonZeroUsize) -> Result<(), Refusal> {
        let threads = c_int::try_from(threads.get()).unwrap_or(c_int::MAX);
        // SAFETY: the options are valid.
        unsafe { call!(self.api, SetInterOpNumThreads(self.raw.as_ptr(), threads)) }
    }

    pub fn execution_mode(&mut self, mode: ExecutionMode) -> Result<(), Refusal> {
        let mode = match mode {
            ExecutionMode::Sequential => OrtExecutionMode::ORT_SEQUENTIAL,
            ExecutionMode::Parallel => OrtExecutionMode::ORT_PARALLEL,
        };
        // SAFETY: the options are valid.
        unsafe { call!(self.api, SetSessionExecutionMode(self.raw.as_ptr(), mode)) }
    }

    pub fn graph_optimization_level(&mut self, level: GraphOptimizationLevel) -> Result<(), Refusal> {
        let level = match level {
            GraphOptimizationLevel::Disable => OrtLevel::ORT_DISABLE_ALL,
            GraphOptimizationLevel::Basic => OrtLevel::ORT_ENABLE_BASIC,
            GraphOptimizationLevel::Extended => OrtLevel::ORT_ENABLE_EXTENDED,
            GraphOptimizationLevel::Layout => OrtLevel::ORT_ENABLE_LAYOUT,
            GraphOptimizationLevel::All => OrtLevel::ORT_ENABLE_ALL,
        };
        // SAFETY: the options are valid.
        unsafe { call!(self.api, SetSessionGraphOptimizationLevel(self.raw.as_ptr(), level)) }
    }

    /// Sets an entry of the session's configuration, such as `session.intra_op.allow_spinning`.
    pub fn config(&mut self, key: &str, value: &str) -> Result<(), Refusal> {
        let (key, value) = (text(key), text(value));
        // SAFETY: the options and both texts are valid; the library copies them.
        unsafe { call!(self.api, AddSessionConfigEntry(self.raw.as_ptr(), key.as_ptr(), value.as_ptr())) }
    }

    /// Makes the library write the graph that it runs to this path.
    pub fn write_optimized_model(&mut self, path: &str) -> Result<(), Refusal> {
        let path = text(path);
        // SAFETY: the options and the text are valid; the library copies it.
        unsafe { call!(self.api, SetOptimizedModelFilePath(self.raw.as_ptr(), path.as_ptr())) }
    }

    /// Adds the operator set of taps.
    ///
    /// # Safety
    /// The domain outlives every session that is created with these options.
    pub unsafe fn add_domain(&mut self, domain: *mut OrtCustomOpDomain) -> Result<(), Refusal> {
        // SAFETY: the options are valid; the caller guarantees that the domain is.
        unsafe { call!(self.api, AddCustomOpDomain(self.raw.as_ptr(), domain)) }
    }

    /// Gives the library the files with external data: either the directory to read them from, or their contents, by
    /// the names that the model has for them.
    ///
    /// # Safety
    /// The contents outlive every session that is created with these options, and nothing writes to them.
    pub unsafe fn external_files(
        &mut self,
        directory: Option<&Path>,
        files: &[(String, &[u8])],
    ) -> Result<(), Refusal> {
        if let Some(directory) = directory {
            let path = directory.to_str().ok_or_else(|| format!("{}: its name is not text", directory.display()))?;
            return self.config("session.model_external_initializers_file_folder_path", path);
        }
        let names: Vec<CString> = files.iter().map(|(name, _)| text(name)).collect();
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let contents: Vec<_> = files.iter().map(|(_, bytes)| bytes.as_ptr().cast_mut().cast()).collect();
        let lengths: Vec<_> = files.iter().map(|(_, bytes)| bytes.len()).collect();
        let options = self.raw.as_ptr();
        // SAFETY: the three lists have the same length; the caller guarantees that the contents, which are only read,
        // live long enough.
        unsafe {
            call!(
                self.api,
                AddExternalInitializersFromMemory(
                    options,
                    names.as_ptr(),
                    contents.as_ptr(),
                    lengths.as_ptr(),
                    files.len()
                )
            )
        }
    }
}

impl Drop for SessionOptions {
    fn drop(&mut self) {
        // SAFETY: the options are valid and not used again; sessions have their own copies.
        unsafe { ((*self.api.table().as_ptr()).ReleaseSessionOptions)(self.raw.as_ptr()) };
    }
}

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
