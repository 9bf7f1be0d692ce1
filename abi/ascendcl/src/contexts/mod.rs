//! Contexts, and the streams in them: the table of all contexts, and the default context of the device.

mod calls;

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::handles::{Handles, Kind};
use crate::streams::{Patience, Stream, refuse_in_callback};
use crate::thread_context;

/// The only device.
pub const DEVICE: i32 = 0;

pub fn check_device(device: i32) -> Result<(), Failure> {
    if device == DEVICE {
        return Ok(());
    }
    Err(Failure::wrong_value_of(codes::RT_INVALID_DEVICEID, "deviceId", device, "the only device is 0"))
}

/// Converts a timeout in milliseconds; -1 means forever, which is `None`. Any other value must be at least `least`.
pub fn limit(milliseconds: c_int, least: c_int) -> Result<Option<Duration>, Failure> {
    match milliseconds {
        -1 => Ok(None),
        _ if milliseconds >= least => Ok(Some(Duration::from_millis(milliseconds.unsigned_abs().into()))),
        _ => {
            let reason = format!("-1 is for ever, otherwise at least {least}");
            Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "timeout", milliseconds, &reason))
        }
    }
}

#[allow(non_camel_case_types)]
pub type aclrtContext = *mut c_void;
#[allow(non_camel_case_types)]
pub type aclrtStream = *mut c_void;

static CONTEXTS: Shared<Contexts> = Shared::new(Contexts::new(), || CONTEXTS.held(Contexts::forget));

struct Contexts {
    known: Handles<Context>,
    streams: Handles<Stream>,
    /// The number of the last stream that was created.
    last_stream: i32,
    /// The device's default context.
    primary: Option<Primary>,
    /// The values of options, by the context and the option's number; `None` instead of a context means the process.
    options: BTreeMap<(Option<usize>, i32), i64>,
}

struct Context {
    /// The handle of its default stream.
    default_stream: usize,
}

struct Primary {
    context: usize,
    /// How many times the device was set and not yet reset.
    users: usize,
}

impl Contexts {
    const fn new() -> Self {
        Self {
            known: Handles::new(Kind::Context),
            streams: Handles::new(Kind::Stream),
            last_stream: 0,
            primary: None,
            options: BTreeMap::new(),
        }
    }

    /// Empties the table in the child of a fork, because the threads of the streams exist only in the parent.
    fn forget(&mut self) {
        self.known.forget();
        self.streams.forget();
        self.primary = None;
        self.options.clear();
    }

    fn create(&mut self) -> usize {
        let context = self.known.next();
        let default_stream = self.create_stream(context);
        self.known.insert(Arc::new(Context { default_stream }))
    }

    fn create_stream(&mut self, context: usize) -> usize {
        self.last_stream += 1;
        self.streams.insert(Arc::new(Stream::new(self.last_stream, context)))
    }

    /// Removes a context, and returns its streams.
    fn remove(&mut self, context: usize) -> Vec<Arc<Stream>> {
        self.known.remove(context);
        self.options.retain(|(of, _), _| *of != Some(context));
        self.streams.take(|stream| stream.context() == context)
    }

    /// Returns the calling thread's current context.
    fn current(&self) -> Result<(usize, &Context), Failure> {
        let number = thread_context::get();
        let context = self.known.get(number).ok_or_else(|| {
            let text = "this thread has no current context: call aclrtSetDevice or aclrtSetCurrentContext first";
            Failure::new(codes::RT_CONTEXT_NULL, "EE1001", text)
        })?;
        Ok((number, context))
    }

    fn is_default(&self, stream: usize, context: usize) -> bool {
        self.known.get(context).is_some_and(|context| context.default_stream == stream)
    }

    fn stream(&self, stream: usize) -> Result<&Arc<Stream>, Failure> {
        let stream = self.streams.get(stream).ok_or_else(|| unknown("stream", stream))?;
        if self.current()?.0 != stream.context() {
            let text = format!("stream {} belongs to another context than the current one", stream.id());
            return Err(Failure::new(codes::RT_STREAM_CONTEXT, "EE1003", text));
        }
        Ok(stream)
    }
}

/// Reports a handle that this library did not create, or has destroyed.
fn unknown(parameter: &str, number: usize) -> Failure {
    let value = format!("{number:#x}");
    Failure::wrong_value_of(codes::RT_PARAM_INVALID, parameter, value, "it was destroyed, or never created")
}

/// Checks that the thread has a current context.
pub fn check_current() -> Result<(), Failure> {
    CONTEXTS.read().current().map(drop)
}

/// Returns the thread's current context.
pub fn current_context() -> Result<usize, Failure> {
    CONTEXTS.read().current().map(|(number, _)| number)
}

/// Makes a context current in this thread.
pub fn make_current(context: usize) -> Result<(), Failure> {
    CONTEXTS.read().known.get(context).ok_or_else(|| unknown("context", context))?;
    thread_context::set(context);
    Ok(())
}

/// Creates a context, and makes it current in this thread.
pub fn create() -> usize {
    let context = CONTEXTS.lock().create();
    thread_context::set(context);
    context
}

