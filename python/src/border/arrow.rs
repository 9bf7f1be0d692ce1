//! Tables as streams of Arrow's C data interface, in the capsules that pyarrow, polars, pandas and DuckDB take. Columns are not copied:
//! what is handed over points into the table and keeps it.
//!
//! The structures and their rules: <https://arrow.apache.org/docs/format/CDataInterface.html> and
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>. The receiver of a structure
//! calls its `release` once, and may move the structure first.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::columns::{Column, Columns, Values};

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";
const NULLABLE: i64 = 2;

/// Returns a capsule with a stream of the table: its schema, and one batch.
pub fn stream<'py>(py: Python<'py>, table: &Arc<Columns>) -> PyResult<Bound<'py, PyAny>> {
    let state = Box::new(Stream { table: Arc::clone(table), is_read: false });
    let stream = Box::new(ArrowArrayStream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private_data: Box::into_raw(state).cast(),
    });
    // SAFETY: the pointer is not null, the name lives for ever, and the destructor is that of the structure.
    unsafe {
        let capsule = ffi::PyCapsule_New(Box::into_raw(stream).cast(), STREAM.as_ptr(), Some(drop_stream));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

/// Returns a capsule with the schema of the table.
pub fn schema<'py>(py: Python<'py>, table: &Columns) -> PyResult<Bound<'py, PyAny>> {
    let schema = Box::new(schema_of(table));
    // SAFETY: as above.
    unsafe {
        let capsule = ffi::PyCapsule_New(Box::into_raw(schema).cast(), SCHEMA.as_ptr(), Some(drop_schema));
        Bound::from_owned_ptr_or_err(py, capsule)
    }
}

struct Stream {
    table: Arc<Columns>,
    is_read: bool,
}

unsafe extern "C" fn get_schema(stream: *mut ArrowArrayStream, into: *mut ArrowSchema) -> c_int {
    // SAFETY: the caller passes a stream of `stream` that is not released, and a place for the schema.
    unsafe {
        let state = (*stream).private_data.cast::<Stream>();
        into.write(schema_of(&(*state).table));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut ArrowArrayStream, into: *mut ArrowArray) -> c_int {
    // SAFETY: as above; one thread at a time reads a stream.
    unsafe {
        let state = &mut *(*stream).private_data.cast::<Stream>();
        // An array that is released says that there is no more.
        into.write(if state.is_read { ended() } else { batch_of(&state.table) });
        state.is_read = true;
    }
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut ArrowArrayStream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut ArrowArrayStream) {
    // SAFETY: it is a stream of `stream`, and is released once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Stream>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn drop_stream(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this once with the capsule. A consumer that moved the stream out has set its `release` to
    // null.
    unsafe {
        let stream = ffi::PyCapsule_GetPointer(capsule, STREAM.as_ptr()).cast::<ArrowArrayStream>();
        if let Some(release) = (*stream).release {
            release(stream);
        }
        drop(Box::from_raw(stream));
    }
}

unsafe extern "C" fn drop_schema(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        let schema = ffi::PyCapsule_GetPointer(capsule, SCHEMA.as_ptr()).cast::<ArrowSchema>();
        if let Some(release) = (*schema).release {
            release(schema);
        }
        drop(Box::from_raw(schema));
    }
}

/// What a schema keeps.
struct KeptSchema {
    _name: CString,
    children: Vec<*mut ArrowSchema>,
}

fn schema_of(table: &Columns) -> ArrowSchema {
    let child = |column: &Column| Box::into_raw(Box::new(described(column.name, column.values.format(), Vec::new())));
    described("", c"+s", table.columns().iter().map(child).collect())
}

fn described(name: &str, format: &'static CStr, children: Vec<*mut ArrowSchema>) -> ArrowSchema {
    // A name of a column has no zero byte in it.
    let name = CString::new(name).unwrap_or_default();
    let flags = if children.is_empty() { NULLABLE } else { 0 };
    let mut kept = Box::new(KeptSchema { _name: name, children });
    ArrowSchema {
        format: format.as_ptr(),
        name: kept._name.as_ptr(),
        metadata: ptr::null(),
        flags,
        n_children: kept.children.len() as i64,
        children: kept.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: Box::into_raw(kept).cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: `described` made it, and it is released once. A child that someone moved out has no `release` any more.
    unsafe {
        let kept = Box::from_raw((*schema).private_data.cast::<KeptSchema>());
        for &child in &kept.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

/// What an array keeps.
struct KeptArray {
    _table: Arc<Columns>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

fn batch_of(table: &Arc<Columns>) -> ArrowArray {
    let child = |column: &Column| {
        let start = |bytes: Option<*const u8>| bytes.map_or(ptr::null(), |start| start.cast::<c_void>());
        let validity = start(column.validity.as_ref().map(|bits| bits.as_ptr()));
        let buffers = match &column.values {
            Values::Integers(numbers) => vec![validity, numbers.as_ptr().cast()],
            Values::Numbers(numbers) => vec![validity, numbers.as_ptr().cast()],
            Values::Truths(bits) => vec![validity, bits.as_ptr().cast()],
            Values::Texts { ends, text } => vec![validity, ends.as_ptr().cast(), text.as_ptr().cast()],
        };
        Box::into_raw(Box::new(array(table, column.nulls as i64, buffers, Vec::new())))
    };
    let children = table.columns().iter().map(child).collect();
    array(table, 0, vec![ptr::null()], children)
}

fn array(
    table: &Arc<Columns>,
    null_count: i64,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
) -> ArrowArray {
    let mut kept = Box::new(KeptArray { _table: Arc::clone(table), buffers, children });
    ArrowArray {
        length: table.rows() as i64,
        null_count,
        offset: 0,
        n_buffers: kept.buffers.len() as i64,
        n_children: kept.children.len() as i64,
        buffers: kept.buffers.as_mut_ptr(),
        children: kept.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(kept).cast(),
    }
}

fn ended() -> ArrowArray {
    ArrowArray {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: ptr::null_mut(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: `array` made it, and it is released once. A child that someone moved out has no `release` any more.
    unsafe {
        let kept = Box::from_raw((*array).private_data.cast::<KeptArray>());
        for &child in &kept.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

impl Values {
    fn format(&self) -> &'static CStr {
        match self {
            Self::Integers(_) => c"l",
            Self::Numbers(_) => c"g",
            Self::Truths(_) => c"b",
            Self::Texts { .. } => c"u",
        }
    }
}

// The layouts of Arrow's C data interface on machines of 64 bits.
const _: () =
    assert!(size_of::<ArrowSchema>() == 72 && size_of::<ArrowArray>() == 80 && size_of::<ArrowArrayStream>() == 40);
