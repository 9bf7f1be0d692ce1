//! ONNX Runtime as a program without opscope drives it: by its C interface, in this process.

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use opscope::engine::{GraphOptimizationLevel, Library};
use opscope::onnx::Graph;
use opscope::tensor::{DType, Tensor};
use ort_sys::{
    GraphOptimizationLevel as Level, ONNXTensorElementDataType as Element, OrtApi, OrtApiBase, OrtLoggingLevel,
    OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue,
};

/// A session with the inputs of its runs. It is never freed, because a benchmark creates only a few and then ends.
pub struct Direct {
    api: &'static OrtApi,
    session: *mut OrtSession,
    inputs: Vec<*const OrtValue>,
    input_names: Vec<CString>,
    output_names: Vec<CString>,
    profiled: *mut OrtRunOptions,
}

impl Direct {
    /// Loads a model for runs on one thread. Profiles of runs go to files whose paths begin with `prefix`.
    pub fn load(
        library: &Library,
        path: &Path,
        level: GraphOptimizationLevel,
        graph: &Graph,
        inputs: &[Tensor],
        prefix: &Path,
    ) -> Self {
        let api = table(library.path());
        let level = match level {
            GraphOptimizationLevel::Disable => Level::ORT_DISABLE_ALL,
            _ => Level::ORT_ENABLE_ALL,
        };
        let (path, prefix) = (text(path.as_os_str().as_bytes()), text(prefix.as_os_str().as_bytes()));
        let (mut env, mut options, mut session) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let mut profiled = ptr::null_mut();
        // SAFETY: as the interface requires, every result is valid, and every text lives until its call returns.
        unsafe {
            let warning = OrtLoggingLevel::ORT_LOGGING_LEVEL_WARNING;
            check(api, (api.CreateEnv)(warning, c"bench".as_ptr(), &mut env));
            check(api, (api.CreateSessionOptions)(&mut options));
            check(api, (api.SetIntraOpNumThreads)(options, 1));
            check(api, (api.SetSessionGraphOptimizationLevel)(options, level));
            check(api, (api.CreateSession)(env, path.as_ptr(), options, &mut session));
            check(api, (api.CreateRunOptions)(&mut profiled));
            check(api, (api.RunOptionsEnableProfiling)(profiled, prefix.as_ptr()));
        }
        let names = |values: &[opscope::onnx::ValueId]| {
            values.iter().map(|&value| text(graph.value(value).name.as_bytes())).collect::<Vec<_>>()
        };
        Self {
            api,
            session,
            inputs: inputs.iter().map(|input| value(api, input).cast_const()).collect(),
            input_names: names(&graph.inputs),
            output_names: names(&graph.outputs),
            profiled,
        }
    }

    /// Runs once. `profiled` chooses whether the library writes a profile of its own.
    pub fn run(&self, profiled: bool) {
        let pointers = |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect::<Vec<*const c_char>>();
        let (inputs, outputs) = (pointers(&self.input_names), pointers(&self.output_names));
        let mut values: Vec<*mut OrtValue> = vec![ptr::null_mut(); outputs.len()];
        let options = if profiled { self.profiled.cast_const() } else { ptr::null() };
        // SAFETY: every list has the length that is passed with it, and each result of the run is released once.
        unsafe {
            let ran = (self.api.Run)(
                self.session,
                options,
                inputs.as_ptr(),
                self.inputs.as_ptr(),
                inputs.len(),
                outputs.as_ptr(),
                outputs.len(),
                values.as_mut_ptr(),
            );
            check(self.api, ran);
            values.into_iter().for_each(|value| (self.api.ReleaseValue)(value));
        }
    }
}

/// Returns the table of the library's functions.
fn table(library: &Path) -> &'static OrtApi {
    let path = text(library.as_os_str().as_bytes());
    // SAFETY: it is the library that the engine has loaded, and its entry has this type. The table lives as long as the
    // process.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        let entry = libc::dlsym(handle, c"OrtGetApiBase".as_ptr());
        assert!(!entry.is_null(), "{}", library.display());
        let entry: unsafe extern "C" fn() -> *const OrtApiBase = std::mem::transmute(entry);
        ((*entry()).GetApi)(25).as_ref().expect("ONNX Runtime 1.25 or later")
    }
}

/// Creates a tensor in the library's memory.
fn value(api: &OrtApi, tensor: &Tensor) -> *mut OrtValue {
    let element = match tensor.dtype() {
        DType::F32 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        DType::I64 => Element::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        other => panic!("no model of the benchmark takes {other}"),
    };
    let shape: Vec<i64> = tensor.shape().iter().map(|&dim| dim as i64).collect();
    let (mut allocator, mut value, mut data) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: every result is valid; the tensor has as many bytes as its type and shape say.
    unsafe {
        check(api, (api.GetAllocatorWithDefaultOptions)(&mut allocator));
        check(api, (api.CreateTensorAsOrtValue)(allocator, shape.as_ptr(), shape.len(), element, &mut value));
        check(api, (api.GetTensorMutableData)(value, &mut data));
        ptr::copy_nonoverlapping(tensor.bytes().as_ptr(), data.cast(), tensor.bytes().len());
    }
    value
}

fn check(api: &OrtApi, status: OrtStatusPtr) {
    if !status.0.is_null() {
        // SAFETY: the status is an error, and its text lives as long as the status.
        let message = unsafe { CStr::from_ptr((api.GetErrorMessage)(status.0)) };
        panic!("ONNX Runtime: {}", message.to_string_lossy());
    }
}

fn text(bytes: &[u8]) -> CString {
    CString::new(bytes).expect("no text has a null byte")
}