/// Destroys a context that `create` returned, and its streams.
pub fn destroy(context: usize) -> Result<(), Failure> {
    refuse_in_callback()?;
    let mut contexts = CONTEXTS.lock();
    if contexts.primary.as_ref().is_some_and(|primary| primary.context == context) {
        let reason = "the default context ends with aclrtResetDevice";
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "context", format!("{context:#x}"), reason));
    }
    contexts.known.get(context).ok_or_else(|| unknown("context", context))?;
    let streams = contexts.remove(context);
    drop(contexts);
    end(&streams)
}

/// Makes the device's default context current in this thread, and creates it first if necessary.
pub fn retain_primary() {
    let mut contexts = CONTEXTS.lock();
    let context = match &mut contexts.primary {
        Some(primary) => {
            primary.users += 1;
            primary.context
        }
        None => {
            let context = contexts.create();
            contexts.primary = Some(Primary { context, users: 1 });
            context
        }
    };
    drop(contexts);
    thread_context::set(context);
}

/// Releases the default context. For the last user, or with force, waits for all streams and destroys the context.
/// Returns whether it was destroyed.
pub fn release_primary(with_force: bool) -> Result<bool, Failure> {
    let mut contexts = CONTEXTS.lock();
    let Some(primary) = &mut contexts.primary else {
        let text = "the device was not set, or was reset as often as it was set";
        return Err(Failure::new(codes::RT_CONTEXT_NULL, "EE1001", text));
    };
    if primary.users > 1 && !with_force {
        primary.users -= 1;
        return Ok(false);
    }
    refuse_in_callback()?;
    let context = primary.context;
    contexts.primary = None;
    let streams = contexts.remove(context);
    drop(contexts);
    let ended = end(&streams);
    wait_for_all()?;
    ended.map(|()| true)
}

pub fn is_primary_open() -> bool {
    CONTEXTS.read().primary.is_some()
}

/// Ends streams. Some of them may wait for others.
fn end(streams: &[Arc<Stream>]) -> Result<(), Failure> {
    let _limited = Patience::limited();
    streams.iter().map(|stream| stream.end()).fold(Ok(()), Result::and)
}

/// Returns a stream of the current context; NULL is its default stream.
pub fn stream(stream: aclrtStream) -> Result<Arc<Stream>, Failure> {
    let contexts = CONTEXTS.read();
    let number = if stream.is_null() { contexts.current()?.1.default_stream } else { stream.addr() };
    contexts.stream(number).cloned()
}

/// Creates a stream in the current context.
pub fn create_stream() -> Result<usize, Failure> {
    let mut contexts = CONTEXTS.lock();
    let (context, _) = contexts.current()?;
    Ok(contexts.create_stream(context))
}

/// Removes a stream that `create_stream` returned from its context, so that it can be ended.
pub fn take_stream(number: usize) -> Result<Arc<Stream>, Failure> {
    let mut contexts = CONTEXTS.lock();
    let stream = Arc::clone(contexts.stream(number)?);
    if contexts.is_default(number, stream.context()) {
        let reason = "a default stream ends with its context";
        return Err(Failure::wrong_value_of(codes::RT_PARAM_INVALID, "stream", format!("{number:#x}"), reason));
    }
    contexts.streams.remove(number);
    Ok(stream)
}

/// Returns the handle of the current context's default stream.
pub fn default_stream() -> Result<usize, Failure> {
    CONTEXTS.read().current().map(|(_, context)| context.default_stream)
}

/// Returns the number of streams.
pub fn stream_count() -> usize {
    CONTEXTS.read().streams.iter().count()
}

fn all_streams() -> Vec<Arc<Stream>> {
    CONTEXTS.read().streams.iter().cloned().collect()
}

/// Waits for the work of all streams.
///
/// # Errors
/// Returns the first failure of the work, or an error if the time is over or the caller would wait for itself.
pub fn synchronize_all(limit: Option<Duration>) -> Result<(), Failure> {
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let left = || deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    all_streams().iter().map(|stream| stream.synchronize(left())).fold(Ok(()), Result::and)
}

/// Waits for the work of all streams, whether it fails or not. Gives up callbacks that no thread takes within a second.
///
/// # Errors
/// Returns an error inside a callback.
pub fn wait_for_all() -> Result<(), Failure> {
    refuse_in_callback()?;
    let _limited = Patience::limited();
    all_streams().iter().map(|stream| stream.wait(None)).fold(Ok(()), Result::and)
}

/// Sets an option of the current context, or of the process.
pub fn set_option(of_process: bool, option: i32, value: i64) -> Result<(), Failure> {
    let mut contexts = CONTEXTS.lock();
    let of = if of_process { None } else { Some(contexts.current()?.0) };
    contexts.options.insert((of, option), value);
    Ok(())
}

/// Returns an option of the current context, or of the process, if it was set.
pub fn option(of_process: bool, option: i32) -> Result<Option<i64>, Failure> {
    let contexts = CONTEXTS.read();
    let of = if of_process { None } else { Some(contexts.current()?.0) };
    Ok(contexts.options.get(&(of, option)).copied())
}
