use std::ffi::{CStr, CString, c_char};
use std::ptr::{self, NonNull};

use opscope_onnx::Dim;
use ort_sys::{OrtAllocatorType, OrtMemType, OrtRunOptions, OrtSession, OrtTensorTypeAndShapeInfo, OrtValue};

use super::{Api, SessionOptions, Value, call, text};
use crate::errors::Refusal;

/// A model that the library has loaded.
pub(crate) struct Session {
    api: Api,
    raw: NonNull<OrtSession>,
    inputs: Vec<CString>,
    outputs: Vec<CString>,
}

// SAFETY: the library allows several threads to run a session at once, and any thread to release it.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

/// The options of a single run.
pub(crate) struct RunOptions {
    api: Api,
    raw: NonNull<OrtRunOptions>,
}

impl Session {
    /// Loads a model whose inputs and outputs have these names.
    pub fn load(
        model: &[u8],
        options: &SessionOptions,
        inputs: &[String],
        outputs: &[String],
    ) -> Result<Self, Refusal> {
        let api = options.api;
        let mut raw = ptr::null_mut();
        // SAFETY: the bytes and the options live until the call returns; the library copies both.
        unsafe {
            call!(
                api,
                CreateSessionFromArray(api.env(), model.as_ptr().cast(), model.len(), options.raw.as_ptr(), &mut raw)
            )
        }?;
        let texts = |names: &[String]| names.iter().map(|name| text(name)).collect();
        let raw = NonNull::new(raw).ok_or("it made no session")?;
        Ok(Self { api, raw, inputs: texts(inputs), outputs: texts(outputs) })
    }

    /// Runs once on the calling thread. The inputs are those of the model, by slot.
    pub fn run(&self, inputs: &[Value], options: Option<&RunOptions>) -> Result<Vec<Value>, Refusal> {
        if inputs.len() != self.inputs.len() {
            return Err(format!("{} inputs were given for {}", inputs.len(), self.inputs.len()).into());
        }
        let names = |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect::<Vec<*const c_char>>();
        let (input_names, output_names) = (names(&self.inputs), names(&self.outputs));
        let inputs: Vec<*const OrtValue> = inputs.iter().map(|input| input.raw().cast_const()).collect();
        let mut outputs: Vec<*mut OrtValue> = vec![ptr::null_mut(); self.outputs.len()];
        let options = options.map_or(ptr::null(), |options| options.raw.as_ptr().cast_const());
        // SAFETY: every list has the length that is passed with it, and all live until the call returns.
        let outcome = unsafe {
            call!(
                self.api,
                Run(
                    self.raw.as_ptr(),
                    options,
                    input_names.as_ptr(),
                    inputs.as_ptr(),
                    inputs.len(),
                    output_names.as_ptr(),
                    output_names.len(),
                    outputs.as_mut_ptr()
                )
            )
        };
        // SAFETY: outputs that are not null were created by the run for its caller.
        let outputs = outputs.into_iter().filter_map(|output| unsafe { Value::owned(self.api, output) }).collect();
        outcome.map(|()| outputs)
    }
}

impl Session {
    /// Returns whether the session keeps the memory of a run for the next one.
    pub fn has_arena(&self) -> bool {
        let (mut wanted, mut allocator, mut found) = (ptr::null_mut(), ptr::null_mut(), ptr::null());
        // Read as a number, because a newer library may have kinds that the binding lacks.
        let mut kind = OrtAllocatorType::OrtInvalidAllocator as i32;
        let (arena, memory) = (OrtAllocatorType::OrtArenaAllocator, OrtMemType::OrtMemTypeDefault);
        // SAFETY: the session is valid, and the results may be written. The allocator owns its description, and
        // everything created is released once.
        let outcome = unsafe {
            let table = self.api.table();
            call!(self.api, CreateCpuMemoryInfo(arena, memory, &mut wanted)).and_then(|()| {
                let outcome = call!(self.api, CreateAllocator(self.raw.as_ptr(), wanted, &mut allocator))
                    .and_then(|()| call!(self.api, AllocatorGetInfo(allocator, &mut found)))
                    .and_then(|()| call!(self.api, MemoryInfoGetType(found, ptr::from_mut(&mut kind).cast())));
                ((*table.as_ptr()).ReleaseAllocator)(allocator);
                ((*table.as_ptr()).ReleaseMemoryInfo)(wanted);
                outcome
            })
        };
        outcome.is_ok() && kind == OrtAllocatorType::OrtArenaAllocator as i32
    }
}

/// The type of a model's value, as far as it is known before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Known {
    /// A tensor.
    Tensor {
        /// The number of the element type in ONNX.
        element: i32,
        /// The dimensions, or `None` if even their number is unknown.
        dims: Option<Vec<Dim>>,
    },
    /// A sequence, an optional or a map.
    Other,
}

impl Session {
    /// Returns the type of each output.
    pub fn output_types(&self) -> Result<Vec<Known>, Refusal> {
        // SAFETY: the session is valid and has this many outputs.
        (0..self.outputs.len()).map(|slot| unsafe { self.output_type(slot) }).collect()
    }

    unsafe fn output_type(&self, slot: usize) -> Result<Known, Refusal> {
        let api = self.api;
        let (mut info, mut tensor) = (ptr::null_mut(), ptr::null());
        // SAFETY: the results may be written. The type owns the tensor's description, and is released once.
        unsafe {
            call!(api, SessionGetOutputTypeInfo(self.raw.as_ptr(), slot, &mut info))?;
            let read = call!(api, CastTypeInfoToTensorInfo(info, &mut tensor))
                .and_then(|()| if tensor.is_null() { Ok(Known::Other) } else { Known::of_tensor(api, tensor) });
            ((*api.table().as_ptr()).ReleaseTypeInfo)(info);
            read
        }
    }
}

impl Known {
    /// Reads the description of a tensor's type and shape.
    ///
    /// # Safety
    /// The description is valid.
    pub unsafe fn of_tensor(api: Api, info: *const OrtTensorTypeAndShapeInfo) -> Result<Self, Refusal> {
        let (mut element, mut rank) = (0i32, 0usize);
        // SAFETY: the description is valid, and the results may be written. The description owns the names of
        // dimensions, which are copied. The type is read as a number, because a newer library may have types that the
        // binding lacks.
        unsafe {
            call!(api, GetTensorElementType(info, ptr::from_mut(&mut element).cast()))?;
            call!(api, GetDimensionsCount(info, &mut rank))?;
            if rank == 0 && api.number() >= 24 && !((*api.table().as_ptr()).TensorTypeAndShape_HasShape)(info) {
                return Ok(Self::Tensor { element, dims: None });
            }
            let mut dims = vec![0i64; rank];
            let mut names: Vec<*const c_char> = vec![ptr::null(); rank];
            call!(api, GetDimensions(info, dims.as_mut_ptr(), rank))?;
            call!(api, GetSymbolicDimensions(info, names.as_mut_ptr(), rank))?;
            let dim = |(size, name): (i64, *const c_char)| match usize::try_from(size) {
                Ok(size) => Dim::Fixed(size),
                Err(_) if name.is_null() => Dim::Symbol(String::new()),
                Err(_) => Dim::Symbol(CStr::from_ptr(name).to_string_lossy().into_owned()),
            };
            let dims = dims.into_iter().zip(names).map(dim).collect();
            // An older library, which does not report whether a rank is known, shows an unknown one as that of a
            // scalar.
            let dims = if rank == 0 && api.number() < 24 { None } else { Some(dims) };
            Ok(Self::Tensor { element, dims })
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session is valid and not running, because runs borrow it.
        unsafe { ((*self.api.table().as_ptr()).ReleaseSession)(self.raw.as_ptr()) };
    }
}

impl RunOptions {
    pub fn new(api: Api) -> Result<Self, Refusal> {
        let mut raw = ptr::null_mut();
        // SAFETY: `raw` may be written.
        unsafe { call!(api, CreateRunOptions(&mut raw)) }?;
        Ok(Self { api, raw: NonNull::new(raw).ok_or("it made no run options")? })
    }

    /// Makes the library write a profile of the run to a file whose path begins with `prefix`.
    ///
    /// # Errors
    /// Returns an error if the library is older than 1.25.
    pub fn enable_profiling(&mut self, prefix: &str) -> Result<(), Refusal> {
        if self.api.number() < 25 {
            return Err(format!(
                "times of operators need ONNX Runtime 1.25 or later, which profiles single runs; this is 1.{}",
                self.api.number()
            )
            .into());
        }
        let prefix = text(prefix);
        // SAFETY: it was checked that the interface has the function; the library copies the text.
        unsafe { call!(self.api, RunOptionsEnableProfiling(self.raw.as_ptr(), prefix.as_ptr())) }
    }
}

impl Drop for RunOptions {
    fn drop(&mut self) {
        // SAFETY: the options are valid and not used again.
        unsafe { ((*self.api.table().as_ptr()).ReleaseRunOptions)(self.raw.as_ptr()) };
    }
}
